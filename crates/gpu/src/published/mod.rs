//! What published experiments run on a device: their kernels' arguments, launches and waits.
//!
//! Each experiment has a file or folder of its own here and adds a method to [`crate::GpuLaboratory`], which gives the rows of
//! `syncscope_core::published`. Its kernels stand in `kernels/published_NAME.cu`. `device.rs` opens a device and waits for it.

mod asynchrony;
pub mod crosscheck;
mod device;

pub use self::asynchrony::asynchrony_program;
pub(crate) mod timeline;
