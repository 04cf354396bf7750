// The cost ladder: each level at which threads wait for each other, on one logarithmic time axis.

const SIDES = { cpu: "CPU", gpu: "GPU", hybrid: "Both" };
const SIDE_COLOURS = { cpu: "var(--s0)", gpu: "var(--s1)", hybrid: "var(--s3)" };
/** Of more runs, the numbers stand in the tooltips only. */
const MOST_NUMBERS = 4;

/** The marks of one rung: one for each run that has a row. */
function rungMarks(rung) {
  return answersOf(rung).map((answer) => {
    const { run } = answer;
    const colour = SEVERAL ? `var(--s${run % COLOURS})` : SIDE_COLOURS[rung.domain];
    const shape = SEVERAL ? run % SHAPES.length : { cpu: 0, gpu: 1, hybrid: 2 }[rung.domain] || 0;
    return { ...answer, figure: answerFigure(answer), style: { colour, dash: null, shape } };
  });
}

/** The title of a rung, with the name of the cheapest primitive where all runs agree on it. */
function rungTitle(rung) {
  const notes = [...new Set(answersOf(rung).map(({ note }) => note))];
  if (notes.length !== 1 || notes[0] === null) return rung.title;
  return notes[0].startsWith("best ") ? `${rung.title} (not resolved)` : `${rung.title}: ${notes[0]}`;
}

/** The rungs with their heights. The name of a level stands before its first rung (`narrow`: on a line of its own), and
    a side starts with a gap. */
function ladderLines(step, narrow) {
  const lines = [];
  let y = 0;
  let side = null;
  let level = null;
  for (const rung of DATA.ladder) {
    const marks = rungMarks(rung);
    if (marks.length === 0) continue;
    if (rung.domain !== side && rung.level !== "Several GPUs" && rung.level !== "CPU and GPU") {
      if (side !== null) y += step * 0.5;
      side = rung.domain;
    }
    const first = `${side} ${rung.level}` !== level;
    if (first && level !== null) y += step * 0.3;
    level = `${side} ${rung.level}`;
    if (first && narrow) y += step * 0.8;
    lines.push({ rung, marks, level: first ? rung.level : null, y: y + step / 2 });
    y += step;
  }
  return { lines, height: y };
}

/** Each number stands in the column of its run, so that a missing one moves no other. */
function drawNumbers(root, line, box, at) {
  const { columns } = box;
  columns.forEach((right, run) => {
    const answer = line.marks.find((one) => one.run === run);
    const text = answer ? answerText(answer, box.intervals) : "–";
    root.append(svg("text", { class: "value", x: right, y: at + 4, "text-anchor": "end" }, text));
  });
}

function drawRung(root, line, x, box) {
  const at = round(box.top + line.y);
  const spots = [];
  const figures = line.marks.map(({ figure }) => figure).filter(({ state }) => state !== "none");
  const farthest = figures.length ? Math.max(...figures.map(({ y }) => x.to(y))) : box.left;
  root.append(svg("line", { class: "rail", x1: box.left, x2: round(farthest), y1: at, y2: at }));
  for (const point of line.marks) {
    const { figure, style, row } = point;
    const group = svg("g", { class: "series", style: `--c: ${style.colour}` });
    const position = figure.state === "none" ? box.left + 6 : x.to(figure.y);
    if (figure.state === "resolved" || figure.state === "open") {
      if (figure.spread) {
        const [from, to] = figure.spread.map((end) => round(x.to(Math.max(end, x.low))));
        group.append(svg("path", { class: "spread-bar", d: `M${from},${at}H${to}` }));
      }
      const [from, to] = [round(x.to(Math.max(figure.low, x.low))), round(x.to(figure.high))];
      if (to - from > 1) group.append(svg("path", { class: "whisker", d: `M${from},${at}H${to}` }));
    }
    group.append(mark(position, at, figure, style, 5));
    root.append(group);
    spots.push({ x: position, y: at, row, series: line.rung });
  }
  drawNumbers(root, line, box, at);
  return spots;
}

function drawLadderAxis(root, x, box) {
  const axes = svg("g", { class: "axes" });
  for (const tick of fittingTicks(x.ticks(Math.round((box.right - box.left) / 54)), x.to, 40)) {
    const at = round(x.to(tick));
    axes.append(
      svg("line", { class: "grid", x1: at, x2: at, y1: box.top, y2: box.bottom }),
      svg("text", { x: at, y: box.top - 8, "text-anchor": "middle" }, tickTime(tick)),
      svg("text", { x: at, y: box.bottom + 18, "text-anchor": "middle" }, tickTime(tick)),
    );
  }
  root.append(axes);
}

