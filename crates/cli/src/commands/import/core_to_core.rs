//! The matrices that core-to-core-latency writes with `--csv`: half the time of a round trip between each two CPUs, which is the cost
//! of one hand-off. Line `i` has the pairs of CPU `i` with those before it.
//!
//! One sample of its `src/bench/cas.rs` (commit 96a943a) is the time of n successful compare-and-swaps of one of the two threads,
//! divided by n and by 2: between two of them the other thread has one, so that n are n round trips.

use std::path::Path;
use std::time::SystemTime;

use serde::Deserialize;
use syncscope_core::machine::{CpuMachine, Machine};
use syncscope_core::run::{IMPORTED, Status, plain};
use syncscope_core::{Actor, Case, Group, Mode, Nanoseconds, Placement, Row, Run, Verdict};
use syncscope_host::cpu_list;

use super::write_run;
use crate::args::{CoreToCoreArguments, ImportTarget};
use crate::catalogue::catalogue;
use crate::failure::{Failure, Outcome};
use crate::{provenance, terminal};

const PRIMITIVE: &str = "cpu.handoff.cas_pingpong";

/// In a folder of matrices, the table of their machines.
const MACHINES: &str = "machines.csv";

/// What a reader of every imported run must know.
const WARNING: &str = "imported from core-to-core-latency: half the mean time of a round trip, without intervals; all \
                       pairs use one cache line, so that those far from its memory cost more than with memory of their own \
                       (github.com/nviennot/core-to-core-latency/issues/97); what CPUs share is not recorded; the date is that of the import";

/// What a reader must know of two packages.
const TWO_PACKAGES: &str = "two packages: the line is in the memory of one of them, so costs across packages and within the \
                            other one are an artefact of its placement (issue 97); they do not compare machines";

const ACROSS: &str = "artefact of page placement (issue 97)";

/// What is known of the machine of a matrix, a line of `machines.csv`.
#[derive(Debug, Default, Deserialize)]
struct Described {
    /// The name of the matrix without its ending, and of its run.
    file: String,
    model: String,
    generation: String,
    packages: u32,
    cores: u32,
    siblings: Option<Siblings>,
    /// The CPUs of the second package, as a list.
    second_package: String,
    /// The quarter in which it came out.
    year: String,
    note: String,
}

/// How the hardware threads of a core are numbered.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Siblings {
    /// 0 and 1, 2 and 3.
    Adjacent,
    /// With eight cores 0 and 8, 1 and 9.
    Half,
}

/// Converts one matrix, or those of a folder.
pub(super) fn core_to_core(arguments: &CoreToCoreArguments) -> Result<Outcome, Failure> {
    let CoreToCoreArguments { path, target } = arguments;
    if !path.is_dir() {
        let is_compressed = path.extension().is_some_and(|extension| extension == "gz");
        let path = &if is_compressed { path.with_extension("") } else { path.clone() };
        let model = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        terminal::warnings(&convert(path, &Described { model, ..Described::default() }, target)?);
        return Ok(Outcome::Done);
    }
    if target.machine.is_some() {
        return Err(Failure::Usage(format!("--machine describes one machine; in a folder, {MACHINES} describes all")));
    }
    let table = path.join(MACHINES);
    let described: Vec<Described> = plain::read_file(&table)?.ok_or_else(|| {
        Failure::Usage(format!("{} is missing: it names the matrices and their machines", table.display()))
    })?;
    let mut warnings = 0;
    for machine in &described {
        let file = path.join(format!("{}.csv", machine.file));
        let target = ImportTarget { out: target.out.join(&machine.file), machine: None };
        warnings += convert(&file, machine, &target)?.len();
    }
    let machines = described.len();
    terminal::warning(&format!("{warnings} warnings on {machines} machines: the page of each shows its own"));
    Ok(Outcome::Done)
}

fn convert(file: &Path, described: &Described, target: &ImportTarget) -> Result<Vec<String>, Failure> {
    let text = plain::read_text(file)?;
    let rows = rows(&text, described).map_err(Failure::in_file(file))?;
    let run = Run {
        command: provenance::command_line(),
        status: Status::Done,
        planned: rows.len() as u64,
        warnings: described.warnings(),
        machine: Machine { cpu: described.cpu(cpus(&text)), ..Machine::default() },
        ..Run::new(IMPORTED, SystemTime::now())
    };
    write_run(run, &rows, target, file.parent().unwrap_or(file))
}

fn cpus(text: &str) -> u32 {
    u32::try_from(text.lines().count()).unwrap_or(u32::MAX)
}

impl Described {
    fn cpu(&self, hardware_threads: u32) -> CpuMachine {
        let Self { model, generation, packages, cores, .. } = self;
        let model = if generation.is_empty() { model.clone() } else { format!("{model} ({generation})") };
        CpuMachine { model, packages: *packages, cores: *cores, hardware_threads, ..CpuMachine::default() }
    }

