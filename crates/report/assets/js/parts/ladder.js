// The cost ladder: each level at which threads wait for each other, on one logarithmic time axis.

import { drawChart } from "../chart/chart.js";
import { anchorSample } from "../chart/dots.js";
import { COLOURS } from "../chart/marks.js";
import { el, svg } from "../dom.js";
import { shortRunName } from "../explore/content.js";
import { colourKey, runColours } from "../explore/keys.js";
import { DATA, ROWS_OF, RUNS, SEVERAL } from "../model/data.js";
import { formatTime } from "../model/format.js";
import { asDot, figureOf, spreadKeys, TIME } from "../model/measures.js";

export const SIDE_COLOURS = { cpu: "var(--s0)", gpu: "var(--s1)", hybrid: "var(--s3)", mpi: "var(--s2)" };
/** The most runs whose numbers are shown outside tooltips. */
const MOST_NUMBERS = 4;

/** The answers of a question: one for each run that has a row. */
export function answersOf(question) {
  return question.rows
    .map((index, run) => (index === null ? null : { run, row: ROWS_OF[run][index], median: question.medians[run] }))
    .filter(Boolean);
}

/** The cost of an answer in one line: `~48.0 ns ±18 %`. */
export function answerText({ row, median }, withInterval) {
  if (median !== null) return formatTime(median);
  return withInterval && row.interval ? `${row.figure} ${row.interval}` : row.figure;
}

/** The figure of an answer in a chart of time. A median of single operations has no interval. */
export function answerFigure({ row, median }) {
  if (median === null) return figureOf(row, TIME);
  return { state: "resolved", y: median };
}

/** The points of one rung: one for each run that has a row. */
function rungPoints(rung) {
  return answersOf(rung).map((answer) => {
    const colour = SEVERAL ? `var(--s${answer.run % COLOURS})` : SIDE_COLOURS[rung.domain];
    const side = { cpu: 0, gpu: 1, hybrid: 2, mpi: 3 }[rung.domain] || 0;
    return { ...asDot(answerFigure(answer)), colour, variant: SEVERAL ? answer.run : side, row: answer.row };
  });
}

/** The numbers of a rung, each in the column of its run, so that a missing one moves no other. */
function rungTexts(rung) {
  const answers = answersOf(rung);
  const costs = RUNS.map((_, run) => {
    const answer = answers.find((one) => one.run === run);
    return answer ? answerText(answer, !SEVERAL) : "–";
  });
  return DATA.compared ? [...costs, rung.ratio] : costs;
}

/** The rungs, with a line before the first of each level. */
function ladderRows() {
  const rows = [];
  let level = null;
  for (const rung of DATA.ladder) {
    const points = rungPoints(rung);
    if (points.length === 0) continue;
    if (rung.heading !== level) rows.push({ heading: rung.heading });
    level = rung.heading;
    const numbers = RUNS.length <= MOST_NUMBERS ? { texts: rungTexts(rung) } : {};
    rows.push({ label: rung.title, all: rung.all, points, anchors: rung.anchors || [], ...numbers });
  }
  return rows;
}

function ladderKeys() {
  const keys = SEVERAL
    ? runColours()
    : DATA.sides
        .filter(([domain]) => DATA.ladder.some((rung) => rung.domain === domain))
        .map(([domain, side], at) => colourKey(SIDE_COLOURS[domain], at, side));
  return el("p", { class: "keys" }, keys, spreadKeys(TIME), anchorKeys());
}

/** The legend of the grey ticks: figures of other machines, measured, or published by others without an interval. */
function anchorKeys() {
  const all = DATA.ladder.flatMap((rung) => rung.anchors || []);
  const key = (certain, text) =>
    all.some((anchor) => anchor.certain === certain)
      ? el(
          "span",
          { class: "key" },
          svg("svg", { width: 14, height: 14, "aria-hidden": "true" }, anchorSample(certain)),
          text,
        )
      : null;
  return [key(true, "stored run of another machine"), key(false, "without an interval")];
}

/** The section with the ladder; null if there are too few rungs. */
export function ladderSection() {
  if (DATA.ladder.length < 3) return null;
  const card = el("article", { class: "panel wide ladder" }, ladderKeys());
  const names = SEVERAL ? RUNS.map((_, at) => shortRunName(at)) : ["cost ±"];
  const titles = DATA.compared ? [...names, "B/A"] : names;
  drawChart(card, {
    kind: "dots",
    label: "The cost ladder",
    x: { label: "time per operation", unit: "time", log: true },
    rows: ladderRows(),
    columns: RUNS.length <= MOST_NUMBERS ? titles : [],
  });
  card.append(...[DATA.anchors, DATA.changed].filter(Boolean).map((text) => el("p", { class: "fixed" }, text)));
  return el(
    "section",
    { id: "ladder", "aria-labelledby": "ladder-title" },
    el("h2", { id: "ladder-title" }, "The cost ladder"),
    el(
      "p",
      { class: "lead" },
      DATA.compared
        ? "The cost of one synchronization operation in both runs, with the ratio B/A; ~ marks an undecided ratio and – rows of different cases."
        : "The cost of one synchronization operation at each level of the machine, on a logarithmic axis.",
    ),
    card,
  );
}
