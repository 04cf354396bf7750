//! Cases in which the host takes part: launches, answers or additions.

use std::sync::Arc;
use std::time::Duration;

use syncscope_core::{Actor, Case, Dtype, Evidence, Placement, Refusal};

use super::{GpuLaboratory, Made, failed};
use crate::catalogue::{CpuThreads, HostWait, Launching, Sides, Work, entry_of, program_of};
use crate::cuda::compile::Program;
use crate::cuda::driver::{Way, has_conditional_nodes, waits_as_asked};
use crate::evidence::evidence_of;
use crate::experiments::launch_chain::{self, LaunchChain};
use crate::hybrid::nearby_cpus::{Distance, NearbyCpus};
use crate::hybrid::{self, Addition, CpuAddition, CpuThread, RoundTrip, WithHost};
use crate::launch::device_context::Kernels;
use crate::launch::ruler;

/// Number of CPU threads in cases with several.
const SEVERAL: usize = 4;

impl GpuLaboratory {
    /// Adds CPUs of this machine to the cases in which CPU threads take part. A case without a suitable CPU stays as it is, and
    /// is skipped later with the reason.
    pub(super) fn place(&self, cases: Vec<Case>) -> Vec<Case> {
        cases.into_iter().flat_map(|case| placed(case, &self.nearby_cpus)).collect()
    }

