// Draws the page from top to bottom.

function drawNavigation() {
  const targets = [
    ["ladder", "Ladder"],
    ["side-by-side", "Side by side"],
    ["domain-cpu", "CPU"],
    ["domain-gpu", "GPU"],
    ["rows", "Rows"],
    ["method", "How to read"],
  ];
  byId("nav").append(
    ...targets.filter(([id]) => byId(id) && !byId(id).hidden).map(([id, text]) => el("a", { href: `#${id}` }, text)),
  );
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
  dataset.charts = count("svg.chart");
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
  dataset.cards = count(".card");
  dataset.answering = String([...document.querySelectorAll("svg.chart")].filter(hasKeyboardTooltip).length);
  dataset.width = String(innerWidth);
  dataset.overflow = String(document.scrollingElement.scrollWidth - innerWidth);
  dataset.milliseconds = String(Math.round(performance.now()));
}

byId("page").hidden = false;
drawOverview();
drawSections();
drawRows();
drawVerdicts();
drawTheme();
drawNavigation();
const versions = [...new Set(RUNS.map((run) => run.run.version))].join(", ");
byId("foot").append(el("p", null, `syncscope ${versions}. This page contains all of its data and needs no network.`));
addEventListener("beforeprint", drawEverything);
document.documentElement.dataset.opened = String(Math.round(performance.now()));
if (/selftest/.test(location.hash)) selfTest();
document.documentElement.dataset.ready = "yes";
