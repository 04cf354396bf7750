//! Turns compared cases into the exit code of a gate (`measure --fail-if-slower`, `compare --fail-on slower`). A gate passes
//! only what it compared.

use syncscope_report::{Change, ComparedCase};

use crate::failure::{Failure, Outcome};

/// The cases that a gate was asked about.
#[derive(Debug, Default)]
pub(super) struct Gate {
    slower: Vec<String>,
    passed: usize,
    /// The cases without an answer, each with the reason.
    open: Vec<String>,
}

impl Gate {
    /// Adds a case. `name` is shown if the case does not pass, and `remark` says why it cannot be compared.
    pub(super) fn add(&mut self, case: &ComparedCase<'_>, name: &str, remark: &str) {
        match case.change {
            Change::Slower => self.slower.push(name.to_owned()),
            Change::Faster | Change::Same => self.passed += 1,
            Change::Undecided if case.least_change.is_some() => self.passed += 1,
            Change::Undecided => self.leave_open(format!("{name}: these runs cannot show a slowdown")),
            Change::AnotherState => self.leave_open(format!("{name}: the machine was in another state")),
            Change::NotComparable => self.leave_open(format!("{name}: {remark}")),
        }
    }

    /// Adds something that was not compared.
    pub(super) fn leave_open(&mut self, reason: String) {
        self.open.push(reason);
    }

    /// The slower cases.
    pub(super) fn slower(&self) -> &[String] {
        &self.slower
    }

    /// The outcome of the command after work that ended as `done`. A slower case is an answer whatever else was not compared.
    ///
    /// # Errors
    /// If a case has no answer, or there is no case.
    pub(super) fn outcome(&self, done: Outcome) -> Result<Outcome, Failure> {
        match done {
            Outcome::Done | Outcome::SomeCasesFailed if !self.slower.is_empty() => Ok(Outcome::SomeCasesSlower),
            Outcome::Done if self.passed == 0 && self.open.is_empty() => {
                Err(Failure::CouldNot("the gate has no case to compare, so it decides nothing".to_owned()))
            }
            Outcome::Done if !self.open.is_empty() => {
                let all = self.passed + self.open.len();
                let open = self.open.len();
                Err(Failure::CouldNot(format!("the gate could not decide {open} of {all}: {}", self.open.join("; "))))
            }
            other => Ok(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Case, Row, Verdict};

    use super::*;

    /// The exit code of a gate for these changes, each with a lower end of its interval. `None`: an error, exit code 1.
    fn code(changes: &[(Change, Option<f64>)], done: Outcome) -> Option<u8> {
        let row = Row::unmeasured(Case::new("cpu.own.line"), Verdict::Resolved);
        let mut gate = Gate::default();
        for (change, low) in changes {
            let case = ComparedCase {
                a: &row,
                b: &row,
                change: *change,
                ratio: low.map(|_| 1.0),
                common_factor: 1.0,
                low: *low,
                high: None,
                equal_work: None,
                p_value: None,
                least_change: low.map(f64::recip),
            };
            gate.add(&case, "1 thread", "elided");
        }
        gate.outcome(done).ok().map(Outcome::code)
    }

    /// Each change alone, with an equal case and with a slower one, after work that ended well, with failed cases, and early.
    #[test]
    fn only_what_was_compared_passes() {
        use Change::{AnotherState, Faster, NotComparable, Same, Slower, Undecided};
        use Outcome::{Done, Interrupted, SomeCasesFailed};
        let code_of = Some;
        let seen = Some(0.99);
        let table = [
            ((Slower, seen), code_of(3), code_of(3)),
            ((Faster, seen), code_of(0), code_of(3)),
            ((Same, seen), code_of(0), code_of(3)),
            ((Undecided, seen), code_of(0), code_of(3)),
            ((Undecided, None), None, code_of(3)),
            ((NotComparable, None), None, code_of(3)),
            ((AnotherState, seen), None, code_of(3)),
        ];
        let same = |one: Option<u8>, other: Option<u8>| format!("{one:?}") == format!("{other:?}");
        for (change, done, failed) in table {
            let is_slower = change.0 == Slower;
            for cases in [vec![change], vec![(Same, seen), change]] {
                assert!(same(code(&cases, Done), done), "{change:?}");
                assert!(same(code(&cases, SomeCasesFailed), failed), "{change:?}: a failed case stays one");
                assert!(same(code(&cases, Interrupted), code_of(1)), "{change:?}");
            }
            assert!(same(code(&[change, (Slower, seen)], Done), code_of(3)), "{change:?} beside a slower one");
            assert!(!is_slower || same(done, code_of(3)));
        }
        assert!(code(&[], Done).is_none(), "no case at all");
    }
}
