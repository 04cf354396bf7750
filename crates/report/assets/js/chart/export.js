// Saves charts as files: the drawing with what readers elsewhere must know as SVG and PNG, and the points as CSV. Tables
// become Markdown, LaTeX and CSV.

import { el } from "../dom.js";
import { copyText, csvText, latexTable, markdownTable, saveAs, savePng, svgText } from "../files.js";
import { parameters, rowOfPoint, RUNS, verdictText } from "../model/data.js";

const POINT_COLUMNS = ["x", "y", "low", "high", "p05", "p95", "state"];

/** The runs that a chart is about. */
const runsOf = (spec) => (spec.about ? [spec.about] : RUNS);

/** The title of a chart: its question, and its own title. */
const titleOf = (spec) => [...new Set([spec.question, spec.title].filter(Boolean))].join(" ") || spec.label || "";

/** The machine, the run and the version of some figures. */
const originOf = (spec) =>
  runsOf(spec).map(({ parts, name, run }) => [
    parts.join(" + "),
    `run ${name}, ${run.started.slice(0, 10)}`,
    `syncscope ${run.version}`,
  ]);

/** The cells that name the case of a point, to join it with measurements.csv. */
function caseCells(point) {
  const row = rowOfPoint(point);
  const own = row && (row.original || row);
  if (!own) return CASE_COLUMNS.map(() => "");
  const { label, name, run } = RUNS[own.run];
  const said = [own.title, parameters(own).join(" "), verdictText(own.verdict)];
  return [label, ...said, own.case_id, name, run.started, run.version];
}
const CASE_COLUMNS = ["machine", "primitive", "parameters", "verdict", "case_id", "run", "started", "version"];

/** The name of an axis with the unit of its numbers. */
const columnOf = ({ label, unit }) => `${label}${{ time: ", ns", rate: ", per second" }[unit] || ""}`;

/** The end of an interval beyond every axis is written as missing. */
const written = (value) => (value === Number.MAX_VALUE ? null : value);

/** The points of a chart, one per line, with the columns that name the case. */
function chartCsv(spec) {
  const [named, titles] = [caseCells, CASE_COLUMNS];
  if (spec.kind === "cells") {
    const line = (cell) => [spec.lines[cell.y], spec.columns[cell.x], cell.value, cell.text, ...named(cell)];
    return csvText([["line", "column", "value", "text", ...titles], ...spec.cells.map(line)]);
  }
  if (spec.kind === "rectangles") {
    const line = ([x, y, , tip]) => [...x, ...y, tip];
    return csvText([["x1", "x2", "y1", "y2", "text"], ...spec.rectangles.map(line)]);
  }
  const panels = spec.panels || [spec];
  const groupsOf = (one) => (one.series || one.rows).filter((row) => row.points);
  const line = (panel, group, point) => [
    titleOf(spec),
    panel.title || "",
    group.label,
    ...POINT_COLUMNS.map((column) => (column === "state" ? point.state || "resolved" : written(point[column]))),
    ...named(point),
  ];
  const lines = panels.flatMap((panel) =>
    groupsOf(panel).flatMap((group) => group.points.map((point) => line(panel, group, point))),
  );
  // In rows of dots the figure is x.
  const [x, y] = [panels[0].x, panels[0].y].map((axis) => axis && columnOf(axis));
  const places = [x || "x", y || "y", ...POINT_COLUMNS.slice(2)];
  return csvText([["question", "chart", "line", ...places, ...titles], ...lines]);
}

const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60);

/** The name of a file: the run and the content, as in `h100-barrier`. */
export const fileName = (about, ...parts) =>
  [...(about ? [about] : RUNS).map(({ name }) => name).slice(0, 2), ...parts].filter(Boolean).map(slug).join("-");

/** The caption below the drawing in a file: where the figures are from, what the marks mean, and the notes. */
function captionOf(chart) {
  const notes = [...chart.below.querySelectorAll(".fixed")].map((node) => node.textContent);
  return [...originOf(chart.spec).map((parts) => parts.join(" · ")), ...notes];
}

const textButton = (text, title, click) => el("button", { type: "button", class: "quiet", title, click }, text);

export function exportButtons(chart) {
  const button = (text, save) =>
    textButton(text, `Save this chart as ${text}`, () => {
      chart.refresh();
      const { spec } = chart;
      if (chart.drawing) save(fileName(spec.about, spec.name || spec.title || spec.label || "chart"));
    });
  const drawing = () => svgText(chart, titleOf(chart.spec), captionOf(chart));
  return el(
    "div",
    { class: "exports" },
    button("SVG", (name) => saveAs(`${name}.svg`, drawing(), "image/svg+xml")),
    button("PNG", (name) => savePng(drawing(), name, 2)),
    button("CSV", (name) => saveAs(`${name}.csv`, chartCsv(chart.spec), "text/csv")),
  );
}

/** Buttons for a table of texts. `rowsOf` returns the rows of each line, for CSV. */
export function tableButtons({ about, name, title, columns, lines, cells }) {
  const caption = [title, ...originOf({ about }).flat()].filter(Boolean).join(", ");
  const copy = (text, make) =>
    textButton(text, `Copy this table as ${text}`, (event) =>
      copyText(make(caption, columns, lines), event.currentTarget),
    );
  const csv = () =>
    csvText([
      ["line", "column", "text", "detail", ...CASE_COLUMNS],
      ...cells.map(({ row, texts }) => [...texts, ...caseCells({ row })]),
    ]);
  return el(
    "div",
    { class: "exports" },
    copy("Markdown", markdownTable),
    copy("LaTeX", latexTable),
    textButton("CSV", "Save this table as CSV", () => saveAs(`${fileName(about, name)}.csv`, csv(), "text/csv")),
  );
}
