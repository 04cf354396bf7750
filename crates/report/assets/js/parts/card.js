// The picture of the first screen: eight costs on one logarithmic axis. The same drawing is saved as a picture to post.

import { shortened } from "../chart/lines.js";
import { round } from "../chart/marks.js";
import { isNumber, logTicks, positionOn } from "../chart/values.js";
import { el, svg, words } from "../dom.js";
import { copyStyles, savePng } from "../files.js";
import { DATA, RUNS, SEVERAL } from "../model/data.js";
import { tickTime } from "../model/format.js";
import { answerFigure, answersOf, answerText, SIDE_COLOURS } from "./ladder.js";

const CARD_ROOM = { left: 2, right: 2, step: 44, title: 0, axis: 26 };
/** The size at which sites show a link: 1200 x 630. */
const PICTURE = { width: 1200, height: 630, left: 64, right: 64, step: 50, title: 132, axis: 30 };

/** The rungs of the card, the cheapest first: a label, a figure and its colour. */
function cardRungs() {
  const rungs = DATA.ladder
    .filter(({ card }) => card)
    .flatMap((rung) => {
      const [answer] = answersOf(rung);
      const figure = answer && answerFigure(answer);
      if (!figure || !isNumber(figure.y)) return [];
      return [{ label: rung.card, ns: figure.y, text: answerText(answer, false), colour: SIDE_COLOURS[rung.domain] }];
    });
  return rungs.sort((a, b) => a.ns - b.ns);
}

/** Draws each rung as a line with its label and its figure, and a bar below it from the axis to the cost. */
function cardRows(rungs, { width, left, right, step, title, axis }, size) {
  const low = 10 ** Math.floor(Math.log10(rungs[0].ns));
  const high = rungs[rungs.length - 1].ns * 1.15;
  const position = positionOn({ log: true }, [low, high], [left, width - right]);
  const bottom = title + rungs.length * step;
  const grid = logTicks(low, high, Math.floor(width / 75)).map((tick) => {
    const x = round(position(tick));
    const anchor = x < left + 20 ? "start" : x > width - right - 30 ? "end" : "middle";
    return [
      svg("line", { x1: x, x2: x, y1: title, y2: bottom, stroke: "var(--faint)" }),
      words(
        { x, y: bottom + axis - 10, "font-size": 0.8 * size, fill: "var(--muted)", "text-anchor": anchor },
        tickTime(tick),
      ),
    ];
  });
  const rows = rungs.map(({ label, ns, text, colour }, at) => {
    const [y, x] = [title + at * step, round(position(ns))];
    const bar = y + 0.7 * step;
    return [
      words({ x: left, y: y + 0.46 * step, "font-size": size, fill: "var(--ink)" }, label),
      words(
        {
          x: width - right,
          y: y + 0.46 * step,
          "font-size": size,
          "font-weight": 650,
          fill: "var(--ink)",
          "text-anchor": "end",
        },
        text,
      ),
      svg("line", { x1: left, x2: width - right, y1: bar, y2: bar, stroke: "var(--line)" }),
      svg("line", { x1: left, x2: x, y1: bar, y2: bar, stroke: colour, "stroke-width": 4 }),
      svg("circle", { cx: x, cy: bar, r: 5.5, fill: colour }),
    ];
  });
  return [...grid, ...rows];
}

function cardDrawing(rungs, room, size, ...more) {
  const height = room.height || room.title + rungs.length * room.step + room.axis;
  const label = `Costs from ${rungs[0].text} to ${rungs[rungs.length - 1].text}: ${rungs.map((one) => `${one.label} ${one.text}`).join("; ")}`;
  return svg(
    "svg",
    {
      viewBox: `0 0 ${room.width} ${height}`,
      width: room.width,
      height,
      role: "img",
      "aria-label": label,
      "font-family": "system-ui, sans-serif",
    },
    more,
    cardRows(rungs, room, size),
  );
}

/** Saves the card as a file with its title, background and origin. */
function savePicture(rungs) {
  const { width, height, left, right } = PICTURE;
  const [{ parts, run }] = RUNS;
  const text = (y, size, fill, content, more) => words({ x: left, y, "font-size": size, fill, ...more }, content);
  const drawing = cardDrawing(
    rungs,
    PICTURE,
    21,
    svg("rect", { width, height, fill: "var(--ground)" }),
    text(58, 22, "var(--muted)", "What synchronization costs on"),
    text(100, 34, "var(--ink)", shortened(parts.join(" + "), 58), { "font-weight": 700 }),
    text(height - 28, 17, "var(--muted)", `measured by syncscope ${run.version}, ${run.started.slice(0, 10)}`),
    text(height - 28, 17, "var(--muted)", "one operation, logarithmic axis", {
      x: width - right,
      "text-anchor": "end",
    }),
  );
  const host = el("div", { class: "offscreen" }, drawing);
  document.body.append(host);
  const copy = drawing.cloneNode(true);
  copyStyles(drawing, copy);
  host.remove();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  savePng(new XMLSerializer().serializeToString(copy), "syncscope", 1);
}

/** The ladder of the first screen; null if fewer than three rungs have a figure. */
export function ladderCard() {
  const rungs = SEVERAL ? [] : cardRungs();
  if (rungs.length < 3) return null;
  const plot = el("div", { class: "card-plot" });
  const draw = () => {
    const width = Math.round(plot.clientWidth) || 480;
    plot.replaceChildren(cardDrawing(rungs, { ...CARD_ROOM, width }, 14));
  };
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(plot);
  draw();
  return el(
    "figure",
    { class: "card" },
    plot,
    el(
      "figcaption",
      null,
      el("a", { href: "#ladder" }, "all levels"),
      el("button", { type: "button", class: "quiet", click: () => savePicture(rungs) }, "Save as picture"),
    ),
  );
}
