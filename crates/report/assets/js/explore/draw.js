// The charts of the explorer, and what they leave out.

import { clearCharts, drawChart } from "../chart/chart.js";
import { COLOURS } from "../chart/marks.js";
import { domainFor } from "../chart/values.js";
import { el } from "../dom.js";
import { contentOf, MOST_DOTS, MOST_LINES, saysSomething } from "./content.js";
import { runColours, runSamples } from "./keys.js";
import { QUESTIONS } from "./questions.js";
import { groupedBy, parameters, PRIMITIVES, RUNS, verdictText, verdictTone } from "../model/data.js";
import { dimension, valuesOf, valueWords } from "../model/dimensions.js";
import { formatCount, plural } from "../model/format.js";
import { asDot, figureOf, figureText, spreadKeys } from "../model/measures.js";

/** The most charts side by side. */
const MOST_FACETS = 9;

const xTitleOf = (id, rows) =>
  id === "threads" && rows.every((row) => row.domain === "gpu") ? "threads per block" : dimension(id).title;

const runsOf = (rows) => [...new Set(rows.map((row) => row.run))];

/** Vertical lines where the teams of the only run and placement begin to use further parts of the machine. */
function machineRules(rows, x, xs) {
  const runs = runsOf(rows);
  const places = [...new Set(rows.map(dimension("placement").of))];
  if (x !== "threads" || runs.length !== 1 || places.length !== 1 || rows.some((row) => row.domain !== "cpu"))
    return [];
  const rules = (RUNS[runs[0]].lines[places[0]] || []).map(([at, label]) => ({ x: at, label }));
  return rules.filter((rule) => rule.x > Math.min(...xs) && rule.x <= Math.max(...xs));
}

/** The range of an axis, for all charts side by side. */
const spanOf = (xs, log) => (xs.length ? [log ? xs[0] : Math.min(0, xs[0]), xs[xs.length - 1]] : undefined);

/** Turns a line of the explorer into a line of a chart. Points without a figure are not drawn, but counted below. */
function seriesOf(line, x, measure, facet) {
  const points = line.rows
    .map((row) => ({ x: x.of(row), ...figureOf(row, measure), row }))
    .filter((point) => point.state !== "missing")
    .sort((a, b) => a.x - b.x)
    // Grids of several shapes can have the same number of threads.
    .filter((point, at, all) => x.id !== "actors" || at === 0 || all[at - 1].x !== point.x);
  return {
    label: line.label,
    primitive: line.primitive,
    colour: line.colour,
    variant: line.variant,
    run: facet && facet.id === "run" ? 0 : line.run,
    points,
  };
}

/** The rows of a chart of dots: one for each line, with a point for each run. */
function dotRowsOf(lines, measure) {
  const severalRuns = runsOf(lines.flatMap(({ rows }) => rows)).length > 1;
  const named = [...groupedBy(lines, ({ name }) => name).values()];
  return named
    .map((own) => ({
      label: own[0].name,
      primitive: own[0].primitive,
      variant: own[0].variant,
      colour: own[0].colour,
      points: own.flatMap(({ rows, run }) =>
        rows.slice(0, 4).flatMap((row) => {
          const figure = figureOf(row, measure);
          if (figure.state === "missing") return [];
          const colour = severalRuns ? `var(--s${run % COLOURS})` : null;
          const text = severalRuns ? null : figureText(figure, row, measure);
          return [{ ...asDot(figure), ...(colour ? { colour } : {}), run: severalRuns ? run : 0, text, row }];
        }),
      ),
    }))
    .filter(({ points }) => points.length > 0);
}

/** The charts of a content: {specs, left}, where left is what did not fit. */
function specsOf(content, state) {
  const { x, measure, facet, facets, rows } = content;
  const log = state.scale === "log" && !measure.domain;
  const xLog = state.scale !== "linear";
  const y = { label: measure.axis, unit: measure.unit, log, domain: measure.domain };
  const axis = x && dimension(x);
  const titleOf = (value) => (facet ? (value === null ? "none" : valueWords(facet, value)) : "");
  const heading = sideTitle(state);
  const shown = facets.slice(0, MOST_FACETS);
  const left = facets.length - shown.length;
  const label = (value) => [queryTitle(state), titleOf(value)].filter(Boolean).join(", ");
  if (!axis) {
    const drawn = shown.map(({ value, lines }) => ({ value, all: dotRowsOf(lines, measure) }));
    const omitted = drawn.reduce((sum, { all }) => sum + Math.max(0, all.length - MOST_DOTS), 0);
    const specs = drawn.map(({ value, all }) => ({
      kind: "dots",
      title: facet ? titleOf(value) : heading,
      label: `${label(value)}: ${measure.axis}`,
      x: y,
      rows: all.slice(0, MOST_DOTS),
    }));
    return { specs, left, omitted, lines: drawn.reduce((sum, { all }) => sum + all.length, 0) };
  }
  const xs = valuesOf(axis, rows.filter(saysSomething)).filter((value) => value !== null);
  const drawn = shown.map(({ value, lines }) => ({
    value,
    all: lines.map((line) => seriesOf(line, axis, measure, facet)).filter(({ points }) => points.length > 0),
  }));
  const omitted = drawn.reduce((sum, { all }) => sum + Math.max(0, all.length - MOST_LINES), 0);
  const kept = drawn.map(({ value, all }) => ({ value, series: all.slice(0, MOST_LINES) }));
  // Charts side by side share one axis, except grids on a linear axis: those with few blocks are many times as fast.
  const isOwn = !log && ["grid", "gridStride"].includes(facet?.id);
  const domain =
    domainFor(
      y,
      kept.flatMap(({ series }) => series.flatMap(({ points }) => points)),
      "y",
    ) || undefined;
  const specs = kept.map(({ value, series }) => ({
    kind: "lines",
    title: facet ? titleOf(value) : heading,
    label: `${label(value)}: ${measure.axis} against ${axis.title}`,
    x: { label: xTitleOf(x, rows), unit: "count", log: xLog, values: xs, domain: spanOf(xs, xLog) },
    y: { ...y, domain: isOwn ? measure.domain : domain },
    series,
    rules: machineRules(rows, x, xs),
    height: facet ? 280 : undefined,
  }));
  return { specs, left, omitted, lines: drawn.reduce((sum, { all }) => sum + all.length, 0) };
}

