// A chart of one point with an interval per case, for panels without an axis.

function drawDot(root, dot, x, box, at, measure) {
  const { figure, style } = dot;
  const group = svg("g", { class: "series", style: `--c: ${style.colour}` });
  const position = figure.state === "none" ? box.left + 5 : x.to(figure.y);
  if (figure.state === "resolved" || figure.state === "open") {
    if (figure.spread) {
      const [from, to] = figure.spread.map((end) => round(x.to(end)));
      group.append(svg("path", { class: "spread-bar", d: `M${from},${at}H${to}` }));
    }
    group.append(svg("path", { class: "whisker", d: `M${round(x.to(figure.low))},${at}H${round(x.to(figure.high))}` }));
  }
  group.append(mark(position, at, figure, style, 4.4));
  const text = figureText(figure, dot.row, measure);
  // The text starts at the end of the interval and of the spread, on the side that has room for it.
  const ends = [position, ...[figure.low, figure.high, ...(figure.spread || [])].filter(Number.isFinite).map(x.to)];
  const [first, last] = [Math.min(...ends, position - 4) - 8, Math.max(...ends, position + 4) + 8];
  const room = text.length * 6.8;
  const spot =
    last + room <= box.right + 8
      ? { x: last, y: at + 4, anchor: "start" }
      : first - room >= box.left + 2
        ? { x: first, y: at + 4, anchor: "end" }
        : { x: box.right, y: at - 6, anchor: "end" };
  group.append(svg("text", { class: "value", x: round(spot.x), y: spot.y, "text-anchor": spot.anchor }, text));
  root.append(group);
  dot.spot = { x: position, y: at, row: dot.row, series: dot };
  return group;
}

/** spec: {width, label, measure, log, domain, dots: [{label, style, figure, row}]} */
function dotChart(spec) {
  const step = 30;
  const narrow = spec.width < 420;
  const longest = Math.max(...spec.dots.map((dot) => dot.label.length));
  const gutter = Math.min(Math.round(longest * 6.9 + 14), Math.round(spec.width * (narrow ? 0.42 : 0.5)));
  const fits = Math.floor((gutter - 14) / 6.6);
  const height = 30 + spec.dots.length * step + 30;
  const box = { left: gutter, right: spec.width - 12, top: 24, bottom: height - 28 };
  const domain = spec.domain || [1, 10];
  const x = makeScale(spec.log, domain, [box.left + 10, box.right - 10]);
  const root = frame("dots", spec.width, height, spec.label);
  const axes = svg("g", { class: "axes" }, svg("text", { class: "axis-title", x: 0, y: 11 }, spec.measure.axis));
  if (spec.domain) {
    for (const tick of fittingTicks(x.ticks(Math.round((box.right - box.left) / 70)), x.to, 52)) {
      const at = round(x.to(tick));
      axes.append(
        svg("line", { class: "grid", x1: at, x2: at, y1: box.top, y2: box.bottom }),
        svg("text", { x: at, y: box.bottom + 18, "text-anchor": "middle" }, spec.measure.tick(tick)),
      );
    }
  }
  axes.append(svg("line", { class: "base", x1: box.left, x2: box.left, y1: box.top, y2: box.bottom }));
  root.append(axes);
  const groups = new Map();
  spec.dots.forEach((dot, index) => {
    const at = box.top + step * (index + 0.5) + 3;
    const label = dot.label.length > fits ? `${dot.label.slice(0, fits - 1)}…` : dot.label;
    axes.append(svg("text", { class: "label", x: box.left - 10, y: at + 4, "text-anchor": "end" }, label));
    groups.set(dot, drawDot(root, dot, x, box, at, spec.measure));
  });
  const highlight = (dot) =>
    groups.forEach((group, other) => group.classList.toggle("dim", dot !== null && dot !== other));
  addNavigation(
    root,
    spec.dots.map((dot) => dot.spot),
    highlight,
  );
  return { root, highlight };
}
