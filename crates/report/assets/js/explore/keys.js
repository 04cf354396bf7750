// The legends that explain runs: their colours, or their dashes and shapes.

import { COLOURS, keySample, SHAPES } from "../chart/marks.js";
import { el, svg } from "../dom.js";
import { shortRunName } from "./content.js";
import { RUNS } from "../model/data.js";

/** A sample of a mark with its name. */
export const colourKey = (colour, shape, text) =>
  el(
    "span",
    { class: "key" },
    svg("svg", { width: 14, height: 14, "aria-hidden": "true" }, keySample({}, shape, colour)),
    text,
  );

/** The colour of each run, for charts that compare runs point by point. */
export const runColours = () =>
  RUNS.map((run, at) => colourKey(`var(--s${at % COLOURS})`, at % SHAPES.length, `${shortRunName(at)}: ${run.label}`));

/** The name of each run, for charts whose runs differ by dash and shape. */
export const runSamples = () =>
  RUNS.map((run, at) => el("span", { class: "key" }, `${shortRunName(at)}: ${run.label}`));
