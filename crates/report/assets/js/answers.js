// The answers at the top of the page: a figure, the sentence that the rows support, and links to its chart and its rows.

import { byId, el } from "./dom.js";
import { questionNamed } from "./explore/questions.js";
import { ROWS_OF, SEVERAL } from "./model/data.js";
import { plural } from "./model/format.js";
import { rowsAddress, shows } from "./table/table.js";

function answerItem(answer, run, at) {
  const rows = answer.rows.map((index) => ROWS_OF[run][index]);
  const id = `answer-${SEVERAL ? `${run}-` : ""}${at + 1}`;
  const { headline } = answer;
  return el(
    "li",
    { id },
    el(headline ? "a" : "span", { class: "number", href: headline ? `#${id}` : null }, headline),
    el(
      "p",
      null,
      answer.text,
      el(
        "span",
        { class: "evidence" },
        el("a", { href: `#${answer.figure}`, "data-figure": answer.figure }, rows.length ? "chart" : "figures"),
        rows.length
          ? el("a", { href: rowsAddress(rows), click: shows(rows, answer.text) }, plural(rows.length, "row"))
          : null,
      ),
    ),
  );
}

/** What disturbed the run, in one sentence. */
export const trustLine = ({ answers }) => (answers.trust ? el("p", { class: "trust" }, answers.trust) : null);

/** The answers of a run; null if it says nothing. */
export function answersCard(run, at) {
  const { certain, open } = run.answers;
  if (certain.length === 0 && !open && !run.answers.trust) return null;
  return el(
    "div",
    { class: "answers", id: SEVERAL ? null : "answers" },
    certain.length
      ? el(
          "ol",
          null,
          certain.map((answer, place) => answerItem(answer, at, place)),
        )
      : null,
    open ? el("p", { class: "open" }, open) : null,
    trustLine(run),
  );
}

/** Replaces links to figures that are not on the page: a sentence keeps its rows only, a claim keeps the number of the
    figure. */
export function removeDeadLinks() {
  for (const link of document.querySelectorAll("[data-figure]")) {
    if (!byId(link.dataset.figure) && !questionNamed(link.dataset.figure))
      link.replaceWith(...(link.closest(".claims") ? link.childNodes : []));
  }
}
