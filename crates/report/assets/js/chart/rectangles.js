// Draws a chart of rectangles: bars over a number, or spans of time with a line for each name.

import { CHARACTER, lineAxes, lineBox, ruleMarks, shortened } from "./lines.js";
import { colourLegend, COLOURS, round } from "./marks.js";
import { fittingTicks, positionOn, ticksOf, unitOf } from "./values.js";
import { svg, words } from "../dom.js";

const NAME_STEP = 22;
const RECTANGLE_TOP = 30;
const RULED_TOP = 42;
const RECTANGLE_BOTTOM = 46;

const rectangleTop = (spec) => (spec.rules.length ? RULED_TOP : RECTANGLE_TOP);

export function rectangleHeight(spec, width) {
  if (spec.names.length) return rectangleTop(spec) + NAME_STEP * spec.names.length + RECTANGLE_BOTTOM;
  return spec.height || (width < 480 ? 200 : 240);
}

/** The names of the lines, the lower axis and its label. */
function namedAxes(spec, box, position) {
  const unit = unitOf(spec.x);
  const all = ticksOf(spec.x, spec.x.domain, Math.round((box.right - box.left) / 70));
  const ticks = fittingTicks(all, position.x, 52);
  const fits = Math.floor((box.left - 10) / CHARACTER);
  const name = (text, at) =>
    words(
      { class: "label", x: box.left - 8, y: round(position.y(at + 0.5) + 4), "text-anchor": "end" },
      shortened(text, fits),
    );
  return [
    Plot.gridX(ticks, { className: "grid", stroke: "var(--faint)", strokeOpacity: 1 }),
    Plot.axisX(ticks, { anchor: "bottom", tickSize: 4, fontSize: 12, label: null, text: unit.tick, className: "axes" }),
    () =>
      svg(
        "g",
        { class: "axes" },
        svg("line", { class: "base", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
        spec.names.map(name),
        words({ class: "axis-title", x: box.right, y: box.bottom + 37, "text-anchor": "end" }, spec.x.label),
      ),
  ];
}

export function rectangleChart(spec, width) {
  const { names } = spec;
  const rectangles = spec.rectangles.map(([[x1, x2], [y1, y2], colour, tip]) => ({
    ...{ x1, x2, y1, y2, tip },
    fill: `var(--s${colour % COLOURS})`,
  }));
  const height = rectangleHeight(spec, width);
  const lines = lineBox({ ...spec, height }, width, spec.y.domain, false, 0);
  const longest = Math.max(0, ...names.map((text) => text.length)) * CHARACTER + 14;
  const box = names.length ? { ...lines, left: Math.round(Math.min(longest, width * 0.4)) } : lines;
  const yRange = names.length ? [box.top, box.bottom] : [box.bottom, box.top];
  const position = {
    x: positionOn(spec.x, spec.x.domain, [box.left, box.right]),
    y: positionOn(spec.y, spec.y.domain, yRange),
  };
  const axes = names.length
    ? namedAxes(spec, box, position)
    : lineAxes(spec, { x: spec.x.domain, y: spec.y.domain }, box);
  const root = Plot.plot({
    className: "chart",
    width,
    height,
    marginLeft: box.left,
    marginRight: width - box.right,
    marginTop: box.top,
    marginBottom: height - box.bottom,
    x: { type: "linear", domain: spec.x.domain, range: [box.left, box.right], clamp: true, axis: null },
    y: { type: "linear", domain: spec.y.domain, range: yRange, clamp: true, axis: null },
    color: { type: "identity" },
    marks: [
      ...axes,
      Plot.rect(rectangles, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "fill", className: "block" }),
      ...ruleMarks(spec.rules, position.x, box),
    ],
  });
  const spots = rectangles.map((point) => ({
    x: position.x((point.x1 + point.x2) / 2),
    y: position.y((point.y1 + point.y2) / 2),
    point,
    series: `line-${Math.floor(names.length ? point.y1 : 0)}`,
  }));
  return { root, spots, legend: colourLegend(spec.legend) };
}
