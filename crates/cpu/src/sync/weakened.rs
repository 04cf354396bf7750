//! Loom's atomics, of which one use may have a weaker ordering than it asks for. A model that then still holds does not
//! check that ordering: `tests/mutations/`.

use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use loom::sync::atomic;
use loom::sync::atomic::Ordering;

/// A use of an atomic: where it is in the source, and the ordering that it asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// `sense.rs:53:25`.
    pub place: String,
    /// `AcqRel`.
    pub ordering: String,
}

/// The uses seen so far.
static SEEN: Mutex<BTreeSet<Use>> = Mutex::new(BTreeSet::new());

/// The place whose ordering is weakened, and the ordering that it gets.
static WEAKENED: Mutex<Option<(String, Ordering)>> = Mutex::new(None);

/// The uses in this process so far whose ordering is not relaxed.
pub fn seen() -> Vec<Use> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}

/// Gives the use at `place` this ordering from now on.
pub fn weaken(place: &str, ordering: Ordering) {
    *WEAKENED.lock().unwrap_or_else(PoisonError::into_inner) = Some((place.to_owned(), ordering));
}

/// The ordering of a use: the one that it asks for, or the weaker one.
fn effective(place: &Location<'_>, asked: Ordering) -> Ordering {
    if asked == Ordering::Relaxed {
        return asked;
    }
    let file = place.file().rsplit('/').next().unwrap_or_default();
    let place = format!("{file}:{}:{}", place.line(), place.column());
    let weakened = WEAKENED.lock().unwrap_or_else(PoisonError::into_inner);
    let given = weakened.as_ref().filter(|(at, _)| *at == place).map(|(_, ordering)| *ordering);
    drop(weakened);
    let ordering = format!("{asked:?}");
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(Use { place, ordering });
    given.unwrap_or(asked)
}

macro_rules! weakenable {
    ($name:ident, $value:ty, $($exchange:ident)+) => {
        /// The part of the atomic that the locks and barriers use.
        #[derive(Debug, Default)]
        pub(in crate::sync) struct $name(atomic::$name);

        impl $name {
            pub(in crate::sync) fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            #[track_caller]
            pub(in crate::sync) fn load(&self, ordering: Ordering) -> $value {
                self.0.load(effective(Location::caller(), ordering))
            }

            #[track_caller]
            pub(in crate::sync) fn store(&self, value: $value, ordering: Ordering) {
                self.0.store(value, effective(Location::caller(), ordering));
            }

            $(#[track_caller]
            pub(in crate::sync) fn $exchange(&self, value: $value, ordering: Ordering) -> $value {
                self.0.$exchange(value, effective(Location::caller(), ordering))
            })+
        }
    };
}

weakenable!(AtomicBool, bool, swap);
weakenable!(AtomicU32, u32, swap fetch_add fetch_or fetch_sub);

impl AtomicU32 {
    #[track_caller]
    pub(in crate::sync) fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.0.compare_exchange(current, new, effective(Location::caller(), success), failure)
    }

    #[track_caller]
    pub(in crate::sync) fn fetch_update(
        &self,
        success: Ordering,
        failure: Ordering,
        change: impl FnMut(u32) -> Option<u32>,
    ) -> Result<u32, u32> {
        self.0.fetch_update(effective(Location::caller(), success), failure, change)
    }
}
