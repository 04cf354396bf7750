// The parameters by which rows differ. One that varies among the rows of a chart becomes the axis, a part of the lines, the
// charts side by side, or a choice.

import { DATA, RUNS } from "./data.js";
import { plural } from "./format.js";

const column = (id, title, text) => ({ id, title, of: (row) => row[id], text: text || String });

const SIDES = new Map(DATA.sides);

const NAMED_PLACEMENT = /^(cores|close|spread|none)$/;

const DIMENSIONS = [
  { id: "run", title: "run", of: (row) => row.run, text: (run) => RUNS[run].label },
  column("name", "primitive"),
  column("domain", "side", (domain) => SIDES.get(domain) || domain),
  column("dtype", "type"),
  column("variables", "variables"),
  column("distance", "stride in elements"),
  column("threads", "threads"),
  column("blocks", "blocks"),
  column("warps", "active warps per SM"),
  column("perUnit", "blocks per SM"),
  column("clusterSize", "blocks in the cluster"),
  column("devices", "devices"),
  column("actors", "threads in all"),
  column("grid", "blocks of the papers"),
  column("gridStride", "blocks and stride"),
  column("elements", "elements"),
  {
    ...column("placement", "placement"),
    // Placement means nothing to a single thread, so it begins the usual curve.
    of: (row) =>
      row.domain === "cpu" && row.threads === 1 && NAMED_PLACEMENT.test(row.placement || "")
        ? RUNS[row.run].usual_placement
        : row.placement,
  },
  column("scope", "scope"),
  column("space", "memory"),
  column("order", "order"),
  column("mode", "mode"),
  column("group", "group"),
];
export const dimension = (id) => DIMENSIONS.find((known) => known.id === id);

export const AXES = ["threads", "blocks", "distance", "warps", "clusterSize", "devices", "elements", "actors"];
/** The parameters that an axis already covers, because they vary only with it. */
export const COVERED = {
  distance: ["variables"],
  warps: ["threads", "blocks"],
  clusterSize: ["group"],
  elements: ["blocks"],
  actors: ["threads", "blocks", "devices"],
  grid: ["blocks"],
  gridStride: ["blocks", "variables"],
};
export const DTYPES = ["i32", "u32", "u64", "f32", "f64"];

export const valueText = (dim, value) => (value === null ? "none" : dim.text(value));

/** Whether rows differ in a dimension. */
export function varies({ of }, rows) {
  const first = rows.length > 0 && of(rows[0]);
  return rows.some((row) => of(row) !== first);
}

/** Sorts numbers within words as numbers: `tile 2` comes before `tile 16`. */
export const NATURALLY = new Intl.Collator("en", { numeric: true }).compare;

/** The sorted values of a dimension among rows, with null last. */
export function valuesOf(dim, rows) {
  const values = [...new Set(rows.map(dim.of))];
  const rank = dim.id === "dtype" ? (value) => DTYPES.indexOf(value) : (value) => value;
  const ordered = dim.id === "dtype" || values.some((value) => typeof value === "number");
  // Rows, and so their primitives, are in the order of the catalogue.
  if (dim.id === "name") return values;
  if (ordered) values.sort((a, b) => rank(a) - rank(b));
  else values.sort(NATURALLY);
  return values.filter((value) => value !== null).concat(values.includes(null) ? [null] : []);
}

/** A value with its noun: `1 block`, `device scope`. */
export function valueWords(dim, value) {
  if (["warps", "perUnit", "distance", "clusterSize", "scope", "space", "elements"].includes(dim.id))
    return `${value} ${dim.title}`;
  return ["threads", "blocks", "devices"].includes(dim.id) ? plural(value, dim.id.slice(0, -1)) : dim.text(value);
}
