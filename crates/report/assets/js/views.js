// Charts outside panels. They are drawn when they become visible, and again when their width or the measure changes.

/** Registers a chart; `draw(width)` fills `plot`. Returns `root`. */
function makeView(root, plot, draw) {
  const view = { width: null, parts: { plot } };
  const group = { panels: [view], root, visible: false, stale: true };
  group.refresh = () => {
    if (!group.stale) return;
    group.stale = false;
    view.width = Math.round(plot.clientWidth) || 560;
    draw(view.width);
  };
  group.update = () => {
    group.stale = true;
    if (group.visible) group.refresh();
  };
  register(group);
  return root;
}

/** The card around a chart. */
function viewCard(title, note, ...children) {
  const heading = el("header", null, el("h3", null, title), note ? el("p", { class: "note" }, note) : null);
  return el("article", { class: "panel wide" }, heading, children);
}