    /// A chain of launches of one kernel.
    pub(super) fn launches(&mut self, case: &Case, program: &Program, launching: Launching) -> Made<'_> {
        let shape = self.parameters(case)?.shape;
        let Some(work) = Work::of(case.group.as_ref()) else {
            let known = "`empty`, `5 us`, `5 us line` or `5 us sweep`";
            return Err(Refusal::Skipped(format!("the group names no kernel work such as {known}")));
        };
        let frequency = self.ruler.frequency;
        let cache_bytes = self.machines.first().map_or(0, |machine| machine.l2_bytes);
        let (ruler, cpu, multiprocessors) =
            (self.host_ruler.clone(), self.nearby_cpus.any(), self.limits.multiprocessors);
        let (kernels, evidence) = self.warmed_up(case, program)?;
        if launching.way() == Way::Cooperative {
            let most = kernels.test.blocks_per_multiprocessor(shape.threads).map_err(failed)? * multiprocessors;
            if shape.blocks > most {
                let blocks = shape.blocks;
                return Err(Refusal::Skipped(format!("{blocks} blocks cannot run at the same time: {most} can")));
            }
        }
        // CUDA 12.3 brought both.
        if matches!(launching, Launching::Conditional | Launching::ProgrammaticGraph) && !has_conditional_nodes() {
            let needs = "conditional nodes and programmatic edges need a driver of CUDA 12.3 or later";
            return Err(Refusal::Skipped(needs.to_owned()));
        }
        if matches!(launching, Launching::Waiting(HostWait::Stream(_))) && !waits_as_asked() {
            return Err(Refusal::Skipped("the way to wait needs a driver of CUDA 12.1 or later".to_owned()));
        }
        let (plain, kernels) = (kernels, kernels.launched(launching.way()).map_err(failed)?);
        let bench = self.bench()?;
        let setup = launch_chain::Setup {
            bench,
            kernels,
            plain,
            evidence,
            launching,
            shape,
            work,
            frequency,
            cache_bytes,
            ruler,
            cpu,
        };
        Ok(Box::new(LaunchChain::new(setup).map_err(failed)?))
    }

    /// A flag passed between a CPU thread and a GPU thread.
    pub(super) fn round_trip(&mut self, case: &Case, program: &Program) -> Made<'_> {
        let setup = self.hybrid(case, program, 1)?;
        let work = RoundTrip::new(&setup, CpuThread::Answers).map_err(failed)?;
        Ok(Box::new(WithHost { setup, work }))
    }

    /// A round trip whose CPU thread never answers, with its own limit for a batch.
    ///
    /// # Errors
    /// The errors of [`syncscope_core::Laboratory::experiment`].
    #[doc(hidden)]
    pub fn silent_round_trip(&mut self, case: &Case, limit: Duration) -> Made<'_> {
        let program = program_of(case).ok_or_else(|| Refusal::Skipped(format!("{case} has no kernel")))?;
        let setup = self.hybrid(case, &program, 1)?;
        setup.bench.runner.set_limit(Some(limit));
        let work = RoundTrip::new(&setup, CpuThread::Silent).map_err(failed)?;
        Ok(Box::new(WithHost { setup, work }))
    }

    /// Additions to one variable by one or both sides.
    pub(super) fn addition(&mut self, case: &Case, program: &Program) -> Made<'_> {
        let Ok(sides) = case.group_word().parse::<Sides>() else {
            return Err(Refusal::Skipped("the group is none of `both`, `gpu_alone` and `cpu_alone`".to_owned()));
        };
        let dtype = case.dtype.filter(|dtype| matches!(dtype, Dtype::I32 | Dtype::U32 | Dtype::U64));
        let dtype = dtype.ok_or_else(|| Refusal::Skipped("CPUs have atomic additions of integers only".to_owned()))?;
        if sides == Sides::Cpu {
            // No kernel takes part; any shape will do.
            let one = Case { threads: Some(1), blocks: Some(1), ..case.clone() };
            let ruler = self.host_ruler.clone();
            let evidence = Evidence::NotAvailable("the loop runs on the CPU; no kernel takes part".to_owned());
            let setup = hybrid::Setup { evidence, ruler, ..self.hybrid(&one, program, 1)? };
            let work = CpuAddition::new(&setup, dtype).map_err(failed)?;
            return Ok(Box::new(WithHost { setup, work }));
        }
        let native = self.adds_natively_to_host_memory();
        no_lost_updates(sides, native)?;
        let setup = self.hybrid(case, program, usize::from(sides == Sides::Both))?;
        let remark = setup.remark.iter().map(String::as_str).chain([link(native)]).collect::<Vec<_>>().join("; ");
        let setup = hybrid::Setup { remark: Some(remark), ..setup };
        let work = Addition::new(&setup, dtype, link(native).to_owned()).map_err(failed)?;
        Ok(Box::new(WithHost { setup, work }))
    }

    /// Whether the driver says that atomic operations of a kernel on host memory are atomic for the CPU too.
    #[doc(hidden)]
    pub fn adds_natively_to_host_memory(&self) -> bool {
        self.machines.first().and_then(|device| device.host_native_atomics).unwrap_or(false)
    }

    /// What a case of both sides needs, with the CPUs of the case unless it needs none.
    fn hybrid(&mut self, case: &Case, program: &Program, at_least: usize) -> Result<hybrid::Setup<'_>, Refusal> {
        let shape = self.parameters(case)?.shape;
        let cpus = if at_least == 0 { Vec::new() } else { cpus_of(case, &self.nearby_cpus)? };
        let remark = if at_least == 0 { None } else { self.nearby_cpus.remark() };
        let ruler = self.ruler.clone();
        let (kernels, evidence) = self.warmed_up(case, program)?;
        let actor = entry_of(case).map_or(Actor::Slowest, |entry| entry.facts.actor_of(case));
        let bench = self.bench()?;
        Ok(hybrid::Setup { bench, kernels, evidence, ruler, shape, actor, cpus, remark })
    }

    /// Warms up an idle device, and loads a program.
    fn warmed_up(&mut self, case: &Case, program: &Program) -> Result<(Kernels, Evidence), Refusal> {
        let cubin: Arc<[u8]> = self.compiler.cubin(program).map_err(failed)?;
        let multiprocessors = self.limits.multiprocessors;
        let clock_kernels = self.clock_kernels()?;
        let bench = self.bench()?;
        bench.runner.set_limit(None);
        ruler::warm_up(bench, clock_kernels, multiprocessors).map_err(failed)?;
        let kernels = bench.load(program, &cubin).map_err(failed)?;
        Ok((kernels, evidence_of(case, &cubin)))
    }
}

const fn link(carries_atomics: bool) -> &'static str {
    if carries_atomics {
        "the driver reports native atomics on the link between CPU and device"
    } else {
        "the driver reports no native atomics on the link between CPU and device"
    }
}

/// Refuses additions by both sides if the link carries no atomic operations. Such a machine loses updates, which is a property
/// of the machine and no failure. Whether a short trial loses one depends on chance, so none is made.
fn no_lost_updates(sides: Sides, native: bool) -> Result<(), Refusal> {
    if native || sides != Sides::Both {
        return Ok(());
    }
    Err(Refusal::Skipped(format!("simultaneous additions by CPU and GPU lose updates here: {}", link(native))))
}

