//! Properties of the devices, their links and software, and what may disturb the figures.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use syncscope_core::Case;
use syncscope_core::machine::{Clock, Environment, GpuLink, GpuMachine, GpuState};

use super::GpuLaboratory;
use crate::catalogue::peer::peer_cases;
use crate::cuda::describe;
use crate::cuda::error::CudaError;
use crate::cuda::links;
use crate::cuda::mps;

impl GpuLaboratory {
    /// The properties of each device.
    #[must_use]
    pub fn machine(&self) -> Vec<GpuMachine> {
        self.machines.clone()
    }

    /// The cases of SyncPerformance's CUDA programs on this device.
    #[must_use]
    pub fn peer_cases(&self) -> HashSet<Case> {
        peer_cases(self.limits.multiprocessors)
    }

    /// The links between the devices.
    #[must_use]
    pub fn links(&self) -> Vec<GpuLink> {
        let devices = self.machines.iter().map(|machine| Ok((machine.index, self.driver.device(machine.index)?)));
        let devices: Result<Vec<_>, CudaError> = devices.collect();
        // Figures do not depend on the links, so errors are ignored.
        devices.and_then(|devices| links::links(&devices, self.nvml.as_deref())).unwrap_or_default()
    }

    /// Adds versions and clocks of the GPU side.
    pub fn describe(&self, environment: &mut Environment) {
        let (major, minor) = self.driver.cuda_version();
        environment.nvidia_driver =
            self.nvml.as_ref().and_then(|nvml| nvml.driver_version()).or_else(describe::kernel_module);
        environment.cuda_driver = Some(format!("{major}.{minor}"));
        environment.nvrtc = Some(self.compiler.version());
        environment.gpus = self.machines.iter().map(|machine| self.state(machine.index)).collect();
        let pipe_folder = std::env::var_os("CUDA_MPS_PIPE_DIRECTORY").map(PathBuf::from);
        environment.mps = Some(mps::seems_active(Path::new("/"), pipe_folder.as_deref()));
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

    /// The state of a device; without NVML little of it is known.
    fn state(&self, index: u32) -> GpuState {
        let address = self.driver.device(index).and_then(describe::pci_address).ok();
        let state = self.nvml.as_ref().zip(address.as_deref()).map(|(nvml, address)| nvml.state(address, index));
        state.unwrap_or(GpuState { index, pci_address: address, ..GpuState::default() })
    }

    /// What may disturb the figures, and what to do about it.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.compiler.warning().map(str::to_owned).into_iter().collect();
        if let [first, _, ..] = &self.machines[..] {
            warnings.push(format!("cases of a single device are measured on device {} ({})", first.index, first.name));
        }
        if let (Some(nvml), Ok(address)) = (&self.nvml, describe::pci_address(self.device)) {
            warnings.extend(nvml.warnings(&address));
        }
        warnings
    }
}
