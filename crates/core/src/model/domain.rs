//! Domains: the first part of a primitive's id.

use crate::words::words;

words! {
    /// The side of the machine a primitive runs on.
    pub enum Domain ("domain") {
        /// Threads of the operating system.
        Cpu = "cpu",
        /// Threads of a CUDA device.
        Gpu = "gpu",
        /// Threads of both, together.
        Hybrid = "hybrid",
        /// Processes, by an MPI library.
        Mpi = "mpi",
    }
}
