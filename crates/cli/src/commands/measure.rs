//! `syncscope measure`: operations that the user wrote, measured as primitives of a run.

use syncscope_gpu::verify::listings_of_own;

use crate::args::{MeasureArguments, Side};
use crate::commands::own_request::OwnRequest;
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
    if let Some(arch) = &arguments.sass {
        OwnRequest::new(arguments)?.define();
        for (id, listing) in listings_of_own(arch).map_err(Failure::CouldNot)? {
            terminal::show(&format!("{id} on {arch}\n{listing}"))?;
        }
        return Ok(Outcome::Done);
    }
    measure_own(arguments)
}
