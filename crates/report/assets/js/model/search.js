// The filter of rows: their names in C, C++, Rust, CUDA, OpenMP and everyday use, and their parameters. A query that fits no
// row finds the nearest rows and says what is missing.

import { groupedBy, groupNumber, parameters, PRIMITIVES, ROWS, RUNS, SEVERAL, verdictText } from "./data.js";
import { DTYPES } from "./dimensions.js";
import { formatCount } from "./format.js";

/** The meanings of words that no description has, as words of rows, one of which is enough. */
const MEANINGS = {
  "float|f32": "f32",
  "double|f64": "f64",
  "int|int32|int32_t|atomici32": "i32",
  "unsigned|uint|uint32_t|atomicu32": "u32",
  "long|size_t|uint64_t|int64|int64_t|atomicu64|usize": "u64",
  "load|loads": "read",
  "store|stores": "write",
  "swap|xchg": "exchange",
  "xadd|fetch_add|fetch_sub|increment|counter": "add",
  "cmpxchg|compare_and_swap|compare_exchange_weak|compareexchange": "cas_pass cas_fail",
  "std::mutex|lock_guard|std::lock_guard|unique_lock": "mutex",
  "spinlock|spinning|spin": "spins spin pthread_spin ttas ticket spin_cas",
  "shared_mutex|rw_lock|readers": "rwlock_read rwlock_write",
  "condition_variable|std::condition_variable|cond_wait|notify_one": "condvar",
  semaphore: "futex condvar",
  "latch|std::latch": "barrier",
  "mfence|atomic_thread_fence|std::atomic_thread_fence|membar|memory_barrier": "fence",
  "memory_order_seq_cst|seqcst|sequentially": "seq_cst",
  memory_order_acquire: "acquire",
  memory_order_release: "release",
  memory_order_relaxed: "relaxed",
  "hyperthread|hyperthreads|hyperthreading|smt|siblings": "same_core sibling_idle sibling_busy",
  numa: "same_node line_on_node across",
  "socket|sockets": "same_package across",
  "core-to-core|pingpong|ping-pong": "cas_pingpong store_pingpong",
  "nanosleep|sleep|sleeping|wakeup|wake-up|unpark|notify": "wake sleeping sleeps",
  "queue|mpsc": "channel sync_channel",
  "mm_pause|cpu_relax|spin_loop": "pause",
  atomics: "atomic",
  seqlock: "sequence_read",
  "writer|writers": "rwlock_write",
  membarrier: "asymmetric_light asymmetric_heavy",
  "divergence|diverged": "divergent",
  "omp|#pragma|pragma": "openmp",
  shfl: "shuffle",
  redux: "reduce",
  tma: "mbarrier_transaction",
  pdl: "programmatic",
  "cuda::barrier|std::barrier": "barrier mbarrier",
  "nvlink|multi-gpu|multigpu": "multi devices",
  "own|separate|padded": "private",
  pcie: "hybrid flag",
  cudadevicesynchronize: "stream_sync",
  "slow|slowest|expensive": "barrier lock",
};
const MEANING_OF = new Map(
  Object.entries(MEANINGS).flatMap(([words, meaning]) => words.split("|").map((word) => [word, meaning.split(" ")])),
);

/** Phrases that mean a filter. */
const PHRASES = [
  [/\bfalse[- ]shar\w*/g, "primitive:cpu.atomic.add layout:private"],
  [/\b(this_)?grid\.?(group)?[.: ]+sync\w*/g, "family:grid"],
  [/\bkernel launch\w*|\b\w*launchkernel\b/g, "family:launch"],
  [/\bhand[- ]off/g, "handoff"],
  [/\bwak(e|ing)[- ]?up\b/g, "wake"],
  [/\bshared[- ]memory\b/g, "memory:shared"],
  [/\buncontended\b/g, "threads:1"],
  [/\bcompare[- ]and[- ]swap/g, "cas"],
];

/** Parameters by name, as in `threads:16 type:u64`, or one of several as in `threads:1,2`. */
const NAMES =
  "threads blocks devices stride dtype layout placement scope space order mode group elements inside outside family domain primitive grid";
