//! Studies of the machine: on which CPUs, and with memory on which NUMA node, some primitives are measured besides
//! their own sweeps.
//!
//! - This file: what a study is, and how a primitive takes part in one. Start here.
//! - `chosen_cpus.rs`: two threads, once for each class of CPU pairs (same core, same cache, same node, ...); one hardware
//!   thread of a core with its sibling idle, busy and waiting; two threads on one CPU; each core.
//! - [`core_to_core`]: the core-to-core matrix, two threads on many pairs of CPUs.
//! - `core_kinds.rs`: one and two threads on cores of each kind, such as performance and efficiency cores.
//! - `numa.rs`: a contended cache line on each NUMA node in turn.
//! - [`inference`]: the topology that the rows of the matrix show, compared with the reported one.
//!
//! To add a study, write a file with a `Study`, and let a primitive take part in it
//! (`Entry::in_studies`).

pub mod core_to_core;
pub mod inference;

mod chosen_cpus;
pub mod core_kinds;
mod numa;

use syncscope_core::{Case, Group, Placement, Preset, Primitive};

pub use self::chosen_cpus::{Competing, CpuPairs, EachCore, OneCpu, SIBLING_WAITS, Smt, WaitingSibling};
use self::chosen_cpus::{SIBLING_BUSY, class_of};
pub use self::core_kinds::CoreKinds;
pub use self::core_to_core::CoreToCore;
pub use self::numa::{Numa, home_node};
use crate::nearness::{ClassedPair, PairClass, classes};
use crate::topology::Topology;

/// What a machine lacks, for cases without a placement: by group.
pub const MISSING: [(&str, &str); 4] = [
    (SIBLING_BUSY, PairClass::SameCore.missing()),
    (SIBLING_WAITS, PairClass::SameCore.missing()),
    (core_kinds::BOTH, "the system reports only one kind of core among those this process may use"),
    (
        numa::LINE_ON_A_NODE,
        "the CPUs this process may use all belong to one NUMA node or one core, so the cache line has no other node \
         to be on",
    ),
];

/// Why a case cannot be measured on this machine.
pub fn unavailable(case: &Case) -> Option<&'static str> {
    let of_group = || MISSING.iter().find(|(group, _)| case.in_group(group)).map(|(_, missing)| *missing);
    if case.placement.is_some() { None } else { class_of(case).map(PairClass::missing).or_else(of_group) }
}

/// A question about the machine that is answered with the help of some primitives: how much a cost depends on which
/// CPUs the threads run on, or on which NUMA node the memory is.
pub trait Study: Sync {
    /// The cases of a primitive that takes part with `templates`. The study sets threads, placement and group. A case
    /// without a placement stands for what this machine lacks; [`unavailable`] explains it.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case>;
}

/// What the cases of a study depend on.
pub struct Setting<'a> {
    /// The preset of the plan.
    pub preset: Preset,
    /// The machine.
    pub topology: &'a Topology,
    /// The classes of CPU pairs that the machine has, the nearest first, each with one pair.
    pub classes: Vec<ClassedPair>,
}

impl<'a> Setting<'a> {
    /// The setting of a preset on a machine, with its classes.
    pub fn of(preset: Preset, topology: &'a Topology) -> Self {
        Self { preset, topology, classes: classes(topology) }
    }

    /// The pair that represents a class; `None` where the machine has no such pair.
    fn pair_of(&self, class: PairClass) -> Option<[u32; 2]> {
        self.classes.iter().find(|(known, _)| *known == class).map(|(_, pair)| *pair)
    }

    /// The case that reports what the machine lacks, made of the first template; none in the quick preset.
    fn lacking(&self, templates: &[Case], group: &Group) -> Vec<Case> {
        let first = templates.iter().take(usize::from(self.preset != Preset::Quick));
        first.map(|case| Case { threads: Some(2), group: Some(group.clone()), ..case.clone() }).collect()
    }
}

/// A template with a thread on each of these CPUs.
fn on_cpus(template: &Case, group: Group, cpus: &[u32]) -> Case {
    let placement = Some(Placement::List(cpus.to_vec()));
    Case { threads: Some(cpus.len() as u32), placement, group: Some(group), ..template.clone() }
}

/// A primitive's part in a study.
pub struct Participation {
    /// The study.
    pub study: &'static dyn Study,
    /// The cases that the study places on CPUs; none where the preset leaves them out.
    pub templates: fn(&Primitive, Preset) -> Vec<Case>,
    /// Whether the plan keeps the case that reports what this machine lacks. One primitive of a study is enough.
    pub reports_missing: bool,
}

impl Participation {
    /// Takes part with the case without parameters, in every preset, and reports nothing that a machine lacks.
    pub const fn plain(study: &'static dyn Study) -> Self {
        Self { study, templates: plain, reports_missing: false }
    }

    /// Like [`Participation::plain`], but not in the quick preset.
    pub const fn beyond_quick(study: &'static dyn Study) -> Self {
        let templates = |primitive: &Primitive, preset| {
            if preset == Preset::Quick { Vec::new() } else { plain(primitive, preset) }
        };
        Self { study, templates, reports_missing: false }
    }

    /// Also reports what the machine lacks.
    pub const fn reporting(self) -> Self {
        Self { reports_missing: true, ..self }
    }
}

fn plain(primitive: &Primitive, _: Preset) -> Vec<Case> {
    vec![Case::new(primitive.id)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_of_no_study_is_nobodys_concern() {
        let case = Case { group: Some(Group::named("libgomp")), ..Case::new("cpu.barrier.openmp") };
        assert_eq!((unavailable(&case), home_node(&case)), (None, None));
    }
}
