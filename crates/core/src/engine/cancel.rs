//! The wish to stop, passed from a signal handler to whoever measures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is raised once and seen by every clone.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks everyone who holds a clone to stop at the next chance.
    pub fn cancel(&self) {
        // Release/acquire is more than a lone flag needs; it costs nothing between samples.
        self.0.store(true, Ordering::Release);
    }

    /// Whether someone asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
