//! `cpu.lock.spin_park`: a mutex whose waiters spin for a given time before they sleep.

use std::time::Duration;

use syncscope_core::{Case, Facts, Group, Primitive, Waits};

use crate::axes::Axes;
use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::lock::{self, LockKind, PlainNumber};
use crate::primitives::wait::LIMIT;
use crate::primitives::workload::Workload;
use crate::sync::{Guarded, SpinParkLock};

/// In theory: without contention as the standard library's mutex, a compare-and-swap and an exchange. Contended, the
/// spinning time decides: shorter than a wake-up, and threads sleep that would have got the lock soon; longer, and CPUs
/// spin that others could use. The competitive choice is what a sleep and a wake-up cost, which `cpu.wake` shows.
pub(in crate::primitives::lock) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.lock.spin_park",
        summary: "A futex mutex whose waiters spin for the time in the column group, then sleep",
        operation: lock::OPERATION,
        source: "Karlin, Li, Manasse and Owicki, SOSP 1991; Drepper, Futexes Are Tricky, 2011, mutex 2",
        facts: Facts { has_designs: true, ..lock::FACTS.waiting(Waits::SpinsThenSleeps) },
    },
    cases,
    workload,
)
.beyond_quick();

/// Below, about at, and above what a wake-up takes.
const SPIN_US: [u32; 3] = [1, 10, 50];

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let spinning = |case: Case| SPIN_US.map(|us| Case { group: Some(Group::SpinUs(us)), ..case.clone() });
    lock::cases_of_one_type(primitive, axes).into_iter().flat_map(spinning).collect()
}

fn workload(case: &Case) -> Option<Workload> {
    let Some(Group::SpinUs(us)) = case.group else { return None };
    let kind = Kind(Duration::from_micros(us.into()));
    let workload = lock::workload(case, &kind)?.expecting(Expected::times(&["lock cmpxchg", "xchg"], 2));
    Some(if case.threads == Some(1) { workload } else { workload.blocking() })
}

struct Kind(Duration);

impl LockKind for Kind {
    type Around<N: PlainNumber> = Guarded<SpinParkLock, N>;

    fn make<N: PlainNumber>(&self, _threads: u32) -> Guarded<SpinParkLock, N> {
        Guarded::new(SpinParkLock::new(self.0, LIMIT), N::default())
    }
}