const FIELDS = Object.fromEntries(NAMES.split(" ").map((name) => [name, (row) => row[name]]));
Object.assign(FIELDS, {
  type: FIELDS.dtype,
  form: (row) => row.form || "default",
  memory: FIELDS.space,
  verdict: (row) => verdictText(row.verdict),
});

/** A parameter with its value, which may stand in quotes: `verdict:"below resolution"`. */
const FIELD = new RegExp(
  `(?<![\\w.:])(${[...Object.keys(FIELDS), "evidence"].join("|")}):(?!:)("[^"]*"|[^\\s()<>"';&]+)`,
  "i",
);

/** Words that are only about GPUs. */
const OF_GPUS = /__|cuda|gpu|cluster|warp|grid|kernel|mbarrier|nvlink|programmatic|atomic(add|sub|cas|exch|min|max)/i;

/** Words that say nothing about a row. */
const STOP_WORDS = new Set("a an the of to from with on in for is how what vs my after cost costs time".split(" "));

/** The options of the command that measure other values. */
const MEASURABLE = ["threads", "blocks", "stride", "dtype"];

/** How much a word says: more in the name of a row than in its parameters, and more there than in its description. */
const [IN_DESCRIPTION, IN_PARAMETER, IN_NAME, WHOLE_NAME] = [0, 1, 2, 3];

/** Splits a text into words and their parts: `std::sync::Mutex` is std, sync and mutex, too. */
function indexed(text) {
  const whole = text.split(/[\s,;()\u00a0]+/);
  const splits = [/[.:]+/, /[._:]+/, /(?<=[a-z])(?=[A-Z])/];
  const parts = whole.flatMap((word) => [word, ...splits.flatMap((split) => word.split(split))]);
  return [...new Set(parts.map((word) => word.toLowerCase().replace(/^_+/, "")))].filter(Boolean);
}

/** The texts of rows: how much a word in them says, their words, and the numbers of the rows. */
const INDEX = new Map();

function indexRow(row, at) {
  const { summary, operation, source } = PRIMITIVES.get(row.primitive);
  const others = [row.form && row.title, ...parameters(row), verdictText(row.verdict), SEVERAL && RUNS[row.run].label];
  const add = (worth) => (text) => {
    if (!INDEX.has(text)) INDEX.set(text, { worth, words: indexed(text), rows: [] });
    INDEX.get(text).rows.push(at);
  };
  row.at = at;
  row.sizes = [...SIZES.map((name) => row[name]), groupNumber(row)];
  add(IN_NAME)(row.primitive);
  add(IN_DESCRIPTION)([summary, operation, source].filter(Boolean).join(" "));
  others.filter(Boolean).forEach(add(IN_PARAMETER));
}

const indexRows = () => INDEX.size || ROWS.forEach(indexRow);

/** Whether a word begins any of these, so that lock does not match block. */
const isIn = (words, word) => words.some((known) => known.startsWith(word));

/** The rows that have one of the words, and how much that says, as functions of a row: {holds, worth}. */
function finder(words) {
  indexRows();
  const worths = new Int8Array(ROWS.length).fill(-1);
  for (const { worth, words: list, rows } of INDEX.values()) {
    if (!words.some((word) => isIn(list, word))) continue;
    const own = worth === IN_NAME && words.some((word) => list.includes(word)) ? WHOLE_NAME : worth;
    for (const at of rows) worths[at] = Math.max(worths[at], own);
  }
  return { holds: ({ at }) => worths[at] >= 0, worth: ({ at }) => worths[at] };
}

const SIZES = ["threads", "blocks", "devices", "stride", "elements"];

/** Rows of a size: 16 is not 160. */
function sizeCondition(word) {
  const size = Number(word);
  indexRows();
  return {
    word,
    field: "threads",
    value: word,
    holds: ({ sizes }) => sizes.includes(size),
    worth: (row) => (row.threads === size ? 1 : 0),
  };
}

