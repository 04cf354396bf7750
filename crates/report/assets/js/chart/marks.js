// The marks of charts: colours, shapes, and what each state of a figure looks like.

import { el, svg } from "../dom.js";
import { DATA, groupedBy, PRIMITIVES } from "../model/data.js";

export const COLOURS = 8;
const DASHES = [null, "7 4", "2 3", "9 3 2 3"];

/** A symbol for the chart library: draws a closed path, or strokes, with a radius of about r around the origin. */
const symbol = (draw) => ({ draw: (context, size) => draw(context, Math.sqrt(size / Math.PI)) });

function outline(points) {
  return symbol((context, r) => {
    points.forEach(([x, y], at) => (at ? context.lineTo(x * r, y * r) : context.moveTo(x * r, y * r)));
    context.closePath();
  });
}

function strokes(...lines) {
  return symbol((context, r) =>
    lines.forEach((points) =>
      points.forEach(([x, y], at) => (at ? context.lineTo(x * r, y * r) : context.moveTo(x * r, y * r))),
    ),
  );
}

/** The shapes of the points of lines. */
export const SHAPES = [
  symbol((context, r) => {
    context.moveTo(r, 0);
    context.arc(0, 0, r, 0, 2 * Math.PI);
  }),
  outline([
    [-0.9, -0.9],
    [0.9, -0.9],
    [0.9, 0.9],
    [-0.9, 0.9],
  ]),
  outline([
    [0, -1.25],
    [1.25, 0],
    [0, 1.25],
    [-1.25, 0],
  ]),
  outline([
    [-1.35, -0.65],
    [1.35, -0.65],
    [1.35, 0.65],
    [-1.35, 0.65],
  ]),
  outline([
    [-0.65, -1.35],
    [0.65, -1.35],
    [0.65, 1.35],
    [-0.65, 1.35],
  ]),
];

/** The triangle of a bound. No line has this shape, because a hollow mark of a line is an unreliable estimate. */
const TRIANGLE_DOWN = outline([
  [0, 1.15],
  [1.2, -0.9],
  [-1.2, -0.9],
]);
const TRIANGLE_UP = outline([
  [0, -1.15],
  [1.2, 0.9],
  [-1.2, 0.9],
]);
const PLUS = strokes(
  [
    [-1, 0],
    [1, 0],
  ],
  [
    [0, -1],
    [0, 1],
  ],
);
const CHEVRON = strokes([
  [-1, -0.5],
  [0, 0.5],
  [1, -0.5],
]);
const CROSS = strokes(
  [
    [-1, -1],
    [1, 1],
  ],
  [
    [1, -1],
    [-1, 1],
  ],
);

/** The symbol of a point. */
function symbolOf(point, shape) {
  const fixed = { nonadditive: PLUS, overlapped: CHEVRON, missing: CROSS };
  if (point.state === "bound") return point.above ? TRIANGLE_UP : TRIANGLE_DOWN;
  return fixed[point.state] || SHAPES[shape];
}

const radiusOf = (point, size) => ({ bound: 4.4, nonadditive: 4.4, overlapped: 4, missing: 3 })[point.state] || size;

/** The colour of a primitive is the same in all charts of the page, and on the pages of other runs. */
export const colourOf = (primitive) => `var(--s${(PRIMITIVES.get(primitive)?.colour || 0) % COLOURS})`;

/** The colour, shape and dash of the n-th line of a chart. */
export function styleOf({ primitive, colour, variant, run }, at) {
  const number = primitive ? PRIMITIVES.get(primitive)?.colour || 0 : colour ? 0 : at;
  const step = (variant || 0) + (run || 0);
  return {
    colour: colour || (primitive ? colourOf(primitive) : `var(--s${number % COLOURS})`),
    dash: DASHES[(step + Math.floor(number / COLOURS)) % DASHES.length],
    shape: (number + step) % SHAPES.length,
  };
}

