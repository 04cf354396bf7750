// False sharing: the cost of private elements against the distance between them.

/** The panel, with the findings as text; null if too few strides were measured. */
function strideCard() {
  const rows = ROWS.filter(
    (row) =>
      row.primitive === "cpu.atomic.add" &&
      row.layout === "private" &&
      row.threads > 1 &&
      row.group === null &&
      row.form === null,
  );
  const derived = rows.map((row) => ({ ...row, distance: row.stride, variables: "private", original: row }));
  if (new Set(rows.map((row) => row.stride)).size < 3) return null;
  const panel = makePanel({
    title: "False sharing",
    note: "elements of adjacent threads at growing distances",
    rows: derived,
  });
  panel.root.id = "false-sharing";
  const most = RUNS[rows[0].run].run.machine.cpu.hardware_threads || Infinity;
  const threads = ascending(rows.map((row) => row.threads)).filter((count) => count <= most);
  if (threads.length) panel.picks.set("threads", threads[threads.length - 1]);
  const found = RUNS.flatMap((run) => run.false_sharing.map((text) => (SEVERAL ? `${run.label}: ${text}` : text)));
  panel.root.append(
    el(
      "ul",
      { class: "finding" },
      found.map((text) => el("li", null, text)),
    ),
  );
  return panel;
}
