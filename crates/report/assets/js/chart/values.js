// The values of axes: units, ticks and domains.

import {
  digits,
  formatCount,
  formatCycles,
  formatRate,
  formatTime,
  tickPlain,
  tickRate,
  tickTime,
  trim,
} from "../model/format.js";

/** The text of a tick and of a figure in each unit. */
export const UNITS = {
  time: { tick: tickTime, text: formatTime },
  cycles: { tick: tickPlain, text: formatCycles },
  rate: { tick: tickRate, text: formatRate },
  ratio: { tick: (value) => `${trim(digits(value, 3))}×`, text: (value) => `${digits(value, 3)}×` },
  share: { tick: (value) => trim(digits(value, 2)), text: (value) => digits(value, 3) },
  count: { tick: (value) => formatCount(value), text: (value) => formatCount(value) },
};
export const unitOf = (axis) => UNITS[axis.unit] || UNITS.count;

function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-9); at += 1) ticks.push(at * step);
  return ticks;
}

/** Logarithmic ticks: powers of ten, with ticks in between for few decades, or every n-th power for many. */
export function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  const factors =
    decades * 7 <= count
      ? [1, 1.5, 2, 3, 4, 5, 7]
      : decades * 3 <= count
        ? [1, 2, 5]
        : decades * 2 <= count
          ? [1, 3]
          : [1];
  const every = Math.max(1, Math.ceil(decades / count));
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    if (power % every !== 0) continue;
    for (const factor of factors) {
      const tick = Number(`${factor}e${power}`);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks.length >= 2 ? ticks : linearTicks(low, high, count).filter((tick) => tick > 0);
}

export const ticksOf = (axis, [low, high], count) =>
  axis.log ? logTicks(low, high, count) : linearTicks(low, high, count);

/** The ticks that fit an axis, always with the last one. Of many values, only powers of two count. */
export function fittingTicks(all, position, width) {
  const powers = all.filter((value, at) => Number.isInteger(Math.log2(value)) || at === all.length - 1);
  const values = all.length > 16 && powers.length > 3 && all.every(Number.isInteger) ? powers : all;
  const kept = [];
  const last = values[values.length - 1];
  const lastAt = position(last);
  for (const value of values) {
    const at = position(value);
    const clearLeft = kept.length === 0 || at - position(kept[kept.length - 1]) >= width;
    if (value === last || (clearLeft && lastAt - at >= width)) kept.push(value);
  }
  return kept;
}

/** Maps a value to its place between two pixels. */
export function positionOn(axis, [low, high], [from, to]) {
  const shape = axis.log ? Math.log : (value) => value;
  const span = shape(high) - shape(low) || 1;
  return (value) => from + ((shape(Math.min(Math.max(value, low), high)) - shape(low)) / span) * (to - from);
}

/** The most by which a spread, or an interval too wide for a figure, may widen the axis, as a factor; wider ones reach
    beyond it. */
const MOST_SPREAD = 4;

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
export const hasPlace = (point) => point.state !== "missing" && point.state !== "overlapped";

/** The values that the axis of `points` must show. `at`: the name of the figure, x or y. */
function endsOf(point, at) {
  const value = point[at];
  if (!hasPlace(point) || !isNumber(value)) return [];
  const limited = (ends) =>
    ends.filter(isNumber).map((end) => Math.min(Math.max(end, value / MOST_SPREAD), value * MOST_SPREAD));
  const interval = [point.low, point.high];
  if ((point.state || "resolved") !== "resolved") return [value, ...limited(interval)];
  return [value, ...interval, point.most, ...limited([point.p05, point.p95])].filter(isNumber);
}

/** The range of an axis: the figures with a margin, and wide enough that noise does not look like a trend. */
export function domainFor(axis, points, at) {
  if (axis.domain) return axis.domain;
  const endsAmong = (isShown) =>
    points
      .filter(isShown)
      .flatMap((point) => endsOf(point, at))
      .filter((end) => end > 0 && end < Number.MAX_VALUE);
  const figures = endsAmong((point) => point.state !== "bound");
  const bounds = endsAmong((point) => point.state === "bound");
  if (figures.length + bounds.length === 0) return null;
  // A bound far from all figures, such as a starved thread's, is drawn at the edge.
  const [least, most] = [Math.min(...figures) / MOST_SPREAD, Math.max(...figures) * MOST_SPREAD];
  const ends = figures.concat(figures.length ? bounds.map((end) => Math.min(Math.max(end, least), most)) : bounds);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (!axis.log) return [0, high * 1.06];
  const narrowest = 4;
  const pad = Math.max(1.12, Math.sqrt(Math.max(1, narrowest / (high / low))));
  return [low / pad, high * pad];
}
