// The data of the page: rows as objects with the columns of measurements.csv as their fields.

const DATA = JSON.parse(byId("data").textContent);
const RUNS = DATA.runs;
const SEVERAL = RUNS.length > 1;

function rowFrom(cells, run, index) {
  const row = { run, index };
  DATA.columns.forEach((column, at) => {
    row[column] = cells[at];
  });
  row.name = (row.primitive || "").split(".").slice(2).join(".");
  row.variables = row.layout === "private" ? `private, stride ${row.stride}` : row.layout;
  return row;
}

const ROWS_OF = RUNS.map((run, at) => run.rows.map((cells, index) => rowFrom(cells, at, index)));
const ROWS = ROWS_OF.flat();

const rowsOf = (domain, family) => ROWS.filter((row) => row.domain === domain && row.family === family);

/** How many threads take part on all devices together. */
const actors = (row) => (row.threads || 1) * (row.blocks || 1) * (row.devices || 1);

/** The parameters of a row in a few words, the primitive left out. */
function parameters(row) {
  const words = [row.dtype, row.variables];
  if (row.threads !== null)
    words.push(row.blocks > 1 ? `${row.blocks}×${row.threads} threads` : plural(row.threads, "thread"));
  else if (row.blocks !== null) words.push(plural(row.blocks, "block"));
  if (row.devices > 1) words.push(plural(row.devices, "device"));
  words.push(
    row.placement,
    row.scope && `${row.scope} scope`,
    row.space && `${row.space} memory`,
    row.order,
    row.mode,
    row.group,
  );
  return words.filter((word) => word !== null && word !== undefined && word !== "");
}

/** The verdicts, with the tone they are shown in and what they mean. */
const VERDICTS = {
  Resolved: ["good", "resolved", "The interval is narrow and excludes zero."],
  BelowResolution: ["bound", "below resolution", "The cost cannot be told from zero; an upper bound is given."],
  Noisy: ["doubt", "noisy", "The interval stayed wide until the budget was spent."],
  Interfered: ["doubt", "interfered", "Too many pairs were disturbed from outside to tell a cost."],
  Elided: ["void", "elided", "The compiler removed or replaced the primitive; there is nothing to time."],
  Skipped: ["void", "skipped", "The case does not exist on this machine."],
  TimedOut: ["bad", "timed out", "A loop did not end within its bound."],
  Failed: ["bad", "failed", "The case could not be measured, or its check failed."],
};
const verdictTone = (name) => (VERDICTS[name] || ["void"])[0];
const verdictText = (name) => (VERDICTS[name] || ["", name])[1];
