// The reader's choices above a chart.

/** key: identifies the selector after a redraw; values: [value, text]; change: called with the index of the new value. */
function selector(panel, { label, key, values, current, change }) {
  const options = values.map(([value, text]) => el("option", { value, selected: value === current }, text));
  const choose = (event) => {
    change(event.target.selectedIndex);
    panel.group.update();
  };
  return el(
    "label",
    { class: "choice" },
    el("span", null, label),
    el("select", { "data-key": key, change: choose }, options),
  );
}

function axisSelector(panel) {
  if (panel.axes.length < 2) return null;
  const change = (at) => {
    panel.x = panel.axes[at].id;
    if (panel.lines === panel.x) panel.lines = usualLines(panel);
  };
  const values = panel.axes.map((dim) => [dim.id, dim.title]);
  return selector(panel, { label: "across", key: "x", values, current: panel.x, change });
}

function linesSelector(panel) {
  const dims = lineDimensions(panel);
  if (panel.flat || dims.length < 2) return null;
  const change = (at) => {
    panel.lines = dims[at].id;
    panel.hidden.clear();
  };
  const values = dims.map((dim) => [dim.id, dim.title]);
  return selector(panel, { label: "lines", key: "lines", values, current: panel.lines, change });
}

function valueSelector(panel, { dim, values }) {
  const texts = values.map((value) => [String(value), valueText(dim, value)]);
  const change = (at) => panel.picks.set(dim.id, values[at]);
  return selector(panel, {
    label: dim.title,
    key: dim.id,
    values: texts,
    current: String(panel.picks.get(dim.id)),
    change,
  });
}

/** Redraws all selectors, because each choice changes the values of the others. The focus does not move. */
function drawSelectors(panel, { choices }) {
  const { controls } = panel.parts;
  const focused = controls.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const fixed = constants(panel.rows).join(" · ");
  const selectors = [
    axisSelector(panel),
    linesSelector(panel),
    ...choices.map((choice) => valueSelector(panel, choice)),
  ];
  controls.replaceChildren(...selectors.filter(Boolean), fixed ? el("p", { class: "fixed" }, fixed) : "");
  const redrawn = focused && controls.querySelector(`[data-key="${focused}"]`);
  if (redrawn) redrawn.focus();
}
