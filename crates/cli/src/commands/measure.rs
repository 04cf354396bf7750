//! `syncscope measure`: operations that the user wrote, measured as primitives of a run.

use crate::args::{MeasureArguments, Side};
use crate::commands::run::measure_own;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Measures what the user wrote.
pub(crate) fn measure(arguments: &MeasureArguments) -> Result<Outcome, Failure> {
    if let Some(side) = arguments.header {
        let header = match side {
            Side::Cpu => syncscope_cpu::primitives::own::HEADER,
            Side::Gpu => syncscope_gpu::own::HEADER,
        };
        return terminal::show(&header.trim_end()).map(|()| Outcome::Done);
    }
    measure_own(arguments)
}
