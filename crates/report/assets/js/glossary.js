// Explains each primitive of the rows, from the catalogue of the version that drew the page.

import { byId, el } from "./dom.js";
import { DATA } from "./model/data.js";
import { plural } from "./model/format.js";

function glossaryEntry({ id, summary, meaning, source }) {
  return [
    el("dt", { id: `is:${id}` }, id),
    el(
      "dd",
      null,
      el("p", null, `${summary}.`),
      el("p", { class: "fixed" }, `${meaning} `, source ? `Source: ${source}.` : null),
    ),
  ];
}

export function drawGlossary() {
  const known = DATA.primitives.filter(({ summary }) => summary);
  if (known.length === 0) return;
  byId("method").before(
    el(
      "section",
      { id: "primitives", "aria-labelledby": "primitives-title" },
      el("h2", { id: "primitives-title" }, "What each primitive is"),
      el(
        "details",
        { class: "glossary" },
        el("summary", null, plural(known.length, "primitive")),
        el("dl", null, known.map(glossaryEntry)),
      ),
    ),
  );
}
