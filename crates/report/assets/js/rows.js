// The table of all rows, which can be sorted by any column and filtered by words and by verdict.

const PAGE_ROWS = 100;
const MORE_ROWS = 500;
const TABLE = { sort: null, descending: false, words: "", verdict: "", limit: PAGE_ROWS };

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
const figureOnly = (read) => (row) => (row.verdict === "Resolved" ? read(row) : null);

const COLUMNS = [
  { id: "run", title: "Run", key: (row) => RUNS[row.run].label, cell: (row) => RUNS[row.run].label, wanted: SEVERAL },
  { ...textColumn("title", "Primitive"), fixed: true },
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
    key: (row) => (row.verdict === "Resolved" ? row.ns : row.verdict === "BelowResolution" ? row.ns_high : null),
    cell: (row, value) =>
      value === null
        ? null
        : row.verdict === "Resolved"
          ? formatTime(value)
          : value > 0
            ? `< ${formatTime(value, 2)}`
            : null,
  },
  numberColumn(
    "interval",
    "±",
    formatPercent,
    figureOnly((row) => halfWidth(row.ns, row.ns_low, row.ns_high)),
  ),
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
  {
    id: "verdict",
    title: "Verdict",
    key: (row) => row.verdict,
    cell: (row) => el("span", { class: `badge ${verdictTone(row.verdict)}` }, verdictText(row.verdict)),
  },
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
    wide: true,
    key: (row) => row.reason,
    cell: (row) => [row.reason, row.evidence].filter(Boolean).join(" · ") || null,
  },
];

const wantedColumns = () =>
  COLUMNS.filter((known) => (known.wanted === undefined ? ROWS.some((row) => known.key(row) !== null) : known.wanted));

function haystack(row) {
  if (!row.haystack)
    row.haystack = [
      RUNS[row.run].label,
      row.title,
      row.form,
      ...parameters(row),
      verdictText(row.verdict),
      row.reason,
      row.evidence,
    ]
      .join(" ")
      .toLowerCase();
  return row.haystack;
}

function matchingRows() {
  const words = TABLE.words.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = ROWS.filter(
    (row) => (!TABLE.verdict || row.verdict === TABLE.verdict) && words.every((word) => haystack(row).includes(word)),
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
const tableBody = el("tbody");
const tableMore = el("p", { class: "more" });
let columns = [];
let verdictSelect = null;

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
            [known.number && "number", known.wide && "wide", known.fixed && "stuck"].filter(Boolean).join(" ") || null,
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
  verdictSelect.value = name;
  drawTable();
  byId("rows").scrollIntoView();
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
  const filter = el("input", {
    type: "search",
    placeholder: "atomic add i32 16 threads",
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
      el("label", { class: "choice grow" }, el("span", null, "filter"), filter),
      el("label", { class: "choice" }, el("span", null, "verdict"), verdictSelect),
      tableCount,
    ),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "All rows" },
      el("table", null, el("thead", null, el("tr", null, columns.map(header))), tableBody),
    ),
    tableMore,
  );
  drawTable();
}
