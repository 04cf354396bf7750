// A chart of lines with bands: a figure against threads, blocks or devices.

/** Sequences of adjacent resolved points: a point that is not resolved breaks a line. */
function segmentsOf(points) {
  const found = [];
  let current = null;
  for (const point of points) {
    if (point.figure.state !== "resolved") {
      current = null;
      continue;
    }
    if (!current) found.push((current = []));
    current.push(point);
  }
  return found;
}

const polyline = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${round(x)},${round(y)}`).join("");

/** Lines of more points have no marks. */
const MOST_MARKS = 40;

/** Whether the lines of two series coincide to within a pixel or two. */
function coincide(a, b, y) {
  const heights = new Map(b.points.map((point) => [point.x, point.figure]));
  const common = a.points.filter((point) => point.figure.state === "resolved" && heights.has(point.x));
  const near = (point) => Math.abs(y.to(point.figure.y) - y.to(heights.get(point.x).y || 0)) < 1.5;
  return common.length > 1 && common.every(near);
}

/** The width of a line. Lines that others cover are wider, so that no line is hidden. */
const widthOf = (series, later, y) => 2 + 2.5 * Math.min(3, later.filter((other) => coincide(series, other, y)).length);

function drawSegment(points, x, y, dash, width) {
  if (points.length === 1) return [spreadBar(points[0], x, y), whisker(points[0], x, y)];
  const path = (height) => points.map((point) => [x.to(point.x), y.to(height(point.figure))]);
  const between = (low, high) => `${polyline(path(high))}${polyline(path(low).reverse()).replace("M", "L")}z`;
  const spread = between(
    (figure) => (figure.spread ? figure.spread[0] : figure.low),
    (figure) => (figure.spread ? figure.spread[1] : figure.high),
  );
  return [
    points.some((point) => point.figure.spread) ? svg("path", { class: "spread", d: spread }) : "",
    svg("path", {
      class: "band",
      d: between(
        (figure) => figure.low,
        (figure) => figure.high,
      ),
    }),
    svg("path", {
      class: "line",
      d: polyline(path((figure) => figure.y)),
      "stroke-dasharray": dash,
      "stroke-width": width,
    }),
  ];
}

/** later: the series drawn after this one; floor: the height of the crosses. */
function drawSeries(series, later, x, y, floor) {
  const group = svg("g", { class: "series", style: `--c: ${series.style.colour}` });
  const segments = segmentsOf(series.points);
  const width = widthOf(series, later, y);
  segments.forEach((points) => group.append(...drawSegment(points, x, y, series.style.dash, width)));
  const isolated = new Set(segments.filter((points) => points.length === 1).flat());
  for (const point of series.points) {
    const { state } = point.figure;
    const height = state === "none" ? floor : y.to(point.figure.y);
    point.spot = { x: x.to(point.x), y: height, row: point.row, series };
    if (state === "open") group.append(spreadBar(point, x, y), whisker(point, x, y));
    if (state !== "resolved" || isolated.has(point) || series.points.length <= MOST_MARKS) {
      group.append(mark(point.spot.x, height, point.figure, series.style));
    }
  }
  return group;
}

/** The interval of an isolated point. */
function whisker(point, x, y) {
  const at = round(x.to(point.x));
  return svg("path", {
    class: "whisker",
    d: `M${at},${round(y.to(point.figure.low))}V${round(y.to(point.figure.high))}`,
  });
}

/** The 5th to the 95th percentile of an isolated point. */
function spreadBar(point, x, y) {
  const { spread } = point.figure;
  if (!spread) return "";
  const at = round(x.to(point.x));
  return svg("path", { class: "spread-bar", d: `M${at},${round(y.to(spread[0]))}V${round(y.to(spread[1]))}` });
}

/** Charts of more lines show the spread of the line under the pointer only. */
const MOST_SPREADS = 3;

function drawAxes(root, spec, x, y, box) {
  const axes = svg("g", { class: "axes" });
  if (!spec.domain) {
    const middle = { x: (box.left + box.right) / 2, y: box.top + box.height / 2, "text-anchor": "middle" };
    axes.append(svg("text", { class: "nothing", ...middle }, "No figure among these cases"));
  }
  for (const tick of spec.domain ? y.ticks(Math.round(box.height / (spec.log ? 32 : 44))) : []) {
    const at = round(y.to(tick));
    axes.append(
      svg("line", { class: "grid", x1: box.left, x2: box.right, y1: at, y2: at }),
      svg("text", { x: box.left - 8, y: at + 4, "text-anchor": "end" }, spec.measure.tick(tick)),
    );
  }
  axes.append(svg("line", { class: "base", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  for (const tick of fittingTicks(spec.xs, x.to, 34)) {
    const at = round(x.to(tick));
    axes.append(
      svg("line", { class: "tick", x1: at, x2: at, y1: box.bottom, y2: box.bottom + 4 }),
      svg("text", { x: at, y: box.bottom + 18, "text-anchor": "middle" }, String(tick)),
    );
  }
  axes.append(
    svg("text", { class: "axis-title", x: 0, y: 11 }, spec.measure.axis),
    svg("text", { class: "axis-title", x: box.right, y: box.bottom + 35, "text-anchor": "end" }, spec.xTitle),
  );
  root.append(axes);
}

/** spec: {width, label, xs, xTitle, measure, log, domain, series: [{label, style, points: [{x, figure, row}]}]} */
function lineChart(spec) {
  const height = spec.width < 420 ? 250 : 280;
  const domain = spec.domain || [1, 10];
  const widest = Math.max(
    ...makeScale(spec.log, domain, [0, 1])
      .ticks(6)
      .map((tick) => spec.measure.tick(tick).length),
    3,
  );
  const box = { left: Math.round(widest * 6.7 + 12), right: spec.width - 12, top: 26, bottom: height - 44 };
  box.height = box.bottom - box.top;
  const inset = 10;
  const [first, last] = [spec.xs[0], spec.xs[spec.xs.length - 1]];
  const x = makeScale(spec.logX && first > 0, spec.logX ? [first, last] : [0, last], [
    box.left + (spec.logX ? inset : 0),
    box.right - inset,
  ]);
  const y = makeScale(spec.log, domain, [box.bottom - (spec.log ? 10 : 0), box.top]);
  const root = frame("lines", spec.width, height, spec.label);
  root.classList.toggle("few", spec.series.length <= MOST_SPREADS);
  drawAxes(root, spec, x, y, box);
  const groups = new Map();
  spec.series.forEach((series, at) => {
    const later = spec.series.slice(at + 1);
    const group = drawSeries(series, later, x, y, box.bottom - 5 - (at % 3) * 5);
    groups.set(series, group);
    root.append(group);
  });
  const highlight = (series) =>
    groups.forEach((group, other) => {
      group.classList.toggle("dim", series !== null && series !== other);
      group.classList.toggle("lit", series === other);
    });
  addNavigation(
    root,
    spec.series.flatMap((series) => series.points.map((point) => point.spot)),
    highlight,
  );
  return { root, highlight };
}
