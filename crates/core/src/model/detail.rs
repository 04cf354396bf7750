//! Details: what is known of a case besides its cost, such as fairness, percentiles and clocks. Each is a line of
//! `details.csv`.

use std::collections::HashMap;

use crate::{Case, CaseId};

/// The details of each case, ordered by name, then actor.
pub type Details = HashMap<CaseId, Vec<Detail>>;

/// Returns the value of the detail `name` of a case, or of one of its actors.
pub fn value_of(details: &Details, case: &Case, name: &str, actor: Option<u32>) -> Option<f64> {
    let mut found = details.get(&case.id())?.iter();
    found.find(|detail| detail.name == name && detail.actor == actor).map(|detail| detail.value)
}

/// One named number about a case or one of its actors.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// The name of the detail, with its unit as a suffix: `p99_ns`, `jain_index`, `acquisitions_per_s`.
    pub name: String,
    /// Which thread, block or device it belongs to, counted from 0; `None` for the case as a whole.
    pub actor: Option<u32>,
    /// The number; finite.
    pub value: f64,
}

impl Detail {
    /// The share of a case's pairs during which another hardware thread of an actor's core was active.
    pub const SMT_INTERFERENCE: &str = "smt_interference";

    /// The number of measurement blocks in which the pairs of a case were taken.
    pub const MEASUREMENT_BLOCKS: &str = "measurement_blocks";

    /// The cost in one measuring process; `actor` holds the number of the process.
    pub const PROCESS_NS: &str = "process_ns";

    /// [`Self::PROCESS_NS`] in cycles.
    pub const PROCESS_CYCLES: &str = "process_cycles";

    /// The share of the pairs taken in one state of the machine; `actor` holds the number of the state.
    pub const STATE_SHARE: &str = "state_share";

    /// The cost in one state of the machine; `actor` holds the number of the state.
    pub const STATE_NS: &str = "state_ns";

    /// [`Self::STATE_NS`] in cycles.
    pub const STATE_CYCLES: &str = "state_cycles";

    /// The mean number of times that a thread takes a lock before another thread gets it.
    pub const ACQUISITIONS_PER_HANDOVER: &str = "acquisitions_per_handover";

    /// The median time that the waker spends in the call that wakes a thread.
    pub const WAKE_CALL_NS: &str = "wake_call_ns";

    /// The share of the waiters that were seen asleep before they were woken.
    pub const ASLEEP_SHARE: &str = "asleep_share";

    /// The CPU time of the process's threads, divided by the length of the samples.
    pub const CPU_SHARE: &str = "cpu_share";
    /// Words of 4 bytes that each block of a kernel reads in all its sweeps over its share of an array.
    pub const SWEPT_WORDS: &str = "swept_words";

    /// A number of the case as a whole.
    pub fn of_case(name: &str, value: f64) -> Self {
        Self { name: name.to_owned(), actor: None, value }
    }

    /// A number of one actor.
    pub fn of_actor(name: &str, actor: u32, value: f64) -> Self {
        Self { actor: Some(actor), ..Self::of_case(name, value) }
    }
}
