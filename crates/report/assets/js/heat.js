// The colours of cells: from a cost to a colour, and a text colour with enough contrast.

/** The colour at a share from 0 (low) to 1 (high). */
function heatColour(share) {
  const [upper, lower, part] = share < 0.5 ? ["mid", "low", share * 2] : ["high", "mid", share * 2 - 1];
  return `color-mix(in oklab, var(--heat-${upper}) ${Math.round(part * 100)}%, var(--heat-${lower}))`;
}

function heatInk(share) {
  const band = share < 0.25 ? "low" : share < 0.52 ? "mid" : share < 0.65 ? "upper" : "high";
  return `var(--heat-ink-${band})`;
}

/** The least ratio of the last colour's cost to the first one's: smaller differences must not look like structure. */
const LEAST_RANGE = 2;

/** The position of a cost between the lowest and the highest, on a logarithmic scale from 0 to 1. */
function heatShare([low, high], cost) {
  return Math.min(1, Math.max(0, Math.log(cost / low) / Math.log(high / low)));
}

/** Oblique lines for a cell without a cost. */
function hatch(x, y, width, height) {
  const lines = [];
  const most = width + height;
  for (let at = 6; at < most; at += 6) {
    const [x1, y1] = at < height ? [0, at] : [at - height, height];
    const [x2, y2] = at < width ? [at, 0] : [width, at - width];
    lines.push(`M${round(x + x1)},${round(y + y1)}L${round(x + x2)},${round(y + y2)}`);
  }
  return svg("path", { class: "hatch", d: lines.join("") });
}

/** The unit of the cells of a map: time or cycles, as the reader chose, scaled to keep the numbers short. */
function heatUnit(rows) {
  if (VIEW.measure.id === "cycles" && rows.some((row) => row.cycles !== null)) {
    return { name: "cycles", of: (row) => row.cycles, text: (row) => shortNumber(row.cycles) };
  }
  const costs = rows.map((row) => row.ns).filter((ns) => ns > 0);
  const least = costs.length ? Math.min(...costs) : 1;
  const [divisor, name] = least >= 300 ? [1e3, "µs"] : [1, "ns"];
  return { name, of: (row) => row.ns, text: (row) => shortNumber(row.ns / divisor) };
}

function shortNumber(value) {
  if (value >= 99950) return `${digits(value / 1000, 3)}k`;
  return value >= 999.5 ? String(Math.round(value)) : digits(value, 3);
}

const costRange = (rows, unit) => {
  const costs = rows.filter((row) => row.verdict === "Resolved" || row.verdict === "Noisy").map(unit.of);
  const known = costs.filter((cost) => cost > 0);
  const [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [1, 1];
  const margin = Math.sqrt(Math.max(1, (LEAST_RANGE * low) / high));
  return [low / margin, high * margin];
};

/** The legend of the colours. */
function heatRamp(range, unit) {
  const text = (cost) => `${shortNumber(unit.name === "µs" ? cost / 1e3 : cost)}${NBSP}${unit.name}`;
  return el("p", { class: "ramp heat" }, text(range[0]), el("i"), text(range[1]));
}
