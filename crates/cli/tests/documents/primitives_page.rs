//! `docs/PRIMITIVES.md` is generated from the catalogues, by
//! `SYNCSCOPE_UPDATE=1 cargo test -p syncscope --test documents primitives_page`.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use syncscope_core::machine::CpuMachine;
use syncscope_core::{Case, Preset, Primitive};
use syncscope_gpu::DeviceLimits;

const HEAD: &str = "# Primitives

All primitives, generated from the catalogues. `syncscope list` shows which of them a machine can measure, and why it
cannot measure the others. The column *operation* names the operation whose cost is the column `ns` of a run: the cost
for the slowest thread where threads meet, for the median thread where they share nothing, and the mean of all threads
that ran in a common window, such as those that contend for a lock.

Below each family stands what the presets plan: how many cases, and the values of their parameters, on two packages of 8 cores
with two hardware threads each and a GPU of 132 multiprocessors.
";

/// The cases of a preset on a machine with 16 cores and 132 multiprocessors.
fn planned(preset: Preset) -> Vec<Case> {
    let cpu = CpuMachine { packages: 2, numa_nodes: 2, cores: 16, hardware_threads: 32, ..CpuMachine::default() };
    let gpu = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
    [syncscope_cpu::cases(preset, &cpu), syncscope_gpu::cases(preset, &gpu)].concat()
}

/// The number of cases, and the values of their parameters; of many values the first and the last.
fn in_brief(cases: &[&Case]) -> String {
    type Axis = (fn(&Case) -> Option<String>, &'static str);
    let axes: [Axis; 11] = [
        (|case| case.dtype.map(|dtype| dtype.to_string()), ""),
        (
            |case| {
                case.layout
                    .map(|layout| layout.stride().map_or("shared".to_owned(), |stride| format!("private {stride}")))
            },
            "",
        ),
        (|case| case.space.map(|space| space.to_string()), " memory"),
        (|case| case.scope.map(|scope| scope.to_string()), " scope"),
        (|case| case.order.map(|order| order.to_string()), ""),
        (|case| case.mode.map(|mode| mode.to_string()), ""),
        (|case| case.form.map(|form| form.to_string()), ""),
        (|case| case.group.as_ref().map(ToString::to_string), ""),
        (|case| case.placement.as_ref().map(ToString::to_string), ""),
        (|case| case.threads.map(|threads| threads.to_string()), " threads"),
        (|case| case.blocks.map(|blocks| blocks.to_string()), " blocks"),
    ];
    let values = axes.iter().filter_map(|(of, unit)| {
        let mut values: Vec<String> = Vec::new();
        cases.iter().filter_map(|case| of(case)).for_each(|value| {
            if !values.contains(&value) {
                values.push(value);
            }
        });
        let text = if values.len() > 8 {
            format!("{}, {} … {} ({} values)", values[0], values[1], values[values.len() - 1], values.len())
        } else {
            values.join(", ")
        };
        let unit = if values == ["1"] { unit.trim_end_matches('s') } else { unit };
        (!values.is_empty()).then(|| text + unit)
    });
    std::iter::once(cases.len().to_string()).chain(values).collect::<Vec<_>>().join("; ")
}

/// The plans of the presets for a family.
fn plans(family: &str, all: &[(Preset, Vec<Case>)]) -> String {
    let mut text = String::new();
    let mut ids: Vec<&str> = all.iter().flat_map(|(_, cases)| cases).map(|case| &*case.primitive).collect();
    ids.retain(|id| id.rsplit_once('.').is_some_and(|(of, _)| of == family));
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(*id));
    for id in ids {
        for (preset, cases) in all {
            let cases: Vec<&Case> = cases.iter().filter(|case| case.primitive == id).collect();
            if !cases.is_empty() {
                writeln!(text, "| `{id}` | {preset} | {} |", in_brief(&cases)).unwrap();
            }
        }
    }
    if text.is_empty() { text } else { format!("\n| id | preset | cases |\n|---|---|---|\n{text}") }
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut section = String::new();
    let planned: Vec<(Preset, Vec<Case>)> = Preset::ALL.iter().map(|preset| (*preset, planned(*preset))).collect();
    let all = [syncscope_cpu::catalogue(), syncscope_gpu::primitives(), syncscope_mpi::primitives()].concat();
    for primitive in &all {
        let id = primitive.id.rsplit_once('.').unwrap().0.to_owned();
        if id != section {
            page += &plans(&section, &planned);
            write!(page, "\n## {id}\n\n| id | description | operation | source |\n|---|---|---|---|\n").unwrap();
            section = id;
        }
        let Primitive { id, summary, operation, source, facts: _ } = primitive;
        writeln!(page, "| `{id}` | {summary} | {operation} | {source} |").unwrap();
    }
    page + &plans(&section, &planned)
}

#[test]
fn the_page_of_primitives_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/PRIMITIVES.md");
    if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page(), "docs/PRIMITIVES.md is out of date; run this test with SYNCSCOPE_UPDATE=1");
}

#[test]
fn the_readme_says_how_many_primitives_there_are() {
    let count =
        syncscope_cpu::catalogue().len() + syncscope_gpu::primitives().len() + syncscope_mpi::primitives().len();
    let about = format!("about {} primitives", (count + 25) / 50 * 50);
    assert!(crate::pages::documents()["README.md"].contains(&about), "{count}");
}
