// The measures of a chart, and the figure of a row in each of them.

import { UNITS } from "../chart/values.js";
import { el, svg } from "../dom.js";
import { boundOf, detailOf, intervalWithinRun, roundedBound, ROWS, SEVERAL, verdictText } from "./data.js";
import { answerWords, isRough, isWide } from "./reading.js";

/** Rows of one run are compared by their intervals within it, rows of several runs by those for another run. */
const costOf = (row) => [row.ns, ...(SEVERAL ? [row.ns_low, row.ns_high] : intervalWithinRun(row))];
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

const COST = { triple: costOf, bound: boundOf, spread: timeSpread };

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
    forAnotherRun: true,
  },
  {
    id: "thread",
    label: "Rate, each thread",
    axis: "operations per second of each thread",
    unit: "rate",
    rate: true,
    ...COST,
    scale: () => 1e9,
  },
  {
    id: "total",
    label: "Rate, all threads",
    axis: "operations per second of all threads",
    unit: "rate",
    rate: true,
    ...COST,
    // The row says how many operations all threads do at once.
    scale: (row) => row.ops_per_s_total * row.ns,
    applies: (row) => row.ops_per_s_total !== null,
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
 * The figure of a row in a chart, as a point without a place. `resolved` and `open` (an unreliable estimate) have an interval
 * and, if known, the 5th and the 95th percentile; `nonadditive` has a figure, `bound` a limit, the others nothing.
 */
export function figureOf(row, measure) {
  if (measure.figure) return measure.figure(row);
  const [point, ...interval] = measure.triple(row);
  const convert = (cost) => (measure.rate ? measure.scale(row) / cost : cost);
  if (row.verdict === "Overlapped") return { state: "overlapped" };
  if (row.verdict === "NonAdditive")
    return point > 0 ? { state: "nonadditive", y: convert(point) } : { state: "missing" };
  if (row.verdict === "BelowResolution") {
    const high = measure.bound(row);
    return high > 0 ? { state: "bound", y: convert(high), above: measure.rate } : { state: "missing" };
  }
  const open = row.verdict === "Noisy" || row.verdict === "Interfered";
  if (!(point > 0) || !(open || row.verdict === "Resolved")) return { state: "missing" };
  // The end of an interval that reaches zero lies beyond the axis.
  const range = (costs) =>
    (measure.rate ? costs.slice().reverse() : costs).map((end) =>
      end > 0 ? convert(end) : measure.rate ? Number.MAX_VALUE : 0,
    );
  const y = convert(point);
  const [low, high] = interval.includes(null) ? [y, y] : range(interval);
  const percentiles = measure.spread(row);
  const [p05, p95] = percentiles.includes(null) ? [null, null] : range(percentiles);
  return { state: open ? "open" : "resolved", y, low, high, p05, p95 };
}

/** The text beside a mark. */
export function figureText(figure, row, measure) {
  const { text } = UNITS[measure.unit];
  if (["missing", "overlapped", "nonadditive"].includes(figure.state)) return verdictText(row.verdict);
  // As on the cards: an estimate of a wide interval is no figure, one of a narrower interval a rough one.
  if (figure.state === "open") return isRough(row) ? `~${text(figure.y, 3)}` : "no number";
  if (figure.state === "bound") return (figure.above ? "> " : "< ") + text(roundedBound(figure.y, !figure.above), 2);
  const interval = row && measure.unit === "time" && isWide(row) && answerWords({ row, median: null }).interval;
  return text(figure.y, 3) + (interval ? ` ${interval}` : "");
}

/** A figure as a point of a chart of dots, whose figures lie on the horizontal axis. */
export const asDot = ({ y, ...figure }) => ({ ...figure, x: y });

/** The legend of intervals and spreads, if there are spreads. */
export function spreadKeys(measure) {
  if (!ROWS.some((row) => row.ns_p05 !== null)) return [];
  const anotherRun = SEVERAL || measure.forAnotherRun;
  const key = (text, attributes) =>
    el(
      "span",
      { class: "key" },
      svg("svg", { width: 22, height: 14, "aria-hidden": "true" }, svg("path", { d: "M1,7H21", ...attributes })),
      text,
    );
  return [
    key(anotherRun ? "95 % interval for another run" : "95 % interval among rows of this run", {
      class: "key-interval",
    }),
    key("5th to 95th percentile by address, order and time", { class: "key-spread" }),
  ];
}
