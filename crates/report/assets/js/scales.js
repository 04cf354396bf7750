// Scales: from values to pixels, and ticks.

function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-9); at += 1) ticks.push(at * step);
  return ticks;
}

/** Powers of ten. Few decades have ticks at 2 and 5 too, many decades only at every n-th power. */
function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  const factors = decades * 3 <= count ? [1, 2, 5] : decades * 2 <= count ? [1, 3] : [1];
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

function makeScale(log, [low, high], [from, to]) {
  const shape = log ? Math.log : (value) => value;
  const start = shape(low);
  const span = shape(high) - start || 1;
  return {
    log,
    to: (value) => {
      const clamped = Math.min(Math.max(value, low), high);
      return from + ((shape(clamped) - start) / span) * (to - from);
    },
    ticks: (count) => (log ? logTicks(low, high, count) : linearTicks(low, high, count)),
  };
}

/** The ticks that fit an axis, with the last one always among them. Of many values, only powers of two count. */
function fittingTicks(all, position, width) {
  const powers = all.filter((value, at) => Number.isInteger(Math.log2(value)) || at === all.length - 1);
  const values = all.length > 16 && powers.length > 3 ? powers : all;
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
