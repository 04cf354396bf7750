// The table of all rows, which can be sorted by any column and filtered by words and by verdict.

const PAGE_ROWS = 100;
const MORE_ROWS = 500;
/** only: the rows of one sentence, with its text; null for all rows. */
const TABLE = { sort: null, descending: false, words: "", verdict: "", only: null, limit: PAGE_ROWS };

const textColumn = (id, title) => ({ id, title, key: (row) => row[id], cell: (row) => row[id] });
const numberColumn = (id, title, format, key) => ({
  id,
  title,
  number: true,
  key: key || ((row) => row[id]),
  cell: (row, value) => (value === null ? null : format(value)),
});
/** The parameters without a column of their own. */
const otherParameters = (row) =>
  [row.placement, row.scope && `${row.scope} scope`, row.space && `${row.space} memory`, row.order, row.mode, row.group]
    .filter(Boolean)
    .join(" · ") || null;
const whoseCost = (row) =>
  row.ns === null ? null : [actors(row) > 1 ? row.actor : null, row.population].filter(Boolean).join(" · ") || null;
const figureOnly = (read) => (row) => (row.verdict === "Resolved" || isRough(row) ? read(row) : null);

/** `9.18 ns`, `~9.18 ns` (noisy), `< 0.05 ns`. */
function costText(row, value) {
  if (value === null) return null;
  if (row.verdict === "BelowResolution") return value > 0 ? `< ${formatTime(value, 2)}` : null;
  return (row.verdict === "Resolved" ? "" : "~") + formatTime(value);
}

/** The name of a primitive, which may break after its dots and underscores. A press shows what it is. */
function primitiveButton(row) {
  const parts = row.title.split(/(?<=[._])/);
  const show = (event) => {
    event.stopPropagation();
    const box = event.currentTarget.getBoundingClientRect();
    showTooltip(row, box.left + 24, box.bottom);
  };
  return el(
    "button",
    { type: "button", class: "primitive", click: show },
    parts.map((part) => [part, el("wbr")]),
  );
}

const COLUMNS = [
  { id: "run", title: "Run", key: (row) => RUNS[row.run].label, cell: (row) => RUNS[row.run].label, wanted: SEVERAL },
  { id: "title", title: "Primitive", fixed: true, key: (row) => row.title, cell: primitiveButton },
  textColumn("dtype", "Type"),
  textColumn("variables", "Variables"),
  numberColumn("threads", "Threads", String),
  numberColumn("blocks", "Blocks", String),
  numberColumn("devices", "Devices", String),
  { id: "more", title: "More", key: otherParameters, cell: (row, value) => value },
  {
    id: "ns",
    title: "Cost",
    number: true,
    key: (row) =>
      row.verdict === "Resolved" || isRough(row) ? row.ns : row.verdict === "BelowResolution" ? row.ns_high : null,
    cell: costText,
  },
  numberColumn(
    "interval",
    "±",
    formatPercent,
    figureOnly((row) => halfWidth(row.ns, row.ns_low, row.ns_high)),
  ),
  {
    id: "verdict",
    title: "Verdict",
    key: (row) => row.verdict,
    cell: (row) => el("span", { class: `badge ${verdictTone(row.verdict)}` }, verdictText(row.verdict)),
  },
  numberColumn(
    "within",
    "± in this run",
    formatPercent,
    figureOnly((row) => (row.within_low === null ? null : halfWidth(row.ns, row.within_low, row.within_high))),
  ),
  numberColumn(
    "cycles",
    "Cycles",
    digits,
    figureOnly((row) => row.cycles),
  ),
  numberColumn("ops_per_s_thread", "ops/s, each", plainRate),
  numberColumn("ops_per_s_total", "ops/s, all", plainRate),
  ...[
    ["ns_p05", "5th percentile"],
    ["ns_p95", "95th percentile"],
  ].map(([id, title]) =>
    numberColumn(
      id,
      title,
      formatTime,
      figureOnly((row) => row[id]),
    ),
  ),
  { id: "meaning", title: "Whose cost", key: whoseCost, cell: (row, value) => value },
  numberColumn("beside_share", "SMT interference", formatPercent),
  numberColumn(
    "slowest_ns",
    "Slowest thread",
    formatTime,
    figureOnly((row) => (actors(row) > 1 ? row.slowest_ns : null)),
  ),
  numberColumn(
    "fastest_ns",
    "Fastest thread",
    formatTime,
    figureOnly((row) => (actors(row) > 1 ? row.fastest_ns : null)),
  ),
  numberColumn(
    "median_ns",
    "Median thread",
    formatTime,
    figureOnly((row) => (actors(row) > 1 ? row.median_ns : null)),
  ),
  numberColumn(
    "jain_index",
    "Jain’s index",
    (value) => digits(value, 3),
    (row) => detailOf(row, "jain_index"),
  ),
  numberColumn("p99_ns", "99th percentile", formatTime, (row) => detailOf(row, "p99_ns")),
  numberColumn("noise", "Noise", formatPercent),
  numberColumn("pairs", "Pairs", formatCount),
  textColumn("check", "Check"),
  {
    id: "reason",
    title: "Reason and evidence",
    isReason: true,
    key: (row) => row.reason,
    cell: (row) => [row.reason, row.evidence].filter(Boolean).join(" · ") || null,
  },
];

const wantedColumns = () =>
  COLUMNS.filter((known) => (known.wanted === undefined ? ROWS.some((row) => known.key(row) !== null) : known.wanted));

