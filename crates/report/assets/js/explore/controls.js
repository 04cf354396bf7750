// The explorer: one chart of any rows. The reader chooses a question, or the rows, the axes and what separates charts side
// by side.

import { el } from "../dom.js";
import { drawContent, queryTitle } from "./draw.js";
import { FIGURES, QUESTIONS, SPECIAL, stateOfQuestion } from "./questions.js";
import { firstState, hashOf, isExplorer, remember, SCALES, stateOfHash } from "./state.js";
import { copyText } from "../files.js";
import { groupedBy } from "../model/data.js";
import { dimension, valueText } from "../model/dimensions.js";
import { MEASURES } from "../model/measures.js";
import { showRows } from "../table/table.js";

/** q: the filter; x: the axis, or "" for the usual one; y: the measure; facet: the parameter of the charts side by side;
    picks: the value of a parameter by its name, or "*" for a line for each value. */
let EXPLORE = null;

export const explorer = {
  chips: el("div", { class: "chips", role: "group", "aria-label": "Questions" }),
  search: el("input", {
    type: "search",
    placeholder: "family:lock threads:1,2,4 dtype:u64, or atomicAdd",
    id: "explore-filter",
  }),
  controls: el("div", { class: "controls" }),
  host: el("div", { class: "explored" }),
  content: null,
};

/** Shows a state: the address, the controls and the chart. */
export function explore(state) {
  EXPLORE = state;
  drawExplorer();
  remember(EXPLORE);
}

const change = (part) => explore({ ...EXPLORE, ...part });

/** Whether the explorer shows this figure as the paper does. */
const isPressed = (figure) => !figure.missing && !figure.part && hashOf(EXPLORE) === hashOf(stateOfQuestion(figure));

function chip(question) {
  const state = stateOfQuestion(question);
  const isCurrent =
    EXPLORE.q === state.q && (EXPLORE.y === state.y || !question.y) && (!question.x || EXPLORE.x === question.x);
  const own =
    isCurrent &&
    !SPECIAL.some(
      (one) => one !== question && !question.x && !question.y && one.q === EXPLORE.q && one.y === EXPLORE.y,
    );
  return el(
    "button",
    {
      type: "button",
      class: "chip",
      "data-question": question.id,
      "aria-pressed": String(question.paper ? isPressed(question) : own),
      click: () => explore(state),
    },
    question.label,
  );
}

/** The figures of papers: those that these rows can draw, and what would measure the others. */
function figureStrip() {
  if (FIGURES.length === 0) return null;
  const one = (figure) => {
    if (figure.missing)
      return el("span", { class: "chip absent", title: `To measure it: ${figure.missing}` }, figure.label);
    return figure.part ? el("a", { class: "chip", href: `#${figure.part}` }, figure.label) : chip(figure);
  };
  const papers = [...groupedBy(FIGURES, ({ paper }) => paper)];
  return el(
    "details",
    { class: "strip", open: Boolean(explorer.chips.querySelector("details[open]")) || FIGURES.some(isPressed) },
    el("summary", null, "Figures of the papers"),
    papers.map(([paper, figures]) =>
      el("div", { class: "chip-group" }, el("span", { class: "chip-title" }, paper), figures.map(one)),
    ),
    el(
      "p",
      { class: "fixed" },
      "The chart is drawn as in the paper. To show the paper's systems too, run syncscope report RUN results/published-system3.",
    ),
  );
}

function drawChips() {
  const groups = groupedBy(
    QUESTIONS.filter(({ paper }) => !paper),
    ({ group }) => group,
  );
  const focused = document.activeElement && document.activeElement.dataset.question;
  explorer.chips.replaceChildren(
    ...[...groups].map(([group, questions]) =>
      el("div", { class: "chip-group" }, el("span", { class: "chip-title" }, group), questions.map(chip)),
    ),
    ...[figureStrip()].filter(Boolean),
  );
  const redrawn = [...explorer.chips.querySelectorAll("button")].find((one) => one.dataset.question === focused);
  if (focused && redrawn) redrawn.focus();
}

/** values: [value, text]; choose: called with the value. */
function selector({ label, key, values, current, choose }) {
  const options = values.map(([value, text]) => el("option", { value, selected: value === current }, text));
  const select = el("select", { "data-key": key, change: (event) => choose(event.target.value) }, options);
  return el("label", { class: "choice" }, el("span", null, label), select);
}

