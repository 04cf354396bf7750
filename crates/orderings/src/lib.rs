//! Finds the memory orderings in a user's lock, barrier or message and writes the source with one of them weaker, narrower in
//! scope, or left out. `syncscope measure --orderings` compiles, checks and measures these variants.
//!
//! - `tokens.rs`: a source as tokens; `source.rs`: the calls and functions around each token.
//! - `find.rs`: the orderings of C, C++ and CUDA; `operators.rs`: accesses by operators; `ptx.rs`: instructions in `asm`
//!   statements.
//! - `ptx_as_c.rs`: translates the code of a GPU for the model; `floating.rs`: its floating-point instructions.
//! - `included.rs`: the user's headers in the source; `sets.rs`: which changes can be made together.
//! - `answer.rs`: what the model and the test said of a variant; `table.rs`: the answers as a table, JSON and Markdown.
//!
//! How the answers come about:
//!
//! 1. An ordering is found by tokens, never by lines: an order (`memory_order_acquire`, `__ATOMIC_RELEASE`), a call without
//!    one (which implies `seq_cst`), a fence, a barrier of a block, a scope, an instruction of PTX. What is not understood is
//!    listed as not tried. Only what the operation's functions reach counts.
//! 2. Each ordering gets its variants: one step weaker, one scope narrower, left out. A variant that compiles to the same
//!    machine code is free here, if the compiler reads the ordering at all: it must refuse a name that does not exist in the
//!    ordering's place.
//! 3. The model runs the user's own code for two and three threads, under all executions of C11 without load buffering. The
//!    compiler reports every memory access to it (`-fsanitize=thread`, with a runtime of ours). Executions come by their number
//!    of deviations: interrupted threads, reads of values that are not the newest, stores that come before others, loops that
//!    are given up, weak compare-and-swaps in vain. The model ends with the first execution that breaks the check, or says how
//!    far it came.
//! 4. The test runs the compiled variant on this machine, with delays before the operation and inside what it protects.
//! 5. No answer says more than was seen: *seen to fail*, *the memory model requires it*, *same instructions*, *not refuted*,
//!    with its bound.

#![forbid(unsafe_code)]

mod answer;
mod find;
mod floating;
mod included;
mod operators;
mod ptx;
mod ptx_as_c;
mod ptx_types;
mod sets;
mod source;
mod table;
mod tokens;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use self::answer::{Bound, Broken, Failed, Files, Model, ModelStep, Place, Refutation, Test};
pub use self::find::find;
pub use self::included::with_included;
pub use self::ptx_as_c::{HARNESS, MODELLED, Span, ptx_as_c};
pub use self::sets::largest_sets;
pub use self::source::functions;
pub use self::table::{Against, HEADS, Price, Row, Saving, Table, Together, difference, without_rows};

/// How a variant differs from the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The order is weaker by one step.
    Weaker,
    /// Fewer threads see the ordering.
    Narrower,
    /// Nothing is ordered any more.
    LeftOut,
}

/// A change of a source that takes something of one ordering away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// How the variant differs from the original.
    pub step: Step,
    /// The replacement: `relaxed`, `left out`.
    pub words: String,
    /// The edits, in the order of the source: the bytes to replace, and their replacement.
    pub edits: Vec<(Range<usize>, String)>,
}

/// An ordering in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordering {
    /// Its line, from 1.
    pub line: u32,
    /// The file that `#line` names; `None` for the source itself.
    pub file: Option<String>,
    /// The operation and its order: `atomic_store_explicit release`.
    pub name: String,
    /// Whether threads wait for each other in the operation, as in a barrier of the block.
    pub is_meeting: bool,
    /// The token that holds the ordering: a compiler that reads it refuses another word there.
    pub token: Range<usize>,
    /// Its variants.
    pub changes: Vec<Change>,
}

/// An ordering that has no variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotTried {
    /// Its line, from 1.
    pub line: u32,
    /// The file that `#line` names; `None` for the source itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The operation.
    pub name: String,
    /// Why it is not tried.
    pub reason: String,
}

/// The orderings of a source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The orderings with variants, in the order of the source.
    pub orderings: Vec<Ordering>,
    /// Orderings that are not understood, or cannot be weaker.
    pub not_tried: Vec<NotTried>,
}

/// Applies changes of different orderings to a source.
pub fn changed<'a>(source: &str, changes: impl IntoIterator<Item = &'a Change>) -> String {
    let mut edits: Vec<&(Range<usize>, String)> = changes.into_iter().flat_map(|change| &change.edits).collect();
    edits.sort_by_key(|(range, _)| range.start);
    let mut text = source.to_owned();
    for (range, to) in edits.into_iter().rev() {
        text.replace_range(range.clone(), to);
    }
    text
}

/// A source that a compiler refuses if it reads the ordering.
pub fn without_meaning(source: &str, ordering: &Ordering) -> String {
    let mut text = source.to_owned();
    text.replace_range(ordering.token.clone(), " syncscope_no_such_name ");
    text
}

#[cfg(test)]
mod tests;
