//! The GPUs of this machine as a laboratory: what can be measured, and the experiments.
//!
//! | file | what stands there |
//! |---|---|
//! | this one | the laboratory, and which experiment measures a case |
//! | [`opening`] | opens the devices |
//! | [`description`] | what the devices are, and what to warn of |
//! | [`kernels`] | cases that one kernel on one device measures |
//! | [`multi`] | barriers of a grid or of several devices |
//! | [`host`] | cases in which the host takes part |
//! | [`contexts`] | replaces contexts that a kernel poisoned |
//! | [`refusal`] | errors as reasons why there is no experiment |
//!
//! Start with [`GpuLaboratory`].

mod contexts;
mod description;
mod host;
mod kernels;
mod multi;
mod opening;
mod refusal;

use std::collections::HashMap;
use std::rc::Rc;

use syncscope_core::machine::GpuMachine;
use syncscope_core::{Case, Evidence, Experiment, Laboratory, Listing, Preset, Refusal, Ruler};

use crate::catalogue::limits::Grid;
use crate::catalogue::{Method, cases, entry_of, primitives, program_of};
use crate::cuda::compile::{Compiler, Program};
use crate::cuda::driver::{Device, Driver};
use crate::cuda::nvml::{Nvml, Watch};
use crate::experiments::grid_barrier::TimedBy;
use crate::hybrid::neighbourhood::Neighbourhood;
use crate::launch::bench::Bench;
use crate::multi::DeviceGroup;

/// The CUDA devices of this machine, opened for measuring. What has no axis of devices is measured on the first.
#[derive(Debug)]
pub struct GpuLaboratory {
    pub(crate) driver: Driver,
    device: Device,
    pub(crate) machines: Vec<GpuMachine>,
    grid: Grid,
    pub(crate) compiler: Compiler,
    pub(crate) nvml: Option<Rc<Nvml>>,
    watch: Option<Rc<Watch>>,
    pub(crate) ruler: Ruler,
    host_ruler: Ruler,
    /// The CPUs of this process, seen from the device.
    neighbourhood: Neighbourhood,
    bench: Option<Bench>,
    /// For what is wider than a block, or than a device.
    pub(crate) device_group: Option<DeviceGroup>,
    /// What was found in machine code, which is one for all grids: by case without its grid.
    evidence: HashMap<Case, Evidence>,
}

impl Drop for GpuLaboratory {
    fn drop(&mut self) {
        // Contexts first, as long as the libraries are loaded. Those of occupied devices are leaked.
        self.bench = None;
        self.device_group = None;
    }
}

impl Laboratory for GpuLaboratory {
    fn listing(&self) -> Vec<Listing> {
        let list = |primitive: &'static _| Listing { primitive, unavailable: self.unavailable(primitive.id) };
        primitives().iter().map(list).collect()
    }

    fn plan(&self, preset: Preset) -> Vec<Case> {
        let devices = self.machines.len();
        let is_there = |case: &Case| case.devices.is_none_or(|count| count as usize <= devices);
        self.place(cases(preset, &self.grid).into_iter().filter(is_there).collect())
    }

    fn prepare(&mut self, cases: &[Case], progress: &mut dyn FnMut(usize, usize)) {
        let here = cases.iter().filter(|case| self.unavailable(&case.primitive).is_none());
        let programs: Vec<Program> = here.filter_map(program_of).collect();
        self.compiler.prepare(&programs, progress);
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let (Some(entry), Some(program)) = (entry_of(case), program_of(case)) else {
            return Err(Refusal::Skipped(format!("this version knows no primitive {}", case.primitive)));
        };
        if let Some(reason) = self.unavailable(&case.primitive) {
            return Err(Refusal::Skipped(reason));
        }
        match entry.method {
            Method::Meeting => self.meeting(case, &program, TimedBy::Device),
            Method::Visits => self.visits(case, &program),
            Method::Kernel | Method::Cluster => self.kernel(case, &program, entry),
            Method::Launch(launching) => self.launches(case, &program, launching),
            Method::RoundTrip => self.round_trip(case, &program),
            Method::Addition => self.addition(case, &program),
        }
    }
}
