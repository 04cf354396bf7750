// Draws a chart of lines with bands: a figure against threads, blocks or devices.

import { isHollow, keySample, pointMarks, round, stylesOf } from "./marks.js";
import { domainFor, fittingTicks, hasPlace, isNumber, positionOn, ticksOf, unitOf } from "./values.js";
import { el, svg, words } from "../dom.js";
import { rowOfPoint } from "../model/data.js";
import { NBSP } from "../model/format.js";
import { asDot, figureText } from "../model/measures.js";

/** The most lines that are labelled at their ends; with more, a legend below the chart names them. */
export const MOST_LABELS = 12;
/** The most points of a line that all have marks. */
const MOST_MARKS = 12;
/** The most lines that all show their spread; with more, only the line under the pointer does. */
const MOST_SPREADS = 3;
/** The width of a character of an axis, and of a label. */
export const CHARACTER = 6.7;
const LABEL_CHARACTER = 7.4;
const LABEL_STEP = 15;
/** The most letters of a name at the end of a line. */
const LONGEST_LABEL = 40;

export function lineHeight(spec, width) {
  return spec.height || (width < 480 ? 300 : 360);
}

/** Sizes that differ by more than this factor are too far apart for a line. */
const FAR = 32;
const areFar = (a, b) => a.x > 0 && b.x / a.x > FAR;

/** Sequences of adjacent resolved points: an unresolved point breaks a line, and so do sizes far apart. */
function segmentsOf(points) {
  const found = [];
  let current = null;
  for (const [at, point] of points.entries()) {
    if (at > 0 && areFar(points[at - 1], point)) current = null;
    if ((point.state || "resolved") !== "resolved") {
      current = null;
      continue;
    }
    if (!current) found.push((current = []));
    current.push(point);
  }
  return found;
}

/** The points that have a figure. */
const figuresOf = ({ points }) => points.filter((point) => hasPlace(point) && isNumber(point.y));

/** The most lines that are all coloured; with more, only the best few are. */
const MOST_COLOURED = 8;
/** The colours of the leaders, which differ the most. */
const LEADING = ["var(--s0)", "var(--s1)", "var(--s3)"];
const GREY = "color-mix(in oklab, var(--muted) 60%, var(--surface))";

const isCost = ({ unit }) => unit === "time" || unit === "cycles";

/** The leaders of many lines: the least cost or the highest rate at the right end, or at the last point where each thread
    has a CPU; null for few lines. */
function leadersOf({ series, y }) {
  if (series.length <= MOST_COLOURED) return null;
  const last = (one) => figuresOf(one).findLast((point) => !rowOfPoint(point)?.isCrowded);
  const end = Math.max(...series.map((one) => last(one)?.x ?? 0));
  const atEnd = series.filter((one) => last(one)?.x === end && last(one).state !== "bound");
  const rank = (one) => last(one).y * (isCost(y) ? 1 : -1);
  return atEnd.sort((a, b) => rank(a) - rank(b)).slice(0, LEADING.length);
}

function leadersNote({ y, series }, { length }) {
  const which = isCost(y) ? "lowest" : "highest";
  const isCrowded = series.some(({ points }) => points.some((point) => rowOfPoint(point)?.isCrowded));
  const where = isCrowded ? "at the largest size where each thread has its own CPU" : "at the right end";
  const what = length === 1 ? `The coloured line is the ${which}` : `The coloured lines are the ${length} ${which}`;
  return `${what} ${where}. Hover over a grey line to see its name.`;
}

/** Sorts grey lines first, so that they are drawn below the others. */
const greyFirst = (series) =>
  [...series.entries()].map(([at, one]) => [one, at]).sort(([a], [b]) => b.isGrey - a.isGrey);

/** The text of a figure, as next to a dot. */
const pointText = (point, axis) => figureText(point, rowOfPoint(point), axis);

