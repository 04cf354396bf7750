// The gallery: search, filters, permalinks that open their table, and pictures of tables.

import { byId, el, svg, words } from "./js/dom.js";
import { savePng, svgText } from "./js/files.js";

/** Words of people and the words of the titles. Those of praise say nothing: tables begin with the cheapest. */
const MEANINGS = [
  [/core[- ]to[- ]core|c2c|ping-?pong|hand-?offs?/g, "handoff"],
  [/hyper-?threads?|\bsmt\b|siblings?/g, "same core"],
  [/\bsockets?\b/g, "packages"],
  [/(this_)?grid\.sync(\(\))?/g, "grid barrier"],
  [/__syncthreads(\(\))?|\bsyncthreads\b/g, "block barrier"],
  [/(__)?threadfence_(block|system)(\(\))?/g, "$2 fence"],
  [/(__)?threadfence(\(\))?/g, "device fence"],
  [/(__)?syncwarp(\(\))?/g, "warp barrier"],
  [/\bcluster[. ]sync(\(\))?/g, "cluster barrier"],
  [/\b(mutex(es)?|spin-?locks?)\b/g, "lock"],
  [/\b(futex(es)?|condvars?|wake[- ]?ups?)\b/g, "wake"],
  [/round[- ]trips?/g, "back"],
  [/atomic_?add|fetch_add/g, "atomic add"],
  [/\bcore i(\d)/g, "corei$1"],
  [/\b(cheapest|fastest|best|lowest|latency|cost|of|the|on|a|and|in|overhead|time|cuda|nvlink)\b/g, " "],
];
const plain = (text) => MEANINGS.reduce((found, [from, to]) => found.replace(from, to), text.toLowerCase());
const joined = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, "");

const machines = [...document.querySelectorAll("details.machine")].map((root) => {
  const name = root.querySelector("b").textContent;
  const { vendor, generation, cores } = root.dataset;
  return {
    root,
    id: root.id,
    name,
    text: joined(`${name} ${vendor} ${generation}`),
    vendor,
    generation,
    cores: Number(cores),
  };
});
const operations = [...document.querySelectorAll("details.operation")].map((root) => {
  const name = `${root.dataset.words}: ${root.querySelector("b").textContent}`;
  const rows = [...root.querySelectorAll("tbody tr")];
  return { root, id: root.id, name, text: plain(name), rows };
});

/** The words of a query; a number belongs to the name before it, as in “Graviton 4”. */
function tokens(query) {
  const found = [];
  for (const word of plain(query)
    .split(/[\s,:;+]+/)
    .filter(Boolean)) {
    const last = found.at(-1);
    const isName = last && /^[a-z]+$/.test(last) && !operations.some(({ text }) => text.includes(last));
    if (isName && /^\d\w{0,2}$/.test(word)) found[found.length - 1] += word;
    else found.push(word);
  }
  return found;
}

const most = (list, score) => {
  const best = Math.max(1, ...list.map(score));
  return list.filter((one) => score(one) === best);
};

