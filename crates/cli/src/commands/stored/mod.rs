//! The commands that read finished runs and measure nothing.

mod advise;
mod compare;
mod findings;
mod fleet;
mod gallery;
mod report;
mod show;
mod submit;

pub(crate) use advise::advise;
pub(crate) use compare::compare;
pub(crate) use findings::findings;
pub(crate) use fleet::fleet;
pub(crate) use gallery::gallery;
pub(crate) use report::report;
pub(crate) use show::show;
pub(crate) use submit::submit;
