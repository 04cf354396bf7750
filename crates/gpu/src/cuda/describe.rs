//! The properties of a device, as in `run.json`.

use std::fs;

use syncscope_core::machine::GpuMachine;

use crate::cuda::driver::{Attribute, Device};
use crate::cuda::error::CudaError;

/// Describes the device with this number.
pub(crate) fn machine(device: Device, index: u32) -> Result<GpuMachine, CudaError> {
    use Attribute as A;
    let number = |attribute| device.attribute(attribute);
    Ok(GpuMachine {
        index,
        name: device.name()?,
        compute_capability: (
            number(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            number(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: number(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        max_threads_per_block: number(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_threads_per_multiprocessor: number(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        max_blocks_per_multiprocessor: number(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        memory_bytes: device.memory_bytes()?,
        l2_bytes: u64::from(number(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        // In kilohertz. Future drivers may not report it.
        nominal_clock_hz: number(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
            .ok()
            .filter(|kilohertz| *kilohertz > 0)
            .map(|kilohertz| f64::from(kilohertz) * 1e3),
        ecc: number(A::CU_DEVICE_ATTRIBUTE_ECC_ENABLED).ok().map(|enabled| enabled != 0),
        host_native_atomics: number(A::CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED).ok().map(|native| native != 0),
    })
}

/// The PCI address of the device, such as `0000:17:00.0`. NVML identifies devices by it.
pub(crate) fn pci_address(device: Device) -> Result<String, CudaError> {
    let domain = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?;
    let bus = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?;
    let slot = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?;
    Ok(format!("{domain:08x}:{bus:02x}:{slot:02x}.0"))
}

/// Version of the loaded kernel module, such as `580.95.05`.
pub(crate) fn kernel_module() -> Option<String> {
    version_in(&fs::read_to_string("/proc/driver/nvidia/version").ok()?)
}

/// The first word of numbers and dots in the first line.
fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_module_is_found_in_its_text() {
        let closed =
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version:";
        assert_eq!(version_in(closed).as_deref(), Some("535.104.05"));
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder)";
        assert_eq!(version_in(open).as_deref(), Some("580.95.05"));
        assert_eq!(version_in(""), None);
    }
}
