// The core-to-core matrix: the cost of a hand-off between two CPUs. CPUs with fast hand-offs are adjacent.

import { heatRamp, heatRange } from "../chart/cells.js";
import { drawChart } from "../chart/chart.js";
import { el } from "../dom.js";
import { ROWS_OF, RUNS, SEVERAL } from "../model/data.js";
import { formatCount, formatTime, plural } from "../model/format.js";
import { costCell, runHeading, shortNumber } from "./heat_maps.js";

/** Both directions of each pair. */
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

/** The topology that the system reports. */
function reportedTopology({ machine }) {
  const { cpu } = machine;
  const perCore = cpu.cores ? cpu.hardware_threads / cpu.cores : null;
  const caches = cpu.caches
    .filter((cache) => cache.level >= 2)
    .map((cache) => `${cache.count} × L${cache.level}, each for ${plural(cache.shared_by, "thread")}`);
  return [
    ["hardware threads", formatCount(cpu.hardware_threads)],
    [
      "cores",
      `${formatCount(cpu.cores)}${perCore > 1 && Number.isInteger(perCore) ? `, ${perCore} threads each` : ""}`,
    ],
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

const NO_GROUPS = "no groups: too few pairs were measured, or their costs form none";
const ALIKE = "no groups: all pairs cost the same";
const NOT_GROUPED = "This run grouped no CPUs. In the picture, CPUs with fast hand-offs stand next to each other.";

function noGroups(run, measured) {
  if (!measured) return NOT_GROUPED;
  return RUNS[run].matrix.alike ? ALIKE : NO_GROUPS;
}

/** `2`, `8 to 16`. */
function sizesOf(groups) {
  const sizes = groups.map((group) => group.length);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  return least === most ? String(most) : `${least} to ${most}`;
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
    : RUNS[run].matrix.levels.map(({ ns, pairs, groups }) => [
        formatTime(ns),
        `${plural(pairs, "pair")}, ${plural(groups.length, "group")} of ${sizesOf(groups)} CPUs`,
      ]);
  return el(
    "div",
    { class: "comparison" },
    el("h4", null, "Reported by the system"),
    list(reportedTopology(details)),
    el("h4", null, "Measured"),
    groups.length ? list(groups) : el("p", { class: "fixed" }, noGroups(run, measured)),
    measured && measured.contradictions.length === 0 && groups.length ? agreement(RUNS[run].matrix) : null,
  );
}

function contradictions(run) {
  const measured = RUNS[run].run.measured_topology;
  const found = measured ? measured.contradictions : [];
  return found.map((text) => el("p", { class: "notice", role: "note" }, text));
}

function pairsText({ pairs, possible }) {
  if (pairs.length === possible) return "every pair";
  return `${formatCount(pairs.length)} of ${formatCount(possible)} pairs sampled`;
}

/** The matrix of one run beside its topology. */
function matrixOfRun(run, range, legend) {
  const { matrix } = RUNS[run];
  const plot = el("div", { class: "matrix" });
  drawChart(plot, { ...matrixSpec(run), range });
  const body = el("div", { class: "chart-and-comparison" }, el("div", null, plot, legend), topologyComparison(run));
  return [
    SEVERAL ? runHeading(run, pairsText(matrix)) : null,
    contradictions(run),
    matrix.alike ? el("p", { class: "lead" }, alikeText(matrix)) : null,
    // A picture of equal cells shows nothing that the sentence does not say.
    matrix.alike ? el("details", { class: "pairs" }, el("summary", null, "Show the pairs"), body) : body,
  ];
}

/** The card with the matrices of all runs, which have one scale of colours and one legend; null without any. */
export function matrixCard() {
  const found = RUNS.flatMap(({ matrix }, run) => (matrix ? [run] : []));
  if (found.length === 0) return null;
  const range = heatRange(found.flatMap((run) => matrixSpec(run).cells).map((cell) => cell.value));
  // The legend stands below the last picture that is shown.
  const last = found.findLast((run) => !RUNS[run].matrix.alike) ?? found[0];
  const note = ["one way, cas_pingpong", SEVERAL ? null : pairsText(RUNS[found[0]].matrix)].filter(Boolean);
  return el(
    "article",
    { class: "panel wide", id: "core-to-core" },
    el("header", null, el("h3", null, "Core to core"), el("p", { class: "note" }, note.join(" · "))),
    found.map((run) => matrixOfRun(run, range, run === last ? heatRamp(range, (ns) => formatTime(ns)) : null)),
  );
}
