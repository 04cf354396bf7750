// The answers at the top of the page: sentences that the rows make certain, each with its figure and its rows.

/** No line breaks between a number and its unit. */
const unbroken = (text) => text.replace(/(\d) (ns|µs|ms|s|%|times|bytes|threads|million|billion)/g, `$1${NBSP}$2`);

function answerItem(answer, run) {
  const rows = answer.rows.map((index) => ROWS_OF[run][index]);
  return el(
    "li",
    null,
    el("span", null, unbroken(answer.text)),
    el(
      "span",
      { class: "evidence" },
      el("a", { href: `#${answer.figure}`, "data-figure": answer.figure }, "figure"),
      el(
        "button",
        { type: "button", class: "quiet", click: () => showRows(rows, answer.text) },
        plural(rows.length, "row"),
      ),
    ),
  );
}

/** How far to trust the run, in one line. */
const trustLine = ({ answers }) => (answers.trust ? el("p", { class: "trust" }, unbroken(answers.trust)) : null);

function answersCard({ answers, label }, run) {
  const { certain, open } = answers;
  if (certain.length === 0 && !open) return null;
  return el(
    "div",
    { class: "answers" },
    SEVERAL ? el("h3", { style: `--c: var(--s${run % COLOURS})` }, el("i", { class: "swatch" }), label) : null,
    certain.length
      ? el(
          "ol",
          null,
          certain.map((answer) => answerItem(answer, run)),
        )
      : null,
    open ? el("p", { class: "open" }, unbroken(open)) : null,
  );
}

/** The section; null if no run says anything. */
function answersSection() {
  const cards = RUNS.map(answersCard).filter(Boolean);
  if (cards.length === 0) return null;
  return el(
    "section",
    { id: "answers", "aria-labelledby": "answers-title" },
    el("h2", { id: "answers-title" }, "What matters here"),
    el("div", { class: SEVERAL ? "several" : null }, cards),
  );
}

/** A sentence whose figure is not on the page has its rows only. */
function removeDeadLinks() {
  for (const link of document.querySelectorAll("[data-figure]")) {
    if (!byId(link.dataset.figure) && !questionNamed(link.dataset.figure)) link.remove();
  }
}
