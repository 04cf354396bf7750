//! Measures primitives between processes, such as `MPI_Barrier`, with the site's MPI library under the site's launcher.
//!
//! Rank 0 has a [`MpiLaboratory`]: it decides what is measured and keeps the results. The other processes
//! [`follow`](MpiProcess::follow): they wait for messages from rank 0 and do what the messages say. All processes run
//! the same `member` code.
//!
//! | file | contents |
//! |---|---|
//! | `catalogue` | the primitives. Start here, then read their operations in `shim.c` |
//! | `shim.c` | the timed loops around MPI's functions, in C |
//! | `wrapper` | finds the compiler wrapper of the MPI library and compiles the shim with it |
//! | `library` | the functions of the compiled shim |
//! | `world` | the processes, their nodes and CPUs, and which of them take part in a case |
//! | `message` | what rank 0 sends to all others |
//! | `member` | one process's part in a batch, and its check |
//! | `process` | one process among the others, from start to end, and the watchdog that ends it when others do not answer |
//! | `laboratory` | rank 0: cases for the engine |
//! | [`launcher`] | which of the processes that Slurm, Open MPI or MPICH started this is |

pub mod launcher;

mod catalogue;
mod laboratory;
mod library;
mod member;
mod message;
mod process;
mod world;
mod wrapper;

pub use catalogue::primitives;
pub use laboratory::{MpiLaboratory, Started};
pub use process::MpiProcess;
pub use wrapper::{Family, unavailable};
