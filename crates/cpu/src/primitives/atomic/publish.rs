//! Stores that publish: a release store, and a release fence before a plain store, alone and behind stores to other lines. On x86-64
//! both are the same instruction. On AArch64 a `stlr` waits in the store buffer for older stores, a `dmb ish` holds up all that
//! follows it.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::memory::Pages;
use crate::primitives::prelude::*;
use crate::primitives::{atomic, opaque};

/// The entries, in the order of the catalogue.
pub(in crate::primitives) static ENTRIES: &[&Entry] = &[&RELEASE, &FENCED];

/// How the ids begin.
pub(crate) const PREFIX: &str = "cpu.atomic.publish_";

/// The group: how many stores to lines of their own come before the publishing store.
const BEHIND: &str = "behind # stores";

const fn entry(id: &'static str, summary: &'static str, source: &'static str, workload: MakeWorkload) -> Entry {
    let facts = Facts { role: Role::Publication, ..atomic::FACTS };
    let operation = "one store that publishes the stores before it";
    Entry::of(Primitive { id, summary, operation, source, facts }, cases, workload).beyond_quick()
}

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let case = axes.in_usual_places(primitive, &[1]).cases();
    let behind = |stores: u32| {
        let group = Some(Group::numbered(BEHIND, stores));
        case.iter().map(move |case| Case { group: group.clone(), ..case.clone() })
    };
    [0, 1, 2, 4, 8].into_iter().flat_map(behind).collect()
}

/// In theory: a store in the store buffer that leaves it after all older ones.
static RELEASE: Entry = entry(
    "cpu.atomic.publish_release",
    "Release store, alone or after stores to other cache lines",
    "C++20 [atomics.order]; Arm Architecture Reference Manual, B2.3 (STLR)",
    workload::<false>,
);

/// In theory: the core stops until all older accesses are done, then one store.
static FENCED: Entry = entry(
    "cpu.atomic.publish_fenced",
    "Release fence and relaxed store, alone or after stores to other cache lines",
    "C++20 [atomics.fences]; Arm Architecture Reference Manual, B2.3 (DMB ISH)",
    workload::<true>,
);

fn workload<const FENCED: bool>(case: &Case) -> Option<Workload> {
    Some(match case.group_number(BEHIND)? {
        0 => of::<FENCED, 0>(),
        1 => of::<FENCED, 1>(),
        2 => of::<FENCED, 2>(),
        4 => of::<FENCED, 4>(),
        8 => of::<FENCED, 8>(),
        _ => return None,
    })
}

fn of<const FENCED: bool, const BEFORE: usize>() -> Workload {
    // On x86-64 the stores before it are the same instruction.
    let same = if cfg!(target_arch = "x86_64") { BEFORE as u32 } else { 0 };
    let aarch64: Beginnings = if FENCED { &["dmb ish"] } else { &["stlr"] };
    let expected = Expected::Instructions { x86_64: &["mov"], aarch64, in_step: [same, same + 1] };
    let lines = Pages::filled(SLOTS, |_| Lines::default());
    Workload::of(Publish::<FENCED, BEFORE> { lines }).expecting(expected)
}

/// The flag, and the lines before it.
struct Lines<const BEFORE: usize> {
    flag: Line,
    before: [Line; BEFORE],
}

/// A variable on a line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

impl<const BEFORE: usize> Default for Lines<BEFORE> {
    fn default() -> Self {
        Self { flag: Line::default(), before: [const { Line(AtomicU64::new(0)) }; BEFORE] }
    }
}

struct Publish<const FENCED: bool, const BEFORE: usize> {
    lines: Pages<Lines<BEFORE>>,
}

impl<const FENCED: bool, const BEFORE: usize> Operation for Publish<FENCED, BEFORE> {
    type Local<'a> = &'a Lines<BEFORE>;

    const IN_CONTEXT: u64 = 0;

    fn local(&self, slot: usize, _: usize) -> &Lines<BEFORE> {
        &self.lines[slot]
    }

    #[inline(always)]
    fn before(lines: &mut &Lines<BEFORE>) {
        lines.before.iter().for_each(|line| line.0.store(1, Ordering::Relaxed));
        // Keeps the loop even where no store comes before.
        opaque::separate();
    }

    #[inline(always)]
    fn execute(lines: &mut &Lines<BEFORE>) {
        if FENCED {
            fence(Ordering::Release);
        }
        lines.flag.0.store(1, if FENCED { Ordering::Relaxed } else { Ordering::Release });
    }

    fn prepare(&self, slot: usize, _: usize) {
        let Lines { flag, before } = &self.lines[slot];
        before.iter().chain([flag]).for_each(|line| line.0.store(0, Ordering::Relaxed));
    }

    /// A shot without the operation still has the stores before it.
    fn verify(&self, slot: usize, _: usize, executed: Executed) -> Result<(), String> {
        let Lines { flag, before } = &self.lines[slot];
        let [stored, others] = [&[flag][..], &before.each_ref()[..]]
            .map(|lines| lines.iter().map(|line| line.0.load(Ordering::Relaxed)).sum::<u64>());
        let expected = (executed.own.min(1), BEFORE as u64);
        if (stored, others) == expected {
            Ok(())
        } else {
            Err(format!("expected {expected:?} stores, found {stored}, {others}"))
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn only_the_store_that_publishes_is_added() {
        use super::*;
        let in_loops = |workload: Workload| {
            let [baseline, test] = [workload.functions.baseline, workload.functions.test].map(|entry| {
                let found = crate::evidence::timed_loop(entry).unwrap();
                found.count(&["mov"])
            });
            (baseline, test)
        };
        assert_eq!(in_loops(of::<false, 0>()), (0, 16));
        assert_eq!(in_loops(of::<true, 2>()), (32, 48));
        assert_eq!(in_loops(of::<false, 8>()), (128, 144));
    }
}
