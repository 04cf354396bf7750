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
    legend.replaceChildren(...content.series.map((series) => legendButton(panel, content, series, chart)));
    return;
  }
  const { rows, dots } = content;
  const note = `The chart shows ${dots.length} of ${rows.length} cases; the table below has all.`;
  legend.replaceChildren(...runNames(panel), rows.length > dots.length ? el("p", { class: "fixed" }, note) : "");
}

/** The most cases listed for one reason. */
const MOST_LISTED = 4;

function reasonItem(rows) {
  const [first] = rows;
  const reason = first.verdict === "BelowResolution" ? "" : first.reason || "";
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
    // The reasons of bounds differ in a number only, so all bounds are one group.
    const key = row.verdict === "BelowResolution" ? row.verdict : `${row.verdict} ${row.reason}`;
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
