// The decisions: a question, a sentence with what the intervals establish, and its charts.

import { drawChart } from "./chart/chart.js";
import { tableButtons } from "./chart/export.js";
import { COLOURS } from "./chart/marks.js";
import { domainFor } from "./chart/values.js";
import { byId, el, unbroken } from "./dom.js";
import { ROWS_OF, RUNS, SEVERAL } from "./model/data.js";
import { plural } from "./model/format.js";
import { showRows } from "./table/table.js";

/** The most runs whose decisions have charts. */
const MOST_CHARTED_RUNS = 3;

/** The chart with the rows of its points named by run and index. */
function located(spec, run) {
  const named = (points) => points.map((point) => ({ ...point, ...colour(point), row: [run, point.row] }));
  const colour = (one) => (one.colour === undefined ? {} : { colour: `var(--s${one.colour % COLOURS})` });
  const before = (series, at) =>
    series.slice(0, at).filter(({ primitive }) => primitive && primitive === series[at].primitive).length;
  const all = (series) =>
    series.map((one, at) => ({ ...one, ...colour(one), variant: before(series, at), points: named(one.points) }));
  if (spec.kind === "panels") return { ...spec, panels: spec.panels.map((panel) => located(panel, run)) };
  return spec.kind === "lines" ? { ...spec, series: all(spec.series) } : { ...spec, rows: all(spec.rows) };
}

/** The shade of a cell: its place between the cheapest and the most expensive cell, on a logarithmic scale. */
function cellShade(value, values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const share = high > low ? Math.log(value / low) / Math.log(high / low) : 0;
  return `background: color-mix(in oklab, var(--s1) ${Math.round(8 + 30 * share)}%, var(--surface))`;
}

const rowsOfCell = ({ row, also }) => (also === undefined ? [row] : [also, row]);

/** A table as texts, for files. */
function textsOf({ columns, lines }, run) {
  const text = (cell) => (cell ? [cell.text, cell.detail].filter(Boolean).join(", ") : "–");
  const ofLine = ({ label, cells }) =>
    cells.flatMap((cell, at) =>
      cell ? [{ row: [run, cell.row], texts: [label, columns[at], cell.text, cell.detail] }] : [],
    );
  return {
    columns: [["", false], ...columns.map((title) => [title, true])],
    lines: lines.map(({ label, cells }) => [label, ...cells.map(text)]),
    cells: lines.flatMap(ofLine),
  };
}

/** A table with a cost and an instruction in each cell. Pressing a cell shows its row. */
function costTable(spec, run, name) {
  const cells = spec.lines.flatMap((line) => line.cells).filter(Boolean);
  const values = cells.map((cell) => cell.value).filter((value) => value > 0);
  const content = (cell, line, column) =>
    el(
      "button",
      {
        type: "button",
        class: "quiet",
        click: () =>
          showRows(
            rowsOfCell(cell).map((row) => ROWS_OF[run][row]),
            `${line.label}, ${spec.columns[column]}`,
          ),
      },
      el("b", null, cell.text),
      cell.detail && cell.detail !== cell.text ? el("span", null, cell.detail) : null,
    );
  const box = (line) => (cell, column) => {
    const heading = { "data-column": spec.columns[column] };
    if (!cell) return el("td", { class: "absent", ...heading }, "–");
    return el(
      "td",
      { ...heading, ...(cell.value > 0 ? { style: cellShade(cell.value, values) } : { class: "free" }) },
      content(cell, line, column),
    );
  };
  const table = el(
    "table",
    { class: "cost-table" },
    el(
      "caption",
      null,
      spec.title || "",
      tableButtons({ ...textsOf(spec, run), about: RUNS[run], name, title: spec.title }),
    ),
    el(
      "thead",
      null,
      el(
        "tr",
        null,
        el("td"),
        spec.columns.map((text) => el("th", { scope: "col" }, text)),
      ),
    ),
    el(
      "tbody",
      null,
      spec.lines
        .filter(({ cells }) => cells.some(Boolean))
        .map((line) => el("tr", null, el("th", { scope: "row" }, line.label), line.cells.map(box(line)))),
    ),
  );
  return el("div", { class: "cost-box" }, table);
}

function drawDecisionChart(host, spec, run, { id, question, charts }) {
  const name = [id.replace(/^decide-/, ""), charts.length > 1 && spec.title].filter(Boolean).join("-");
  if (spec.kind === "table") host.append(costTable(spec, run, name));
  else {
    const label = [question, spec.title].filter(Boolean).join(" ");
    drawChart(host, { ...located(spec, run), label, question, name, about: RUNS[run] });
  }
}

/** The lines or rows of a chart, of all its panels. */
const linesOf = (spec) => (spec.panels || [spec]).flatMap((one) => one.series || one.rows);

/** The button that shows the rows of a decision. */
function rowsButton(decision, run, kind) {
  const rows = decision.rows.map((index) => ROWS_OF[run][index]);
  const click = () => showRows(rows, decision.question);
  return el("button", { type: "button", class: kind, click }, plural(rows.length, "row"));
}

