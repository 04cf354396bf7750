// The measures of the vertical axis, and the figure of a row in each of them.

const costOf = (row) => [row.ns, row.ns_low, row.ns_high];

const MEASURES = [
  {
    id: "thread",
    label: "Per thread",
    axis: "operations per second of each thread",
    rate: true,
    triple: costOf,
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
    scale: (row) => 1e9 * actors(row),
    tick: tickRate,
    text: formatRate,
  },
  {
    id: "ns",
    label: "Time",
    axis: "time per operation",
    rate: false,
    triple: costOf,
    tick: tickTime,
    text: formatTime,
  },
  {
    id: "cycles",
    label: "Cycles",
    axis: "cycles per operation",
    rate: false,
    triple: (row) => [row.cycles, row.cycles_low, row.cycles_high],
    tick: tickPlain,
    text: formatCycles,
  },
];

const VIEW = { measure: MEASURES[0], log: true };

/**
 * The figure of a row in a chart. `resolved` and `open` (an unreliable estimate) have a point and an interval, `bound`
 * has a limit, `none` has nothing.
 */
function figureOf(row, measure) {
  if (measure.figure) return measure.figure(row);
  const [point, low, high] = measure.triple(row);
  const convert = (cost) => (measure.rate ? measure.scale(row) / cost : cost);
  if (row.verdict === "BelowResolution") {
    return high > 0 ? { state: "bound", y: convert(high), above: measure.rate } : { state: "none" };
  }
  const open = row.verdict === "Noisy" || row.verdict === "Interfered";
  if (!(point > 0) || !(open || row.verdict === "Resolved")) return { state: "none" };
  const ends = low === null || high === null ? [point, point] : [low, high];
  const [bottom, top] = (measure.rate ? ends.slice().reverse() : ends).map((end) =>
    end > 0 ? convert(end) : measure.rate ? Infinity : 0,
  );
  return { state: open ? "open" : "resolved", y: convert(point), low: bottom, high: top };
}

/** The smallest and the largest figure of several charts. */
function extent(figures) {
  let low = Infinity;
  let high = 0;
  for (const figure of figures) {
    if (figure.state === "none") continue;
    const ends = figure.state === "resolved" ? [figure.low, figure.y, figure.high] : [figure.y];
    for (const end of ends) {
      if (!(end > 0) || !Number.isFinite(end)) continue;
      low = Math.min(low, end);
      high = Math.max(high, end);
    }
  }
  return high > 0 ? [low, high] : null;
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
