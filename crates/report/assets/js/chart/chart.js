// Charts. `drawChart` draws a plain object, so that scripts and Rust can both make it:
//
//   { kind: "lines", title, label, note, x: axis, y: axis, series: [line], rules: [{ x, label }], height }
//   { kind: "dots", title, label, note, x: axis, rows: [row], columns: [title], rules: [{ x, label }] }
//   { kind: "cells", title, label, note, columns: [text], lines: [text], xTitle, yTitle, cells: [cell], range: [low, high] }
//   { kind: "panels", title, label, note, panels: [lines or dots] }, with one vertical axis
//   { kind: "rectangles", title, label, note, x: axis, y: axis, names: [text], rectangles: [rectangle], legend: [{ colour,
//     label }], rules: [{ x, label }], height }
//
// title is above the chart, note below it; label is read aloud (the title, if label is missing). All texts are plain text.
//
//   axis  { label, unit: "time" | "cycles" | "rate" | "ratio" | "share" | "count", log, domain, values }
//         A domain that is missing is made of the figures. `values` are the only places of ticks, such as thread counts.
//   line  { label, primitive, colour, variant, run, points: [point] }
//         One colour for each primitive, or `colour` (CSS), or one for each line. `variant` and `run` are numbers: lines of one
//         primitive differ by dash and shape.
//   point { x, y, low, high, p05, p95, state, above, row, tip }
//         In rows of dots the figure is x, and there is no y. low and high are the interval, p05 and p95 the spread.
//         state: "resolved" | "open" (an unreliable estimate) | "bound" (`above`: a lower one) | "nonadditive" |
//         "overlapped" | "missing"; without it, resolved. The last two need no figure.
//         row: a row, or [run, index]: the tooltip shows it. tip: a text for the tooltip in its place.
//   row   { label, all, heading, primitive, colour, variant, points: [point], texts: [text], anchors: [anchor] }
//         `heading` alone is a line between rows. `all` is what the label leaves out, shown when it is pointed at. `texts` stand in the columns at the right; without columns, each point has
//         its own `text`. In dots, points may have `primitive`, `colour`, `variant` and `run` of their own, and
//         bar: [from, to], a thick line, and most, a maximum. An anchor { x, certain, tip } is a grey tick behind them.
//   cell  { x, y, value, text, short, state, colour, row, tip }
//         x and y count columns and lines. The colour follows from the value within `range`, or is given. A cell that is
//         "missing" is hatched.
//   rectangle [[x1, x2], [y1, y2], colour, tip]
//         `colour` is a number. Both axes have a domain. With names, each whole number of the vertical axis has one, from the top.
//
// A chart has the width of its host and is redrawn when that changes. It is drawn when it comes near the window or when the
// browser is idle; its height is reserved before. Its colours are variables of the page, which follow the theme.

import { cellChart, cellHeight } from "./cells.js";
import { dotChart, dotHeight } from "./dots.js";
import { exportButtons } from "./export.js";
import { lineChart, lineHeight, withoutLoneFigures } from "./lines.js";
import { markLegend } from "./marks.js";
import { panelChart, panelHeight } from "./panels.js";
import { addNavigation } from "./navigation.js";
import { rectangleChart, rectangleHeight } from "./rectangles.js";
import { el } from "../dom.js";

const CHARTS = [];

const KINDS = {
  lines: { draw: lineChart, height: lineHeight },
  dots: { draw: dotChart, height: dotHeight },
  cells: { draw: cellChart, height: cellHeight },
  panels: { draw: panelChart, height: panelHeight },
  rectangles: { draw: rectangleChart, height: rectangleHeight },
};

/** Appends a chart to its host. Returns {root, refresh()}; refresh draws the chart at once if it is not up to date. */
export function drawChart(host, given) {
  const spec = withoutLoneFigures(given);
  const chart = { spec, width: null, stale: true, drawing: null };
  chart.title = el("figcaption");
  chart.plot = el("div", { class: "plot" });
  chart.below = el("div", { class: "below" });
  chart.root = el(
    "figure",
    { class: "figure" },
    el("header", null, chart.title, exportButtons(chart)),
    chart.plot,
    chart.below,
  );
  chart.refresh = () => {
    const width = Math.round(chart.plot.clientWidth);
    if (width === 0 || (!chart.stale && width === chart.width)) return;
    chart.width = width;
    chart.stale = false;
    paintChart(chart);
  };
  host.append(chart.root);
  reserve(chart);
  CHARTS.push(chart);
  chartVisibility.observe(chart.root);
  chartSizes.observe(chart.plot);
  drawWhenIdle();
  return chart;
}