function matchingRows() {
  const conditions = conditionsOf(TABLE.words);
  const candidates = TABLE.only ? TABLE.only.rows : ROWS;
  const rows = candidates.filter(
    (row) => (!TABLE.verdict || row.verdict === TABLE.verdict) && conditions.every((holds) => holds(row)),
  );
  if (!TABLE.sort) return rows;
  const { key } = TABLE.sort;
  const direction = TABLE.descending ? -1 : 1;
  const compare = (a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left === null || right === null) return (left === null) - (right === null);
    return direction * (typeof left === "number" ? left - right : String(left).localeCompare(String(right)));
  };
  return rows.sort(compare);
}

const tableCount = el("p", { class: "fixed", role: "status" });
const tableOnly = el("p", { class: "only" });
const tableBody = el("tbody");
const tableMore = el("p", { class: "more" });
let columns = [];
let verdictSelect = null;
let wordsInput = null;

function rowElement(row) {
  return el(
    "tr",
    null,
    columns.map((known) => {
      const content = known.cell(row, known.key(row));
      return el(
        known.fixed ? "th" : "td",
        {
          class:
            [known.number && "number", known.isReason && "reason", known.fixed && "stuck"].filter(Boolean).join(" ") ||
            null,
          scope: known.fixed ? "row" : null,
        },
        content,
      );
    }),
  );
}

/** Adds rows in growing portions. The first rows appear at once, and the browser computes the layout only a few times. */
function fillTable(rows) {
  const request = (fillTable.latest = {});
  tableBody.replaceChildren();
  const add = (from, count) => {
    if (request !== fillTable.latest) return;
    tableBody.append(...rows.slice(from, from + count).map(rowElement));
    if (from + count < rows.length) requestAnimationFrame(() => add(from + count, 2 * count));
  };
  add(0, PAGE_ROWS);
}

function drawTable() {
  drawOnly();
  const rows = matchingRows();
  fillTable(rows.slice(0, TABLE.limit));
  const shown = Math.min(rows.length, TABLE.limit);
  const filtered = rows.length < ROWS.length ? `, filtered from ${formatCount(ROWS.length)}` : "";
  tableCount.textContent = `${formatCount(shown)} of ${plural(rows.length, "row")}${filtered}`;
  const show = (limit) => () => {
    TABLE.limit = limit;
    drawTable();
  };
  const button = (limit, text) => el("button", { type: "button", click: show(limit) }, text);
  const rest = rows.length - shown;
  tableMore.replaceChildren(
    ...(rest > MORE_ROWS ? [button(shown + MORE_ROWS, `Show ${MORE_ROWS} more`)] : []),
    ...(rest > 0 ? [button(Infinity, `Show all ${formatCount(rows.length)}`)] : []),
  );
}

function sortBy(known) {
  TABLE.descending = TABLE.sort === known && !TABLE.descending;
  TABLE.sort = known;
  for (const header of byId("rows").querySelectorAll("thead th")) {
    const own = header.dataset.column === known.id;
    header.setAttribute("aria-sort", own ? (TABLE.descending ? "descending" : "ascending") : "none");
  }
  drawTable();
}

function showVerdict(name) {
  TABLE.verdict = name;
  TABLE.only = null;
  verdictSelect.value = name;
  drawTable();
  goTo("rows");
}

/** Shows the rows that a sentence stands on. */
function showRows(rows, text) {
  Object.assign(TABLE, { only: { rows, text }, verdict: "", words: "", limit: PAGE_ROWS });
  verdictSelect.value = "";
  wordsInput.value = "";
  drawTable();
  goTo("rows");
}

function drawOnly() {
  const all = () => {
    TABLE.only = null;
    drawTable();
  };
  const { only } = TABLE;
  tableOnly.replaceChildren(
    ...(only ? [only.text, " ", el("button", { type: "button", click: all }, "Show all rows")] : []),
  );
}

function drawRows() {
  columns = wantedColumns();
  const present = Object.keys(VERDICTS).filter((name) => ROWS.some((row) => row.verdict === name));
  verdictSelect = el(
    "select",
    {
      change: (event) => {
        TABLE.verdict = event.target.value;
        drawTable();
      },
    },
    el("option", { value: "" }, "every verdict"),
    present.map((name) => el("option", { value: name }, verdictText(name))),
  );
  wordsInput = el("input", {
    type: "search",
    placeholder: "atomicAdd threads:32 type:i32",
    input: (event) => {
      TABLE.words = event.target.value;
      TABLE.limit = PAGE_ROWS;
      drawTable();
    },
  });
  const header = (known) =>
    el(
      "th",
      {
        scope: "col",
        "data-column": known.id,
        "aria-sort": "none",
        class: [known.number && "number", known.fixed && "stuck"].filter(Boolean).join(" ") || null,
      },
      el("button", { type: "button", click: () => sortBy(known) }, known.title),
    );
  if (ROWS.length === 0) {
    byId("rows").hidden = true;
    return;
  }
  byId("rows").append(
    el(
      "div",
      { class: "controls" },
      el("label", { class: "choice grow" }, el("span", null, "filter"), wordsInput),
      el("label", { class: "choice" }, el("span", null, "verdict"), verdictSelect),
      tableCount,
    ),
    tableOnly,
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "All rows" },
      el("table", null, el("thead", null, el("tr", null, columns.map(header))), tableBody),
    ),
    tableMore,
  );
  drawTable();
}
