// The measures of a chart, and the figure of a row in each of them.

import { UNITS } from "../chart/values.js";
import { el, svg } from "../dom.js";
import { DATA, detailOf, roughly, ROWS } from "./data.js";
import { roundedBound } from "./format.js";

const costOf = (row) => [row.ns, row[DATA.drawn.low], row[DATA.drawn.high]];
export const timeSpread = (row) => [row.ns_p05, row.ns_p95];

/** The file has the percentiles in nanoseconds. */
export const cycleSpread = (row) =>
  timeSpread(row).map((ns) =>
    ns === null || row.cycles === null || !(row.ns > 0) ? null : (ns * row.cycles) / row.ns,
  );

/** (sum x)^2 / (n sum x^2) of the acquisitions of n threads: 1 if all threads have the same number, 1/n if one has all
    (Jain, Chiu and Hawe, DEC-TR-301, 1984). */
function fairnessOf(row) {
  const index = detailOf(row, "jain_index");
  return index === null ? { state: "missing" } : { state: "resolved", y: index };
}

const COST = { triple: costOf, bound: (row) => row.bound, spread: timeSpread };

export const MEASURES = [
  { id: "ns", label: "Time", axis: "time per operation", unit: "time", rate: false, ...COST },
  {
    id: "cycles",
    label: "Cycles",
    axis: "cycles per operation",
    unit: "cycles",
    rate: false,
    triple: (row) => [row.cycles, row.cycles_low, row.cycles_high],
    bound: (row) => row.cycles_high,
    spread: cycleSpread,
    forAnotherRun: "from run to run",
  },
  {
    id: "thread",
    label: "Rate, each thread",
    axis: "operations per second, each thread",
    unit: "rate",
    rate: true,
    ...COST,
    scale: () => 1e9,
  },
  {
    id: "total",
    label: "Rate, all threads",
    axis: "operations per second, all threads",
    unit: "rate",
    rate: true,
    ...COST,
    // The row says how many operations all threads do at once.
    scale: (row) => row.ops_per_s_total * row.ns,
    applies: (row) => row.ops_per_s_total !== null,
  },
  {
    id: "warps",
    label: "Rate, warps of an SM",
    axis: "warps per second, each multiprocessor",
    unit: "rate",
    rate: true,
    ...COST,
    scale: (row) => row.warps * 1e9,
    applies: (row) => row.family === "block" && row.warps !== null,
  },
  {
    id: "fairness",
    label: "Fairness",
    axis: "Jain’s index: 1 is fair, 1/n if one of n threads gets all",
    unit: "share",
    domain: [0, 1.05],
    figure: fairnessOf,
    applies: (row) => row.family === "lock" && detailOf(row, "jain_index") !== null,
  },
];

export const TIME = MEASURES[0];
export const measureNamed = (id) => MEASURES.find((measure) => measure.id === id) || TIME;

/**
 * The figure of a row in a chart, as a point without a place. `resolved`, `rough` and `open` (an unreliable estimate) have an
 * interval and, if known, the 5th and the 95th percentile; `nonadditive` has a figure, `bound` a limit, the others nothing.
 */
export function figureOf(row, measure) {
  if (measure.figure) return measure.figure(row);
  const { state } = row;
  const convert = (cost) => (measure.rate ? measure.scale(row) / cost : cost);
  if (state === "overlapped") return { state };
  const [point, ...interval] = state === "bound" ? [measure.bound(row)] : measure.triple(row);
  if (state === "missing" || !(point > 0)) return { state: "missing" };
  const y = convert(point);
  if (state === "bound") return { state, y, above: measure.rate };
  if (state === "nonadditive") return { state, y };
  // The end of an interval that reaches zero is beyond the axis.
  const range = (costs) =>
    (measure.rate ? costs.slice().reverse() : costs).map((end) =>
      end > 0 ? convert(end) : measure.rate ? Number.MAX_VALUE : 0,
    );
  const [low, high] = interval.includes(null) ? [y, y] : range(interval);
  const percentiles = measure.spread(row);
  const [p05, p95] = percentiles.includes(null) ? [null, null] : range(percentiles);
  return { state, y, low, high, p05, p95 };
}

/** The text next to a mark; only times are written as a range. */
export function figureText(figure, row, measure) {
  if (measure === TIME) return row.figure;
  const { text } = UNITS[measure.unit];
  if (figure.state === "bound") return (figure.above ? "> " : "< ") + text(roundedBound(figure.y, !figure.above), 2);
  if (figure.state === "open") return null;
  return figure.state === "resolved" || figure.state === "rough" ? roughly(figure, figure.y, text) : row.figure;
}

/** A figure as a point of a chart of dots, whose figures lie on the horizontal axis. */
export const asDot = ({ y, ...figure }) => ({ ...figure, x: y });

/** The legend of intervals and spreads, if there are spreads. */
export function spreadKeys(measure) {
  if (!ROWS.some((row) => row.ns_p05 !== null)) return [];
  const key = (text, attributes) =>
    el(
      "span",
      { class: "key" },
      svg("svg", { width: 22, height: 14, "aria-hidden": "true" }, svg("path", { d: "M1,7H21", ...attributes })),
      text,
    );
  return [
    key(`95 % interval ${measure.forAnotherRun || DATA.drawn.words}`, {
      class: "key-interval",
    }),
    key("5th to 95th percentile over addresses, execution orders and points in time", { class: "key-spread" }),
  ];
}
