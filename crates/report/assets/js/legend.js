// Below a chart: the legend of its lines, and the cases that are not resolved.

function legendButton(panel, content, series, chart) {
  const sample = svg(
    "svg",
    { width: 26, height: 12, "aria-hidden": "true", style: `--c: ${series.style.colour}` },
    svg("path", { class: "line", d: "M0,6H26", "stroke-dasharray": series.style.dash, "stroke-width": 2 }),
    svg("path", { class: "mark resolved", d: SHAPES[series.style.shape](13, 6, 3.6) }),
  );
  const toggle = () => {
    if (!panel.hidden.delete(series.label)) panel.hidden.add(series.label);
    panel.group.update();
    const redrawn = [...panel.parts.legend.children].find((other) => other.dataset.label === series.label);
    if (redrawn) redrawn.focus();
  };
  return el(
    "button",
    {
      type: "button",
      "data-label": series.label,
      "aria-pressed": String(!panel.hidden.has(series.label)),
      title: panel.lines === "name" ? PRIMITIVES.get(series.points[0].row.primitive)?.summary : null,
      click: toggle,
      pointerenter: () => chart.highlight(content.shown.includes(series) ? series : null),
      pointerleave: () => chart.highlight(null),
    },
    sample,
    series.label,
  );
}

function runNames(panel) {
  if (!panel.severalRuns) return [];
  return valuesOf(dimension("run"), panel.rows).map((run) =>
    el(
      "p",
      { class: "card-run", style: `--c: var(--s${run % COLOURS})` },
      el("i", { class: "swatch" }),
      RUNS[run].label,
    ),
  );
}

function drawLegend(panel, content, chart) {
  const { legend } = panel.parts;
  if (content.kind === "lines") {
    const lines = content.series.map((series) => legendButton(panel, content, series, chart));
    legend.replaceChildren(...lines, ...markKeys(content.figures));
    return;
  }
  const { rows, dots } = content;
  const note = `The chart shows ${dots.length} of ${rows.length} cases; the table below has all.`;
  legend.replaceChildren(
    ...runNames(panel),
    ...markKeys(content.figures),
    rows.length > dots.length ? el("p", { class: "fixed" }, note) : "",
  );
}

function figureKey(text, ...shapes) {
  return el(
    "span",
    { class: "key" },
    svg("svg", { width: 22, height: 14, "aria-hidden": "true", style: "--c: currentColor" }, shapes),
    text,
  );
}

const keyShape = (d, kind) => svg("path", { class: kind, d });

/** The legend of intervals and spreads, if there are spreads. `whose` follows the text of the spread. */
function spreadKeys(measure, whose) {
  if (!ROWS.some((row) => row.ns_p05 !== null)) return [];
  const anotherRun = SEVERAL || measure.forAnotherRun;
  const interval = anotherRun ? "95 % interval for another run" : "95 % interval among rows of this run";
  const spread = `5th to 95th percentile by address, order and moment${whose}`;
  return [
    figureKey(interval, keyShape("M1,7H21", "key-interval")),
    figureKey(spread, keyShape("M1,7H21", "key-spread")),
  ];
}

/** The legend of all charts, below the choice of the measure. */
const chartKeys = el("p", { class: "keys chart-keys" });

function drawChartKeys() {
  const whose = `; among more than ${MOST_SPREADS} lines, of the one under the pointer`;
  chartKeys.replaceChildren(...spreadKeys(VIEW.measure, whose));
}

/** The legend of the special marks of a chart. */
function markKeys(figures) {
  const key = (verdict, d, kind) => figureKey(verdictText(verdict), keyShape(d, `mark ${kind}`));
  return [
    figures.some((figure) => figure.overlapped) ? key("Overlapped", chevron(11, 7, 4), "overlapped") : null,
    figures.some(({ state }) => state === "nonadditive") ? key("NonAdditive", plus(11, 7, 4.4), "nonadditive") : null,
  ].filter(Boolean);
}

/** The most cases listed for one reason. */
const MOST_LISTED = 4;

/** The reasons of these verdicts differ in their numbers only. */
const ALIKE = ["BelowResolution", "Overlapped", "NonAdditive"];

const withoutNumbers = (reason) => (reason || "").replace(/\d+([.,]\d+)*/g, "#");

function reasonItem(rows) {
  const [first] = rows;
  const several = rows.some((row) => row.reason !== first.reason);
  const reason = ALIKE.includes(first.verdict) ? "" : `${first.reason || ""}${several ? ", and alike" : ""}`;
  const names = rows
    .slice(0, MOST_LISTED)
    .map((row) => [row.name, ...parameters(row)].join(" "))
    .join("; ");
  const more = rows.length > MOST_LISTED ? ` and ${rows.length - MOST_LISTED} more` : "";
  return el(
    "li",
    null,
    el("span", { class: `badge ${verdictTone(first.verdict)}` }, verdictText(first.verdict)),
    ` ${reason} `,
    el("span", { class: "fixed" }, names + more),
  );
}

/** The cases that are not resolved, with their reasons. */
function drawUnresolved(panel, { rows }) {
  const { unresolved: list } = panel.parts;
  const before = list.querySelector("details");
  const unresolved = rows.filter((row) => row.verdict !== "Resolved");
  if (unresolved.length === 0) {
    list.replaceChildren();
    return;
  }
  const groups = new Map();
  for (const row of unresolved) {
    // Reasons that differ in their numbers only are one cause.
    const key = ALIKE.includes(row.verdict) ? row.verdict : `${row.verdict} ${withoutNumbers(row.reason)}`;
    groups.set(key, [...(groups.get(key) || []), row]);
  }
  const summary = `${unresolved.length} of ${plural(rows.length, "case")} not resolved`;
  list.replaceChildren(
    el(
      "details",
      { open: Boolean(before && before.open) },
      el("summary", null, summary),
      el("ul", null, [...groups.values()].map(reasonItem)),
    ),
  );
}
