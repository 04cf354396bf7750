//! Queries over all entries: primitives, cases, availability, the program of a case; and programs that fail on purpose, for
//! tests.

use syncscope_core::units::plural;
use syncscope_core::{Case, MemoryOrder, OwnCode, Preset, Primitive};

use crate::catalogue::entry::{Entry, Kernel, Method};
use crate::catalogue::families::{FAMILIES, group_size};
use crate::catalogue::limits::{DeviceLimits, shape_of};
use crate::catalogue::own;
use crate::cuda::compile::Program;
use crate::launch::arguments::{ArgumentKind, UNROLL};

fn entries() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

/// The primitives that have a kernel, whether or not this machine has a GPU.
pub(crate) fn primitives() -> impl Iterator<Item = Primitive> {
    entries().map(Entry::primitive)
}

/// The cases of `preset`, in the catalogue's order.
///
/// ```
/// use syncscope_core::Preset;
/// use syncscope_gpu::{DeviceLimits, cases};
///
/// let h100 = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
/// let quick = cases(Preset::Quick, &h100);
/// assert!(quick.iter().any(|case| case.primitive == "gpu.block.syncthreads" && case.threads == Some(1024)));
/// ```
pub fn cases(preset: Preset, limits: &DeviceLimits) -> Vec<Case> {
    entries().flat_map(|entry| entry.planned(preset, *limits)).collect()
}

/// The cases of the largest preset on a device large enough for all of them.
pub(crate) fn variants() -> Vec<Case> {
    cases(Preset::Paper, &DeviceLimits { multiprocessors: 132, max_threads: 1024 })
}

/// The entries that cases may name: those of the catalogue and the user's operations.
#[derive(Debug, Default)]
pub struct Entries {
    own: Vec<&'static Entry>,
}

impl Entries {
    /// Adds the user's operations, as they are measured on a device.
    pub fn with_own(code: &OwnCode, limits: DeviceLimits) -> Self {
        Self { own: own::entries(code, limits) }
    }

    fn find(&self, id: &str) -> Option<&'static Entry> {
        entries().chain(self.own.iter().copied()).find(|entry| entry.id == id)
    }

    /// The entry of a case's primitive.
    pub(crate) fn entry_of(&self, case: &Case) -> Option<&'static Entry> {
        self.find(&case.primitive)
    }

    /// The program of a case; `None` if the primitive does not exist.
    pub fn program_of(&self, case: &Case) -> Option<Program> {
        let entry = self.entry_of(case)?;
        let definitions = entry.own.map_or_else(|| (entry.definitions)(case), |own| own.definitions(case));
        let program = entry.kernel.program(definitions);
        let unroll = (entry.unroll)(case);
        Some(if unroll == UNROLL { program } else { program.with(format!("SYNCSCOPE_UNROLL={unroll}")) })
    }

    /// The program of a case with the third loop; `None` if there is no such loop.
    pub fn third_loop_of(&self, case: &Case) -> Option<Program> {
        let has_loop = |entry: &&Entry| {
            entry.has_third_loop && matches!(entry.method, Method::Kernel | Method::Cluster | Method::GridBarrier)
        };
        self.entry_of(case).filter(has_loop)?;
        Some(self.program_of(case)?.with_third_loop())
    }

    /// Why a primitive cannot be measured on a device of this compute capability; `None` if it can.
    pub(crate) fn unavailable(&self, primitive: &str, capability: (u32, u32)) -> Option<String> {
        let entry = self.find(primitive)?;
        let ((major, minor), (has_major, has_minor)) = (entry.needs, capability);
        let reason = || format!("needs compute capability {major}.{minor}; the device has {has_major}.{has_minor}");
        let ended = || {
            let (major, minor) = entry.ends_before;
            format!(
                "devices of compute capability {major}.{minor} and higher lack it, and this one has {has_major}.{has_minor}"
            )
        };
        let is_too_new = (capability >= entry.ends_before).then(ended);
        (capability < entry.needs).then(reason).or(is_too_new)
    }

    /// Why a requested case cannot exist on a device; `None` if it can.
    pub(crate) fn limit(&self, case: &Case, limits: DeviceLimits) -> Option<String> {
        let entry = self.entry_of(case)?;
        let (blocks, threads) = shape_of(case);
        let cluster = if entry.method == Method::Cluster { group_size(case) } else { 1 };
        let waits_for_all = entry.method == Method::GridBarrier;
        let most = limits.multiprocessors * DeviceLimits::resident(threads.max(1));
        match () {
            () if threads > limits.max_threads => {
                Some(format!("{threads} threads; a block has at most {}", limits.max_threads))
            }
            () if blocks % cluster != 0 => Some(format!(
                "{blocks} blocks are not a multiple of the cluster size, \
                                                         {cluster}"
            )),
            () if waits_for_all && blocks > most => {
                let of = plural(threads, "thread");
                Some(format!("{blocks} blocks of {of} cannot run at the same time: at most {most} can"))
            }
            () => (entry.limit)(case, limits).map(str::to_owned),
        }
    }
}

