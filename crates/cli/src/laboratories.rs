//! The laboratories of this machine: the CPU, the GPUs if present, and the processes of a common run. A fake laboratory
//! replaces them in tests of the command.

use std::collections::HashSet;
use std::time::Duration;

use syncscope_core::fake::{FakeLaboratory, Fault};
use syncscope_core::machine::{Environment, Machine};
use syncscope_core::run::machine::ChainCheck;
use syncscope_core::session::plan::Plan;
use syncscope_core::{Case, Laboratory, Listing, OwnCode, Preset, Primitive};
use syncscope_cpu::CpuLaboratory;
use syncscope_gpu::{GpuError, GpuLaboratory};
use syncscope_machine::surroundings;
use syncscope_machine::system::System;
use syncscope_mpi::{self as mpi, MpiLaboratory};
use syncscope_papers::crosscheck;

use crate::failure::Failure;
use crate::supervisor::board::{self, Step};

/// The laboratories that measure in this process.
pub(crate) struct Laboratories {
    pub(crate) cpu: Option<CpuLaboratory>,
    /// The GPUs, or why they cannot be measured.
    pub(crate) gpu: Result<GpuLaboratory, GpuError>,
    /// The user's operations for GPUs, whether there are GPUs or not.
    own_gpu: &'static [Primitive],
    /// The processes of this run, if there are several.
    pub(crate) mpi: Option<MpiLaboratory>,
    fake: Option<FakeLaboratory>,
    /// The results of the check of the clocks, if it was made.
    chain_checks: Vec<ChainCheck>,
}

/// The environment variable that replaces the hardware by a fake; see CONTRIBUTING.md.
const FAKE: &str = "SYNCSCOPE_FAKE";

impl Laboratories {
    /// Opens all laboratories. A machine without a GPU is an error only if `devices` names GPUs.
    pub(crate) fn open(devices: Option<&[u32]>) -> Result<Self, Failure> {
        Self::open_with(OwnCode::default(), devices)
    }

    /// Opens all laboratories, which also measure the user's operations.
    pub(crate) fn open_with(own: OwnCode, devices: Option<&[u32]>) -> Result<Self, Failure> {
        Self::open_all(own, |own| Self::open_gpu(own, devices))
    }

    /// Opens the laboratories that need no GPU.
    pub(crate) fn open_without_gpu(own: OwnCode) -> Result<Self, Failure> {
        Self::open_all(own, |_| Ok(Err(GpuError::NotAsked)))
    }

    /// Opens the laboratories for a run of several processes. It needs no GPU, and nobody would end a driver that hangs.
    pub(crate) fn open_with_processes(mpi: MpiLaboratory) -> Result<Self, Failure> {
        Ok(Self { mpi: Some(mpi), ..Self::open_without_gpu(OwnCode::default())? })
    }

    fn open_all(
        own: OwnCode,
        gpu: impl FnOnce(OwnCode) -> Result<Result<GpuLaboratory, GpuError>, Failure>,
    ) -> Result<Self, Failure> {
        if let Some(script) = std::env::var_os(FAKE) {
            let script = script.to_string_lossy();
            let chain_checks = fake_check(&script).into_iter().collect();
            let gpu = Err(GpuError::NotAsked);
            board::begin(&Step::Other);
            return Ok(Self { cpu: None, gpu, own_gpu: &[], mpi: None, fake: Some(fake(&script)), chain_checks });
        }
        // The CPU comes first: it reads the affinity of the main thread before anything can change it.
        board::begin(&Step::OpeningCpu);
        let own_gpu = syncscope_gpu::own::primitives(&own);
        let cpu = CpuLaboratory::open().map_err(Failure::CouldNot)?.with_own(own.clone());
        board::begin(&Step::OpeningGpu);
        let gpu = gpu(own)?;
        board::begin(&Step::Other);
        Ok(Self { cpu: Some(cpu), gpu, own_gpu, mpi: None, fake: None, chain_checks: Vec::new() })
    }