/** Lines with a single figure: named next to the point at the end of a chart, elsewhere below the lines. Without any real
    line, all become rows of dots. */
export function withoutLoneFigures(spec) {
  if (spec.kind !== "lines") return spec;
  const place = ({ x }) => `${unitOf(spec.x).text(x)} ${x === 1 ? spec.x.label.replace(/s\b/, "") : spec.x.label}`;
  const lone = spec.series.filter((one) => figuresOf(one).length === 1);
  if (lone.length > 0 && !spec.series.some((one) => figuresOf(one).length > 1)) {
    const rows = lone.map((one) => {
      const [point] = figuresOf(one);
      const dot = { ...asDot(point), text: pointText(point, spec.y) };
      return { ...one, label: `${one.label}, ${place(point)}`, points: [dot] };
    });
    const without = spec.series.filter((one) => figuresOf(one).length === 0).map(({ label }) => label);
    const note = [spec.note, without.length ? `No figure: ${without.join("; ")}.` : null].flat();
    const { series, y, ...rest } = spec;
    return { ...rest, kind: "dots", x: y, rows, rules: [], note };
  }
  const end = Math.max(...spec.series.flatMap(({ points }) => points.map(({ x }) => x)));
  const isWithin = (one) => lone.includes(one) && figuresOf(one)[0].x < end;
  const said = spec.series.filter(isWithin).flatMap((one) => {
    const [point] = figuresOf(one);
    const text = pointText(point, spec.y);
    return point.state === "open" ? [] : [`${one.label} (${text} at ${place(point)})`];
  });
  const series = spec.series.filter((one) => !isWithin(one));
  return {
    ...spec,
    series,
    note: [spec.note, said.length ? `Only one size measured: ${said.join("; ")}.` : null].flat(),
  };
}

/** Lines coincide if they differ by less than this at every point. */
const SAME = 0.01;

function areSame(a, b) {
  const known = new Map(b.points.filter((point) => isNumber(point.y)).map((point) => [point.x, point]));
  const own = a.points.filter((point) => isNumber(point.y));
  const near = ({ x, y }) => known.has(x) && Math.abs(known.get(x).y - y) <= SAME * Math.max(y, known.get(x).y);
  return own.length > 1 && own.length === known.size && own.every(near);
}

/** Lines that coincide have one label. */
function mergedLabels(series) {
  const groups = [];
  for (const one of series) {
    const same = groups.find(([first]) => areSame(first, one));
    if (same) same.push(one);
    else groups.push([one]);
  }
  return groups;
}

const coincidenceNotes = (groups) => {
  const alike = groups.filter((group) => group.length > 1);
  // Quoted, because labels contain commas.
  const names = alike.map((group) => group.map(({ label }) => `“${label}”`).join(" ≈ "));
  return names.length ? `Some lines coincide to within 1${NBSP}%: ${names.join("; ")}.` : [];
};

export const shortened = (text, most) => (text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text);

function groupLabel(group, most) {
  const [first, ...others] = group;
  if (others.length === 0) return shortened(first.label, most);
  const rest = ` and ${others.length} more`;
  const all = group.map(({ label }) => label).join(" ≈ ");
  return all.length <= most ? all : shortened(first.label, most - rest.length) + rest;
}

/** Moves labels apart: labels that would touch become a block around the mean of their places. */
function spreadOut(labels, low, high) {
  const sorted = labels.sort((a, b) => a.wanted - b.wanted);
  const step = Math.min(LABEL_STEP, (high - low) / Math.max(1, sorted.length - 1));
  const blocks = [];
  for (const label of sorted) {
    let block = { labels: [label], start: label.wanted };
    for (;;) {
      const { labels: own } = block;
      const mean = own.reduce((sum, one, at) => sum + one.wanted - at * step, 0) / own.length;
      block.start = Math.min(Math.max(mean, low), Math.max(low, high - (own.length - 1) * step));
      const before = blocks[blocks.length - 1];
      if (!before || before.start + before.labels.length * step <= block.start) break;
      block = { labels: [...blocks.pop().labels, ...own] };
    }
    blocks.push(block);
  }
  blocks.forEach((block) => block.labels.forEach((label, at) => (label.at = block.start + at * step)));
  return sorted;
}

