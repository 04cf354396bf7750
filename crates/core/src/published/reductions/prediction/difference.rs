//! The predicted difference of two variants beside the measured one.

use serde::{Deserialize, Serialize};

use super::super::costs::Costs;
use super::super::row::ReductionRow;
use super::super::variants::{Class, Operation};
use super::explanation::explanation;
use super::priced::{Priced, by_size, predicted_difference, priced};
use super::why_not::why_not;

/// Largest deviation of a prediction that counts as agreement, relative to the measured difference.
pub const TOLERANCE: f64 = 0.2;

/// Whether a prediction agrees with the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Within 20 % of the measured difference.
    Within,
    /// Further off.
    Outside,
    /// Further off than 20 %, but the intervals of both overlap: nothing is decided.
    Undecided,
    /// A cost is missing.
    Missing,
}

impl Agreement {
    /// For tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Within => "within 20 %",
            Self::Outside => "outside",
            Self::Undecided => "undecided",
            Self::Missing => "no cost",
        }
    }
}

/// A predicted difference beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The class.
    pub class: Class,
    /// The operation.
    pub operation: Operation,
    /// Elements of the vector.
    pub elements: u64,
    /// GPUs that take part.
    pub devices: Option<u32>,
    /// Id of the variant.
    pub variant: String,
    /// Id of the variant it is compared with.
    pub reference: String,
    /// Measured time of the variant minus that of the reference, in nanoseconds.
    pub measured_ns: f64,
    /// Half of the 95 % interval of `measured_ns`.
    pub measured_half_width_ns: Option<f64>,
    /// Difference of the terms.
    pub predicted_ns: Option<f64>,
    /// Half of the 95 % interval of `predicted_ns`.
    pub predicted_half_width_ns: Option<f64>,
    /// Predicted minus measured, relative to the measured difference.
    pub relative_error: Option<f64>,
    /// Predicted minus measured time of the variant, relative to the measured time.
    pub relative_error_of_time: Option<f64>,
    /// Whether they agree.
    pub agreement: Agreement,
    /// The terms that differ, with their costs, or what is missing.
    pub terms: String,
    /// What the terms leave out, where the prediction is off.
    pub why_not: Option<String>,
}

/// A prediction for every variant of known terms except the reference, at every size.
#[must_use]
pub fn predictions(rows: &[ReductionRow], costs: &Costs) -> Vec<Prediction> {
    by_size(rows).iter().flat_map(|problem| predictions_at(&priced(problem, rows, costs))).collect()
}