    /// The GPUs, or why they cannot be measured, which is an error if `devices` names them.
    fn open_gpu(own: OwnCode, devices: Option<&[u32]>) -> Result<Result<GpuLaboratory, GpuError>, Failure> {
        // If an earlier process failed to open the GPUs, this one does not try.
        let gpu = match board::instructions().without_gpu {
            Some(reason) => Err(GpuError::EndedProcess(reason)),
            None => GpuLaboratory::open(devices, &crosscheck::programs_of_a_check(), own),
        };
        match gpu {
            Err(error) if error.is_usage() => Err(Failure::Usage(error.to_string())),
            Err(error) if devices.is_some() => Err(Failure::CouldNot(error.to_string())),
            gpu => Ok(gpu),
        }
    }

    /// Lets fresh processes make passes over the cases of the CPUs, in a run of one process that is watched.
    pub(crate) fn let_fresh_processes_measure(&mut self) {
        let cpu = self.cpu.as_mut().filter(|_| self.mpi.is_none() && board::is_there());
        cpu.into_iter().for_each(CpuLaboratory::let_fresh_processes_measure);
    }

    /// Ends the other processes of the run, once everything is measured.
    pub(crate) fn dismiss_processes(&mut self) -> Result<(), Failure> {
        self.mpi.as_mut().map_or(Ok(()), |mpi| mpi.dismiss().map_err(Failure::CouldNot))
    }

    /// All laboratories, in the order in which they measure.
    pub(crate) fn all(&mut self) -> Vec<&mut dyn Laboratory> {
        let cpu = self.cpu.as_mut().map(|cpu| cpu as &mut dyn Laboratory);
        let gpu = self.gpu.as_mut().ok().map(|gpu| gpu as &mut dyn Laboratory);
        let fake = self.fake.as_mut().map(|fake| fake as &mut dyn Laboratory);
        let mpi = self.mpi.as_mut().map(|mpi| mpi as &mut dyn Laboratory);
        [cpu, gpu, fake, mpi].into_iter().flatten().collect()
    }

    /// Whether a fake replaces the machine.
    pub(crate) const fn are_fake(&self) -> bool {
        self.fake.is_some()
    }

    /// Every primitive, with the reason if it cannot be measured on this machine.
    pub(crate) fn listing(&mut self) -> Vec<Listing> {
        let mut listing: Vec<Listing> = self.all().iter().flat_map(|laboratory| laboratory.listing()).collect();
        if self.fake.is_some() {
            return listing;
        }
        let unavailable = |reason: String| move |primitive| Listing { primitive, unavailable: Some(reason.clone()) };
        if let Err(error) = &self.gpu {
            listing.extend(self.own_gpu.iter().chain(syncscope_gpu::primitives()).map(unavailable(error.to_string())));
        }
        if self.mpi.is_none() {
            listing.extend(mpi::primitives().iter().map(unavailable(mpi::unavailable())));
        }
        listing
    }

    /// The cases that SyncPerformance's CUDA programs would measure on this machine.
    pub(crate) fn syncperformance_cases(&self) -> HashSet<Case> {
        self.gpu.as_ref().map(GpuLaboratory::peer_cases).unwrap_or_default()
    }

    /// Times chains of known operations by two clocks, which takes some milliseconds and the time to open a context on a GPU.
    /// The results are part of the environment from now on, and lead to a warning where the machine failed. Fakes have no
    /// clocks to check.
    pub(crate) fn check_chains(&mut self, seed: u64) {
        if self.fake.is_some() {
            return;
        }
        board::begin(&Step::OpeningCpu);
        let cpu = self.cpu.as_ref().and_then(|cpu| crosscheck::check_cpu(cpu, seed));
        board::begin(&Step::OpeningGpu);
        let failed = |error: GpuError| Some(ChainCheck::without_figures("gpu", "float_addition", error.to_string()));
        let gpu = self.gpu.as_mut().ok().and_then(|gpu| crosscheck::check_gpu(gpu, seed).unwrap_or_else(failed));
        board::begin(&Step::Other);
        self.chain_checks = cpu.into_iter().chain(gpu).collect();
    }

    /// The identity of the hardware.
    pub(crate) fn machine(&self) -> Machine {
        Machine {
            cpu: self.cpu.as_ref().map(CpuLaboratory::machine).unwrap_or_default(),
            gpus: self.gpu.as_ref().map(GpuLaboratory::machine).unwrap_or_default(),
            links: self.gpu.as_ref().map(GpuLaboratory::links).unwrap_or_default(),
        }
    }