/** The colour of a line as text, with enough contrast. */
const inkOf = (colour) => `color-mix(in oklab, ${colour} 62%, var(--ink))`;

function drawLabels(groups, box, position, most) {
  const labels = groups.flatMap((group) => {
    const ends = group[0].points.filter((point) => hasPlace(point) && isNumber(point.y));
    if (ends.length === 0) return [];
    const end = ends[ends.length - 1];
    return [{ group, x: position.x(end.x), wanted: position.y(end.y), text: groupLabel(group, most) }];
  });
  const root = svg("g", { class: "labels" });
  for (const { group, x, wanted, at, text } of spreadOut(labels, box.top + 2, box.bottom)) {
    // The last of coinciding lines is on top.
    const { colour } = (group.findLast((one) => !one.isGrey) || group[0]).style;
    const start = box.right + 14;
    const own = svg("g", { class: `series ${group.map((one) => one.name).join(" ")}` });
    if (Math.abs(at - wanted) > 3 || box.right - x > 6) {
      const path = `M${round(x + 6)},${round(wanted)}L${round(Math.max(x + 6, box.right + 2))},${round(wanted)}L${start - 3},${round(at)}`;
      // A line that ends early must not seem to continue.
      const isFar = box.right - x > 20;
      own.append(svg("path", { class: isFar ? "leader far" : "leader", d: path, stroke: colour, fill: "none" }));
    }
    const title = svg("title", null, group.map(({ label }) => label).join(", "));
    const attributes = {
      class: "end-label",
      x: start,
      y: round(at + 4),
      style: `fill: ${inkOf(colour)}`,
      "data-label": group[0].label,
    };
    own.append(words(attributes, text, title));
    root.append(own);
  }
  return root;
}

function lineLegend(series) {
  const entry = ({ label, style, name }) =>
    el(
      "span",
      { class: `key ${name}`, "data-label": label },
      svg(
        "svg",
        { width: 28, height: 14, "aria-hidden": "true" },
        svg("path", { d: "M0,7H28", stroke: style.colour, "stroke-width": 2, "stroke-dasharray": style.dash }),
        svg("g", { transform: "translate(7,0)" }, keySample({}, style.shape, style.colour)),
      ),
      label,
    );
  return el("p", { class: "keys line-keys" }, series.map(entry));
}

