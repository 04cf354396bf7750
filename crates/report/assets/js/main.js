// Draws the page from top to bottom.

import { removeDeadLinks } from "./answers.js";
import { drawEverything, goToElement } from "./chart/chart.js";
import { drawDecisions } from "./decisions.js";
import { byId, el } from "./dom.js";
import { explore, explorer } from "./explore/controls.js";
import { drawContent } from "./explore/draw.js";
import { questionNamed, QUESTIONS, stateOfQuestion } from "./explore/questions.js";
import { isExplorer } from "./explore/state.js";
import { showClaim } from "./findings.js";
import { drawGlossary } from "./glossary.js";
import { DATA, ROWS, RUNS, SEVERAL, VERDICTS } from "./model/data.js";
import { drawOverview } from "./overview.js";
import { drawSectionCharts, drawSections } from "./sections.js";
import { drawRows, isRows, presentRows, showTable } from "./table/table.js";
import { drawTheme } from "./theme.js";
import { hideTooltip, tooltip } from "./tooltip.js";

/** The most links of the bar, so that the first answer is near for the keyboard. */
const MOST_LINKS = 8;

function drawNavigation() {
  const targets = [
    ["overview", SEVERAL ? "Compared" : "Answers"],
    ["orderings", "Orderings"],
    ["sides", "CPU and GPU"],
    ["changes", "Changes"],
    ["machine", "Machine"],
    ["decisions", "Decisions"],
    ["explore", "Explore"],
    ["published", "Papers"],
    ["rows", "Rows"],
    ["method", "How to read"],
  ];
  const isShown = (id) => byId(id) && !byId(id).closest("[hidden]") && byId(id).childElementCount > 0;
  const links = targets.filter(([id]) => isShown(id)).slice(0, MOST_LINKS);
  byId("nav").append(...links.map(([id, text]) => el("a", { href: `#${id}` }, text)));
}

/** Goes to a part of the page, or to the explorer with a question. */
function goTo(id) {
  const question = id && !byId(id) ? questionNamed(id) : null;
  if (question) explore(stateOfQuestion(question));
  const target = id && byId(question || isExplorer(id) ? "explore" : id);
  if (target) goToElement(target);
}

function followLink(event) {
  const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
  if (!link || event.defaultPrevented) return;
  const id = link.getAttribute("href").slice(1);
  if (!byId(id) && !questionNamed(id) && !isExplorer(id)) return;
  event.preventDefault();
  // The table keeps the reader's choices, and the explorer puts its state into the new address.
  history.pushState(null, "", id === "rows" ? presentRows() : `#${id}`);
  goTo(id);
}

/** Draws the explanations of the signs and the verdicts. */
function drawMeanings() {
  const explained = (term, meaning) => [el("dt", null, term), el("dd", null, meaning)];
  byId("sign-list").append(...DATA.signs.flatMap(({ text, meaning }) => explained(el("b", null, text), meaning)));
  byId("verdict-list").append(
    ...[...VERDICTS.values()].flatMap(({ tone, words, meaning }) =>
      explained(el("span", { class: `badge ${tone}` }, words), meaning),
    ),
  );
}

/** Whether a chart shows a tooltip when an arrow key is pressed. */
function hasKeyboardTooltip(chart) {
  hideTooltip();
  chart.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", cancelable: true }));
  const shown = !tooltip.hidden && tooltip.textContent.length > 0;
  chart.dispatchEvent(new Event("blur"));
  return shown;
}

/** Draws every question of the explorer, each in its own place. */
function drawQuestions() {
  for (const question of QUESTIONS) {
    const host = el("div", { class: question.paper ? "explored paper" : "explored", "data-drawn": question.id });
    explorer.host.parentNode.append(host);
    drawContent(host, stateOfQuestion(question));
  }
}

/** The elements that the self-test counts. */
const COUNTED = {
  charts: "svg.chart",
  decided: "#decisions svg.chart, #sides svg.chart",
  drawnFigures: ".paper svg.chart",
  lines: ".drawn .line path",
  bands: ".drawn .band path",
  marks: ".drawn .mark path",
  hollow: ".drawn .mark:not(.resolved) path",
  spreads: ".drawn .spread path",
  keys: ".keys .key-spread",
  overlapped: ".chart .mark.overlapped path",
  nonadditive: ".chart .mark.nonadditive path",
  rungs: ".ladder .label",
  cells: ".cells .cell rect",
  hatched: ".cells .hatch",
  maps: ".map",
  matrices: ".matrix svg",
  tails: ".tails .mark.resolved path",
  nodes: "*",
  tableRows: "#rows tbody tr",
};

/** With `#selftest` the page draws everything and counts the result in attributes of the root element, for the tests. */
function selfTest() {
  const { dataset } = document.documentElement;
  drawQuestions();
  document.querySelectorAll("details.pairs, details.undecided").forEach((details) => (details.open = true));
  drawEverything();
  const all = (selector) => [...document.querySelectorAll(selector)];
  const isBroken = (node) => [...node.attributes].some(({ value }) => /NaN|Infinity|undefined/.test(value));
  const ids = all("[id]").map(({ id }) => id);
  const figures = QUESTIONS.filter(({ paper }) => paper).length;
  for (const [name, selector] of Object.entries(COUNTED)) dataset[name] = all(selector).length;
  Object.assign(dataset, {
    questions: QUESTIONS.length - figures,
    figures,
    broken: all("svg.chart *").filter(isBroken).length,
    explored: all(".explored").filter((one) => one.querySelector("svg.chart")).length,
    duplicates: ids.length - new Set(ids).size,
    rows: ROWS.length,
    answering: all("svg.chart").filter(hasKeyboardTooltip).length,
    width: innerWidth,
    overflow: document.scrollingElement.scrollWidth - innerWidth,
    milliseconds: Math.round(performance.now()),
  });
}

byId("page").hidden = false;
// A page with only published experiments has no rows to explain.
byId("all-rows").hidden = RUNS.length > 0 && RUNS.every((run) => run.experiment);
drawOverview();
// The orderings, which were asked for, come first.
if (byId("orderings")) byId("overview").after(byId("orderings"));
drawSections();
drawDecisions();
drawSectionCharts();
drawRows();
drawGlossary();
drawMeanings();
drawTheme();
drawNavigation();
removeDeadLinks();
const versions = [...new Set(RUNS.map((run) => run.run.version))].join(", ");
byId("foot").append(
  el(
    "p",
    null,
    `syncscope ${versions}. This page contains all its data and needs no network. To compare two runs, use syncscope compare.`,
  ),
);
addEventListener("beforeprint", () => drawEverything());
addEventListener("click", followLink);
document.addEventListener("click", showClaim);
/** Shows what the address says, when the page opens and when the reader goes back. */
function followAddress() {
  if (isExplorer(location.hash)) goTo("explore");
  else if (isRows(location.hash) && ROWS.length > 0) showTable(location.hash);
  else goTo(location.hash.slice(1));
}
addEventListener("popstate", followAddress);
followAddress();
document.documentElement.dataset.opened = String(Math.round(performance.now()));
if (/selftest/.test(location.hash)) selfTest();
document.documentElement.dataset.ready = "yes";
