//! The commands of `syncscope`, one module each.
//!
//! Each module has one function with the name of its command. It takes the parsed arguments and returns an
//! [`Outcome`](crate::failure::Outcome) or a [`Failure`](crate::failure::Failure), from which `main` derives the exit
//! code. Start with `run`, which measures; `list` is the shortest.

mod import;
mod list;
mod repeat;
mod report;
mod run;
mod system;
mod verify;

pub(crate) use import::import;
pub(crate) use list::list;
pub(crate) use report::report;
pub(crate) use run::run;
pub(crate) use system::system;
pub(crate) use verify::verify;
