// Checks the scripts of the pages as modules: every name is declared, imported or a browser's; every import and export is used.
// `scripts/format --check` runs it, with prettier's parser: node scripts/lint-scripts.mjs PRETTIER FOLDER..

import { readFileSync, readdirSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const [, , prettier, ...folders] = process.argv;
const parser = pathToFileURL(join(prettier, "plugins/acorn.mjs"));
const { parsers } = (await import(parser)).default;

const BROWSER = new Set(
  `Array Blob Boolean Event Float64Array Image Infinity Int8Array Intl IntersectionObserver JSON KeyboardEvent Map Math Node Number
   Object Plot RegExp ResizeObserver Set String URL URLSearchParams XMLSerializer Element addEventListener clearTimeout decodeURIComponent document
   encodeURIComponent getComputedStyle history innerHeight innerWidth localStorage location matchMedia navigator parseFloat performance
   requestAnimationFrame setTimeout undefined window`.split(/\s+/),
);

/** The names that a pattern binds. */
function bound(pattern) {
  if (!pattern) return [];
  if (pattern.type === "Identifier") return [pattern.name];
  if (pattern.type === "ObjectPattern") return pattern.properties.flatMap((one) => bound(one.value || one.argument));
  if (pattern.type === "ArrayPattern") return pattern.elements.flatMap(bound);
  return bound(pattern.left || pattern.argument);
}

const isFunction = ({ type }) => /Function/.test(type);
const children = (node) =>
  Object.entries(node)
    .filter(([key]) => !["range", "loc", "comments", "tokens"].includes(key))
    .flatMap(([, value]) => value)
    .filter((value) => value && typeof value.type === "string");

/** What a scope declares itself: not in the functions and blocks within it. */
function declared(node, isTop = true) {
  const own = [];
  if (node.type === "VariableDeclarator") own.push(...bound(node.id));
  if (["FunctionDeclaration", "ClassDeclaration"].includes(node.type) && !isTop) return [node.id.name];
  if (node.type.startsWith("Import") && node.local) own.push(node.local.name);
  if (isFunction(node) && !isTop) return own;
  if (node.type === "BlockStatement" && !isTop) return own;
  return own.concat(children(node).flatMap((one) => declared(one, false)));
}

/** Calls `use` with each name that no scope around it declares. */
function freeNames(node, scopes, use) {
  const opens =
    isFunction(node) ||
    ["Program", "BlockStatement", "ForStatement", "ForOfStatement", "CatchClause"].includes(node.type);
  const own = opens ? new Set([...declared(node), ...(node.params || []).flatMap(bound), ...bound(node.param)]) : null;
  const inner = own ? [...scopes, own] : scopes;
  if (node.type === "Identifier" && !inner.some((scope) => scope.has(node.name))) use(node.name);
  for (const child of children(node)) {
    const isKey =
      (node.type === "MemberExpression" && child === node.property && !node.computed) ||
      (node.type === "Property" && child === node.key && !node.computed && !node.shorthand) ||
      (node.type === "ImportSpecifier" && child === node.imported);
    if (!isKey) freeNames(child, inner, use);
  }
}

/** The path of a file from here; a folder may lead to that of another crate. */
const path = (...parts) => relative(".", realpathSync(join(...parts)));
const scripts = (folder) => readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js"));
const files = new Set(folders.flatMap((folder) => scripts(folder).map((name) => path(folder, name))));
const modules = [...files].map((name) => {
  const text = readFileSync(name, "utf8");
  const { body } = parsers.acorn.parse(text, { filepath: name });
  const program = { type: "Program", body };
  const exported = body.flatMap(({ type, declaration }) =>
    type === "ExportNamedDeclaration"
      ? declaration.declarations?.flatMap(({ id }) => bound(id)) || [declaration.id.name]
      : [],
  );
  const imported = body
    .filter(({ type }) => type === "ImportDeclaration")
    .flatMap(({ source, specifiers }) =>
      specifiers.map(({ local }) => ({
        name: local.name,
        from: path(name, "..", source.value),
      })),
    );
  return { name, text, program, exported, imported };
});

/** The page leaves out the indentation of lines. */
const spansLines = (node) =>
  node.type === "TemplateElement" ? node.value.raw.includes("\n") : children(node).some(spansLines);

const faults = [];
for (const { name, program, imported, exported } of modules) {
  freeNames(program, [], (free) => BROWSER.has(free) || faults.push(`${name}: ${free} is not declared`));
  if (spansLines(program)) faults.push(`${name}: a text reaches over several lines`);
  const used = new Set();
  const rest = program.body.filter(({ type }) => type !== "ImportDeclaration");
  freeNames({ type: "Body", body: rest }, [], (free) => used.add(free));
  for (const one of imported) if (!used.has(one.name)) faults.push(`${name}: imports ${one.name} and does not use it`);
  for (const one of exported)
    if (!modules.some((other) => other.imported.some((own) => own.name === one && own.from === name)))
      faults.push(`${name}: exports ${one}, which nothing imports`);
}
console.log([...new Set(faults)].join("\n"));
process.exit(faults.length ? 1 : 0);
