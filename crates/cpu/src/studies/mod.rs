//! Studies of the machine: on which CPUs, and with memory on which NUMA node, some primitives are measured besides
//! their own sweeps.
//!
//! - `study.rs`: what a study is. Start here.
//! - `chosen_cpus.rs`: two threads, once for each class of CPU pairs (same core, same cache, same node, ...); one hardware
//!   thread of a core with its sibling idle, and with it busy; two threads on one CPU.
//! - [`core_to_core`]: the core-to-core matrix, two threads on many pairs of CPUs.
//! - `core_kinds.rs`: one and two threads on performance and on efficiency cores.
//! - `numa.rs`: a contended cache line on each NUMA node in turn.
//! - [`inference`]: the topology that the rows of the matrix show, compared with the reported one.
//!
//! To add a study, write a file with a `Study`, name it in `STUDIES`, and let a primitive take part in it
//! (`Entry::in_studies`). Plan and laboratory go through `STUDIES`.

pub mod core_to_core;
pub mod inference;

mod chosen_cpus;
mod core_kinds;
mod numa;
mod study;

use syncscope_core::Case;

pub(crate) use self::chosen_cpus::{CpuPairs, OneCpu, Smt};
pub(crate) use self::core_kinds::CoreKinds;
pub(crate) use self::core_to_core::CoreToCore;
pub(crate) use self::numa::Numa;
pub(crate) use self::study::{Participation, Setting, Study};
use crate::machine::topology::Topology;

/// All studies, in the order in which their cases are planned.
pub(crate) static STUDIES: [&dyn Study; 6] = [&CpuPairs, &CoreToCore, &Smt, &CoreKinds, &Numa, &OneCpu];

/// Why a case cannot be measured on this machine.
pub(crate) fn unavailable(case: &Case) -> Option<String> {
    STUDIES.iter().find_map(|study| study.unavailable(case))
}

/// The NUMA node that the memory of a case must be on.
pub(crate) fn home_node(case: &Case) -> Option<u32> {
    STUDIES.iter().find_map(|study| study.home_node(case))
}

/// What the reader of a run of `cases` must know.
pub(crate) fn notes(topology: &Topology, cases: &[Case]) -> Vec<String> {
    STUDIES.iter().filter_map(|study| study.note(topology, cases)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::entries;
    use std::collections::HashSet;
    use syncscope_core::Group;

    #[test]
    fn every_study_has_a_name_and_a_primitive() {
        let names: HashSet<_> = STUDIES.iter().map(|study| study.name()).collect();
        assert_eq!(names.len(), STUDIES.len());
        let taken: HashSet<_> = entries().flat_map(|entry| entry.studies).map(|part| part.study.name()).collect();
        assert_eq!(taken, names, "a study without a primitive, or one that is not in the list");
    }

    #[test]
    fn one_primitive_of_each_study_reports_what_is_missing() {
        for study in STUDIES.iter().filter(|study| study.name() != CoreToCore.name()) {
            let mut parts = entries().flat_map(|entry| entry.studies).filter(|part| part.study.name() == study.name());
            assert!(parts.any(|part| part.reports_missing), "{}", study.name());
        }
    }

    #[test]
    fn a_case_of_no_study_is_nobodys_concern() {
        let case = Case { group: Some(Group::named("libgomp")), ..Case::new("cpu.barrier.openmp") };
        assert_eq!((unavailable(&case), home_node(&case)), (None, None));
    }
}