function drawLadderLabels(root, lines, box, narrow) {
  for (const line of lines) {
    const at = box.top + line.y;
    if (line.level) {
      const above = narrow ? 17 : 0;
      root.append(svg("text", { class: "level", x: 0, y: round(at + 4 - above) }, line.level));
    }
    const title = rungTitle(line.rung);
    const fits = Math.floor((box.left - (narrow ? 12 : 118)) / 6.7);
    const text = title.length > fits ? `${title.slice(0, fits - 1)}…` : title;
    root.append(svg("text", { class: "label", x: box.left - 10, y: round(at + 4), "text-anchor": "end" }, text));
  }
}

/** A bar along the axis that marks the side: CPU or GPU. */
function drawSides(root, lines, box, step) {
  const spans = new Map();
  for (const { rung, y } of lines) {
    const [from] = spans.get(rung.domain) || [y];
    spans.set(rung.domain, [from, y]);
  }
  for (const [domain, [from, to]] of spans) {
    root.append(
      svg("rect", {
        class: "side",
        style: `--c: ${SIDE_COLOURS[domain]}`,
        x: box.left - 3,
        width: 3,
        y: round(box.top + from - step / 2 + 2),
        height: round(to - from + step - 4),
      }),
    );
  }
}

/** The right ends of the columns of numbers, from the first run to the last. */
function numberColumns(width, narrow) {
  if (RUNS.length > MOST_NUMBERS) return [];
  const step = SEVERAL ? 78 : narrow ? 74 : 122;
  // On a narrow chart, the numbers of several runs would leave no room for their marks.
  if (narrow && SEVERAL) return [];
  return RUNS.map((_, run) => width - 4 - step * (RUNS.length - 1 - run)).map(round);
}

function ladderChart(width) {
  const narrow = width < 620;
  const step = narrow ? 23 : 24;
  const { lines, height } = ladderLines(step, narrow);
  const columns = numberColumns(width, narrow);
  const room = columns.length ? width - columns[0] + (SEVERAL ? 78 : narrow ? 74 : 122) : 16;
  const box = { left: narrow ? 160 : 360, right: width - room, top: 28, columns, intervals: !SEVERAL && !narrow };
  box.bottom = box.top + height;
  const root = frame("ladder", width, box.bottom + 26, "Cost of every level of synchronization, in time");
  const range = extent(lines.flatMap((line) => line.marks.map((one) => one.figure))) || [1, 1000];
  const low = 10 ** Math.floor(Math.log10(range[0] / 1.2));
  const x = makeScale(true, [low, range[1] * 1.15], [box.left, box.right]);
  x.low = low;
  drawLadderAxis(root, x, box);
  drawSides(root, lines, box, step);
  drawLadderLabels(root, lines, box, narrow);
  const spots = lines.flatMap((line) => drawRung(root, line, x, box));
  addNavigation(root, spots, () => {});
  return root;
}

function ladderLegend() {
  const entry = (colour, shape, text) =>
    el(
      "span",
      { class: "key" },
      svg(
        "svg",
        { width: 14, height: 14, "aria-hidden": "true", style: `--c: ${colour}` },
        svg("path", { class: "mark resolved", d: SHAPES[shape](7, 7, 4.6) }),
      ),
      text,
    );
  const keys = SEVERAL
    ? RUNS.map((run, at) => entry(`var(--s${at % COLOURS})`, at % SHAPES.length, run.label))
    : Object.keys(SIDES)
        .filter((domain) => DATA.ladder.some((rung) => rung.domain === domain))
        .map((domain, at) => entry(SIDE_COLOURS[domain], at, SIDES[domain]));
  const figures = DATA.ladder.flatMap(rungMarks).map(({ figure }) => figure);
  return el("p", { class: "keys" }, keys, spreadKeys(TIME, ""), markKeys(figures));
}

/** The section with the ladder; null if there are too few rungs. */
function ladderSection() {
  if (DATA.ladder.length < 3) return null;
  const plot = el("div", { class: "plot" });
  const card = el("article", { class: "panel wide" }, ladderLegend(), plot);
  const section = el(
    "section",
    { id: "ladder", "aria-labelledby": "ladder-title" },
    el("h2", { id: "ladder-title" }, "The cost ladder"),
    el(
      "p",
      { class: "lead" },
      "The cost of one synchronization operation at each level of the machine, on one logarithmic axis.",
    ),
    card,
  );
  return makeView(section, plot, (width) => plot.replaceChildren(ladderChart(width)));
}
