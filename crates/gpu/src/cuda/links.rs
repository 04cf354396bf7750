//! The links between devices: how each can access the memory of the others.

use syncscope_core::machine::GpuLink;

use crate::cuda::describe::pci_address;
use crate::cuda::driver::{Device, PeerAttribute};
use crate::cuda::error::CudaError;
use crate::cuda::nvml::Nvml;

/// The links between all pairs of devices, in both directions.
pub(crate) fn links(devices: &[(u32, Device)], nvml: Option<&Nvml>) -> Result<Vec<GpuLink>, CudaError> {
    let mut links = Vec::new();
    for (from, device) in devices {
        for (to, other) in devices.iter().filter(|(to, _)| to != from) {
            links.push(GpuLink {
                from: *from,
                to: *to,
                kind: kind(*device, *other, nvml),
                access: device.can_reach(*other)?,
                native_atomics: adds_natively(*device, *other)?,
                performance_rank: rank(*device, *other).ok(),
            });
        }
    }
    Ok(links)
}

/// Whether the hardware of another device executes atomic operations on its memory.
pub(crate) fn adds_natively(device: Device, other: Device) -> Result<bool, CudaError> {
    let attribute = PeerAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    Ok(device.peer_attribute(other, attribute)? != 0)
}

/// The driver's rank of the connection between devices; lower is faster.
fn rank(device: Device, other: Device) -> Result<u32, CudaError> {
    device.peer_attribute(other, PeerAttribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)
}

/// `NVLink` or `PCIe`, if NVML reports it.
fn kind(device: Device, other: Device, nvml: Option<&Nvml>) -> Option<String> {
    let (from, to) = (pci_address(device).ok()?, pci_address(other).ok()?);
    let is_nvlink = nvml?.is_nvlink(&from, &to)?;
    Some(if is_nvlink { "NVLink" } else { "PCIe" }.to_owned())
}
