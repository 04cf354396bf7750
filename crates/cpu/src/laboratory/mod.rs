//! The CPU of this machine as a laboratory: it says what can be measured, and builds the experiment of a case.
//!
//! `description.rs` describes the machine and what may disturb its figures.

use std::collections::HashSet;

use syncscope_core::machine::{AwakeDecision, MeasuredTopology};
use syncscope_core::own::is_own;
use syncscope_core::session::{Apart, Share};
use syncscope_core::units::plural;
use syncscope_core::{Actor, Case, CaseId, Experiment, Laboratory, Listing, OwnCode, Placement, Preset, Refusal, Row};
use syncscope_host::cpu_list;
use syncscope_host::loading::undisturbed;
use syncscope_host::scheduling::{self, AffinityGuard, CpuSet};

use crate::awake::AwakePolicy;
use crate::experiment::{Sharing, TeamExperiment};
use crate::memory;
use crate::plan;
use crate::primitives::own::OwnPrograms;
use crate::primitives::{self, Blocking, Entry, Workload};
use crate::processes::{self, ProcessPool};
use crate::team::openmp;
use crate::team::pool::TeamPool;
use crate::thinning;
use crate::timing::clock::Clock;
use crate::timing::cycles;
use crate::timing::smt_interference::InterferenceDetector;
use syncscope_machine::cpu_time::{CpuCounters, Quota, Throttling, cpu_quota};
use syncscope_machine::described::{self, Description};
use syncscope_machine::placement::{self, Placed, place_teams_on};
use syncscope_machine::studies::{self, core_kinds, core_to_core, inference};
use syncscope_machine::system::System;
use syncscope_machine::topology::Topology;

mod description;

/// The CPUs of this machine as a laboratory.
pub struct CpuLaboratory {
    topology: Topology,
    /// Describes the machine.
    description: Description,
    /// The CPUs of the thread that opened the laboratory, which measures; `None` where the system does not say.
    cpus: Option<CpuSet>,
    system: System,
    clock: Clock,
    /// How core cycles are counted on this machine.
    core_cycles: String,
    quota: Option<Quota>,
    load: Option<f64>,
    teams: TeamPool,
    processes: ProcessPool,
    interference: InterferenceDetector,
    /// Whether the CPUs are kept awake; decided before measuring.
    awake: Option<AwakePolicy>,
    /// The user's own code.
    own: OwnPrograms,
    /// Whether fresh processes may make passes: another process ends those that hang.
    is_watched: bool,
}

impl CpuLaboratory {
    /// Reads the topology and which CPUs this process may use, and calibrates the clock. Call it on a thread that the
    /// program has not bound: the CPUs of that thread are the ones that are measured.
    ///
    /// # Errors
    /// When there is no topology, or none of its CPUs may be used.
    pub fn open() -> Result<Self, String> {
        let cpus = CpuSet::of_this_thread();
        let description = Description::of_environment()?;
        let system = description.system();
        let topology = allowed_topology(&description)?.with_memory_of_system(system.memory_bytes());
        let kinds = description.core_kinds(&topology);
        let topology = topology.with_core_kinds(&kinds);
        place_teams_on(&topology);
        // Loaded here: a runtime counts the CPUs of the thread that loads it, and this thread may use all of them.
        let _ = crate::team::openmp::runtimes();
        // Read before this program adds to the load.
        let load = system.load();
        let quota = cpu_quota(system.root());
        let core_cycles = cycles::description();
        Ok(Self {
            topology,
            description,
            cpus,
            clock: Clock::calibrate(),
            core_cycles,
            quota,
            load,
            system,
            teams: TeamPool::default(),
            processes: ProcessPool::default(),
            interference: InterferenceDetector::default(),
            awake: None,
            own: OwnPrograms::default(),
            is_watched: false,
        })
    }

    /// Measures a user's own code as well.
    #[must_use]
    pub fn with_own(self, code: OwnCode) -> Self {
        Self { own: OwnPrograms::new(code), ..self }
    }

    /// Lets fresh processes make passes. The program calls [`crate::processes::measure_if_asked`] in `main`, and another process
    /// watches this one.
    pub const fn let_fresh_processes_measure(&mut self) {
        self.is_watched = true;
    }

    /// The machine's topology.
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The clock samples are timed with.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Load average over the last minute, when the laboratory was opened: before this program added to it.
    pub const fn initial_load(&self) -> Option<f64> {
        self.load
    }

    /// Load average over the last minute, now.
    pub fn current_load(&self) -> Option<f64> {
        self.system.load()
    }

