// The data of the page. Rows are objects whose fields are the columns of measurements.csv.

import { byId } from "../dom.js";
import { plural } from "./format.js";

export const DATA = JSON.parse(byId("data").textContent);
export const RUNS = DATA.runs;
export const SEVERAL = RUNS.length > 1;

/** The primitives of the rows in the order of the catalogue, with the number of the colour and the meaning. */
export const PRIMITIVES = new Map(DATA.primitives.map((primitive) => [primitive.id, primitive]));

/** The words for the forms that are not the default. */
const FORMS = new Map(DATA.forms);

/** The cells of one column in the order of the rows; an empty cell is null. */
function cellsOf(column, count) {
  if (column === null) return new Array(count).fill(null);
  if (Array.isArray(column)) return column;
  return column.at.map((index) => (index === null ? null : column.words[index]));
}

/** The number in a group such as `cluster 8`. */
export const groupNumber = (row) => {
  const found = /(\d+)$/.exec(row.group || "");
  return found ? Number(found[1]) : null;
};

/** The number of threads on all devices together. */
export const actors = (row) => (row.threads || 1) * (row.blocks || 1) * (row.devices || 1);

/** Blocks as the papers count them: `2 blocks`, or multiples of the multiprocessors. */
function gridText(blocks, units) {
  if (blocks === null) return null;
  const times = blocks / units;
  return blocks > 2 && Number.isInteger(2 * times) ? `SMs × ${times}` : plural(blocks, "block");
}

/** A row without cells. Browsers read the fields of a copied parsed object faster than fields that are added one by one. */
const NO_CELLS = JSON.parse(JSON.stringify(Object.fromEntries(DATA.columns.map((column) => [column, null]))));

function rowFrom(columns, run, index) {
  const row = { ...NO_CELLS, run, index };
  DATA.columns.forEach((column, at) => {
    row[column] = columns[at][index];
  });
  const [domain, family, ...name] = (row.primitive || "").split(".");
  row.domain = domain;
  row.family = family;
  // The form is part of the name, so that forms are lines of their own.
  const form = row.form === null ? "" : `, ${FORMS.get(row.form) || row.form}`;
  row.name = name.join(".") + form;
  row.title = row.primitive + form;
  // The files have no letter mu.
  if (row.group !== null) row.group = row.group.replace(/(\d) us\b/g, "$1\u00a0µs");
  row.variables = row.layout === "private" ? `private, stride ${row.stride}` : row.layout;
  row.ops_per_s_thread = hasFigure(row) ? 1e9 / row.ns : null;
  row.details = null;
  row.distance = row.layout === "private" ? row.stride : null;
  row.clusterSize = row.family === "cluster" ? groupNumber(row) : null;
  // A grid that fills all multiprocessors has the same number of warps on each.
  const units = domain === "gpu" && RUNS[run].run.machine.gpus[0] ? RUNS[run].run.machine.gpus[0].multiprocessors : 0;
  const fills = units > 0 && row.blocks > 0 && row.blocks % units === 0 && row.threads % 32 === 0;
  row.perUnit = fills ? row.blocks / units : null;
  row.actors = actors(row);
  row.grid = gridText(row.blocks, units);
  row.gridStride = [row.grid, row.stride && `stride ${row.stride}`].filter(Boolean).join(", ") || null;
  row.warps = fills && row.threads > 0 ? (row.perUnit * row.threads) / 32 : null;
  return row;
}

function rowsFrom(run, at) {
  const columns = run.columns.map((column) => cellsOf(column, run.count));
  const rows = Array.from({ length: run.count }, (_, index) => rowFrom(columns, at, index));
  for (const index of run.crowded) rows[index].isCrowded = true;
  for (const [index, name, actor, value] of run.details) {
    const row = rows[index];
    row.details = row.details || [];
    row.details.push({ name, actor, value });
  }
  return rows;
}

/** A detail of a row as a whole, such as a percentile; null if the row has none. */
export function detailOf(row, name) {
  const found = row.details && row.details.find((detail) => detail.name === name && detail.actor === null);
  return found ? found.value : null;
}

/** The interval for comparing a row with others of its run. */
export const intervalWithinRun = (row) => [row.within_low, row.within_high];

/** Whether the cost of a row is written as a number. */
export const hasFigure = ({ state }) => state === "resolved" || state === "rough";

/** How many digits the figures of a row have, and the ends of their intervals: two if its cost is rough. */
export const significant = ({ state }) => (state === "rough" ? 2 : 3);

/** A value of a row, with a tilde if its cost is rough. */
export const roughly = (row, value, format) => (row.state === "rough" ? "~" : "") + format(value, significant(row));

export const ROWS_OF = RUNS.map(rowsFrom);
export const ROWS = ROWS_OF.flat();

/** The row of a point, which is stored directly or as run and index. */
export const rowOfPoint = (point) => (Array.isArray(point.row) ? ROWS_OF[point.row[0]][point.row[1]] : point.row);

/** Groups rows by key, in the order in which the keys first occur. */
export function groupedBy(rows, key) {
  const groups = new Map();
  for (const row of rows) {
    const value = key(row);
    const own = groups.get(value);
    if (own) own.push(row);
    else groups.set(value, [row]);
  }
  return groups;
}

/** Where, how and in which group a row was measured. */
export const placeWords = (row) => [
  row.placement,
  row.scope && `${row.scope} scope`,
  row.space && `${row.space} memory`,
  row.order,
  row.mode,
  row.group,
];

/** The parameters of a row as words, without the primitive. */
export function parameters(row) {
  const words = [row.dtype, row.variables];
  if (row.threads !== null)
    words.push(row.blocks > 1 ? `${row.blocks}×${row.threads} threads` : plural(row.threads, "thread"));
  else if (row.blocks !== null) words.push(plural(row.blocks, "block"));
  if (row.devices !== null) words.push(plural(row.devices, "device"));
  if (row.elements !== null) words.push(`${row.elements} elements`);
  if (row.inside !== null) words.push(`${row.inside} inside`);
  if (row.outside !== null) words.push(`${row.outside} outside`);
  words.push(...placeWords(row));
  return words.filter((word) => word !== null && word !== undefined && word !== "");
}

/** The verdicts by name: the class of their colour, their words and their meaning. */
export const VERDICTS = new Map(DATA.verdicts.map((verdict) => [verdict.name, verdict]));
export const verdictTone = (name) => VERDICTS.get(name)?.tone || "void";
export const verdictText = (name) => VERDICTS.get(name)?.words || name;
