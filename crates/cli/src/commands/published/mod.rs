//! The commands of the published experiments, one module each. `experiment_run` is the directory that they write.

mod asynchrony;
mod crosscheck;
mod experiment_run;
mod timeline;

pub(crate) use asynchrony::asynchrony;
pub(crate) use crosscheck::crosscheck;
pub(crate) use timeline::timeline;