    /// The state of the machine.
    pub(crate) fn environment(&self) -> Environment {
        let mut environment = Environment {
            variables: Some(surroundings::variables()),
            preloaded: Some(surroundings::preloaded()),
            ..Environment::default()
        };
        self.cpu.iter().for_each(|cpu| cpu.describe(&mut environment));
        self.gpu.iter().for_each(|gpu| gpu.describe(&mut environment));
        self.mpi.iter().for_each(|mpi| mpi.describe(&mut environment));
        environment.crosscheck.clone_from(&self.chain_checks);
        environment
    }

    /// Possible disturbances of the measurements, and what to do about them.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.cpu.as_ref().map(CpuLaboratory::warnings).unwrap_or_default();
        if self.fake.is_none() {
            let unusual = System::default().unusual();
            let loaded = surroundings::preloaded();
            warnings.extend(surroundings::warnings(&unusual, &loaded, &surroundings::variables()));
        }
        // A launcher binds each of its processes on purpose.
        let alone = self.cpu.as_ref().filter(|_| self.mpi.is_none());
        warnings.extend(alone.and_then(CpuLaboratory::restriction));
        warnings.extend(self.gpu.as_ref().map(GpuLaboratory::warnings).unwrap_or_default());
        warnings.extend(self.failed_checks());
        warnings
    }

    /// The warning about other programs, for a run that begins now.
    pub(crate) fn load_warning(&self) -> Option<String> {
        self.cpu.as_ref()?.load_warning()
    }

    /// The warnings of the check of the clocks.
    pub(crate) fn failed_checks(&self) -> Vec<String> {
        self.chain_checks.iter().filter_map(ChainCheck::warning).collect()
    }

    /// Notes for the reader of the plan's results.
    pub(crate) fn notes(&mut self, preset: Preset, plan: &Plan) -> Vec<String> {
        self.all().iter().zip(&plan.parts).flat_map(|(laboratory, cases)| laboratory.notes(preset, cases)).collect()
    }

    /// Whether there may be GPUs although none was opened: they were not looked for.
    pub(crate) const fn may_have_gpus(&self) -> bool {
        self.is_without_gpu_on_request() || matches!(self.gpu, Err(GpuError::NotAsked))
    }

    /// Whether the GPUs are left out because an earlier process ended when it opened them.
    pub(crate) const fn is_without_gpu_on_request(&self) -> bool {
        matches!(self.gpu, Err(GpuError::EndedProcess(_)))
    }

    /// Why the GPUs are not measured; `None` if they are measured, replaced by a fake, or not asked for.
    pub(crate) fn without_gpu(&self) -> Option<String> {
        let error = self.gpu.as_ref().err().filter(|error| !matches!(error, GpuError::NotAsked))?;
        Some(format!("the GPU is not measured: {error}"))
    }
}

/// The check of a fake clock, if the script asks for one: `clock=nominal` simulates a host that converts with a nominal
/// frequency.
fn fake_check(script: &str) -> Option<ChainCheck> {
    let is_nominal = script.split(',').any(|word| word == "clock=nominal");
    is_nominal.then(|| ChainCheck::of(("gpu", "float_addition"), (Some(4.51), Some(4.0)), Some(4.0), Some("ok")))
}

/// The fake for a text such as `dwell=5ms,fault=fails`: the time of a sample, and the fault of the fake lock.
fn fake(script: &str) -> FakeLaboratory {
    let mut fake = FakeLaboratory::default();
    for (key, value) in script.split(',').filter_map(|word| word.split_once('=')) {
        match (key, value) {
            ("dwell", time) => fake.dwell = humantime::parse_duration(time).unwrap_or(Duration::ZERO),
            ("threads", most) => fake.most_threads = most.parse().unwrap_or(0),
            ("fault", "fails") => fake.fault = Fault::Fails("fault requested by SYNCSCOPE_FAKE".to_owned()),
            ("fault", "times_out") => fake.fault = Fault::TimesOut,
            ("fault", "loses") => fake.fault = Fault::LosesLaboratory,
            ("fault", "elided") => fake.fault = Fault::Elided,
            ("fault", "miscounts") => fake.fault = Fault::Miscounts,
            ("fault", "breaks") => fake.fault = Fault::BreaksLaboratory,
            ("fault", "crashes") => fake.fault = Fault::Crashes,
            ("fault", "panics") => fake.fault = Fault::Panics,
            ("fault", "hangs") => fake.fault = Fault::NeverReturns,
            _ => {}
        }
    }
    fake
}
