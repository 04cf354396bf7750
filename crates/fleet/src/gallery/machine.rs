//! A run on the page, and a machine with its runs as a column.

use std::collections::{BTreeSet, HashSet};

use syncscope_core::Verdict;
use syncscope_core::run::IMPORTED;

use syncscope_report::page::escape;
use syncscope_report::{LADDER, RunData, grouped, in_groups, naming, trust};

use super::Entry;

/// A run and its name.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    pub(super) data: &'a RunData,
    pub(super) page: Option<&'a str>,
    /// The name of the run's folder, numbered where several folders share it.
    pub(super) name: String,
    /// Whether these are published figures of others, without intervals: shown in grey.
    pub(super) is_published: bool,
    /// Whether the run belongs to the person who makes the page.
    pub(super) is_own: bool,
}

/// All runs, measured ones first.
pub(super) fn machines<'e>(entries: &'e [Entry]) -> Vec<Machine<'e>> {
    let name = |index: usize| {
        let name = &entries[index].data.name;
        let before = entries[..index].iter().filter(|other| other.data.name == *name).count();
        if before > 0 { format!("{name} ({})", before + 1) } else { name.clone() }
    };
    let machine = |(index, Entry { data, page, is_own }): (usize, &'e Entry)| {
        let is_published = data.run.preset == IMPORTED;
        Machine { data, page: page.as_deref(), name: name(index), is_published, is_own: *is_own }
    };
    let mut machines: Vec<Machine<'_>> = entries.iter().enumerate().map(machine).collect();
    machines.sort_by_key(|machine| machine.is_published);
    machines
}

/// The machines with a row on some rung of the ladder, each with its runs: measured machines before published ones, and
/// those with the most rungs first.
pub(super) fn columns<'m, 'a>(machines: &'m [Machine<'a>]) -> Vec<Column<'m, 'a>> {
    let with_rung = machines.iter().filter(|machine| LADDER.iter().any(|rung| rung.find(machine.data).is_some()));
    let of_machine = |((parts, is_published), mut runs): ((Vec<String>, bool), Vec<&'m Machine<'a>>)| {
        runs.sort_by(|a, b| b.data.run.started.cmp(&a.data.run.started));
        Column { parts, runs, is_published, id: String::new() }
    };
    let keyed = with_rung.map(|machine| ((machine.parts(), machine.is_published), machine));
    let mut columns: Vec<Column<'m, 'a>> = in_groups(keyed).into_iter().map(of_machine).collect();
    columns.sort_by_cached_key(|column| (column.is_published, usize::MAX - column.rungs()));
    let mut known = HashSet::new();
    for column in &mut columns {
        let slug = slug(&column.name());
        // A published machine may have the name of a measured one.
        column.id = if known.insert(slug.clone()) { slug } else { format!("{slug}-{}", known.len()) };
    }
    columns
}

/// A machine with its runs, and how it is named and drawn.
#[derive(Debug)]
pub(super) struct Column<'m, 'a> {
    /// `Intel Xeon, 16 CPUs` and `NVIDIA H200`.
    pub(super) parts: Vec<String>,
    /// The runs, newest first.
    pub(super) runs: Vec<&'m Machine<'a>>,
    /// Whether these are published figures of others, without intervals: shown in grey.
    pub(super) is_published: bool,
    /// The machine's anchor in the page.
    pub(super) id: String,
}

/// A name as part of an address: `machine-aws-graviton3-64-cpus`.
fn slug(name: &str) -> String {
    let letters = name.to_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), " ");
    format!("machine-{}", letters.split_whitespace().collect::<Vec<_>>().join("-"))
}

impl Column<'_, '_> {
    /// How many rungs of the ladder have a row on this machine.
    fn rungs(&self) -> usize {
        LADDER.iter().filter(|rung| self.runs.iter().any(|run| rung.find(run.data).is_some())).count()
    }

    pub(super) fn name(&self) -> String {
        self.parts.join(" + ")
    }

    /// Whether the machine belongs to the person who makes the page.
    pub(super) fn is_own(&self) -> bool {
        self.runs.iter().any(|run| run.is_own)
    }

    /// The newest run.
    pub(super) fn newest(&self) -> Option<&'_ RunData> {
        self.runs.first().map(|run| run.data)
    }

    /// The vendors of the machine's parts: `AMD`, `NVIDIA`.
    pub(super) fn vendors(&self) -> BTreeSet<&str> {
        let is_name = |word: &&str| !matches!(*word, "Dual" | "×") && word.parse::<u32>().is_err();
        self.parts.iter().filter_map(|part| part.split_whitespace().find(is_name)).collect()
    }

    /// The CPU's generation, such as `Zen 4`; empty if unknown.
    pub(super) fn generation(&self) -> String {
        let name = self.newest().map(|data| naming::processor(&data.run.machine.cpu)).unwrap_or_default();
        let inside = name.strip_suffix(')').and_then(|name| name.rsplit_once('('));
        inside.map(|(_, generation)| generation.to_owned()).unwrap_or_default()
    }

    /// The number of physical cores if known, otherwise of hardware threads.
    pub(super) fn cores(&self) -> u32 {
        let cpu = self.newest().map(|data| &data.run.machine.cpu);
        cpu.map_or(0, |cpu| if cpu.cores > 0 { cpu.cores } else { cpu.hardware_threads })
    }
}

impl Machine<'_> {
    /// The run's name, linked to its page if it has one.
    pub(super) fn link(&self) -> String {
        let name = escape(&self.name);
        self.page.map_or_else(|| name.clone(), |page| format!("<a href=\"{}\">{name}</a>", escape(page)))
    }

    /// The parts of the machine that were measured.
    fn parts(&self) -> Vec<String> {
        let mut parts = self.data.measured_parts();
        if let Some(cpu) = parts.first_mut() {
            *cpu = self.cpu();
        }
        parts
    }

    /// How many rows are resolved: `402 of 439`. A published experiment has no rows.
    pub(super) fn resolved(&self) -> String {
        if self.data.rows.is_empty() {
            return "–".to_owned();
        }
        let resolved = self.data.rows.iter().filter(|row| row.verdict == Verdict::Resolved).count();
        format!("{} of {}", grouped(resolved), grouped(self.data.rows.len()))
    }

    /// How far to trust the run.
    pub(super) fn trust(&self) -> String {
        if self.is_published {
            return "figures of others, without intervals".to_owned();
        }
        if let Some(experiment) = self.data.run.experiment() {
            return format!("published experiment: {experiment}");
        }
        trust(self.data).map_or_else(|| "no case that exists here".to_owned(), |text| text.replace('`', ""))
    }

    pub(super) fn cpu(&self) -> String {
        naming::cpus(&self.data.run.machine.cpu)
    }

    pub(super) fn gpus(&self) -> String {
        let gpus = naming::gpus(&self.data.run.machine.gpus);
        if gpus.is_empty() { "–".to_owned() } else { gpus.join(", ") }
    }

    /// The day on which the run started; unknown for figures of others.
    pub(super) fn date(&self) -> String {
        if self.is_published {
            return "unknown".to_owned();
        }
        self.data.run.started.chars().take("2026-11-21".len()).collect()
    }
}
