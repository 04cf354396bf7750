//! Opens the devices: which ones, with which compiler, and how fast their clock is.

use std::collections::HashMap;
use std::rc::Rc;

use syncscope_core::profile::{self, Phase};
use syncscope_core::{Hertz, Ruler};

use super::GpuLaboratory;
use super::nccl::NcclState;
use crate::catalogue::limits::DeviceLimits;
use crate::catalogue::{self};
use crate::cuda::cache::Cache;
use crate::cuda::compile::Compiler;
use crate::cuda::describe;
use crate::cuda::discovery::Surroundings;
use crate::cuda::driver::{self, Driver};
use crate::cuda::error::{GpuError, NvrtcError};
use crate::cuda::nvml::{Nvml, Watch};
use crate::cuda::nvrtc::{Needs, Nvrtc};
use crate::hybrid::nearby_cpus::NearbyCpus;
use crate::launch::arguments::MAX_BLOCK_THREADS;
use crate::launch::bench::Bench;
use crate::launch::headers::headers;
use crate::launch::host_clock;
use crate::launch::ruler;
use syncscope_host::scheduling;

impl GpuLaboratory {
    /// Opens the devices with the driver's numbers `devices`; all devices if none are named. Warms up the first one and
    /// measures its clock, in about a second.
    ///
    /// # Errors
    /// What is missing and how to get it: a driver, a device, the device named, NVRTC.
    pub fn open(devices: Option<&[u32]>) -> Result<Self, GpuError> {
        let driver = profile::time(Phase::Driver, driver::load)?;
        let numbers = chosen(devices, driver::device_count(driver)?)?;
        let machines = numbers
            .iter()
            .map(|number| describe::machine(driver.device(*number)?, *number))
            .collect::<Result<Vec<_>, _>>()?;
        let Some(first) = machines.first() else { return Err(driver::no_device()) };
        let device = driver.device(first.index)?;
        let limits = DeviceLimits {
            multiprocessors: first.multiprocessors,
            max_threads: first.max_threads_per_block.min(MAX_BLOCK_THREADS),
        };
        let mut compiler = profile::time(Phase::Compiler, || compiler_for(first.compute_capability, driver))?;
        let mut bench = profile::time(Phase::Context, || Bench::new(device, limits.multiprocessors, 0))?;
        let ruler = profile::time(Phase::Clock, || measured_ruler(&mut bench, &mut compiler, limits))?;
        let nvml = profile::time(Phase::Watch, Nvml::load).map(Rc::new);
        let address = describe::pci_address(device)?;
        let watch = nvml.as_ref().and_then(|nvml| Watch::new(nvml, &address)).map(Rc::new);
        Ok(Self {
            driver,
            device,
            machines,
            limits,
            compiler,
            nvml,
            watch,
            ruler,
            host_ruler: host_clock::measure(),
            nearby_cpus: NearbyCpus::of_device(&address, &scheduling::allowed_cpus()),
            pass: 0,
            bench: Some(bench),
            device_group: None,
            nccl: NcclState::default(),
            evidence: HashMap::new(),
            carried: HashMap::new(),
        })
    }
}

/// The numbers of the requested devices.
fn chosen(devices: Option<&[u32]>, count: u32) -> Result<Vec<u32>, GpuError> {
    let there: Vec<u32> = (0..count).collect();
    if there.is_empty() {
        return Err(driver::no_device());
    }
    let Some(asked) = devices.filter(|devices| !devices.is_empty()) else { return Ok(there) };
    match asked.iter().find(|device| !there.contains(device)) {
        Some(device) => Err(GpuError::NoSuchDevice { asked: *device, there }),
        None => Ok(asked.to_vec()),
    }
}

fn compiler_for(capability: (u32, u32), driver: Driver) -> Result<Compiler, GpuError> {
    let needs = Needs { capability, driver: driver.cuda_version() };
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), Some(needs))?;
    // `find` returns only compilers with a target.
    let arch = nvrtc.target(capability).ok_or(NvrtcError::NotFound)?;
    Ok(Compiler::new(nvrtc, Cache::of_user(), arch, headers()))
}

fn measured_ruler(bench: &mut Bench, compiler: &mut Compiler, limits: DeviceLimits) -> Result<Ruler, GpuError> {
    let program = catalogue::ruler_program();
    let kernels = bench.load(&program, &compiler.cubin(&program)?)?;
    let frequency = ruler::warm_up(bench, kernels, limits.multiprocessors).map_err(GpuError::from)?;
    let frequency: Hertz = frequency.ok_or(GpuError::NoTimer)?;
    Ok(ruler::measure(bench, kernels, frequency)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_chosen_by_number() {
        assert_eq!(chosen(None, 2), Ok(vec![0, 1]));
        assert_eq!(chosen(Some(&[]), 2), Ok(vec![0, 1]));
        assert_eq!(chosen(Some(&[1, 0]), 2), Ok(vec![1, 0]));
        let error = chosen(Some(&[0, 7]), 2).unwrap_err();
        assert_eq!(error, GpuError::NoSuchDevice { asked: 7, there: vec![0, 1] });
        assert!(matches!(chosen(None, 0), Err(GpuError::NoDevice { .. })));
    }
}