function choiceSelector({ dim, values, value }) {
  const options = [["*", "each"], ...values.map((one) => [String(one ?? ""), valueText(dim, one)])];
  const current = value === "*" ? "*" : String(value ?? "");
  const choose = (chosen) => change({ picks: { ...EXPLORE.picks, [dim.id]: chosen } });
  return selector({ label: dim.title, key: dim.id, values: options, current, choose });
}

function drawControls() {
  const { controls, content } = explorer;
  const focused = controls.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const measures = MEASURES.filter(({ id, applies }) => !applies || content.found.some(applies) || id === EXPLORE.y);
  const parts = [
    content.axes.length > 1
      ? selector({
          label: "across",
          key: "x",
          values: content.axes.map((id) => [id, dimension(id).title]),
          current: content.x,
          choose: (x) => change({ x }),
        })
      : null,
    selector({
      label: "show",
      key: "y",
      values: measures.map(({ id, label }) => [id, label]),
      current: EXPLORE.y,
      choose: (y) => change({ y }),
    }),
    selector({
      label: "scale",
      key: "scale",
      values: SCALES,
      current: EXPLORE.scale,
      choose: (scale) => change({ scale }),
    }),
    content.facetDims.length
      ? selector({
          label: "side by side",
          key: "facet",
          values: [["none", "one chart"], ...content.facetDims.map((dim) => [dim.id, `by ${dim.title}`])],
          current: content.facet ? content.facet.id : "none",
          choose: (facet) => change({ facet }),
        })
      : null,
    ...content.choices.map(choiceSelector),
  ];
  controls.replaceChildren(...parts.filter(Boolean));
  const redrawn = focused && controls.querySelector(`[data-key="${focused}"]`);
  if (redrawn) redrawn.focus();
}

const showExploredRows = () => showRows(explorer.content.all, `Rows of the explorer: ${queryTitle(EXPLORE)}.`);

function copyLink(event) {
  copyText(location.href.replace(/#.*$/, "") + hashOf(EXPLORE), event.currentTarget);
}

function drawFound() {
  const open = explorer.host.querySelector("details.unresolved");
  explorer.content = drawContent(explorer.host, EXPLORE, Boolean(open && open.open));
}

function drawExplorer() {
  drawFound();
  if (explorer.search.value !== EXPLORE.q && document.activeElement !== explorer.search)
    explorer.search.value = EXPLORE.q;
  drawChips();
  drawControls();
}

/** Waits until the reader pauses. The parts around the chart wait once more, so that the next key need not wait for
    everything. */
function whenTyped(event) {
  const later = (next) => {
    clearTimeout(whenTyped.timer);
    whenTyped.timer = setTimeout(next, 150);
  };
  later(() => {
    EXPLORE = { ...EXPLORE, q: event.target.value.trim(), picks: {} };
    drawFound();
    later(() => {
      drawChips();
      drawControls();
      remember(EXPLORE);
    });
  });
}

/** The section; null without rows. */
export function explorerSection() {
  if (QUESTIONS.length === 0) return null;
  explorer.search.addEventListener("input", whenTyped);
  return el(
    "section",
    { id: "explore", "aria-labelledby": "explore-title" },
    el("h2", { id: "explore-title" }, "Explore"),
    el("p", { class: "lead" }, "Chart any rows: choose a question, or filter by name, parameter and verdict."),
    el(
      "article",
      { class: "panel wide" },
      explorer.chips,
      el(
        "div",
        { class: "filter" },
        el("label", { class: "choice grow" }, el("span", null, "filter"), explorer.search),
        el("button", { type: "button", click: showExploredRows }, "Rows"),
        el("button", { type: "button", click: copyLink }, "Copy link"),
      ),
      explorer.controls,
      explorer.host,
    ),
  );
}

/** Draws the state of the address, or the usual one. */
export function startExplorer() {
  if (QUESTIONS.length === 0) return;
  EXPLORE = isExplorer(location.hash) && location.hash.includes("?") ? stateOfHash(location.hash) : firstState();
  drawExplorer();
  addEventListener("hashchange", () => {
    if (isExplorer(location.hash) && location.hash.includes("?")) explore(stateOfHash(location.hash));
  });
}
