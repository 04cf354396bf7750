//! GPU side of syncscope: devices, NVRTC, kernels, launches and the primitives.
//!
//! [`GpuLaboratory`] is the door: it opens the devices once and makes [`syncscope_core::Experiment`]s of the cases of its
//! catalogue. The crate builds and its catalogue is there without a GPU, a driver or NVRTC. One concept, one module:
//!
//! ```text
//! discovery -> nvrtc -> compile <- cache           catalogue <- plan
//!                          |                           |
//!   driver -> bench -> experiment <--------------- laboratory -> describe, nvml
//!              ^-- ruler   ^-- places            |
//!   driver -> fabric -> meeting, visits <------- wide
//! ```

pub mod cache;
pub mod compile;
pub mod discovery;
pub mod nvrtc;
pub mod peer;
pub mod sass;
pub mod verify;

mod arguments;
mod bench;
mod block_order;
mod catalogue;
mod describe;
mod driver;
mod error;
mod evidence;
mod experiment;
mod fabric;
mod host_clock;
mod hybrid;
mod laboratory;
mod launches;
mod links;
mod meeting;
mod neighbourhood;
mod nvml;
mod partners;
mod places;
mod plan;
mod ruler;
mod visits;
mod wide;

pub use arguments::UNROLL;
#[doc(hidden)]
pub use catalogue::Fault;
pub use catalogue::{cases, primitives, program_of, unavailable};
pub use error::{CudaError, GpuError, NvrtcError};
pub use evidence::evidence_of;
pub use laboratory::GpuLaboratory;
pub use plan::Grid;
