// The common parts of all charts: marks, and navigation from point to point.

const SHAPES = [
  (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
  (x, y, r) => `M${x - r * 0.9},${y - r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}z`,
  (x, y, r) => `M${x},${y - r * 1.25}L${x + r * 1.25},${y}L${x},${y + r * 1.25}L${x - r * 1.25},${y}z`,
  (x, y, r) => `M${x - r * 1.35},${y - r * 0.65}h${r * 2.7}v${r * 1.3}h${-r * 2.7}z`,
  (x, y, r) => `M${x - r * 0.65},${y - r * 1.35}h${r * 1.3}v${r * 2.7}h${-r * 1.3}z`,
];
const DASHES = [null, "7 4", "2 3", "9 3 2 3"];
const COLOURS = 8;

const round = (value) => Math.round(value * 10) / 10;
const cross = (x, y, r) => `M${x - r},${y - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}`;
const plus = (x, y, r) => `M${x - r},${y}h${2 * r}M${x},${y - r}v${2 * r}`;
const chevron = (x, y, r) => `M${x - r},${y - r / 2}l${r},${r}l${r},${-r}`;
/** A bound. No line has this shape: a hollow mark of a line is an unreliable estimate. */
const triangle = (x, y, r, up) => {
  const way = up ? 1 : -1;
  return `M${x},${y - way * r * 1.15}L${x + r * 1.2},${y + way * r * 0.9}L${x - r * 1.2},${y + way * r * 0.9}z`;
};

/** The mark of a figure: filled, hollow, a triangle for a bound, a plus for a cost that is not additive, a chevron for one
    that is overlapped, or a cross. */
function mark(x, y, figure, style, size = 3.6) {
  const [at, height] = [round(x), round(y)];
  if (figure.overlapped) return svg("path", { class: "mark overlapped", d: chevron(at, height, 4) });
  if (figure.state === "nonadditive") return svg("path", { class: "mark nonadditive", d: plus(at, height, 4.4) });
  if (figure.state === "none") return svg("path", { class: "mark missing", d: cross(at, height, 3) });
  if (figure.state === "bound") return svg("path", { class: "mark bound", d: triangle(at, height, 4.4, figure.above) });
  return svg("path", { class: `mark ${figure.state}`, d: SHAPES[style.shape](at, height, size) });
}

/** The colour, mark and dash of the n-th of `count` lines. `ordered` lines (numbers) have a colour ramp. */
function styleOf(at, count, ordered, run) {
  const dash = DASHES[(run + Math.floor(at / COLOURS)) % DASHES.length];
  const share = count > 1 ? Math.round((100 * at) / (count - 1)) : 0;
  const colour =
    ordered && count > 2
      ? `color-mix(in oklab, var(--ramp-high) ${share}%, var(--ramp-low))`
      : `var(--s${at % COLOURS})`;
  return { colour, dash, shape: at % SHAPES.length };
}

/** The colour of a primitive is the same in all charts of the page, and on the pages of other runs. */
const colourOf = (primitive) => `var(--s${(PRIMITIVES.get(primitive)?.colour || 0) % COLOURS})`;

/** The style of the n-th variant of a primitive: variants share its colour. */
function primitiveStyle(primitive, variant, run) {
  const number = PRIMITIVES.get(primitive)?.colour || 0;
  return {
    colour: colourOf(primitive),
    dash: DASHES[(run + variant + Math.floor(number / COLOURS)) % DASHES.length],
    shape: (number + variant) % SHAPES.length,
  };
}

/**
 * Adds tooltips for mouse, touch and keyboard. `spots` are {x, y, row, series}, in drawing order.
 */
function addNavigation(root, spots, highlight) {
  if (spots.length === 0) return;
  const ring = svg("circle", { class: "ring", r: 8, visibility: "hidden" });
  root.append(ring);
  let current = -1;
  const scaleOf = (box) => box.width / root.viewBox.baseVal.width;
  const show = (at, pointer) => {
    current = at;
    const spot = spots[at];
    const box = root.getBoundingClientRect();
    ring.setAttribute("cx", spot.x);
    ring.setAttribute("cy", spot.y);
    ring.setAttribute("visibility", "visible");
    highlight(spot.series);
    const position = pointer || [box.left + spot.x * scaleOf(box), box.top + spot.y * scaleOf(box)];
    showTooltip(spot.row, ...position);
  };
  const hide = () => {
    ring.setAttribute("visibility", "hidden");
    highlight(null);
    hideTooltip();
  };
  const nearest = (x, y, allowed = () => true) => {
    let best = -1;
    let least = Infinity;
    spots.forEach((spot, at) => {
      const distance = (spot.x - x) ** 2 + (spot.y - y) ** 2;
      if (distance < least && allowed(spot)) [best, least] = [at, distance];
    });
    return [best, Math.sqrt(least)];
  };
  const point = (event) => {
    const box = root.getBoundingClientRect();
    const scale = scaleOf(box);
    const [at, distance] = nearest((event.clientX - box.left) / scale, (event.clientY - box.top) / scale);
    if (distance <= 60) show(at, [event.clientX, event.clientY]);
    else hide();
  };
  const nextSpot = (key) => {
    if (current < 0) return 0;
    const here = spots[current];
    const same = spots
      .map((spot, at) => [spot, at])
      .filter(([spot]) => spot.series === here.series)
      .map(([, at]) => at);
    const index = same.indexOf(current);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (step && same.length > 1) return same[Math.min(Math.max(index + step, 0), same.length - 1)];
    const isInDirection = {
      ArrowUp: (spot) => spot.y < here.y,
      ArrowDown: (spot) => spot.y > here.y,
      ArrowLeft: (spot) => spot.x < here.x,
      ArrowRight: (spot) => spot.x > here.x,
    }[key];
    const [other] = nearest(here.x, here.y, (spot) => spot.series !== here.series && isInDirection(spot));
    return other < 0 ? current : other;
  };
  root.addEventListener("pointermove", point);
  root.addEventListener("pointerdown", point);
  root.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") hide();
  });
  root.addEventListener("focus", () => {
    if (root.matches(":focus-visible")) show(Math.max(current, 0));
  });
  root.addEventListener("blur", hide);
  root.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    show(nextSpot(event.key));
  });
}

/** The root element of a chart. One unit is one pixel, which keeps lines and text sharp. */
function frame(kind, width, height, label) {
  return svg("svg", {
    class: `chart ${kind}`,
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": `${label}. Arrow keys move from point to point.`,
    tabindex: 0,
  });
}