    /// The system's counters of these CPUs, or of all allowed ones; `None` where it does not count steal time.
    pub fn cpu_counters(&self, cpus: Option<&[u32]>) -> Option<CpuCounters> {
        CpuCounters::read(&self.system, cpus.unwrap_or(&self.topology.allowed_cpus()))
    }

    /// The limit on the CPU time of this process, where there is one.
    pub const fn quota(&self) -> Option<&Quota> {
        self.quota.as_ref()
    }

    /// For how long quotas have kept this process from the CPUs so far.
    pub fn throttling(&self) -> Throttling {
        Throttling::read(self.system.root())
    }

    /// The most memory that this process had at a time, where the system reports it.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        self.system.peak_memory_bytes()
    }

    /// Why nothing can be measured; `None` where this is the machine of the topology.
    fn unavailable(&self) -> Option<String> {
        (!self.topology.this_system)
            .then(|| format!("the topology is not this machine's: unset {}", described::variables()))
    }
}

/// hwloc's topology, with the CPUs that the calling thread may use.
fn allowed_topology(description: &Description) -> Result<Topology, String> {
    let topology = undisturbed(|| description.topology())?;
    if !topology.this_system {
        return Ok(described::planned(topology));
    }
    let cpus = scheduling::allowed_cpus();
    if cpus.is_empty() {
        // The system does not say: everything that hwloc finds counts as allowed.
        return Ok(topology);
    }
    let topology = topology.restricted(|cpu| cpus.contains(&cpu));
    if topology.allowed().next().is_none() {
        let allowed = cpu_list::format(&cpus);
        return Err(format!(
            "the CPUs this process may use ({allowed}) are not in hwloc's topology; check taskset and the cpuset"
        ));
    }
    Ok(topology)
}

impl Laboratory for CpuLaboratory {
    fn listing(&self) -> Vec<Listing> {
        let unavailable = |entry: &Entry| self.unavailable().or_else(|| entry.unavailable());
        let list = |entry: &'static Entry| Listing { primitive: &entry.primitive, unavailable: unavailable(entry) };
        let own = self.own.primitives.iter();
        let own = own.map(|primitive| Listing { primitive, unavailable: self.unavailable() });
        primitives::entries().map(list).chain(own).collect()
    }

    fn plan(&self, preset: Preset) -> Vec<Case> {
        [plan::whole(preset, &self.topology), self.own.cases(&self.topology)].concat()
    }

    fn within_time(&self, preset: Preset, cases: Vec<Case>) -> Vec<Case> {
        let (own, of_catalogue) = cases.into_iter().partition(|case| is_own(&case.primitive));
        [thinning::within_time(preset, &self.topology, of_catalogue).0, own].concat()
    }

    fn variants(&self) -> Vec<Case> {
        plan::variants()
    }

    fn fitting(&self, preset: Preset, cases: Vec<Case>) -> Vec<Result<Case, String>> {
        plan::fitting(preset, &self.topology, cases)
    }

    fn prepare(&mut self, cases: &[Case], _: &mut dyn FnMut(usize, usize)) {
        if cases.is_empty() || self.unavailable().is_some() {
            return;
        }
        // Loops of an earlier decision would be part of the trial.
        self.awake = None;
        let (cpus, is_guest) = (self.topology.allowed_cpus(), self.system.hypervisor().is_some());
        let quota = self.quota().map(|quota| quota.cpus);
        self.awake = Some(AwakePolicy::decide(self, &cpus, quota, is_guest));
    }

    fn keep_awake(&self) -> Option<AwakeDecision> {
        self.awake.as_ref().map(|policy| policy.decision.clone())
    }

    fn begin_pass(&mut self, pass: u32) {
        self.own.begin_pass(pass);
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        if let Some(reason) = studies::unavailable(case) {
            return Err(Refusal::Skipped(reason.to_owned()));
        }
        let (placement, threads) =
            (case.placement.clone().unwrap_or(Placement::Close), case.threads.unwrap_or(1).max(1));
        self.return_to_its_cpus().or_else(|moved| if placement == Placement::None { Err(moved) } else { Ok(()) })?;
        let (workload, remark) = self.workload_in_place(case, &placement)?;
        self.let_cpus_idle(workload.lets_cpus_idle);
        let placed = self.placed(&placement, threads)?;
        let mut sharing = self.sharing(&placement, &placed, Some(case));
        let of_code = self.own.remark_of(case);
        sharing.remarks.extend([remark, of_code, self.kept_awake(&workload), waiting(&workload)].into_iter().flatten());
        let team = if workload.in_processes {
            self.teams.end_runtimes();
            let library = self.own.library_of(case).transpose()?;
            self.processes.team_for(case, library, &placed.cpus, workload.policy)?
        } else {
            self.processes.end_runtimes();
            self.teams.team_on(workload.runtime, &placed.cpus, &self.clock)?
        };
        Ok(Box::new(TeamExperiment::new(team, &self.clock, &mut self.interference, workload, sharing)))
    }

