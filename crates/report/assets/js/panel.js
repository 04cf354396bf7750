// Panels: the reader's choices, and the cases and figures that follow from them.

/** The most cases in a chart with one line per case. */
const MOST_DOTS = 40;

/** options: {title, note, rows, measure}; `measure` replaces the measure that the reader chose. */
function makePanel({ title, note, rows, measure }) {
  const dims = varying(rows);
  const axes = dims.filter((dim) => AXES.includes(dim.id));
  const parts = {
    controls: el("div", { class: "controls" }),
    plot: el("div", { class: "plot" }),
    legend: el("div", { class: "legend", role: "group", "aria-label": "Lines; press to hide or show" }),
    unresolved: el("div", { class: "unresolved" }),
  };
  const heading = el("header", null, el("h3", null, title), note ? el("p", { class: "note" }, note) : null);
  const panel = {
    title,
    rows,
    measure: measure || null,
    dims,
    axes,
    parts,
    root: el("article", { class: "panel" }, heading, Object.values(parts)),
    severalRuns: dims.some((dim) => dim.id === "run"),
    // Without an axis and with few cases, each case is a line of its own, and there is nothing to choose.
    flat: axes.length === 0 && rows.length <= MOST_DOTS,
    x: axes.length ? axes[0].id : null,
    lines: null,
    picks: new Map(),
    hidden: new Set(),
    group: null,
  };
  panel.lines = usualLines(panel);
  return panel;
}

const measureOf = (panel) => panel.measure || VIEW.measure;

/** The dimensions that can become lines. */
const lineDimensions = (panel) => panel.dims.filter((dim) => dim.id !== panel.x);

function usualLines(panel) {
  const possible = lineDimensions(panel);
  const usual = LINES_FIRST.map((id) => possible.find((dim) => dim.id === id)).find(Boolean);
  return usual ? usual.id : "name";
}

/** The usual values of the parameters, the most usual one first; "" stands for none. Other values follow. */
const USUAL = {
  dtype: ["i32", "u32", "u64"],
  variables: ["shared"],
  mode: ["throughput"],
  space: ["global"],
  scope: ["device"],
  placement: ["close"],
  group: ["", "converged", `5${NBSP}µs`],
  order: ["", "relaxed"],
};

/** Whether a row says something about its cost. A chart of cases that do not exist is empty. */
const hasFigure = (row) => !["Skipped", "Elided", "TimedOut", "Failed"].includes(row.verdict);

/** The default value of a dimension among rows: the most threads, the usual value, or else the most frequent one. Cases
    without a figure and forms that are not the default count only if there are no others. */
function usualValue(dim, rows) {
  const first = (wanted) => (candidates) => (candidates.some(wanted) ? candidates.filter(wanted) : candidates);
  const counted = first((row) => row.form === null)(first(hasFigure)(rows));
  const values = valuesOf(dim, counted);
  if (dim.id === "threads") return values.filter((value) => value !== null).pop() ?? null;
  const usual = (USUAL[dim.id] || []).map((value) => value || null).find((value) => values.includes(value));
  if (usual !== undefined) return usual;
  const counts = values.map((value) => counted.filter((row) => dim.of(row) === value).length);
  return values[counts.indexOf(Math.max(...counts))];
}

/** The rows with the chosen value. A line without a row of this value keeps its own usual one: a choice such as `shared`
    hides no primitive that has no such parameter. */
function rowsWithValue(panel, dim, rows) {
  const wanted = panel.picks.get(dim.id);
  const line = dimension(panel.lines);
  const values = new Map();
  for (const [value, own] of groupedBy(rows, line.of)) {
    const known = own.some(hasFigure) ? own.filter(hasFigure) : own;
    values.set(value, known.some((row) => dim.of(row) === wanted) ? wanted : usualValue(dim, own));
  }
  return rows.filter((row) => dim.of(row) === values.get(line.of(row)));
}

function groupedBy(rows, key) {
  const groups = new Map();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) || []), row]);
  return groups;
}

/** The most lines of a chart in which the variants of primitives are lines of their own. */
const MOST_VARIANTS = 14;

/** The parameters that can be a part of a line. */
const VARIANTS = ["devices", "group", "order", "scope", "mode"];

/** The values of a row in these dimensions, as one key. */
const keyOf = (row, dims) => JSON.stringify(dims.map((dim) => dim.of(row)));

/** Selects a value for one dimension after another, each among the rows that remain. Where the lines are primitives, the
    parameters that tell variants apart become parts of the lines, as long as the lines are few. */
function chosenRows(panel) {
  const picked = panel.dims.filter((dim) => ![panel.x, panel.lines, "run"].includes(dim.id));
  const last = picked.filter((dim) => VARIANTS.includes(dim.id));
  last.sort((a, b) => VARIANTS.indexOf(a.id) - VARIANTS.indexOf(b.id));
  let rows = panel.rows;
  const choices = [];
  const identity = [dimension(panel.lines)];
  for (const dim of panel.flat ? [] : [...picked.filter((dim) => !last.includes(dim)), ...last]) {
    const values = valuesOf(dim, rows);
    const lines = new Set(rows.filter(hasFigure).map((row) => keyOf(row, [...identity, dim])));
    const splits = panel.lines === "name" && last.includes(dim) && !panel.picks.has(dim.id);
    if (splits && lines.size <= MOST_VARIANTS) {
      if (values.length > 1) identity.push(dim);
      continue;
    }
    if (!values.includes(panel.picks.get(dim.id))) panel.picks.set(dim.id, usualValue(dim, rows));
    if (values.length > 1) choices.push({ dim, values });
    rows = rowsWithValue(panel, dim, rows);
  }
  return { rows, choices, identity };
}

