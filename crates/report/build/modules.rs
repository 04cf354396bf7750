//! Joins the scripts of a page, which are ES modules, into one script. `build.rs` uses it, and the crate tests it.
//!
//! Each module becomes a function that returns its exports, placed after the modules that it imports. Supported is the form
//! that the scripts use: `import { a, b } from "./other.js";` at the beginning of a line, and `export` before a declaration.

use std::collections::BTreeMap;

/// A name of an `import`, and the module that has to export it.
type Import<'a> = (Vec<&'a str>, String);

/// Returns the script that starts with the module `entry`. `read` returns the text of a module by its path.
///
/// # Errors
/// If a module cannot be read, imports a name that is not exported, imports itself through others, or exports a name that
/// another module exports.
pub(crate) fn join(entry: &str, read: &impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut joined = Joined { read, exports: BTreeMap::new(), text: String::new() };
    joined.add(entry, &[])?;
    Ok(format!("(function () {{\n\"use strict\";\n{}}}());", joined.text))
}

struct Joined<'a, Read> {
    read: &'a Read,
    /// The exports of each module that is already joined.
    exports: BTreeMap<String, Vec<String>>,
    text: String,
}

impl<Read: Fn(&str) -> Result<String, String>> Joined<'_, Read> {
    fn add(&mut self, path: &str, importers: &[&str]) -> Result<(), String> {
        if importers.contains(&path) {
            return Err(format!("{path} imports itself: {} {path}", importers.join(" ")));
        }
        if self.exports.contains_key(path) {
            return Ok(());
        }
        let source = (self.read)(path)?;
        let (imports, body) = parts(path, &source)?;
        let mut head = String::new();
        for (names, from) in imports {
            self.add(&from, &[importers, &[path]].concat())?;
            if let Some(missing) = names.iter().find(|name| !self.exports[&from].iter().any(|known| known == *name)) {
                return Err(format!("{path} imports {missing}, which {from} does not export"));
            }
            head.extend(["const { ", &names.join(", "), " } = ", &variable(&from), ";\n"]);
        }
        let exported: Vec<String> = body.lines().filter_map(exported).map(str::to_owned).collect();
        for (other, names) in &self.exports {
            if let Some(twice) = exported.iter().find(|name| names.contains(name)) {
                return Err(format!("{path} and {other} both export {twice}"));
            }
        }
        let body = without_comments(&body.replace("\nexport ", "\n"));
        self.text.extend(["const ", &variable(path), " = (function () {\n", &head, &body]);
        self.text.extend(["\nreturn { ", &exported.join(", "), " };\n}());\n"]);
        self.exports.insert(path.to_owned(), exported);
        Ok(())
    }
}

/// Removes comment lines and indentation, which a page does not need. A comment has lines of its own, and no string spans
/// several lines (`scripts/lint-scripts.mjs`).
pub(crate) fn without_comments(text: &str) -> String {
    let mut is_within = false;
    let lines = text.lines().map(str::trim_start).filter(|line| {
        let is_whole = !line.contains("*/") || line.ends_with("*/");
        let begins = !is_within && line.starts_with("/*") && is_whole;
        let is_comment = is_within || begins || line.starts_with("//");
        is_within = (is_within || begins) && !line.ends_with("*/");
        !is_comment && !line.is_empty()
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Splits a module into its imports and the rest.
fn parts<'a>(path: &str, source: &'a str) -> Result<(Vec<Import<'a>>, String), String> {
    let (mut imports, mut body, mut rest) = (Vec::new(), String::new(), source);
    while let Some((before, after)) = rest.split_once("\nimport {") {
        let broken = || format!("{path} has an import that is not `import {{ … }} from \"…\";`");
        let (names, after) = after.split_once("} from \"").ok_or_else(broken)?;
        let (from, after) = after.split_once("\";").ok_or_else(broken)?;
        imports.push((names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect(), beside(path, from)));
        body += before;
        rest = after;
    }
    Ok((imports, body + rest))
}

/// The name that a line exports.
fn exported(line: &str) -> Option<&str> {
    let declaration = line.strip_prefix("export ")?;
    let (_, rest) = declaration.trim_start_matches("async ").split_once(' ')?;
    rest.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next()
}

/// Resolves a path that a module names relative to itself.
fn beside(path: &str, named: &str) -> String {
    let mut folders: Vec<&str> = path.split('/').collect();
    folders.pop();
    for part in named.split('/') {
        match part {
            "." => {}
            ".." => drop(folders.pop()),
            name => folders.push(name),
        }
    }
    folders.join("/")
}

/// The variable that holds the exports of a module.
fn variable(path: &str) -> String {
    format!("${}", path.trim_end_matches(".js").replace('/', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(modules: &[(&str, &str)]) -> Result<String, String> {
        let find =
            |path: &str| modules.iter().find(|(name, _)| *name == path).map(|(_, text)| format!("// A.\n\n{text}"));
        join("main.js", &|path| find(path).ok_or_else(|| format!("no {path}")))
    }

    const MAIN: &str = "import { a,\n  b } from \"./x/one.js\";\nimport { c } from \"./two.js\";\nuse(a, b, c);";
    const ONE: &str = "import { c } from \"../two.js\";\nexport const a = c;\nexport function b() {}\nconst own = 1;\n";
    const TWO: &str = "export async function c() {}\nconst own = 2;\n";

    #[test]
    fn a_module_stands_once_after_those_it_imports_from() {
        let text = of(&[("main.js", MAIN), ("x/one.js", ONE), ("two.js", TWO)]).unwrap();
        let places: Vec<_> = ["const $two =", "const $x_one =", "const $main ="].map(|part| text.find(part)).to_vec();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
        assert_eq!(text.matches("const $two =").count(), 1);
        assert!(text.contains("const { a, b } = $x_one;") && text.contains("return { a, b };"), "{text}");
        assert!(!text.contains("import") && !text.contains("export"), "{text}");
    }

    #[test]
    fn comments_stay_behind() {
        let text = "// a\nb(\"//\"); // c\n\n  /** d */\n  /* e\n  f */\n  g(\"/* */\");";
        assert_eq!(without_comments(text), "b(\"//\"); // c\ng(\"/* */\");\n");
    }

    #[test]
    fn what_modules_may_not_do_is_an_error_that_names_them() {
        let twice = TWO.replace("c()", "c() {}\nexport function a()");
        let back = TWO.to_owned() + "import { b } from \"./x/one.js\";\n";
        let hidden = TWO.replace("export ", "");
        for (two, error) in [
            (twice, "x/one.js and two.js both export a"),
            (back, "x/one.js imports itself: main.js x/one.js two.js x/one.js"),
            (hidden, "x/one.js imports c, which two.js does not export"),
            ("import { d } from './three.js';".to_owned(), "two.js has an import that is not"),
        ] {
            let found = of(&[("main.js", MAIN), ("x/one.js", ONE), ("two.js", &two)]).unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
        assert_eq!(of(&[("main.js", MAIN)]).unwrap_err(), "no x/one.js");
    }
}
