//! A case of both runs, and what may become of it.

use std::collections::BTreeSet;

use serde::Serialize;
use syncscope_core::Row;

/// What became of the cost of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Certainly more expensive in B, by more than the threshold.
    Slower,
    /// Certainly cheaper in B, by more than the threshold.
    Faster,
    /// Certainly within the threshold.
    Same,
    /// Certainly another cost, in another state of the machine.
    AnotherState,
    /// Neither is certain.
    Undecided,
    /// One of the runs has no figure, or the two stand for something else.
    NotComparable,
}

impl Change {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Slower, Self::Faster, Self::Same, Self::AnotherState, Self::Undecided, Self::NotComparable];

    /// The word for it in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Same => "same",
            Self::AnotherState => "another_state",
            Self::Undecided => "undecided",
            Self::NotComparable => "not_comparable",
        }
    }
}

/// One case of both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCase<'a> {
    /// Its row in the first run.
    pub a: &'a Row,
    /// Its row in the second run.
    pub b: &'a Row,
    /// What became of it.
    pub change: Change,
    /// The cost in B over the cost in A, without what its class has in common.
    pub ratio: Option<f64>,
    /// That common factor; 1 where none is removed.
    pub common_factor: f64,
    /// Lower end of the 95 % interval of the ratio; `None`: no lower bound above zero.
    pub low: Option<f64>,
    /// Upper end; `None`: no upper bound.
    pub high: Option<f64>,
    /// The p-value, before the correction, of "changes by no more than the threshold".
    pub p_value: Option<f64>,
    /// Why it is not comparable, or what to know about the comparison; empty if nothing.
    pub remark: String,
}

impl ComparedCase<'_> {
    /// Whether the evidence of both rows is known and names different instructions. Their numbers do not count.
    #[must_use]
    pub fn has_other_instructions(&self) -> bool {
        match (&self.a.evidence, &self.b.evidence) {
            (Some(a), Some(b)) => instructions(a) != instructions(b),
            _ => false,
        }
    }

    /// The factor by which the cost certainly changes: the end of the interval next to 1, as a factor above 1.
    #[must_use]
    pub fn certain_factor(&self) -> f64 {
        let end = match self.change {
            Change::Slower => self.low,
            Change::Faster => self.high.map(f64::recip),
            _ => None,
        };
        end.unwrap_or(1.0)
    }
}

/// Whether the loops of two rows are defined alike, as far as both say: the same instructions of one primitive, operations that
/// follow each other alike, and the cost of the same kind of thread. Versions of syncscope differ in that.
pub(crate) fn is_one_definition(a: &Row, b: &Row) -> bool {
    let have_same_code = match (&a.evidence, &b.evidence) {
        (Some(one), Some(other)) => instructions(one) == instructions(other),
        _ => true,
    };
    let is_same_primitive = a.case.primitive == b.case.primitive;
    let have_same_actor = a.case.has_one_thread() || b.case.has_one_thread() || a.actor == b.actor;
    !is_same_primitive || (have_same_code && a.case.mode == b.case.mode && have_same_actor)
}

/// The instructions that evidence names: `REDG` and `REDUX.SUM` in `REDG 32/64, aggregated by the compiler: REDUX.SUM 1/1`.
pub(crate) fn instructions(evidence: &str) -> BTreeSet<Vec<&str>> {
    // What follows the name is a count: `lock add 16/32`, `NOP 32/64 for WARPSYNC`.
    let is_name = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit());
    let named = evidence.split(", ").map(|part| part.rsplit(": ").next().unwrap_or(part));
    named.map(|part| part.split_whitespace().take_while(is_name).collect()).collect()
}