/** Reserves the space of a chart that is not drawn yet, so that nothing below it moves later. */
function reserve(chart) {
  const { spec } = chart;
  chart.title.textContent = spec.title || "";
  chart.plot.style.minHeight = `${KINDS[spec.kind].height(spec, chart.plot.clientWidth || 600)}px`;
}

function paintChart(chart) {
  const { spec } = chart;
  const drawing = KINDS[spec.kind].draw(spec, chart.width);
  chart.drawing = drawing;
  const { root } = drawing;
  root.classList.add(spec.kind, "drawn");
  root.setAttribute("role", "img");
  root.setAttribute("aria-label", `${spec.label || spec.title || ""}. Arrow keys move from point to point.`);
  root.setAttribute("tabindex", "0");
  // A style sheet in a drawing makes the browser recompute the styles of all drawings: charts.css has these rules.
  root.querySelectorAll("style").forEach((sheet) => sheet.remove());
  // Elements within a picture have no accessible names; the tests find marks by data-name.
  for (const node of root.querySelectorAll("[aria-label]")) {
    node.dataset.name = node.getAttribute("aria-label");
    node.removeAttribute("aria-label");
  }
  chart.plot.replaceChildren(root);
  chart.plot.style.minHeight = `${root.viewBox.baseVal.height}px`;
  addNavigation(root, drawing.spots, drawing.highlight || (() => {}));
  chart.below.replaceChildren(
    ...[drawing.legend, markLegend(spec), ...[spec.note, drawing.note].flat().filter(Boolean).map(noteLine)].filter(
      Boolean,
    ),
  );
}

const noteLine = (text) => el("p", { class: "fixed" }, text);

const chartOf = (node) => CHARTS.find((chart) => chart.root === node || chart.plot === node);

const chartVisibility = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) chartOf(target)?.refresh();
  },
  { rootMargin: "400px" },
);

const chartSizes = new ResizeObserver((entries) =>
  // Wait for the next frame, because drawing a chart changes its height.
  requestAnimationFrame(() => {
    for (const chart of entries.map((entry) => chartOf(entry.target)).filter(Boolean)) {
      if (chart.drawing) chart.refresh();
      else reserve(chart);
    }
  }),
);

/** Removes the charts of a host, so that it can hold others. */
export function clearCharts(host) {
  for (const chart of CHARTS.filter(({ root }) => host.contains(root))) {
    chartVisibility.unobserve(chart.root);
    chartSizes.unobserve(chart.plot);
    CHARTS.splice(CHARTS.indexOf(chart), 1);
  }
  host.replaceChildren();
}

/** Draws the charts from top to bottom, one at a time, while the reader reads, so that responses to keys come first. */
function drawWhenIdle() {
  if (drawWhenIdle.waiting) return;
  drawWhenIdle.waiting = true;
  setTimeout(() => {
    drawWhenIdle.waiting = false;
    const next = CHARTS.find((chart) => chart.stale && chart.plot.clientWidth > 0);
    if (!next) return;
    if (performance.now() > drawWhenIdle.from) next.refresh();
    drawWhenIdle();
  }, 30);
}
drawWhenIdle.from = 0;
addEventListener("keydown", () => (drawWhenIdle.from = performance.now() + 1000), true);

/** Draws every chart or, with a target, those above it, which would move it when they appear. */
export function drawEverything(target) {
  const stands = (chart) => !target || chart.root.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING;
  CHARTS.filter(stands).forEach((chart) => chart.refresh());
}

/** Goes to an element. The charts above it are drawn first, because they would move it when they appear. */
export function goToElement(target) {
  for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  drawEverything(target);
  target.scrollIntoView();
}
