//! The parts of an experiment: CPUs, workload, memory, team, and the remarks on them.

use syncscope_core::{Actor, Case, Experiment, Placement, Refusal, RunEffect};
use syncscope_host::scheduling::AffinityGuard;

use super::CpuLaboratory;
use crate::awake_policy::AwakePolicy;
use crate::experiment::{Sharing, TeamExperiment};
use crate::machine::page_homes;
use crate::machine::placement::{self, Placed};
use crate::primitives::{self, Workload};
use crate::run_effect::run_effect;
use crate::studies;

impl CpuLaboratory {
    /// The experiment of a case of the catalogue.
    pub(super) fn experiment_of_case(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        if let Some(reason) = studies::unavailable(case) {
            return Err(Refusal::Skipped(reason));
        }
        let (placement, threads) =
            (case.placement.clone().unwrap_or(Placement::Close), case.threads.unwrap_or(1).max(1));
        let (workload, remark) = self.workload_in_place(case, &placement)?;
        let placed = self.placed(&placement, threads)?;
        let sharing = self.sharing(&placement, &placed, Some(case)).with_remark(remark);
        let sharing = sharing.with_remark(self.kept_awake(&workload));
        let team = if workload.in_processes {
            self.teams.end_runtimes();
            self.processes.team_for(case, &placed.cpus)?
        } else {
            self.teams.team_on(workload.runtime, &placed.cpus, &self.clock)?
        };
        Ok(Box::new(TeamExperiment::new(team, &self.clock, &mut self.interference, workload, sharing)))
    }

    /// Makes any workload ready to run on `threads` threads, even if it is in no catalogue.
    ///
    /// # Errors
    /// When the placement does not exist here or the team cannot be assembled.
    pub fn experiment_of(
        &mut self,
        workload: Workload,
        placement: &Placement,
        threads: u32,
    ) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let placed = self.placed(placement, threads)?;
        let sharing = self.sharing(placement, &placed, None);
        let team = self.teams.team_on(workload.runtime, &placed.cpus, &self.clock)?;
        Ok(Box::new(TeamExperiment::new(team, &self.clock, &mut self.interference, workload, sharing)))
    }

    /// The CPUs of a placement.
    fn placed(&self, placement: &Placement, threads: u32) -> Result<Placed, Refusal> {
        if let Some(reason) = self.unavailable() {
            return Err(Refusal::Skipped(reason));
        }
        placement::place(&self.topology, placement, threads).map_err(|error| Refusal::Skipped(error.to_string()))
    }

    /// The workload of a case with its memory where the case wants it, and the remark for the row.
    fn workload_in_place(&self, case: &Case, placement: &Placement) -> Result<(Workload, Option<String>), Refusal> {
        if let Some(node) = studies::home_node(case) {
            let cpu = page_homes::first_touch_cpu(&self.topology, node)?;
            let workload = workload_made_on(Some(cpu), case)?;
            let remark = page_homes::verify(&workload.extents, node, cpu)?;
            return Ok((workload, Some(remark)));
        }
        let first = placement::place(&self.topology, placement, 1).ok().and_then(|placed| placed.cpus[0]);
        let workload = workload_made_on(first, case)?;
        let remark = first.and_then(|first| page_homes::misplaced(&self.topology, &workload.extents, first));
        Ok((workload, remark))
    }

    /// The remark where threads block: what a wake-up costs depends on whether the CPU had halted.
    fn kept_awake(&self, workload: &Workload) -> Option<String> {
        let is_on = self.awake.as_ref().is_some_and(AwakePolicy::is_on);
        (is_on && workload.blocks).then(|| "CPUs were kept awake".to_owned())
    }

    fn sharing(&self, placement: &Placement, placed: &Placed, case: Option<&Case>) -> Sharing {
        let threads = placed.cpus.len();
        let quota = self.quota.filter(|quota| *quota < threads as f64);
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let cpus = |count: u32| format!("{count} CPU{}", plural(count as usize));
        let oversubscribed =
            placed.oversubscribed().then(|| format!("{threads} threads on {}", cpus(placed.available)));
        let throttled = quota.map(|quota| format!("{threads} thread{} with the time of {quota} CPUs", plural(threads)));
        // A quota pauses threads and takes no CPU from them: between two pauses they run as without it, in short samples
        // that are excluded where a pause falls into one.
        let is_oversubscribed = oversubscribed.is_some();
        let remarks: Vec<String> = oversubscribed.into_iter().chain(throttled).collect();
        Sharing {
            cpus: placed.available.min(threads as u32),
            oversubscribed: is_oversubscribed,
            unbound: *placement == Placement::None,
            has_siblings: self.topology.share_a_core(&placed.cpus),
            actor: case.map_or(Actor::Slowest, Case::actor),
            run_effect: case.map_or(RunEffect::NONE, run_effect),
            remark: (!remarks.is_empty()).then(|| remarks.join(", ")),
        }
    }
}

/// Makes a workload on a CPU, so that its memory comes from the NUMA node of that CPU. If the CPU cannot be used, the
/// team will report it.
fn workload_made_on(cpu: Option<u32>, case: &Case) -> Result<Workload, Refusal> {
    // A new thread for that would take as long to start as the samples of a measurement block take.
    let _affinity = cpu.map(AffinityGuard::bind_to);
    primitives::workload_of(case)
}
