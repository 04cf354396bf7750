//! What was executed: the instructions found in the timed region, and whether they are the expected ones.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The finding of a disassembler about one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// The expected instruction is in both loops, once more (times unroll) in the test.
    Present {
        /// One cell of text: `RED.E.ADD 32/64`.
        summary: String,
        /// The disassembled timed region of both loops, for `evidence/`.
        listing: String,
        /// Every instruction of an operation, where they were counted.
        receipt: Option<Receipt>,
    },
    /// Another instruction does the work, and it is named; the figure is that instruction's.
    Substituted {
        /// One cell of text: `NOP for WARPSYNC`.
        summary: String,
        /// As above.
        listing: String,
        /// As above.
        receipt: Option<Receipt>,
    },
    /// The primitive is not in the timed region: no figure.
    Elided {
        /// What was expected and what was found.
        summary: String,
        /// As above.
        listing: String,
    },
    /// The reason why nobody looked.
    NotAvailable(String),
}

impl Default for Evidence {
    fn default() -> Self {
        Self::NotAvailable(String::new())
    }
}

impl Evidence {
    /// Whether a summary says that a no-op replaces the operation: `NOP 32/64 for WARPSYNC`.
    pub fn is_nop(summary: &str) -> bool {
        summary.split(' ').next() == Some("NOP")
    }

    /// The cell in the column `evidence`; empty if nobody looked.
    pub fn summary(&self) -> Option<&str> {
        self.texts().map(|[summary, _]| summary)
    }

    /// The disassembly, if there is one.
    pub fn listing(&self) -> Option<&str> {
        self.texts().map(|[_, listing]| listing)
    }

    fn texts(&self) -> Option<[&str; 2]> {
        match self {
            Self::Present { summary, listing, .. }
            | Self::Substituted { summary, listing, .. }
            | Self::Elided { summary, listing } => Some([summary, listing]),
            Self::NotAvailable(_) => None,
        }
    }

    /// Every instruction of an operation, where they were counted.
    pub const fn receipt(&self) -> Option<&Receipt> {
        match self {
            Self::Present { receipt, .. } | Self::Substituted { receipt, .. } => receipt.as_ref(),
            Self::Elided { .. } | Self::NotAvailable(_) => None,
        }
    }
}

/// The most instructions besides the expected one that an operation may have before its row says so.
pub const MOST_OTHERS: f64 = 1.1;

/// Differences below this fraction of an instruction come from the loop around the operations.
const LEAST: f64 = 0.1;

/// The instructions that the test has in addition to the baseline, by name and per operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Operations that the test has in addition to the baseline.
    operations: u32,
    expected: Vec<(String, i64)>,
    /// Instructions that were not expected, the most frequent first.
    others: Vec<(String, i64)>,
    counted: Counted,
}

/// Which instructions a receipt counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Instructions of the only path: each is executed once.
    Executed,
    /// Instructions of the shortest of several paths.
    ShortestPath,
    /// All instructions in the code, on several paths or in inner loops.
    Static,
}

