//! What the terms leave out of the difference of two variants.

use super::super::variants::Class;
use super::priced::Priced;

/// A difference below this share of the time is within what reading the vector varies by from variant to variant.
const SMALL_SHARE: f64 = 0.02;

/// Elements beyond which a thread's part is not in its nearest caches.
const CACHED_ELEMENTS: u64 = 1 << 17;

/// What the terms leave out of the difference of two variants.
pub(super) fn why_not(variant: &Priced<'_>, reference: &Priced<'_>, measured_ns: f64) -> Option<&'static str> {
    if measured_ns.abs() < SMALL_SHARE * variant.ns {
        return Some("the difference is below 2 % of the time: reading the vector varies by as much");
    }
    if variant.row.class == Class::Device && variant.row.blocks != reference.row.blocks {
        return Some("the grids differ, because clusters are whole: reading differs too");
    }
    match variant.row.variant.as_str() {
        "cpu.lock" | "cpu.openmp_critical" => Some(
            "the cost is that of a loop, in which a thread often takes the lock again at once; here every thread takes it \
             once, all at the same moment, and waiters sleep",
        ),
        id if id.starts_with("cpu.") && variant.row.elements > CACHED_ELEMENTS => {
            Some("the threads do not end reading at the same moment, and wait in the barrier for the last")
        }
        "listing.1" | "listing.2" => Some("atomic operations and reading overlap in part"),
        id if id.starts_with("cpu.tree_") => Some(
            "at each level half of the threads join results and the others are early at the barrier; the cost is that of a \
             loop in which all arrive together",
        ),
        "devices.host" => Some(
            "the host launches on one device after the other: with flags long kernels hide that, with the host's wait nothing \
             does",
        ),
        "device.atomic"
        | "device.cluster"
        | "device.kernel_boundary"
        | "device.grid_cooperative"
        | "device.grid_counter"
        | "device.grid_lock_free" => Some(
            "the host queues these kernels while they run: what one more costs follows from how fast it is with two \
             different kernels and with these arguments; variants that are queued first have the device's cost alone",
        ),
        _ => None,
    }
}
