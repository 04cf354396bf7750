// Draws the page from top to bottom.

function drawNavigation() {
  const published = [...document.querySelectorAll("section.published")];
  const targets = [
    ["machine", "Machine"],
    ["answers", "Answers"],
    ["ladder", "Ladder"],
    ["decisions", "Decisions"],
    ["side-by-side", "Side by side"],
    ["domain-cpu", "CPU"],
    ["domain-gpu", "GPU"],
    ...published.map(({ id }) => [id, id[0].toUpperCase() + id.slice(1)]),
    ["rows", "Rows"],
    ["primitives", "Primitives"],
    ["method", "How to read"],
  ];
  const isShown = (id) => byId(id) && !byId(id).closest("[hidden]");
  byId("nav").append(...targets.filter(([id]) => isShown(id)).map(([id, text]) => el("a", { href: `#${id}` }, text)));
}

/** Goes to a part of the page. What stands above it is drawn first: it would move the target when it appears. */
function goTo(id) {
  const target = id && byId(id);
  if (!target) return false;
  GROUPS.filter(
    (group) => group.root.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING && !group.root.hidden,
  ).forEach((group) => group.refresh());
  target.scrollIntoView();
  return true;
}

function followLink(event) {
  const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
  if (!link || event.defaultPrevented) return;
  const id = link.getAttribute("href").slice(1);
  if (!goTo(id)) return;
  event.preventDefault();
  history.pushState(null, "", `#${id}`);
}

function drawVerdicts() {
  byId("verdict-list").append(
    ...Object.values(VERDICTS).flatMap(([tone, text, meaning]) => [
      el("dt", null, el("span", { class: `badge ${tone}` }, text)),
      el("dd", null, meaning),
    ]),
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

/** With `#selftest` the page draws everything and counts the result in attributes of the root element, for the tests. */
function selfTest() {
  const { dataset } = document.documentElement;
  drawEverything();
  const count = (selector) => String(document.querySelectorAll(selector).length);
  dataset.charts = count("svg.chart:not(.still)");
  dataset.still = count("svg.still");
  dataset.lines = count(".chart .line");
  dataset.legends = count(".legend .line");
  dataset.bands = count(".band");
  dataset.marks = count(".chart .mark");
  dataset.hollow = count(".chart .mark:not(.resolved)");
  dataset.broken = String(
    [...document.querySelectorAll("svg.chart *")].filter((node) =>
      [...node.attributes].some((attribute) => /NaN|Infinity|undefined/.test(attribute.value)),
    ).length,
  );
  dataset.spreads = count(".chart .spread, .chart .spread-bar");
  dataset.keys = count(".keys .key-spread");
  dataset.overlapped = count(".chart .mark.overlapped");
  dataset.nonadditive = count(".chart .mark.nonadditive");
  dataset.rungs = count(".ladder .rail");
  dataset.cells = count(".cells .cell");
  dataset.hatched = count(".cells .hatch");
  dataset.maps = count(".map");
  dataset.matrices = count(".matrix");
  dataset.tails = count(".tails .mark.resolved");
  dataset.nodes = count("*");
  dataset.rows = String(ROWS.length);
  dataset.tableRows = count("#rows tbody tr");
  dataset.answering = String([...document.querySelectorAll("svg.chart:not(.still)")].filter(hasKeyboardTooltip).length);
  dataset.width = String(innerWidth);
  dataset.overflow = String(document.scrollingElement.scrollWidth - innerWidth);
  dataset.milliseconds = String(Math.round(performance.now()));
}

byId("page").hidden = false;
// The page of published experiments alone has no rows to explain.
byId("all-rows").hidden = RUNS.length > 0 && RUNS.every((run) => run.experiment);
drawOverview();
drawSections();
drawDecisions();
drawRows();
drawGlossary();
drawVerdicts();
drawTheme();
drawNavigation();
removeDeadLinks();
const versions = [...new Set(RUNS.map((run) => run.run.version))].join(", ");
byId("foot").append(
  el(
    "p",
    null,
    `syncscope ${versions}. This page contains all of its data and needs no network. What changed from one run to another: syncscope compare.`,
  ),
);
addEventListener("beforeprint", drawEverything);
addEventListener("click", followLink);
goTo(location.hash.slice(1));
document.documentElement.dataset.opened = String(Math.round(performance.now()));
if (/selftest/.test(location.hash)) selfTest();
document.documentElement.dataset.ready = "yes";