const CATALOGUE: Entries = Entries { own: Vec::new() };

/// The entry of a case's primitive in the catalogue.
pub(crate) fn entry_of(case: &Case) -> Option<&'static Entry> {
    CATALOGUE.entry_of(case)
}

/// Why a primitive of the catalogue cannot be measured on a device of this compute capability; `None` if it can.
pub fn unavailable(primitive: &str, capability: (u32, u32)) -> Option<String> {
    CATALOGUE.unavailable(primitive, capability)
}

/// The program of a case of the catalogue; `None` if the primitive does not exist.
pub fn program_of(case: &Case) -> Option<Program> {
    CATALOGUE.program_of(case)
}

/// The program of a case of the catalogue with the third loop; `None` if there is no such loop.
pub fn third_loop_of(case: &Case) -> Option<Program> {
    CATALOGUE.third_loop_of(case)
}

/// How many bytes of arguments the kernels `baseline`, `test` and `check` of a case take; `None` if there are none.
pub fn argument_bytes(case: &Case) -> Option<usize> {
    entry_of(case)?.kernel.arguments.bytes()
}

/// The program that measures the clock.
pub(crate) fn ruler_program() -> Program {
    Kernel::of("ruler.cu", ArgumentKind::Register).program(Vec::new())
}

/// How a kernel fails on purpose, for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A kernel spins until the host asks it to stop.
    Hang,
    /// A kernel traps; its context becomes unusable.
    Trap,
}

/// The program of a grid barrier that the last block never reaches.
pub(crate) fn absent_block_program(case: &Case) -> Option<Program> {
    Some(program_of(case)?.with("ABSENT=1".to_owned()))
}

/// The orderings of a grid barrier that can be left out one at a time, as the kernels number them from 1 (`ORDERS` in
/// `grid_barrier.cuh`). Empty for other primitives, for a barrier that orders nothing, and for CUDA's.
pub fn orderings(case: &Case) -> &'static [&'static str] {
    let ordered = Some(case).filter(|case| case.order != Some(MemoryOrder::Relaxed));
    ordered.and_then(entry_of).map_or(&[], |entry| (entry.orderings)(case))
}

/// The program of a grid barrier without the ordering with this number; [`orderings`] are numbered from 1.
pub fn weakened_program(case: &Case, ordering: u32) -> Option<Program> {
    Some(program_of(case)?.with(format!("SYNCSCOPE_WEAKENED={ordering}")))
}

