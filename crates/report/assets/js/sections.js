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
function detailSections() {
  const cards = [
    ...DATA.families.map(({ domain, family }) =>
      heatMapCard(
        family,
        ROWS.filter((row) => row.domain === domain && row.family === family),
      ),
    ),
    matrixCard(),
    ...["cpu", "hybrid", "gpu"].map(tailsCard),
  ].filter(Boolean);
  if (cards.length === 0) return null;
  return el(
    "section",
    { id: "details", "aria-labelledby": "details-title" },
    el("h2", { id: "details-title" }, "Sizes, pairs and tails"),
    cards,
  );
}

/** A note if there are no GPU figures, with the reason. */
function gpuNote() {
  const domains = DATA.families.map(({ domain }) => domain);
  if (domains.length === 0 || domains.includes("gpu") || domains.includes("mpi")) return null;
  const present = RUNS.some((run) => run.gpus.length > 0);
  const none = "No NVIDIA GPU was found on this machine, so there are no GPU figures.";
  return el(
    "p",
    { class: "lead", id: "no-gpu" },
    present ? "GPUs are present, but no GPU case is among the rows." : none,
  );
}

/** The charts of sections that were written with the page. The colours of their lines are numbers. */
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
  byId("charts").append(
    ...[SEVERAL ? null : ladderSection(), explorerSection(), gpuNote(), detailSections()].filter(Boolean),
  );
  startExplorer();
}
