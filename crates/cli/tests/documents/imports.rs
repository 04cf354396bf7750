//! Imports between files of a crate form no cycle: each file can be read, and tested, after those that it uses. The rooms of
//! the report rest on few floors.
//!
//! A folder's own files may use what its `mod.rs` defines and are imported by it, so `super::` alone is not an arrow. From a
//! prelude, a file imports what it names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::folders::{crates, folders, rust_files};

/// The place of a file in its crate: `["engine", "judge"]`.
type Module = Vec<String>;

/// The modules of a crate with their texts, without tests.
fn modules(source: &Path) -> BTreeMap<Module, String> {
    let files = folders(source).into_iter().flat_map(|folder| rust_files(&folder));
    let files = files.filter(|file| !file.ends_with("tests.rs"));
    let module = |file: &Path| -> Module {
        let path = file.strip_prefix(source).unwrap().with_extension("");
        let mut names: Module = path.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
        names.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
        names
    };
    let text =
        |file: &Path| fs::read_to_string(file).unwrap().split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned();
    files.map(|file| (module(&file), text(&file))).collect()
}

/// The paths of a `use`, such as `a::{b, c::d}`.
fn paths(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap().trim().to_owned()];
    };
    let (mut depth, mut branches) = (0, vec![String::new()]);
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    for letter in inner.chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        match letter {
            ',' if depth == 0 => branches.push(String::new()),
            _ => branches.last_mut().unwrap().push(letter),
        }
    }
    let branches = branches.iter().filter(|branch| !branch.trim().is_empty());
    branches.flat_map(|branch| paths(branch.trim())).map(|path| format!("{}{path}", prefix.trim())).collect()
}

/// What a module imports, what it re-exports, and from which modules it imports everything, as places in the crate.
fn uses(module: &[String], text: &str, all: &BTreeMap<Module, String>) -> [Vec<Module>; 3] {
    let (mut imported, mut exported, mut preludes) = (Vec::new(), Vec::new(), Vec::new());
    for (at, _) in text.match_indices("use ") {
        let line = text[..at].rsplit('\n').next().unwrap().trim();
        if !line.is_empty() && !line.starts_with("pub") {
            continue;
        }
        // `super::*` is for tests.
        let listed = paths(text[at + 4..].split(';').next().unwrap()).into_iter().filter(|path| path != "super::*");
        for path in listed {
            let mut parts: Module = path.split("::").map(|name| name.trim().to_owned()).collect();
            let is_all = parts.pop_if(|last| last == "*").is_some();
            let mut base = module.to_vec();
            let ups = parts.iter().take_while(|name| *name == "super").count();
            base.truncate(module.len().saturating_sub(ups));
            let place = match parts[0].as_str() {
                "crate" => parts[1..].to_vec(),
                "self" => [base, parts[1..].to_vec()].concat(),
                _ if ups > 0 => [base, parts[ups..].to_vec()].concat(),
                first if all.contains_key(&[base.as_slice(), &[first.to_owned()]].concat()) => [base, parts].concat(),
                _ => continue,
            };
            match (is_all, line.is_empty()) {
                (true, _) => preludes.push(place),
                (false, true) => imported.push(place),
                (false, false) => exported.push(place),
            }
        }
    }
    [imported, exported, preludes]
}

/// The re-exports of a module that a text names.
fn named<'a>(
    text: &'a str,
    prelude: &[String],
    exports: &'a BTreeMap<&Module, Vec<Module>>,
) -> impl Iterator<Item = &'a Module> {
    let words: BTreeSet<&str> = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    let module = (0..=prelude.len()).rev().find_map(|depth| exports.get(&prelude[..depth].to_vec()));
    module.into_iter().flatten().filter(move |place| place.last().is_some_and(|name| words.contains(name.as_str())))
}

/// The module that defines what a place names.
fn definer(place: &[String], all: &BTreeMap<Module, String>, exports: &BTreeMap<&Module, Vec<Module>>) -> Module {
    let depth = (0..=place.len()).rev().find(|depth| all.contains_key(&place[..*depth])).unwrap();
    let (module, rest) = (place[..depth].to_vec(), &place[depth..]);
    let exported = exports.get(&module).into_iter().flatten();
    let from = rest.first().and_then(|name| exported.into_iter().find(|export| export.last() == Some(name)));
    match from {
        Some(export) if export.as_slice() != place => definer(&[export.as_slice(), &rest[1..]].concat(), all, exports),
        _ => module,
    }
}

/// The modules that each module uses; its own parents are not arrows.
fn arrows(all: &BTreeMap<Module, String>) -> BTreeMap<&Module, BTreeSet<Module>> {
    let uses: BTreeMap<&Module, _> = all.iter().map(|(module, text)| (module, uses(module, text, all))).collect();
    let exports = uses.iter().map(|(module, [_, exported, _])| (*module, exported.clone())).collect();
    let of = |(module, [imported, _, preludes]): (&&Module, &[Vec<Module>; 3])| {
        let of_preludes = preludes.iter().flat_map(|prelude| named(&all[*module], prelude, &exports));
        let defined = imported.iter().chain(of_preludes).map(|place| definer(place, all, &exports));
        defined.filter(|defined| !module.starts_with(defined)).collect()
    };
    uses.iter().map(|one| (*one.0, of(one))).collect()
}

