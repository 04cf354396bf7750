//! The CUDA driver, as far as it is needed.
//!
//! cudarc loads the driver at run time and panics if the library or a function is missing, so [`load`] looks for them first.
//! Every unsafe call of the driver is in this folder.
//!
//! | file | contents |
//! |---|---|
//! | [`library`] | loads and initializes the driver |
//! | [`device`] | the loaded driver, its devices and their properties |
//! | [`context`], [`module`], [`stream`], [`buffer`] | what is made on a device |
//! | [`cluster`], [`cooperative`], [`graph`] | other launches than of one grid on a stream |
//! | [`graph_loops`] | graphs that run again and again without the host |
//! | [`dependent`] | launches and waits that depend on other work on the device |
//! | [`peers`] | access to the memory of another device |
//! | [`call`] | results of calls as errors |
//!
//! Start with [`stream`].

mod buffer;
mod call;
mod cluster;
mod context;
mod cooperative;
mod dependent;
mod device;
mod graph;
mod graph_loops;
mod library;
mod module;
mod peers;
mod stream;

pub(crate) use self::buffer::{DeviceBuffer, HostBuffer};
pub(crate) use self::context::Context;
pub(crate) use self::cooperative::{Part, launch_together, launches_on_several_devices};
pub(crate) use self::device::{Attribute, Device, DevicePointer, Driver, device_count};
pub(crate) use self::graph::{CapturedGraph, Event, ExecutableGraph};
pub(crate) use self::graph_loops::has_conditional_nodes;
pub(crate) use self::library::{load, no_device};
pub(crate) use self::module::{Function, KernelArguments, Module};
pub(crate) use self::peers::PeerAttribute;
pub(crate) use self::stream::Stream;
