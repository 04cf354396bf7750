// Turns the rows that the reader chose into the lines of a chart. A line is a primitive in a form, with whatever else
// distinguishes it from others.

import { MOST_LABELS } from "../chart/lines.js";
import { COLOURS } from "../chart/marks.js";
import { DATA, groupedBy, parameters, ROWS, RUNS, SEVERAL } from "../model/data.js";
import { AXES, COVERED, dimension, valuesOf, valueWords, varies } from "../model/dimensions.js";
import { measureNamed } from "../model/measures.js";
import { search } from "../model/search.js";

/** The parameters that the reader can choose by name, in the order in which they are decided. Those that distinguish
    primitives come last; they are parts of the lines as long as there are few lines. */
const CHOICES = ["dtype", "variables", "elements", "blocks", "threads", "placement", "space"];
const VARIANTS = ["devices", "perUnit", "group", "order", "scope", "mode"];
export const PICKABLE = [...CHOICES, ...VARIANTS];
/** The parameters that can separate charts side by side. "none" is one chart, "" leaves it to the explorer. */
export const FACETS = [
  "domain",
  "name",
  "dtype",
  "variables",
  "placement",
  "scope",
  "space",
  "order",
  "mode",
  "devices",
  "blocks",
  "grid",
  "gridStride",
  "run",
];

/** The most lines that a variant, and any other parameter, may make. */
const MOST_VARIANTS = 14;
const MOST_CHOICES = 6;
/** The same for rows of dots, for which there is more room than for lines. */
const MOST_ROWS = 16;
/** The most lines or rows of a chart. */
export const MOST_LINES = 36;
export const MOST_DOTS = 40;

/** Whether a row says something about its cost. A chart of cases that do not exist is empty. */
export const saysSomething = ({ state }) => state !== "missing";

/** The default value of a dimension among rows: the most threads with a CPU each, the usual value, or else the most frequent
    one. Cases without a figure and non-default forms count only if there are no others. */
function usualValue(dim, rows) {
  const first = (wanted) => (candidates) => (candidates.some(wanted) ? candidates.filter(wanted) : candidates);
  const counted = first((row) => row.form === null)(first(saysSomething)(rows));
  const values = valuesOf(dim, counted);
  if (dim.id === "threads") {
    const threads = valuesOf(dim, first((row) => !row.isCrowded)(counted));
    return threads.filter((value) => value !== null).pop() ?? null;
  }
  const usual = (DATA.usual[dim.id] || []).map((value) => value || null).find((value) => values.includes(value));
  if (usual !== undefined) return usual;
  const counts = groupedBy(counted, dim.of);
  return values.reduce((best, value) => (counts.get(value).length > counts.get(best).length ? value : best), values[0]);
}

/** The rows with the chosen value. A line of a run without this value keeps its own usual one: a choice such as `shared`
    hides no primitive without that parameter, and `close` no run without bound threads. */
function rowsWithValue(dim, wanted, rows) {
  const key = SEVERAL ? (row) => `${row.run} ${lineName(row)}` : lineName;
  return [...groupedBy(rows, key).values()].flatMap((own) => {
    const known = own.some(saysSomething) ? own.filter(saysSomething) : own;
    const value = known.some((row) => dim.of(row) === wanted) ? wanted : usualValue(dim, own);
    return own.filter((row) => dim.of(row) === value);
  });
}

/** The values of a row in these dimensions, as one key. */
const keyOf = (row, dims) => dims.map((dim) => dim.of(row)).join("\u0001");

/** The name of a row's line: the primitive and its form. */
const lineName = (row) => row.title;

/** All rows, except that rows that differ only in their list of CPUs are represented by the median one. The matrix shows all
    of them. */
function withoutRepeatedLists(rows) {
  const isList = (row) => /^[\d,]+$/.test(row.placement || "");
  if (rows.filter(isList).length < 3) return rows;
  const key = (row) =>
    isList(row)
      ? [row.run, row.title, ...parameters(row).filter((word) => word !== row.placement)].join("|")
      : `${row.run}:${row.index}`;
  return [...groupedBy(rows, key).values()].map((alike) => {
    const sorted = alike.sort((a, b) => (a.ns === null) - (b.ns === null) || a.ns - b.ns);
    return sorted[Math.floor((sorted.length - 1) / 2)];
  });
}

/** The axes that these rows have: parameters with at least two numbers. */
const axesOf = (rows) =>
  AXES.filter((id) => {
    const { of } = dimension(id);
    return varies(
      { of },
      rows.filter((row) => saysSomething(row) && of(row) !== null),
    );
  });

/** The axis if none was chosen: for reductions of vectors, their size. */
const usualAxis = (rows, axes) =>
  axes.includes("elements") && rows.every((row) => row.elements !== null) ? "elements" : axes[0] || null;

/** The value that the address names, if it is one of these. */
const valueNamed = (dim, text, values) => values.find((value) => String(value ?? "") === text);

/** Whether the rows with something to say make at most this many lines. */
function areFew(rows, dims, most) {
  const lines = new Set();
  return rows.every(
    (row) => !saysSomething(row) || lines.add(`${lineName(row)}\u0001${keyOf(row, dims)}`).size <= most,
  );
}

