// The first screen: the machine in one line, what the run found, its costs as a ladder, and then how the run went.

import { answersCard, trustLine } from "./answers.js";
import { COLOURS } from "./chart/marks.js";
import { byId, el } from "./dom.js";
import { shortRunName } from "./explore/content.js";
import { DATA, RUNS, SEVERAL, verdictText, verdictTone } from "./model/data.js";
import { formatCount, plural } from "./model/format.js";
import { ladderCard } from "./parts/card.js";
import { ladderSection } from "./parts/ladder.js";
import { showVerdict } from "./table/table.js";

const statePill = ([tone, text]) => el("span", { class: `badge ${tone}` }, text);

const runLine = ({ state, origin }) =>
  el(
    "p",
    { class: "meta" },
    state ? statePill(state) : null,
    origin.map((text) => el("span", null, text)),
  );

/** A bar with the share of each verdict. Pressing a verdict shows its rows. */
function verdictBar(run) {
  if (run.experiment) return null;
  if (run.count === 0) return el("p", { class: "empty" }, "No case was finished in this run.");
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
  // The card of the matrix shows the contradictions, if there is one.
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

const runName = (run, at) =>
  el(
    "h2",
    { class: "run-name", style: `--c: var(--s${at % COLOURS})` },
    el("i", { class: "swatch" }),
    `${shortRunName(at)}: ${run.label}`,
  );

function pageTitle() {
  if (SEVERAL) return el("h1", null, `What synchronization costs: ${RUNS.length} runs compared`);
  if (RUNS.length === 0) return el("h1", null, "No runs");
  const { parts } = RUNS[0];
  return el(
    "h1",
    null,
    parts.map((part, at) => [at ? el("span", { class: "plus" }, " + ") : null, el("span", { class: "whole" }, part)]),
  );
}

/** How the run went: below the machine. */
const runDetails = (run) => el("div", { class: "run" }, verdictBar(run), warnings(run), runFacts(run));

/** Runs side by side, each with its name and the result of `content`. */
const sideBySide = (content) =>
  el(
    "div",
    { class: "runs several" },
    RUNS.map((run, at) => el("div", null, runName(run, at), content(run, at))),
  );

/** The first screen of several runs: their names, what to know before any figure, and all of them in one chart; the answers
    of each follow. */
function drawComparison(overview) {
  overview.append(sideBySide((run) => [runLine(run), trustLine(run)]));
  if (DATA.compared)
    overview.append(
      el(
        "ul",
        { class: "said" },
        DATA.compared.said.map((text) => el("li", null, text)),
        el("li", null, el("a", { href: "#changes" }, DATA.compared.summary)),
      ),
    );
  const ladder = ladderSection();
  if (ladder) overview.append(ladder);
  const title = el("h2", { id: "each-title" }, "What each run shows");
  byId("about").append(
    el("section", { id: "each", "aria-labelledby": "each-title" }, title, sideBySide(answersCard)),
    sideBySide(runDetails),
  );
}

export function drawOverview() {
  const overview = byId("overview");
  overview.append(pageTitle());
  if (SEVERAL) {
    drawComparison(overview);
    return;
  }
  RUNS.forEach((run) => {
    const first = [answersCard(run, 0), ladderCard()].filter(Boolean);
    overview.append(runLine(run), el("div", { class: "first" }, first));
    byId("about").append(runDetails(run));
  });
}
