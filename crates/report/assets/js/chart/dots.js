// Draws a chart with a row for each case: points with intervals on one axis, and numbers after them or in columns.

import { CHARACTER, highlighter, nothingHere, ruleMarks, shortened } from "./lines.js";
import { colourLegend, paintOf, pointMarks, round, styleOf } from "./marks.js";
import { domainFor, fittingTicks, hasPlace, isNumber, positionOn, ticksOf, unitOf } from "./values.js";
import { svg, words } from "../dom.js";
import { rowOfPoint, RUNS } from "../model/data.js";

const ROW_STEP = 28;
const HEADING_STEP = 34;
const NARROW = 480;
const NARROW_STEP = 44;
/** The distance from one line of a label to the next. */
const LABEL_LINE = 14;

/** The distance between the points of successive runs in one row, and the most from the first run's to the last run's. */
const LANE_STEP = 10;
const LANES_HEIGHT = 16;

/** How far below the middle of its row a point is drawn: the points of several runs with equal figures would cover each
    other. */
function laneOf(spec) {
  const runOf = (point) => rowOfPoint(point)?.run;
  const several = spec.rows.some((row) => new Set((row.points || []).map(runOf)).size > 1);
  const step = Math.min(LANE_STEP, LANES_HEIGHT / Math.max(1, RUNS.length - 1));
  return (point) => (several && isNumber(runOf(point)) ? (runOf(point) - (RUNS.length - 1) / 2) * step : 0);
}

const labelRoom = (spec) => Math.max(6, ...spec.rows.map((row) => (row.label || "").length)) * 7 + 16;

/** The room for the texts after the points. */
const textRoom = (spec) =>
  Math.max(0, ...spec.rows.flatMap(({ points }) => points || []).map(({ text }) => (text || "").length * CHARACTER));

/** Whether labels are above the points of their rows, as long ones are on a narrow chart. */
const isStacked = (spec, width) =>
  width < NARROW && ((spec.columns || []).length > 0 || labelRoom(spec) + textRoom(spec) > 0.45 * width);

/** Breaks a label into two lines if one is too short: its end may name what was found. */
function inLines(label, fits, most = fits) {
  if (label.length <= fits) return [label];
  const cut = label.lastIndexOf(" ", fits);
  return cut > 0 ? [label.slice(0, cut), shortened(label.slice(cut + 1), most)] : [shortened(label, fits)];
}

/** The most letters in a line of a column of numbers. A mean with the cost of equal work takes two lines. */
const MOST_LETTERS = 18;
const numberLines = (text) => inLines(text || "", MOST_LETTERS, 2 * MOST_LETTERS);

/** Leaves out columns of numbers that leave a narrow chart no room for names; the tooltips have the numbers. */
function withFittingNumbers(spec, width) {
  const room = columnWidths(spec).reduce((left, size) => left - size, width);
  return width < NARROW && room < 0.4 * width ? { ...spec, columns: [] } : spec;
}

/** The widths of the columns of numbers. */
const columnWidths = (spec) =>
  (spec.columns || []).map((title, at) => {
    const texts = [title, ...spec.rows.flatMap((row) => numberLines(row.texts && row.texts[at]))];
    return Math.max(...texts.map((text) => text.length * CHARACTER), 24) + 16;
  });

/** The lines of a label above its points; the numbers follow the first one. */
function labelLines(label, spec, width) {
  const within = (room) => Math.floor((room - 10) / CHARACTER);
  return inLines(label, within(columnWidths(spec).reduce((left, size) => left - size, width)), within(width));
}

