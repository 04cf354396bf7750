//! The commands of `syncscope`.
//!
//! A module has the functions of one command or of a few similar ones, each with the name of its command. A function takes the
//! parsed arguments and returns an [`Outcome`](crate::failure::Outcome) or a [`Failure`](crate::failure::Failure), from which
//! `main` derives the exit code. Start with `run`, which measures; `begun_run`, `orderings`, `own_launch`, `own_request`,
//! `own_source`, `gate` and `repeat` are parts of it. `list` is the shortest.

mod begun_run;
mod compare;
mod fleet;
mod gate;
mod import;
mod instructions;
mod list;
mod orderings;
mod own_launch;
mod own_pairs;
mod own_ratios;
mod own_request;
mod own_source;
mod paper;
mod repeat;
mod report;
mod run;
mod shell;
mod show;
mod submit;
mod system;
mod verify;
mod written_code;

pub(crate) use compare::compare;
pub(crate) use fleet::fleet;
pub(crate) use import::import;
pub(crate) use list::list;
pub(crate) use paper::paper;
pub(crate) use report::{gallery, report};
pub(crate) use run::{measure, run};
pub(crate) use shell::{completions, man};
pub(crate) use show::{advise, findings, show};
pub(crate) use submit::submit;
pub(crate) use system::system;
pub(crate) use verify::verify;
