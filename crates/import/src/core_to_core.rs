//! Reads the matrices that core-to-core-latency writes with `--csv`: half a round trip for each pair of CPUs, which is
//! the cost of one hand-off. Line `i` has the pairs of CPU `i` with the CPUs before it (`Matrix`).
//!
//! In its `src/bench/cas.rs` (commit 96a943a), a sample is the time in which one thread does n successful
//! compare-and-swaps, divided by n and by 2: the other thread does one between any two of them, so n compare-and-swaps
//! are n round trips.

use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;

use serde::Deserialize;
use syncscope_core::machine::{CpuMachine, Machine};
use syncscope_core::run::{IMPORTED, NO_INTERVAL, Status, plain};
use syncscope_core::run_directory::is_plain_name;
use syncscope_core::{Actor, Case, Facts, Group, Mode, Nanoseconds, Placement, Row, Run, Verdict};
use syncscope_host::cpu_list;

use crate::matrix::Matrix;
use crate::{ImportError, Target, write_run};

const PRIMITIVE: &str = "cpu.handoff.cas_pingpong";

/// The table of machines in a folder of matrices.
const MACHINES: &str = "machines.csv";

/// The warning for every imported run.
const WARNING: &str = "imported from core-to-core-latency: half the mean time of a round trip, without intervals; \
                       all pairs use one cache line, so pairs far from its memory cost more than with memory of \
                       their own (github.com/nviennot/core-to-core-latency/issues/97); what CPUs share is not \
                       recorded; the date is that of the import";

/// The warning for a machine with two packages.
const TWO_PACKAGES: &str = "two packages: the line is in the memory of one of them, so costs across packages and \
                            within the other one are an artefact of its placement (issue 97) and do not compare \
                            machines";

/// The warning for a file that does not number its CPUs.
const POSITIONS: &str = "CPUs are numbered by their position in the file: with `--cores`, or where the tool could not use every CPU, \
                         these are not the numbers of the system";

/// What a refused file should have been.
const EXPECTED: &str = "expected what `core-to-core-latency --csv` writes, n lines of n fields";

const ACROSS: &str = "artefact of page placement (issue 97)";

/// A line of `machines.csv`: what is known of a matrix's machine.
#[derive(Debug, Default, Deserialize)]
struct Described {
    /// The name of the matrix without its file ending, and the name of its run.
    file: String,
    model: String,
    generation: String,
    packages: u32,
    cores: u32,
    siblings: Option<Siblings>,
    /// The CPUs of the second package, as a list.
    second_package: String,
    /// The quarter in which the processor came out.
    year: String,
    note: String,
}

/// How the hardware threads of a core are numbered.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Siblings {
    /// CPUs 0 and 1 share a core, as do 2 and 3.
    Adjacent,
    /// With eight cores, CPUs 0 and 8 share a core, as do 1 and 9.
    Half,
}

/// Converts one matrix or a folder of matrices, and returns what a reader must know of them.
///
/// # Errors
/// If a file is not a matrix, or cannot be read or written.
pub fn import_matrices(path: &Path, target: &Target<'_>) -> Result<Vec<String>, ImportError> {
    if !path.is_dir() {
        let is_compressed = path.extension().is_some_and(|extension| extension == "gz");
        let path = &if is_compressed { path.with_extension("") } else { path.to_owned() };
        let model = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        return convert(path, &Described { model, ..Described::default() }, target);
    }
    if target.machine.is_some() {
        return Err(ImportError::Usage(format!(
            "--machine describes one machine; in a folder, {MACHINES} describes all"
        )));
    }
    let table = path.join(MACHINES);
    let described: Vec<Described> = plain::read_file(&table)?.ok_or_else(|| {
        ImportError::Usage(format!("{} is missing: it names the matrices and their machines", table.display()))
    })?;
    if let Some(machine) = described.iter().find(|machine| !is_plain_name(&machine.file)) {
        let reason = format!("`{}` is not a matrix in this folder", machine.file);
        return Err(ImportError::in_file(&table)(reason));
    }
    if described.is_empty() {
        return Err(ImportError::in_file(&table)("it names no matrix"));
    }
    let mut warnings = 0;
    for machine in &described {
        let file = path.join(format!("{}.csv", machine.file));
        let out = target.out.join(&machine.file);
        warnings += convert(&file, machine, &Target { out: &out, machine: None, ..*target })?.len();
    }
    let machines = described.len();
    Ok(vec![format!("{warnings} warnings on {machines} machines: the page of each shows its own")])
}

