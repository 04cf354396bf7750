// Ready-made questions: each sets what the explorer shows.

import { DATA, detailOf, ROWS } from "../model/data.js";

/** Questions that are no family. `holds`: whether the rows can answer it. */
export const SPECIAL = [
  {
    id: "side-by-side",
    group: "Both",
    label: "Atomic add on both sides",
    q: "primitive:cpu.atomic.add,gpu.atomic.add",
    x: "threads",
    facet: "domain",
    needs: [(row) => row.primitive === "cpu.atomic.add", (row) => row.primitive === "gpu.atomic.add"],
  },
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
  const families = DATA.families.map(({ domain, family, title }) => ({
    id: `${domain}.${family}`,
    group: GROUP_TITLES[domain] || domain,
    label: title,
    q: `domain:${domain} family:${family}`,
  }));
  const special = SPECIAL.filter(({ needs }) => needs.every((holds) => ROWS.some(holds)));
  const all = [...families, ...special];
  return [...new Set(all.map(({ group }) => group))].flatMap((group) => all.filter((one) => one.group === group));
}

export const QUESTIONS = makeQuestions();
export const questionNamed = (id) => QUESTIONS.find((question) => question.id === id);
export const stateOfQuestion = ({ q, x, y, facet }) => ({
  q,
  x: x || "",
  y: y || "ns",
  log: true,
  facet: facet || "",
  picks: {},
});
