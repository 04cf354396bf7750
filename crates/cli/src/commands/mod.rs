//! The commands of `syncscope`, one module each.
//!
//! Each module has one function with the name of its command. The experiments of papers are one command, `paper`;
//! those that read finished runs in `stored`. A function takes the parsed arguments and returns an
//! [`Outcome`](crate::failure::Outcome) or a [`Failure`](crate::failure::Failure), from which `main` derives the exit
//! code. Start with `run`, which measures (`measure` what the user wrote; `begun_run`, `repeat` and `together` are parts of it); `list` is the
//! shortest.

mod begun_run;
mod import;
mod list;
mod measure;
mod own_request;
mod paper;
mod repeat;
mod run;
mod shell;
mod stored;
mod system;
mod together;
mod verify;

pub(crate) use import::import;
pub(crate) use list::list;
pub(crate) use measure::measure;
pub(crate) use paper::paper;
pub(crate) use run::run;
pub(crate) use shell::{completions, man};
pub(crate) use stored::{advise, compare, findings, fleet, gallery, report, show, submit};
pub(crate) use system::system;
pub(crate) use verify::verify;
