// Heat maps of barriers that span blocks: blocks per multiprocessor against threads per block (Zhang et al., figures 8 to 11).

import { heatRamp, heatRange } from "../chart/cells.js";
import { drawChart } from "../chart/chart.js";
import { colourOf, COLOURS } from "../chart/marks.js";
import { el } from "../dom.js";
import { shortRunName } from "../explore/content.js";
import { groupedBy, groupNumber, hasFigure, roughly, ROWS_OF, RUNS, SEVERAL } from "../model/data.js";
import { digits, NBSP, plural } from "../model/format.js";

/** What the lines of a map show: the size of the cluster, or the blocks per multiprocessor. */
function mapRows(family, rows) {
  if (family === "cluster") return { title: "blocks in the cluster", of: groupNumber };
  const gpu = RUNS[rows[0].run].run.machine.gpus[0];
  const units = gpu ? gpu.multiprocessors : 0;
  if (!units) return { title: "blocks", of: (row) => row.blocks };
  return { title: "blocks per SM", of: (row) => (row.blocks === null ? null : row.blocks / units) };
}

/** One cluster, or clusters on the whole device; null for other barriers. */
function clusters(row) {
  if (row.family !== "cluster") return null;
  return row.blocks > groupNumber(row) ? "whole device" : "one cluster";
}

/** Rows grouped into maps. The rows of one map differ in threads and in what its lines show. */
function mapsOf(family, rows) {
  const maps = new Map();
  for (const row of rows) {
    if (row.threads === null) continue;
    const group = family === "cluster" ? null : row.group;
    const words = [
      row.name,
      row.devices === null ? null : plural(row.devices, "device"),
      row.order,
      group,
      clusters(row),
    ];
    const title = words.filter(Boolean).join(`${NBSP}· `);
    const key = `${row.run} ${title}`;
    if (!maps.has(key))
      maps.set(key, { title, run: row.run, primitive: row.primitive, name: row.name, devices: row.devices, rows: [] });
    maps.get(key).rows.push(row);
  }
  return [...maps.values()];
}

const ascending = (values) => [...new Set(values)].filter((value) => value !== null).sort((a, b) => a - b);

/** The unit of the cells of a map, scaled to keep the numbers short. */
function mapUnit(rows) {
  const costs = rows.map((row) => row.ns).filter((ns) => ns > 0);
  const [divisor, name] = costs.length && Math.min(...costs) >= 300 ? [1e3, "µs"] : [1, "ns"];
  return { name, text: (ns, significant = 3) => shortNumber(ns / divisor, significant) };
}

export function shortNumber(value, significant) {
  if (value >= 99950) return `${digits(value / 1000, significant)}k`;
  return value >= 999.5 ? String(Math.round(value)) : digits(value, significant);
}

/** A cell: coloured, with a tilde if the figure is rough, or hatched if there is no figure. A small cell has room for
    `short`. */
export function costCell(row, unit) {
  if (!hasFigure(row)) return { state: "missing", text: "×", row };
  const short = roughly(row, row.ns, (ns) => unit.text(ns, 2));
  return { value: row.ns, text: row.state === "rough" ? short : unit.text(row.ns), short, row };
}

const lineText = (value) => (Number.isInteger(value) ? String(value) : digits(value, 2));

/** The chart of some maps' cells, with the same columns and lines. */
function mapSpec(title, rows, axis, cellsOf) {
  const columns = ascending(rows.map((row) => row.threads));
  const lines = ascending(rows.map(axis.of));
  return {
    kind: "cells",
    title,
    label: `${title}: cost against ${axis.title} and threads per block`,
    columns: columns.map(String),
    lines: lines.map(lineText),
    xTitle: "threads per block",
    yTitle: axis.title,
    cells: cellsOf(columns, lines),
  };
}

function costMap(map, axis, range, unit) {
  const placed = map.rows.filter((row) => axis.of(row) !== null);
  const cells = (columns, lines) =>
    placed.map((row) => ({ ...costCell(row, unit), x: columns.indexOf(row.threads), y: lines.indexOf(axis.of(row)) }));
  return { ...mapSpec(map.title, map.rows, axis, cells), range };
}

const faint = (primitive) => `color-mix(in oklab, ${colourOf(primitive)} 45%, var(--surface))`;

/** The map of the cheapest primitives in their default forms, from the maps of one run and number of devices. Its cells say
    how many times the next one costs, or ≈ if the intervals overlap. */
