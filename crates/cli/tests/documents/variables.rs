//! Every environment variable that the code reads is in docs/GUIDE.md, for users, or in CONTRIBUTING.md.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Variables that build scripts set for the compiler, not for people.
const OF_THE_BUILD: [&str; 5] =
    ["SYNCSCOPE_COMMIT", "SYNCSCOPE_MODIFIED", "SYNCSCOPE_VERSION", "SYNCSCOPE_LIBRARIES", "SYNCSCOPE_RUSTC"];

/// The variables that occur as complete string literals in the Rust files below a folder.
fn variables(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            variables(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let quoted = text.split('"').filter(|part| part.starts_with("SYNCSCOPE_") && !part.ends_with('_'));
            let is_name = |part: &&str| part.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
            found.extend(quoted.filter(is_name).map(str::to_owned));
        }
    }
}

#[test]
fn every_variable_is_explained() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeSet::new();
    variables(&root.join("crates"), &mut found);
    assert!(found.len() > 20, "{found:?}");
    let tables = [("docs/GUIDE.md", "## Environment variables"), ("CONTRIBUTING.md", "## Variables")];
    let table = |(page, heading): (&str, &str)| {
        fs::read_to_string(root.join(page)).unwrap().split(heading).nth(1).unwrap().to_owned()
    };
    let table = tables.map(table).concat();
    let is_missing = |name: &&String| !table.contains(&format!("`{name}`")) && !OF_THE_BUILD.contains(&name.as_str());
    assert_eq!(found.iter().filter(is_missing).collect::<Vec<_>>(), [] as [&String; 0]);
}
