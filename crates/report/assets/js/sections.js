// The sections with charts: the ladder, the explorer, and the charts of sizes, pairs and tails.

import { drawChart } from "./chart/chart.js";
import { COLOURS } from "./chart/marks.js";
import { byId, el } from "./dom.js";
import { explorerSection, startExplorer } from "./explore/controls.js";
import { DATA, ROWS, RUNS, SEVERAL } from "./model/data.js";
import { heatMapCard } from "./parts/heat_maps.js";
import { ladderSection } from "./parts/ladder.js";
import { matrixCard } from "./parts/matrix.js";
import { tailsCard } from "./parts/tails.js";

/** Charts that no line chart can show: costs by two parameters, pairs of CPUs, percentiles. */
function detailSections(hasMatrix) {
  const cards = [
    ...DATA.families.map(({ domain, family }) =>
      heatMapCard(
        family,
        ROWS.filter((row) => row.domain === domain && row.family === family),
      ),
    ),
    hasMatrix ? matrixCard() : null,
    ...DATA.families.map(tailsCard),
  ].filter(Boolean);
  if (cards.length === 0) return null;
  return el(
    "section",
    { id: "details", "aria-labelledby": "details-title" },
    el("h2", { id: "details-title" }, "Sizes, pairs and tails"),
    cards,
  );
}

/** The matrix of a tool that measures nothing else. */
function leadingMatrix() {
  return RUNS.every((run) => run.is_imported) && DATA.families.length === 1 ? matrixCard() : null;
}

/** A note if there are no GPU figures, with the reason. */
const gpuNote = () => (DATA.no_gpu ? el("p", { class: "lead", id: "no-gpu" }, DATA.no_gpu) : null);

/** Draws the charts of sections that were written with the page. The colours of their lines are numbers. */
export function drawSectionCharts() {
  const coloured = (one) => ({ ...one, colour: `var(--s${one.colour % COLOURS})` });
  document.querySelectorAll(".section-chart").forEach((host) => {
    const spec = JSON.parse(host.querySelector("script").textContent);
    const label = [host.closest("article")?.querySelector("h3")?.textContent, spec.title].filter(Boolean).join(": ");
    drawChart(host, { ...spec, ...(spec.series ? { series: spec.series.map(coloured) } : {}), label });
  });
}

export function drawSections() {
  if (DATA.families.length === 0) return;
  const matrix = leadingMatrix();
  // The matrix shows everything in its rows.
  const explorer = matrix ? null : explorerSection();
  byId("charts").append(
    ...[matrix, SEVERAL ? null : ladderSection(), explorer, gpuNote(), detailSections(!matrix)].filter(Boolean),
  );
  if (explorer) startExplorer();
}