/// The case with CPUs, once for each number of CPUs; the case itself if there are no CPUs to add.
fn placed(case: Case, nearby_cpus: &NearbyCpus) -> Vec<Case> {
    let on = |cpus: Vec<u32>| Case { placement: Some(Placement::List(cpus)), ..case.clone() };
    let wanted = match entry_of(&case).map_or(CpuThreads::None, |entry| (entry.cpu_threads)(&case)) {
        CpuThreads::None | CpuThreads::One(None) => Vec::new(),
        CpuThreads::One(Some(distance)) => vec![(distance, 1)],
        CpuThreads::OneAndSeveral => vec![(Distance::Near, 1), (Distance::Near, SEVERAL)],
    };
    let there = wanted.into_iter().filter_map(|(distance, count)| nearby_cpus.some(distance, count));
    let placed: Vec<Case> = there.map(on).collect();
    if placed.is_empty() { vec![case] } else { placed }
}

/// The CPUs of a case, or CPUs at the distance of its group.
fn cpus_of(case: &Case, nearby_cpus: &NearbyCpus) -> Result<Vec<u32>, Refusal> {
    if let Some(Placement::List(cpus)) = &case.placement {
        return Ok(cpus.clone());
    }
    let distance = case.group_word().parse().unwrap_or(Distance::Near);
    nearby_cpus.some(distance, 1).ok_or_else(|| Refusal::Skipped(nearby_cpus.lacks(distance, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::cases;
    use crate::catalogue::limits::DeviceLimits;
    use std::collections::HashSet;
    use syncscope_core::Preset;

    fn planned(nearby_cpus: &NearbyCpus) -> Vec<Case> {
        let all = cases(Preset::Standard, &DeviceLimits { multiprocessors: 132, max_threads: 1024 });
        all.into_iter().flat_map(|case| placed(case, nearby_cpus)).collect()
    }

    fn two_nodes() -> NearbyCpus {
        NearbyCpus::new(&[0, 1, 2, 3, 4, 5, 6, 7], Some(&[4, 5, 6, 7]))
    }

    fn of<'a>(cases: &'a [Case], id: &str, group: &str) -> Vec<&'a Case> {
        cases.iter().filter(|case| case.primitive == id && case.in_group(group)).collect()
    }

    #[test]
    fn cases_of_both_sides_contain_their_cpus() {
        let planned = planned(&two_nodes());
        let flag = |group| of(&planned, "hybrid.flag.round_trip", group)[0].placement.clone();
        assert_eq!(flag("near"), Some(Placement::List(vec![7])));
        assert_eq!(flag("far"), Some(Placement::List(vec![3])));
        let lists: HashSet<_> = of(&planned, "hybrid.atomic.add", "both").iter().map(|case| &case.placement).collect();
        assert_eq!(lists.len(), 2);
        assert!(lists.contains(&Some(Placement::List(vec![4, 5, 6, 7]))));
        assert!(of(&planned, "hybrid.atomic.add", "gpu_alone").iter().all(|case| case.placement.is_none()));
        assert!(of(&planned, "gpu.launch.stream", "empty").iter().all(|case| case.placement.is_none()));
        let ids: HashSet<_> = planned.iter().map(Case::id).collect();
        assert_eq!(ids.len(), planned.len(), "no case twice");
    }

    #[test]
    fn a_missing_cpu_is_a_reason_to_skip() {
        let one_node = NearbyCpus::new(&[0, 1], Some(&[0, 1]));
        let planned = planned(&one_node);
        let far = of(&planned, "hybrid.flag.round_trip", "far")[0];
        assert_eq!(far.placement, None);
        let Err(Refusal::Skipped(reason)) = cpus_of(far, &one_node) else { panic!("there is none") };
        assert!(reason.contains("as near to the device as any other"), "{reason}");
        let near = of(&planned, "hybrid.flag.round_trip", "near")[0];
        assert_eq!(cpus_of(near, &one_node), Ok(vec![1]));
        assert!(of(&planned, "hybrid.atomic.add", "both").iter().all(|case| case.actors() > 0));
    }

    #[test]
    fn additions_of_both_sides_need_a_link_with_atomic_operations() {
        let reason = "simultaneous additions by CPU and GPU lose updates here: the driver reports no native atomics on \
                      the link between CPU and device";
        assert_eq!(no_lost_updates(Sides::Both, false), Err(Refusal::Skipped(reason.to_owned())));
        for (sides, native) in [(Sides::Both, true), (Sides::Gpu, false), (Sides::Cpu, false)] {
            assert_eq!(no_lost_updates(sides, native), Ok(()));
        }
    }

    #[test]
    fn every_case_with_the_host_has_its_method() {
        for case in planned(&two_nodes()).iter().filter(|case| case.primitive.starts_with("hybrid.")) {
            assert!(entry_of(case).is_some(), "{case}");
        }
    }
}