/** Decides what each varying parameter becomes: a part of the lines, or one value. */
function decide(state, rows, x) {
  const covered = x ? [x, ...(COVERED[x] || [])] : [];
  const taken = [...covered, state.facet, ...(COVERED[state.facet] || []), "run", "name"];
  const dims = PICKABLE.filter((id) => !taken.includes(id) && (id !== "perUnit" || x === "warps")).map(dimension);
  const choices = [];
  const identity = [];
  let remaining = rows;
  for (const dim of dims) {
    if (!varies(dim, remaining)) continue;
    const values = valuesOf(dim, remaining);
    const most = !x ? MOST_ROWS : VARIANTS.includes(dim.id) ? MOST_VARIANTS : MOST_CHOICES;
    const wanted = state.picks[dim.id];
    const named = wanted === undefined || wanted === "*" ? undefined : valueNamed(dim, wanted, values);
    const splits = wanted === "*" || (named === undefined && areFew(remaining, [...identity, dim], most));
    const value = splits ? "*" : named !== undefined ? named : usualValue(dim, remaining);
    choices.push({ dim, values, value });
    if (splits) identity.push(dim);
    else remaining = rowsWithValue(dim, value, remaining);
  }
  return { rows: remaining, choices, identity };
}

/** The label of each line: its name, and the parameters by which it differs from other lines of the same name. */
function lineLabels(rows, { identity, choices }) {
  const families = new Set(rows.map((row) => `${row.domain}.${row.family}`)).size;
  const labels = new Map();
  for (const own of groupedBy(rows, lineName).values()) {
    // A value that differs from the chosen one must be named, too.
    const differs = choices
      .filter(({ value }) => value !== "*")
      .filter(({ dim, value }) => own.some((row) => dim.of(row) !== value));
    // The group names a property of the primitive, such as the size of a tile or the runtime.
    const varying = identity.filter((dim) => dim.id === "group" || valuesOf(dim, own).length > 1);
    const told = [...new Set([...varying, ...differs.map(({ dim }) => dim)])];
    for (const row of own) {
      const words = told.filter((dim) => dim.of(row) !== null).map((dim) => valueWords(dim, dim.of(row)));
      labels.set(row, [families > 1 ? row.title : row.name, ...words].join(" · "));
    }
  }
  return labels;
}

/** The short name of a run, which a legend explains. Two runs are called as in the table of what changed. */
export const shortRunName = (run) => (RUNS.length === 2 ? "AB"[run] : `run ${run + 1}`);

/** The lines of a chart, each with its rows. Variants of a primitive share its colour, and runs differ by dash and shape. If
    all lines are of one primitive, each has its own colour. */
function linesOf(rows, decided) {
  const labels = lineLabels(rows, decided);
  const severalRuns = new Set(rows.map((row) => row.run)).size > 1;
  const found = new Map();
  const variants = new Map();
  for (const row of rows) {
    const label = labels.get(row);
    const key = `${label}\u0001${row.run}`;
    if (!found.has(key)) {
      const kind = `${row.primitive} ${row.run}`;
      const variant = variants.get(kind) || 0;
      variants.set(kind, variant + 1);
      const name = severalRuns ? `${label} · ${shortRunName(row.run)}` : label;
      found.set(key, { label: name, name: label, run: row.run, primitive: row.primitive, variant, rows: [] });
    }
    found.get(key).rows.push(row);
  }
  // The lines of one name in several runs are adjacent.
  const order = [...new Set([...found.values()].map(({ name }) => name))];
  const rank = new Map(order.map((name, at) => [name, at]));
  if (new Set(rows.map((row) => row.primitive)).size === 1 && order.length > 1) {
    for (const line of found.values())
      Object.assign(line, {
        colour: `var(--s${rank.get(line.name) % COLOURS})`,
        variant: Math.floor(rank.get(line.name) / COLOURS),
      });
  }
  return [...found.values()].sort((a, b) => rank.get(a.name) - rank.get(b.name) || a.run - b.run);
}

let lastQuery = { q: null, rows: [], note: null };

/** The rows of a filter, kept while the filter stays the same. */
function queriedRows(q) {
  if (lastQuery.q !== q) lastQuery = { q, ...search(q, ROWS) };
  return lastQuery;
}

/** The parameter that separates charts side by side: as chosen, or the run if one chart would have too many lines. */
function facetOf(state, decided, x) {
  if (FACETS.includes(state.facet) && state.facet !== x) return dimension(state.facet);
  const several = new Set(decided.rows.map((row) => row.run)).size > 1;
  return state.facet === "" && x && several && linesOf(decided.rows, decided).length > MOST_LABELS
    ? dimension("run")
    : null;
}

/** Whether a row fits its machine; imported rows beyond the CPUs appear only in the table. */
const fitsMachine = (row) => !RUNS[row.run].is_imported || !row.isCrowded;

/** Everything that the explorer shows for a state. */
export function contentOf(state) {
  const measure = measureNamed(state.y);
  const { rows: found, note } = queriedRows(state.q);
  const all = withoutRepeatedLists(
    found.filter((row) => fitsMachine(row) && (!measure.applies || measure.applies(row))),
  );
  const axes = axesOf(all);
  const x = axes.includes(state.x) ? state.x : usualAxis(all, axes);
  const placed = x ? all.filter((row) => dimension(x).of(row) !== null) : all;
  const decided = decide(state, placed, x);
  const facet = facetOf(state, decided, x);
  const values = facet ? valuesOf(facet, decided.rows) : [null];
  const facets = values.map((value) => {
    const rows = facet ? decided.rows.filter((row) => facet.of(row) === value) : decided.rows;
    const lines = linesOf(rows, decided);
    return { value, lines };
  });
  const varying = FACETS.map(dimension).filter((dim) => dim.id !== x && varies(dim, placed));
  return { ...decided, found, note, all, x, axes, facet, facets, facetDims: varying, measure };
}
