// The core-to-core matrix: the cost of a hand-off between two CPUs. CPUs with fast hand-offs are adjacent.

/** Both directions of each pair. */
function matrixSpec(run) {
  const { cpus, pairs } = RUNS[run].matrix;
  const cells = pairs.flatMap(([a, b, index]) => {
    const row = ROWS_OF[run][index];
    const figure = isCost(row) ? { value: row.ns, text: shortNumber(row.ns) } : { state: "missing", text: "×" };
    return [
      { ...figure, x: a, y: b, row },
      { ...figure, x: b, y: a, row },
    ];
  });
  const names = cpus.map(String);
  const label = "Core-to-core latency";
  return { kind: "cells", label, square: true, columns: names, lines: names, xTitle: "CPU", yTitle: "CPU", cells };
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
    ["cores", `${formatCount(cpu.cores)}${perCore > 1 ? `, ${digits(perCore, 2)} threads each` : ""}`],
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
  const all = pairs.length === possible ? "All pairs" : `All ${formatCount(pairs.length)} measured pairs`;
  const narrow = `The ${formatCount(alike.pairs)} of ${formatCount(pairs.length)} measured pairs whose intervals are narrow`;
  const which = alike.pairs === pairs.length ? all : narrow;
  const costs = alike.costs.map((ns) => formatTime(ns)).join(" to ");
  return `${which} cost about the same: ${costs}. The differences are noise.`;
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
  const spec = matrixSpec(run);
  const range = heatRange(spec.cells.map((cell) => cell.value));
  const plot = el("div", { class: "matrix" });
  const body = el(
    "div",
    { class: "chart-and-comparison" },
    el(
      "div",
      null,
      plot,
      heatRamp(range, (ns) => formatTime(ns)),
    ),
    topologyComparison(run),
  );
  const card = el(
    "article",
    { class: "panel wide" },
    el("header", null, el("h3", null, "Core to core"), el("p", { class: "note" }, note.join(" · "))),
    contradictions(run),
    matrix.alike ? el("p", { class: "lead" }, alikeText(matrix)) : null,
    // A picture of equal cells shows nothing that the sentence does not say.
    matrix.alike ? el("details", { class: "pairs" }, el("summary", null, "Show the pairs"), body) : body,
  );
  // Of several runs, the first matrix is the target of links.
  if (RUNS.findIndex((one) => one.matrix) === run) card.id = "core-to-core";
  drawChart(plot, { ...spec, range });
  return card;
}

const matrixCards = () => RUNS.map((_, run) => matrixCard(run)).filter(Boolean);