    fn measure_apart(
        &mut self,
        share: &Share,
        goes_on: &mut dyn FnMut(&Case) -> bool,
    ) -> Option<Result<Vec<Apart>, String>> {
        // The threads of an OpenMP runtime spin.
        self.teams.end_runtimes();
        self.processes.end_runtimes();
        self.is_watched.then(|| {
            self.return_to_its_cpus().map_err(|moved| moved.to_string())?;
            // The fresh process has loops of its own, which it stops where CPUs are to idle.
            self.let_cpus_idle(true);
            processes::measure_apart(share, self.topology.allowed_cpus(), self.keeps_awake(), goes_on)
        })
    }

    fn can_measure_apart(&self) -> bool {
        self.is_watched
    }

    fn notes(&self, preset: Preset, cases: &[Case]) -> Vec<String> {
        let asked: HashSet<&str> = cases.iter().map(|case| case.primitive.as_str()).collect();
        let mut whole = plan::whole(preset, &self.topology);
        whole.retain(|case| asked.contains(case.primitive.as_str()));
        let (kept, left_out) = thinning::within_time(preset, &self.topology, whole.clone());
        // No note where a user asked for cases by their parameters.
        let kept: HashSet<CaseId> = kept.iter().map(Case::id).collect();
        let is_usual = cases.iter().all(|case| kept.contains(&case.id()));
        let example = whole.iter().find(|case| !kept.contains(&case.id())).filter(|_| is_usual);
        let of_plan = example.map(|example| thinning::note(&left_out, preset, example));
        let asks = cases.iter().any(|case| case.domain_and_family().1 == primitives::OPENMP);
        let not_found = if asks { openmp::not_found() } else { Vec::new() };
        let publishes = cases.iter().any(|case| case.primitive.starts_with(primitives::PUBLISH));
        let forms = self.system.atomic_forms().filter(|_| publishes);
        let forms = forms.map(|forms| {
            format!(
                "this processor has {forms}; C11 and Rust publish with stlr or dmb ish, so no row has stilp or \
                     swpp"
            )
        });
        core_to_core::note(preset, &self.topology, cases)
            .into_iter()
            .chain(core_kinds::note(&self.topology, cases))
            .chain(of_plan)
            .chain(not_found)
            .chain(forms)
            .collect()
    }

    fn measured_topology(&self, rows: &[Row]) -> Option<MeasuredTopology> {
        inference::infer(&self.topology, rows)
    }
}

impl CpuLaboratory {
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

    /// Gives this thread its CPUs back if it was moved: unbound threads and worker processes inherit them. A bound thread has
    /// CPUs of its own, so its figures hold where this fails.
    fn return_to_its_cpus(&self) -> Result<(), Refusal> {
        let returned = self.cpus.as_ref().map_or(Ok(()), CpuSet::restore);
        returned.map_err(|error| Refusal::Prevented(format!("the CPUs of this process have changed: {error}")))
    }

    /// The CPUs of a placement.
    fn placed(&self, placement: &Placement, threads: u32) -> Result<Placed, Refusal> {
        if let Some(reason) = self.unavailable() {
            return Err(Refusal::Skipped(reason));
        }
        placement::place(&self.topology, placement, threads).map_err(Refusal::Skipped)
    }

    /// The workload of a case with its memory where the case wants it, and the remark for the row.
    fn workload_in_place(&self, case: &Case, placement: &Placement) -> Result<(Workload, Option<String>), Refusal> {
        if let Some(node) = studies::home_node(case) {
            let cpu = memory::first_touch_cpu(&self.topology, node)?;
            let workload = self.workload_made_on(Some(cpu), case)?;
            let remark = memory::verify(&workload.extents, node, cpu)?;
            return Ok((workload, Some(remark)));
        }
        let first = placement::place(&self.topology, placement, 1).ok().and_then(|placed| placed.cpus[0]);
        let workload = self.workload_made_on(first, case)?;
        let remark = first.and_then(|first| memory::misplaced(&self.topology, &workload.extents, first));
        Ok((workload, remark))
    }

    /// Makes a workload on a CPU, so that its memory comes from the NUMA node of that CPU. If the CPU cannot be used, the
    /// team will report it.
    fn workload_made_on(&self, cpu: Option<u32>, case: &Case) -> Result<Workload, Refusal> {
        primitives::room_for(case, || memory::free(&self.system))?;
        // A new thread for that would take as long to start as the samples of a measurement block take.
        let _affinity = cpu.map(AffinityGuard::bind_to);
        self.own.workload_of(case).unwrap_or_else(|| primitives::workload_of(case))
    }

