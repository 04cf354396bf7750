//! Experiments on a CUDA device: `make test-gpu`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a missing requirement fails the test")]

mod asynchrony;
mod crosscheck;
mod timeline;

use syncscope_gpu::GpuLaboratory;

fn open() -> GpuLaboratory {
    GpuLaboratory::open(None, &[], syncscope_core::OwnCode::default()).unwrap_or_else(|error| panic!("{error}"))
}
