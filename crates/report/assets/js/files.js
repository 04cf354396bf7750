// Files and the clipboard: SVG and PNG with the colours of the current theme, and CSV. All are made in the browser.

import { el, svg, words } from "./dom.js";

/** Saves text or bytes under a name. */
export function saveAs(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** The styles of the page that a file keeps. */
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

/** A colour in the form that SVG programs know. */
function plainColour(colour) {
  if (colour === "none" || !PIXEL || /^#|^rgba?\(/.test(colour)) return colour;
  PIXEL.clearRect(0, 0, 1, 1);
  PIXEL.fillStyle = colour;
  PIXEL.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = PIXEL.getImageData(0, 0, 1, 1).data;
  return alpha === 255 ? `rgb(${red}, ${green}, ${blue})` : `rgba(${red}, ${green}, ${blue}, ${alpha / 255})`;
}

/** Gives a copy the styles of the page as attributes, if they differ from its parent's. */
export function copyStyles(from, to, around = {}) {
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

/** Breaks a text into lines of at most `most` letters. */
function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.length - 1;
    if (lines[last] && lines[last].length + word.length >= most) lines.push(word);
    else lines[last] += (lines[last] ? " " : "") + word;
  }
  return lines;
}

const LETTER = 6.4;
const LINE = 17;

/** The legend and the caption of a drawing, from the top of the space below it: {nodes, height}. */
function footOf(chart, caption, width, ink) {
  const [nodes, text] = [[], { fill: ink, "font-size": 12, "font-family": "sans-serif" }];
  let [x, y] = [0, LINE];
  for (const key of chart.below.querySelectorAll(".key")) {
    const [sample] = key.querySelectorAll("svg, .swatch");
    const label = key.textContent.trim();
    const wide = 40 + label.length * LETTER;
    if (x > 0 && x + wide > width) [x, y] = [0, y + LINE];
    if (sample && sample.localName === "svg") {
      const copy = sample.cloneNode(true);
      copyStyles(sample, copy);
      for (const [name, value] of Object.entries({ x, y: y - 11 })) copy.setAttribute(name, value);
      nodes.push(copy);
    } else if (sample) {
      const fill = plainColour(getComputedStyle(sample).backgroundColor);
      nodes.push(svg("rect", { x, y: y - 9, width: 10, height: 10, fill }));
    }
    nodes.push(words({ x: x + (sample && sample.localName === "svg" ? 32 : 15), y, ...text }, label));
    x += wide;
  }
  if (x > 0) y += LINE + 3;
  for (const line of caption.flatMap((one) => wrapped(one, Math.floor(width / LETTER)))) {
    nodes.push(words({ x: 0, y, ...text, opacity: 0.75 }, line));
    y += LINE;
  }
  return { nodes, height: y };
}

/** The drawing as the text of an SVG file, with its title, its legend, its caption and a background. */
export function svgText(chart, title, caption) {
  const { root } = chart.drawing;
  const copy = root.cloneNode(true);
  copyStyles(root, copy);
  const { width, height } = root.viewBox.baseVal;
  const ground = plainColour(getComputedStyle(chart.root).getPropertyValue("background-color"));
  const solid = /rgba\(0, 0, 0, 0\)|transparent/.test(ground) ? surfaceColour() : ground;
  copy.querySelectorAll(".ring").forEach((node) => node.remove());
  const ink = plainColour(getComputedStyle(document.body).color);
  const foot = footOf(chart, caption, width, ink);
  const heading = wrapped(title, Math.floor(width / 9)).filter(Boolean);
  const above = heading.length * 20 + 14;
  const box = [-MARGIN, -above - MARGIN, width + 2 * MARGIN, height + above + foot.height + 2 * MARGIN];
  const bold = { fill: ink, "font-size": 16, "font-weight": 600, "font-family": "sans-serif" };
  copy.prepend(
    svg("title", null, title),
    svg("desc", null, caption.join("\n")),
    svg("rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: solid }),
    ...heading.map((line, at) => words({ x: 0, y: -14 - 20 * (heading.length - 1 - at), ...bold }, line)),
  );
  copy.append(svg("g", { transform: `translate(0,${height})` }, foot.nodes));
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

/** Saves the text of an SVG file as an image with `scale` pixels per SVG pixel. */
export function savePng(text, name, scale) {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width * scale, image.height * scale];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((bytes) => bytes && saveAs(`${name}.png`, bytes));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

/** Replaces characters that control a terminal, or hide or reorder text. */
const plainText = (value) => String(value).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\ufffd");

/** A cell of a CSV file. An apostrophe precedes text that a spreadsheet would take for a formula. */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const plain = plainText(value);
  const text = /^[\s\ufffd]*[=+\-@＝＋－＠﹦﹢﹣﹫]/.test(plain) ? `'${plain}` : plain;
  return /[",]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** Escapes text for Markdown and for the HTML made from it. */
const markdownCell = (value) =>
  plainText(value ?? "")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/([\\`*_[\]|~])/g, "\\$1");

const MATHS = { "±": "\\pm", "×": "\\times", "−": "-", "<": "<", ">": ">", "≥": "\\geq", "≈": "\\approx" };
const ESCAPED = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  µ: "\\textmu{}",
  "–": "--",
  "\u00a0": "~",
};

/** Escapes text for LaTeX. */
const latexCell = (value) =>
  plainText(value ?? "").replace(/[\\~^µ–\u00a0&%$#_{}±×−<>≥≈]/g, (letter) =>
    MATHS[letter] ? `\\ensuremath{${MATHS[letter]}}` : ESCAPED[letter] || `\\${letter}`,
  );

/** `columns` are [title, whether they are numbers]. */
export function markdownTable(caption, columns, lines) {
  const line = (cells) => `| ${cells.map(markdownCell).join(" | ")} |`;
  const rule = `| ${columns.map(([, right]) => (right ? "---:" : "---")).join(" | ")} |`;
  const said = caption ? [`${markdownCell(caption)}`, ""] : [];
  return [...said, line(columns.map(([title]) => title)), rule, ...lines.map(line)].join("\n") + "\n";
}

/** A LaTeX table with the rules of the package booktabs. */
export function latexTable(caption, columns, lines) {
  const line = (cells) => `${cells.map(latexCell).join(" & ")} \\\\`;
  return [
    "\\begin{table}",
    `\\caption{${latexCell(caption)}}`,
    `\\begin{tabular}{${columns.map(([, right]) => (right ? "r" : "l")).join("")}}`,
    "\\toprule",
    line(columns.map(([title]) => title)),
    "\\midrule",
    ...lines.map(line),
    "\\bottomrule",
    "\\end{tabular}",
    "\\end{table}",
    "",
  ].join("\n");
}

export const csvText = (lines) => lines.map((line) => line.map(csvCell).join(",")).join("\n") + "\n";

/** Copies a text and says so on the button. */
export function copyText(text, button) {
  // On a second press the button still has the words of the first.
  const before = (button.dataset.words ||= button.textContent);
  const say = (words) => {
    button.textContent = words;
    setTimeout(() => (button.textContent = before), 1500);
  };
  const byHand = () => {
    const area = el("textarea", { class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    say(done ? "Copied" : "Not copied");
  };
  if (!navigator.clipboard) return byHand();
  navigator.clipboard.writeText(text).then(() => say("Copied"), byHand);
}
