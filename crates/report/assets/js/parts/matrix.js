// The core-to-core matrix: the cost of a hand-off between two CPUs. CPUs with fast hand-offs are adjacent.

import { heatRamp, heatRange } from "../chart/cells.js";
import { drawChart } from "../chart/chart.js";
import { el } from "../dom.js";
import { ROWS_OF, RUNS, SEVERAL } from "../model/data.js";
import { formatTime } from "../model/format.js";
import { costCell, runHeading, shortNumber } from "./heat_maps.js";

/** The chart of a matrix, with both directions of each pair. */
function matrixSpec(run) {
  const { cpus, pairs } = RUNS[run].matrix;
  const cells = pairs.flatMap(([a, b, index]) => {
    const cell = costCell(ROWS_OF[run][index], { text: shortNumber });
    return [
      { ...cell, x: a, y: b },
      { ...cell, x: b, y: a },
    ];
  });
  const names = cpus.map(String);
  const label = "Core-to-core latency";
  return { kind: "cells", label, square: true, columns: names, lines: names, xTitle: "CPU", yTitle: "CPU", cells };
}

function topologyComparison(run) {
  const { reported, measured, remark } = RUNS[run].matrix;
  const list = (lines) =>
    el(
      "dl",
      null,
      lines.map(([label, text]) => [el("dt", null, label), el("dd", null, text)]),
    );
  return el(
    "div",
    { class: "comparison" },
    el("h4", null, "Reported by the system"),
    list(reported),
    el("h4", null, "Measured"),
    measured.length ? list(measured) : null,
    remark ? el("p", { class: "fixed" }, remark) : null,
  );
}

function contradictions(run) {
  const measured = RUNS[run].run.measured_topology;
  const found = measured ? measured.contradictions : [];
  return found.map((text) => el("p", { class: "notice", role: "note" }, text));
}

/** The matrix of one run next to its topology. */
function matrixOfRun(run, range, legend) {
  const { matrix } = RUNS[run];
  const plot = el("div", { class: "matrix" });
  drawChart(plot, { ...matrixSpec(run), range });
  const body = el("div", { class: "chart-and-comparison" }, el("div", null, plot, legend), topologyComparison(run));
  return [
    SEVERAL ? runHeading(run, matrix.sampled) : null,
    contradictions(run),
    matrix.one_level ? el("p", { class: "lead" }, matrix.one_level) : null,
    // A picture of equal cells shows no more than the sentence, so it is folded.
    matrix.one_level ? el("details", { class: "pairs" }, el("summary", null, "Show the pairs"), body) : body,
  ];
}

/** The card with the matrices of all runs, which have one scale of colours and one legend; null without any. */
export function matrixCard() {
  const found = RUNS.flatMap(({ matrix }, run) => (matrix ? [run] : []));
  if (found.length === 0) return null;
  const range = heatRange(found.flatMap((run) => matrixSpec(run).cells).map((cell) => cell.value));
  // The legend is below the last picture that is shown.
  const last = found.findLast((run) => !RUNS[run].matrix.one_level) ?? found[0];
  const note = ["one way, cas_pingpong", SEVERAL ? null : RUNS[found[0]].matrix.sampled].filter(Boolean);
  return el(
    "article",
    { class: "panel wide", id: "core-to-core" },
    el("header", null, el("h3", null, "Core to core"), el("p", { class: "note" }, note.join(" · "))),
    found.map((run) => matrixOfRun(run, range, run === last ? heatRamp(range, (ns) => formatTime(ns)) : null)),
  );
}
