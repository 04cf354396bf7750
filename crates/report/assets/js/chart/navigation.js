// Moves from point to point of a chart, with the pointer and with the keyboard.

import { round } from "./marks.js";
import { svg } from "../dom.js";
import { rowOfPoint } from "../model/data.js";
import { hideTooltip, showText, showTooltip } from "../tooltip.js";

function showPoint(point, x, y) {
  const row = rowOfPoint(point);
  if (point.tip) showText(point.tip, x, y);
  else if (row) showTooltip(row, x, y);
  else hideTooltip();
}

/** The spot nearest to a place, among those that are allowed, and its distance. */
function nearestSpot(spots, x, y, allowed = () => true) {
  let best = -1;
  let least = Infinity;
  spots.forEach((spot, at) => {
    const distance = (spot.x - x) ** 2 + (spot.y - y) ** 2;
    if (distance < least && allowed(spot)) [best, least] = [at, distance];
  });
  return [best, Math.sqrt(least)];
}

/** The spot to which an arrow key leads: along the line, or to the nearest of another line in this direction. */
function nextSpot(spots, current, key) {
  if (current < 0) return 0;
  const here = spots[current];
  const same = spots.flatMap((spot, at) => (spot.series === here.series ? [at] : []));
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (step && same.length > 1) return same[Math.min(Math.max(same.indexOf(current) + step, 0), same.length - 1)];
  const isInDirection = {
    ArrowUp: (spot) => spot.y < here.y,
    ArrowDown: (spot) => spot.y > here.y,
    ArrowLeft: (spot) => spot.x < here.x,
    ArrowRight: (spot) => spot.x > here.x,
  }[key];
  const allowed = (spot) => spot.series !== here.series && isInDirection && isInDirection(spot);
  const [other] = nearestSpot(spots, here.x, here.y, allowed);
  return other < 0 ? current : other;
}

/** Adds tooltips for mouse, touch and keyboard. `spots` are {x, y, point, series}, in drawing order. */
export function addNavigation(root, spots, highlight) {
  if (spots.length === 0) return;
  const ring = svg("circle", { class: "ring", r: 8, visibility: "hidden" });
  root.append(ring);
  let current = -1;
  const scaleOf = (box) => box.width / root.viewBox.baseVal.width || 1;
  const show = (at, pointer) => {
    current = at;
    const spot = spots[at];
    const box = root.getBoundingClientRect();
    ring.setAttribute("cx", round(spot.x));
    ring.setAttribute("cy", round(spot.y));
    ring.setAttribute("visibility", "visible");
    highlight(spot.series);
    const place = pointer || [box.left + spot.x * scaleOf(box), box.top + spot.y * scaleOf(box)];
    showPoint(spot.point, ...place);
  };
  const hide = () => {
    ring.setAttribute("visibility", "hidden");
    highlight(null);
    hideTooltip();
  };
  const point = (event) => {
    const box = root.getBoundingClientRect();
    const scale = scaleOf(box);
    const [at, distance] = nearestSpot(spots, (event.clientX - box.left) / scale, (event.clientY - box.top) / scale);
    if (distance <= 60) show(at, [event.clientX, event.clientY]);
    else hide();
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
    show(nextSpot(spots, current, event.key));
  });
}
