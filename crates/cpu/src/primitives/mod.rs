//! The primitives: a folder or a file for each family, a block for each primitive, all of them listed in [`catalogue`].
//!
//! - The ticket lock in `lock/own.rs`: a primitive. Start here. The family's `mod.rs` holds what its primitives share.
//! - `entry.rs`: an entry of the catalogue. `axes.rs` of the crate holds the values that entries vary.
//! - [`Operation`]: from one operation to the two timed loops. [`Workload`]: a case made ready for a team.
//! - `lines.rs`: variables at known distances. `number.rs`, `orders.rs`: types and memory orderings known to the
//!   compiler. `opaque.rs`: what the optimizer must not remove. `wait.rs`: waits that time out inside a loop.
//! - `core_speed.rs`: work of known length, on each core. `openmp.rs`: constructs of OpenMP by how the threads of the runtime wait.
//! - `work.rs`: what threads do inside and outside of a critical section.
//! - `window.rs`: threads that contend, timed in a window that they share. `workload.rs` has the runs after the samples,
//!   too: percentiles of hand-offs and wake-ups.
//!
//! To add a primitive, write a `static NAME: Entry` in a file of its family and name it in the list `ENTRIES` there.

#![allow(clippy::inline_always, reason = "an operation must be in the timed loop itself, whatever its size")]

mod atomic;
mod barrier;
mod core_speed;
mod entry;
mod fence;
mod handoff;
mod hint;
mod lines;
mod lock;
mod number;
mod opaque;
mod openmp;
mod operation;
mod orders;
pub mod own;
mod prelude;
mod process;
mod reduction;
pub(crate) mod rust;
pub(crate) mod wait;
mod wake;
pub(crate) mod window;
mod work;
mod workload;

use std::sync::LazyLock;

use syncscope_core::{Actor, Case, Evidence, Primitive, Refusal};

pub(crate) use self::atomic::publish::PREFIX as PUBLISH;
pub(crate) use self::entry::{Entry, InQuick};
pub(crate) use self::lines::room_for;
pub(crate) use self::openmp::FAMILY as OPENMP;
pub use self::operation::{Executed, Operation, SLOTS, UNROLL};
pub(crate) use self::orders::Access;
pub(crate) use self::workload::Blocking;
pub use self::workload::Workload;

/// The families, in the order of the catalogue.
static FAMILIES: [&[&Entry]; 18] = [
    atomic::ENTRIES,
    atomic::publish::ENTRIES,
    fence::ENTRIES,
    barrier::own::ENTRIES,
    barrier::library::ENTRIES,
    lock::library::ENTRIES,
    lock::own::ENTRIES,
    lock::readers_writer::ENTRIES,
    lock::roles::ENTRIES,
    handoff::ENTRIES,
    wake::ENTRIES,
    hint::ENTRIES,
    wake::spinning::ENTRIES,
    wake::budget::ENTRIES,
    process::ENTRIES,
    reduction::ENTRIES,
    openmp::ENTRIES,
    core_speed::ENTRIES,
];

/// The descriptions of all primitives, whether they can be measured here or not.
///
/// ```
/// let ticket = syncscope_cpu::catalogue().iter().find(|primitive| primitive.id == "cpu.lock.ticket");
/// assert!(ticket.is_some_and(|primitive| !primitive.source.is_empty()));
/// ```
pub fn catalogue() -> &'static [Primitive] {
    static CATALOGUE: LazyLock<Vec<Primitive>> = LazyLock::new(|| entries().map(|entry| entry.primitive).collect());
    &CATALOGUE
}

/// All entries, in the catalogue's order.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.into_iter().flatten().copied()
}

/// The entry of a primitive of the catalogue.
pub(crate) fn find(id: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.primitive.id == id)
}

/// The actor whose cost the figure of a case is.
pub(crate) fn actor_of(case: &Case) -> Actor {
    find(&case.primitive).map_or(Actor::Slowest, |entry| entry.primitive.facts.actor_of(case))
}

/// What the machine code of a case shows, without running it.
///
/// # Errors
/// As [`workload_of`].
pub fn evidence_of(case: &Case) -> Result<Evidence, Refusal> {
    workload_of(case).map(|workload| workload.evidence())
}

/// Why a primitive is no instruction on the architecture of this name (`std::env::consts::ARCH`); `None` where it is one.
pub fn elided_by_nature(primitive: &str, architecture: &str) -> Option<&'static str> {
    find(primitive)?.why_elided(architecture)
}

/// Makes a case ready to run.
///
/// # Errors
/// [`Refusal::Skipped`] when there is no such primitive here, or no such variant of it.
pub fn workload_of(case: &Case) -> Result<Workload, Refusal> {
    let entry =
        find(&case.primitive).ok_or_else(|| Refusal::Skipped(format!("there is no primitive {}", case.primitive)))?;
    if let Some(reason) = entry.unavailable() {
        return Err(Refusal::Skipped(reason));
    }
    let workload = (entry.workload)(case);
    let workload = workload.ok_or_else(|| Refusal::Skipped(format!("{} has no such variant", case.primitive)))?;
    // No thread waits for another one whose variable is its own.
    let contends = entry.primitive.facts.actor_of(case) == Actor::Slowest;
    Ok(if contends { workload.in_windows_for(entry.primitive.facts.waits) } else { workload.without_windows() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Domain;

    #[test]
    fn descriptions_keep_the_contract() {
        for primitive in catalogue() {
            assert_eq!(primitive.defect(), None);
            assert_eq!(primitive.domain(), Some(Domain::Cpu));
        }
        let mut ids: Vec<_> = catalogue().iter().map(|primitive| primitive.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), entries().count(), "an id stands for one primitive");
    }

    /// The catalogue declares which primitives are no instruction on x86-64; the reasons are in their evidence.
    #[test]
    fn only_fences_that_x86_64_keeps_anyway_are_elided() {
        let elided: Vec<&str> =
            entries().map(|entry| entry.primitive.id).filter(|id| elided_by_nature(id, "x86_64").is_some()).collect();
        let light = "cpu.fence.asymmetric_light";
        assert_eq!(elided, ["cpu.fence.acquire", "cpu.fence.release", "cpu.fence.acq_rel", light]);
        let is_none = |id: &&&str| elided_by_nature(id, "aarch64").is_some();
        assert_eq!(elided.iter().filter(is_none).collect::<Vec<_>>(), [&light], "AArch64 has a `dmb` for each other");
        assert_eq!(elided_by_nature("cpu.fence.nothing", "x86_64"), None);
    }
}