/** The styles of the lines of a chart. Lines of one run never share a colour while another is free. */
export function stylesOf(series) {
  const taken = new Set();
  return series.map((one, at) => {
    const style = styleOf(one, at);
    if (one.run) return style;
    const free = [...Array(COLOURS).keys()].map((number) => `var(--s${number})`).find((colour) => !taken.has(colour));
    const own = taken.has(style.colour) && free ? { ...style, colour: free, dash: null } : style;
    taken.add(own.colour);
    return own;
  });
}

/** Whether a mark is hollow: a rough figure, or an estimate that is too wide for one. */
export const isHollow = (state) => state === "rough" || state === "open";

/** The attributes of a mark: filled, hollow, or strokes only. */
export function paintOf(state, colour) {
  if (state === "resolved") return { fill: colour, stroke: "var(--surface)", strokeWidth: 1 };
  if (isHollow(state) || state === "bound") return { fill: "var(--surface)", stroke: colour, strokeWidth: 1.6 };
  return { fill: "none", stroke: colour, strokeWidth: state === "missing" ? 1.4 : 2, strokeLinecap: "round" };
}

/** The marks of points that have a place, in one group for each symbol, so that the group carries the style. */
export function pointMarks(points, { x, y, style, size, name, ariaLabel }) {
  const stateOf = (point) => point.state || "resolved";
  const groups = groupedBy(points, (point) => `${stateOf(point)} ${point.above || ""}`);
  return [...groups.values()].map((own) =>
    Plot.dot(own, {
      x,
      y,
      r: radiusOf(own[0], size),
      symbol: symbolOf(own[0], style.shape),
      ...paintOf(stateOf(own[0]), style.colour),
      ariaLabel,
      className: `${name} mark ${stateOf(own[0])}`,
    }),
  );
}

/** The words for each kind of mark. */
const MARK_WORDS = new Map(DATA.marks);

export function keySample(point, shape, colour) {
  const chosen = symbolOf(point, shape);
  const path = { text: "" };
  const write =
    (letter) =>
    (...values) =>
      (path.text += letter + values.map((value) => round(value + 7)).join(","));
  const context = { moveTo: write("M"), lineTo: write("L"), closePath: () => (path.text += "Z") };
  const r = radiusOf(point, 3.6);
  context.arc = () => (path.text = `M${7 - r},7a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`);
  chosen.draw(context, Math.PI * r * r);
  const paint = paintOf(point.state || "resolved", colour);
  return svg("path", { d: path.text, fill: paint.fill, stroke: paint.stroke, "stroke-width": paint.strokeWidth });
}

export const round = (value) => Math.round(value * 10) / 10;

export function markLegend(spec) {
  const all = (spec.panels || [spec]).flatMap((one) => one.series || one.rows || []);
  const points = all.flatMap((one) => one.points || []);
  const found = [...MARK_WORDS.keys()].filter((state) => points.some((point) => point.state === state));
  if (found.length === 0) return null;
  // Hollow marks look alike.
  const hollow = found.filter(isHollow);
  const keys = [
    ...(hollow.length ? [hollow] : []),
    ...found.filter((state) => !isHollow(state)).map((state) => [state]),
  ];
  const wordsOf = (states) => states.map((state) => MARK_WORDS.get(state)).join(" or ");
  const key = (states) =>
    el(
      "span",
      { class: "key" },
      svg(
        "svg",
        { width: 14, height: 14, "aria-hidden": "true" },
        keySample(
          points.find(({ state }) => state === states[0]),
          0,
          "currentColor",
        ),
      ),
      isHollow(states[0]) ? `hollow: ${wordsOf(states)}` : wordsOf(states),
    );
  return el("p", { class: "keys" }, keys.map(key));
}

/** A legend of what the colours mean; null if there are none. */
export const colourLegend = (legend) =>
  legend && legend.length > 0
    ? el(
        "p",
        { class: "keys" },
        legend.map(({ colour, label }) =>
          el(
            "span",
            { class: "key" },
            el("i", { class: "swatch", style: `--c: var(--s${colour % COLOURS})` }),
            ` ${label}`,
          ),
        ),
      )
    : null;
