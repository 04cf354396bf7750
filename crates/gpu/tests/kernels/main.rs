//! Kernels compiled for every architecture: machine code, evidence and the decoder. Needs NVRTC and `nvdisasm`, which
//! `make nvrtc` installs, but no GPU. All tests are one program, so that they share the compiled kernels.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

#[path = "../common/mod.rs"]
mod common;

mod closing;
mod evidence;
mod operands;
mod receipts;
mod reductions;
mod sass;
