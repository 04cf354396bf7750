//! The reductions of a paper on a device: their kernels' arguments, launches and waits. `device.rs` opens a device and waits for
//! it.

mod device;
pub(crate) mod reductions;
