//! The catalogue for the tests, joined from the hardware crates as the command does.

use std::sync::Arc;

use syncscope_core::Catalogue;

/// The primitives of CPUs, of GPUs and between processes.
pub(crate) fn catalogue() -> Arc<Catalogue> {
    let all = [syncscope_cpu::catalogue(), syncscope_gpu::primitives(), syncscope_mpi::primitives()];
    Arc::new(all.into_iter().flatten().copied().collect())
}
