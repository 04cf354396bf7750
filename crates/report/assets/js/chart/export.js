// Charts as files: the drawing as SVG and PNG, the points as CSV.

import { el } from "../dom.js";
import { csvText, saveAs, savePng, svgText } from "../files.js";
import { parameters, rowOfPoint, RUNS, verdictText } from "../model/data.js";

const POINT_COLUMNS = ["x", "y", "low", "high", "p05", "p95", "state"];

/** The points of a chart, one a line, and the columns that name the case. */
function chartCsv(spec) {
  const named = (point) => {
    const row = rowOfPoint(point);
    const own = row && (row.original || row);
    return own
      ? [RUNS[own.run].label, own.title, parameters(own).join(" "), verdictText(own.verdict)]
      : ["", "", "", ""];
  };
  const titles = ["run", "primitive", "parameters", "verdict"];
  if (spec.kind === "cells") {
    const line = (cell) => [spec.lines[cell.y], spec.columns[cell.x], cell.value, cell.text, ...named(cell)];
    return csvText([["line", "column", "value", "text", ...titles], ...spec.cells.map(line)]);
  }
  if (spec.kind === "rectangles") {
    const line = ([x, y, , tip]) => [...x, ...y, tip];
    return csvText([["x1", "x2", "y1", "y2", "text"], ...spec.rectangles.map(line)]);
  }
  const groups = spec.kind === "lines" ? spec.series : spec.rows.filter((row) => row.points);
  const line = (group, point) => [
    group.label,
    ...POINT_COLUMNS.map((column) => (column === "state" ? point.state || "resolved" : point[column])),
    ...named(point),
  ];
  const lines = groups.flatMap((group) => group.points.map((point) => line(group, point)));
  return csvText([["line", ...POINT_COLUMNS, ...titles], ...lines]);
}

/** The name of a chart's files. */
const fileName = (chart) =>
  (chart.spec.title || chart.spec.label || "chart")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60);

export function exportButtons(chart) {
  const button = (text, save) =>
    el(
      "button",
      {
        type: "button",
        class: "quiet",
        title: `Save this chart as ${text}`,
        click: () => {
          chart.refresh();
          if (chart.drawing) save(fileName(chart));
        },
      },
      text,
    );
  return el(
    "div",
    { class: "exports" },
    button("SVG", (name) => saveAs(`${name}.svg`, svgText(chart), "image/svg+xml")),
    button("PNG", (name) => savePng(svgText(chart), name, 2)),
    button("CSV", (name) => saveAs(`${name}.csv`, chartCsv(chart.spec), "text/csv")),
  );
}