pub(crate) fn fault_program(fault: Fault) -> Program {
    Kernel::of("fault.cu", ArgumentKind::Register).program(vec![format!("FAULT={}", fault as u32)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::entry::Method;
    use std::collections::HashSet;
    use syncscope_core::session::plan::asked;
    use syncscope_core::{Axes, Dtype, Experiment, Form, Laboratory, Layout, Listing, Refusal};

    const H200: DeviceLimits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };

    #[test]
    fn every_entry_keeps_the_contract() {
        for primitive in primitives() {
            assert_eq!(primitive.defect(), None);
        }
        let ids: HashSet<_> = primitives().map(|primitive| primitive.id).collect();
        assert_eq!(ids.len(), primitives().count());
    }

    #[test]
    fn no_case_is_planned_twice_and_each_has_a_kernel() {
        for preset in Preset::ALL {
            let cases = cases(*preset, &H200);
            let ids: HashSet<_> = cases.iter().map(Case::id).collect();
            assert_eq!(ids.len(), cases.len());
            assert!(cases.iter().all(|case| program_of(case).is_some()));
            let timed_here = |case: &&Case| entry_of(case).unwrap().method != Method::HostBarrier;
            let meant = |case: &Case| !(entry_of(case).unwrap().expected)(case).instructions.is_empty();
            assert!(cases.iter().filter(timed_here).all(meant));
        }
        assert_eq!(program_of(&Case::new("gpu.block.none")), None);
    }

    /// A device whose cases are planned alone.
    struct Planned(DeviceLimits);

    impl Laboratory for Planned {
        fn listing(&self) -> Vec<Listing> {
            crate::primitives().iter().map(|primitive| Listing { primitive, unavailable: None }).collect()
        }

        fn plan(&self, preset: Preset) -> Vec<Case> {
            cases(preset, &self.0)
        }

        fn variants(&self) -> Vec<Case> {
            variants()
        }

        fn fitting(&self, _: Preset, cases: Vec<Case>) -> Vec<Result<Case, String>> {
            cases.into_iter().map(|case| CATALOGUE.limit(&case, self.0).map_or(Ok(case), Err)).collect()
        }

        fn experiment(&mut self, _: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
            Err(Refusal::Failed("no device".to_owned()))
        }
    }

    #[test]
    fn what_is_planned_can_exist() {
        for limits in [H200, DeviceLimits { multiprocessors: 16, max_threads: 1024 }] {
            for case in Preset::ALL.iter().flat_map(|preset| cases(*preset, &limits)) {
                assert_eq!(CATALOGUE.limit(&case, limits), None, "{case}");
            }
        }
    }

    #[test]
    fn axes_replace_the_values_of_a_plan_within_the_limits_of_a_primitive() {
        let with = |id: &'static str, axes: Axes| {
            let device = Planned(DeviceLimits { multiprocessors: 108, ..H200 });
            let asked = asked(&device, Preset::Quick, &axes, &move |case| case.primitive == id);
            let words: HashSet<String> = asked.refused.into_iter().map(|(_, reason)| reason).collect();
            let mut words: Vec<String> = words.into_iter().collect();
            words.sort_unstable();
            (asked.cases, words.join("; "))
        };
        let threads = |threads: u32| Axes { threads: vec![threads], ..Axes::default() };
        let blocks = |blocks: u32| Axes { blocks: vec![blocks], ..Axes::default() };
        let (cases, refused) = with("gpu.block.syncthreads", blocks(5));
        assert!(cases.len() > 1 && cases.iter().all(|case| case.blocks == Some(5)) && refused.is_empty());
        assert_eq!(with("gpu.block.syncthreads", threads(17)).0.len(), 2, "one block and one on each multiprocessor");
        let (stride, _) = with("gpu.atomic.add", Axes { strides: vec![3], ..Axes::default() });
        assert!(stride.iter().all(|case| case.layout == Some(Layout::Private { stride: 3 })) && stride.len() > 3);
        for (id, axes, reason) in [
            ("gpu.block.syncthreads", threads(1025), "1025 threads; a block has at most 1024"),
            ("gpu.block.named_barrier", threads(96), "96 threads are not a multiple of 64"),
            ("gpu.cluster.sync", blocks(12), "12 blocks are not a multiple of the cluster size, 8"),
            ("gpu.grid.cooperative", blocks(10_000), "blocks of 32 threads cannot run at the same time: at most 3456"),
            (
                "gpu.atomic.min",
                Axes { dtypes: vec![Dtype::F32], ..Axes::default() },
                "it has the types i32, u32, u64, not f32",
            ),
            ("gpu.lock.ticket", blocks(5000), "every warp waits for every other"),
            ("hybrid.flag.round_trip", blocks(5), "it has only blocks 1, not 5"),
        ] {
            let (cases, refused) = with(id, axes);
            assert!(cases.is_empty() && refused.contains(reason), "{id}: {cases:?}: {refused}");
        }
    }

    #[test]
    fn every_primitive_is_in_every_preset() {
        for multiprocessors in [1, 132] {
            let limits = DeviceLimits { multiprocessors, max_threads: 1024 };
            for preset in Preset::ALL {
                let planned: HashSet<_> = cases(*preset, &limits).into_iter().map(|case| case.primitive).collect();
                // Reductions and hand-offs consist of what quick plans measure, and the cheapest launches represent all
                // launches.
                let forms = ["programmatic_end", "programmatic_attribute", "programmatic_graph", "host_function"];
                let families = [
                    "gpu.reduction.",
                    "gpu.handoff.",
                    "gpu.fence.proxy",
                    "gpu.atomic.add_",
                    "gpu.multi.exchange",
                    "gpu.block.tensor_",
                    "gpu.block.try_cancel",
                ];
                let of_host = ["sync_spin", "sync_yield", "sync_block", "event_block", "ask_"];
                let is_beyond_quick = |id: &str| {
                    let launch = id.strip_prefix("gpu.launch.");
                    families.iter().any(|family| id.starts_with(family))
                        || id == "gpu.shuffle.through_shared"
                        || launch.is_some_and(|id| forms.contains(&id) || of_host.iter().any(|way| id.starts_with(way)))
                };
                let missing: Vec<&str> = primitives().map(|one| one.id).filter(|id| !planned.contains(*id)).collect();
                let left_out = |id: &&str| *preset == Preset::Quick && is_beyond_quick(id);
                assert!(missing.iter().all(left_out), "{missing:?}");
            }
        }
    }

    #[test]
    fn a_smaller_plan_is_a_small_part_of_a_larger_one() {
        let [quick, standard, paper] =
            [Preset::Quick, Preset::Standard, Preset::Paper].map(|preset| cases(preset, &H200));
        assert!(quick.len() <= 255, "{} cases: a run of a minute has no more", quick.len());
        assert!((1000..7200).contains(&standard.len()), "{} cases: leave some to the paper preset", standard.len());
        let (in_standard, in_paper): (HashSet<_>, HashSet<_>) = (standard.iter().collect(), paper.iter().collect());
        assert_eq!(quick.iter().find(|case| !in_standard.contains(case)), None);
        assert_eq!(standard.iter().find(|case| !in_paper.contains(case)), None);
    }

    #[test]
    fn a_form_stands_beside_the_default_on_the_same_grid() {
        for preset in Preset::ALL {
            let planned: HashSet<Case> = cases(*preset, &H200).into_iter().collect();
            // A fence between other fences is only in the paper's grid.
            let beside = planned.iter().filter(|case| case.form != Some(Form::Fenced));
            let alone = beside.into_iter().find(|case| !planned.contains(&Case { form: None, ..(*case).clone() }));
            assert_eq!(alone, None, "{preset}");
        }
        let quick: HashSet<_> = cases(Preset::Quick, &H200).into_iter().filter_map(|case| case.form).collect();
        assert_eq!(quick, HashSet::from([Form::Varying, Form::NotAggregated, Form::Parity]));
    }

    #[test]
    fn forms_of_a_primitive_are_different_programs() {
        for case in cases(Preset::Paper, &H200).iter().filter(|case| case.form.is_some()) {
            let as_written = Case { form: None, ..case.clone() };
            assert_ne!(program_of(case), program_of(&as_written), "{case}");
        }
    }

    #[test]
    fn cases_share_programs() {
        let programs: HashSet<_> = cases(Preset::Paper, &H200).iter().filter_map(program_of).collect();
        assert!(programs.len() <= 1050, "{}", programs.len());
        let without_text = programs.iter().find(|program| program.text.is_empty());
        assert_eq!(without_text, None, "a kernel names a file that is not in kernels/");
    }

    #[test]
    fn the_missing_capability_is_named() {
        let reason = unavailable("gpu.reduce.add", (7, 5)).unwrap();
        assert_eq!(reason, "needs compute capability 8.0; the device has 7.5");
        assert_eq!(unavailable("gpu.reduce.add", (8, 0)), None);
        assert_eq!(unavailable("gpu.block.syncthreads", (7, 5)), None);
        assert_eq!(unavailable("gpu.block.none", (7, 5)), None);
    }
}