impl Receipt {
    /// Builds a receipt from the instructions of baseline and test, each with whether it is expected; `operations` is how
    /// many more operations the test has. `None` where the test has no additional expected instruction.
    pub fn of<'a, I: IntoIterator<Item = (&'a str, bool)>>(
        loops: [I; 2],
        operations: u32,
        counted: Counted,
    ) -> Option<Self> {
        let mut counts: BTreeMap<(bool, &str), i64> = BTreeMap::new();
        for (instructions, step) in loops.into_iter().zip([-1, 1]) {
            for (name, is_expected) in instructions {
                *counts.entry((is_expected, name)).or_default() += step;
            }
        }
        let of_kind = |kind: bool| {
            let found = counts.iter().filter(|((is_expected, _), count)| *is_expected == kind && **count != 0);
            let mut found: Vec<(String, i64)> = found.map(|((_, name), count)| ((*name).to_owned(), *count)).collect();
            found.sort_by_key(|(_, count)| Reverse(*count));
            found
        };
        let receipt = Self { operations, expected: of_kind(true), others: of_kind(false), counted };
        (operations > 0 && sum(&receipt.expected) > 0).then_some(receipt)
    }

    /// Instructions per operation besides the expected ones.
    pub fn others(&self) -> f64 {
        self.each(sum(&self.others))
    }

    /// All instructions per operation.
    pub fn all(&self) -> f64 {
        self.each(sum(&self.expected)) + self.others()
    }

    /// Instructions of this name per operation.
    pub fn of_name(&self, name: &str) -> f64 {
        self.each(self.both().filter(|(found, _)| found == name).map(|(_, count)| count).sum())
    }

    /// Which instructions were counted.
    pub const fn counted(&self) -> Counted {
        self.counted
    }

    /// The others as the end of a summary: ` + ISETP 1 + IMAD 1`; empty if there are none.
    pub fn others_in_brief(&self) -> String {
        let listed = self.others.iter().filter(|(_, count)| self.each(*count).abs() >= LEAST);
        let (shown, rest): (Vec<_>, Vec<_>) = listed.enumerate().partition(|(index, _)| *index < MOST_NAMES);
        let rest: i64 = rest.into_iter().map(|(_, (_, count))| count).sum();
        match self.counted {
            _ if self.others().abs() < LEAST && shown.len() < 2 => String::new(),
            Counted::Static => format!(" + {} others on all paths", number(self.others())),
            Counted::Executed | Counted::ShortestPath => {
                let shown = shown.into_iter().map(|(_, (name, count))| (name.as_str(), *count));
                let all = shown.chain((rest != 0).then_some(("others", rest)));
                let text = |text: String, (name, count)| text + &format!(" + {name} {}", number(self.each(count)));
                all.fold(String::new(), text)
            }
        }
    }

    /// All instructions in one line: `5 instructions per operation: VOTE 1, ISETP 1, ...`.
    pub fn line(&self) -> String {
        let listed = self.both().filter(|(_, count)| self.each(*count).abs() >= LEAST);
        let listed: Vec<String> = listed.map(|(name, count)| format!("{name} {}", number(self.each(*count)))).collect();
        let how = match self.counted {
            Counted::Executed => "",
            Counted::ShortestPath => " on the shortest path",
            Counted::Static => " in the code, on all its paths",
        };
        let all = number(self.all());
        let plural = if all == "1" { "" } else { "s" };
        format!("{all} instruction{plural} per operation{how}: {}", listed.join(", "))
    }

    /// A remark for the reader of a figure, if much of it is due to other instructions. `None` where it is not known which
    /// instructions are executed.
    pub fn remark(&self) -> Option<String> {
        (self.counted == Counted::Executed && self.others() > MOST_OTHERS).then(|| self.line())
    }

    fn both(&self) -> impl Iterator<Item = &(String, i64)> {
        self.expected.iter().chain(&self.others)
    }

    fn each(&self, count: i64) -> f64 {
        count as f64 / f64::from(self.operations)
    }
}

fn sum(counts: &[(String, i64)]) -> i64 {
    counts.iter().map(|(_, count)| count).sum()
}

/// The most other instructions that a summary names.
const MOST_NAMES: usize = 4;

/// Formats a value with at most two decimal places.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

// The check: proof, from the state after the samples, that the primitive did its work.

/// Whether the primitive did its work, as far as that can be seen after the samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Check {
    /// It did.
    Ok,
    /// It did not; expected and found.
    Failed(String),
    /// There is nothing to be seen.
    #[default]
    NotApplicable,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(baseline: &[&str], test: &[&str], counted: Counted) -> Option<Receipt> {
        Receipt::of([baseline, test].map(|names| names.iter().map(|name| (*name, *name == "VOTE"))), 2, counted)
    }

    #[test]
    fn an_operation_is_what_the_test_has_more() {
        let (baseline, test) = (["VOTE", "VOTE", "MOV", "BRA"], ["VOTE", "ADD", "VOTE", "ADD", "VOTE", "VOTE", "BRA"]);
        let found = receipt(&baseline, &test, Counted::Executed).unwrap();
        assert_eq!((found.all(), found.others(), found.of_name("ADD"), found.of_name("BRA")), (1.5, 0.5, 1.0, 0.0));
        assert_eq!(found.others_in_brief(), " + ADD 1 + MOV -0.5");
        assert_eq!(found.line(), "1.5 instructions per operation: VOTE 1, ADD 1, MOV -0.5");
        assert_eq!(found.remark(), None, "few others");
        assert_eq!(receipt(&test, &test, Counted::Executed), None, "no difference");
        let one = receipt(&[], &["VOTE", "VOTE"], Counted::Executed).unwrap();
        assert_eq!(one.line(), "1 instruction per operation: VOTE 1");
    }

    #[test]
    fn many_others_are_remarked_where_they_are_executed() {
        let test = ["VOTE", "A", "B", "VOTE", "A", "B"];
        let found = receipt(&[], &test, Counted::Executed).unwrap();
        assert_eq!(found.remark().unwrap(), "3 instructions per operation: VOTE 1, A 1, B 1");
        let on_paths = receipt(&[], &test, Counted::Static).unwrap();
        assert_eq!((on_paths.remark(), on_paths.others_in_brief()), (None, " + 2 others on all paths".to_owned()));
        assert!(on_paths.line().starts_with("3 instructions per operation in the code, on all its paths: "));
    }

    #[test]
    fn the_summary_names_few() {
        let test = ["VOTE", "VOTE", "A", "A", "B", "B", "C", "C", "D", "D", "E", "E", "F", "F"];
        let found = receipt(&[], &test, Counted::ShortestPath).unwrap();
        assert_eq!(found.others_in_brief(), " + A 1 + B 1 + C 1 + D 1 + others 2");
        assert_eq!(receipt(&[], &["VOTE", "VOTE"], Counted::Executed).unwrap().others_in_brief(), "");
    }
}
