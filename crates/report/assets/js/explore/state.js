// The state of the explorer as part of the address: `#explore?q=family:lock&x=threads&y=total&dtype=u64`.

import { FACETS, PICKABLE } from "./content.js";
import { questionNamed, QUESTIONS, stateOfQuestion } from "./questions.js";
import { AXES } from "../model/dimensions.js";
import { measureNamed } from "../model/measures.js";

/** The scales of the axes and their names. */
export const SCALES = [
  ["log", "logarithmic"],
  ["logx", "x logarithmic"],
  ["linear", "linear"],
];

export const isExplorer = (hash) => /^#?explore(\?|$)/.test(hash);

export function hashOf(state) {
  const parts = new URLSearchParams();
  parts.set("q", state.q);
  if (state.x) parts.set("x", state.x);
  if (state.y !== "ns") parts.set("y", state.y);
  if (state.scale !== "log") parts.set("scale", state.scale);
  if (state.facet) parts.set("facet", state.facet);
  for (const [name, value] of Object.entries(state.picks)) parts.set(name, value);
  // These letters are readable in an address, and allowed there.
  const text = parts.toString().replace(/%3A/gi, ":").replace(/%2C/gi, ",").replace(/\+/g, "%20");
  return `#explore?${text}`;
}

/** The state of an address; unknown parts are left out. */
export function stateOfHash(hash) {
  const at = hash.indexOf("?");
  const parts = new URLSearchParams(at < 0 ? "" : hash.slice(at + 1));
  const picks = {};
  for (const [name, value] of parts) {
    if (PICKABLE.includes(name)) picks[name] = value;
  }
  return {
    q: parts.get("q") || "",
    x: AXES.includes(parts.get("x")) ? parts.get("x") : "",
    y: measureNamed(parts.get("y")).id,
    scale: SCALES.some(([scale]) => scale === parts.get("scale")) ? parts.get("scale") : "log",
    facet: [...FACETS, "none"].includes(parts.get("facet")) ? parts.get("facet") : "",
    picks,
  };
}

/** The question that opens with the page: the one that most readers have. */
export function firstState() {
  const usual = ["cpu.lock", "gpu.atomic", "cpu.atomic", "gpu.grid"].map(questionNamed).find(Boolean) || QUESTIONS[0];
  return usual ? stateOfQuestion(usual) : { q: "", x: "", y: "ns", scale: "log", facet: "", picks: {} };
}

/** Replaces the address, so that reloading or copying it shows the same state. */
export function remember(state) {
  try {
    history.replaceState(null, "", hashOf(state));
  } catch (error) {
    /* browsers may limit how often an address changes */
  }
}
