//! NVIDIA's software: the driver, the compiler, the management library, and what they report.
//!
//! All calls of foreign code are in this folder. It knows nothing of primitives or measurements.
//!
//! | file | contents |
//! |---|---|
//! | [`driver`] | the CUDA driver: contexts, modules, streams, memory, launches |
//! | [`discovery`] | where libraries may be on this machine |
//! | [`nvrtc`] | the binding of NVRTC, the run-time compiler |
//! | [`compile`] | turns a kernel's text into machine code, and keeps it from run to run |
//! | [`compiler_process`] | runs NVRTC in separate processes, which may crash or hang |
//! | [`host_library`] | a user's host function that launches kernels |
//! | [`nccl`] | the library for collectives of several devices |
//! | [`nvml`] | the management library: clocks, throttling, NVLink, firmware, limits and modes |
//! | [`describe`] | what a device is, how devices are connected, whether the Multi-Process Service is active |
//! | [`error`] | what can go wrong, with the remedy |
//! | [`hash`] | the hash by which compiled texts are found again |
//!
//! Start with [`compile`] to see how a kernel becomes machine code, and with [`driver`] to see how it is launched.

pub mod compile;
pub mod compiler_process;
pub mod discovery;
pub mod nvrtc;

pub(crate) mod describe;
pub(crate) mod driver;
pub(crate) mod error;
pub(crate) mod hash;
pub(crate) mod host_library;
pub(crate) mod nccl;
pub(crate) mod nvml;
