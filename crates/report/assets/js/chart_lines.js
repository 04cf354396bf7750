// Lines with bands: a figure against threads, blocks or devices.

/** Stretches of neighbouring resolved points: what is not resolved breaks a line. */
function stretches(points) {
  const found = [];
  let open = null;
  for (const point of points) {
    if (point.figure.state !== "resolved") { open = null; continue; }
    if (!open) found.push(open = []);
    open.push(point);
  }
  return found;
}

const polyline = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${round(x)},${round(y)}`).join("");

function drawSeries(series, x, y, floor) {
  const group = svg("g", { class: "series", style: `--c: ${series.style.colour}` });
  for (const points of stretches(series.points)) {
    const at = (key) => points.map((point) => [x.to(point.x), y.to(point.figure[key])]);
    if (points.length > 1) {
      group.append(
        svg("path", { class: "band", d: `${polyline(at("high"))}${polyline(at("low").reverse()).replace("M", "L")}z` }),
        svg("path", { class: "line", d: polyline(at("y")), "stroke-dasharray": series.style.dash }));
    } else {
      group.append(whisker(points[0], x, y));
    }
  }
  const dense = series.points.length > 40;
  for (const point of series.points) {
    const state = point.figure.state;
    if (state === "open") group.append(whisker(point, x, y));
    const lonely = state !== "resolved";
    const height = state === "none" ? floor : y.to(point.figure.y);
    point.spot = { x: x.to(point.x), y: height, row: point.row, series };
    if (!dense || lonely) group.append(mark(point.spot.x, height, point.figure, series.style));
  }
  return group;
}

/** The interval of a point that stands alone. */
function whisker(point, x, y) {
  const at = round(x.to(point.x));
  return svg("path", { class: "whisker", d: `M${at},${round(y.to(point.figure.low))}V${round(y.to(point.figure.high))}` });
}

function drawAxes(root, spec, x, y, box) {
  const axes = svg("g", { class: "axes" });
  if (!spec.domain) axes.append(svg("text", { class: "nothing", x: (box.left + box.right) / 2, y: box.top + box.height / 2, "text-anchor": "middle" }, "No figure among these cases"));
  for (const tick of spec.domain ? y.ticks(Math.round(box.height / (spec.log ? 32 : 44))) : []) {
    const at = round(y.to(tick));
    axes.append(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: at, y2: at }), svg("text", { x: box.left - 8, y: at + 4, "text-anchor": "end" }, spec.measure.tick(tick)));
  }
  axes.append(svg("line", { class: "base", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  for (const tick of fittingTicks(spec.xs, x.to, 34)) {
    const at = round(x.to(tick));
    axes.append(svg("line", { class: "tick", x1: at, x2: at, y1: box.bottom, y2: box.bottom + 4 }), svg("text", { x: at, y: box.bottom + 18, "text-anchor": "middle" }, String(tick)));
  }
  axes.append(
    svg("text", { class: "axis-title", x: 0, y: 11 }, spec.measure.axis),
    svg("text", { class: "axis-title", x: box.right, y: box.bottom + 35, "text-anchor": "end" }, spec.xTitle));
  root.append(axes);
}

/** spec: {width, label, xs, xTitle, measure, log, domain, series: [{label, style, points: [{x, figure, row}]}]} */
function lineChart(spec) {
  const height = spec.width < 420 ? 250 : 280;
  const domain = spec.domain || [1, 10];
  const widest = Math.max(...makeScale(spec.log, domain, [0, 1]).ticks(6).map((tick) => spec.measure.tick(tick).length), 3);
  const box = { left: Math.round(widest * 6.7 + 12), right: spec.width - 12, top: 26, bottom: height - 44 };
  box.height = box.bottom - box.top;
  const inset = 10;
  const [first, last] = [spec.xs[0], spec.xs[spec.xs.length - 1]];
  const x = makeScale(spec.log && first > 0, spec.log ? [first, last] : [0, last], [box.left + (spec.log ? inset : 0), box.right - inset]);
  const y = makeScale(spec.log, domain, [box.bottom - (spec.log ? 10 : 0), box.top]);
  const root = frame("lines", spec.width, height, spec.label);
  drawAxes(root, spec, x, y, box);
  const groups = new Map();
  spec.series.forEach((series, at) => {
    const group = drawSeries(series, x, y, box.bottom - 5 - (at % 3) * 5);
    groups.set(series, group);
    root.append(group);
  });
  const highlight = (series) => groups.forEach((group, other) => group.classList.toggle("dim", series !== null && series !== other));
  explorable(root, spec.series.flatMap((series) => series.points.map((point) => point.spot)), highlight);
  return { root, highlight };
}
