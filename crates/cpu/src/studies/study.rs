//! What a study of the machine is, and how a primitive takes part in one.

use syncscope_core::{Case, Preset, Primitive};

use crate::machine::nearness::{ClassedPair, classes};
use crate::machine::topology::Topology;

/// A question about the machine that is answered with the help of some primitives: how much a cost depends on which
/// CPUs the threads run on, or on which NUMA node the memory is.
pub(crate) trait Study: Sync {
    /// Its name, unique among the studies.
    fn name(&self) -> &'static str;

    /// The cases of a primitive that takes part with `templates`. The study sets threads, placement and group. A case
    /// without a placement stands for what this machine lacks; [`Self::unavailable`] explains it.
    fn cases(&self, setting: &Setting, templates: &[Case]) -> Vec<Case>;

    /// Why a case of this study cannot be measured on this machine; `None` for all other cases.
    fn unavailable(&self, _case: &Case) -> Option<String> {
        None
    }

    /// The NUMA node that the memory of a case of this study must be on. `None` leaves it to the CPU of the first
    /// thread.
    fn home_node(&self, _case: &Case) -> Option<u32> {
        None
    }

    /// What the reader of a run of `cases` must know of this study.
    fn note(&self, _topology: &Topology, _cases: &[Case]) -> Option<String> {
        None
    }
}

/// What the cases of a study depend on.
pub(crate) struct Setting<'a> {
    pub(crate) preset: Preset,
    pub(crate) topology: &'a Topology,
    /// The classes of CPU pairs that the machine has, the nearest first, each with one pair.
    pub(crate) classes: Vec<ClassedPair>,
}

impl<'a> Setting<'a> {
    pub(crate) fn of(preset: Preset, topology: &'a Topology) -> Self {
        Self { preset, topology, classes: classes(topology) }
    }
}

/// A primitive's part in a study.
pub(crate) struct Participation {
    /// The study.
    pub(crate) study: &'static dyn Study,
    /// The cases that the study places on CPUs; none where the preset leaves them out.
    pub(crate) templates: fn(&Primitive, Preset) -> Vec<Case>,
    /// Whether the plan keeps the case that stands for what this machine lacks. One primitive of a study is enough.
    pub(crate) reports_missing: bool,
}

impl Participation {
    /// The case without parameters, in every preset; a machine that lacks something has no case.
    pub(crate) const fn plain(study: &'static dyn Study) -> Self {
        Self { study, templates: plain, reports_missing: false }
    }

    /// The same beyond the quick preset.
    pub(crate) const fn beyond_quick(study: &'static dyn Study) -> Self {
        let templates = |primitive: &Primitive, preset| {
            if preset == Preset::Quick { Vec::new() } else { plain(primitive, preset) }
        };
        Self { study, templates, reports_missing: false }
    }

    /// The same, which says what the machine lacks.
    pub(crate) const fn reporting(self) -> Self {
        Self { reports_missing: true, ..self }
    }
}

fn plain(primitive: &Primitive, _: Preset) -> Vec<Case> {
    vec![Case::new(primitive.id)]
}