fn convert(file: &Path, described: &Described, target: &Target<'_>) -> Result<Vec<String>, ImportError> {
    let text = plain::read_text(file)?;
    let matrix = Matrix::parse(&text).map_err(|error| ImportError::in_file(file)(format!("{error}; {EXPECTED}")))?;
    let facts = target.catalogue.facts(PRIMITIVE);
    let rows = rows(&matrix, described, facts).map_err(ImportError::in_file(file))?;
    let mut warnings = described.warnings();
    warnings.extend((!matrix.is_numbered).then(|| POSITIONS.to_owned()));
    warnings.extend(matrix.warnings);
    let run = Run {
        command: target.command.to_vec(),
        status: Status::Done,
        planned: rows.len() as u64,
        warnings,
        machine: Machine { cpu: described.cpu(matrix.cpus.len() as u32), ..Machine::default() },
        ..Run::new(IMPORTED, SystemTime::now())
    };
    write_run(run, &rows, target, file.parent().unwrap_or(file))
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

    /// What is known of a pair of CPUs, the lower one first: that they share a core, or are in two packages.
    fn group(&self, [first, second]: [u32; 2], cpus: u32, second_package: &HashSet<u32>) -> Option<Group> {
        if second_package.contains(&first) != second_package.contains(&second) {
            return Some(Group::named("across"));
        }
        // On a hybrid processor, the cores with two threads come first.
        let pairs = cpus.saturating_sub(self.cores);
        let are_siblings = match self.siblings? {
            Siblings::Adjacent => first % 2 == 0 && second == first + 1 && first / 2 < pairs,
            Siblings::Half => second == first + self.cores && first < pairs,
        };
        are_siblings.then(|| Group::named("same_core"))
    }
}

/// A row for each pair.
fn rows(matrix: &Matrix, described: &Described, facts: Option<&Facts>) -> Result<Vec<Row>, String> {
    let second_package = match described.second_package.as_str() {
        "" => HashSet::new(),
        list => cpu_list::parse(list)
            .map(HashSet::from_iter)
            .ok_or_else(|| format!("{MACHINES}: `{list}` is not a list of CPUs"))?,
    };
    let count = matrix.cpus.len() as u32;
    let of_pair = |(pair, time): &([usize; 2], Result<f64, String>)| {
        let pair = pair.map(|at| matrix.cpus[at]);
        row(pair, time.clone(), described.group(pair, count, &second_package), facts)
    };
    Ok(matrix.pairs.iter().map(of_pair).collect())
}

fn row(pair: [u32; 2], time: Result<f64, String>, group: Option<Group>, facts: Option<&Facts>) -> Row {
    let is_across = group.as_ref().is_some_and(|group| group.to_string() == "across");
    let why = if is_across { format!("{NO_INTERVAL}; {ACROSS}") } else { NO_INTERVAL.to_owned() };
    let (ns, verdict) = time.map_or_else(|why| (None, Verdict::Skipped(why)), |ns| (Some(ns), Verdict::Imported(why)));
    let case = Case {
        threads: Some(2),
        placement: Some(Placement::List(pair.to_vec())),
        mode: Some(Mode::Latency),
        group,
        ..Case::new(PRIMITIVE)
    };
    Row { ns: ns.map(Nanoseconds), actor: Some(Actor::Mean), ..Row::unmeasured(case, verdict).described(facts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, described: &Described) -> Vec<Row> {
        super::rows(&Matrix::parse(text).unwrap(), described, None).unwrap()
    }

    #[test]
    fn each_pair_becomes_a_row_and_one_without_a_time_has_no_figure() {
        let found = rows("cpu,0,2,4\n0,,,\n2,46.4,,\n4,0,8.0,\n", &Described::default());
        let pairs: Vec<_> =
            found.iter().map(|row| (row.case.placement.clone(), row.ns.map(Nanoseconds::value))).collect();
        let pair = |first, second, ns| (Some(Placement::List(vec![first, second])), ns);
        assert_eq!(pairs, [pair(0, 2, Some(46.4)), pair(0, 4, None), pair(2, 4, Some(8.0))]);
        assert!(
            matches!(&found[1].verdict, Verdict::Skipped(why) if why.starts_with("line 4: `0`")),
            "{:?}",
            found[1].verdict
        );
    }

    #[test]
    fn siblings_and_packages_have_groups_where_the_table_knows_them() {
        let groups = |cores, siblings, second_package: &str| {
            let described =
                Described { cores, siblings, second_package: second_package.to_owned(), ..Described::default() };
            let found = rows(",,,\n1,,,\n2,3,,\n4,5,6,\n", &described);
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
