// Draws a matrix of cells, each with a colour and a text.

import { CHARACTER, shortened } from "./lines.js";
import { round } from "./marks.js";
import { el, svg, words } from "../dom.js";

const CELL_HEIGHT = 26;
const MOST_CELL_WIDTH = 72;
/** With more cells, those of one colour become one path, which keeps large matrices small. */
const MOST_CELLS = 1500;
/** The number of colours. */
const SHADES = 24;
/** The least ratio of the last colour's figure to the first one's, so that smaller differences do not look like structure. */
const LEAST_RANGE = 2;

/** The colour at a share from 0 (low) to 1 (high). */
function heatColour(share) {
  const [upper, lower, part] = share < 0.5 ? ["mid", "low", share * 2] : ["high", "mid", share * 2 - 1];
  return `color-mix(in oklab, var(--heat-${upper}) ${Math.round(part * 100)}%, var(--heat-${lower}))`;
}

/** Black on light cells, white on dark ones: the lightness from which black has the higher contrast. */
const inkOn = (fill) => `oklch(from ${fill} clamp(0, (0.555 - l) * 1000, 1) 0 0)`;

/** The position of a figure between the lowest and the highest, on a logarithmic scale from 0 to 1. */
const heatShare = ([low, high], value) => Math.min(1, Math.max(0, Math.log(value / low) / Math.log(high / low)));