/** The places of rows: the heights of their points and of the first lines of their labels, and the total height. */
function dotHeights(spec, width) {
  const stacked = isStacked(spec, width);
  let height = 0;
  const places = spec.rows.map((row) => {
    const more = stacked && !row.heading ? LABEL_LINE * (labelLines(row.label, spec, width).length - 1) : 0;
    const step = more + (row.heading ? HEADING_STEP : stacked ? NARROW_STEP : ROW_STEP);
    height += step;
    if (row.heading) return { points: null, label: height - step / 2 + 8 };
    return stacked
      ? { points: height - 9, label: height - 25 - more }
      : { points: height - step / 2, label: height - step / 2 + 4 };
  });
  return { places, height };
}

/** A chart with this many rows also has its axis on top, below its title. */
const MANY_ROWS = 12;
const dotTop = (spec) => (spec.rows.length >= MANY_ROWS ? 46 : 32);
const DOT_BOTTOM = 34;
export function dotHeight(given, width) {
  const spec = withFittingNumbers(given, width);
  return dotTop(spec) + dotHeights(spec, width).height + DOT_BOTTOM;
}

/** The box of the label gutter, the axis and the columns of numbers. */
function dotBox(spec, width) {
  const stacked = isStacked(spec, width);
  const left = stacked ? 4 : Math.round(Math.min(labelRoom(spec), width * 0.5));
  const columns = columnWidths(spec);
  const room = stacked && columns.length ? 0 : columns.reduce((sum, size) => sum + size, textRoom(spec));
  const top = dotTop(spec);
  const bottom = top + dotHeights(spec, width).height;
  return { left, right: Math.round(width - 10 - room), top, bottom, columns, width, stacked };
}

/** The text of a point starts after the end of its interval and spread. */
const drawValue = (point, ends, at) =>
  words({ class: "value", x: round(Math.max(...ends) + 9), y: round(at + 4) }, point.text);

/** A dotted line from the axis to the last point of a row leads the eye. */
function rail(row, y, box, position) {
  const ends = (row.points || [])
    .filter((point) => hasPlace(point) && isNumber(point.x))
    .map((point) => position(point.x));
  return ends.length ? svg("line", { class: "rail", x1: box.left, x2: round(Math.max(...ends)), y1: y, y2: y }) : null;
}

function dotLabels(spec, places, box, position) {
  const fits = Math.floor((box.left - 14) / CHARACTER);
  const root = svg("g", { class: "axes" });
  spec.rows.forEach((row, at) => {
    const y = round(box.top + places[at].label);
    if (row.heading) {
      root.append(words({ class: "level", x: 0, y }, row.heading));
      return;
    }
    const line = rail(row, round(box.top + places[at].points), box, position);
    if (line) root.append(line);
    const place = box.stacked ? { x: 0, y } : { x: box.left - 10, y, "text-anchor": "end" };
    const [first, second] = box.stacked ? labelLines(row.label, spec, box.width) : inLines(row.label, fits);
    const label = words({ class: "label", ...place }, second ? "" : first);
    if (second) {
      const dy = box.stacked ? 0 : -LABEL_LINE / 2;
      label.append(svg("tspan", { x: place.x, dy }, first), svg("tspan", { x: place.x, dy: LABEL_LINE }, second));
    }
    label.append(svg("title", null, row.all || row.label));
    root.append(label);
  });
  return root;
}

function columnTexts(spec, places, box) {
  const root = svg("g", { class: "columns-of-numbers" });
  // On a narrow chart the numbers follow the label, aligned to the right.
  let right = box.stacked ? box.width - box.columns.reduce((sum, size) => sum + size, 0) : box.right + 10;
  const ends = box.columns.map((size) => Math.round((right += size) - 4));
  ends.forEach((x, at) =>
    root.append(words({ class: "axis-title", x, y: 12, "text-anchor": "end" }, spec.columns[at])),
  );
  spec.rows.forEach((row, line) => {
    const y = round(box.top + places[line].label);
    ends.forEach((x, at) => {
      const lines = numberLines(row.texts && row.texts[at]);
      lines.forEach((text, n) => {
        const place = { x, y: y + LABEL_LINE * (n - (box.stacked ? 0 : (lines.length - 1) / 2)) };
        if (text) root.append(words({ class: "value", ...place, "text-anchor": "end" }, text));
      });
    });
  });
  return root;
}

