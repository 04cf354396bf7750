//! The text next to the picture of the hand-off matrix.

use serde::Serialize;
use syncscope_core::Run;
use syncscope_core::machine::{Cache, CpuMachine};

use super::counted;
use crate::analysis::matrix::{Level, Matrix};
use crate::figure::{grouped, range, time};
use crate::naming::plural;

/// The matrix with its words.
#[derive(Serialize)]
pub(super) struct InWords {
    #[serde(flatten)]
    matrix: Matrix,
    /// How many of the pairs were measured.
    sampled: String,
    /// Says that all pairs cost the same, where that is certain; the picture then shows nothing more.
    one_level: Option<String>,
    /// The topology that the system reports and the one that the costs show, as labels and texts.
    reported: Vec<(&'static str, String)>,
    measured: Vec<(String, String)>,
    /// What the costs leave open, or how they agree.
    remark: Option<String>,
}

impl InWords {
    pub(super) fn of(matrix: Matrix, run: &Run) -> Self {
        let (measured, all) = (matrix.pairs.len(), matrix.pairs.len() == matrix.possible);
        let sampled = if all {
            "every pair".to_owned()
        } else {
            format!("{} of {} pairs sampled", grouped(measured), grouped(matrix.possible))
        };
        let reported = reported(&run.machine.cpu);
        let (groups, remark) = (groups(&matrix, run), remark(&matrix, run));
        Self { sampled, one_level: one_level(&matrix), reported, measured: groups, remark, matrix }
    }
}

fn one_level(Matrix { alike, pairs, possible, .. }: &Matrix) -> Option<String> {
    let alike = alike.as_ref()?;
    let all = grouped(pairs.len());
    let which = if alike.pairs < pairs.len() {
        format!("Of {all} measured CPU pairs, the {} with narrow intervals", grouped(alike.pairs))
    } else if pairs.len() == *possible {
        "All CPU pairs".to_owned()
    } else {
        format!("All {all} measured CPU pairs")
    };
    let costs = format!("{} to {}", time(alike.costs.0), time(alike.costs.1));
    Some(format!("{which} have about the same hand-off cost: {costs}. The differences are noise."))
}

fn reported(cpu: &CpuMachine) -> Vec<(&'static str, String)> {
    let per_core = cpu.hardware_threads.checked_div(cpu.cores).unwrap_or(0);
    let each = if per_core > 1 && per_core * cpu.cores == cpu.hardware_threads {
        format!(", {per_core} threads each")
    } else {
        String::new()
    };
    let cache = |Cache { level, count, shared_by, .. }: &Cache| {
        format!("{count} × L{level}, each for {}", plural(*shared_by, "thread"))
    };
    let caches: Vec<String> = cpu.caches.iter().filter(|cache| cache.level >= 2).map(cache).collect();
    let facts = [
        ("hardware threads", grouped(cpu.hardware_threads)),
        ("cores", format!("{}{each}", grouped(cpu.cores))),
        ("packages", if cpu.packages > 0 { cpu.packages.to_string() } else { String::new() }),
        ("NUMA nodes", if cpu.numa_nodes > 0 { cpu.numa_nodes.to_string() } else { String::new() }),
        ("caches", caches.join("; ")),
    ];
    facts.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// The groups of CPUs that the run found, or the levels of the costs if it found none.
fn groups(matrix: &Matrix, run: &Run) -> Vec<(String, String)> {
    if let Some(topology) = &run.measured_topology {
        let groups = topology.groups.iter();
        let words = |cpus: &str, ns| format!("CPUs {cpus}: {} from one CPU to another", time(ns));
        return groups.map(|one| (format!("shares a {}", one.shares), words(&one.cpus, one.handoff_ns))).collect();
    }
    let of_level = |Level { ns, pairs, groups }: &Level| {
        let sizes = || groups.iter().map(Vec::len);
        let size = range(&sizes().min().unwrap_or(0).to_string(), &sizes().max().unwrap_or(0).to_string());
        (time(*ns), format!("{}, {} of {size} CPUs", counted(*pairs, "pair"), counted(groups.len(), "group")))
    };
    matrix.levels.iter().map(of_level).collect()
}

fn remark(matrix: &Matrix, run: &Run) -> Option<String> {
    let text = match &run.measured_topology {
        None if !matrix.levels.is_empty() => return None,
        None => "This run found no groups of CPUs. The picture places CPUs with fast hand-offs next to each other.",
        Some(topology) if topology.groups.is_empty() && matrix.alike.is_some() => {
            "There are no groups, because all \
                                                                                   pairs cost the same."
        }
        Some(topology) if topology.groups.is_empty() => {
            "There are no groups: too few pairs were measured, or their costs do not form groups."
        }
        // The page shows the contradictions themselves.
        Some(topology) if !topology.contradictions.is_empty() => return None,
        Some(_) if matrix.pairs.len() == matrix.possible => {
            "The measured topology is consistent with the reported one."
        }
        Some(_) => {
            let (measured, others) = (matrix.pairs.len(), matrix.possible - matrix.pairs.len());
            return Some(format!(
                "The {} measured CPU pairs are consistent with the reported topology. The other {} were not measured.",
                grouped(measured),
                grouped(others)
            ));
        }
    };
    Some(text.to_owned())
}
