// The words of the filter: what a row is called, what it is, and its parameters.

/** What programmers call a primitive. */
const ALIASES = {
  "cpu.atomic.add": "fetch_add xadd",
  "cpu.atomic.exchange": "swap xchg",
  "cpu.atomic.cas_pass": "compare_exchange cmpxchg",
  "cpu.atomic.cas_fail": "compare_exchange cmpxchg",
  "cpu.barrier.std": "std::sync::Barrier",
  "cpu.barrier.openmp": "omp barrier #pragma",
  "cpu.lock.std_mutex": "std::sync::Mutex",
  "cpu.lock.openmp_critical": "omp critical #pragma",
  "cpu.fence.seq_cst": "mfence atomic_thread_fence",
  "gpu.atomic.add": "atomicAdd fetch_add",
  "gpu.atomic.sub": "atomicSub fetch_sub",
  "gpu.atomic.min": "atomicMin",
  "gpu.atomic.max": "atomicMax",
  "gpu.atomic.and": "atomicAnd",
  "gpu.atomic.or": "atomicOr",
  "gpu.atomic.xor": "atomicXor",
  "gpu.atomic.exchange": "atomicExch",
  "gpu.atomic.cas_pass": "atomicCAS",
  "gpu.atomic.cas_fail": "atomicCAS",
  "gpu.block.syncthreads": "__syncthreads bar.sync",
  "gpu.block.syncthreads_count": "__syncthreads_count",
  "gpu.block.syncthreads_and": "__syncthreads_and",
  "gpu.block.syncthreads_or": "__syncthreads_or",
  "gpu.warp.syncwarp": "__syncwarp",
  "gpu.warp.tile": "tiled_partition tile sync",
  "gpu.warp.coalesced": "coalesced_threads sync",
  "gpu.fence.block": "__threadfence_block",
  "gpu.fence.device": "__threadfence",
  "gpu.fence.system": "__threadfence_system",
  "gpu.shuffle.idx": "__shfl_sync",
  "gpu.shuffle.up": "__shfl_up_sync",
  "gpu.shuffle.down": "__shfl_down_sync",
  "gpu.shuffle.xor": "__shfl_xor_sync",
  "gpu.vote.all": "__all_sync",
  "gpu.vote.any": "__any_sync",
  "gpu.vote.ballot": "__ballot_sync",
  "gpu.match.any": "__match_any_sync",
  "gpu.match.all": "__match_all_sync",
  "gpu.reduce.add": "__reduce_add_sync",
  "gpu.cluster.sync": "cluster.sync cluster_group",
  "gpu.grid.cooperative": "grid.sync sync this_grid grid_group",
  "gpu.grid.counter": "grid sync",
  "gpu.grid.lock_free": "grid sync",
  "gpu.grid.hierarchical": "grid sync",
  "gpu.cluster.mbarrier_remote": "mbarrier cluster.sync",
  "gpu.block.mbarrier_transaction": "mbarrier TMA cp.async.bulk expect_tx",
  "gpu.launch.programmatic": "PDL griddepcontrol cudaGridDependencySynchronize",
  "gpu.launch.wait_value": "cuStreamWaitValue32 cuStreamWriteValue32",
  "gpu.launch.event_wait": "cudaStreamWaitEvent cuStreamWaitEvent",
};

/** Parameters by name, as in `threads:16 type:u64`, or one of several as in `threads:1,2`. */
const FIELDS = {
  threads: (row) => row.threads,
  blocks: (row) => row.blocks,
  devices: (row) => row.devices,
  stride: (row) => row.stride,
  type: (row) => row.dtype,
  dtype: (row) => row.dtype,
  layout: (row) => row.layout,
  placement: (row) => row.placement,
  scope: (row) => row.scope,
  memory: (row) => row.space,
  space: (row) => row.space,
  order: (row) => row.order,
  mode: (row) => row.mode,
  group: (row) => row.group,
  form: (row) => row.form,
  elements: (row) => row.elements,
  family: (row) => row.family,
  domain: (row) => row.domain,
  primitive: (row) => row.primitive,
  verdict: (row) => verdictText(row.verdict),
};

/** The words by which a row is found: whole names, and their parts. */
function wordsOf(row) {
  if (row.words) return row.words;
  const meaning = PRIMITIVES.get(row.primitive);
  const texts = [
    RUNS[row.run].label,
    row.title,
    row.form,
    ...parameters(row),
    verdictText(row.verdict),
    row.reason,
    ALIASES[row.primitive],
    meaning && meaning.summary,
  ];
  const whole = texts
    .filter(Boolean)
    .join(" ")
    .toLowerCase()
    .split(/[\s,;()\u00a0]+/);
  row.words = [...new Set(whole.flatMap((word) => [word, ...word.split(/[._:]+/)]))].filter(Boolean);
  return row.words;
}

/** A number is a whole word, so that 16 is not 160; other words may be the beginning of one, so that lock is not block. */
const isFound = (row, word) =>
  wordsOf(row).some((known) => (/^\d+$/.test(word) ? known === word : known.startsWith(word)));

/** Whether an instruction was found in the loops of a row. */
const hasEvidence = (row, text) => (row.evidence || "").toLowerCase().includes(text);

/** The conditions of a query: each is a function of a row. */
function conditionsOf(query) {
  // `16 threads` is `threads:16`.
  const text = query.toLowerCase().replace(/(\d+)\s+(thread|block|device)s?\b/g, "$2s:$1");
  return text
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => {
      const [name, value] = word.split(/:(?!:)(.*)/);
      if (value && name === "evidence") return (row) => hasEvidence(row, value);
      if (!value || !Object.hasOwn(FIELDS, name)) return (row) => isFound(row, word);
      // `threads:1,2,4` is one of them; a value with a comma of its own is whole.
      const values = [value, ...value.split(",")];
      return (row) => {
        const found = FIELDS[name](row);
        if (found === null || found === undefined) return false;
        const text = String(found)
          .toLowerCase()
          .replace(/\u00a0/g, " ");
        return values.includes(text);
      };
    });
}
