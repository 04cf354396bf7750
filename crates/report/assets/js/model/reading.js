// What a row says: its figure, its interval, or the words in their place.

import { boundOf, boundText, DATA, intervalWithinRun, verdictText } from "./data.js";
import { formatPercent, halfWidth, NBSP, timeParts } from "./format.js";

/** Whether a noisy estimate is narrow enough to be shown, as a rough one. */
export function isRough(row) {
  const within = halfWidth(row.ns, ...intervalWithinRun(row));
  return row.verdict === "Noisy" && row.ns > 0 && within !== null && within < DATA.rough_half_width;
}

/** Whether a row has a figure, if a rough one. */
export const isCost = (row) => isRough(row) || (row.verdict === "Resolved" && row.ns > 0);

/** The words of an answer: the figure, its interval, and whether the figure is rough or missing. */
export function answerWords({ row, median }) {
  const time = (ns, count) => timeParts(ns, count);
  if (median !== null)
    return { parts: time(median), interval: null, rough: false, about: "median of single hand-offs" };
  const relative = halfWidth(row.ns, row.ns_low, row.ns_high);
  const interval = relative === null ? null : `±${formatPercent(relative)}`;
  if (row.verdict === "Resolved") return { parts: time(row.ns), interval, rough: false, about: null };
  if (isRough(row)) return { parts: time(row.ns), interval, rough: true, about: verdictText(row.verdict) };
  if (row.verdict === "BelowResolution" && boundOf(row) > 0)
    return { words: boundText(row), about: verdictText(row.verdict) };
  const named = row.verdict === "Overlapped" || row.verdict === "NonAdditive";
  return { words: named ? verdictText(row.verdict) : "no number", about: named ? null : verdictText(row.verdict) };
}

/** Whether a resolved cost is not written without its interval: resolved in cycles, its time is wider than a rough one. */
export const isWide = (row) => halfWidth(row.ns, ...intervalWithinRun(row)) >= DATA.rough_half_width;

/** The same in one line: `~48.0 ns ±18 %`. */
export function answerText(answer, withInterval) {
  const { parts, words, interval, rough } = answerWords(answer);
  if (words) return words;
  const figure = `${rough ? "~" : ""}${parts.join(NBSP)}`;
  return (withInterval || (!rough && isWide(answer.row))) && interval ? `${figure} ${interval}` : figure;
}
