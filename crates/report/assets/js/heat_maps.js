// Heat maps of barriers that span blocks: blocks per multiprocessor against threads per block (Zhang et al., figures 8 to 11).

const CELL_HEIGHT = 25;

/** The least width of a map, for four in a line of a wide page. The style sheet has the same number. */
const LEAST_WIDTH = 265;
const MAP_GAP = 28;

/** The number in a group such as `cluster 8`. */
const groupNumber = (row) => {
  const found = /(\d+)$/.exec(row.group || "");
  return found ? Number(found[1]) : null;
};

/** What the lines of a map show: the size of the cluster, or the blocks per multiprocessor. */
function mapRows(family, rows) {
  if (family === "cluster") return { title: "blocks in the cluster", of: groupNumber };
  const gpu = RUNS[rows[0].run].run.machine.gpus[0];
  const units = gpu ? gpu.multiprocessors : 0;
  if (!units) return { title: "blocks", of: (row) => row.blocks };
  return { title: "blocks per SM", of: (row) => (row.blocks === null ? null : row.blocks / units) };
}

/** Rows grouped into maps. The rows of one map differ in blocks and threads only. */
function mapsOf(family, rows) {
  const maps = new Map();
  for (const row of rows) {
    if (row.threads === null) continue;
    const group = family === "cluster" ? null : row.group;
    const words = [
      row.name,
      row.devices === null ? null : plural(row.devices, "device"),
      row.dtype,
      row.space,
      row.order,
      group,
    ];
    const title = words.filter(Boolean).join(" · ");
    const key = `${row.run} ${title}`;
    if (!maps.has(key))
      maps.set(key, { title, run: row.run, primitive: row.primitive, name: row.name, devices: row.devices, rows: [] });
    maps.get(key).rows.push(row);
  }
  return [...maps.values()];
}

/** Where the cost of a row lies by the rows of its run; null if that is not known. */
function boundsOf(row) {
  const [low, high] = intervalWithinRun(row);
  if (row.verdict === "Resolved" && row.ns > 0) return low === null || high === null ? [row.ns, row.ns] : [low, high];
  const bounded = ["Noisy", "Interfered", "BelowResolution"].includes(row.verdict) && high !== null;
  return bounded ? [low === null ? -Infinity : low, high] : null;
}

const ascending = (values) => [...new Set(values)].filter((value) => value !== null).sort((a, b) => a - b);

/** cells: [{x, y, colour, ink, text, hatched, row}], x and y are indices of columns and lines. */
function cellChart({ width, label, columns, lines, xTitle, yTitle, cells }) {
  const left = 46;
  const top = 20;
  const wide = Math.min(64, (width - left) / columns.length);
  const height = top + lines.length * CELL_HEIGHT + 36;
  const root = frame("cells", width, height, label);
  const middle = (at) => round(left + (at + 0.5) * wide);
  const axes = svg("g", { class: "axes" });
  axes.append(svg("text", { class: "axis-title", x: 0, y: 11 }, yTitle));
  lines.forEach((text, at) => {
    axes.append(svg("text", { x: left - 8, y: round(top + (at + 0.5) * CELL_HEIGHT + 4), "text-anchor": "end" }, text));
  });
  const bottom = top + lines.length * CELL_HEIGHT;
  columns.forEach((text, at) => {
    axes.append(svg("text", { x: middle(at), y: bottom + 15, "text-anchor": "middle" }, text));
  });
  axes.append(
    svg(
      "text",
      { class: "axis-title", x: round(left + columns.length * wide), y: bottom + 31, "text-anchor": "end" },
      xTitle,
    ),
  );
  root.append(axes);
  const spots = cells.map((cell) => {
    const [x, y] = [left + cell.x * wide, top + cell.y * CELL_HEIGHT];
    const size = [wide - 2, CELL_HEIGHT - 2];
    if (cell.colour) {
      const box = { x: round(x + 1), y: round(y + 1), width: round(size[0]), height: size[1], rx: 3 };
      root.append(svg("rect", { class: "cell", style: `--c: ${cell.colour}`, ...box }));
    }
    if (cell.hatched) root.append(hatch(x + 1, y + 1, ...size));
    if (cell.text && cell.text.length * 6.6 <= wide) {
      const at = { x: round(x + wide / 2), y: round(y + CELL_HEIGHT / 2 + 4), "text-anchor": "middle" };
      root.append(svg("text", { class: "cell-text", style: `--ink-c: ${cell.ink}`, ...at }, cell.text));
    }
    return { x: x + wide / 2, y: y + CELL_HEIGHT / 2, row: cell.row, series: cell.y };
  });
  addNavigation(root, spots, () => {});
  return root;
}

/** The style of a cell: coloured, with a tilde if the row is noisy, and hatched without a cost. */
function costCell(row, range, unit) {
  const cost = unit.of(row);
  const shown = cost > 0 && (row.verdict === "Resolved" || row.verdict === "Noisy");
  if (!shown) return { hatched: true };
  const share = heatShare(range, cost);
  const doubt = row.verdict === "Noisy" ? "~" : "";
  return { colour: heatColour(share), ink: heatInk(share), text: doubt + unit.text(row) };
}

const lineText = (value) => (Number.isInteger(value) ? String(value) : digits(value, 2));

