//! The data of the page as JSON, in the form that the scripts read (`assets/js/data.js`).

use serde::Serialize;
use syncscope_core::{Form, Row, Run};

use super::columns::{self, Cells};
use super::html::escape_json;
use crate::analysis::false_sharing;
use crate::analysis::highlights::HIGHLIGHTS;
use crate::analysis::ladder::LADDER;
use crate::analysis::matrix::{self, Matrix};
use crate::{RunData, figure, naming};

#[derive(Serialize)]
struct Page<'a> {
    columns: Vec<&'static str>,
    runs: Vec<PageRun<'a>>,
    highlights: Vec<PageHighlight>,
    ladder: Vec<PageRung>,
    families: Vec<PageFamily<'a>>,
    /// The forms that are not the default: the word of the column, and the words for people.
    forms: Vec<(String, &'static str)>,
    /// Noisy estimates are shown if the relative half-width of their interval is smaller.
    rough_half_width: f64,
}

#[derive(Serialize)]
struct PageRun<'a> {
    label: &'a str,
    name: &'a str,
    cpu: String,
    gpus: Vec<String>,
    /// How long the run took, as text.
    duration: Option<String>,
    /// The description of machine and environment: labels and texts.
    facts: Vec<(&'static str, String)>,
    verdicts: Vec<(&'static str, usize)>,
    run: &'a Run,
    /// The finding on false sharing of each type, as a sentence.
    false_sharing: Vec<String>,
    matrix: Option<Matrix>,
    /// The details of the rows: the row's index, the name, the actor and the value.
    details: Vec<(usize, &'a str, Option<u32>, f64)>,
    /// The number of rows.
    count: usize,
    /// The number of provisional rows.
    provisional: usize,
    /// The cells of each column of [`Page::columns`].
    columns: Vec<Cells>,
}

#[derive(Serialize)]
struct PageHighlight {
    title: &'static str,
    /// The index of the selected row of each run.
    rows: Vec<Option<usize>>,
}

#[derive(Serialize)]
struct PageRung {
    domain: &'static str,
    level: &'static str,
    title: &'static str,
    /// The index of the selected row of each run.
    rows: Vec<Option<usize>>,
}

#[derive(Serialize)]
struct PageFamily<'a> {
    domain: &'a str,
    family: &'a str,
    title: String,
}

/// The data as JSON, safe inside a `script` element.
pub(super) fn json(runs: &[RunData], labels: &[String]) -> String {
    let page = Page {
        columns: columns::names(),
        runs: runs.iter().zip(labels).map(|(data, label)| page_run(data, label)).collect(),
        highlights: HIGHLIGHTS
            .iter()
            .map(|highlight| PageHighlight {
                title: highlight.title,
                rows: runs.iter().map(|data| highlight.find(&data.run, &data.rows)).collect(),
            })
            .filter(|highlight| highlight.rows.iter().any(Option::is_some))
            .collect(),
        ladder: LADDER
            .iter()
            .map(|rung| PageRung {
                domain: rung.domain(),
                level: rung.level,
                title: rung.title,
                rows: runs.iter().map(|data| rung.find(&data.run, &data.rows)).collect(),
            })
            .filter(|rung| rung.rows.iter().any(Option::is_some))
            .collect(),
        families: families(runs),
        forms: Form::ALL.iter().map(|form| (form.to_string(), naming::form(*form))).collect(),
        rough_half_width: figure::ROUGH_HALF_WIDTH,
    };
    // Serialization fails only for maps whose keys are not strings. This data has none.
    escape_json(&serde_json::to_string(&page).unwrap_or_default())
}

fn page_run<'a>(data: &'a RunData, label: &'a str) -> PageRun<'a> {
    PageRun {
        label,
        name: &data.name,
        cpu: naming::cpu(&data.run.machine.cpu.model),
        gpus: naming::gpus(&data.run.machine),
        duration: data.seconds().map(figure::duration),
        facts: super::facts::facts(&data.run),
        verdicts: data.verdicts(),
        run: &data.run,
        false_sharing: false_sharing::findings(&data.run, &data.rows)
            .iter()
            .map(false_sharing::StrideFinding::sentence)
            .collect(),
        matrix: matrix::matrix(&data.rows),
        details: details(data),
        count: data.rows.len(),
        provisional: data.provisional(),
        columns: columns::cells(&data.rows),
    }
}

/// The details of all rows, in the order of the rows.
fn details(data: &RunData) -> Vec<(usize, &str, Option<u32>, f64)> {
    let of_row = |(index, row): (usize, &Row)| {
        let own = data.details.get(&row.case.id()).into_iter().flatten();
        own.map(|detail| (index, detail.name.as_str(), detail.actor, detail.value)).collect::<Vec<_>>()
    };
    data.rows.iter().enumerate().flat_map(of_row).collect()
}

/// The families of all rows, in the order of [`naming::family_order`].
fn families(runs: &[RunData]) -> Vec<PageFamily<'_>> {
    let mut families: Vec<PageFamily<'_>> = Vec::new();
    for row in runs.iter().flat_map(|data| &data.rows) {
        let (domain, family) = row.case.domain_and_family();
        if !families.iter().any(|known| known.domain == domain && known.family == family) {
            families.push(PageFamily { domain, family, title: naming::family(family) });
        }
    }
    families.sort_by_key(|known| naming::family_order(known.domain, known.family));
    families
}
