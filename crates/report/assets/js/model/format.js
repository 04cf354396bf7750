// Numbers as text.

export const NBSP = "\u00a0";

/** A number with this many significant digits and without an exponent. */
export function digits(value, count = 3) {
  if (value === 0) return "0";
  // The exponent is taken after rounding: 0.9996 is written as 1.00.
  const magnitude = Number(value.toExponential(count - 1).split("e")[1]);
  const text = value.toFixed(Math.min(6, Math.max(0, count - 1 - magnitude)));
  return magnitude >= 3 ? grouped(text) : text;
}

/** An integer with separators of thousands. */
const grouped = (text) => text.replace(/\B(?=(\d{3})+$)/g, ",");

/** A number and its unit, scaled by one of `steps` ([divisor, unit], smallest first). */
function scaled(value, steps, count) {
  let chosen = steps[0];
  for (const step of steps) if (Math.abs(value) >= step[0] * 0.9995) chosen = step;
  return [digits(value / chosen[0], count), chosen[1]];
}

const TIME_STEPS = [
  [1, "ns"],
  [1e3, "µs"],
  [1e6, "ms"],
  [1e9, "s"],
];
const RATE_STEPS = [
  [1, ""],
  [1e3, "k"],
  [1e6, "M"],
  [1e9, "G"],
  [1e12, "T"],
];

const timeParts = (ns, count) => scaled(ns, TIME_STEPS, count);
export const formatTime = (ns, count) => timeParts(ns, count).join(NBSP);
export const formatRate = (rate, count) => {
  const [number, unit] = scaled(rate, RATE_STEPS, count);
  return `${number}${NBSP}${unit}ops/s`;
};
export const plainRate = (rate, count) => scaled(rate, RATE_STEPS, count).join(NBSP);
export const formatCycles = (cycles, count) => `${digits(cycles, count)}${NBSP}cycles`;
export const formatCount = (count) => grouped(String(count));
export const plural = (count, noun) => `${formatCount(count)}${NBSP}${noun}${count === 1 ? "" : "s"}`;

export function formatPercent(fraction) {
  const percent = fraction * 100;
  if (percent < 0.05) return `<0.1${NBSP}%`;
  return `${percent < 9.95 ? percent.toFixed(1) : percent.toFixed(0)}${NBSP}%`;
}

/** The half-width of an interval relative to its point; null without an interval. */
export function halfWidth(point, low, high) {
  if (point === null || low === null || high === null || point === 0) return null;
  return (high - low) / 2 / Math.abs(point);
}

/** The text of a tick: no trailing zeros. */
export const trim = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
export const tickTime = (ns) => {
  const [number, unit] = timeParts(ns, 3);
  return `${trim(number)}${NBSP}${unit}`;
};
export const tickRate = (rate) => {
  const [number, unit] = scaled(rate, RATE_STEPS, 3);
  return unit ? `${trim(number)}${NBSP}${unit}` : trim(number);
};
export const tickPlain = (value) => {
  const [number, unit] = scaled(value, RATE_STEPS, 3);
  return trim(number) + (unit ? NBSP + unit : "");
};

/** Rounds a bound to two significant digits, away from the bounded value: up or down. */
export function roundedBound(number, up) {
  const step = 10 ** (Math.floor(Math.log10(number)) - 1);
  return (up ? Math.ceil((number / step) * (1 - 1e-9)) : Math.floor((number / step) * (1 + 1e-9))) * step;
}
