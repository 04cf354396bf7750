// Everything a row says, beside the pointer.

const tooltip = byId("tooltip");

function fact(label, value, tone) {
  if (value === null || value === undefined || value === "") return null;
  return el("div", { class: tone ? `fact ${tone}` : "fact" }, el("dt", null, label), el("dd", null, value));
}

const between = (text, low, high) => (low === null || high === null ? null : `${text(low)} to ${text(high)}`);

function headline(row) {
  if (row.verdict === "BelowResolution" && row.ns_high > 0) return `< ${formatTime(row.ns_high, 2)}`;
  const figure = figureOf(row, MEASURES[2]);
  return figure.state === "none" ? "no figure" : formatTime(row.ns);
}

/** What is known of a row besides its cost, in words. */
const DETAIL_WORDS = {
  p50_ns: ["median of single ones", formatTime],
  p90_ns: ["90th percentile", formatTime],
  p99_ns: ["99th percentile", formatTime],
  max_ns: ["slowest of all", formatTime],
  jain_index: ["Jain’s index", (value) => digits(value, 3)],
};

function detailFacts(row) {
  const facts = Object.entries(DETAIL_WORDS).map(([name, [label, text]]) => {
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

function tooltipContent(row) {
  const relative = halfWidth(row.ns, row.ns_low, row.ns_high);
  const figures = row.ns !== null;
  const trusted = row.verdict === "Resolved";
  return [
    el("p", { class: "tip-title" }, el("strong", null, row.primitive), SEVERAL ? ` · ${RUNS[row.run].label}` : ""),
    el("p", { class: "tip-parameters" }, parameters(row).join(" · ")),
    el(
      "p",
      { class: "tip-figure" },
      headline(row),
      trusted && relative !== null ? el("span", null, ` ±${formatPercent(relative)}`) : null,
    ),
    el(
      "dl",
      null,
      fact("verdict", [
        el("span", { class: `badge ${verdictTone(row.verdict)}` }, verdictText(row.verdict)),
        row.reason ? ` ${row.reason}` : "",
      ]),
      figures ? fact("95 % interval", between(formatTime, row.ns_low, row.ns_high)) : null,
      trusted ? fact("cycles", row.cycles === null ? null : digits(row.cycles)) : null,
      trusted ? fact("per thread", row.ops_per_s_thread === null ? null : formatRate(row.ops_per_s_thread)) : null,
      trusted && actors(row) > 1 ? fact("total", formatRate(row.ops_per_s_total)) : null,
      trusted && actors(row) > 1 && row.fastest_ns !== null
        ? fact(
            "fastest, middle",
            [row.fastest_ns, row.median_ns]
              .filter((ns) => ns !== null)
              .map((ns) => formatTime(ns))
              .join(", "),
          )
        : null,
      detailFacts(row),
      fact(
        "pairs",
        row.pairs === null ? null : `${formatCount(row.pairs)}${row.set_aside ? `, ${row.set_aside} set aside` : ""}`,
      ),
      fact("noise", row.noise === null ? null : formatPercent(row.noise)),
      fact("clock", row.clock_hz === null ? null : `${digits(row.clock_hz / 1e9)}${NBSP}GHz`),
      fact("check", row.check, row.check === "failed" ? "bad" : null),
      fact("evidence", row.evidence),
    ),
  ];
}

/** Shows a row near a point of the window, where there is room. */
function showTooltip(row, x, y) {
  tooltip.replaceChildren(...tooltipContent(row.original || row));
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const right = x + 16 + box.width < innerWidth - 8 ? x + 16 : x - 16 - box.width;
  const below = y + 16 + box.height < innerHeight - 8 ? y + 16 : y - 16 - box.height;
  const inside = (at, size, most) => Math.max(8, Math.min(at, most - size - 8));
  const [left, top] = [inside(right, box.width, innerWidth), inside(below, box.height, innerHeight)];
  tooltip.style.transform = `translate(${left}px, ${top}px)`;
}

function hideTooltip() {
  tooltip.hidden = true;
}

addEventListener("scroll", hideTooltip, { passive: true });
addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTooltip();
});
