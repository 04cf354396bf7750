// A chart with its selectors, legend and the list of what has no figure. Panels in a group share their y axis.

const MOST_DOTS = 40;

/** options: {title, note, rows, picks: {dimension id: value to begin with}} */
function makePanel(options) {
  const { rows } = options;
  const dims = varying(rows);
  const severalRuns = dims.some((dim) => dim.id === "run");
  const axes = dims.filter((dim) => AXES.includes(dim.id));
  const state = { x: null, series: null, picks: new Map(Object.entries(options.picks || {})), hidden: new Set() };
  const controls = el("div", { class: "controls" });
  const plot = el("div", { class: "plot" });
  const legend = el("div", { class: "legend", role: "group", "aria-label": "Lines; press to hide or show" });
  const rest = el("div", { class: "unresolved" });
  const root = el("article", { class: "panel" },
    el("header", null, el("h3", null, options.title), options.note ? el("p", { class: "note" }, options.note) : null),
    controls, plot, legend, rest);
  const panel = { root, plot, group: null };

  state.x = axes.length ? axes[0].id : null;
  // Without an axis, and with few cases, every case is a line of its own and nothing needs to be chosen.
  const flat = !state.x && rows.length <= MOST_DOTS;
  const lineDims = () => dims.filter((dim) => dim.id !== state.x);
  const firstLine = () => (LINES_FIRST.map((id) => lineDims().find((dim) => dim.id === id)).find(Boolean) || dimension("name")).id;
  state.series = firstLine();

  const isPicked = (dim) => !flat && dim.id !== state.x && dim.id !== state.series && dim.id !== "run";

  /** Picks one value after the other, each among the rows that the ones before left. */
  function choose() {
    let left = rows;
    const choices = [];
    for (const dim of dims.filter(isPicked)) {
      const values = valuesOf(dim, left);
      if (!values.includes(state.picks.get(dim.id))) state.picks.set(dim.id, dim.id === "threads" ? values[values.length - 1] : values[0]);
      if (values.length > 1) choices.push({ dim, values });
      left = left.filter((row) => dim.of(row) === state.picks.get(dim.id));
    }
    return { left, choices };
  }

  function select(label, key, values, current, change) {
    const options = values.map(([value, text]) => el("option", { value, selected: value === current }, text));
    return el("label", { class: "choice" }, el("span", null, label), el("select", { "data-key": key, change: (event) => { change(event.target.selectedIndex); update(); } }, options));
  }

  function drawControls(choices) {
    const focused = document.activeElement && controls.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const parts = [];
    if (!flat && axes.length > 1) {
      parts.push(select("across", "x", axes.map((dim) => [dim.id, dim.title]), state.x, (at) => {
        state.x = axes[at].id;
        if (state.series === state.x) state.series = firstLine();
      }));
    }
    const lines = lineDims();
    if (!flat && lines.length > 1) {
      parts.push(select("lines", "lines", lines.map((dim) => [dim.id, dim.title]), state.series, (at) => { state.series = lines[at].id; state.hidden.clear(); }));
    }
    for (const { dim, values } of choices) {
      const texts = values.map((value) => [String(value), valueText(dim, value)]);
      parts.push(select(dim.title, dim.id, texts, String(state.picks.get(dim.id)), (at) => state.picks.set(dim.id, values[at])));
    }
    const fixed = constants(rows);
    controls.replaceChildren(...parts, fixed.length ? el("p", { class: "fixed" }, fixed.join(" · ")) : "");
    const again = focused && controls.querySelector(`[data-key="${focused}"]`);
    if (again) again.focus();
  }

  function seriesOf(left) {
    const dim = dimension(state.series);
    const all = valuesOf(dim, rows);
    const ordered = dim.id !== "run" && all.every((value) => value === null || typeof value === "number");
    const byRun = severalRuns && dim.id !== "run";
    const found = new Map();
    for (const row of left) {
      const value = dim.of(row);
      const label = byRun ? `${valueText(dim, value)} · ${RUNS[row.run].label}` : valueText(dim, value);
      if (!found.has(label)) {
        const rank = all.indexOf(value);
        found.set(label, { label, rank, run: row.run, style: styleOf(rank, all.length, ordered, byRun ? row.run : 0), rows: [] });
      }
      found.get(label).rows.push(row);
    }
    return [...found.values()].sort((a, b) => a.rank - b.rank || a.run - b.run);
  }

  /** Decides what is shown; drawing follows when the panel is seen. */
  panel.prepare = () => {
    const { left, choices } = choose();
    drawControls(choices);
    const x = state.x && dimension(state.x);
    const xs = x ? valuesOf(x, left).filter((value) => value !== null) : [];
    panel.lines = xs.length > 1;
    panel.xs = xs;
    panel.left = left;
    if (panel.lines) {
      panel.series = seriesOf(left.filter((row) => x.of(row) !== null));
      for (const series of panel.series) {
        series.points = series.rows.map((row) => ({ x: x.of(row), figure: figureOf(row, VIEW.measure), row })).sort((a, b) => a.x - b.x);
      }
      panel.shown = panel.series.filter((series) => !state.hidden.has(series.label));
      panel.figures = panel.shown.flatMap((series) => series.points.map((point) => point.figure));
    } else {
      panel.dots = dotsOf(left);
      panel.figures = panel.dots.map((dot) => dot.figure);
    }
  };

  /** One dot per case; the same case of several runs stands together, in the colours of the runs. */
  function dotsOf(left) {
    const named = (flat ? dims : [dimension(state.series)]).filter((dim) => dim.id !== "run");
    const dots = left.map((row) => {
      const words = named.filter((dim) => dim.of(row) !== null).map((dim) => dim.text(dim.of(row)));
      return { label: words.join(" · ") || row.name, style: styleOf(row.run, 1, false, 0), figure: figureOf(row, VIEW.measure), row, measure: VIEW.measure };
    });
    const order = [...new Set(dots.map((dot) => dot.label))];
    return dots.sort((a, b) => order.indexOf(a.label) - order.indexOf(b.label) || a.row.run - b.row.run).slice(0, MOST_DOTS);
  }

  function drawLegend(chart) {
    if (!panel.lines) {
      const unseen = panel.left.length - panel.dots.length;
      const names = severalRuns ? valuesOf(dimension("run"), rows).map((run) => el("p", { class: "card-run", style: `--c: ${styleOf(run, 1, false, 0).colour}` }, el("i", { class: "swatch" }), RUNS[run].label)) : [];
      legend.replaceChildren(...names, unseen > 0 ? el("p", { class: "fixed" }, `${panel.dots.length} of ${panel.left.length} cases are drawn; the table below has all.`) : "");
      return;
    }
    legend.replaceChildren(...panel.series.map((series) => {
      const sample = svg("svg", { width: 26, height: 12, "aria-hidden": "true", style: `--c: ${series.style.colour}` },
        svg("path", { class: "line", d: "M0,6H26", "stroke-dasharray": series.style.dash }),
        svg("path", { class: "mark resolved", d: SHAPES[series.style.shape](13, 6, 3.6) }));
      const lit = (on) => () => chart.highlight(on && panel.shown.includes(series) ? series : null);
      const toggle = () => {
        if (!state.hidden.delete(series.label)) state.hidden.add(series.label);
        update();
        const button = [...legend.children].find((other) => other.dataset.label === series.label);
        if (button) button.focus();
      };
      return el("button", { type: "button", "data-label": series.label, "aria-pressed": String(!state.hidden.has(series.label)), click: toggle, pointerenter: lit(true), pointerleave: lit(false) }, sample, series.label);
    }));
  }

  /** What has no resolved figure, with its reason: nothing is dropped without a word. */
  function drawRest() {
    const open = rest.querySelector("details");
    const groups = new Map();
    const unresolved = panel.left.filter((row) => row.verdict !== "Resolved");
    for (const row of unresolved) {
      const key = `${row.verdict}\u0000${row.verdict === "BelowResolution" ? "" : row.reason || ""}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(row);
    }
    if (unresolved.length === 0) { rest.replaceChildren(); return; }
    const items = [...groups.values()].map((same) => el("li", null,
      el("span", { class: `badge ${verdictTone(same[0].verdict)}` }, verdictText(same[0].verdict)),
      el("span", null, ` ${same[0].verdict === "BelowResolution" ? "" : same[0].reason || ""} `),
      el("span", { class: "fixed" }, same.slice(0, 4).map((row) => [row.name, ...parameters(row)].join(" ")).join("; ") + (same.length > 4 ? ` and ${same.length - 4} more` : ""))));
    rest.replaceChildren(el("details", { open: Boolean(open && open.open) },
      el("summary", null, `${unresolved.length} of ${plural(panel.left.length, "case")} not resolved`), el("ul", null, items)));
  }

  panel.draw = (domain) => {
    const width = Math.round(plot.clientWidth) || 560;
    const label = `${options.title}: ${VIEW.measure.axis}${panel.lines ? ` against ${state.x}` : ""}`;
    const shared = { width, label, measure: VIEW.measure, log: VIEW.log, domain };
    const chart = panel.lines
      ? lineChart({ ...shared, xs: panel.xs, xTitle: xTitle(state.x, rows[0].domain), series: panel.shown })
      : dotChart({ ...shared, dots: panel.dots });
    panel.width = width;
    plot.replaceChildren(chart.root);
    drawLegend(chart);
    drawRest();
  };

  function update() { panel.group.update(); }
  return panel;
}

const xTitle = (axis, domain) => (axis === "threads" ? (domain === "gpu" ? "threads per block" : "threads") : axis);

// Charts are drawn when they come into view, and again when what they show or their width changed.

const GROUPS = [];
const seen = "IntersectionObserver" in window
  ? new IntersectionObserver((entries) => entries.forEach((entry) => {
    const group = GROUPS.find((known) => known.root === entry.target);
    group.visible = entry.isIntersecting;
    if (group.visible) group.refresh();
  }), { rootMargin: "300px" })
  : null;
const resized = "ResizeObserver" in window
  ? new ResizeObserver((entries) => entries.forEach((entry) => {
    const group = GROUPS.find((known) => known.root === entry.target);
    if (group.panels.some((panel) => panel.width && panel.plot.clientWidth && panel.width !== Math.round(panel.plot.clientWidth))) group.update();
  }))
  : null;

function makeGroup(panels, className) {
  const group = { panels, root: el("div", { class: className }, panels.map((panel) => panel.root)), visible: !seen, stale: true };
  group.refresh = () => {
    if (!group.stale) return;
    group.stale = false;
    panels.forEach((panel) => panel.prepare());
    const domain = domainOf(extent(panels.flatMap((panel) => panel.figures)), VIEW.log);
    panels.forEach((panel) => panel.draw(domain));
  };
  group.update = () => {
    group.stale = true;
    if (group.visible) group.refresh();
  };
  panels.forEach((panel) => { panel.group = group; });
  GROUPS.push(group);
  if (seen) seen.observe(group.root);
  if (resized) resized.observe(group.root);
  return group.root;
}

function drawEverything() {
  GROUPS.forEach((group) => { group.visible = true; group.refresh(); });
}
