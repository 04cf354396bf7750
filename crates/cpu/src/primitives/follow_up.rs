//! What is measured of a case after its samples, besides its cost.

use std::sync::Arc;

use syncscope_core::Detail;

use crate::team::Body;
use crate::timing::clock::Clock;

/// One run after the samples that yields details. It is a job of the same team on the same CPUs. A defect that its
/// [`Body::verify`] finds counts as a defect of the case.
pub(crate) trait FollowUp: Body {
    /// How many shots the run has. Their pairs are numbered from 0.
    fn repetitions(&self) -> u64 {
        1
    }

    /// What the run found; called once, after it.
    fn details(&self) -> Vec<Detail>;
}

/// Makes the follow-up of a case, with the clock that its samples were timed with.
pub(crate) type MakeFollowUp = Box<dyn Fn(&Clock) -> Arc<dyn FollowUp> + Send + Sync>;