function seriesMarks(series, few, floor) {
  const { style, name, points } = series;
  // The library would take a string for the name of a field.
  const ariaLabel = () => series.label;
  const segments = segmentsOf(points);
  const parts = segments.flatMap((own, segment) => own.map((point) => ({ ...point, segment, length: own.length })));
  const drawn = parts.filter(({ length }) => length > 1);
  const isolated = new Set(segments.filter((own) => own.length === 1).flat());
  const alone = points.filter((point) => isolated.has(point) || isHollow(point.state));
  const ends = (low, high) => ({
    x1: "x",
    x2: "x",
    y1: (point) => point[low] ?? point.y,
    y2: (point) => point[high] ?? point.y,
  });
  const marked = points.filter(
    (point) => (point.state || "resolved") !== "resolved" || isolated.has(point) || points.length <= MOST_MARKS,
  );
  // A dotted line crosses unresolved points, where the line has a gap.
  const told = points.filter(
    (point) => ["resolved", "rough", "open"].includes(point.state || "resolved") && isNumber(point.y),
  );
  const hasGap = told.length > 1 && told.some((point) => isHollow(point.state));
  const withSpread = (point) => isNumber(point.p05) && isNumber(point.p95);
  const spread = `series ${name} spread${few ? "" : " quiet"}`;
  const area = (low, high) => ({
    x: "x",
    y1: (p) => p[low] ?? p.low ?? p.y,
    y2: (p) => p[high] ?? p.high ?? p.y,
    z: "segment",
  });
  const guide = { stroke: style.colour, strokeWidth: 1, strokeOpacity: 0.5, strokeDasharray: "1 3" };
  const part = told.map((_, at) => told.slice(1, at + 1).filter((point, before) => areFar(told[before], point)).length);
  const lines = hasGap
    ? [Plot.line(told, { x: "x", y: "y", z: part, ...guide, className: `series ${name} guide` })]
    : [];
  if (!series.isGrey && drawn.some(withSpread)) {
    lines.push(Plot.areaY(drawn, { ...area("p05", "p95"), fill: style.colour, fillOpacity: 0.1, className: spread }));
  }
  if (!series.isGrey && alone.some(withSpread)) {
    const wide = { stroke: style.colour, strokeWidth: 9, strokeOpacity: 0.18, className: spread };
    lines.push(Plot.link(alone.filter(withSpread), { ...ends("p05", "p95"), ...wide }));
  }
  if (drawn.length) {
    // Two points are not a trend.
    const weight = points.length > 2 ? { strokeWidth: 2.2 } : { strokeWidth: 1.5, strokeOpacity: 0.6 };
    const stroke = { stroke: style.colour, ...weight, strokeDasharray: style.dash || undefined };
    lines.push(
      Plot.areaY(drawn, {
        ...area("low", "high"),
        fill: style.colour,
        fillOpacity: 0.2,
        className: `series ${name} band`,
      }),
      Plot.line(drawn, { x: "x", y: "y", z: "segment", ...stroke, ariaLabel, className: `series ${name} line` }),
    );
  }
  if (alone.length && !series.isGrey) {
    const whisker = { stroke: style.colour, strokeOpacity: 0.7, strokeWidth: 1.5, className: `series ${name} whisker` };
    lines.push(Plot.link(alone, { ...ends("low", "high"), ...whisker }));
  }
  const placed = marked.map((point) => (hasPlace(point) ? point : { ...point, y: floor }));
  return [
    ...lines,
    ...pointMarks(placed, {
      x: "x",
      y: "y",
      style,
      size: series.isGrey ? 2.4 : 3.6,
      ariaLabel,
      name: `series ${name}`,
    }),
  ];
}

/** The box of the drawing within the chart. */
export function lineBox(spec, width, domain, labelled, longest) {
  const unit = unitOf(spec.y);
  const widest = Math.max(3, ...ticksOf(spec.y, domain, 6).map((tick) => unit.tick(tick).length));
  const height = lineHeight(spec, width);
  const room = labelled ? longest * LABEL_CHARACTER + 20 : 14;
  const box = {
    left: Math.round(widest * CHARACTER + 12),
    right: Math.round(width - room),
    top: spec.top || ruleRoom(spec.rules || [], width),
    bottom: height - 46,
  };
  return { ...box, width, height };
}

