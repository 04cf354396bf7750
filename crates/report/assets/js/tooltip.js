// The tooltip of a row.

import { byId, el } from "./dom.js";
import {
  actors,
  detailOf,
  hasFigure,
  intervalWithinRun,
  parameters,
  PRIMITIVES,
  roughly,
  RUNS,
  SEVERAL,
  significant,
  verdictText,
  verdictTone,
} from "./model/data.js";
import { digits, formatCount, formatPercent, formatRate, formatTime, halfWidth, NBSP, plural } from "./model/format.js";
import { cycleSpread, timeSpread } from "./model/measures.js";
import { cellText, LABELLED } from "./table/kinds.js";

export const tooltip = byId("tooltip");

function fact(label, value, tone) {
  if (value === null || value === undefined || value === "") return null;
  return el("div", { class: tone ? `fact ${tone}` : "fact" }, el("dt", null, label), el("dd", null, value));
}

const between = (text, low, high) => (low === null || high === null ? null : `${text(low)} to ${text(high)}`);

/** A width, rounded as quoted widths are: `±4.0 %`. */
const widthText = (width) => `±${formatPercent(width)}`;

/** The interval to quote and the one within the run; published figures have none. */
function intervalFacts(row) {
  if (row.ns === null || row.ns_low === null || row.within_low === null) return [];
  const time = (ns) => formatTime(ns, significant(row));
  const quoted = between(time, row.ns_low, row.ns_high);
  const [another, own] = [halfWidth(row.ns, row.ns_low, row.ns_high), halfWidth(row.ns, ...intervalWithinRun(row))];
  // A width relative to a cost near zero says nothing.
  const relative = another !== null && own !== null && Math.max(another, own) < 1;
  const texts = relative
    ? [`${widthText(another)} (${quoted})`, widthText(own)]
    : [quoted, between(time, row.within_low, row.within_high)];
  return [fact("95 % interval", `run to run ${texts[0]}, within this run ${texts[1]}`)];
}

/** The 5th and the 95th percentile of the pairs. */
function spreadText(row) {
  if (row.ns_p05 === null || row.ns_p95 === null || !(row.ns > 0)) return null;
  const cycles = row.cycles !== null;
  const [low, high] = (cycles ? cycleSpread(row) : timeSpread(row)).map((end) =>
    roughly(row, end, cycles ? digits : formatTime),
  );
  return `between ${low} and ${high}${cycles ? `${NBSP}cycles` : ""} over addresses, execution orders and points in time`;
}

/** The samples that a figure represents, in words for several threads and for one. */
const POPULATIONS = {
  alone: ["threads alone on their cores", "alone on its core"],
  all: ["all samples", "all samples"],
};

/** Says whose cost the figure is, and from which samples. */
function meaningText(row) {
  const several = actors(row) > 1;
  const [ofSeveral, ofOne] = POPULATIONS[row.population] || [null, null];
  const share = row.beside_share;
  const words = [
    several && row.actor !== null ? `${row.actor} thread` : null,
    // If interference is not detected, the population says nothing.
    row.population === "all" && share === null ? null : several ? ofSeveral : ofOne,
    share === null ? null : `${formatPercent(share)} of the samples had SMT interference`,
  ];
  return words.filter(Boolean).join("; ");
}

/** The cost for the slowest, the median and the fastest thread; the figure of a row weights the pairs. */
function threadsFact(row) {
  if (!hasFigure(row) || actors(row) <= 1) return null;
  const costs = ["slowest", "median", "fastest"].filter((which) => row[`${which}_ns`] !== null);
  const texts = costs.map((which) => `${which} ${roughly(row, row[`${which}_ns`], formatTime)}`);
  return fact("threads, medians of all pairs", texts.join(", "));
}

/** The details in the tooltip: label and format. */
const DETAIL_LABELS = {
  p50_ns: ["median", formatTime],
  p90_ns: ["90th percentile", formatTime],
  p99_ns: ["99th percentile", formatTime],
  max_ns: ["maximum", formatTime],
  first_copy_ns: ["first copy", formatTime],
  second_copy_ns: ["second copy", (ns) => `${formatTime(ns)} more`],
  jain_index: ["Jain’s index", (value) => digits(value, 3)],
  acquisitions_per_handover: ["kept by a thread for", (times) => `${digits(times, 3)} acquisitions`],
  measurement_blocks: ["measured in", (count) => plural(count, "measurement block")],
  smt_interference: ["SMT interference", (share) => `${formatPercent(share)} of pairs`],
};