function winnerMap(maps, axis) {
  const { run, devices, rows } = maps[0];
  const all = RUNS[run].winners.map(({ row, times }) => ({ best: ROWS_OF[run][row], times }));
  const own = all.filter(({ best }) => best.family === rows[0].family && best.devices === devices);
  if (own.length === 0) return null;
  const cells = (columns, lines) =>
    own.map(({ best, times }) => {
      const place = { x: columns.indexOf(best.threads), y: lines.indexOf(axis.of(best)) };
      return { ...place, colour: times ? faint(best.primitive) : "var(--faint)", text: times || "≈", row: best };
    });
  const title = devices === null ? "Cheapest barrier" : `Cheapest barrier · ${plural(devices, "device")}`;
  const spec = mapSpec(
    title,
    own.map(({ best }) => best),
    axis,
    cells,
  );
  spec.label = `${title}, and the relative cost of the next one`;
  return spec;
}

/** The legend of a map of winners. */
function winnerKeys(maps, cells) {
  const names = new Map(maps.map((map) => [map.primitive, map.name]));
  const keys = [...names].map(([primitive, name]) =>
    el("span", { class: "key", style: `--c: ${faint(primitive)}` }, el("i", { class: "swatch" }), name),
  );
  keys.push(el("span", { class: "key" }, "number: cost of the second cheapest relative to the cheapest"));
  if (cells.some(({ text }) => text === "≈")) keys.push(el("span", { class: "key" }, "≈ not distinguished"));
  return el("p", { class: "keys" }, keys);
}

/** A heading with the run that the content below belongs to. */
export function runHeading(run, note = null) {
  const style = `--c: var(--s${run % COLOURS})`;
  const swatch = el("i", { class: "swatch" });
  const text = [`${shortRunName(run)}: ${RUNS[run].label}`, note].filter(Boolean).join(" · ");
  return el("p", { class: "card-run", style }, swatch, text);
}

/** Draws the maps of one run. */
function drawMaps(grid, family, own, range, unit) {
  const axis = mapRows(family, own);
  const maps = mapsOf(family, own);
  if (SEVERAL) grid.append(el("div", { class: "whole-line" }, runHeading(own[0].run)));
  const place = () => grid.appendChild(el("div", { class: "map" }));
  const counts = maps.map((map) => map.devices);
  for (const devices of [...ascending(counts), ...(counts.includes(null) ? [null] : [])]) {
    const together = maps.filter((map) => map.devices === devices);
    together.forEach((map) => drawChart(place(), costMap(map, axis, range, unit)));
    const defaults = together.filter((map) => map.rows.every((row) => row.form === null && row.order === null));
    const winners = defaults.length ? winnerMap(defaults, axis) : null;
    if (winners) {
      const host = place();
      drawChart(host, winners);
      host.append(winnerKeys(defaults, winners.cells));
    }
  }
}

const MAP_FAMILIES = {
  grid: "Grid barriers by size",
  multi: "Multi-device barriers by size",
  cluster: "Clusters by size",
};

/** The card with the maps of a family; null if the rows do not fill a map. */
export function heatMapCard(family, all) {
  if (!MAP_FAMILIES[family]) return null;
  // The atomic operations of clusters are not barriers.
  const rows = all.filter((row) => row.dtype === null);
  const threads = ascending(rows.map((row) => row.threads));
  const others = ascending(rows.map(family === "cluster" ? groupNumber : (row) => row.blocks));
  if (threads.length < 2 || others.length < 2) return null;
  const grid = el("div", { class: "maps" });
  const unit = mapUnit(rows);
  const note = `Each cell shows the cost of one barrier in ${unit.name}. Hatched cells have no figure; their tooltips say why.`;
  const card = el(
    "article",
    { class: "panel wide", id: `sizes-${family}` },
    el("header", null, el("h3", null, MAP_FAMILIES[family]), el("p", { class: "note" }, note)),
    grid,
  );
  // Maps of several runs have one scale of colours.
  const range = heatRange(rows.filter(hasFigure).map((row) => row.ns));
  for (const own of groupedBy(rows, (row) => row.run).values()) drawMaps(grid, family, own, range, unit);
  const text = (ns) => `${unit.text(ns)}${NBSP}${unit.name}`;
  grid.append(el("div", { class: "whole-line" }, heatRamp(range, text)));
  return card;
}
