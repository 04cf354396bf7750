// The parameters by which rows differ. A parameter that varies within a panel becomes the axis, the lines or a selector.

const column = (id, title, text) => ({ id, title, of: (row) => row[id], text: text || String });

const DIMENSIONS = [
  { id: "run", title: "run", of: (row) => row.run, text: (run) => RUNS[run].label },
  column("name", "primitive"),
  column("dtype", "type"),
  column("variables", "variables"),
  column("distance", "stride in elements"),
  column("threads", "threads"),
  column("blocks", "blocks"),
  column("warps", "active warps per SM"),
  column("perUnit", "blocks per SM"),
  column("devices", "devices"),
  column("placement", "placement"),
  column("scope", "scope"),
  column("space", "memory"),
  column("order", "order"),
  column("mode", "mode"),
  column("group", "group"),
];
const dimension = (id) => DIMENSIONS.find((known) => known.id === id);

const AXES = ["distance", "threads", "warps", "blocks", "devices"];
const LINES_FIRST = [
  "perUnit",
  "run",
  "name",
  "dtype",
  "variables",
  "group",
  "placement",
  "order",
  "scope",
  "space",
  "mode",
  "blocks",
  "threads",
  "devices",
];
const DTYPES = ["i32", "u32", "u64", "f32", "f64"];

const valueText = (dim, value) => (value === null ? "none" : dim.text(value));

/** The sorted values of a dimension among rows, with null last. */
function valuesOf(dim, rows) {
  const values = [...new Set(rows.map(dim.of))];
  const rank = dim.id === "dtype" ? (value) => DTYPES.indexOf(value) : (value) => value;
  const ordered = dim.id === "dtype" || values.some((value) => typeof value === "number");
  // Rows, and so their primitives, stand in the order of the catalogue.
  if (dim.id === "name") return values;
  if (ordered) values.sort((a, b) => rank(a) - rank(b));
  // Numbers within words sort as numbers: `tile 2` comes before `tile 16`.
  else values.sort((a, b) => String(a).localeCompare(String(b), "en", { numeric: true }));
  return values.filter((value) => value !== null).concat(values.includes(null) ? [null] : []);
}

const varying = (rows) => DIMENSIONS.filter((dim) => valuesOf(dim, rows).length > 1);

/** A value that stands alone: `1 block`, `device scope`. */
function valueWords(dim, value) {
  if (["warps", "perUnit", "distance", "scope", "space"].includes(dim.id)) return `${value} ${dim.title}`;
  return AXES.includes(dim.id) ? plural(value, dim.id.slice(0, -1)) : dim.text(value);
}

/** The parameters that all rows share, as words. */
function constants(rows) {
  const skipped = ["run", "name"];
  return DIMENSIONS.filter((dim) => !skipped.includes(dim.id)).flatMap((dim) => {
    const values = valuesOf(dim, rows);
    if (values.length !== 1 || values[0] === null) return [];
    return [valueWords(dim, values[0])];
  });
}
