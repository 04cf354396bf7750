// Panels that share a scale. A group is drawn when it becomes visible, and again when its choices or its width change.

const GROUPS = [];

const groupOf = (entry) => GROUPS.find((group) => group.root === entry.target);

function onIntersection(entries) {
  for (const entry of entries) {
    const group = groupOf(entry);
    group.visible = entry.isIntersecting;
    if (group.visible) group.refresh();
  }
}

function onResize(entries) {
  for (const group of entries.map(groupOf)) {
    const hasNewWidth = (panel) =>
      panel.width && panel.parts.plot.clientWidth && panel.width !== Math.round(panel.parts.plot.clientWidth);
    if (group.panels.some(hasNewWidth)) group.update();
  }
}

const visibility = new IntersectionObserver(onIntersection, { rootMargin: "300px" });
const sizes = new ResizeObserver(onResize);

function drawGroup(panels) {
  const contents = panels.map(contentOf);
  const domain = domainOf(extent(contents.flatMap((content) => content.figures)), VIEW.log);
  panels.forEach((panel, at) => {
    drawSelectors(panel, contents[at]);
    drawPanel(panel, contents[at], domain);
  });
}

/** The element that holds the panels. */
function makeGroup(panels, className) {
  const root = el(
    "div",
    { class: className },
    panels.map((panel) => panel.root),
  );
  const group = { panels, root, visible: false, stale: true };
  group.refresh = () => {
    if (!group.stale) return;
    group.stale = false;
    drawGroup(panels);
  };
  group.update = () => {
    group.stale = true;
    if (group.visible) group.refresh();
  };
  panels.forEach((panel) => {
    panel.group = group;
  });
  register(group);
  return root;
}

function register(group) {
  GROUPS.push(group);
  visibility.observe(group.root);
  sizes.observe(group.root);
}

const updateAll = () => GROUPS.forEach((group) => group.update());

function drawEverything() {
  GROUPS.forEach((group) => {
    group.visible = true;
    group.refresh();
  });
}
