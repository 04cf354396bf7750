// Charts as files: SVG and PNG with the colours of the present theme, and the points as CSV. All of it is made in the browser.

/** Saves text or bytes under a name. */
function saveAs(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** What a file shows of the styles of the page. */
const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "visibility",
  "font-size",
  "font-weight",
  "font-family",
  "text-anchor",
];

const PIXEL = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

/** A colour as programs that draw SVG know it. */
function plainColour(colour) {
  if (colour === "none" || !PIXEL || /^#|^rgba?\(/.test(colour)) return colour;
  PIXEL.clearRect(0, 0, 1, 1);
  PIXEL.fillStyle = colour;
  PIXEL.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = PIXEL.getImageData(0, 0, 1, 1).data;
  return alpha === 255 ? `rgb(${red}, ${green}, ${blue})` : `rgba(${red}, ${green}, ${blue}, ${alpha / 255})`;
}

/** Gives a copy the styles of the page as attributes, as far as they differ from those around it. */
function copyStyles(from, to, around = {}) {
  const style = getComputedStyle(from);
  const own = {};
  for (const name of STYLES) {
    const value = style.getPropertyValue(name);
    own[name] = name === "fill" || name === "stroke" ? plainColour(value) : value;
    const isSaid = name === "opacity" ? value === "1" : own[name] === around[name];
    if (isSaid) to.removeAttribute(name);
    else to.setAttribute(name, own[name]);
  }
  to.removeAttribute("class");
  to.removeAttribute("style");
  [...from.children].forEach((child, at) => copyStyles(child, to.children[at], own));
}

/** The space around the drawing in a file. */
const MARGIN = 14;

/** The drawing as text of an SVG file, with its title and its ground. */
function svgText(chart) {
  const { root } = chart.drawing;
  const copy = root.cloneNode(true);
  copyStyles(root, copy);
  const { width, height } = root.viewBox.baseVal;
  const title = chart.spec.title || chart.spec.label || "";
  const above = title ? 34 : 0;
  const box = [-MARGIN, -above - MARGIN, width + 2 * MARGIN, height + above + 2 * MARGIN];
  const ground = plainColour(getComputedStyle(chart.root).getPropertyValue("background-color"));
  const solid = /rgba\(0, 0, 0, 0\)|transparent/.test(ground) ? surfaceColour() : ground;
  copy.querySelectorAll("style, .ring").forEach((node) => node.remove());
  const ink = plainColour(getComputedStyle(document.body).color);
  copy.prepend(
    svg("rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: solid }),
    words({ x: 0, y: -14, fill: ink, "font-size": 16, "font-weight": 600, "font-family": "sans-serif" }, title),
  );
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", box.join(" "));
  copy.setAttribute("width", box[2]);
  copy.setAttribute("height", box[3]);
  copy.removeAttribute("tabindex");
  return new XMLSerializer().serializeToString(copy);
}

function surfaceColour() {
  const probe = el("span", { style: "color: var(--surface)" });
  document.body.append(probe);
  const colour = plainColour(getComputedStyle(probe).color);
  probe.remove();
  return colour;
}

/** Saves the text of an SVG file as an image with `scale` pixels for each of its own. */
function savePng(text, name, scale) {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width * scale, image.height * scale];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((bytes) => bytes && saveAs(`${name}.png`, bytes));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

/** A text without characters that steer a terminal, hide text or reorder it. */
const plainText = (value) => String(value).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\ufffd");

/** A cell of a CSV file. A text that a spreadsheet would take for a formula begins with an apostrophe. */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const plain = plainText(value);
  const text = /^[\s\ufffd]*[=+\-@＝＋－＠﹦﹢﹣﹫]/.test(plain) ? `'${plain}` : plain;
  return /[",]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

const csvText = (lines) => lines.map((line) => line.map(csvCell).join(",")).join("\n") + "\n";

const POINT_COLUMNS = ["x", "y", "low", "high", "p05", "p95", "state"];

/** The points of a chart, one a line, and the columns that name the case. */
function chartCsv(spec) {
  const named = (point) => {
    const row = rowOfPoint(point);
    const own = row && (row.original || row);
    return own
      ? [RUNS[own.run].label, own.title, parameters(own).join(" "), verdictText(own.verdict)]
      : ["", "", "", ""];
  };
  const titles = ["run", "primitive", "parameters", "verdict"];
  if (spec.kind === "cells") {
    const line = (cell) => [spec.lines[cell.y], spec.columns[cell.x], cell.value, cell.text, ...named(cell)];
    return csvText([["line", "column", "value", "text", ...titles], ...spec.cells.map(line)]);
  }
  if (spec.kind === "rectangles") {
    const line = ([x, y, , tip]) => [...x, ...y, tip];
    return csvText([["x1", "x2", "y1", "y2", "text"], ...spec.rectangles.map(line)]);
  }
  const groups = spec.kind === "lines" ? spec.series : spec.rows.filter((row) => row.points);
  const line = (group, point) => [
    group.label,
    ...POINT_COLUMNS.map((column) => (column === "state" ? point.state || "resolved" : point[column])),
    ...named(point),
  ];
  const lines = groups.flatMap((group) => group.points.map((point) => line(group, point)));
  return csvText([["line", ...POINT_COLUMNS, ...titles], ...lines]);
}

/** The name of a chart's files. */
const fileName = (chart) =>
  (chart.spec.title || chart.spec.label || "chart")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60);

function exportButtons(chart) {
  const button = (text, save) =>
    el(
      "button",
      {
        type: "button",
        class: "quiet",
        title: `Save this chart as ${text}`,
        click: () => {
          chart.refresh();
          if (chart.drawing) save(fileName(chart));
        },
      },
      text,
    );
  return el(
    "div",
    { class: "exports" },
    button("SVG", (name) => saveAs(`${name}.svg`, svgText(chart), "image/svg+xml")),
    button("PNG", (name) => savePng(svgText(chart), name, 2)),
    button("CSV", (name) => saveAs(`${name}.csv`, chartCsv(chart.spec), "text/csv")),
  );
}
