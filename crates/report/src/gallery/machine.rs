//! A run of the page, and a machine with its runs as a column.

use syncscope_core::Verdict;
use syncscope_core::run::IMPORTED;

use super::Entry;
use crate::analysis::ladder::LADDER;
use crate::analysis::trust;
use crate::page::html::escape;
use crate::{RunData, naming};

/// Colours of the page's lines: `--s0` to `--s7`.
const COLOURS: usize = 8;

/// A run, and how it is called.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) data: &'a RunData,
    pub(super) page: Option<&'a str>,
    /// The name of its folder; numbered where folders of one name are given.
    pub(super) name: String,
    /// Figures of others, without intervals: drawn in grey.
    pub(super) is_published: bool,
}

/// The runs, the measured ones first.
pub(super) fn machines(entries: &[Entry]) -> Vec<Machine<'_>> {
    let mut machines: Vec<Machine<'_>> = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            let before = entries[..index].iter().filter(|other| other.data.name == entry.data.name).count();
            let name = &entry.data.name;
            Machine {
                data: &entry.data,
                page: entry.page.as_deref(),
                name: if before > 0 { format!("{name} ({})", before + 1) } else { name.clone() },
                is_published: entry.data.run.preset == IMPORTED,
            }
        })
        .collect();
    machines.sort_by_key(|machine| machine.is_published);
    machines
}

/// The machines that have a rung of the ladder, each with all of its runs: of the measured ones and of the published ones each,
/// those with the most rungs first. Colours and shapes follow this order.
pub(super) fn columns<'m, 'a>(machines: &'m [Machine<'a>]) -> Vec<Column<'m, 'a>> {
    let mut columns: Vec<Column<'m, 'a>> = Vec::new();
    for machine in machines.iter().filter(|machine| machine.rungs() > 0) {
        let parts = machine.parts();
        match columns.iter_mut().find(|one| one.parts == parts && one.is_published == machine.is_published) {
            Some(column) => column.runs.push(machine),
            None => columns.push(Column { parts, runs: vec![machine], is_published: machine.is_published, number: 0 }),
        }
    }
    for column in &mut columns {
        column.runs.sort_by(|a, b| b.data.run.started.cmp(&a.data.run.started));
    }
    columns.sort_by_key(|column| (column.is_published, usize::MAX - column.rungs()));
    let first_published = columns.iter().filter(|column| !column.is_published).count();
    for (at, column) in columns.iter_mut().enumerate() {
        column.number = at.checked_sub(first_published).unwrap_or(at);
    }
    columns
}

/// A machine with its runs, and how it is called and drawn.
#[derive(Debug)]
pub(super) struct Column<'m, 'a> {
    /// `Intel Xeon, 16 CPUs` and `NVIDIA H200`.
    pub(super) parts: Vec<String>,
    /// The newest first.
    pub(super) runs: Vec<&'m Machine<'a>>,
    /// Figures of others, without intervals: drawn in grey.
    pub(super) is_published: bool,
    /// The number of its colour and shape, among its kind.
    number: usize,
}

impl Column<'_, '_> {
    /// How many rungs of the ladder have a row.
    fn rungs(&self) -> usize {
        LADDER.iter().filter(|rung| self.runs.iter().any(|run| rung.find(run.data).is_some())).count()
    }

    pub(super) fn name(&self) -> String {
        self.parts.join(" + ")
    }

    /// The colour of its dots, as a value for `--c`.
    pub(super) fn colour(&self) -> String {
        if self.is_published { "var(--muted)".to_owned() } else { format!("var(--s{})", self.number % COLOURS) }
    }

    /// Its dot as an SVG element at this place. Beyond eight machines the shapes differ, and so do those of published ones.
    pub(super) fn dot(&self, x: f64, y: f64, is_rough: bool) -> String {
        let shape = if self.is_published { self.number + 1 } else { self.number / COLOURS };
        let path = match shape % 4 {
            0 => "m-4.4,0a4.4,4.4 0 1 0 8.8,0a4.4,4.4 0 1 0 -8.8,0z",
            1 => "m-4,-4h8v8h-8z",
            2 => "m0,-5.2l5,9h-10z",
            _ => "m0,-5.6l5.6,5.6l-5.6,5.6l-5.6,-5.6z",
        };
        let class = if is_rough { "mark" } else { "mark resolved" };
        format!("<path class=\"{class}\" d=\"M{x:.1},{y:.1}{path}\"/>")
    }

    /// Its dot in a line of text.
    pub(super) fn swatch(&self) -> String {
        let dot = self.dot(7.0, 7.0, false);
        let style = escape(&self.colour());
        format!(
            "<svg class=\"dot-key\" width=\"14\" height=\"14\" aria-hidden=\"true\" style=\"--c: {style}\">{dot}</svg>"
        )
    }
}

impl Machine<'_> {
    /// How many rungs of the ladder have a row.
    fn rungs(&self) -> usize {
        LADDER.iter().filter(|rung| rung.find(self.data).is_some()).count()
    }

    /// What it is made of, as far as it was measured.
    fn parts(&self) -> Vec<String> {
        let mut parts = self.data.measured_parts();
        if let Some(cpu) = parts.first_mut() {
            *cpu = self.cpu();
        }
        parts
    }

    /// `402 of 439`; a published experiment has no rows.
    pub(super) fn resolved(&self) -> String {
        if self.data.rows.is_empty() {
            return "–".to_owned();
        }
        let resolved = self.data.rows.iter().filter(|row| row.verdict == Verdict::Resolved).count();
        format!("{resolved} of {}", self.data.rows.len())
    }

    /// How far to trust it.
    pub(super) fn trust(&self) -> String {
        if self.is_published {
            return "figures of others, without intervals".to_owned();
        }
        if let Some(experiment) = self.data.run.experiment() {
            return format!("published experiment: {experiment}");
        }
        trust::trust(self.data).unwrap_or_else(|| "no case that exists here".to_owned())
    }

    pub(super) fn cpu(&self) -> String {
        naming::cpus(&self.data.run.machine.cpu)
    }

    pub(super) fn gpus(&self) -> String {
        let gpus = naming::gpus(&self.data.run.machine);
        if gpus.is_empty() { "–".to_owned() } else { gpus.join(", ") }
    }

    /// The day of the start; of figures of others nobody knows it.
    pub(super) fn date(&self) -> String {
        if self.is_published {
            return "unknown".to_owned();
        }
        self.data.run.started.chars().take("2026-11-21".len()).collect()
    }
}
