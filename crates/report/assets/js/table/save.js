// The rows of the table, as filtered and sorted, for other programs and for people.

import { copyText, csvText, plainText, saveAs } from "../files.js";
import { cellText } from "./kinds.js";

/** Numbers are whole in CSV: the key of a cell, in the unit of the file. */
export function saveRows(columns, rows) {
  const cell = (column, row) => {
    const value = column.key(row);
    return column.number ? value : cellText(column, row);
  };
  const lines = rows.map((row) => columns.map((column) => cell(column, row)));
  saveAs("rows.csv", csvText([columns.map(({ id }) => id), ...lines]), "text/csv");
}

/** Text that stays text in Markdown and in the HTML that is made of it. */
const markdownCell = (value) =>
  plainText(value ?? "")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/([\\`*_[\]|~])/g, "\\$1");

function markdownText(columns, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const titles = columns.map(({ title }) => markdownCell(title));
  const rule = columns.map(({ number: right }) => (right ? "---:" : "---"));
  const body = rows.map((row) => line(columns.map((column) => markdownCell(cellText(column, row)))));
  return [line(titles), line(rule), ...body].join("\n") + "\n";
}

export const copyRows = (columns, rows, button) => copyText(markdownText(columns, rows), button);