/** The label of each line: its value, and the parameters by which it differs from other lines of the same value. */
function lineLabels(panel, rows, identity) {
  const [line, ...others] = identity;
  const labels = new Map();
  for (const [value, own] of groupedBy(rows, line.of)) {
    // A value that differs from the chosen one must be said, too.
    const differs = (dim) => panel.picks.has(dim.id) && own.some((row) => dim.of(row) !== panel.picks.get(dim.id));
    const chosen = panel.dims.filter((dim) => dim !== line && dim.id !== panel.x && differs(dim));
    // The group names what a primitive is made of, such as the size of a tile or the runtime.
    const varying = others.filter((dim) => dim.id === "group" || valuesOf(dim, own).length > 1);
    const told = [...new Set([...varying, ...chosen])];
    for (const row of own) {
      const words = told.filter((dim) => dim.of(row) !== null).map((dim) => valueWords(dim, dim.of(row)));
      labels.set(row, [value === null ? "none" : valueWords(line, value), ...words].join(" · "));
    }
  }
  return labels;
}

/** The lines of a chart, each with its points from left to right. */
function seriesOf(panel, rows, x, identity) {
  const dim = dimension(panel.lines);
  const values = valuesOf(dim, panel.rows);
  const ordered = dim.id !== "run" && values.every((value) => value === null || typeof value === "number");
  const byRun = panel.severalRuns && dim.id !== "run";
  const labels = lineLabels(panel, rows, identity);
  const found = new Map();
  const variants = new Map();
  for (const row of rows) {
    const label = [labels.get(row), byRun ? RUNS[row.run].label : null].filter(Boolean).join(" · ");
    const rank = values.indexOf(dim.of(row));
    if (!found.has(label)) {
      const variant = byRun ? 0 : variants.get(row.primitive) || 0;
      variants.set(row.primitive, variant + 1);
      const style =
        dim.id === "name"
          ? primitiveStyle(row.primitive, variant, byRun ? row.run : 0)
          : styleOf(rank, values.length, ordered, byRun ? row.run : 0);
      found.set(label, { label, rank, run: row.run, style, points: [] });
    }
    found.get(label).points.push({ x: x.of(row), figure: figureOf(row, measureOf(panel)), row });
  }
  const series = [...found.values()].sort((a, b) => a.rank - b.rank || a.run - b.run);
  series.forEach(({ points }) => points.sort((a, b) => a.x - b.x));
  return series;
}

/** One dot per case. The dots of one case in several runs are adjacent, in the colours of the runs. */
function dotsOf(panel, rows, identity) {
  const named = panel.dims.filter((dim) => dim.id !== "run");
  const labels = panel.flat ? null : lineLabels(panel, rows, identity);
  const shown = rows.some(hasFigure) ? rows.filter((row) => row.verdict !== "Skipped") : rows;
  const dots = shown.map((row) => {
    const words = panel.flat
      ? named
          .filter((dim) => dim.of(row) !== null)
          .map((dim) => valueWords(dim, dim.of(row)))
          .join(" · ")
      : labels.get(row);
    const style = panel.severalRuns ? styleOf(row.run, 1, false, 0) : primitiveStyle(row.primitive, 0, 0);
    return { label: words || row.name, style, figure: figureOf(row, measureOf(panel)), row };
  });
  const order = [...new Set(dots.map((dot) => dot.label))];
  dots.sort((a, b) => order.indexOf(a.label) - order.indexOf(b.label) || a.row.run - b.row.run);
  return dots.slice(0, MOST_DOTS);
}

/** The content of a panel for the present choices. */
function contentOf(panel) {
  const { rows, choices, identity } = chosenRows(panel);
  const x = panel.x && dimension(panel.x);
  const xs = x ? valuesOf(x, rows).filter((value) => value !== null) : [];
  if (xs.length < 2) {
    const dots = dotsOf(panel, rows, identity);
    return { kind: "dots", rows, choices, dots, figures: dots.map((dot) => dot.figure) };
  }
  const series = seriesOf(
    panel,
    rows.filter((row) => x.of(row) !== null),
    x,
    identity,
  );
  const shown = series.filter(({ label }) => !panel.hidden.has(label));
  const figures = shown.flatMap(({ points }) => points.map((point) => point.figure));
  return { kind: "lines", rows, choices, xs, series, shown, figures };
}

const xTitle = (axis, domain) => (axis === "threads" && domain === "gpu" ? "threads per block" : dimension(axis).title);

/** Draws the content of a panel. `domain` is the range of the vertical axis; for dots, of the horizontal axis. */
function drawPanel(panel, content, domain) {
  const { plot } = panel.parts;
  const width = Math.round(plot.clientWidth) || 560;
  const measure = measureOf(panel);
  const { axis } = measure;
  const common = { width, measure, log: VIEW.log && !measure.domain, logX: VIEW.log, domain: measure.domain || domain };
  const chart =
    content.kind === "lines"
      ? lineChart({
          ...common,
          label: `${panel.title}: ${axis} against ${panel.x}`,
          xs: content.xs,
          xTitle: xTitle(panel.x, panel.rows[0].domain),
          series: content.shown,
        })
      : dotChart({ ...common, label: `${panel.title}: ${axis}`, dots: content.dots });
  panel.width = width;
  plot.replaceChildren(chart.root);
  drawLegend(panel, content, chart);
  if (!panel.measure) drawUnresolved(panel, content);
}