function detailFacts(row) {
  const facts = Object.entries(DETAIL_LABELS).map(([name, [label, text]]) => {
    const value = detailOf(row, name);
    return fact(label, value === null ? null : text(value));
  });
  const shares = (row.details || []).filter((detail) => detail.name === "acquisitions_per_s").map(({ value }) => value);
  if (shares.length > 1) {
    const ends = between(formatRate, Math.min(...shares), Math.max(...shares));
    facts.push(fact("acquisitions", `${ends} of each thread`));
  }
  return facts;
}

/** The columns with a title that no other line of the tooltip shows. */
function labelledFacts(row) {
  const shown = ["pairs", "check", "evidence", "beside_share"];
  const others = LABELLED.filter((known) => !shown.includes(known.id));
  return others.map((known) => fact(known.title.toLowerCase(), cellText(known, row)));
}

/** The facts about the primitive from the catalogue. */
function meaningFacts(row) {
  const meaning = PRIMITIVES.get(row.primitive);
  if (!meaning || !meaning.summary) return [];
  return [fact("operation", meaning.operation), fact("source", meaning.source)];
}

function tooltipContent(row) {
  const known = hasFigure(row);
  return [
    el("p", { class: "tip-title" }, el("strong", null, row.title), SEVERAL ? ` · ${RUNS[row.run].label}` : ""),
    PRIMITIVES.get(row.primitive)?.summary
      ? el("p", { class: "tip-meaning" }, PRIMITIVES.get(row.primitive).summary)
      : null,
    el("p", { class: "tip-parameters" }, parameters(row).join(" · ")),
    el("p", { class: "tip-figure" }, [row.figure, row.interval].filter(Boolean).join(" ")),
    el(
      "dl",
      null,
      fact("verdict", [
        el("span", { class: `badge ${verdictTone(row.verdict)}` }, verdictText(row.verdict)),
        row.reason ? ` ${row.reason}` : "",
      ]),
      intervalFacts(row),
      fact("spread", spreadText(row)),
      row.ns !== null ? fact("whose cost", meaningText(row)) : null,
      known ? fact("cycles", row.cycles === null ? null : roughly(row, row.cycles, digits)) : null,
      known
        ? fact("per thread", row.ops_per_s_thread === null ? null : roughly(row, row.ops_per_s_thread, formatRate))
        : null,
      known && actors(row) > 1 && row.ops_per_s_total !== null
        ? fact("total", roughly(row, row.ops_per_s_total, formatRate))
        : null,
      threadsFact(row),
      detailFacts(row),
      fact(
        "pairs",
        row.pairs === null ? null : `${formatCount(row.pairs)}${row.set_aside ? `, ${row.set_aside} excluded` : ""}`,
      ),
      fact("joins", row.runs === null ? null : plural(row.runs, "run")),
      labelledFacts(row),
      fact("clock", row.clock_hz === null ? null : `${digits(row.clock_hz / 1e9)}${NBSP}GHz`),
      fact("check", row.check, row.check === "failed" ? "bad" : null),
      fact("evidence", row.evidence),
      meaningFacts(row),
    ),
  ];
}

/** Shows the tooltip of a row near a point of the window. */
export function showTooltip(row, x, y) {
  placeTooltip(tooltipContent(row.original || row).filter(Boolean), x, y);
}

/** Shows a text instead of a row; each line is a paragraph. */
export function showText(text, x, y) {
  placeTooltip(
    text.split("\n").map((line) => el("p", null, line)),
    x,
    y,
  );
}

function placeTooltip(content, x, y) {
  tooltip.replaceChildren(...content);
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const right = x + 16 + box.width < innerWidth - 8 ? x + 16 : x - 16 - box.width;
  const below = y + 16 + box.height < innerHeight - 8 ? y + 16 : y - 16 - box.height;
  const inside = (at, size, most) => Math.max(8, Math.min(at, most - size - 8));
  const [left, top] = [inside(right, box.width, innerWidth), inside(below, box.height, innerHeight)];
  tooltip.style.transform = `translate(${left}px, ${top}px)`;
}

export function hideTooltip() {
  tooltip.hidden = true;
}

addEventListener("scroll", hideTooltip, { passive: true });
addEventListener("click", ({ target }) => {
  if (!(target instanceof Element && target.closest(".chart"))) hideTooltip();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTooltip();
});
