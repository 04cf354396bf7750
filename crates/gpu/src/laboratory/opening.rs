//! Opens the devices: chooses them and their compiler, measures the clock, describes them, and warns of what may disturb the
//! figures.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread;

use syncscope_core::machine::{Clock, Environment, GpuLink, GpuMachine, GpuState};
use syncscope_core::profile::{self, Phase};
use syncscope_core::{Case, OwnCode, Ruler};
use syncscope_host::scheduling;

use crate::catalogue::limits::DeviceLimits;
use crate::catalogue::peer::peer_cases;
use crate::catalogue::{self, Entries, own};
use crate::cuda::compile::{Compiler, Program};
use crate::cuda::describe;
use crate::cuda::driver;
use crate::cuda::error::{Called, GpuError};
use crate::cuda::nvml::{Nvml, Watch};
use crate::hybrid::nearby_cpus::NearbyCpus;
use crate::laboratory::launched::LaunchedState;
use crate::laboratory::nccl::NcclState;
use crate::laboratory::{GpuLaboratory, programs_for};
use crate::launch::arguments::MAX_BLOCK_THREADS;
use crate::launch::bench::Bench;
use crate::launch::compilers::{chosen, compiler_for};
use crate::launch::{host_clock, ruler};

impl GpuLaboratory {
    /// Opens the devices with the driver's numbers `devices`, or all devices. Warms up the first one and measures its clock, in
    /// about a second. Meanwhile it compiles `programs` and the user's code.
    ///
    /// # Errors
    /// What is missing and how to get it: a driver, a device, the device named, NVRTC.
    pub fn open(devices: Option<&[u32]>, programs: &[Program], own: OwnCode) -> Result<Self, GpuError> {
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
        let entries = Entries::with_own(&own, limits);
        let of_own = programs_for(&entries, &own::cases(&own, limits));
        let wanted = [&[catalogue::ruler_program()], programs, &of_own].concat();
        let mut bench = thread::scope(|scope| {
            scope.spawn(|| compiler.prepare(&wanted, &mut |_, _| {}));
            profile::time(Phase::Context, || Bench::new(device, limits.multiprocessors, 0))
        })?;
        let ruler = profile::time(Phase::Clock, || measured_ruler(&mut bench, &mut compiler, limits))?;
        let nvml = profile::time(Phase::Watch, Nvml::load).map(Rc::new);
        let address = describe::pci_address(device)?;
        let watch = nvml.as_ref().and_then(|nvml| Watch::new(nvml, &address)).map(Rc::new);
        Ok(Self {
            driver,
            device,
            machines,
            limits,
            entries,
            own_primitives: own::primitives(&own),
            own,
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
            launched: LaunchedState::default(),
            inspected: HashMap::new(),
            carried: HashMap::new(),
        })
    }

    /// The properties of each device.
    pub fn machine(&self) -> Vec<GpuMachine> {
        self.machines.clone()
    }

    /// The cases of SyncPerformance's CUDA programs on this device.
    pub fn peer_cases(&self) -> HashSet<Case> {
        peer_cases(self.limits.multiprocessors)
    }

    /// The links between the devices.
    pub fn links(&self) -> Vec<GpuLink> {
        let devices = self.machines.iter().map(|machine| Ok((machine.index, self.driver.device(machine.index)?)));
        let devices: Called<Vec<_>> = devices.collect();
        // Figures do not depend on the links, so errors are ignored.
        devices.and_then(|devices| describe::links(&devices, self.nvml.as_deref())).unwrap_or_default()
    }

    /// Adds the versions and clocks of the GPU side.
    pub fn describe(&self, environment: &mut Environment) {
        let (major, minor) = self.driver.cuda_version();
        environment.nvidia_driver =
            self.nvml.as_ref().and_then(|nvml| nvml.driver_version()).or_else(describe::kernel_module);
        environment.cuda_driver = Some(format!("{major}.{minor}"));
        environment.nvrtc = Some(self.compiler.version());
        environment.gpus = self.machines.iter().map(|machine| self.state(machine.index)).collect();
        let pipe_folder = std::env::var_os("CUDA_MPS_PIPE_DIRECTORY").map(PathBuf::from);
        environment.mps = Some(describe::seems_active(Path::new("/"), pipe_folder.as_deref()));
        environment.confidential_computing = self.nvml.as_ref().and_then(|nvml| nvml.confidential_computing());
        for ruler in [&self.ruler, &self.host_ruler] {
            let ns_per_tick = 1e9 / ruler.frequency.value();
            environment.clocks.push(Clock {
                name: ruler.name.to_owned(),
                frequency_hz: ruler.frequency.value(),
                resolution_ns: ruler.resolution.0 as f64 * ns_per_tick,
                read_cost_ns: ruler.read_cost.0 as f64 * ns_per_tick,
            });
        }
    }

    /// The state of a device; little of it is known without NVML.
    fn state(&self, index: u32) -> GpuState {
        let address = self.driver.device(index).and_then(describe::pci_address).ok();
        let state = self.nvml.as_ref().zip(address.as_deref()).map(|(nvml, address)| nvml.state(address, index));
        state.unwrap_or(GpuState { index, pci_address: address, ..GpuState::default() })
    }

    /// What may disturb the figures, and what to do about it.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.compiler.warning().map(str::to_owned).into_iter().collect();
        if let [first, _, ..] = &self.machines[..] {
            warnings.push(format!("single-device cases are measured on device {} ({})", first.index, first.name));
        }
        if let (Some(nvml), Ok(address)) = (&self.nvml, describe::pci_address(self.device)) {
            warnings.extend(nvml.warnings(&address));
        }
        warnings
    }
}

fn measured_ruler(bench: &mut Bench, compiler: &mut Compiler, limits: DeviceLimits) -> Result<Ruler, GpuError> {
    let program = catalogue::ruler_program();
    let kernels = bench.load(&program, &compiler.cubin(&program)?)?;
    let frequency = ruler::warm_up(bench, kernels, limits.multiprocessors)?.ok_or(GpuError::NoTimer)?;
    Ok(ruler::measure(bench, kernels, frequency)?)
}
