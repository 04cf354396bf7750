//! The program for one block size, and its kernels.

use syncscope_core::published::asynchrony::Variant;

use crate::cuda::compile::Program;
use crate::cuda::driver::{Function, Module};
use crate::cuda::error::CudaError;

/// The program of the block-asynchronous experiment for blocks of so many threads.
#[must_use]
pub fn asynchrony_program(block_threads: u32) -> Program {
    Program {
        file: "published_asynchrony.cu",
        text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/published_asynchrony.cu")),
        definitions: vec![format!("BLOCK_THREADS={block_threads}")],
    }
}

/// Its kernels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernels {
    update_global: Function,
    update_shared: Function,
    update_global_left_first: Function,
    update_shared_uniform: Function,
    pub(super) count: Function,
    pub(super) tally: Function,
    pub(super) arrive: Function,
    pub(super) idle: Function,
}

impl Kernels {
    pub(super) fn of(module: &Module) -> Result<Self, CudaError> {
        Ok(Self {
            update_global: module.function(c"update_global")?,
            update_shared: module.function(c"update_shared")?,
            update_global_left_first: module.function(c"update_global_left_first")?,
            update_shared_uniform: module.function(c"update_shared_uniform")?,
            count: module.function(c"count")?,
            tally: module.function(c"tally")?,
            arrive: module.function(c"arrive")?,
            idle: module.function(c"idle")?,
        })
    }

    /// The kernel that updates a vector.
    pub(super) const fn update(&self, variant: Variant) -> Function {
        match variant {
            Variant::Global => self.update_global,
            Variant::Shared => self.update_shared,
            Variant::GlobalLeftFirst => self.update_global_left_first,
            Variant::SharedUniform => self.update_shared_uniform,
        }
    }
}
