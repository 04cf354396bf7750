//! Queries on stored runs.
//!
//! ```text
//! {{RUN PRIMITIVE name=value .. : FORMAT}}             one row, or several with `min`, `max`, `range`, `median`, `p95`
//! {{RUN PRIMITIVE name=value .. / RUN .. : FORMAT}}    two rows, or pairs of rows that differ in the named columns alone
//! {{RUN FILE.csv name=value .. : FORMAT}}              a line of another table
//! ```
//!
//! A value is a text, several as `1|4|8`, `-` for an empty cell, `*` for one that is not, or `?` for any. The file `run` has the
//! duration of the run. `+` stands for a space. A column
//! that is not named may hold anything, except that `form` is the default one. The last part of a primitive's id may be `*`. A
//! second row that begins with `~` is the first one with other values. [`super::format`] has the formats.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::format::{self, Pair};
use super::tables::{Line, Runs};

/// Columns that identify a case; pairs agree in all of them that no query names.
const PARAMETERS: [&str; 15] = [
    "primitive",
    "dtype",
    "layout",
    "stride",
    "threads",
    "blocks",
    "devices",
    "placement",
    "scope",
    "space",
    "order",
    "mode",
    "group",
    "form",
    "elements",
];

/// What a query selects.
#[derive(Debug, Clone, Default)]
struct Selection {
    run: String,
    /// A primitive or a file.
    of: String,
    conditions: Vec<(String, String)>,
}

impl Selection {
    fn parse(text: &str, first: Option<&Self>) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let mut selection = Self::default();
        match (words.next(), first) {
            (Some("~"), Some(first)) => selection = first.clone(),
            (Some(run), _) => {
                run.clone_into(&mut selection.run);
                words.next().ok_or("a primitive or a file is missing")?.clone_into(&mut selection.of);
            }
            (None, _) => return Err("a run is missing".to_owned()),
        }
        for word in words {
            let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is no condition"))?;
            if name == "run" {
                value.clone_into(&mut selection.run);
                continue;
            }
            if name == "primitive" {
                value.clone_into(&mut selection.of);
                continue;
            }
            selection.conditions.retain(|(known, _)| known != name);
            selection.conditions.push((name.to_owned(), value.replace('+', " ")));
        }
        Ok(selection)
    }

    fn is_file(&self) -> bool {
        self.of == "run" || self.of.strip_suffix(".csv").is_some()
    }

    fn names(&self) -> BTreeSet<&str> {
        let named = self.conditions.iter().map(|(name, _)| name.as_str());
        named.chain((!self.is_file() && !self.of.contains('*')).then_some("primitive")).collect()
    }

    fn lines(&self, runs: &Runs) -> Result<Vec<Line>, String> {
        let table: Rc<Vec<Line>> = runs.table(&self.run, self.is_file().then_some(self.of.as_str()))?;
        for (name, _) in &self.conditions {
            if !table.iter().any(|line| line.contains_key(name)) {
                return Err(format!("{} has no column `{name}`", self.run));
            }
        }
        Ok(table.iter().filter(|line| self.fits(line)).cloned().collect())
    }

    fn fits(&self, line: &Line) -> bool {
        let cell = |name: &str| line.get(name).map_or("", String::as_str);
        let named = |name: &str| self.conditions.iter().any(|(known, _)| known == name);
        if !self.is_file() {
            let is_of = match self.of.strip_suffix('*') {
                Some(start) => cell("primitive").starts_with(start),
                None => cell("primitive") == self.of,
            };
            if !is_of || (!named("form") && !cell("form").is_empty()) {
                return false;
            }
        }
        self.conditions.iter().all(|(name, value)| match value.as_str() {
            "?" => true,
            "-" => cell(name).is_empty(),
            "*" => !cell(name).is_empty(),
            values => values.split('|').any(|value| value == cell(name)),
        })
    }
}

/// The text that stands in the place of a query.
pub(crate) fn answer(text: &str, runs: &Runs) -> Result<String, String> {
    let (selected, format) = text.rsplit_once(" : ").ok_or("` : FORMAT` is missing")?;
    match selected.split_once(" / ") {
        None => format::of_lines(&Selection::parse(selected, None)?.lines(runs)?, format.trim()),
        Some((one, other)) => {
            let one = Selection::parse(one, None)?;
            let other = Selection::parse(other, Some(&one))?;
            let (lines, others) = (one.lines(runs)?, other.lines(runs)?);
            if let Some(format) = format.trim().strip_prefix("share") {
                return format::share(lines.len(), others.len(), format);
            }
            format::of_pairs(&pairs(&one, lines, &other, &others), format.trim())
        }
    }
}

fn pairs(one: &Selection, lines: Vec<Line>, other: &Selection, others: &[Line]) -> Vec<Pair> {
    if let ([line], [other]) = (lines.as_slice(), others) {
        return vec![(line.clone(), other.clone())];
    }
    let named: BTreeSet<&str> = one.names().union(&other.names()).copied().collect();
    let key = |line: &Line| -> Vec<String> {
        let open = PARAMETERS.iter().filter(|name| !named.contains(**name));
        open.map(|name| line.get(*name).cloned().unwrap_or_default()).collect()
    };
    let mut by_key: HashMap<Vec<String>, &Line> = HashMap::new();
    for other in others {
        by_key.entry(key(other)).or_insert(other);
    }
    lines.into_iter().filter_map(|line| by_key.get(&key(&line)).map(|other| (line.clone(), (*other).clone()))).collect()
}