/** The question that a state belongs to. */
const questionOf = (state) =>
  QUESTIONS.find(
    ({ q, y, x, scale }) =>
      q === state.q && (!y || y === state.y) && (!x || x === state.x) && (!scale || scale === state.scale),
  );

/** The question of a state in words, or its filter. */
export function queryTitle(state) {
  const question = questionOf(state);
  return question ? question.title || question.label : state.q || "All rows";
}

/** The title of a state with the side of the machine. */
const sideTitle = (state) => questionOf(state)?.heading || queryTitle(state);

/** The most cases listed for one reason. */
const MOST_LISTED = 4;

/** States whose reasons differ only in their numbers. */
const ALIKE = ["bound", "overlapped", "nonadditive"];

const withoutNumbers = (reason) => (reason || "").replace(/\d+([.,]\d+)*/g, "#");

function reasonItem(rows) {
  const [first] = rows;
  const several = rows.some((row) => row.reason !== first.reason);
  const reason = ALIKE.includes(first.state) ? "" : `${several ? ", for example" : ""}: ${first.reason || ""}`;
  const names = rows
    .slice(0, MOST_LISTED)
    .map((row) => [row.name, ...parameters(row)].join(" "))
    .join("; ");
  const more = rows.length > MOST_LISTED ? ` and ${formatCount(rows.length - MOST_LISTED)} more` : "";
  return el(
    "li",
    null,
    el("span", { class: `badge ${verdictTone(first.verdict)}` }, verdictText(first.verdict)),
    ` ${plural(rows.length, "case")}${reason}`,
    " ",
    el("span", { class: "fixed" }, names + more),
  );
}

/** The cases that are not resolved, one line for each cause; null if all are. */
function unresolvedList(rows, isOpen) {
  const unresolved = rows.filter((row) => row.state !== "resolved");
  if (unresolved.length === 0) return null;
  // Reasons that differ only in their numbers are one cause.
  const cause = (row) => (ALIKE.includes(row.state) ? row.state : `${row.verdict} ${withoutNumbers(row.reason)}`);
  const groups = [...groupedBy(unresolved, cause).values()].sort((a, b) => b.length - a.length);
  const summary = `${formatCount(unresolved.length)} of ${formatCount(rows.length)} cases are approximate at best`;
  return el(
    "details",
    { class: "unresolved", open: isOpen },
    el("summary", null, summary),
    el("ul", null, groups.map(reasonItem)),
  );
}

/** A list that explains the primitives of a chart. */
function meaningList(rows) {
  const known = [...new Set(rows.map((row) => row.primitive))]
    .map((id) => PRIMITIVES.get(id))
    .filter((one) => one && one.summary);
  if (known.length === 0) return null;
  return el(
    "details",
    { class: "meanings" },
    el("summary", null, "What these are"),
    el(
      "dl",
      null,
      known.map(({ id, summary, meaning, source }) => [
        el("dt", null, el("a", { href: `#is:${id}` }, id)),
        el("dd", null, `${summary}. ${meaning}`, source ? ` Source: ${source}.` : null),
      ]),
    ),
  );
}

/** Draws a state into a host. */
export function drawContent(host, state, wasOpen) {
  const content = contentOf(state);
  const { specs, left, omitted, lines } = specsOf(content, state);
  clearCharts(host);
  if (content.facet) host.append(el("h3", null, sideTitle(state)));
  const grid = el("div", { class: specs.length > 1 ? "facets" : "facet" });
  host.append(grid);
  specs.filter(({ rows, series }) => (rows || series).length > 0).forEach((spec) => drawChart(grid, spec).refresh());
  const notes = [
    content.note,
    content.found.length > 0 && lines === 0 ? "None of these cases has a figure." : null,
    ...[
      [omitted, "line"],
      [left, "chart"],
    ].map(
      ([count, what]) =>
        count > 0 && `The filter matches ${plural(count, `more ${what}`)}; narrow it to draw everything.`,
    ),
  ];
  host.append(...notes.filter(Boolean).map((text) => el("p", { class: "notice" }, text)));
  const together = runsOf(content.rows).length > 1 && !(content.facet && content.facet.id === "run");
  const keys = [...(!together ? [] : content.x ? runSamples() : runColours()), ...spreadKeys(content.measure)];
  if (lines > 0 && keys.length) host.append(el("p", { class: "keys" }, keys));
  host.append(...[unresolvedList(content.rows, wasOpen), meaningList(content.rows)].filter(Boolean));
  return content;
}
