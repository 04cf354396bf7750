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

/** The default value of a dimension: the most threads; otherwise the most frequent value, the first of equals. Default
    forms come before others. */
function usualValue(dim, values, rows) {
  if (dim.id === "threads") return values[values.length - 1];
  const defaults = rows.filter((row) => row.form === null);
  const counted = defaults.length > 0 ? defaults : rows;
  const count = (value) => counted.filter((row) => dim.of(row) === value).length;
  const counts = values.map(count);
  return values[counts.indexOf(Math.max(...counts))];
}

/** Selects a value for one dimension after another, each among the rows that remain. */
function chosenRows(panel) {
  const picked = panel.dims.filter((dim) => ![panel.x, panel.lines, "run"].includes(dim.id));
  let rows = panel.rows;
  const choices = [];
  for (const dim of panel.flat ? [] : picked) {
    const values = valuesOf(dim, rows);
    if (!values.includes(panel.picks.get(dim.id))) {
      panel.picks.set(dim.id, usualValue(dim, values, rows));
    }
    if (values.length > 1) choices.push({ dim, values });
    rows = rows.filter((row) => dim.of(row) === panel.picks.get(dim.id));
  }
  return { rows, choices };
}

/** The lines of a chart, each with its points from left to right. */
function seriesOf(panel, rows, x) {
  const dim = dimension(panel.lines);
  const values = valuesOf(dim, panel.rows);
  const ordered = dim.id !== "run" && values.every((value) => value === null || typeof value === "number");
  const byRun = panel.severalRuns && dim.id !== "run";
  const found = new Map();
  for (const row of rows) {
    const words = [valueText(dim, dim.of(row)), byRun ? RUNS[row.run].label : null];
    const label = words.filter(Boolean).join(" · ");
    const rank = values.indexOf(dim.of(row));
    if (!found.has(label)) {
      const style = styleOf(rank, values.length, ordered, byRun ? row.run : 0);
      found.set(label, { label, rank, run: row.run, style, points: [] });
    }
    found.get(label).points.push({ x: x.of(row), figure: figureOf(row, measureOf(panel)), row });
  }
  const series = [...found.values()].sort((a, b) => a.rank - b.rank || a.run - b.run);
  series.forEach(({ points }) => points.sort((a, b) => a.x - b.x));
  return series;
}

/** One dot per case. The dots of one case in several runs are adjacent, in the colours of the runs. */
function dotsOf(panel, rows) {
  const named = (panel.flat ? panel.dims : [dimension(panel.lines)]).filter((dim) => dim.id !== "run");
  const dots = rows.map((row) => {
    const words = named.filter((dim) => dim.of(row) !== null).map((dim) => dim.text(dim.of(row)));
    const style = styleOf(row.run, 1, false, 0);
    return { label: words.join(" · ") || row.name, style, figure: figureOf(row, measureOf(panel)), row };
  });
  const order = [...new Set(dots.map((dot) => dot.label))];
  dots.sort((a, b) => order.indexOf(a.label) - order.indexOf(b.label) || a.row.run - b.row.run);
  return dots.slice(0, MOST_DOTS);
}

/** The content of a panel for the present choices. */
function contentOf(panel) {
  const { rows, choices } = chosenRows(panel);
  const x = panel.x && dimension(panel.x);
  const xs = x ? valuesOf(x, rows).filter((value) => value !== null) : [];
  if (xs.length < 2) {
    const dots = dotsOf(panel, rows);
    return { kind: "dots", rows, choices, dots, figures: dots.map((dot) => dot.figure) };
  }
  const series = seriesOf(
    panel,
    rows.filter((row) => x.of(row) !== null),
    x,
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
