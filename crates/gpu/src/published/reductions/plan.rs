//! What is measured.

use std::time::Duration;

use syncscope_core::published::reductions::Operation;

/// What is measured.
#[derive(Debug, Clone)]
pub struct ReductionPlan {
    /// Elements of each vector, in any order.
    pub sizes: Vec<u64>,
    /// The operations.
    pub operations: Vec<Operation>,
    /// The time for all of it. Every cell gets the fewest pairs anyway.
    pub time: Duration,
    /// Decides the order within pairs.
    pub seed: u64,
}
