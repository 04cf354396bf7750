//! The GPUs of this machine as a laboratory: what can be measured, and the experiments.
//!
//! | file | contents |
//! |---|---|
//! | this one | the laboratory, and which experiment measures a case |
//! | [`opening`] | opens the devices; what they are, and what to warn of |
//! | [`kernels`] | cases that one kernel on one device measures |
//! | [`multi`] | barriers of a grid or of several devices |
//! | [`nccl`] | sums by NCCL |
//! | [`reduction`] | reductions of a vector |
//! | [`host`] | cases in which the host takes part |
//! | [`contexts`] | replaces contexts that a kernel poisoned, and those of the pass before; errors as refusals |
//!
//! Start with [`GpuLaboratory`].

mod contexts;
mod host;
mod kernels;
mod multi;
mod nccl;
mod opening;
mod reduction;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use self::contexts::give_up;
use self::nccl::NcclState;
use syncscope_core::machine::GpuMachine;
use syncscope_core::session::additivity_sample;
use syncscope_core::session::preset::GPU_CONTEXTS;
use syncscope_core::{Case, Domain, Evidence, Experiment, Laboratory, Listing, Preset, Refusal, Ruler};

use crate::catalogue::limits::DeviceLimits;
use crate::catalogue::{Method, cases, entry_of, own, program_of, third_loop_of};
use crate::cuda::compile::{Compiler, Program};
use crate::cuda::driver::{Device, Driver};
use crate::cuda::nvml::{Nvml, Watch};
use crate::experiments::kernel::Carried;
use crate::hybrid::nearby_cpus::NearbyCpus;
use crate::launch::bench::Bench;
use crate::multi::{DeviceGroup, LIMIT};

/// The CUDA devices of this machine, opened for measuring. Cases without a number of devices are measured on the first one.
#[derive(Debug)]
pub struct GpuLaboratory {
    pub(crate) driver: Driver,
    device: Device,
    pub(crate) machines: Vec<GpuMachine>,
    limits: DeviceLimits,
    pub(crate) compiler: Compiler,
    pub(crate) nvml: Option<Rc<Nvml>>,
    watch: Option<Rc<Watch>>,
    pub(crate) ruler: Ruler,
    host_ruler: Ruler,
    /// The CPUs of this process, by their distance to the first device.
    nearby_cpus: NearbyCpus,
    /// The current pass over the cases, from 0.
    pass: u32,
    bench: Option<Bench>,
    /// For barriers of a grid and of several devices.
    pub(crate) device_group: Option<DeviceGroup>,
    /// NCCL and its groups of devices.
    nccl: NcclState,
    /// Evidence by case without its grid: the machine code is the same for all grids.
    evidence: HashMap<Program, Evidence>,
    /// What each case carries from one measurement block to the next.
    carried: HashMap<Case, Rc<Cell<Carried>>>,
}

impl GpuLaboratory {
    /// The device that is measured where one is enough.
    pub(crate) const fn first_device(&self) -> Device {
        self.device
    }

    /// What matters of the first device for grids.
    pub const fn limits(&self) -> DeviceLimits {
        self.limits
    }
}

/// The programs of these cases, with the third loops of those that will run one: compiled on all CPUs, not later one by one.
fn programs_for(cases: &[Case]) -> Vec<Program> {
    let sample = additivity_sample(cases);
    let third_loops = cases.iter().filter(|case| sample.contains(&case.id())).filter_map(third_loop_of);
    cases.iter().filter_map(program_of).chain(third_loops).collect()
}

impl Drop for GpuLaboratory {
    fn drop(&mut self) {
        // Contexts first, as long as the libraries are loaded. Those of occupied devices are leaked.
        self.bench = None;
        self.device_group = None;
        self.nccl.close();
    }
}

impl Laboratory for GpuLaboratory {
    fn listing(&self) -> Vec<Listing> {
        let list = |primitive: &'static _| Listing { primitive, unavailable: self.unavailable(primitive.id) };
        let own = syncscope_core::own::defined(Domain::Gpu).into_iter().map(|own| &own.primitive);
        crate::primitives().iter().chain(own).map(list).collect()
    }

    fn plan(&self, preset: Preset) -> Vec<Case> {
        let devices = self.machines.len();
        let is_there = |case: &Case| case.devices.is_none_or(|count| count as usize <= devices);
        let with_kernels = cases(preset, &self.limits).into_iter().filter(is_there).collect();
        [self.place(with_kernels), self.nccl_cases(), own::cases(self.limits)].concat()
    }

    fn prepare(&mut self, cases: &[Case], progress: &mut dyn FnMut(usize, usize)) {
        let here = cases.iter().filter(|case| self.unavailable(&case.primitive).is_none());
        self.compiler.prepare(&programs_for(&here.cloned().collect::<Vec<_>>()), progress);
    }

    /// Passes after the first have contexts of their own, with other allocations: what a case costs there is one of several
    /// figures, and the interval covers them. Machine code and evidence stay. Contexts open again with the next case.
    fn begin_pass(&mut self, pass: u32) {
        // Later passes are those of few and noisy cases: other contexts would cost more than they show.
        self.pass = pass.min(GPU_CONTEXTS - 1);
        if (1..GPU_CONTEXTS).contains(&pass) {
            give_up(
                (&mut self.bench, |bench| bench.runner.checked_health()),
                (&mut self.device_group, |group| group.runner.checked_health()),
            );
        }
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        self.nccl.checked_health()?;
        if let Some(launching) = crate::nccl::launching_of(case) {
            return self.nccl_sum(case, launching);
        }
        let (Some(entry), Some(program)) = (entry_of(case), program_of(case)) else {
            return Err(Refusal::Skipped(format!("there is no primitive {} in this version", case.primitive)));
        };
        if let Some(reason) = self.unavailable(&case.primitive) {
            return Err(Refusal::Skipped(reason));
        }
        match entry.method {
            Method::GridBarrier => {
                Ok(Box::new(self.grid_barrier(case, Some(program), LIMIT, multi::OFFSETS_PER_SAMPLE)?))
            }
            Method::HostBarrier => self.host_barrier(case, &program),
            Method::Kernel | Method::Cluster => self.kernel(case, &program, entry),
            Method::Launch(launching) => self.launches(case, &program, launching),
            Method::Reduction(recipe) => self.reduction(case, &program, recipe),
            Method::RoundTrip => self.round_trip(case, &program),
            Method::Addition => self.addition(case, &program),
        }
    }
}
