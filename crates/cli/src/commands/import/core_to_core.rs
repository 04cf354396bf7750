//! The matrices that core-to-core-latency writes with `--csv`: half the time of a round trip between each two CPUs, which is the cost
//! of one hand-off. Line `i` has the pairs of CPU `i` with those before it.

use std::time::SystemTime;

use syncscope_core::machine::{CpuMachine, Machine};
use syncscope_core::run::{IMPORTED, Status};
use syncscope_core::{Actor, Case, Mode, Nanoseconds, Placement, Row, Run, Verdict};

use super::write_run;
use crate::args::CoreToCoreArguments;
use crate::catalogue::catalogue;
use crate::failure::{Failure, Outcome};
use crate::provenance;

const PRIMITIVE: &str = "cpu.handoff.cas_pingpong";

/// What a reader of every imported run must know.
const WARNING: &str = "imported from core-to-core-latency: half the mean time of a round trip, without intervals; a \
                       pair's cache line may lie in the memory of another NUMA node, so that pairs on a further socket cost more than \
                       with memory of their own (its issue 97); what CPUs share is not recorded; the date is that of the import";

/// Converts one matrix.
pub(super) fn core_to_core(arguments: &CoreToCoreArguments) -> Result<Outcome, Failure> {
    let file = &arguments.file;
    let failed = |error: &dyn std::fmt::Display| Failure::CouldNot(format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
    let rows = rows(&text).map_err(|error| failed(&error))?;
    let model = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let cpus = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    let run = Run {
        command: provenance::command_line(),
        status: Status::Done,
        planned: rows.len() as u64,
        warnings: vec![WARNING.to_owned()],
        machine: Machine {
            cpu: CpuMachine { model, hardware_threads: cpus, ..CpuMachine::default() },
            ..Machine::default()
        },
        ..Run::new(IMPORTED, SystemTime::now())
    };
    write_run(run, &rows, &arguments.target, file.parent().unwrap_or(file))
}

/// A row for each pair that has a figure.
fn rows(text: &str) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (line, cpu) in text.lines().zip(0_u32..) {
        for (field, other) in line.split(',').map(str::trim).zip(0..cpu).filter(|(field, _)| !field.is_empty()) {
            let ns = field.parse().ok().filter(|ns: &f64| ns.is_finite() && *ns > 0.0);
            let ns = ns.ok_or_else(|| format!("line {}: `{field}` is not a time in nanoseconds", cpu + 1))?;
            rows.push(row(other, cpu, ns));
        }
    }
    if rows.is_empty() {
        return Err("no pair of CPUs has a figure: expected what `core-to-core-latency --csv` writes".to_owned());
    }
    Ok(rows)
}

fn row(first: u32, second: u32, ns: f64) -> Row {
    let case = Case {
        threads: Some(2),
        placement: Some(Placement::List(vec![first, second])),
        mode: Some(Mode::Latency),
        ..Case::new(PRIMITIVE)
    };
    Row {
        ns: Some(Nanoseconds(ns)),
        actor: Some(Actor::Mean),
        remark: Some("imported; no interval was published".to_owned()),
        ..Row::unmeasured(case, Verdict::Resolved).described(catalogue().facts(PRIMITIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_the_triangle_becomes_a_row() {
        let found = rows(",,\n46.4,,\n46.8,8.0,\n").unwrap();
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
            let error = rows(text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
