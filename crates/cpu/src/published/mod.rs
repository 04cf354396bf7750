//! What published experiments run on the CPU, one file each. Their rows stand in `syncscope_core::published`.

pub mod reductions;