/** A value as the files write it. */
const fieldText = (value) =>
  String(value)
    .toLowerCase()
    .replace(/\u00a0/g, " ")
    .replace(/(\d ?)µs/g, "$1us");

/** A condition on a parameter. `threads:1,2,4` is one of these, `threads:2+` two or more; a value that contains a comma is
    matched whole. */
function fieldCondition(name, value) {
  const values = [value, ...value.split(",")].map(fieldText);
  const [, least] = /^(\d+)\+$/.exec(value) || [];
  const fits = new Map([
    [null, false],
    [undefined, false],
  ]);
  const holds = (row) => {
    const found = FIELDS[name](row);
    if (!fits.has(found)) fits.set(found, found >= least || values.includes(fieldText(found)));
    return fits.get(found);
  };
  return { word: `${value} ${name}`, field: name === "type" ? "dtype" : name, value, holds };
}

/** The parts of a name that matches nothing: std and mutex of `std::mutex`. */
const partsOf = (word) => word.split(/[._:]+|(?<=[a-z])(?=[A-Z])/).filter(Boolean);

function wordCondition(written) {
  const word = written.toLowerCase().replace(/^_+/, "");
  if (word.includes("*")) {
    const pattern = new RegExp(`^${word.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*")}$`);
    return [{ word, holds: (row) => pattern.test(row.primitive) }];
  }
  if (/^\d+$/.test(word)) return [sizeCondition(word)];
  const meaning = MEANING_OF.get(word) || MEANING_OF.get(word.replace(/^std::/, ""));
  const found = finder(meaning || [word, word.replaceAll("-", "_")]);
  const parts = partsOf(written);
  if (!meaning && parts.length > 1 && !ROWS.some(found.holds)) return parts.flatMap((part) => wordCondition(part));
  const isType = meaning && DTYPES.includes(meaning[0]);
  return [{ word, ...found, ...(isType ? { field: "dtype", value: meaning[0] } : {}) }];
}