    fn warnings(&self) -> Vec<String> {
        let own = [&self.year, &self.note].map(String::as_str).into_iter().filter(|text| !text.is_empty());
        let own = own.collect::<Vec<_>>().join("; ");
        let two = if self.packages > 1 { TWO_PACKAGES } else { "" };
        [WARNING, two, &own].into_iter().filter(|text| !text.is_empty()).map(str::to_owned).collect()
    }

    /// What is known of two CPUs, the lower one first: that they are one core, or in two packages.
    fn group(&self, [first, second]: [u32; 2], cpus: u32, second_package: &[u32]) -> Option<Group> {
        if second_package.contains(&first) != second_package.contains(&second) {
            return Some(Group::named("across"));
        }
        // Of a hybrid processor, the cores with two threads come first.
        let pairs = cpus.saturating_sub(self.cores);
        let are_siblings = match self.siblings? {
            Siblings::Adjacent => first % 2 == 0 && second == first + 1 && first / 2 < pairs,
            Siblings::Half => second == first + self.cores && first < pairs,
        };
        are_siblings.then(|| Group::named("same_core"))
    }
}

/// A row for each pair that has a figure.
fn rows(text: &str, described: &Described) -> Result<Vec<Row>, String> {
    let second_package = match described.second_package.as_str() {
        "" => Vec::new(),
        list => cpu_list::parse(list).ok_or_else(|| format!("{MACHINES}: `{list}` is no list of CPUs"))?,
    };
    let cpus = cpus(text);
    let mut rows = Vec::new();
    for (line, cpu) in text.lines().zip(0_u32..) {
        for (field, other) in line.split(',').map(str::trim).zip(0..cpu).filter(|(field, _)| !field.is_empty()) {
            let ns = field.parse().ok().filter(|ns: &f64| ns.is_finite() && *ns > 0.0);
            let ns = ns.ok_or_else(|| format!("line {}: `{field}` is not a time in nanoseconds", cpu + 1))?;
            rows.push(row([other, cpu], ns, described.group([other, cpu], cpus, &second_package)));
        }
    }
    if rows.is_empty() {
        return Err("no pair of CPUs has a figure: expected what `core-to-core-latency --csv` writes".to_owned());
    }
    Ok(rows)
}

fn row(pair: [u32; 2], ns: f64, group: Option<Group>) -> Row {
    let remark = group.as_ref().filter(|group| group.to_string() == "across").map(|_| ACROSS.to_owned());
    let case = Case {
        threads: Some(2),
        placement: Some(Placement::List(pair.to_vec())),
        mode: Some(Mode::Latency),
        group,
        ..Case::new(PRIMITIVE)
    };
    Row {
        ns: Some(Nanoseconds(ns)),
        actor: Some(Actor::Mean),
        remark,
        ..Row::unmeasured(case, Verdict::Resolved).described(catalogue().facts(PRIMITIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_the_triangle_becomes_a_row() {
        let found = rows(",,\n46.4,,\n46.8,8.0,\n", &Described::default()).unwrap();
        let pairs: Vec<_> =
            found.iter().map(|row| (row.case.placement.clone(), row.ns.map(Nanoseconds::value))).collect();
        let pair = |first, second, ns| (Some(Placement::List(vec![first, second])), Some(ns));
        assert_eq!(pairs, [pair(0, 1, 46.4), pair(0, 2, 46.8), pair(1, 2, 8.0)]);
    }

    #[test]
    fn what_is_no_matrix_is_refused_with_its_line() {
        for (text, word) in
            [("", "no pair"), (",\nfast,\n", "line 2: `fast`"), (",\n-1,\n", "line 2: `-1`"), (",\nnan,\n", "line 2")]
        {
            let error = rows(text, &Described::default()).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn siblings_and_packages_have_groups_where_the_table_knows_them() {
        let groups = |cores, siblings, second_package: &str| {
            let described =
                Described { cores, siblings, second_package: second_package.to_owned(), ..Described::default() };
            let found = rows(",,,\n1,,,\n2,3,,\n4,5,6,\n", &described).unwrap();
            found
                .into_iter()
                .map(|row| row.case.group.map_or_else(String::new, |group| group.to_string()))
                .collect::<Vec<_>>()
        };
        // The pairs are 01, 02, 12, 03, 13, 23.
        assert_eq!(groups(4, None, "2-3"), ["", "across", "across", "across", "across", ""]);
        assert_eq!(
            groups(2, Some(Siblings::Half), "1,3"),
            ["across", "same_core", "across", "across", "same_core", "across"]
        );
        assert_eq!(
            groups(3, Some(Siblings::Adjacent), ""),
            ["same_core", "", "", "", "", ""],
            "one core of three has two"
        );
    }
}
