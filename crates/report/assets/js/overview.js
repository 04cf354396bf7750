// The first section: the machine, the time, the status and a few figures.

const STATUS = {
  done: ["good", "complete"],
  running: ["doubt", "not finished"],
  interrupted: ["doubt", "interrupted"],
  budget_spent: ["doubt", "stopped by its budget"],
};

function statusPill(run) {
  const [tone, text] = STATUS[run.run.status] || ["void", run.run.status];
  const finished = run.count;
  const provisional = run.provisional > 0 ? `, ${formatCount(run.provisional)} provisional` : "";
  const part =
    tone === "good" ? null : `: ${formatCount(finished)} of ${formatCount(run.run.planned)} cases${provisional}`;
  return el("span", { class: `badge ${tone}` }, text, part);
}

const dateText = (timestamp) => timestamp.replace("T", " ").replace(/:\d\dZ$/, " UTC");

function runLine(run) {
  const { run: details } = run;
  return el(
    "p",
    { class: "meta" },
    statusPill(run),
    [
      dateText(details.started),
      run.duration,
      `${details.preset} preset`,
      plural(run.count, "case"),
      `syncscope ${details.version}`,
    ]
      .filter(Boolean)
      .map((text) => el("span", null, text)),
  );
}

/** A bar with the share of each verdict. A press on a verdict shows its rows. */
function verdictBar(run) {
  const total = run.count;
  if (total === 0) return el("p", { class: "empty" }, "No case was finished in this run.");
  const part = ([name, count]) => el("span", { class: `part ${verdictTone(name)}`, style: `flex-grow: ${count}` });
  const button = ([name, count]) =>
    el(
      "button",
      { type: "button", class: "quiet", click: () => showVerdict(name) },
      el("i", { class: `dot ${verdictTone(name)}` }),
      `${formatCount(count)} ${verdictText(name)}`,
    );
  return el(
    "div",
    { class: "verdicts" },
    el("div", { class: "stack", "aria-hidden": "true" }, run.verdicts.map(part)),
    el("div", { class: "words" }, run.verdicts.map(button)),
  );
}

function runFacts(run) {
  const lines = run.facts.flatMap(([label, text]) => [el("dt", null, label), el("dd", null, text)]);
  return el("details", { class: "facts" }, el("summary", null, "Machine and environment"), el("dl", null, lines));
}

function warnings(run) {
  const topology = run.run.measured_topology;
  // The card of the matrix shows them, if there is one.
  const contradictions = topology && !run.matrix ? topology.contradictions : [];
  const texts = run.run.warnings.concat(contradictions);
  if (texts.length === 0) return null;
  return el(
    "ul",
    { class: "warnings", "aria-label": "Warnings" },
    texts.map((text) => el("li", null, text)),
  );
}

function runName(run, at) {
  if (!SEVERAL) return null;
  return el(
    "h2",
    { class: "run-name", style: `--c: var(--s${at % COLOURS})` },
    el("i", { class: "swatch" }),
    run.label,
  );
}

function pageTitle() {
  if (SEVERAL) return el("h1", null, el("small", null, "What synchronization costs"), `${RUNS.length} runs compared`);
  if (RUNS.length === 0) return el("h1", null, "No runs");
  const parts = [RUNS[0].cpu, ...RUNS[0].gpus];
  return el(
    "h1",
    null,
    el("small", null, "What synchronization costs on"),
    parts.map((part, at) => [at ? el("span", { class: "plus" }, " + ") : null, el("span", { class: "whole" }, part)]),
  );
}

/** The figure of one run on a card. */
function cardFigure(row, at) {
  const name = SEVERAL
    ? el(
        "p",
        { class: "card-run", style: `--c: var(--s${at % COLOURS})` },
        el("i", { class: "swatch" }),
        RUNS[at].label,
      )
    : null;
  if (!row) return el("div", null, name, el("p", { class: "card-none" }, "not in this run"));
  const detail = el("p", { class: "card-case" }, [row.name, ...parameters(row)].slice(0, 4).join(" · "));
  const relative = halfWidth(row.ns, row.ns_low, row.ns_high);
  // A noisy estimate with a narrow interval within the run is shown as a rough figure.
  const within = halfWidth(row.ns, ...intervalWithinRun(row));
  const rough = row.verdict === "Noisy" && row.ns > 0 && within !== null && within < DATA.rough_half_width;
  if (row.verdict === "Resolved" || rough) {
    const [number, unit] = timeParts(row.ns);
    const second = [
      relative === null ? null : `±${formatPercent(relative)}`,
      row.cycles === null ? null : formatCycles(row.cycles),
      rough ? verdictText(row.verdict) : null,
    ];
    return el(
      "div",
      null,
      name,
      el("p", { class: rough ? "card-figure rough" : "card-figure" }, number, el("span", null, `${NBSP}${unit}`)),
      el("p", { class: "card-interval" }, second.filter(Boolean).join(" · ")),
      detail,
    );
  }
  const named = row.verdict === "Overlapped" || row.verdict === "NonAdditive";
  const words =
    row.verdict === "BelowResolution" && row.ns_high > 0
      ? `< ${formatTime(row.ns_high, 2)}`
      : named
        ? verdictText(row.verdict)
        : "not resolved";
  return el(
    "div",
    null,
    name,
    el("p", { class: "card-none" }, words),
    named ? null : el("p", { class: "card-interval" }, verdictText(row.verdict)),
    detail,
  );
}

function cards() {
  if (DATA.highlights.length === 0) return null;
  return el(
    "div",
    { class: SEVERAL ? "cards several" : "cards" },
    DATA.highlights.map((highlight) =>
      el(
        "article",
        { class: "card" },
        el("h3", null, highlight.title),
        highlight.rows.map((index, at) => cardFigure(index === null ? null : ROWS_OF[at][index], at)),
      ),
    ),
  );
}

function drawOverview() {
  const runs = RUNS.map((run, at) =>
    el("div", { class: "run" }, runName(run, at), runLine(run), verdictBar(run), warnings(run), runFacts(run)),
  );
  byId("overview").append(pageTitle(), el("div", { class: SEVERAL ? "runs several" : "runs" }, runs));
  const strip = cards();
  if (strip) byId("overview").append(strip);
  const quotes = ROWS.some((row) => row.within_low !== null);
  if (strip && quotes) {
    byId("overview").append(el("p", { class: "fixed" }, "±: 95 % interval for another run on the same machine"));
  }
}
