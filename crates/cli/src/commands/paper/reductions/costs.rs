//! The costs of primitives that predictions need, by the cases of the catalogue and the engine of every run.

use std::time::Duration;

use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{Cancel, Case, Engine, Laboratory, Refusal, Row, Settings, Verdict};

use crate::catalogue::catalogue;
use crate::progress::Progress;

/// How one case is measured: to 1 %, in one block of at most 80 pairs.
const RULE: PrecisionRule =
    PrecisionRule { precision: 0.01, min_pairs: 8, max_pairs: 80, max_time: Duration::from_millis(250) };

/// One row for each case, in a laboratory that is prepared; those that the machine does not have are skipped with a reason.
pub(super) fn measure(laboratory: &mut dyn Laboratory, cases: &[Case], seed: u64, progress: &mut Progress) -> Vec<Row> {
    let engine = Engine::new(Settings::with_rule(RULE), Cancel::new());
    let catalogue = catalogue();
    let row = |case: &Case| {
        progress.show(&case.to_string());
        match laboratory.experiment(case) {
            Ok(mut experiment) => match engine.measure(experiment.as_mut(), seed ^ case.id().number()) {
                Ok(measurement) => Row::measured(case.clone(), catalogue.facts(&case.primitive), &measurement),
                Err(cancelled) => Row::unmeasured(case.clone(), Verdict::Skipped(cancelled.to_string())),
            },
            Err(Refusal::Skipped(reason)) => Row::unmeasured(case.clone(), Verdict::Skipped(reason)),
            Err(refusal) => Row::unmeasured(case.clone(), Verdict::Failed(refusal.to_string())),
        }
    };
    cases.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Preset;
    use syncscope_core::fake::FakeLaboratory;

    #[test]
    fn every_case_has_a_row() {
        let mut fake = FakeLaboratory::default();
        let cases = fake.plan(Preset::Quick);
        let rows = measure(&mut fake, &cases, 7, &mut Progress::new("testing"));
        assert_eq!(rows.len(), cases.len());
        assert!(rows.iter().any(|row| row.ns.is_some()), "{rows:?}");
    }
}