function dotAxis(spec, domain, box, position) {
  const unit = unitOf(spec.x);
  const all = spec.x.values || ticksOf(spec.x, domain, Math.round((box.right - box.left) / 64));
  const ticks = fittingTicks(all, position, 52);
  // A long title may take the whole width of the chart.
  const end = box.columns.length ? box.right : box.width;
  const startsLeft = box.stacked || box.left + CHARACTER * (spec.x.label || "").length > end;
  return [
    Plot.gridX(ticks, { className: "grid", stroke: "var(--faint)", strokeOpacity: 1 }),
    ...["top", "bottom"]
      .filter((anchor) => anchor === "bottom" || spec.rows.length >= MANY_ROWS)
      .map((anchor) =>
        Plot.axisX(ticks, { anchor, tickSize: 0, fontSize: 12, label: null, text: unit.tick, className: "axes" }),
      ),
    () =>
      svg(
        "g",
        { class: "axes" },
        // Labels above their points would cover the base line.
        box.stacked ? null : svg("line", { class: "base", x1: box.left, x2: box.left, y1: box.top, y2: box.bottom }),
        words({ class: "axis-title", x: startsLeft ? 0 : box.left, y: 12 }, spec.x.label),
      ),
  ];
}

function rowMarks(row, at, middle, lane) {
  const name = `line-${at}`;
  return (row.points || []).flatMap((point) => {
    const y = middle + lane(point);
    const style = styleOf({ ...row, ...point }, at);
    const own = [{ ...point, y }];
    const bar = (from, to, extra) =>
      isNumber(point[from]) && isNumber(point[to]) && hasPlace(point)
        ? [Plot.link(own, { x1: from, x2: to, y1: "y", y2: "y", stroke: style.colour, ...extra })]
        : [];
    const thick = point.bar
      ? [
          Plot.link([{ from: point.bar[0], to: point.bar[1], y }], {
            ...{ x1: "from", x2: "to", y1: "y", y2: "y", stroke: style.colour, strokeWidth: 6, strokeOpacity: 0.55 },
            className: `series ${name} whisker`,
          }),
        ]
      : [];
    const most = isNumber(point.most)
      ? [
          ...bar(isNumber(point.high) ? "high" : "x", "most", {
            strokeDasharray: "1 3",
            className: `series ${name} faint`,
          }),
          ...pointMarks([{ x: point.most, y, state: "open" }], {
            x: "x",
            y: "y",
            style,
            size: 3.2,
            name: `series ${name} most`,
          }),
        ]
      : [];
    const placed = [{ ...point, y, x: hasPlace(point) ? point.x : undefined }];
    return [
      ...bar("p05", "p95", { strokeWidth: 9, strokeOpacity: 0.18, className: `series ${name} spread` }),
      ...bar("low", "high", { strokeWidth: 1.6, strokeOpacity: 0.75, className: `series ${name} whisker` }),
      ...thick,
      ...most,
      ...(hasPlace(point)
        ? pointMarks(placed, { x: "x", y: "y", style, size: 4.6, ariaLabel: () => row.label, name: `series ${name}` })
        : []),
    ];
  });
}

const ANCHOR_HEIGHT = 7;

/** The tick of another figure, behind the points: without an interval it is dotted. */
const anchorTick = (certain, x, y) =>
  svg("line", {
    class: certain ? "anchor" : "anchor bare",
    x1: x,
    x2: x,
    y1: y - ANCHOR_HEIGHT,
    y2: y + ANCHOR_HEIGHT,
  });

export const anchorSample = (certain) => anchorTick(certain, 7, 7);

