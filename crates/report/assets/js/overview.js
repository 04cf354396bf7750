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
    tone === "good" || run.experiment
      ? null
      : `: ${formatCount(finished)} of ${formatCount(run.run.planned)} cases${provisional}`;
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
      run.experiment || `${details.preset} preset`,
      run.experiment ? null : plural(run.count, "case"),
      `syncscope ${details.version}`,
    ]
      .filter(Boolean)
      .map((text) => el("span", null, text)),
  );
}

/** A bar with the share of each verdict. A press on a verdict shows its rows. */
function verdictBar(run) {
  const total = run.count;
  if (run.experiment) return null;
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
  const summary = `${plural(texts.length, "note")} on this run`;
  const list = el(
    "ul",
    { "aria-label": "Warnings" },
    texts.map((text) => el("li", null, text)),
  );
  return el("details", { class: "warnings" }, el("summary", null, summary), list);
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
  const { parts } = RUNS[0];
  return el(
    "h1",
    null,
    el("small", null, "What synchronization costs on"),
    parts.map((part, at) => [at ? el("span", { class: "plus" }, " + ") : null, el("span", { class: "whole" }, part)]),
  );
}

function drawOverview() {
  const runs = RUNS.map((run, at) =>
    el(
      "div",
      { class: "run" },
      runName(run, at),
      runLine(run),
      trustLine(run),
      verdictBar(run),
      warnings(run),
      runFacts(run),
    ),
  );
  byId("overview").append(pageTitle(), el("div", { class: SEVERAL ? "runs several" : "runs" }, runs));
  const answers = answersSection();
  if (answers) byId("sentences").append(answers);
}
