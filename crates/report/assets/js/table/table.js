// The table of all rows, which can be sorted by any column and filtered by words and by verdict.

import { goToElement } from "../chart/chart.js";
import { byId, el } from "../dom.js";
import { runSamples } from "../explore/keys.js";
import { ROWS, ROWS_OF, SEVERAL, VERDICTS, verdictText } from "../model/data.js";
import { NATURALLY } from "../model/dimensions.js";
import { formatCount, plural } from "../model/format.js";
import { search, topicOf } from "../model/search.js";
import { cellNodes, knownColumns } from "./columns.js";
import { copyRows, saveRows } from "./save.js";

/** The rows that appear at first, and those added when the reader scrolls to the end; the latter are fewer, so that they fit
    a frame. */
const PORTION = 100;
const STEP = 40;
/** The most rows in the document: with each portion the browser computes the layout of the whole table. */
const MOST_DRAWN = 300;
/** The least height of a row: a key draws only as many as fit the window. */
const ROW_HEIGHT = 32;
/** How long the address waits for the next key, in milliseconds. */
const PAUSE = 250;
/** sorted: all rows in the order of a column; only: the rows of one sentence, with its text; null for all rows;
    found: the rows of the filter; from: the first of them in the document. */
const TABLE = { sort: null, descending: false, sorted: ROWS, words: "", verdict: "", only: null, found: [], from: 0 };

/** The rows of the filter, and a note about them. */
function foundRows() {
  const candidates = TABLE.only ? sortedRows(TABLE.only.rows) : TABLE.sorted;
  const { words, verdict, sort } = TABLE;
  return search(words, verdict ? candidates.filter((row) => row.verdict === verdict) : candidates, sort);
}

function sortedRows(rows) {
  if (!TABLE.sort) return rows;
  const { key } = TABLE.sort;
  const direction = TABLE.descending ? -1 : 1;
  const compare = (a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left === null || right === null) return (left === null) - (right === null);
    return direction * (typeof left === "number" ? left - right : NATURALLY(left, right));
  };
  return [...rows].sort(compare);
}

const tableCount = el("p", { class: "fixed", role: "status" });
const tableOnly = el("p", { class: "only" });
const tableHead = el("thead");
const tableBody = el("tbody");
const tableBox = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of rows" });
/** The columns that have something to show, and those that are shown. */
let possible = [];
let columns = [];
let verdictSelect = null;
let wordsInput = null;

/** Until the reader chooses columns, a narrow window shows only the name with the parameters and the cost with its verdict.
 */
const cellClass = (column, ...more) =>
  [column.number && "number", column.isReason && "reason", column.fixed && "stuck", !column.narrow && "extra", ...more]
    .filter(Boolean)
    .join(" ") || null;

function rowElement(row) {
  return el(
    "tr",
    null,
    columns.map((column) =>
      el(
        column.fixed ? "th" : "td",
        { class: cellClass(column), scope: column.fixed ? "row" : null, title: column.isReason ? row.reason : null },
        cellNodes(column, row),
      ),
    ),
  );
}

/** Draws this range of the filtered rows, and keeps visible rows where they are. */
function drawRange(from, to) {
  const { found, from: drawn } = TABLE;
  const until = drawn + tableBody.childElementCount;
  const kept = from < until && to > drawn ? tableBody.children[Math.max(from, drawn) - drawn] : null;
  const place = kept && kept.offsetTop - tableBox.scrollTop;
  if (!kept) tableBody.replaceChildren();
  for (let at = drawn; kept && at < from; at += 1) tableBody.firstChild.remove();
  for (let at = until; kept && at > to; at -= 1) tableBody.lastChild.remove();
  const [before, after] = kept ? [drawn, until] : [from, from];
  tableBody.prepend(...found.slice(from, before).map(rowElement));
  tableBody.append(...found.slice(after, to).map(rowElement));
  TABLE.from = from;
  if (kept) tableBox.scrollTop = kept.offsetTop - place;
}

