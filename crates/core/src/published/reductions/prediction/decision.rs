//! What the costs of the primitives recommend at one size.

use serde::{Deserialize, Serialize};

use super::super::costs::Costs;
use super::super::row::ReductionRow;
use super::super::variants::{Class, Operation};
use super::priced::{Priced, by_size, predicted_difference, priced};

/// What the costs of the primitives recommend at one size, and what was the fastest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The class.
    pub class: Class,
    /// The operation.
    pub operation: Operation,
    /// Elements of the vector.
    pub elements: u64,
    /// GPUs that take part.
    pub devices: Option<u32>,
    /// Id of the fastest of the variants with known terms.
    pub measured: String,
    /// Id of the variant whose terms are the cheapest.
    pub predicted: String,
    /// How much longer the predicted variant took than the fastest, relative to the fastest; 0 if it is the fastest.
    pub loss: f64,
    /// Id of the second fastest of the variants with known terms.
    pub runner_up: String,
    /// How much longer the second took than the fastest, in nanoseconds.
    pub lead_ns: f64,
    /// The same as the terms predict it.
    pub predicted_lead_ns: f64,
}

/// What the terms recommend at every size where at least two variants have known costs.
#[must_use]
pub fn decisions(rows: &[ReductionRow], costs: &Costs) -> Vec<Decision> {
    by_size(rows).iter().filter_map(|problem| decision(&priced(problem, rows, costs))).collect()
}

fn decision(priced: &[Priced<'_>]) -> Option<Decision> {
    let mut complete: Vec<&Priced<'_>> = priced.iter().filter(|variant| variant.is_complete()).collect();
    complete.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    let [fastest, second, ..] = complete[..] else { return None };
    let from_fastest = |variant: &Priced<'_>| predicted_difference(variant, fastest).0;
    let cheapest = *complete.iter().min_by(|a, b| from_fastest(a).total_cmp(&from_fastest(b)))?;
    Some(Decision {
        class: fastest.row.class,
        operation: fastest.row.operation,
        elements: fastest.row.elements,
        devices: fastest.row.devices,
        measured: fastest.row.variant.clone(),
        predicted: cheapest.row.variant.clone(),
        loss: cheapest.ns / fastest.ns - 1.0,
        runner_up: second.row.variant.clone(),
        lead_ns: second.ns - fastest.ns,
        predicted_lead_ns: from_fastest(second),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::row::tests::row;
    use super::super::testing::{SIZE, costs, rows};
    use super::*;

    #[test]
    fn the_decision_names_what_a_wrong_choice_would_cost() {
        let decided = decisions(&rows(), &costs());
        assert_eq!(decided.len(), 1);
        assert_eq!((decided[0].predicted.as_str(), decided[0].loss), ("device.atomic_graph_chain", 0.0));
        assert_eq!(decided[0].runner_up, "device.atomic");
        assert!((decided[0].lead_ns - 2000.0).abs() < 1e-6 && (decided[0].predicted_lead_ns - 2000.0).abs() < 1e-6);
        // Grids measured as faster than the launches say: the prediction chooses the other.
        let rows = [row("device.kernel_boundary", SIZE, 9000.0), row("device.grid_cooperative", SIZE, 10_000.0)];
        let decided = decisions(&rows, &costs());
        assert_eq!(
            (decided[0].measured.as_str(), decided[0].predicted.as_str()),
            ("device.kernel_boundary", "device.grid_cooperative")
        );
        assert!((decided[0].loss - 1.0 / 9.0).abs() < 1e-9);
        assert!(decisions(&rows[..1], &costs()).is_empty());
    }
}
