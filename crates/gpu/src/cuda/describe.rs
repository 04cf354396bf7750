//! Describes the devices for `run.json`: their properties, the links between them, and whether other processes share them.

use std::fs;
use std::path::Path;

use syncscope_core::machine::{GpuLink, GpuMachine};

use crate::cuda::driver::{Attribute, Device, PeerAttribute};
use crate::cuda::error::Called;
use crate::cuda::nvml::Nvml;

/// Describes the device with this number.
pub(crate) fn machine(device: Device, index: u32) -> Called<GpuMachine> {
    use Attribute as A;
    let number = |attribute| device.attribute(attribute);
    Ok(GpuMachine {
        index,
        name: device.name()?,
        compute_capability: compute_capability(device)?,
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

/// The compute capability, major and minor.
pub(crate) fn compute_capability(device: Device) -> Called<(u32, u32)> {
    let major = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    Ok((major, device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?))
}

/// The PCI address of the device, such as `0000:17:00.0`. NVML identifies devices by it.
pub(crate) fn pci_address(device: Device) -> Called<String> {
    let domain = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?;
    let bus = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?;
    let slot = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?;
    Ok(format!("{domain:08x}:{bus:02x}:{slot:02x}.0"))
}

/// Version of the loaded kernel module, such as `580.95.05`.
pub(crate) fn kernel_module() -> Option<String> {
    version_in(&fs::read_to_string("/proc/driver/nvidia/version").ok()?)
}

/// The first word in the first line that consists of digits and dots.
fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

/// The links between all pairs of devices, in both directions.
pub(crate) fn links(devices: &[(u32, Device)], nvml: Option<&Nvml>) -> Called<Vec<GpuLink>> {
    let pairs = devices.iter().flat_map(|from| devices.iter().map(move |to| (*from, *to)));
    let link = |((from, device), (to, other)): ((u32, Device), (u32, Device))| {
        Ok(GpuLink {
            from,
            to,
            kind: kind(device, other, nvml),
            access: device.can_reach(other)?,
            native_atomics: adds_natively(device, other)?,
            // Lower is faster.
            performance_rank: device
                .peer_attribute(other, PeerAttribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)
                .ok(),
        })
    };
    pairs.filter(|((from, _), (to, _))| from != to).map(link).collect()
}

/// Whether the hardware of another device executes atomic operations on its memory.
pub(crate) fn adds_natively(device: Device, other: Device) -> Called<bool> {
    let attribute = PeerAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    Ok(device.peer_attribute(other, attribute)? != 0)
}

/// `NVLink` or `PCIe`, if NVML reports it.
fn kind(device: Device, other: Device, nvml: Option<&Nvml>) -> Option<String> {
    let (from, to) = (pci_address(device).ok()?, pci_address(other).ok()?);
    let is_nvlink = nvml?.is_nvlink(&from, &to)?;
    Some(if is_nvlink { "NVLink" } else { "PCIe" }.to_owned())
}

/// The service's default folder for pipes, without `CUDA_MPS_PIPE_DIRECTORY`.
const PIPE_FOLDER: &str = "/tmp/nvidia-mps";

/// The beginning of the service's process names, as long as Linux keeps it.
const PROCESS: &str = "nvidia-cuda-mps";

/// Whether the Multi-Process Service seems active: one of its processes exists, or its control pipe, which a container may have
/// without seeing the process. The pipe may be left over. `root` is `/` outside tests; `pipe_folder` is the value of
/// `CUDA_MPS_PIPE_DIRECTORY`.
pub(crate) fn seems_active(root: &Path, pipe_folder: Option<&Path>) -> bool {
    let folder = pipe_folder.unwrap_or(Path::new(PIPE_FOLDER));
    let below_root = root.join(folder.strip_prefix("/").unwrap_or(folder));
    below_root.join("control").exists() || has_process(root)
}

fn has_process(root: &Path) -> bool {
    let processes = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    processes
        .filter(|entry| entry.file_name().to_str().is_some_and(is_number))
        .filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok())
        .any(|name| name.starts_with(PROCESS))
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

    fn active(files: &[(&str, &str)], pipe_folder: Option<&str>) -> bool {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        seems_active(root.path(), pipe_folder.map(Path::new))
    }

    #[test]
    fn its_process_or_its_pipe_gives_it_away() {
        assert!(!active(&[], None));
        assert!(!active(&[("proc/7/comm", "bash\n"), ("proc/self/comm", "nvidia-cuda-mps\n")], None));
        assert!(active(&[("proc/7/comm", "bash\n"), ("proc/12/comm", "nvidia-cuda-mps\n")], None));
        assert!(active(&[("tmp/nvidia-mps/control", "")], None));
        assert!(active(&[("run/mps/control", "")], Some("/run/mps")));
        assert!(!active(&[("tmp/nvidia-mps/control", "")], Some("/run/mps")), "the variable replaces the folder");
    }
}