function mapFigure(map, axis, range, unit, width) {
  const columns = ascending(map.rows.map((row) => row.threads));
  const lines = ascending(map.rows.map(axis.of));
  const cells = map.rows
    .filter((row) => axis.of(row) !== null)
    .map((row) => ({
      ...costCell(row, range, unit),
      x: columns.indexOf(row.threads),
      y: lines.indexOf(axis.of(row)),
      row,
    }));
  const chart = cellChart({
    width,
    label: `${map.title}: cost against ${axis.title} and threads per block`,
    columns: columns.map(String),
    lines: lines.map(lineText),
    xTitle: "threads per block",
    yTitle: axis.title,
    cells,
  });
  return el("div", { class: "map heat" }, el("h4", null, map.title), chart);
}

/** The best variant of each primitive at one size, the one with the least upper bound first. Noisy rows take part. */
function candidatesAt(maps, fits) {
  const best = new Map();
  for (const map of maps) {
    const row = map.rows.find(fits);
    const bounds = row ? boundsOf(row) : null;
    const known = best.get(map.primitive);
    if (bounds && !(known && known.bounds[1] <= bounds[1])) best.set(map.primitive, { row, bounds });
  }
  return [...best.values()].sort((a, b) => a.bounds[1] - b.bounds[1]);
}

/** The cheapest primitive at each size; ≈ where another one's interval reaches below its upper bound. */
function winnerCells(maps, axis, columns, lines) {
  const cells = [];
  lines.forEach((line, y) => {
    columns.forEach((threads, x) => {
      const candidates = candidatesAt(maps, (row) => row.threads === threads && axis.of(row) === line);
      if (candidates.length < 2) return;
      const [best, ...rivals] = candidates;
      const tied = rivals.some(({ bounds }) => bounds[0] <= best.bounds[1]);
      const next = Math.min(...rivals.map(({ row }) => row.ns));
      const doubt = [best, ...rivals].some(({ row }) => row.verdict !== "Resolved") ? "~" : "";
      const text = tied ? "≈" : `${doubt}${digits(next / best.row.ns, 3)}×`;
      const colour = tied ? "var(--faint)" : `color-mix(in oklab, ${colourOf(best.row.primitive)} 45%, var(--surface))`;
      cells.push({ x, y, colour, ink: "var(--ink)", text, row: best.row });
    });
  });
  return cells;
}

/** The map of the fastest primitives in their default forms, from the maps of one run and number of devices. */
function winnerFigure(maps, axis, width) {
  const rows = maps.flatMap((map) => map.rows);
  const columns = ascending(rows.map((row) => row.threads));
  const lines = ascending(rows.map(axis.of));
  const cells = winnerCells(maps, axis, columns, lines);
  if (cells.length === 0) return null;
  const devices = maps[0].devices;
  const title = devices === null ? "Which is cheapest" : `Which is cheapest · ${plural(devices, "device")}`;
  const chart = cellChart({
    width,
    label: `${title}, and how many times cheaper than the next`,
    columns: columns.map(String),
    lines: lines.map(lineText),
    xTitle: "threads per block",
    yTitle: axis.title,
    cells,
  });
  const names = new Map(maps.map((map) => [map.primitive, map.name]));
  const keys = [...names].map(([primitive, name]) =>
    el("span", { class: "key", style: `--c: ${colourOf(primitive)}` }, el("i", { class: "swatch" }), name),
  );
  if (cells.some(({ text }) => text === "≈")) keys.push(el("span", { class: "key" }, "≈ not distinguished"));
  return el("div", { class: "map" }, el("h4", null, title), chart, el("p", { class: "keys" }, keys));
}

function drawMaps(plot, family, rows, total) {
  const fit = Math.max(1, Math.floor((total + MAP_GAP) / (LEAST_WIDTH + MAP_GAP)));
  const width = Math.floor((total - MAP_GAP * (fit - 1)) / fit);
  const figures = [];
  for (const run of ascending(rows.map((row) => row.run))) {
    const own = rows.filter((row) => row.run === run);
    const axis = mapRows(family, own);
    const unit = heatUnit(own);
    const range = costRange(own, unit);
    const maps = mapsOf(family, own);
    if (SEVERAL)
      figures.push(
        el(
          "p",
          { class: "card-run whole-line", style: `--c: var(--s${run % COLOURS})` },
          el("i", { class: "swatch" }),
          RUNS[run].label,
        ),
      );
    const counts = maps.map((map) => map.devices);
    for (const devices of [...ascending(counts), ...(counts.includes(null) ? [null] : [])]) {
      const together = maps.filter((map) => map.devices === devices);
      figures.push(...together.map((map) => mapFigure(map, axis, range, unit, width)));
      const defaults = together.filter((map) => map.rows.every((row) => row.form === null && row.order === null));
      if (new Set(defaults.map((map) => map.name)).size > 1 && family !== "cluster") {
        figures.push(winnerFigure(defaults, axis, width));
      }
    }
    figures.push(el("div", { class: "whole-line" }, heatRamp(range, unit)));
  }
  plot.replaceChildren(...figures.filter(Boolean));
}

const MAP_FAMILIES = {
  grid: "Grid barriers by size",
  multi: "Multi-device barriers by size",
  cluster: "Clusters by size",
};

/** The card with the maps of a family; null if the rows do not fill a map. */
function heatMapCard(family, rows) {
  if (!MAP_FAMILIES[family]) return null;
  const threads = ascending(rows.map((row) => row.threads));
  const others = ascending(rows.map(family === "cluster" ? groupNumber : (row) => row.blocks));
  if (threads.length < 2 || others.length < 2) return null;
  const plot = el("div", { class: "plot maps" });
  const note = "each cell is the cost of one barrier; hatched: not measured, the tooltip shows the reason";
  const card = viewCard(MAP_FAMILIES[family], note, plot);
  return makeView(card, plot, (width) => drawMaps(plot, family, rows, width));
}
