// The measures of the vertical axis, and the figure of a row in each of them.

/** Rows of one run are compared by their intervals within it, rows of several runs by those for another run. */
const costOf = (row) => [row.ns, ...(SEVERAL ? [row.ns_low, row.ns_high] : intervalWithinRun(row))];
const timeSpread = (row) => [row.ns_p05, row.ns_p95];

/** The file has the percentiles in nanoseconds. */
const cycleSpread = (row) =>
  timeSpread(row).map((ns) =>
    ns === null || row.cycles === null || !(row.ns > 0) ? null : (ns * row.cycles) / row.ns,
  );

const MEASURES = [
  {
    id: "thread",
    label: "Per thread",
    axis: "operations per second of each thread",
    rate: true,
    triple: costOf,
    bound: (row) => row.ns_high,
    spread: timeSpread,
    scale: () => 1e9,
    tick: tickRate,
    text: formatRate,
  },
  {
    id: "total",
    label: "Total",
    axis: "operations per second of all threads",
    rate: true,
    triple: costOf,
    bound: (row) => row.ns_high,
    spread: timeSpread,
    // The rates of the threads differ: their sum stands in the row. Only costs that are not resolved have none.
    scale: (row) => (row.ops_per_s_total === null ? 1e9 * actors(row) : row.ops_per_s_total * row.ns),
    tick: tickRate,
    text: formatRate,
  },
  {
    id: "ns",
    label: "Time",
    axis: "time per operation",
    rate: false,
    triple: costOf,
    bound: (row) => row.ns_high,
    spread: timeSpread,
    tick: tickTime,
    text: formatTime,
  },
  {
    id: "cycles",
    label: "Cycles",
    axis: "cycles per operation",
    rate: false,
    triple: (row) => [row.cycles, row.cycles_low, row.cycles_high],
    bound: (row) => row.cycles_high,
    spread: cycleSpread,
    forAnotherRun: true,
    tick: tickPlain,
    text: formatCycles,
  },
];

const TIME = MEASURES.find((measure) => measure.id === "ns");

const VIEW = { measure: TIME, log: true };

/**
 * The figure of a row in a chart. `resolved` and `open` (an unreliable estimate) have a point, an interval and, if known,
 * the 5th and the 95th percentile. `nonadditive` has a point, `bound` has a limit, `none` has nothing.
 */
function figureOf(row, measure) {
  if (measure.figure) return measure.figure(row);
  const [point, ...interval] = measure.triple(row);
  const convert = (cost) => (measure.rate ? measure.scale(row) / cost : cost);
  if (row.verdict === "Overlapped") return { state: "none", overlapped: true };
  if (row.verdict === "NonAdditive") return point > 0 ? { state: "nonadditive", y: convert(point) } : { state: "none" };
  if (row.verdict === "BelowResolution") {
    const high = measure.bound(row);
    return high > 0 ? { state: "bound", y: convert(high), above: measure.rate } : { state: "none" };
  }
  const open = row.verdict === "Noisy" || row.verdict === "Interfered";
  if (!(point > 0) || !(open || row.verdict === "Resolved")) return { state: "none" };
  const range = (costs) =>
    (measure.rate ? costs.slice().reverse() : costs).map((end) =>
      end > 0 ? convert(end) : measure.rate ? Infinity : 0,
    );
  const [low, high] = range(interval.includes(null) ? [point, point] : interval);
  const percentiles = measure.spread(row);
  const spread = percentiles.includes(null) ? null : range(percentiles);
  return { state: open ? "open" : "resolved", y: convert(point), low, high, spread };
}

/** A spread reaches beyond the axis if it is wider than this factor. */
const MOST_SPREAD = 4;

const spreadEnds = ({ y, spread }) =>
  spread ? [Math.max(spread[0], y / MOST_SPREAD), Math.min(spread[1], y * MOST_SPREAD)] : [];

/** The smallest and the largest figure of several charts. */
function extent(figures) {
  let low = Infinity;
  let high = 0;
  for (const figure of figures) {
    if (figure.state === "none") continue;
    const ends = figure.state === "resolved" ? [figure.low, figure.y, figure.high, ...spreadEnds(figure)] : [figure.y];
    for (const end of ends) {
      if (!(end > 0) || !Number.isFinite(end)) continue;
      low = Math.min(low, end);
      high = Math.max(high, end);
    }
  }
  return high > 0 ? [low, high] : null;
}

/** The text beside a mark. */
function figureText(figure, row, measure) {
  if (figure.state === "none" || figure.state === "nonadditive") return verdictText(row.verdict);
  // As on the cards: an estimate of a wide interval is no figure, one of a narrower interval a rough one.
  if (figure.state === "open") return isRough(row) ? `~${measure.text(figure.y, 3)}` : "not resolved";
  if (figure.state === "bound") return (figure.above ? "> " : "< ") + measure.text(figure.y, 2);
  return measure.text(figure.y, 3);
}

/** The range of an axis: the figures with a margin, and wide enough that noise does not look like a trend. */
function domainOf(range, log) {
  if (!range) return null;
  const [low, high] = range;
  if (!log) return [0, high * 1.06];
  const least = 4;
  const pad = Math.max(1.12, Math.sqrt(Math.max(1, least / (high / low))));
  return [low / pad, high * pad];
}