export function lineAxes(spec, domains, box) {
  const unit = unitOf(spec.y);
  const yTicks = ticksOf(spec.y, domains.y, Math.round((box.bottom - box.top) / (spec.y.log ? 34 : 48)));
  const all = spec.x.values || ticksOf(spec.x, domains.x, Math.round((box.right - box.left) / 70));
  // Leave out values that only undrawn lines have.
  const values = all.filter((value) => value >= domains.x[0] && value <= domains.x[1]);
  const xUnit = unitOf(spec.x);
  const widest = Math.max(...values.map((value) => xUnit.tick(value).length)) * CHARACTER + 10;
  const xTicks = fittingTicks(values, positionOn(spec.x, domains.x, [box.left, box.right]), widest);
  const quiet = { tickSize: 0, fontSize: 12, label: null, className: "axes" };
  return [
    Plot.gridY(yTicks, { className: "grid", stroke: "var(--faint)", strokeOpacity: 1 }),
    Plot.axisY(yTicks, { ...quiet, text: unit.tick, tickPadding: 8 }),
    Plot.axisX(xTicks, { ...quiet, tickSize: 4, text: xUnit.tick }),
    () =>
      svg(
        "g",
        { class: "axes" },
        svg("line", { class: "base", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
        words({ class: "axis-title", x: 0, y: 12 }, spec.y.label),
        words({ class: "axis-title", ...endingAt(box.right, spec.x.label), y: box.bottom + 37 }, spec.x.label),
      ),
  ];
}

/** A title ends at the right end of its axis, or begins at the edge of the chart if the axis is too short. */
const endingAt = (right, text) => (text.length * CHARACTER > right ? { x: 0 } : { x: right, "text-anchor": "end" });

/** The width of a character of a rule's label. */
const RULE_CHARACTER = 6.3;

/** The room above a chart: for its title, and for one or two lines of labels of rules. */
export function ruleRoom(rules, width) {
  const letters = rules.reduce((sum, { label }) => sum + label.length + 2, 0);
  return rules.length === 0 ? 30 : letters * RULE_CHARACTER > width - 40 ? 56 : 42;
}

/** The labels of rules, from the left. Labels that would touch become one, so that each is read on a phone. */
function ruleLabels(rules, position, left, right) {
  const wide = (text) => text.length * RULE_CHARACTER;
  const placed = (group) => {
    const text = group.map(({ label }) => label).join(", ");
    const middle = group.reduce((sum, { x }) => sum + position(x), 0) / group.length;
    const start = Math.max(0, Math.min(Math.max(left, middle - wide(text) / 2), right - wide(text)));
    return { group, text, start, end: start + wide(text) };
  };
  const labels = [];
  for (const rule of [...rules].sort((a, b) => a.x - b.x)) {
    let label = placed([rule]);
    while (labels.length && labels[labels.length - 1].end + 10 > label.start) {
      label = placed([...labels.pop().group, ...label.group]);
    }
    labels.push(label);
  }
  return labels;
}

/** Vertical lines, such as the number of cores, with their labels above the chart. */
export function ruleMarks(rules, position, box) {
  if (!rules || rules.length === 0) return [];
  const { left, right, top, bottom } = box;
  const line = ({ x }) => {
    const at = round(position(x));
    return svg("line", { class: "rule", x1: at, x2: at, y1: top - 2, y2: bottom });
  };
  // A label wider than the chart is broken into two lines of similar length.
  const label = ({ group, text, start, end }) => {
    const joined = (part) => part.map((rule) => rule.label).join(", ");
    const splits = group.slice(1).map((_, at) => [joined(group.slice(0, at + 1)), joined(group.slice(at + 1))]);
    const longest = (split) => Math.max(...split.map((one) => one.length));
    const [shortest] = splits.sort((a, b) => longest(a) - longest(b));
    const lines = end > right + 14 && shortest ? shortest : [text];
    return lines.map((one, at) => words({ x: round(start), y: top - 7 - 13 * (lines.length - 1 - at) }, one));
  };
  return [
    () => svg("g", { class: "rules" }, rules.map(line), ruleLabels(rules, position, left, right + 10).map(label)),
  ];
}

function xDomain(spec, points) {
  if (spec.x.domain) return spec.x.domain;
  const xs = points.map((point) => point.x).concat((spec.rules || []).map((rule) => rule.x));
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  if (!Number.isFinite(first)) return [1, 10];
  if (spec.x.log && first > 0) return first === last ? [first / 2, last * 2] : [first, last];
  return [Math.min(0, first), last || 1];
}

export function lineChart(spec, width) {
  const styles = stylesOf(spec.series);
  const leaders = leadersOf(spec);
  // A leader has the colour of its primitive unless another leader has the same.
  const theirs = (leaders || []).map((one) => styles[spec.series.indexOf(one)].colour);
  const colours = new Set(theirs).size < theirs.length ? LEADING : theirs;
  const series = spec.series.map((one, at) => ({
    ...one,
    style: leaders ? { ...styles[at], dash: null, colour: colours[leaders.indexOf(one)] || GREY } : styles[at],
    isGrey: leaders !== null && !leaders.includes(one),
    name: `line-${at}`,
  }));
  const points = series.flatMap((one) => one.points);
  const known = domainFor(spec.y, points, "y");
  const domains = { x: xDomain(spec, points), y: known || [1, 10] };
  const groups = mergedLabels(series);
  // With many lines, the legend names the grey ones.
  const named = groups.length > MOST_LABELS ? groups.filter((group) => group.some(({ isGrey }) => !isGrey)) : groups;
  const letters = Math.min(LONGEST_LABEL, Math.floor((width * 0.4 - 20) / LABEL_CHARACTER));
  const longest = Math.max(0, ...named.map((group) => groupLabel(group, letters).length));
  // Cut names may look alike, so a legend has the full ones.
  const isCut = named.some((group) => groupLabel(group, letters).includes("…"));
  const labelled = series.length > 0 && named.length <= MOST_LABELS && !isCut;
  const box = lineBox(spec, width, domains.y, labelled, longest);
  const xLog = Boolean(spec.x.log) && domains.x[0] > 0;
  const [from, to] = [box.left + (xLog ? 12 : 0), box.right - 12];
  const yRange = [box.bottom - (spec.y.log ? 12 : 0), box.top];
  const position = {
    x: positionOn({ log: xLog }, domains.x, [from, to]),
    y: positionOn(spec.y, domains.y, yRange),
  };
  const most = Math.floor((width - box.right - 14) / LABEL_CHARACTER);
  const floorOf = (at) => Math.min(...domains.y) * (spec.y.log ? 1.0 + 0.03 * (at % 3) : 0);
  const root = Plot.plot({
    className: "chart",
    width,
    height: box.height,
    marginLeft: box.left,
    marginRight: width - box.right,
    marginTop: box.top,
    marginBottom: box.height - box.bottom,
    x: { type: xLog ? "log" : "linear", domain: domains.x, range: [from, to], axis: null },
    y: { type: spec.y.log ? "log" : "linear", domain: domains.y, range: yRange, clamp: true, axis: null },
    marks: [
      ...lineAxes({ ...spec, x: { ...spec.x, log: xLog } }, domains, box),
      ...ruleMarks(spec.rules, position.x, box),
      ...greyFirst(series).flatMap(([one, at]) => seriesMarks(one, series.length <= MOST_SPREADS, floorOf(at))),
      known ? [] : () => nothingHere(box),
      labelled ? () => drawLabels(named, box, position, most) : [],
    ].flat(),
  });
  const spots = series.flatMap((one, at) =>
    one.points.map((point) => ({
      x: position.x(point.x),
      y: position.y(hasPlace(point) ? point.y : floorOf(at)),
      point,
      series: one.name,
    })),
  );
  const unnamed = labelled ? groups.filter((group) => !named.includes(group)).flat() : series;
  const note = [leaders?.length ? leadersNote(spec, leaders) : [], coincidenceNotes(groups)].flat();
  return { root, spots, note, legend: unnamed.length ? lineLegend(unnamed) : null, highlight: highlighter(root) };
}

export const nothingHere = (box) =>
  words(
    { class: "nothing", x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2, "text-anchor": "middle" },
    "No figure among these cases",
  );

/** Dims all series but the one under the pointer. */
export const highlighter = (root) => (name) => {
  for (const node of root.querySelectorAll(".series")) {
    const own = name !== null && node.classList.contains(name);
    node.classList.toggle("dim", name !== null && !own);
    node.classList.toggle("lit", own);
  }
};