/** The range of colours of some figures. */
export function heatRange(values) {
  const known = values.filter((value) => value > 0);
  const [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [1, 1];
  const margin = Math.sqrt(Math.max(1, (LEAST_RANGE * low) / high));
  return [low / margin, high * margin];
}

/** The legend of the colours. */
export const heatRamp = (range, text) => el("p", { class: "ramp heat" }, text(range[0]), el("i"), text(range[1]));

function cellBox(spec, width) {
  const longest = Math.max(3, ...spec.lines.map((text) => text.length));
  const left = Math.min(Math.round(longest * CHARACTER + 14), Math.round(width * 0.4));
  // A square must fit the window.
  const most = spec.square ? Math.min(46, Math.max(16, (0.85 * innerHeight) / spec.lines.length)) : MOST_CELL_WIDTH;
  const room = Math.min(most, (width - left - 4) / Math.max(1, spec.columns.length));
  // Many cells get whole pixels each, because fractions would show as seams.
  const wide = spec.cells.length > MOST_CELLS && room > 1 ? Math.floor(room) : room;
  const high = spec.square ? wide : CELL_HEIGHT;
  const top = 26;
  return { left, top, wide, high, right: left + wide * spec.columns.length, bottom: top + high * spec.lines.length };
}

export function cellHeight(spec, width) {
  return Math.ceil(cellBox(spec, width).bottom + 40);
}

/** Oblique lines for a cell without a figure. */
function hatch(x, y, width, height) {
  const lines = [];
  for (let at = 6; at < width + height; at += 6) {
    const [x1, y1] = at < height ? [0, at] : [at - height, height];
    const [x2, y2] = at < width ? [at, 0] : [width, at - width];
    lines.push(`M${round(x + x1)},${round(y + y1)}L${round(x + x2)},${round(y + y2)}`);
  }
  return svg("path", { class: "hatch", d: lines.join("") });
}

/** A cell with its colour, and the colour of its text. */
function colouredCell(cell, range) {
  if (cell.state === "missing") return { ...cell, fill: null, ink: "var(--muted)" };
  const shade = () => heatColour(Math.round(heatShare(range, cell.value) * (SHADES - 1)) / (SHADES - 1));
  const fill = cell.colour || (cell.value > 0 ? shade() : "var(--faint)");
  return { ...cell, fill, ink: inkOn(fill) };
}

/** Joins the cells of a colour. */
function joinedCells(cells, box) {
  const paths = new Map();
  for (const { x, y, fill } of cells.filter((cell) => cell.fill)) {
    const [left, top] = [round(box.left + x * box.wide), round(box.top + y * box.high)];
    paths.set(
      fill,
      `${paths.get(fill) || ""}M${left},${top}h${round(box.wide)}v${round(box.high)}h${round(-box.wide)}z`,
    );
  }
  return svg(
    "g",
    { class: "cell", "shape-rendering": "crispEdges" },
    [...paths].map(([fill, d]) => svg("path", { fill, d })),
  );
}

/** The titles of columns and lines, only as many as fit. */
function cellAxes(spec, box) {
  const root = svg("g", { class: "axes" });
  const longest = Math.max(1, ...spec.columns.map((text) => text.length));
  const steps = [(longest * CHARACTER + 4) / box.wide, 15 / box.high].map((step) => Math.max(1, Math.ceil(step)));
  // A square has the same order, and so the same titles, on both sides.
  const [everyColumn, everyLine] = spec.square ? [Math.max(...steps), Math.max(...steps)] : steps;
  spec.columns.forEach((text, at) => {
    if (at % everyColumn !== 0) return;
    const x = round(box.left + (at + 0.5) * box.wide);
    root.append(words({ x, y: round(box.bottom + 15), "text-anchor": "middle" }, text));
  });
  const fits = Math.floor((box.left - 10) / CHARACTER);
  spec.lines.forEach((text, at) => {
    if (at % everyLine !== 0) return;
    const y = round(box.top + (at + 0.5) * box.high + 4);
    root.append(words({ class: "label", x: box.left - 8, y, "text-anchor": "end" }, shortened(text, fits)));
  });
  root.append(
    words({ class: "axis-title", x: 0, y: 12 }, spec.yTitle || ""),
    words(
      { class: "axis-title", x: round(box.right), y: round(box.bottom + 32), "text-anchor": "end" },
      spec.xTitle || "",
    ),
  );
  return root;
}

function cellOverlay(cells, box, isSquare) {
  const root = svg("g");
  // Numbers in every cell of a matrix are readable only if there is room between them.
  const margin = isSquare ? 6.5 : 4;
  for (const { x, y, text, short, state, ink } of cells) {
    const [left, top] = [box.left + x * box.wide, box.top + y * box.high];
    if (state === "missing" && cells.length <= MOST_CELLS)
      root.append(hatch(left + 1, top + 1, box.wide - 2, box.high - 2));
    const fitting = [text, short].find((one) => one && one.length * 6.6 + margin <= box.wide);
    if (!fitting || box.high < 16) continue;
    const at = { x: round(left + box.wide / 2), y: round(top + box.high / 2 + 4), "text-anchor": "middle" };
    root.append(words({ class: "cell-text", style: `fill: ${ink}`, ...at }, fitting));
  }
  return root;
}

export function cellChart(spec, width) {
  const box = cellBox(spec, width);
  const range = spec.range || heatRange(spec.cells.map((cell) => cell.value));
  const cells = spec.cells.map((cell) => colouredCell(cell, range));
  const gap = box.wide > 8 ? 1 : 0;
  const many = cells.length > MOST_CELLS;
  const rectangles = () =>
    Plot.rect(
      cells.filter((cell) => cell.fill),
      {
        x1: "x",
        x2: (cell) => cell.x + 1,
        y1: "y",
        y2: (cell) => cell.y + 1,
        fill: "fill",
        inset: gap,
        rx: gap ? 3 : 0,
        className: "cell",
      },
    );
  const root = Plot.plot({
    className: "chart",
    width: Math.ceil(box.right + 4),
    height: cellHeight(spec, width),
    marginLeft: box.left,
    marginRight: 4,
    marginTop: box.top,
    marginBottom: 40,
    x: { type: "linear", domain: [0, Math.max(1, spec.columns.length)], range: [box.left, box.right], axis: null },
    y: { type: "linear", domain: [0, Math.max(1, spec.lines.length)], range: [box.top, box.bottom], axis: null },
    color: { type: "identity" },
    marks: [
      many ? () => joinedCells(cells, box) : rectangles(),
      () => cellAxes(spec, box),
      () => cellOverlay(cells, box, spec.square),
    ],
  });
  root.classList.add("heat");
  const spots = cells.map((cell) => ({
    x: box.left + (cell.x + 0.5) * box.wide,
    y: box.top + (cell.y + 0.5) * box.high,
    point: cell,
    series: `line-${cell.y}`,
  }));
  return { root, spots };
}