/** The words of a text without parameters, in which phrases and `16 threads` have become parameters. */
function wordsOf(query) {
  const text = PHRASES.reduce((found, [phrase, filter]) => found.replace(new RegExp(phrase, "gi"), filter), query)
    .replace(/\(\)|[()<>"';&]/g, " ")
    .replace(/\b(thread|block|device)s?\s*=\s*(\d+)/gi, "$1s:$2")
    .replace(/\b(\d+)\s*(thread|block|device)s?\b(?!:)/gi, "$2s:$1")
    .replace(/\bstride\s*=?\s*(\d+)/gi, "stride:$1");
  return text.split(/\s+/).filter((word) => /[\w*]/.test(word));
}

/** The conditions of a query. A parameter keeps its value: no phrase reaches into it or across it. */
function conditionsOf(query) {
  // The parts are in turn a text, the name of a parameter, and its value.
  const parts = query.split(FIELD);
  const words = parts.flatMap((part, at) => {
    if (at % 3 === 0) return wordsOf(part);
    return at % 3 === 1 ? [`${part}:${parts[at + 1].replaceAll('"', "")}`] : [];
  });
  const telling = words.filter((word) => !STOP_WORDS.has(word.toLowerCase()));
  return (telling.length ? telling : words).flatMap((word) => {
    const [name, value] = word.toLowerCase().split(/:(?!:)(.*)/);
    if (value && name === "evidence")
      return [{ word, holds: (row) => (row.evidence || "").toLowerCase().includes(value) }];
    return value && Object.hasOwn(FIELDS, name) ? [fieldCondition(name, value)] : wordCondition(word);
  });
}

/** Names weigh more than sizes: for `__syncthreads 256`, rows of the barrier are near, other rows with 256 threads are not. */
const weightOf = (condition) => (isSize(condition) ? 1 : 4);

/** The command that measures the value of a parameter for the first of these rows. */
const commandFor = ({ field, value }, [row]) => `syncscope run --only ${row.primitive} --${field} ${value}`;

/** Says which values exist in place of a missing one, and how to measure it for rows that were meant. */
function missingSize(missing, rows, areMeant) {
  const { field, value } = missing;
  const there = [...new Set(rows.map(FIELDS[field]).filter((one) => one !== null))];
  const isNumber = there.every((one) => typeof one === "number");
  const byNearness = (a, b) => Math.abs(Math.log(a / value)) - Math.abs(Math.log(b / value));
  const near = isNumber
    ? there
        .sort(byNearness)
        .slice(0, 4)
        .sort((a, b) => a - b)
        .map(formatCount)
    : there.slice(0, 4);
  const name = field === "dtype" ? "type" : field;
  const last = near.pop();
  const has = last ? `; this run has ${near.length ? `${near.join(", ")} and ${last}` : last}` : "";
  const command = areMeant ? ` To measure it: ${commandFor(missing, rows)}` : "";
  return `No such row has ${name} ${value}${has}.${command}`;
}

const isSize = ({ field }) => MEASURABLE.includes(field);

/** Says what a query asks for that no row has. */
function missingText(missing, rows, areMeant) {
  if (missing.length === 0) return "No row has all of these words.";
  const words = missing.filter((one) => !isSize(one)).map(({ word }) => `“${word}”`);
  const unknown = words.length ? [`Nothing in this run is called ${words.join(" or ")}.`] : [];
  return [...unknown, ...missing.filter(isSize).map((one) => missingSize(one, rows, areMeant))].join(" ");
}

/** How far the sizes of a row are from the missing ones. */
const distanceOf = (row, missing) =>
  missing.reduce((sum, { field, value }) => {
    const own = field && FIELDS[field](row);
    return typeof own === "number" && own > 0 && value > 0 ? sum + Math.abs(Math.log(own / value)) : sum;
  }, 0);

/** The rows, the most telling first. */
function ranked(rows, conditions, missing) {
  const worth = (row) => conditions.reduce((sum, one) => sum + (one.worth ? one.worth(row) : 0), 0);
  const ofRank = groupedBy(rows, (row) => worth(row) - 0.1 * distanceOf(row, missing));
  return [...ofRank.keys()].sort((a, b) => b - a).flatMap((rank) => ofRank.get(rank));
}

/** The study that answers a word of a query, {text, figure}; null if there is none. */
export function topicOf(query) {
  const words = query.toLowerCase().split(/[\s,]+/);
  const isMeant = ({ words: starts }) => starts.some((start) => words.some((word) => word.startsWith(start)));
  return SEVERAL ? null : RUNS.flatMap(({ topics }) => topics).find(isMeant) || null;
}

/** The rows that a query finds among the candidates, the most telling first unless they are sorted: {rows, note}. If no row
    fits, the nearest ones. */
export function search(query, candidates, areSorted) {
  const conditions = conditionsOf(query);
  if (conditions.length === 0) return { rows: candidates, note: null };
  const inOrder = (rows, missing) => (areSorted ? rows : ranked(rows, conditions, missing));
  const rows = conditions.reduce((left, { holds }) => left.filter(holds), candidates);
  if (rows.length > 0) return { rows: inOrder(rows, []), note: null };
  const score = (row) => conditions.reduce((sum, one) => sum + (one.holds(row) ? weightOf(one) : 0), 0);
  const scores = candidates.map(score);
  const best = scores.reduce((most, one) => Math.max(most, one), 0);
  const near = candidates.filter((_, at) => scores[at] === best);
  if (near.length === 0) return { rows: near, note: null };
  const missing = conditions.filter(({ holds }) => !near.some(holds));
  const rest =
    best > 0 || missing.every(isSize)
      ? "The nearest rows:"
      : `\`syncscope list ${query.trim()}\` searches all primitives. All rows:`;
  const lacksGpu = OF_GPUS.test(query) && !candidates.some((row) => row.domain !== "cpu");
  const areMeant = conditions.some((one) => !isSize(one) && !missing.includes(one));
  const text = lacksGpu ? "This run has no GPU rows." : missingText(missing, near, areMeant);
  return { rows: inOrder(near, missing), note: `${text} ${rest}` };
}
