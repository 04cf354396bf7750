//! `syncscope measure --instructions`: whether operations compile to the same machine code. Nothing is timed, so the answer is
//! the same on a busy machine, or on one without the GPU.

use std::collections::HashMap;

use syncscope_core::{Domain, OwnOperation};
use syncscope_cpu::primitives::own::Trials;
use syncscope_gpu::verify::listings_of_own;
use syncscope_orderings::difference;

use crate::args::MeasureArguments;
use crate::commands::orderings::listing_opcodes;
use crate::commands::own_request::OwnRequest;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Compares operations in pairs, as `measure --against` does, and shows the differences.
///
/// # Errors
/// If there is nothing to compare, or an operation does not compile.
pub(super) fn compare_instructions(arguments: &MeasureArguments) -> Result<Outcome, Failure> {
    let request = OwnRequest::new(arguments)?;
    if let Some(id) = request.ids_of_catalogue().next() {
        return Err(Failure::Usage(format!(
            "--instructions compares code: name a file or a statement instead of {id}"
        )));
    }
    let request = request.resolved(arguments.sass.as_deref())?;
    let code = instructions_of(&request, arguments)?;
    let (mut compared, mut outcome) = (0, Outcome::Done);
    for side in [Domain::Cpu, Domain::Gpu] {
        for [first, other] in request.pairs(side) {
            compared += 1;
            let (a, b) = (&code[&first], &code[&other]);
            let text = if a == b {
                let aside = if side == Domain::Gpu { " by name; registers and constants are not compared" } else { "" };
                format!("{first} and {other}: the same {} instructions{aside}", a.len())
            } else {
                outcome = Outcome::SomeCasesSlower;
                let what = difference(b, a).unwrap_or_else(|| "the same instructions in another order".to_owned());
                format!("{first} differs from {other}: {what}")
            };
            terminal::show(&text)?;
        }
    }
    if compared == 0 {
        return Err(Failure::Usage(
            "--instructions needs something to compare with: name it with --against".to_owned(),
        ));
    }
    Ok(outcome)
}

/// The timed instructions of each operation by its id. On GPUs only their names: other code around them changes registers, and
/// the decoder reads no constants.
fn instructions_of(
    request: &OwnRequest,
    arguments: &MeasureArguments,
) -> Result<HashMap<String, Vec<String>>, Failure> {
    let is_cpu = |own: &&OwnOperation| own.id.starts_with(Domain::Cpu.as_str());
    let trials = Trials::new(arguments.axes.dtype.first().copied()).map_err(Failure::CouldNot)?;
    let mut code = HashMap::new();
    for own in request.operations.iter().filter(is_cpu) {
        let assembly = trials.assembly(own).map_err(|error| Failure::CouldNot(format!("{}: {error}", own.id)))?;
        code.insert(own.id.clone(), Trials::timed(&assembly));
    }
    if !request.operations.iter().all(|own| is_cpu(&own)) {
        let listings = listings_of_own(&request.code(), arguments.sass.as_deref(), arguments.device.as_deref(), false);
        for (id, listing) in listings.map_err(Failure::CouldNot)? {
            let listing = listing.map_err(|error| Failure::CouldNot(format!("{id}: {error}")))?;
            code.insert(id, listing_opcodes(&listing).map(str::to_owned).collect());
        }
    }
    let missing = request.operations.iter().find(|own| !code.contains_key(&own.id));
    let empty = request.operations.iter().find(|own| code.get(&own.id).is_some_and(Vec::is_empty));
    match (missing, empty) {
        (Some(own), _) => Err(Failure::CouldNot(format!("{} has no case", own.id))),
        (None, Some(own)) => Err(Failure::CouldNot(format!(
            "{} has no instructions in what the compiler wrote: is it assembly (no -E), and the compiler gcc or clang?",
            own.id
        ))),
        (None, None) => Ok(code),
    }
}