/** Draws the figures of other machines, and adds the spots where the pointer finds them. */
function anchorTicks(spec, places, box, position, spots) {
  const root = svg("g", { class: "anchors" });
  spec.rows.forEach((row, at) => {
    const y = round(box.top + places[at].points);
    for (const anchor of row.anchors || []) {
      const x = round(position(anchor.x));
      root.append(anchorTick(anchor.certain, x, y));
      spots.push({ x, y, point: anchor, series: `line-${at}` });
    }
  });
  return root;
}

/** The mark of a point without a place, drawn at the beginning of its row. */
function placelessMark(point, style, x, y, name) {
  const paint = paintOf(point.state, style.colour);
  const shape = point.state === "overlapped" ? "M-4,-2l4,4l4,-4" : "M-3,-3l6,6m0,-6l-6,6";
  return svg(
    "g",
    { class: `series ${name} mark ${point.state}`, transform: `translate(${x},${y})` },
    svg("path", { d: shape, fill: "none", stroke: paint.stroke, "stroke-width": paint.strokeWidth }),
  );
}

/** Draws what Plot does not: marks without a place, and the texts after the points. */
function dotOverlay(spec, places, box, position, lane, spots) {
  const root = svg("g");
  const placeOf = (point) => (hasPlace(point) ? position(point.x) : box.left + 7);
  const endsOfPoint = (point) =>
    [point.low, point.high, point.p05, point.p95, point.most].filter((end) => isNumber(end) && hasPlace(point));
  spec.rows.forEach((row, at) => {
    const points = row.points || [];
    // The only text of a row comes after all of its points, so that it covers none of them.
    const isAlone = points.filter(({ text }) => text).length === 1;
    for (const point of points) {
      const y = round(box.top + places[at].points + lane(point));
      const style = styleOf({ ...row, ...point }, at);
      const x = placeOf(point);
      if (!hasPlace(point)) root.append(placelessMark(point, style, x, y, `line-${at}`));
      const beside = isAlone ? points : [point];
      const ends = beside.flatMap((one) => [placeOf(one), ...endsOfPoint(one).map(position)]);
      if (point.text) root.append(drawValue(point, ends, y));
      spots.push({ x, y, point, series: `line-${at}` });
    }
  });
  return root;
}

export function dotChart(given, width) {
  const spec = withFittingNumbers(given, width);
  const { places, height } = dotHeights(spec, width);
  const box = dotBox(spec, width);
  const points = spec.rows.flatMap((row) => row.points || []);
  const anchors = spec.rows.flatMap((row) => row.anchors || []);
  const known = domainFor(spec.x, points.concat(points.length ? anchors : []), "x");
  const domain = known || [1, 10];
  const range = [box.left + 10, box.right - 10];
  const position = positionOn(spec.x, domain, range);
  const lane = laneOf(spec);
  const [spots, behind] = [[], []];
  const root = Plot.plot({
    className: "chart",
    width,
    height: box.top + height + DOT_BOTTOM,
    marginLeft: box.left,
    marginRight: width - box.right,
    marginTop: box.top,
    marginBottom: DOT_BOTTOM,
    x: { type: spec.x.log ? "log" : "linear", domain, range, clamp: true, axis: null },
    y: { type: "linear", domain: [0, height || 1], range: [box.top, box.top + height], axis: null },
    marks: [
      ...dotAxis(spec, domain, box, position),
      ...ruleMarks(spec.rules, position, box),
      () => dotLabels(spec, places, box, position),
      () => anchorTicks(spec, places, box, position, behind),
      ...spec.rows.flatMap((row, at) => rowMarks(row, at, places[at].points, lane)),
      () => columnTexts(spec, places, box),
      () => dotOverlay(spec, places, box, position, lane, spots),
      known || spec.rows.length === 0 ? [] : () => nothingHere({ ...box, top: 0, bottom: 60 }),
    ].flat(),
  });
  // Points come first for the keyboard: at the same place a point hides a tick.
  return { root, spots: spots.concat(behind), legend: colourLegend(spec.legend), highlight: highlighter(root) };
}
