//! From costs to a verdict.

use crate::engine::cost_formula::Costs;
use crate::engine::exclusion;
use crate::engine::experiment::{Experiment, ExperimentError};
use crate::engine::measurement_block::MIN_PAIRS;
use crate::model::check::Check;
use crate::model::estimate::Estimate;
use crate::model::observation::Observation;
use crate::model::verdict::Verdict;
use crate::stats::{Level, Ranked};

/// What is judged.
pub(crate) struct Judged<'a> {
    /// All pairs, the excluded ones too.
    pub(crate) observations: &'a [Observation],
    /// The costs of the pairs that count.
    pub(crate) costs: &'a Costs,
    /// How many pairs count.
    pub(crate) pairs: usize,
    /// The cost that one step of the clock amounts to.
    pub(crate) resolution_ns: f64,
}

/// The verdict on a case. Intervals with a half-width above `noisy_above`, relative to the point, are `Noisy`.
pub(crate) fn verdict(experiment: &dyn Experiment, check: &Check, judged: &Judged<'_>, noisy_above: f64) -> Verdict {
    if let Check::Failed(reason) = check {
        return Verdict::Failed(format!("check failed: {reason}"));
    }
    if !judged.costs.ns.is_finite() {
        return Verdict::Failed("both loops execute the same number of operations".to_owned());
    }
    if judged.pairs < MIN_PAIRS as usize {
        return Verdict::Interfered(exclusion::summary(judged.observations));
    }
    let verdict = of_costs(judged, noisy_above);
    match exclusion::smt_interference_share(judged.observations) {
        // Another thread's work is in most of these costs, however well they agree.
        Some(share) if share > 0.5 && verdict == Verdict::Resolved && experiment.has_one_actor() => {
            Verdict::Interfered(smt_interference(share))
        }
        _ => verdict,
    }
}

fn of_costs(judged: &Judged<'_>, noisy_above: f64) -> Verdict {
    let (ns, resolution) = (&judged.costs.ns, judged.resolution_ns);
    let (Some(point), Some(interval)) = (ns.median(), ns.interval(Level::P95)) else {
        return Verdict::Noisy("too few pairs for an interval".to_owned());
    };
    let interval = interval.at_least(point, resolution);
    let wide = ns.interval(Level::P99).unwrap_or(interval);
    if interval.low <= resolution {
        return Verdict::BelowResolution(if wide.high < -resolution {
            format!(
                "the test loop ran {:.3} ns per operation faster than the baseline: the operation hides in its context",
                -point
            )
        } else {
            format!("at most {:.3} ns", interval.high.max(resolution))
        });
    }
    let relative = interval.half_width() / point;
    // One unit is enough: where the core's clock changes, nanoseconds change with it and cycles do not.
    let in_cycles = judged.costs.cycles.as_ref().and_then(Ranked::relative_half_width);
    let narrower = in_cycles.map_or(relative, |width| width.min(relative));
    if narrower > noisy_above || wide.low <= resolution {
        let percent = relative * 100.0;
        return Verdict::Noisy(format!("the interval is still +/- {percent:.0} % wide after {} pairs", judged.pairs));
    }
    Verdict::Resolved
}

/// The verdict on a case that could not be measured.
pub(crate) fn of_error(error: ExperimentError) -> Verdict {
    match error {
        ExperimentError::TimedOut { .. } => Verdict::TimedOut(error.to_string()),
        ExperimentError::Unsupported(reason) => Verdict::Skipped(reason),
        ExperimentError::Elided(reason) => Verdict::Elided(reason),
        ExperimentError::Failed(reason) => Verdict::Failed(reason),
    }
}

/// What a reader of the figure must know; `None` if nothing.
pub(crate) fn remark(
    experiment: &dyn Experiment,
    verdict: &Verdict,
    estimate: Option<&Estimate>,
    observations: &[Observation],
    noisy_above: f64,
) -> Option<String> {
    let drift = estimate.filter(|_| *verdict == Verdict::Resolved).and_then(|e| clock_drift(e, noisy_above));
    // For several actors the run says it once, for all cases; an `Interfered` verdict says it itself.
    let says_interference = experiment.has_one_actor() && !matches!(verdict, Verdict::Interfered(_));
    let share = exclusion::smt_interference_share(observations).filter(|_| says_interference);
    let remarks: Vec<String> =
        experiment.remark().into_iter().chain(drift).chain(share.map(smt_interference)).collect();
    (!remarks.is_empty()).then(|| remarks.join("; "))
}

fn smt_interference(share: f64) -> String {
    format!("SMT interference in {:.0} % of the pairs: another hardware thread of the core was active", share * 100.0)
}

/// Says that a cost is resolved in cycles but not in nanoseconds.
fn clock_drift(estimate: &Estimate, noisy_above: f64) -> Option<String> {
    let percent = |width: f64, point: f64| width / point.abs() * 100.0;
    let ns = percent(estimate.ns_interval?.half_width(), estimate.ns.value());
    let cycles = percent(estimate.cycles_interval?.half_width(), estimate.cycles?.value());
    let text = |percent: f64| if percent < 0.1 { "below 0.1".to_owned() } else { format!("+/- {percent:.1}") };
    (ns > noisy_above * 100.0)
        .then(|| format!("{} % in nanoseconds, {} % in cycles: the clock changed meanwhile", text(ns), text(cycles)))
}