fn predictions_at(priced: &[Priced<'_>]) -> Vec<Prediction> {
    let complete = priced.iter().filter(|variant| variant.is_complete());
    let Some(reference) = complete.min_by(|a, b| a.ns.total_cmp(&b.ns)) else { return Vec::new() };
    let others = priced.iter().filter(|variant| variant.row.variant != reference.row.variant);
    others.map(|variant| prediction(variant, reference)).collect()
}

fn prediction(variant: &Priced<'_>, reference: &Priced<'_>) -> Prediction {
    let measured_ns = variant.ns - reference.ns;
    let measured_half_width_ns =
        variant.half_width_ns.zip(reference.half_width_ns).map(|(one, other)| f64::hypot(one, other));
    let found = Prediction {
        class: variant.row.class,
        operation: variant.row.operation,
        elements: variant.row.elements,
        devices: variant.row.devices,
        variant: variant.row.variant.clone(),
        reference: reference.row.variant.clone(),
        measured_ns,
        measured_half_width_ns,
        predicted_ns: None,
        predicted_half_width_ns: None,
        relative_error: None,
        relative_error_of_time: None,
        agreement: Agreement::Missing,
        terms: explanation(variant, reference),
        why_not: None,
    };
    if !variant.is_complete() {
        return found;
    }
    let (predicted, half_width) = predicted_difference(variant, reference);
    let error = predicted - measured_ns;
    let relative = (measured_ns != 0.0).then(|| error / measured_ns.abs());
    let agreement = match relative {
        Some(relative) if relative.abs() <= TOLERANCE => Agreement::Within,
        _ if error.abs() <= half_width + measured_half_width_ns.unwrap_or(0.0) => Agreement::Undecided,
        _ => Agreement::Outside,
    };
    let why_not = (agreement != Agreement::Within).then(|| why_not(variant, reference, measured_ns)).flatten();
    Prediction {
        why_not: why_not.map(str::to_owned),
        predicted_ns: Some(predicted),
        predicted_half_width_ns: Some(half_width),
        relative_error: relative,
        relative_error_of_time: Some(error / variant.ns),
        agreement,
        ..found
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::costs::CostSource;
    use super::super::super::costs::tests::measured;
    use super::super::super::row::tests::row;
    use super::super::decision::decisions;
    use super::super::testing::{SIZE, costs, launch, maximum, rows};
    use super::*;
    use crate::model::case::{Case, Mode};

    fn of<'a>(found: &'a [Prediction], id: &str) -> &'a Prediction {
        found.iter().find(|prediction| prediction.variant == id).unwrap()
    }

    #[test]
    fn the_streaming_term_drops_out_of_the_difference() {
        let found = predictions(&rows(), &costs());
        assert_eq!(found.len(), 3, "the reference and CUB have no prediction");
        assert!(found.iter().all(|prediction| prediction.reference == "device.atomic_graph_chain"));
        let two = of(&found, "device.kernel_boundary");
        assert!((two.predicted_ns.unwrap() - 4866.0).abs() < 1e-6 && (two.measured_ns - 4866.0).abs() < 1e-6);
        assert_eq!(
            (two.agreement, two.relative_error.map(|error| error.abs() < 1e-9)),
            (Agreement::Within, Some(true))
        );
        assert!(
            two.terms.contains("1 x gpu.launch.stream") && two.terms.contains("- 1 x gpu.launch.graph"),
            "{}",
            two.terms
        );
        // The same times with a vector that takes a millisecond longer.
        let longer: Vec<ReductionRow> =
            rows().into_iter().map(|row| ReductionRow { ns: row.ns.map(|ns| ns + 1e6), ..row }).collect();
        let shifted = predictions(&longer, &costs());
        assert!((of(&shifted, "device.kernel_boundary").predicted_ns.unwrap() - 4866.0).abs() < 1e-6);
    }

    #[test]
    fn a_difference_that_is_further_off_is_outside_and_says_by_how_much() {
        let found = predictions(&rows(), &costs());
        let grid = of(&found, "device.grid_cooperative");
        assert_eq!(grid.agreement, Agreement::Outside);
        // 3,866 of 5,366 measured.
        assert!((grid.relative_error.unwrap() + 1500.0 / 5366.0).abs() < 1e-9, "{grid:?}");
        assert!((grid.relative_error_of_time.unwrap() + 1500.0 / 10_066.0).abs() < 1e-9, "{grid:?}");
    }

    #[test]
    fn wide_intervals_decide_nothing() {
        let mut rows = rows();
        rows[3].ns_low = Some(7000.0);
        rows[3].ns_high = Some(12_000.0);
        assert_eq!(of(&predictions(&rows, &costs()), "device.grid_cooperative").agreement, Agreement::Undecided);
    }

    #[test]
    fn what_the_terms_leave_out_is_said_where_they_are_off() {
        let small = [row("device.atomic", SIZE, 500_000.0), row("device.kernel_boundary", SIZE, 505_000.0)];
        let found = predictions(&small, &costs());
        assert!(found[0].why_not.as_ref().unwrap().contains("below 2 %"), "{found:?}");
        assert_eq!(of(&predictions(&rows(), &costs()), "device.kernel_boundary").why_not, None, "it agrees");
    }

    #[test]
    fn kernels_that_the_host_queues_while_they_run_say_so() {
        let found = predictions(&rows(), &costs());
        let grid = of(&found, "device.grid_cooperative");
        assert!(grid.why_not.as_ref().unwrap().contains("the host queues these kernels"), "{grid:?}");
        let ids = ["device.atomic_queued", "device.graph_chain"];
        for id in ids {
            let slower = [row("device.atomic_graph_chain", SIZE, 4000.0), row(id, SIZE, 9000.0)];
            let found = predictions(&slower, &costs());
            assert_eq!((found[0].agreement, &found[0].why_not), (Agreement::Outside, &None), "{id} has no such excuse");
        }
    }

    #[test]
    fn different_numbers_of_devices_are_different_problems() {
        let on = |devices, id: &str, ns: f64| ReductionRow { devices: Some(devices), ..row(id, SIZE, ns) };
        let barrier = |id: &str, devices, ns| {
            let case = Case { devices: Some(devices), blocks: Some(264), threads: Some(512), ..Case::new(id) };
            measured(case, ns)
        };
        let costs = Costs::of(
            vec![
                launch("gpu.launch.stream", 264, 2000.0),
                barrier("gpu.multi.flags", 2, 2000.0),
                barrier("gpu.multi.flags", 4, 3000.0),
                barrier("gpu.multi.host_barrier", 2, 10_000.0),
                barrier("gpu.multi.host_barrier", 4, 15_000.0),
            ],
            CostSource::Here,
        );
        let rows = [
            on(2, "devices.flags", 54_000.0),
            on(4, "devices.flags", 30_000.0),
            on(2, "devices.host", 60_000.0),
            on(4, "devices.host", 40_000.0),
        ];
        let found = predictions(&rows, &costs);
        let measured: Vec<_> = found.iter().map(|found| (found.devices, found.measured_ns)).collect();
        assert_eq!(measured, [(Some(2), 6000.0), (Some(4), 10_000.0)]);
        assert!(found.iter().all(|found| found.agreement == Agreement::Within), "{found:?}");
        let decided = decisions(&rows, &costs);
        assert_eq!(decided.iter().map(|decision| decision.devices).collect::<Vec<_>>(), [Some(2), Some(4)]);
    }

    #[test]
    fn a_missing_cost_is_named() {
        let mut rows = rows();
        rows.push(row("device.grid_counter", SIZE, 8000.0));
        let found = predictions(&rows, &costs());
        let counter = of(&found, "device.grid_counter");
        assert_eq!((counter.agreement, counter.predicted_ns), (Agreement::Missing, None));
        assert!(counter.terms.contains("gpu.grid.counter") && counter.terms.contains("(no cost)"), "{}", counter.terms);
    }

    #[test]
    fn atomics_hide_behind_reading_until_they_take_longer() {
        let case = maximum(264, 1024, Mode::Throughput);
        // 0.02 ns for each operation of a thread.
        let costs = Costs::of(vec![measured(case, 0.02 * 264.0 * 1024.0)], CostSource::Here);
        let (small, large) = (1 << 10, 1 << 28);
        let rows = [
            row("listing.5", small, 3000.0),
            row("listing.1", small, 3000.0),
            row("listing.5", large, 250_000.0),
            row("listing.1", large, 5_300_000.0),
        ];
        let found = predictions(&rows, &costs);
        // Nothing is read that the operations could hide behind.
        assert!((found[0].predicted_ns.unwrap() - 0.02 * 1024.0).abs() < 1e-9);
        let expected = 0.02 * large as f64 - 247_000.0;
        assert!((found[1].predicted_ns.unwrap() - expected).abs() < 1.0, "{:?}", found[1]);
        assert_eq!(found[1].agreement, Agreement::Within);
    }
}
