// Tail latencies: percentiles of single operations, a chart for each family.

import { drawChart } from "../chart/chart.js";
import { COLOURS } from "../chart/marks.js";
import { el } from "../dom.js";
import { runColours } from "../explore/keys.js";
import { detailOf, groupedBy, ROWS_OF, RUNS, SEVERAL } from "../model/data.js";
import { formatCount, plural } from "../model/format.js";

const PERCENTILES = ["p50_ns", "p90_ns", "p99_ns", "max_ns"];
/** The most operations in a chart. */
const MOST_TAILS = 48;

/** One entry per primitive and class of pairs, with the rows of all runs. */
function tailsOf({ domain, family }) {
  const all = RUNS.flatMap(({ tails }, run) => tails.map((tail) => ({ ...tail, row: ROWS_OF[run][tail.row] })));
  const own = all.filter((tail) => tail.domain === domain && tail.family === family);
  return [...groupedBy(own, ({ label }) => label)].map(([label, entries]) => ({ label, entries }));
}

/** A dot at the median, a thick bar to the 90th percentile, a thin one to the 99th, a ring at the maximum. */
function tailPoint(row) {
  const [median, p90, p99, most] = PERCENTILES.map((name) => detailOf(row, name));
  return {
    x: median,
    low: median,
    high: p99 ?? median,
    ...(p90 === null ? {} : { bar: [median, p90] }),
    ...(most === null ? {} : { most }),
    ...(SEVERAL ? { colour: `var(--s${row.run % COLOURS})`, run: row.run } : {}),
    row,
  };
}

/** The chart of a family; null if no case has percentiles. */
export function tailsCard(family) {
  const all = tailsOf(family);
  if (all.length === 0) return null;
  const rows = all.slice(0, MOST_TAILS).map(({ label, entries }) => {
    const pairs = Math.max(...entries.map((entry) => entry.pairs));
    return {
      label: pairs > 1 ? `${label} · ${plural(pairs, "pair")}` : label,
      primitive: entries[0].row.primitive,
      points: entries.map(({ row }) => tailPoint(row)),
    };
  });
  const card = el("article", { class: "panel wide tails" });
  const points = rows.flatMap((row) => row.points);
  const keys = [
    "Dots show medians.",
    points.some(({ bar }) => bar) ? "Thick bars extend to the 90th percentile." : null,
    "Thin bars extend to the 99th percentile.",
    points.some(({ most }) => most) ? "Rings show maxima." : null,
    rows.some(({ label }) => label.endsWith("pairs")) ? "A row for several CPU pairs shows their median." : null,
  ];
  const rest =
    all.length > rows.length
      ? [`The chart shows ${formatCount(rows.length)} of ${formatCount(all.length)} operations.`]
      : [];
  drawChart(card, {
    kind: "dots",
    title: `${family.heading}: tail latency`,
    x: { label: "time of a single operation", unit: "time", log: true },
    rows,
    note: [keys.filter(Boolean).join(" "), ...rest],
  });
  if (SEVERAL) card.append(el("p", { class: "keys" }, runColours()));
  return card;
}
