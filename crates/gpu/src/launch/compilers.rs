//! Which devices are requested, and the compilers for them.

use crate::cuda::compile::{Cache, Compiler};
use crate::cuda::describe;
use crate::cuda::discovery::Surroundings;
use crate::cuda::driver::{self, Driver};
use crate::cuda::error::{GpuError, NvrtcError};
use crate::cuda::nvrtc::{Needs, Nvrtc};
use crate::launch::headers::headers;

/// The numbers of the requested devices.
pub(crate) fn chosen(devices: Option<&[u32]>, count: u32) -> Result<Vec<u32>, GpuError> {
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

/// The compiler for a device of this compute capability.
pub(crate) fn compiler_for(capability: (u32, u32), driver: Driver) -> Result<Compiler, GpuError> {
    let needs = Needs { capability, driver: driver.cuda_version() };
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), Some(needs))?;
    // `find` returns only compilers with a target.
    let arch = nvrtc.target(capability).ok_or(NvrtcError::NotFound)?;
    let of_users = nvrtc.target_of_users(capability).ok_or(NvrtcError::NotFound)?;
    Ok(Compiler::new(nvrtc, Cache::of_user(), arch, headers()).with_arch_of_users(of_users))
}

/// The compiler for users' code before the laboratory opens: for an architecture, or that of the first of these devices.
pub(crate) fn compiler_of_users(arch: Option<&str>, devices: Option<&[u32]>) -> Result<Compiler, NvrtcError> {
    /// Without a device, nothing is measured.
    const WITHOUT_DEVICE: (u32, u32) = (9, 0);
    let device = || -> Result<((u32, u32), Driver), GpuError> {
        let driver = driver::load()?;
        let number = *chosen(devices, driver::device_count(driver)?)?.first().ok_or(driver::no_device())?;
        Ok((describe::compute_capability(driver.device(number)?)?, driver))
    };
    let device = if arch.is_some() { None } else { device().ok() };
    let needs = device.map(|(capability, driver)| Needs { capability, driver: driver.cuda_version() });
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), needs)?;
    let capability = device.map_or(WITHOUT_DEVICE, |(capability, _)| capability);
    let arch = match arch {
        Some(arch) if nvrtc.knows(arch) => Some(arch.to_owned()),
        Some(arch) => {
            let (nvrtc, known) = (nvrtc.version(), nvrtc.known());
            return Err(NvrtcError::UnknownArchitecture { nvrtc, arch: arch.to_owned(), known });
        }
        None => nvrtc.target_of_users(capability),
    };
    Ok(Compiler::new(nvrtc, Cache::of_user(), arch.ok_or(NvrtcError::NotFound)?, headers()))
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