/// The modules of a crate that can be reached from themselves.
fn circles(all: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let arrows = arrows(all);
    let reaches_itself = |start: &&Module| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![*start]);
        while let Some(next) = open.pop() {
            open.extend(arrows[next].iter().filter(|other| seen.insert(*other)));
        }
        seen.contains(*start)
    };
    all.keys().filter(reaches_itself).cloned().collect()
}

/// The floors of a crate: a room is above the highest room that it uses. Rooms are the files and folders of the crate; `analysis`
/// is large enough for rooms of its own.
fn floors(all: &BTreeMap<Module, String>) -> BTreeMap<Module, usize> {
    let room = |module: &Module| {
        let parts = if module.first().is_some_and(|first| first == "analysis") { 2 } else { 1 };
        module.iter().take(parts).cloned().collect::<Module>()
    };
    let mut below: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, used) in arrows(all) {
        below.entry(room(module)).or_default().extend(used.iter().map(room).filter(|used| *used != room(module)));
    }
    // The crate's own file re-exports the others.
    below.remove(&Module::new());
    let mut floors = BTreeMap::new();
    while floors.len() < below.len() {
        let known = floors.len();
        for (room, used) in &below {
            let used = used.iter().filter(|used| below.contains_key(*used));
            let under: Option<Vec<usize>> = used.map(|used| floors.get(used).copied()).collect();
            if let (false, Some(under)) = (floors.contains_key(room), under) {
                floors.insert(room.clone(), 1 + under.into_iter().max().unwrap_or(0));
            }
        }
        let left: Vec<&Module> = below.keys().filter(|room| !floors.contains_key(*room)).collect();
        assert!(floors.len() > known, "rooms that use each other are among {left:?}");
    }
    floors
}

/// The report reads in one direction, from the row to the page.
#[test]
fn the_report_has_few_floors() {
    const MOST: usize = 8;
    let report = crates().into_iter().find(|one| one.ends_with("report")).unwrap();
    let high: Vec<_> = floors(&modules(&report.join("src"))).into_iter().filter(|(_, floor)| *floor > MOST).collect();
    assert!(high.is_empty(), "above floor {MOST}: {high:?}");
}

#[test]
fn a_room_stands_on_the_highest_that_it_uses() {
    let module =
        |name: &str, text: &str| (name.split_terminator("::").map(str::to_owned).collect::<Module>(), text.to_owned());
    let all = BTreeMap::from([
        module("", "mod a;\npub use b::B;"),
        module("a", "use crate::b::c::C;\nuse crate::d::D;"),
        module("b::c", "use crate::d::D;"),
        module("b::e", "use super::c::C;"),
        module("d", ""),
        module("analysis::f", "use super::g::G;\nuse crate::a::A;"),
        module("analysis::g", "use crate::d::D;"),
    ]);
    let floors: Vec<_> = floors(&all).into_iter().map(|(room, floor)| (room.join("::"), floor)).collect();
    let expected = [("a", 3), ("analysis::f", 4), ("analysis::g", 2), ("b", 2), ("d", 1)];
    assert_eq!(floors, expected.map(|(room, floor)| (room.to_owned(), floor)));
}

#[test]
fn imports_form_no_circle() {
    let mut found = BTreeSet::new();
    for one in crates() {
        let name = one.file_name().unwrap().to_str().unwrap().to_owned();
        let modules = circles(&modules(&one.join("src"))).into_iter();
        found.extend(modules.map(|module| format!("{name}::{}", module.join("::"))));
    }
    assert_eq!(found, BTreeSet::new());
}

#[test]
fn a_circle_over_a_re_export_is_found() {
    let module =
        |name: &str, text: &str| (name.split_terminator("::").map(str::to_owned).collect::<Module>(), text.to_owned());
    let of = |d: &str| -> Vec<Module> {
        let all = BTreeMap::from([
            module("", "mod a;"),
            module("a", "mod b;\npub use b::{B, C};"),
            module("a::b", "use crate::{c, x::Y};\nuse super::Root;"),
            module("c", "use std::fmt;\nuse crate::d::{\n    D, E as F,\n};"),
            module("d", d),
            module("prelude", "pub use crate::a::C;"),
        ]);
        circles(&all).into_iter().collect()
    };
    assert!(of("use crate::e;").is_empty());
    let names = |modules: Vec<Module>| modules.iter().map(|module| module.join("::")).collect::<Vec<_>>();
    assert_eq!(names(of("use crate::a::C;")), ["a::b", "c", "d"]);
    assert_eq!(names(of("use crate::prelude::*;\nfn of(c: C) {}")), ["a::b", "c", "d"], "of all, it names this");
    assert!(of("use crate::prelude::*;").is_empty());
}
