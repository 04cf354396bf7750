// Creates elements. Text becomes text nodes only, so the text of a run cannot become markup.

/** Prevents line breaks between a number and its unit. */
export const unbroken = (text) =>
  text.replace(/(\d) (ns|µs|ms|s|%|times|cycles|bytes|threads|million|billion|[KMGT]iB|[MG]Hz)/g, "$1\u00a0$2");

function make(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined) node.append(typeof child === "string" ? unbroken(child) : child);
  }
  return node;
}

export const el = (name, attributes, ...children) => make(document.createElement(name), attributes, children);

export const svg = (name, attributes, ...children) =>
  make(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

export const byId = (id) => document.getElementById(id);

/** A text element. The library centres texts without an anchor. */
export const words = (attributes, ...children) => svg("text", { "text-anchor": "start", ...attributes }, ...children);
