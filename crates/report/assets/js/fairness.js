// The fairness of locks (Jain's index) and the tail latencies of hand-offs (percentiles).

/** (sum x)^2 / (n sum x^2) of the acquisitions of n threads: 1 if all threads have the same number, 1/n if one has all
    (Jain, Chiu and Hawe, DEC-TR-301, 1984). */
const JAIN = {
  id: "jain",
  axis: "Jain’s index: 1 is fair, 1/n if one of n threads gets all",
  rate: false,
  domain: [0, 1.05],
  figure: (row) => {
    const index = detailOf(row, "jain_index");
    return index === null ? { state: "none" } : { state: "resolved", y: index, low: index, high: index };
  },
  tick: (value) => trim(digits(value, 2)),
  text: (value) => digits(value, 3),
};

/** The panel of Jain's index against threads; null if fewer than two rows have one. */
function fairnessPanel(domain) {
  const rows = ROWS.filter(
    (row) => row.domain === domain && row.family === "lock" && detailOf(row, "jain_index") !== null,
  );
  if (rows.length < 2) return null;
  return makePanel({
    title: "Fairness of locks",
    note: "acquisitions of each thread in a fairness run",
    rows,
    measure: JAIN,
  });
}

const PERCENTILES = ["p50_ns", "p90_ns", "p99_ns", "max_ns"];

/** One entry per primitive and class of pairs. The pair with the median of the medians represents its class. */
function tailsOf(domain) {
  const found = new Map();
  for (const row of ROWS) {
    if (row.domain !== domain || detailOf(row, "p50_ns") === null) continue;
    const words = [row.name, row.group, row.family === "handoff" ? null : row.threads && plural(row.threads, "thread")];
    const label = words.filter(Boolean).join(" · ");
    const key = `${row.run} ${label}`;
    if (!found.has(key)) found.set(key, { label, run: row.run, rows: [] });
    found.get(key).rows.push(row);
  }
  return [...found.values()].map(({ label, run, rows }) => {
    const sorted = rows.sort((a, b) => detailOf(a, "p50_ns") - detailOf(b, "p50_ns"));
    const row = sorted[Math.floor((sorted.length - 1) / 2)];
    const name = rows.length > 1 ? `${label} · ${plural(rows.length, "pair")}` : label;
    return { label: name, run, row, values: PERCENTILES.map((percentile) => detailOf(row, percentile)) };
  });
}

/** A dot at the median, a thick bar to the 90th percentile, a thin bar to the 99th, a ring at the maximum. */
function drawTail(root, tail, x, at) {
  const colour = `var(--s${(SEVERAL ? tail.run : 0) % COLOURS})`;
  const group = svg("g", { class: "series", style: `--c: ${colour}` });
  const [median, p90, p99, most] = tail.values.map((value) => (value === null ? null : round(x.to(value))));
  const bar = (from, to, kind) => {
    if (from !== null && to !== null) group.append(svg("path", { class: kind, d: `M${from},${at}H${to}` }));
  };
  bar(p99 === null ? median : p99, most, "whisker faint");
  bar(median, p99, "whisker");
  bar(median, p90, "whisker thick");
  if (most !== null) group.append(svg("path", { class: "mark open", d: SHAPES[0](most, at, 3.2) }));
  group.append(svg("path", { class: "mark resolved", d: SHAPES[0](median, at, 4.6) }));
  root.append(group);
  return { x: median, y: at, row: tail.row, series: tail };
}

function tailChart(tails, width) {
  const step = 27;
  const longest = Math.max(...tails.map((tail) => tail.label.length));
  const left = Math.min(Math.round(longest * 6.9 + 14), Math.round(width * 0.5));
  const box = { left, right: width - 16, top: 24, bottom: 24 + tails.length * step };
  const values = tails.flatMap((tail) => tail.values).filter((value) => value > 0);
  const x = makeScale(true, [Math.min(...values) / 1.3, Math.max(...values) * 1.2], [box.left + 6, box.right]);
  const root = frame("tails", width, box.bottom + 26, "Percentiles of single hand-offs");
  root.append(svg("text", { class: "axis-title", x: 0, y: 11 }, "time of a single hand-off"));
  for (const tick of fittingTicks(x.ticks(Math.round((box.right - box.left) / 70)), x.to, 52)) {
    const at = round(x.to(tick));
    root.append(
      svg("line", { class: "grid", x1: at, x2: at, y1: box.top, y2: box.bottom }),
      svg("text", { x: at, y: box.bottom + 18, "text-anchor": "middle" }, tickTime(tick)),
    );
  }
  const fits = Math.floor((left - 14) / 6.6);
  const spots = tails.map((tail, index) => {
    const at = box.top + step * (index + 0.5);
    const label = tail.label.length > fits ? `${tail.label.slice(0, fits - 1)}…` : tail.label;
    root.append(svg("text", { class: "label", x: left - 8, y: at + 4, "text-anchor": "end" }, label));
    return drawTail(root, tail, x, at);
  });
  addNavigation(root, spots, () => {});
  return root;
}

/** The most hand-offs in the chart. */
const MOST_TAILS = 40;

/** The card with the tail latencies of a domain; null if no case has percentiles. */
function tailsCard(domain) {
  const all = tailsOf(domain);
  const tails = all.slice(0, MOST_TAILS);
  if (tails.length === 0) return null;
  const plot = el("div", { class: "plot" });
  const note =
    "dot: median · thick: to the 90th percentile · thin: to the 99th · ring: maximum · of many pairs, the median pair";
  const rest =
    all.length > tails.length ? el("p", { class: "fixed" }, `${tails.length} of ${all.length} are drawn.`) : null;
  const card = el(
    "article",
    { class: "panel tails" },
    el("header", null, el("h3", null, "Tail latency of hand-offs"), el("p", { class: "note" }, note)),
    SEVERAL
      ? el(
          "div",
          null,
          RUNS.map((run, at) =>
            el(
              "p",
              { class: "card-run", style: `--c: var(--s${at % COLOURS})` },
              el("i", { class: "swatch" }),
              run.label,
            ),
          ),
        )
      : null,
    plot,
    rest,
  );
  const holder = el("div", { class: "single" }, card);
  return makeView(holder, plot, (width) => plot.replaceChildren(tailChart(tails, width)));
}