/** Draws one more portion at the end that the reader approaches, and removes as many rows at the other. */
function followScroll() {
  const { scrollTop, clientHeight, scrollHeight } = tableBox;
  const { found, from } = TABLE;
  const to = from + tableBody.childElementCount;
  if (scrollTop + 2 * clientHeight > scrollHeight && to < found.length) {
    const end = Math.min(to + STEP, found.length);
    drawRange(Math.max(from, end - MOST_DRAWN), end);
  } else if (scrollTop < clientHeight && from > 0) {
    const start = Math.max(0, from - STEP);
    drawRange(start, Math.min(to, start + MOST_DRAWN));
  }
}

/** Home and End lead to the first and the last rows. */
function followKey({ key }) {
  const { length } = TABLE.found;
  if (key === "Home") drawRange(0, Math.min(PORTION, length));
  if (key === "End") drawRange(Math.max(0, length - PORTION), length);
}

/** The link to the study that answers a word of the filter. */
function topicNodes(words) {
  const topic = topicOf(words);
  if (!topic) return [];
  const title = topic.figure && (byId(topic.figure)?.querySelector("h3, summary b")?.textContent || topic.figure);
  return [
    el("b", null, topic.text, " "),
    topic.figure ? el("a", { href: `#${topic.figure}` }, title) : null,
    " ",
  ].filter(Boolean);
}

function drawTable(first = PORTION) {
  drawOnly();
  const { rows, note } = foundRows();
  TABLE.found = rows;
  tableBody.replaceChildren();
  drawRange(0, Math.min(first, rows.length));
  const filtered = rows.length < ROWS.length ? `${formatCount(rows.length)} of ` : "";
  const part =
    rows.length > PORTION
      ? `. The page shows at most ${MOST_DRAWN} rows at a time. The filter searches all rows, the browser’s own search only those shown.`
      : "";
  tableCount.replaceChildren(
    ...topicNodes(TABLE.words),
    ...(note ? [el("b", null, `${note} `)] : []),
    `${filtered}${plural(ROWS.length, "row")}${part}`,
  );
  tableBox.scrollTop = 0;
}

function sortBy(column) {
  TABLE.descending = TABLE.sort === column && !TABLE.descending;
  TABLE.sort = column;
  TABLE.sorted = sortedRows(ROWS);
  drawHeader();
  drawTable();
}

const sortState = (column) => (TABLE.sort !== column ? "none" : TABLE.descending ? "descending" : "ascending");

function drawHeader() {
  const header = (column) =>
    el(
      "th",
      { scope: "col", "data-column": column.id, "aria-sort": sortState(column), class: cellClass(column) },
      el("button", { type: "button", click: () => sortBy(column) }, column.title),
    );
  const focused = tableHead.contains(document.activeElement) && document.activeElement.closest("th").dataset.column;
  tableHead.replaceChildren(el("tr", null, columns.map(header)));
  const redrawn = focused && tableHead.querySelector(`[data-column="${focused}"] button`);
  if (redrawn) redrawn.focus();
}

/** The choice of columns. */
function columnChooser() {
  const choose = (column) => (event) => {
    const chosen = new Set(columns);
    if (event.target.checked) chosen.add(column);
    else chosen.delete(column);
    columns = possible.filter((one) => chosen.has(one));
    tableBox.classList.add("chosen");
    drawHeader();
    drawTable();
  };
  const box = (column) =>
    el(
      "label",
      null,
      el("input", { type: "checkbox", checked: columns.includes(column), change: choose(column) }),
      column.title,
    );
  const boxes = possible.filter((column) => !column.fixed).map(box);
  return el("details", { class: "chooser" }, el("summary", null, "Columns"), el("div", null, boxes));
}

export const isRows = (hash) => /^#?rows(\?|$)/.test(hash);

/** The address of the table as it is: `#rows?q=mutex`, or of certain rows: `#rows?run=0&only=3,17`. */
function tableAddress({ words, verdict, only }) {
  const parts = new URLSearchParams();
  if (words) parts.set("q", words);
  if (verdict) parts.set("verdict", verdict);
  if (only) parts.set("only", only.rows.map(({ run, index }) => `${run}.${index}`).join(","));
  return parts.size ? `#rows?${parts.toString().replace(/%2C/gi, ",")}` : "#rows";
}

/** The address of what the table shows. */
export const presentRows = () => tableAddress(TABLE);

export const rowsAddress = (rows) => tableAddress({ only: { rows } });

