// Saves the rows of the table, as filtered and sorted, for other programs and for people.

import { cellText } from "./kinds.js";
import { fileName } from "../chart/export.js";
import { copyText, csvText, markdownTable, saveAs } from "../files.js";

/** The columns that join a row with the files of its run, and the ends of its interval. */
const JOINED = ["case_id", "ns_low", "ns_high"];

/** Saves rows as CSV, with unrounded numbers: the key of a cell, in the unit of the file. */
export function saveRows(columns, rows) {
  const cell = (column, row) => {
    const value = column.key(row);
    return column.number ? value : cellText(column, row);
  };
  const lines = rows.map((row) => [...columns.map((column) => cell(column, row)), ...JOINED.map((name) => row[name])]);
  saveAs(`${fileName(null, "rows")}.csv`, csvText([[...columns.map(({ id }) => id), ...JOINED], ...lines]), "text/csv");
}

export function copyRows(columns, rows, button) {
  const lines = rows.map((row) => columns.map((column) => cellText(column, row)));
  const titles = columns.map(({ title, number }) => [title, number]);
  copyText(markdownTable("", titles, lines), button);
}
