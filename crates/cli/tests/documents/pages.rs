//! The documents that people write: their links have targets, and they stay short.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::folders::crates;

/// Documents that tests generate.
const GENERATED: [&str; 4] = ["docs/CLAIMS.md", "docs/COLUMNS.md", "docs/PRIMITIVES.md", "docs/QUESTIONS.md"];

/// The most words in all documents that people write, as `wc -w` counts them.
const MOST_WORDS: usize = 20_000;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every Markdown document with its text, by its path in the project.
pub(crate) fn documents() -> BTreeMap<String, String> {
    let root = root();
    let folders = ["", ".github", "docs", "docs/notes", "results"].map(|folder| root.join(folder));
    let folders = folders.into_iter().chain(crates());
    let entries = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let files =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "md"));
    let name = |path: &Path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    files.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect()
}

/// The lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The anchors that GitHub gives to the headings of a document.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let anchor = |line: &str| -> String {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn recipes_and_citation_name_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, words) in [
        ("CITATION.cff", format!("\nversion: {version}\n")),
        ("packaging/conda/recipe.yaml", format!("  version: \"{version}\"\n")),
        ("packaging/conda/recipe.yaml", format!("/releases/download/v{version}/syncscope-{version}.tar.gz\n")),
        ("packaging/spack/package.py", format!("version(\"{version}\", sha256=")),
        ("packaging/spack/package.py", format!("/releases/download/v{version}/syncscope-{version}.tar.gz\"\n")),
        ("CHANGELOG.md", format!("## {version} ")),
        ("SECURITY.md", format!("gh attestation verify syncscope-{version}-")),
        ("examples/ci/action.yml", format!("install --quiet syncscope=={version}\n")),
    ] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(&words), "{file} has no {words:?}");
    }
}

#[test]
fn every_link_leads_somewhere() {
    let documents = documents();
    let mut broken = Vec::new();
    for (name, text) in &documents {
        let folder = root().join(name).parent().unwrap().to_owned();
        let links = prose(text).flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { root().join(name) } else { folder.join(file) };
            let Ok(target) = target.canonicalize() else {
                broken.push(format!("{name}: {link}"));
                continue;
            };
            let target = target.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            let has_anchor = |text: &String| anchors(text).iter().any(|known| known == anchor);
            if !anchor.is_empty() && !documents.get(&target).is_some_and(has_anchor) {
                broken.push(format!("{name}: {link}"));
            }
        }
    }
    assert_eq!(broken, [] as [String; 0]);
    assert!(documents.len() > 15 && documents.contains_key("docs/METHOD.md"));
}

#[test]
fn the_documents_stay_short() {
    let written = documents().into_iter().filter(|(name, _)| !GENERATED.contains(&name.as_str()));
    let words: BTreeMap<String, usize> = written.map(|(name, text)| (name, text.split_whitespace().count())).collect();
    let sum: usize = words.values().sum();
    assert!(sum <= MOST_WORDS, "{sum} words: {words:#?}");
}
