// Block barriers against the warps that are active on a multiprocessor (Zhang et al., figures 6 and 7).

/** Rows of grids that fill all multiprocessors, with active warps and blocks per multiprocessor in place of threads and
    blocks. */
function byActiveWarps(rows) {
  return rows.flatMap((row) => {
    const gpu = RUNS[row.run].run.machine.gpus[0];
    const units = gpu ? gpu.multiprocessors : 0;
    if (!units || !row.blocks || !row.threads || row.blocks % units !== 0 || row.threads % 32 !== 0) return [];
    const perUnit = row.blocks / units;
    const warps = (perUnit * row.threads) / 32;
    return [{ ...row, threads: null, blocks: null, warps, perUnit, original: row }];
  });
}

/** The panel; null if the rows are too few for a line. */
function activeWarpsPanel() {
  const rows = byActiveWarps(ROWS.filter((row) => row.domain === "gpu" && row.family === "block"));
  const warps = new Set(rows.map((row) => row.warps));
  if (warps.size < 5 || new Set(rows.map((row) => row.perUnit)).size < 2) return null;
  return makePanel({ title: "Block barriers by active warps", note: "on every multiprocessor at once", rows });
}