/** One decision of one run. */
function decisionCard(decision, run, isWide, heading = "h3") {
  // Lines need more room than dots.
  const mixed =
    decision.charts.length === 2 && decision.charts[0].kind === "lines" && decision.charts[1].kind === "dots";
  const charts = el("div", { class: mixed ? "decision-charts mixed" : "decision-charts" });
  const card = el(
    "article",
    { class: isWide ? "panel decision wide" : "panel decision", id: SEVERAL ? null : decision.id },
    SEVERAL
      ? el(
          "p",
          { class: "card-run", style: `--c: var(--s${run % COLOURS})` },
          el("i", { class: "swatch" }),
          RUNS[run].label,
        )
      : el(heading, null, decision.question),
    el(
      "p",
      { class: "claim" },
      el("b", null, `${decision.claim[0]} `),
      el("span", null, decision.claim[1]),
      rowsButton(decision, run, "quiet"),
    ),
    charts,
    decision.note ? el("p", { class: "fixed" }, decision.note) : null,
  );
  if (RUNS.length <= MOST_CHARTED_RUNS)
    decision.charts.forEach((spec) => drawDecisionChart(charts, spec, run, decision));
  return card;
}

/** A decision that the rows leave open: one line, with its charts inside. */
function openDecision(decision) {
  const charts = el("div", { class: "decision-charts" });
  decision.charts.forEach((spec) => drawDecisionChart(charts, spec, 0, decision));
  return el(
    "details",
    { class: "undecided", id: decision.id },
    el("summary", null, el("b", null, decision.question), ` ${unbroken(decision.claim.join(" "))}`),
    el(
      "div",
      { class: "panel decision wide" },
      charts,
      decision.note ? el("p", { class: "fixed" }, unbroken(decision.note)) : null,
      el("p", null, rowsButton(decision, 0, null)),
    ),
  );
}

/** Gives charts of several runs side by side one axis, which covers all their points. */
function shareAxes(decisions) {
  const flat = (chart) => chart.panels || [chart];
  const all = decisions
    .filter(Boolean)
    .map(({ charts }) => charts.flatMap(flat).filter(({ kind }) => kind !== "table"));
  const most = Math.max(0, ...all.map((charts) => charts.length));
  for (let at = 0; at < most; at += 1) {
    const specs = all.map((charts) => charts[at]).filter(Boolean);
    for (const axis of ["x", "y"]) {
      const own = specs.filter((spec) => spec[axis] && spec[axis].unit && !spec[axis].values);
      const points = own.flatMap((spec) => linesOf(spec).flatMap((one) => one.points));
      const domain = own.length > 1 ? domainFor({ ...own[0][axis], domain: undefined }, points, axis) : null;
      if (domain) for (const spec of own) spec[axis] = { ...spec[axis], domain };
    }
  }
}

/** The decisions of all runs, one group for each question, in the order of the first run that has it. */
function decisionGroups() {
  const ids = [...new Set(RUNS.flatMap((run) => run.decisions.map(({ id }) => id)))];
  return ids.map((id) => {
    const own = RUNS.map((run) => run.decisions.find((decision) => decision.id === id));
    return { id, question: own.find(Boolean).question, own };
  });
}

function decisionsOfSeveral({ id, question, own }) {
  shareAxes(own);
  const cards = own.map((decision, run) => (decision ? decisionCard(decision, run, false) : null)).filter(Boolean);
  return el("div", { id, class: "decision-group" }, el("h3", null, question), el("div", { class: "decisions" }, cards));
}

/** The most columns of a table that does not need the whole row. */
const MOST_COLUMNS = 4;
const hasWholeRow = ({ charts: [first, ...others] }) =>
  others.length > 0 || first.kind === "panels" || (first.kind === "table" && first.columns.length > MOST_COLUMNS);

/** Orders cards with one chart in pairs, so that no row is half empty: one is followed by the next. */
function inPairs(decisions) {
  const left = [...decisions];
  const placed = [];
  while (left.length > 0) {
    const [first] = left.splice(0, 1);
    placed.push(first);
    const partner = hasWholeRow(first) ? -1 : left.findIndex((one) => !hasWholeRow(one));
    if (partner >= 0) placed.push(...left.splice(partner, 1));
  }
  return placed;
}

/** The decisions of one run. Cards with several charts, and the last of an odd number of others, take the whole row. */
function decisionsOfOne(all) {
  const decisions = all.filter((decision) => decision.is_decided);
  const narrow = inPairs(decisions).filter((decision) => !hasWholeRow(decision));
  const alone = narrow.length % 2 ? narrow[narrow.length - 1] : null;
  const card = (decision) => decisionCard(decision, 0, hasWholeRow(decision) || decision === alone);
  return [
    el("div", { class: "decisions" }, inPairs(decisions).map(card)),
    all.filter((decision) => !decision.is_decided).map(openDecision),
  ];
}

const isSides = ({ id }) => id === "decide-sides";

/** Draws CPU next to GPU, before everything else that explains a figure. */
function drawSides() {
  const found = SEVERAL ? null : RUNS[0].decisions.find(isSides);
  if (found)
    byId("overview").after(
      el("section", { id: "sides", "aria-label": found.question }, decisionCard(found, 0, true, "h2")),
    );
}

/** Draws the decisions after the cost ladder. */
export function drawDecisions() {
  const groups = decisionGroups();
  if (groups.length === 0) return;
  const cards = SEVERAL
    ? groups.map(decisionsOfSeveral)
    : decisionsOfOne(RUNS[0].decisions.filter((one) => !isSides(one)));
  drawSides();
  const section = el(
    "section",
    { id: "decisions", "aria-labelledby": "decisions-title" },
    el("h2", { id: "decisions-title" }, "Decisions"),
    el(
      "p",
      { class: "lead" },
      `${SEVERAL ? "Each" : "This"} run answers common questions about parallel programs. A choice is undecided if the intervals are too wide to tell.`,
    ),
    cards,
  );
  const ladder = byId("ladder");
  if (ladder && !SEVERAL) ladder.after(section);
  else byId("charts").prepend(section);
}
