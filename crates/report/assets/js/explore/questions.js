// Ready-made questions: each sets what the explorer shows.

import { DATA, detailOf, ROWS } from "../model/data.js";

/** Whether a row fits a filter of one parameter. */
function isOf(q, row) {
  const [name, values] = q.split(":");
  return values.split(",").includes(row[name]);
}

/** Questions that are not about one family. `holds`: whether the rows can answer it. */
export const SPECIAL = [
  ...[
    ["side-by-side", "Atomic add on both sides", "primitive:cpu.atomic.add,gpu.atomic.add"],
    ["both-exchange", "Exchange", "primitive:cpu.atomic.exchange,gpu.atomic.exchange"],
    ["both-cas", "CAS", "primitive:cpu.atomic.cas_pass,gpu.atomic.cas_pass"],
    ["both-barriers", "Barriers", "family:barrier,block,grid,multi", "ns"],
    ["both-locks", "Locks", "family:lock"],
    ["both-fences", "Fences", "primitive:cpu.fence.seq_cst,gpu.fence.device"],
  ].map(([id, label, q, y]) => ({
    ...{ id, group: "Both", label, q, x: "actors", y: y || "total", facet: "none" },
    needs: ["cpu", "gpu"].map((domain) => (row) => row.domain === domain && isOf(q, row)),
  })),
  {
    id: "explore-fairness",
    group: "CPU",
    label: "Fairness of locks",
    q: "domain:cpu family:lock",
    x: "threads",
    y: "fairness",
    needs: [(row) => row.domain === "cpu" && row.family === "lock" && detailOf(row, "jain_index") !== null],
  },
  {
    id: "false-sharing",
    group: "CPU",
    label: "False sharing",
    q: "primitive:cpu.atomic.add layout:private",
    x: "distance",
    needs: [8, 16].map(
      (stride) => (row) => row.primitive === "cpu.atomic.add" && row.threads > 1 && row.distance === stride,
    ),
  },
  {
    id: "active-warps",
    group: "GPU",
    label: "Block barriers by active warps",
    q: "domain:gpu family:block",
    x: "warps",
    needs: [1, 2].map((blocks) => (row) => row.family === "block" && row.perUnit === blocks),
  },
];

const GROUP_TITLES = { cpu: "CPU", gpu: "GPU", hybrid: "Both", mpi: "MPI" };

/** One question for each family, then the special ones that the rows can answer. */
function makeQuestions() {
  const families = DATA.families.map(({ domain, family, title, heading }) => ({
    id: `${domain}.${family}`,
    group: GROUP_TITLES[domain] || domain,
    label: title,
    heading,
    q: `domain:${domain} family:${family}`,
  }));
  const special = SPECIAL.filter(({ needs }) => needs.every((holds) => ROWS.some(holds)));
  const all = [...families, ...special];
  const groups = [...new Set(all.map(({ group }) => group))];
  const drawn = FIGURES.filter(({ missing, part }) => !missing && !part);
  return [...groups.flatMap((group) => all.filter((one) => one.group === group)), ...drawn];
}

/** Figures and tables of papers. */
export const FIGURES = DATA.figures;

export const QUESTIONS = makeQuestions();
export const questionNamed = (id) => QUESTIONS.find((question) => question.id === id);
export const stateOfQuestion = ({ q, x, y, facet, scale, each }) => ({
  q,
  x: x || "",
  y: y || "ns",
  scale: scale || "log",
  facet: facet || "",
  picks: each ? { [each]: "*" } : {},
});
