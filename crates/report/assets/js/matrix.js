// The core-to-core matrix: the cost of a hand-off between each two CPUs. CPUs with fast hand-offs are adjacent.

/** The number of colours. All cells of one colour are one path, which keeps large matrices small. */
const SHADES = 24;

/** The least width of a cell that shows its number. */
const NUMBER_WIDTH = 26;

function matrixChart(run, width) {
  const { cpus, pairs } = RUNS[run].matrix;
  const rows = pairs.map(([, , index]) => ROWS_OF[run][index]);
  const unit = { name: "ns", of: (row) => row.ns, text: (row) => shortNumber(row.ns) };
  const range = costRange(rows, unit);
  const left = 30;
  const cell = Math.min(46, (width - left) / cpus.length);
  const size = cell * cpus.length;
  const root = frame("matrix", Math.round(left + size), Math.round(22 + size), "Hand-off between each two CPUs");
  root.classList.add("heat");
  const [originX, originY] = [left, 22];
  const gap = cell > 8 ? 1 : 0;
  const shades = new Map();
  const texts = [];
  const spots = [];
  pairs.forEach(([a, b], at) => {
    const row = rows[at];
    const shown = row.ns > 0 && (row.verdict === "Resolved" || row.verdict === "Noisy");
    const share = shown ? heatShare(range, row.ns) : null;
    const shade = shown ? Math.round(share * (SHADES - 1)) : "none";
    for (const [x, y] of [
      [a, b],
      [b, a],
    ]) {
      const [px, py] = [originX + x * cell, originY + y * cell];
      const path = `M${round(px)},${round(py)}h${round(cell - gap)}v${round(cell - gap)}h${round(gap - cell)}z`;
      shades.set(shade, (shades.get(shade) || "") + path);
      if (cell >= NUMBER_WIDTH) texts.push([px + cell / 2, py + cell / 2, shown ? unit.text(row) : "×", share]);
      spots.push({ x: px + cell / 2, y: py + cell / 2, row, series: y });
    }
  });
  for (const [shade, path] of shades) {
    const colour = shade === "none" ? "var(--faint)" : heatColour(shade / (SHADES - 1));
    root.append(svg("path", { class: "cell", style: `--c: ${colour}`, d: path }));
  }
  const ink = (share) => (share === null ? "var(--muted)" : heatInk(share));
  texts.forEach(([x, y, text, share]) => {
    const position = { x: round(x), y: round(y + 4), "text-anchor": "middle" };
    root.append(svg("text", { class: "cell-text", style: `--ink-c: ${ink(share)}`, ...position }, text));
  });
  const every = Math.max(1, Math.ceil(22 / cell));
  cpus.forEach((cpu, at) => {
    if (at % every !== 0) return;
    const middle = round(originX + (at + 0.5) * cell);
    root.append(
      svg("text", { x: middle, y: originY - 7, "text-anchor": "middle" }, String(cpu)),
      svg("text", { x: left - 6, y: round(originY + (at + 0.5) * cell + 4), "text-anchor": "end" }, String(cpu)),
    );
  });
  addNavigation(root, spots, () => {});
  return { root, range, unit };
}

/** The topology that the system reports. */
function reportedTopology({ machine }) {
  const { cpu } = machine;
  const perCore = cpu.cores ? cpu.hardware_threads / cpu.cores : null;
  const caches = cpu.caches
    .filter((cache) => cache.level >= 2)
    .map((cache) => `${cache.count} × L${cache.level}, each for ${plural(cache.shared_by, "thread")}`);
  return [
    ["hardware threads", formatCount(cpu.hardware_threads)],
    ["cores", `${formatCount(cpu.cores)}${perCore ? `, ${digits(perCore, 2)} threads each` : ""}`],
    ["packages, NUMA nodes", `${cpu.packages}, ${cpu.numa_nodes}`],
    ["caches", caches.join("; ") || null],
  ].filter(([, text]) => text);
}

/** A sample of pairs shows only what it met. */
function agreement({ pairs, possible }) {
  const text =
    pairs.length === possible
      ? "The measured topology does not contradict the reported one."
      : `The ${formatCount(pairs.length)} measured pairs do not contradict the reported topology. The other ${formatCount(possible - pairs.length)} were not measured.`;
  return el("p", { class: "fixed" }, text);
}

/** In words, where the costs of all pairs are one level. */
function alikeText({ alike, pairs, possible }) {
  if (!alike) return null;
  const which = pairs.length === possible ? "All pairs" : `All ${formatCount(pairs.length)} measured pairs`;
  return `${which} cost about the same: ${alike.map((ns) => formatTime(ns)).join(" to ")}. The differences are noise.`;
}

function topologyComparison(run) {
  const { run: details } = RUNS[run];
  const measured = details.measured_topology;
  const list = (lines) =>
    el(
      "dl",
      null,
      lines.map(([label, text]) => [el("dt", null, label), el("dd", null, text)]),
    );
  const groups = measured
    ? measured.groups.map((group) => [
        `shares a ${group.shares}`,
        `CPUs ${group.cpus}: ${formatTime(group.handoff_ns)} from one CPU to another`,
      ])
    : [];
  return el(
    "div",
    { class: "comparison" },
    el("h4", null, "Reported by the system"),
    list(reportedTopology(details)),
    el("h4", null, "Measured"),
    groups.length
      ? list(groups)
      : el("p", { class: "fixed" }, "no groups: all pairs cost the same, or too few were measured"),
    measured && measured.contradictions.length === 0 && groups.length ? agreement(RUNS[run].matrix) : null,
  );
}

function contradictions(run) {
  const measured = RUNS[run].run.measured_topology;
  const found = measured ? measured.contradictions : [];
  return found.map((text) => el("p", { class: "notice", role: "note" }, text));
}

/** The card with the matrix of one run; null without a matrix. */
function matrixCard(run) {
  const { matrix, label } = RUNS[run];
  if (!matrix) return null;
  const all = matrix.pairs.length === matrix.possible;
  const sampled = `${formatCount(matrix.pairs.length)} of ${formatCount(matrix.possible)} pairs sampled`;
  const note = [SEVERAL ? label : null, "one way, cas_pingpong", all ? "every pair" : sampled].filter(Boolean);
  const plot = el("div", { class: "plot" });
  const ramp = el("div");
  const card = viewCard(
    "Core to core",
    note.join(" · "),
    contradictions(run),
    matrix.alike ? el("p", { class: "lead" }, alikeText(matrix)) : null,
    el("div", { class: "chart-and-comparison" }, el("div", null, plot, ramp), topologyComparison(run)),
  );
  // Of several runs, the first matrix is the target of links.
  if (RUNS.findIndex((one) => one.matrix) === run) card.id = "core-to-core";
  return makeView(card, plot, (width) => {
    const chart = matrixChart(run, Math.min(width, 46 * matrix.cpus.length + 30, 900));
    plot.replaceChildren(chart.root);
    ramp.replaceChildren(heatRamp(chart.range, chart.unit));
  });
}

const matrixCards = () => RUNS.map((_, run) => matrixCard(run)).filter(Boolean);
