// Draws charts side by side with one vertical axis, as one picture.

import { dotChart, dotHeight } from "./dots.js";
import { lineChart, lineHeight, ruleRoom, withoutLoneFigures } from "./lines.js";
import { el, svg, words } from "../dom.js";

const DRAWN = { lines: [lineChart, lineHeight], dots: [dotChart, dotHeight] };
const GAP = 28;
/** The height of a panel's title. */
const TITLE = 24;
/** The least width of panels side by side. */
const NARROWEST = 400;

/** The panels with their places: {spec, x, y, width, height}, and the height of all. */
function placed(spec, width) {
  const panels = spec.panels.map(withoutLoneFigures);
  const beside = (width - GAP * (panels.length - 1)) / panels.length >= NARROWEST;
  const wide = beside ? Math.floor((width - GAP * (panels.length - 1)) / panels.length) : width;
  const top = Math.max(...panels.map(({ rules }) => ruleRoom(rules || [], wide)));
  const heights = panels.map((panel) => TITLE + DRAWN[panel.kind][1](panel, wide));
  let y = 0;
  const all = panels.map((panel, at) => {
    const place = { spec: { ...panel, top }, x: beside ? at * (wide + GAP) : 0, y, width: wide };
    if (!beside) y += heights[at];
    return place;
  });
  return { all, height: beside ? Math.max(...heights) : y };
}

export const panelHeight = (spec, width) => placed(spec, width).height;

export function panelChart(spec, width) {
  const { all, height } = placed(spec, width);
  const drawn = all.map(({ spec: own, x, y, width: wide }, at) => {
    const drawing = DRAWN[own.kind][0](own, wide);
    drawing.root.classList.replace("chart", "drawn");
    drawing.root.classList.add(own.kind);
    for (const [name, value] of Object.entries({ x, y: y + TITLE })) drawing.root.setAttribute(name, value);
    const title = words({ class: "panel-title", x, y: y + 14 }, own.title || "");
    const spots = drawing.spots.map((spot) => ({
      ...spot,
      x: spot.x + x,
      y: spot.y + y + TITLE,
      series: `${at} ${spot.series}`,
    }));
    return { ...drawing, title, spots };
  });
  const root = svg(
    "svg",
    { class: "chart", width, height, viewBox: `0 0 ${width} ${height}` },
    drawn.map(({ root: own, title }) => [title, own]),
  );
  const highlight = (name) => {
    const [panel, line] = name === null ? [] : name.split(" ");
    drawn.forEach((one, at) => one.highlight && one.highlight(String(at) === panel ? line : null));
  };
  const legends = drawn.flatMap(({ legend, title }) => (legend ? [el("div", null, title.textContent, legend)] : []));
  return {
    root,
    spots: drawn.flatMap(({ spots }) => spots),
    highlight,
    legend: legends.length ? el("div", null, legends) : null,
    note: [...new Set(drawn.flatMap(({ note }) => note || []))],
  };
}
