//! Devices that work together: each runs the same kernel, all at the same time, in memory that all can reach.
//!
//! Each device has its own context, stream and memory. What devices write for each other lies in the memory of the device that
//! reads it, if all can access each other's memory; otherwise it is in host memory.
//!
//! | file | contents |
//! |---|---|
//! | [`device_group`] | the devices, opened once: sets programs up, launches on all, waits for all |
//! | [`device_context`](crate::launch::device_context) | one of the devices: its context, stream, memory and loaded modules |
//! | [`loaded_program`] | a program on some devices: the layout of their memory, a launch on every device, the count of phases |
//!
//! Start with [`device_group`]. The other side is the header of the barrier kernels in `kernels/`.

mod device_group;
mod loaded_program;

pub(crate) use self::device_group::DeviceGroup;
#[cfg(test)]
pub(crate) use self::loaded_program::LAYOUTS;
pub(crate) use self::loaded_program::{
    DeviceTable, GroupLaunch, LIMIT, LaunchCall, LoadedProgram, MOST_DEVICES, PhaseCounts, counts_of,
};
