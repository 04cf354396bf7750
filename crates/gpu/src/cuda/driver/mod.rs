//! The parts of the CUDA driver that this crate needs.
//!
//! cudarc loads the driver at run time and panics if the library or a function is missing, so [`load`] looks for them first.
//! Every unsafe driver call is in this folder.
//!
//! | file | contents |
//! |---|---|
//! | [`library`] | loads and initializes the driver; results of calls as errors |
//! | [`device`] | the loaded driver, its devices, their properties and their access to each other; contexts |
//! | [`module`], [`buffer`] | kernels and memory in a context |
//! | [`stream`], [`graph`] | launches, and waits for other work |
//!
//! Start with [`stream`].

mod buffer;
mod device;
mod graph;
mod library;
mod module;
mod stream;

pub(crate) use self::buffer::{DeviceBuffer, HostBuffer};
pub(crate) use self::device::Context;
pub(crate) use self::device::{Attribute, Device, DevicePointer, PeerAttribute, device_count, waits_as_asked};
pub(crate) use self::graph::{CapturedGraph, Event, ExecutableGraph, has_conditional_nodes};
pub(crate) use self::library::{Driver, load, no_device};
pub(crate) use self::module::{Function, KernelArguments, Module, Way};
pub(crate) use self::stream::{DeviceLaunch, launch_together, launches_on_several_devices};
pub(crate) use self::stream::{Stream, host_calls};
