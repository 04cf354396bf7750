//! GPU side of syncscope: it compiles kernels with NVRTC, launches them, and reads the times they measured.
//!
//! Start with [`GpuLaboratory`]: it opens the devices once and makes [`syncscope_core::Experiment`]s of the cases of its
//! catalogue. The crate builds, and lists its catalogue, without a GPU, a driver or NVRTC.
//!
//! | folder | contents |
//! |---|---|
//! | `cuda/` | the driver, NVRTC, NVML: every call of foreign code |
//! | `launch/` | launches on one or several devices, the wait for them, and the samples they return |
//! | `catalogue/` | the primitives, their cases, kernels and expected instructions |
//! | `experiments/` | what one case runs for one sample |
//! | `multi/` | several devices that run a kernel together |
//! | `nccl/` | sums over several devices by NCCL |
//! | `hybrid/` | CPU and GPU threads on one piece of memory |
//! | `evidence/` | judges the instructions found in the timed region |
//! | `own_device.rs` | a device for programs outside the catalogue |
//! | `laboratory/` | combines all of these for a case |
//!
//! ```text
//! laboratory -> experiments, hybrid -> multi -> launch -> cuda
//!      |             |
//!      +-> evidence -+-> catalogue
//! ```

mod catalogue;
mod cuda;
pub mod evidence;
mod experiments;
mod hard_limits;
mod hybrid;
mod laboratory;
mod launch;
mod multi;
mod nccl;
pub mod own_device;
pub mod verify;

pub use catalogue::limits::DeviceLimits;
pub use catalogue::{Entries, argument_bytes, cases, own, peer, program_of, third_loop_of, unavailable};
#[doc(hidden)]
pub use catalogue::{Fault, orderings, weakened_program};
pub use cuda::error::{CudaError, GpuError, NvrtcError};
pub use cuda::nccl::decide_multicast;
pub use cuda::{compile, compiler_process, discovery, nvrtc};
pub use evidence::evidence_of;
pub use experiments::grid_barrier::{BothClocksOfLaunch, GridBarrierExperiment};
pub use laboratory::GpuLaboratory;
pub use launch::arguments::UNROLL;
pub use launch::headers::headers;

/// The primitives of the catalogue, whether or not this machine has a GPU.
///
/// ```
/// let ids = syncscope_gpu::primitives().iter().map(|primitive| primitive.id);
/// assert!(ids.into_iter().any(|id| id == "gpu.grid.cooperative"));
/// ```
pub fn primitives() -> &'static [syncscope_core::Primitive] {
    static PRIMITIVES: std::sync::LazyLock<Vec<syncscope_core::Primitive>> = std::sync::LazyLock::new(|| {
        let mut primitives: Vec<_> = catalogue::primitives().collect();
        // NCCL's primitives follow the other barriers of several devices.
        let last = primitives.iter().rposition(|primitive| primitive.id.starts_with("gpu.multi."));
        let place = last.map_or(primitives.len(), |last| last + 1);
        primitives.splice(place..place, nccl::PRIMITIVES);
        primitives
    });
    &PRIMITIVES
}