function commonStart(a, b) {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

/** How long the start is that a word shares with a word of the name. */
const nearness = (machine, word) =>
  Math.max(
    ...machine.name
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .map((part) => commonStart(part, word)),
  );

/** What a query is about: operations, machines, and for words that no machine has, what is nearest. */
function understand(query) {
  const all = tokens(query);
  const of = (list, word) => list.some(({ text }) => text.includes(word));
  const named = all.filter((word) => of(operations, word));
  const owned = all.filter((word) => !named.includes(word) && of(machines, joined(word)));
  const missing = all.filter((word) => !named.includes(word) && !owned.includes(word));
  const count = (list) => (one) =>
    list.filter((word) => one.text.includes(joined(word)) || one.text.includes(word)).length;
  const nearest = missing.flatMap((word) => {
    const near = (machine) => nearness(machine, word);
    return Math.max(0, ...machines.map(near)) < 4 ? [] : most(machines, near);
  });
  const owners = owned.length ? most(machines, count(owned)) : [];
  return {
    operations: named.length ? most(operations, count(named)) : [],
    machines: owners.length ? owners : nearest,
    missing,
    nearest,
  };
}

const link = (target, text) => el("a", { href: `#${target.id}` }, text || target.name);
const cost = (row) => row.querySelector(".cost-figure").textContent;
const rowOf = (operation, machine) => operation.rows.find((row) => row.dataset.machine === machine.id);
/** The place of a machine; where machines differ in size, its size. */
const place = ({ root, rows }, row) =>
  root.classList.contains("unlike")
    ? row.querySelector(".cost-note")?.textContent
    : `${rows.indexOf(row) + 1} of ${rows.length}`;
const answer = (operation, row, machine) =>
  el("li", {}, link(operation), ": ", link(machine), ` ${cost(row)}, ${place(operation, row)}`);

function answers(query) {
  const found = understand(query);
  const owner = (row) => machines.find(({ id }) => id === row.dataset.machine);
  const lines = found.operations.flatMap((operation) => {
    const rows = found.machines.length
      ? found.machines.map((machine) => rowOf(operation, machine))
      : operation.rows.slice(0, 3);
    return rows.filter(Boolean).map((row) => [operation, row, owner(row)]);
  });
  const isShown = ([, row]) => !row.hidden;
  const items = lines
    .filter(isShown)
    .slice(0, 12)
    .map((line) => answer(...line));
  if (!items.length) items.push(...found.machines.slice(0, 12).map((machine) => el("li", {}, link(machine))));
  if (!items.length) items.push(...found.operations.slice(0, 12).map((operation) => el("li", {}, link(operation))));
  const near = found.nearest.length ? "The nearest are below." : "";
  const missing = found.missing.map((word) => el("p", {}, `Nothing here is called “${word}”. ${near}`));
  return [missing, el("ul", {}, items)];
}

const form = byId("find");
const { query, vendor, generation, cores } = form.elements;
const RANGES = ["1–8", "9–16", "17–32", "33–64", "65–"];
const isIn = (range, count) => {
  const [low, high] = range.split("–").map(Number);
  return count >= low && (!high || count <= high);
};

function fill(select, values) {
  select.append(el("option", { value: "" }, "all"), ...values.map((value) => el("option", {}, value)));
}

function refresh() {
  const fits = (machine) =>
    (!vendor.value || machine.vendor.split(" ").includes(vendor.value)) &&
    (!generation.value || machine.generation === generation.value) &&
    (!cores.value || isIn(cores.value, machine.cores));
  const shown = new Set(machines.filter(fits).map(({ id }) => id));
  machines.forEach(({ root, id }) => (root.hidden = !shown.has(id)));
  for (const { root, rows } of operations) {
    rows.forEach((row) => (row.hidden = !shown.has(row.dataset.machine)));
    root.hidden = rows.every((row) => row.hidden);
  }
  byId("found").replaceChildren(...(query.value.trim() ? answers(query.value).flat() : []));
}

/** Opens what the address names; `#find=` is a query. */
function follow() {
  const place = decodeURIComponent(location.hash.slice(1));
  if (place.startsWith("find=")) query.value = place.slice("find=".length);
  refresh();
  const target = byId(place);
  if (!target || target.tagName !== "DETAILS") return;
  target.open = true;
  target.scrollIntoView();
}

/** The rows that are shown, as a drawing with the dots of the table. */
function drawing(root) {
  const rows = [...root.querySelectorAll("tbody tr")].filter((row) => !row.hidden);
  const text = (x, y, anchor, content) => words({ x, y, "text-anchor": anchor, "font-size": 12 }, content);
  const line = (row, at) => {
    const y = 18 * at + 14;
    const dot = row.querySelector(".dot");
    const name = row.querySelector("th a").textContent;
    return [
      text(0, y, "start", name.length > 52 ? `${name.slice(0, 51)}…` : name),
      text(430, y, "end", cost(row)),
      dot && svg("circle", { cx: 444 + 2.6 * parseFloat(dot.style.left), cy: y - 4, r: 4, class: row.className }),
    ];
  };
  return svg("svg", { viewBox: `0 0 712 ${18 * rows.length + 4}`, class: "picture" }, rows.map(line));
}

function savePicture(root, title) {
  const picture = drawing(root);
  root.append(picture);
  const scale = root.querySelector("th.strip");
  const named = scale ? `${title}, ${scale.textContent}; grey: published` : title;
  savePng(svgText({ drawing: { root: picture }, root, below: el("div") }, named, []), root.id, 2);
  picture.remove();
}

for (const { root, name } of [...operations, ...machines]) {
  const save = () => savePicture(root, name);
  root
    .querySelector(".links")
    .append(" ", el("button", { type: "button", class: "quiet", click: save }, "Save as picture"));
}

const known = (values) => [...new Set(values)].filter(Boolean).sort();
fill(vendor, known(machines.flatMap((machine) => machine.vendor.split(" "))));
fill(generation, known(machines.map((machine) => machine.generation)));
fill(cores, RANGES);
form.hidden = false;
form.addEventListener("input", () => {
  refresh();
  history.replaceState(null, "", query.value ? `#find=${encodeURIComponent(query.value)}` : location.pathname);
});
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", follow);
follow();
