//! What was executed: the seam between a case and the decoder of machine code.

use syncscope_core::{Case, Dtype, Evidence};

use crate::arguments::UNROLL;
use crate::catalogue::{Entry, Meant, entry_of};
use crate::sass::{self, Expectation};

/// The kernels that a case times.
const TIMED: [&str; 2] = ["baseline", "test"];

/// The evidence in the compiled program of a case.
#[must_use]
pub fn evidence_of(case: &Case, cubin: &[u8]) -> Evidence {
    match entry_of(case) {
        Some(entry) => sass::evidence(cubin, TIMED, &expectation(entry, case.dtype)),
        None => Evidence::NotAvailable(format!("this version knows no primitive {}", case.primitive)),
    }
}

fn expectation(entry: &Entry, dtype: Option<Dtype>) -> Expectation {
    let Meant { instructions, moves_words } = entry.meant;
    let words = dtype.map_or(1, |dtype| dtype.size_bytes().div_ceil(4));
    let expectation = Expectation::new(instructions.iter().copied(), UNROLL as usize);
    if moves_words { expectation.times(words) } else { expectation }
}
