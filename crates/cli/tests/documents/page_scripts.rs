//! The scripts of the pages: they share one scope, and the primitives that they name are those of the catalogue.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syncscope_report::page;

/// Whether a text has the form of an id: `domain.family.name`.
fn is_id(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_word =
        |part: &str| !part.is_empty() && part.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric());
    parts.len() == 3 && ["cpu", "gpu", "hybrid", "mpi"].contains(&parts[0]) && parts.into_iter().all(is_word)
}

fn catalogue() -> BTreeSet<&'static str> {
    let parts = [syncscope_cpu::catalogue(), syncscope_gpu::primitives(), syncscope_cpu::mpi::primitives()];
    parts.into_iter().flatten().map(|primitive| primitive.id).collect()
}

#[test]
fn the_scripts_of_the_page_name_primitives_of_the_catalogue() {
    // The page of no run holds the scripts, but no rows.
    let page = page::render(&[]);
    let named: BTreeSet<&str> = page.split('"').filter(|text| is_id(text)).collect();
    assert!(named.contains("cpu.atomic.add") && named.contains("gpu.atomic.add"), "{named:?}");
    let unknown: Vec<_> = named.difference(&catalogue()).copied().collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

/// The names that a script declares at its top level, where no line is indented.
fn declared(script: &str) -> Vec<String> {
    const KEYWORDS: [&str; 6] = ["function", "async function", "class", "const", "let", "var"];
    let lines = script.lines().scan(0, |at, line| {
        let start = *at;
        *at += line.len() + 1;
        Some((start, line))
    });
    let declaration = |(start, line): (usize, &str)| {
        let keyword =
            KEYWORDS.iter().find(|word| line.strip_prefix(**word).is_some_and(|rest| rest.starts_with([' ', '*'])))?;
        let rest = &script[start + keyword.len()..];
        let end = if keyword.ends_with("function") || *keyword == "class" {
            rest.find(['(', '{'])
        } else {
            rest.find(['=', ';'])
        };
        Some(rest[..end.unwrap_or(rest.len())].to_owned())
    };
    // Of `{ a: b }` the name is b, of `class A extends B` it is A.
    let names = |pattern: String| -> Vec<String> {
        let pattern =
            pattern.split(" extends ").next().unwrap_or_default().replace(|one: char| "[]{}*".contains(one), " ");
        let parts = pattern.split(',').map(|part| part.rsplit(':').next().unwrap_or_default().trim().to_owned());
        parts.filter(|name| !name.is_empty()).collect()
    };
    lines.filter_map(declaration).flat_map(names).collect()
}

/// The names that are declared more than once, with their scripts.
fn declared_twice(scripts: &[(String, String)]) -> Vec<String> {
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (file, text) in scripts {
        for name in declared(text) {
            found.entry(name).or_default().push(file);
        }
    }
    found.into_iter().filter(|(_, files)| files.len() > 1).map(|(name, files)| format!("{name}: {files:?}")).collect()
}

#[test]
fn scripts_of_one_scope_declare_each_name_once() {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/assets/js");
    let read = |name: &str| (name.to_owned(), fs::read_to_string(assets.join(name)).unwrap());
    let page: Vec<_> = read("order.txt").1.lines().map(read).collect();
    assert!(page.len() > 30 && page.iter().flat_map(|(_, text)| declared(text)).count() > 500);
    assert_eq!(declared_twice(&page), Vec::<String>::new());
    let gallery = ["dom.js", "chart/export.js", "gallery.js"].map(read);
    assert_eq!(declared_twice(&gallery), Vec::<String>::new());
}

#[test]
fn a_name_that_is_declared_twice_is_found() {
    let script = |text: &str| ("one.js".to_owned(), text.to_owned());
    let first =
        script("const [A, B] = [1, 2];\nfunction f(row) {\n  const inner = 1;\n}\nlet c;\nclass D extends E {}\n");
    for second in [
        "function f(text) {}",
        "async function B() {}",
        "const {\n  x: A,\n} = {};",
        "let c = 1;",
        "class D {}",
        "function* f() {}",
    ] {
        assert_eq!(declared_twice(&[first.clone(), script(second)]).len(), 1, "{second}");
    }
    assert!(
        declared_twice(&[first, script("const { A: x, y } = {};\nconst inner = f;\n  let B;\nconst E = 1;")])
            .is_empty()
    );
}
