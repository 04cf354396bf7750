//! What is found out about a case besides its cost, after its samples.

use std::sync::Arc;

use syncscope_core::Detail;

use crate::team::Body;
use crate::timing::clock::Clock;

/// One untimed shot, and what it tells. The shot runs as a job of the same team on the same CPUs; defects that its
/// [`Body::verify`] finds count as those of the case.
pub(crate) trait Study: Body {
    /// What the shot told; asked after it, once.
    fn details(&self) -> Vec<Detail>;
}

/// Makes the study of a case with the clock that its samples were timed with.
pub(crate) type MakeStudy = Box<dyn Fn(&Clock) -> Arc<dyn Study> + Send + Sync>;
