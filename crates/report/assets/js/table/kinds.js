// The kinds of columns, and the columns that the list of columns names (crates/core/src/run/columns.rs).

import { DATA } from "../model/data.js";
import { digits, formatCount, formatPercent, formatTime, plainRate } from "../model/format.js";

/** text: the text of a cell, from a row and its key, which is not null; cell: its nodes, if they are more than the text. */
export const textColumn = (id, title, more) => ({
  id,
  title,
  key: (row) => row[id],
  text: (row, value) => value,
  ...more,
});
export const numberColumn = (id, title, format, more) => ({
  id,
  title,
  number: true,
  key: (row) => row[id],
  text: (row, value) => format(value),
  ...more,
});
/** How the numbers of a column are written, by its unit. */
const OF_UNIT = { ns: formatTime, cycles: digits, fraction: formatPercent, "1/s": plainRate, "": formatCount };

/** The columns of measurements.csv whose table names a title for the page (crates/core/src/run/columns.rs). */
export const LABELLED = DATA.labelled.map(({ name, label, unit, number }) =>
  number ? numberColumn(name, label, OF_UNIT[unit] || digits) : textColumn(name, label),
);

/** What a cell says, as text. */
export function cellText(known, row) {
  const value = known.key(row);
  return value === null || value === undefined ? null : known.text(row, value);
}