    /// Keeps the CPUs awake as another process of this run does.
    ///
    /// # Errors
    /// When the threads for it do not start.
    pub(crate) fn keep_awake_too(&mut self, is_on: bool) -> std::io::Result<()> {
        self.awake = Some(AwakePolicy::inherited(is_on, &self.topology.allowed_cpus())?);
        Ok(())
    }

    fn keeps_awake(&self) -> bool {
        self.awake.as_ref().is_some_and(|policy| policy.loops.is_some())
    }

    fn let_cpus_idle(&self, idle: bool) {
        if let Some(policy) = &self.awake {
            policy.let_idle(idle);
        }
    }

    /// The remark where threads block: what a wake-up costs depends on whether the CPU had halted.
    fn kept_awake(&self, workload: &Workload) -> Option<String> {
        let is_affected = workload.blocking == Blocking::Yes && !workload.lets_cpus_idle;
        (self.keeps_awake() && is_affected).then(|| "CPUs were kept awake".to_owned())
    }

    fn sharing(&self, placement: &Placement, placed: &Placed, case: Option<&Case>) -> Sharing {
        let threads = placed.cpus.len();
        let quota = self.quota().map(|quota| quota.cpus).filter(|quota| *quota < threads as f64);
        let oversubscribed =
            placed.oversubscribed().then(|| format!("{threads} threads on {}", plural(placed.available, "CPU")));
        let throttled =
            quota.map(|quota| format!("{} with the time of {quota} CPUs", plural(threads as u32, "thread")));
        // A quota pauses threads but takes no CPU from them: between pauses they run as without a quota, and short samples are
        // excluded where a pause falls into one.
        Sharing {
            cpus: placed.available.min(threads as u32),
            oversubscribed: oversubscribed.is_some(),
            unbound: *placement == Placement::None,
            has_siblings: self.topology.share_a_core(&placed.cpus),
            actor: case
                .map_or(Actor::Slowest, |case| self.own.actor_of(case).unwrap_or_else(|| primitives::actor_of(case))),
            remarks: oversubscribed.into_iter().chain(throttled).collect(),
        }
    }
}

/// The remark for threads of an OpenMP runtime: how they wait decides what they cost.
fn waiting(workload: &Workload) -> Option<String> {
    workload.runtime.map(|runtime| runtime.waiting(workload.policy))
}

#[cfg(test)]
mod tests {
    use syncscope_core::Placement;

    use crate::primitives::rust::{self, Kind, Me};

    use super::*;

    fn on_one_cpu(laboratory: &mut CpuLaboratory, threads: u32) -> Box<dyn Experiment + '_> {
        let placement = Placement::List(vec![laboratory.topology.allowed_cpus()[0]]);
        let code = |lock: &std::sync::Mutex<()>, me: &Me<'_>| {
            let _held = lock.lock();
            me.count();
        };
        let workload = rust::workload(Kind::Lock, |_| std::sync::Mutex::new(()), code, threads).unwrap();
        laboratory.experiment_of(workload, &placement, threads).unwrap()
    }

    /// Long samples would contain pauses, and where threads share CPUs a pause counts as cost.
    #[test]
    fn a_quota_alone_takes_no_cpu_from_the_threads() {
        let mut laboratory = CpuLaboratory::open().unwrap();
        laboratory.quota = Some(Quota { cpus: 0.5, file: "cpu.max".into() });
        let mut of_threads = |threads| {
            let experiment = on_one_cpu(&mut laboratory, threads);
            (experiment.remark().unwrap(), experiment.protocol().sample_length.is_some())
        };
        assert_eq!(of_threads(1), ("1 thread with the time of 0.5 CPUs".to_owned(), true));
        assert!(!of_threads(2).1, "two threads on one CPU wait for each other's time slices");
    }

    #[test]
    fn a_quota_below_the_threads_is_remarked_in_the_row() {
        let mut laboratory = CpuLaboratory::open().unwrap();
        laboratory.quota = Some(Quota { cpus: 1.5, file: "cpu.max".into() });
        assert_eq!(on_one_cpu(&mut laboratory, 1).remark(), None, "one thread has enough time");
        let remark = on_one_cpu(&mut laboratory, 2).remark().unwrap();
        assert_eq!(remark, "2 threads on 1 CPU, 2 threads with the time of 1.5 CPUs");
        assert!(
            laboratory.warnings().iter().any(|text| text.contains("1.5 of"))
                || laboratory.topology.allowed().count() < 2
        );
    }
}