/** Shows what an address says. */
export function showTable(hash) {
  const parts = new URLSearchParams(hash.slice(hash.indexOf("?") + 1));
  const named = (parts.get("only") || "").split(",").map((name) => name.split(".").map(Number));
  const rows = named.map(([run, index]) => ROWS_OF[run]?.[index]).filter(Boolean);
  const text = rows.length
    ? TEXTS.get(rowsAddress(rows)) || `${plural(rows.length, "row")} behind this sentence or chart.`
    : null;
  const verdict = parts.get("verdict") || "";
  const only = rows.length ? { rows, text } : null;
  Object.assign(TABLE, {
    words: parts.get("q") || "",
    verdict: VERDICTS.has(verdict) ? verdict : "",
    only,
  });
  verdictSelect.value = TABLE.verdict;
  wordsInput.value = TABLE.words;
  drawTable();
  goToElement(byId("rows"));
}

/** Goes to the table with this content, as a step of the browser's history. */
function visitTable(address) {
  history.pushState(null, "", address);
  showTable(address);
}

export const showVerdict = (verdict) => visitTable(tableAddress({ verdict }));

/** The sentences whose rows can be shown, by the address of the rows. */
const TEXTS = new Map();

/** Shows the rows behind a sentence. */
export function showRows(rows, text) {
  TEXTS.set(rowsAddress(rows), text);
  visitTable(rowsAddress(rows));
}

/** A click handler that shows these rows. */
export const shows = (rows, text) => (event) => {
  event.preventDefault();
  showRows(rows, text);
};

/** Keeps what the reader has typed in the address. */
function rememberTable() {
  try {
    history.replaceState(null, "", presentRows());
  } catch (error) {
    /* browsers may limit how often an address changes */
  }
}

function drawOnly() {
  const all = () => {
    TABLE.only = null;
    rememberTable();
    drawTable();
  };
  const { only } = TABLE;
  tableOnly.replaceChildren(
    ...(only ? [only.text, " ", el("button", { type: "button", click: all }, "Show all rows")] : []),
  );
}

export function drawRows() {
  if (ROWS.length === 0) {
    byId("rows").hidden = true;
    return;
  }
  possible = knownColumns();
  // A narrow window has no room for reasons, which the tooltip of a row shows.
  columns = possible.filter((column) => column.usual && !(column.isReason && innerWidth < 1400));
  const present = [...VERDICTS.keys()].filter((name) => ROWS.some((row) => row.verdict === name));
  const chooseVerdict = (event) => {
    TABLE.verdict = event.target.value;
    rememberTable();
    drawTable();
  };
  verdictSelect = el(
    "select",
    { change: chooseVerdict },
    el("option", { value: "" }, "every verdict"),
    present.map((name) => el("option", { value: name }, verdictText(name))),
  );
  const type = (event) => {
    TABLE.words = event.target.value;
    drawTable(Math.ceil(innerHeight / ROW_HEIGHT));
    clearTimeout(type.pause);
    type.pause = setTimeout(rememberTable, PAUSE);
  };
  // The first key must not wait for the removal of many rows.
  const focus = () => tableBody.childElementCount > PORTION && drawTable();
  wordsInput = el("input", { type: "search", placeholder: "atomicAdd threads:32 type:i32", input: type, focus });
  tableBox.append(el("table", null, tableHead, tableBody));
  tableBox.addEventListener("scroll", followScroll);
  tableBox.addEventListener("keydown", followKey);
  byId("rows").append(
    el(
      "div",
      { class: "controls" },
      el("label", { class: "choice grow" }, el("span", null, "filter"), wordsInput),
      el("label", { class: "choice" }, el("span", null, "verdict"), verdictSelect),
      el("button", { type: "button", click: () => saveRows(columns, foundRows().rows) }, "Save as CSV"),
      el(
        "button",
        { type: "button", click: ({ currentTarget }) => copyRows(columns, foundRows().rows, currentTarget) },
        "Copy as Markdown",
      ),
    ),
    columnChooser(),
    tableCount,
    tableOnly,
    ...(SEVERAL ? [el("p", { class: "keys" }, runSamples())] : []),
    tableBox,
  );
  drawHeader();
  drawTable();
  // The first key must not wait for the index.
  setTimeout(() => search("a 1", ROWS));
}
