//! The primitives of all hardware crates.

use syncscope_core::Primitive;

/// The primitives, those of the CPU first and those between processes last, in the order in which lists and reports show them.
pub(crate) fn catalogue() -> Vec<Primitive> {
    [syncscope_cpu::catalogue(), syncscope_gpu::primitives(), syncscope_cpu::mpi::primitives()].concat()
}
