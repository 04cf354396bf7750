//! The commands of `syncscope`, one module each.
//!
//! Each module has one function with the name of its command. It takes the parsed arguments and returns an
//! [`Outcome`](crate::failure::Outcome) or a [`Failure`](crate::failure::Failure), from which `main` derives the exit
//! code. Start with `run`, which measures; `list` is the shortest.

mod asynchrony;
mod compare;
mod crosscheck;
mod findings;
mod import;
mod list;
mod reductions;
mod repeat;
mod report;
mod run;
mod shell;
mod show;
mod system;
mod timeline;
mod verify;

pub(crate) use asynchrony::asynchrony;
pub(crate) use compare::compare;
pub(crate) use crosscheck::crosscheck;
pub(crate) use findings::findings;
pub(crate) use import::import;
pub(crate) use list::list;
pub(crate) use reductions::reductions;
pub(crate) use report::report;
pub(crate) use run::run;
pub(crate) use shell::{completions, man};
pub(crate) use show::show;
pub(crate) use system::system;
pub(crate) use timeline::timeline;
pub(crate) use verify::verify;
