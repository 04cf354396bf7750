// The sections with charts: first CPU and GPU side by side, then all families of each domain.

const DOMAIN_TITLES = { cpu: "CPU", gpu: "GPU", hybrid: "CPU and GPU together" };

const PAIRS = [
  {
    title: "Atomic add",
    cpu: (row) => row.primitive === "cpu.atomic.add" && row.form === null,
    gpu: (row) => row.primitive === "gpu.atomic.add" && row.form === null,
  },
  {
    title: "Barrier",
    cpu: (row) => row.family === "barrier" && row.domain === "cpu",
    gpu: (row) => row.family === "block" && row.domain === "gpu",
  },
];

/** The machine of the rows, if all come from one run. */
function machineNote(domain, rows) {
  const runs = [...new Set(rows.map((row) => row.run))];
  if (runs.length !== 1) return null;
  const run = RUNS[runs[0]];
  return domain === "cpu" ? run.cpu : run.gpus.join(", ") || null;
}

function pairPanels(pair) {
  const side = (domain) => {
    const rows = ROWS.filter(pair[domain]);
    return rows.length
      ? makePanel({ title: `${pair.title} on the ${DOMAIN_TITLES[domain]}`, note: machineNote(domain, rows), rows })
      : null;
  };
  return [side("cpu"), side("gpu")];
}

function sideBySide() {
  const pairs = PAIRS.map(pairPanels).filter(([cpu, gpu]) => cpu && gpu);
  if (pairs.length === 0) return null;
  return el(
    "section",
    { id: "side-by-side", "aria-labelledby": "side-by-side-title" },
    el("h2", { id: "side-by-side-title" }, "CPU and GPU side by side"),
    el("p", { class: "lead" }, "The same operation on both. Each pair of charts shares its vertical axis."),
    pairs.map((panels) => makeGroup(panels, "grid pair")),
  );
}

/** All rows, but of rows that differ only in the list of their CPUs just the median one. The matrix shows all of them. */
function withoutRepeatedLists(rows) {
  const found = new Map();
  for (const row of rows) {
    const list = /^[\d,]+$/.test(row.placement || "");
    const key = [row.run, row.title, list ? "" : row.index, ...parameters({ ...row, placement: null })].join("|");
    found.set(key, [...(found.get(key) || []), row]);
  }
  return [...found.values()].map((alike) => {
    const sorted = alike.sort((a, b) => (a.ns === null) - (b.ns === null) || a.ns - b.ns);
    return sorted[Math.floor((sorted.length - 1) / 2)];
  });
}

/** The panel of a family and its further charts. */
function familyCards({ domain, family, title }) {
  const all = rowsOf(domain, family);
  const rows = domain === "cpu" && RUNS.some((run) => run.matrix) ? withoutRepeatedLists(all) : all;
  const single = (panel) => (panel ? makeGroup([panel], "single") : null);
  const main = makePanel({ title, note: `${domain}.${family}`, rows });
  main.root.id = `${domain}.${family}`;
  return [
    single(main),
    domain === "gpu" && family === "block" ? single(activeWarpsPanel()) : null,
    family === "lock" ? single(fairnessPanel(domain)) : null,
    family === "handoff" || family === "flag" ? tailsCard(domain) : null,
    domain === "cpu" && family === "atomic" ? single(strideCard()) : null,
    heatMapCard(family, all),
    domain === "cpu" && family === "handoff" ? matrixCards() : null,
  ];
}

function domainSection(domain, families) {
  const title = DOMAIN_TITLES[domain] || domain;
  return el(
    "section",
    { id: `domain-${domain}`, "aria-label": title },
    el("h2", null, title),
    el("div", { class: "grid" }, families.map(familyCards)),
  );
}

/** A note if there are no GPU figures, with the reason. */
function gpuNote(domains) {
  if (domains.includes("gpu")) return null;
  const present = RUNS.some((run) => run.gpus.length > 0);
  const none = "No NVIDIA GPU was found on this machine, so there are no GPU figures.";
  const text = present ? "GPUs are present, but no GPU case is among the rows." : none;
  return el("section", { "aria-label": "GPU" }, el("h2", null, "GPU"), el("p", { class: "lead" }, text));
}

function measureControls() {
  const choose = (measure) => () => {
    VIEW.measure = measure;
    drawChartKeys();
    updateAll();
  };
  const radio = (measure) =>
    el(
      "label",
      { title: measure.axis },
      el("input", { type: "radio", name: "measure", checked: measure === VIEW.measure, change: choose(measure) }),
      el("span", null, measure.label),
    );
  const log = el("input", {
    type: "checkbox",
    checked: VIEW.log,
    change: (event) => {
      VIEW.log = event.target.checked;
      updateAll();
    },
  });
  return el(
    "div",
    { class: "toolbar" },
    el("div", { class: "segments", role: "radiogroup", "aria-label": "What the charts show" }, MEASURES.map(radio)),
    el(
      "div",
      { class: "segments" },
      el("label", { title: "Logarithmic or linear axes" }, log, el("span", null, "Log")),
    ),
  );
}

function drawSections() {
  const domains = [...new Set(DATA.families.map(({ domain }) => domain))];
  if (domains.length === 0) return;
  const familiesOf = (domain) => DATA.families.filter((known) => known.domain === domain);
  drawChartKeys();
  const sections = domains.map((domain) => domainSection(domain, familiesOf(domain)));
  byId("charts").append(
    ...[ladderSection(), measureControls(), chartKeys, sideBySide(), ...sections, gpuNote(domains)].filter(Boolean),
  );
}
