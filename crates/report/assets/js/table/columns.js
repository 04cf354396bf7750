// The columns of the table of all rows: how rows are sorted by them, what a cell says, and which columns are shown at first.

import { el } from "../dom.js";
import { shortRunName } from "../explore/content.js";
import {
  actors,
  detailOf,
  hasFigure,
  parameters,
  placeWords,
  roughly,
  ROWS,
  RUNS,
  SEVERAL,
  verdictText,
  verdictTone,
} from "../model/data.js";
import { digits, formatPercent, formatTime, halfWidth, plainRate } from "../model/format.js";
import { cellText, LABELLED, numberColumn, textColumn } from "./kinds.js";
import { showTooltip } from "../tooltip.js";

/** The parameters without a column of their own. */
const otherParameters = (row) => placeWords(row).filter(Boolean).join(" · ") || null;
const whoseCost = (row) =>
  row.ns === null ? null : [actors(row) > 1 ? row.actor : null, row.population].filter(Boolean).join(" · ") || null;
const figureOnly = (read) => (row) => (hasFigure(row) ? read(row) : null);
const intervalWidth = figureOnly((row) => halfWidth(row.ns, row.ns_low, row.ns_high));
const ownWidth = figureOnly((row) =>
  row.within_low === null ? null : halfWidth(row.ns, row.within_low, row.within_high),
);

/** The number by which a cost is sorted. */
const costKey = (row) => row.bound ?? (hasFigure(row) ? row.ns : null);

/** The name of a primitive, which may break after its dots and underscores. Pressing it shows the meaning. A narrow window
    has the parameters below it instead of in columns. */
function primitiveCell(row) {
  const parts = row.title.split(/(?<=[._])/);
  const show = (event) => {
    event.stopPropagation();
    const box = event.currentTarget.getBoundingClientRect();
    showTooltip(row, box.left + 24, box.bottom);
  };
  const name = el(
    "button",
    { type: "button", class: "primitive", click: show },
    parts.map((part) => [part, el("wbr")]),
  );
  const run = SEVERAL ? [shortRunName(row.run)] : [];
  return [name, el("span", { class: "below" }, [...run, ...parameters(row)].join(" · "))];
}

const verdictBadge = (row) => el("span", { class: `badge ${verdictTone(row.verdict)}` }, verdictText(row.verdict));

/** The cost; a narrow window has the interval or the verdict below it. */
function costNodes(row, value) {
  const second = row.state === "resolved" && row.interval ? row.interval : verdictBadge(row);
  return [value === null && row.state !== "open" ? null : row.figure, el("span", { class: "below" }, second)];
}

/** A number that is as rough as the cost of its row. */
const figureColumn = (id, title, format, read, more) =>
  numberColumn(id, title, null, { key: figureOnly(read), text: (row, value) => roughly(row, value, format), ...more });
const ofThreads = (id, title, more) =>
  figureColumn(id, title, formatTime, (row) => (actors(row) > 1 ? row[id] : null), more);
const USUALLY = { usual: true };

const COLUMNS = [
  textColumn("title", "Primitive", { ...USUALLY, fixed: true, narrow: true, cell: primitiveCell }),
  textColumn("run", "Run", {
    ...USUALLY,
    key: (row) => RUNS[row.run].label,
    wanted: SEVERAL,
    cell: (row) => shortRunName(row.run),
  }),
  textColumn("dtype", "Type", USUALLY),
  textColumn("variables", "Variables", USUALLY),
  numberColumn("threads", "Threads", String, USUALLY),
  numberColumn("blocks", "Blocks", String, USUALLY),
  numberColumn("devices", "Devices", String, USUALLY),
  textColumn("more", "More", { ...USUALLY, key: otherParameters }),
  numberColumn("ns", "Cost", null, {
    ...USUALLY,
    narrow: true,
    key: costKey,
    text: (row) => row.figure,
    cell: costNodes,
  }),
  numberColumn("interval", "±", null, { ...USUALLY, key: intervalWidth, text: (row) => row.interval.slice(1) }),
  textColumn("verdict", "Verdict", { ...USUALLY, key: (row) => verdictText(row.verdict), cell: verdictBadge }),
  figureColumn("cycles", "Cycles", digits, (row) => row.cycles, USUALLY),
  ofThreads("equal_work_ns", "Equal work", USUALLY),
  figureColumn("ops_per_s_total", "ops/s, all", plainRate, (row) => row.ops_per_s_total, USUALLY),
  numberColumn("within", "± in this run", formatPercent, { key: ownWidth }),
  figureColumn("ops_per_s_thread", "ops/s, each", plainRate, (row) => row.ops_per_s_thread),
  figureColumn("ns_p05", "5th percentile", formatTime, (row) => row.ns_p05),
  figureColumn("ns_p95", "95th percentile", formatTime, (row) => row.ns_p95),
  textColumn("meaning", "Whose cost", { key: whoseCost }),
  ofThreads("slowest_ns", "Slowest thread"),
  ofThreads("fastest_ns", "Fastest thread"),
  ofThreads("median_ns", "Median thread"),
  numberColumn("jain_index", "Jain’s index", (value) => digits(value, 3), {
    key: (row) => detailOf(row, "jain_index"),
  }),
  numberColumn("p99_ns", "99th percentile of hand-offs", formatTime, { key: (row) => detailOf(row, "p99_ns") }),
  ...LABELLED,
  textColumn("reason", "Reason", { ...USUALLY, isReason: true }),
];

/** The columns that have something to show. */
export const knownColumns = () =>
  COLUMNS.filter((known) => (known.wanted === undefined ? ROWS.some((row) => known.key(row) !== null) : known.wanted));

export function cellNodes(known, row) {
  return known.cell ? known.cell(row, known.key(row)) : cellText(known, row);
}
