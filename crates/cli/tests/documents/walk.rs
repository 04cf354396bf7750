//! `docs/WALK.md` leads a reader through the code: every file and function that it names is there, and no walk is long.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Files that a reader opens to follow one case.
const MOST_FILES: usize = 25;

/// The cells of a table's line.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`')).collect()
}

/// Whether a text defines a name: a function, a type, a static.
fn defines(text: &str, name: &str) -> bool {
    let follows = |keyword: &str, end: &[char]| {
        text.match_indices(&format!("{keyword} {name}"))
            .any(|(at, found)| text[at + found.len()..].starts_with(|next| end.contains(&next)))
    };
    follows("fn", &['(', '<'])
        || follows("static", &[':'])
        || follows("struct", &[' '])
        || follows("function", &['('])
        || follows("void", &['('])
}

#[test]
fn every_step_of_a_walk_is_in_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/WALK.md")).unwrap();
    let walks: Vec<&str> = page.split("\n## ").filter(|part| part.contains("| step |")).collect();
    assert_eq!(walks.len(), 2, "one walk for each kind of hardware");
    for walk in walks {
        let steps: Vec<Vec<&str>> = walk.lines().filter(|line| line.starts_with("| ")).skip(1).map(cells).collect();
        assert!(steps.len() > 20, "{walk}");
        for (number, step) in (1..).zip(&steps) {
            let &[step, _, file, name] = step.as_slice() else { panic!("{step:?} has four cells") };
            assert_eq!(step, number.to_string());
            let text = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(defines(&text, name), "{file} defines {name}");
        }
        let files: BTreeSet<&str> = steps.iter().map(|step| step[2]).collect();
        assert!(files.len() <= MOST_FILES, "{} files", files.len());
    }
}

#[test]
fn a_name_that_is_only_used_is_not_defined() {
    assert!(defines("fn take(self)", "take") && defines("pub static COLUMNS: [Column; 2]", "COLUMNS"));
    assert!(!defines("self.take()", "take") && !defines("fn take_batch(self)", "take"));
}
