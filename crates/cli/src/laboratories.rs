//! The laboratories of this machine: CPU and, where there is one, GPU; or fakes, for trying the command itself.

use std::collections::HashSet;
use std::time::Duration;

use syncscope_core::fake::{FakeLaboratory, Fault};
use syncscope_core::machine::{Environment, Machine};
use syncscope_core::session::plan::Plan;
use syncscope_core::{Case, Laboratory, Listing};
use syncscope_cpu::CpuLaboratory;
use syncscope_gpu::GpuLaboratory;

use crate::failure::Failure;

/// Everything that can measure here.
pub(crate) struct Laboratories {
    pub(crate) cpu: Option<CpuLaboratory>,
    /// The GPUs, or why there are none to measure.
    pub(crate) gpu: Result<GpuLaboratory, syncscope_gpu::GpuError>,
    fake: Option<FakeLaboratory>,
}

/// Chooses fakes instead of hardware; see CONTRIBUTING.md.
const FAKE: &str = "SYNCSCOPE_FAKE";

impl Laboratories {
    /// Opens what is there. A machine without GPU is fine unless GPUs are named in `devices`.
    pub(crate) fn open(devices: Option<&[u32]>) -> Result<Self, Failure> {
        if let Some(script) = std::env::var_os(FAKE) {
            let fake = Some(fake(&script.to_string_lossy()));
            return Ok(Self { cpu: None, gpu: Err(syncscope_gpu::GpuError::NotAsked), fake });
        }
        // The CPU first: it reads the main thread's affinity before anything else can change it.
        let cpu = CpuLaboratory::open().map_err(|error| Failure::CouldNot(error.to_string()))?;
        let gpu = GpuLaboratory::open(devices);
        match &gpu {
            Err(error) if error.is_usage() => return Err(Failure::Usage(error.to_string())),
            Err(error) if devices.is_some() => return Err(Failure::CouldNot(error.to_string())),
            _ => {}
        }
        Ok(Self { cpu: Some(cpu), gpu, fake: None })
    }

    /// One after the other, in the order they measure.
    pub(crate) fn all(&mut self) -> Vec<&mut dyn Laboratory> {
        let cpu = self.cpu.as_mut().map(|cpu| cpu as &mut dyn Laboratory);
        let gpu = self.gpu.as_mut().ok().map(|gpu| gpu as &mut dyn Laboratory);
        let fake = self.fake.as_mut().map(|fake| fake as &mut dyn Laboratory);
        [cpu, gpu, fake].into_iter().flatten().collect()
    }

    /// Every primitive of the project, with why it cannot be measured here, if so.
    pub(crate) fn listing(&mut self) -> Vec<Listing> {
        let mut listing: Vec<Listing> = self.all().iter().flat_map(|laboratory| laboratory.listing()).collect();
        if let (Err(error), None) = (&self.gpu, &self.fake) {
            let unavailable = Some(error.to_string());
            let primitives = syncscope_gpu::primitives().iter();
            listing.extend(primitives.map(|primitive| Listing { primitive, unavailable: unavailable.clone() }));
        }
        listing
    }

    /// What SyncPerformance's CUDA programs would measure here.
    pub(crate) fn peer_cases(&self) -> HashSet<Case> {
        self.gpu.as_ref().map(GpuLaboratory::peer_cases).unwrap_or_default()
    }

    /// What the hardware is.
    pub(crate) fn machine(&self) -> Machine {
        Machine {
            cpu: self.cpu.as_ref().map(CpuLaboratory::machine).unwrap_or_default(),
            gpus: self.gpu.as_ref().map(GpuLaboratory::machine).unwrap_or_default(),
            links: self.gpu.as_ref().map(GpuLaboratory::links).unwrap_or_default(),
        }
    }

    /// The state it is in.
    pub(crate) fn environment(&self) -> Environment {
        let mut environment = Environment::default();
        if let Some(cpu) = &self.cpu {
            cpu.describe(&mut environment);
        }
        if let Ok(gpu) = &self.gpu {
            gpu.describe(&mut environment);
        }
        environment
    }

    /// What may disturb the figures, and what to do about it.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.cpu.as_ref().map(CpuLaboratory::warnings).unwrap_or_default();
        warnings.extend(self.gpu.as_ref().map(GpuLaboratory::warnings).unwrap_or_default());
        warnings
    }

    /// What a reader of the figures of this plan must know beforehand.
    pub(crate) fn notes(&mut self, plan: &Plan) -> Vec<String> {
        self.all().iter().zip(&plan.parts).flat_map(|(laboratory, cases)| laboratory.notes(cases)).collect()
    }

    /// Why the GPU is not measured, if that needs saying.
    pub(crate) fn without_gpu(&self) -> Option<String> {
        let error = self.gpu.as_ref().err().filter(|_| self.fake.is_none())?;
        Some(format!("the GPU is not measured: {error}"))
    }
}

/// `dwell=5ms,fault=fails`: how long a sample takes, and what goes wrong with the fake lock.
fn fake(script: &str) -> FakeLaboratory {
    let mut fake = FakeLaboratory::default();
    for (key, value) in script.split(',').filter_map(|word| word.split_once('=')) {
        match (key, value) {
            ("dwell", time) => fake.dwell = humantime::parse_duration(time).unwrap_or(Duration::ZERO),
            ("fault", "fails") => fake.fault = Fault::Fails("told to fail".to_owned()),
            ("fault", "times_out") => fake.fault = Fault::TimesOut,
            ("fault", "loses") => fake.fault = Fault::LosesLaboratory,
            ("fault", "elided") => fake.fault = Fault::Elided,
            ("fault", "miscounts") => fake.fault = Fault::Miscounts,
            _ => {}
        }
    }
    fake
}
