//! The check at the start of a run: does a chain of known operations cost the same by two clocks, and what it is known to?

use serde::{Deserialize, Serialize};

/// How far both clocks may be apart, and a cost from what is known of it.
///
/// What is right stays well below. The median of 25 pairs (CPU) and of 101 (GPU) is uncertain by some tenths of a percent
/// of these chains, which last 10 to 50 us, and a step of a GPU's clock is below one percent. What is wrong lies far above:
/// a nominal clock instead of the measured one is off by 5 to 40 %, and the next whole number of cycles by 25 % (5 for 4)
/// or 33 % (4 for 3). A processor's counter of cycles may be as far from a chain of known cycles.
pub const TOLERANCE: f64 = 0.03;

/// A chain of one operation by both clocks, at the start of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainCheck {
    /// `cpu`, `gpu`.
    pub executor: String,
    /// `integer_multiplication`, `float_addition`.
    pub operation: String,
    /// Cycles of one operation, inferred from the system's clock outside; `None` if it could not be measured.
    pub outside_cycles: Option<f64>,
    /// The same by the clock inside.
    pub inside_cycles: Option<f64>,
    /// What it is known to cost here; `None` if that is not known.
    pub known_cycles: Option<f64>,
    /// Why the machine failed it; `None` if it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl ChainCheck {
    /// Judges what was measured. `check` says what was wrong with the work of the chain, if something was.
    pub fn of(
        (executor, operation): (&str, &str),
        (outside_cycles, inside_cycles): (Option<f64>, Option<f64>),
        known_cycles: Option<f64>,
        check: Option<&str>,
    ) -> Self {
        let failure = match (check.filter(|check| *check != "ok"), outside_cycles, inside_cycles) {
            (Some(wrong), _, _) => Some(wrong.to_owned()),
            (None, Some(outside), Some(inside)) => failure(outside, inside, known_cycles),
            (None, _, _) => Some("it gave no figure".to_owned()),
        };
        let (executor, operation) = (executor.to_owned(), operation.to_owned());
        Self { executor, operation, outside_cycles, inside_cycles, known_cycles, failure }
    }

    /// A chain that could not be measured.
    pub fn without_figures(executor: &str, operation: &str, reason: String) -> Self {
        let (executor, operation) = (executor.to_owned(), operation.to_owned());
        Self { executor, operation, failure: Some(reason), ..Self::default() }
    }

    /// The warning where the machine failed it: what is wrong, and what that means for the figures.
    pub fn warning(&self) -> Option<String> {
        let failure = self.failure.as_ref()?;
        let (executor, operation) = (self.executor.to_uppercase(), self.operation.replace('_', " "));
        Some(format!(
            "the {executor}'s clocks failed their check at the start (a chain of {operation}s): {failure}; cycles of this run \
             are doubtful, and its nanoseconds too if other work is not the cause; see `syncscope paper crosscheck`"
        ))
    }
}

/// Whether one is within the tolerance of the other. What is not a number agrees with nothing.
fn agree(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() <= TOLERANCE
}

fn failure(outside: f64, inside: f64, known: Option<f64>) -> Option<String> {
    let apart = outside / inside - 1.0;
    if !agree(outside, inside) {
        return Some(format!(
            "{outside:.3} cycles each by the system's clock, {inside:.3} by its own ({:+.1} %)",
            100.0 * apart
        ));
    }
    let known = known.filter(|known| !agree(inside, *known))?;
    Some(format!("{inside:.3} cycles each, and {known} are known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outside: f64, inside: f64, known: Option<f64>) -> ChainCheck {
        ChainCheck::of(("gpu", "float_addition"), (Some(outside), Some(inside)), known, Some("ok"))
    }

    #[test]
    fn a_sound_machine_has_no_warning() {
        for good in [check(4.01, 4.002, Some(4.0)), check(4.1, 4.0, None), check(3.9, 3.99, Some(4.0))] {
            assert_eq!((good.failure.clone(), good.warning()), (None, None), "{good:?}");
        }
    }

    #[test]
    fn a_machine_whose_clocks_disagree_is_warned_of() {
        // A nominal clock of 1,980 MHz where 1,755 were measured.
        let text = check(4.0 * 1980.0 / 1755.0, 4.0, Some(4.0)).warning().unwrap();
        for part in ["GPU", "float additions", "+12.8 %", "syncscope paper crosscheck"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(check(f64::NAN, 4.0, None).failure.is_some() && check(4.0, 0.0, None).failure.is_some());
    }

    #[test]
    fn a_known_cost_that_is_not_met_is_warned_of() {
        let text = check(5.0, 5.0, Some(4.0)).warning().unwrap();
        assert!(text.contains("5.000 cycles each, and 4 are known"), "{text}");
        let wrong = ChainCheck::of(("cpu", "x"), (Some(3.0), Some(3.0)), Some(3.0), Some("2 sums are wrong"));
        assert!(wrong.warning().unwrap().contains("CPU") && wrong.warning().unwrap().contains("2 sums are wrong"));
        let none = ChainCheck::of(("cpu", "x"), (None, Some(3.0)), None, None);
        assert!(none.warning().unwrap().contains("no figure"));
        let refused = ChainCheck::without_figures("gpu", "x", "no memory".to_owned());
        assert!(refused.warning().unwrap().contains("no memory"));
    }

    #[test]
    fn it_is_stored_as_it_is() {
        let text = serde_json::to_string(&check(4.0, 4.0, None)).unwrap();
        assert!(text.contains(r#""known_cycles":null"#) && !text.contains("failure"), "{text}");
        assert_eq!(serde_json::from_str::<ChainCheck>(&text).unwrap(), check(4.0, 4.0, None));
    }
}
