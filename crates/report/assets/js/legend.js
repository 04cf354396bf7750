// What stands below a chart: whose line is whose, and which cases have no resolved figure.

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
    const again = [...panel.parts.legend.children].find((other) => other.dataset.label === series.label);
    if (again) again.focus();
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
  const unseen = `${dots.length} of ${rows.length} cases are drawn; the table below has all.`;
  legend.replaceChildren(...runNames(panel), rows.length > dots.length ? el("p", { class: "fixed" }, unseen) : "");
}

/** Cases named one by one below a reason. */
const MOST_NAMED = 4;

function reasonItem(rows) {
  const [first] = rows;
  const reason = first.verdict === "BelowResolution" ? "" : first.reason || "";
  const names = rows
    .slice(0, MOST_NAMED)
    .map((row) => [row.name, ...parameters(row)].join(" "))
    .join("; ");
  const more = rows.length > MOST_NAMED ? ` and ${rows.length - MOST_NAMED} more` : "";
  return el(
    "li",
    null,
    el("span", { class: `badge ${verdictTone(first.verdict)}` }, verdictText(first.verdict)),
    ` ${reason} `,
    el("span", { class: "fixed" }, names + more),
  );
}

/** What has no resolved figure, with its reason: nothing is dropped without a word. */
function drawRest(panel, { rows }) {
  const { rest } = panel.parts;
  const known = rest.querySelector("details");
  const unresolved = rows.filter((row) => row.verdict !== "Resolved");
  if (unresolved.length === 0) {
    rest.replaceChildren();
    return;
  }
  const groups = new Map();
  for (const row of unresolved) {
    // Every bound is another number; they are one group.
    const key = row.verdict === "BelowResolution" ? row.verdict : `${row.verdict} ${row.reason}`;
    groups.set(key, [...(groups.get(key) || []), row]);
  }
  const summary = `${unresolved.length} of ${plural(rows.length, "case")} not resolved`;
  rest.replaceChildren(
    el(
      "details",
      { open: Boolean(known && known.open) },
      el("summary", null, summary),
      el("ul", null, [...groups.values()].map(reasonItem)),
    ),
  );
}
