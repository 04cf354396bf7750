//! What can be measured: the static description of a primitive.

use std::collections::HashMap;

use crate::words::words;
use crate::{Domain, Facts, Role};

words! {
    /// Primitives of one family answer the same question.
    pub enum Family ("family") {
        /// Read-modify-write operations and the plain accesses they compare with.
        Atomic = "atomic",
        /// All threads wait for all.
        Barrier = "barrier",
        /// One thread at a time.
        Lock = "lock",
        /// Ordering of memory accesses.
        Fence = "fence",
        /// One thread passes the turn to another.
        Handoff = "handoff",
        /// One thread wakes another one that sleeps.
        Wake = "wake",
        /// What a thread does while it waits.
        Wait = "wait",
        /// Synchronization between processes.
        Process = "process",
        /// Constructs of OpenMP by how the threads of the runtime wait.
        OpenMp = "openmp",
        /// The speed of each core.
        Core = "core",
        /// Barriers of a thread block.
        Block = "block",
        /// Barriers within a warp.
        Warp = "warp",
        /// Exchange of registers within a warp.
        Shuffle = "shuffle",
        /// Votes of a warp.
        Vote = "vote",
        /// Comparison of values within a warp.
        Match = "match",
        /// Reductions of a warp.
        Reduce = "reduce",
        /// Barriers and atomics of a thread block cluster.
        Cluster = "cluster",
        /// Barriers of a whole grid.
        Grid = "grid",
        /// Barriers of several devices.
        Multi = "multi",
        /// Kernel launches as barriers.
        Launch = "launch",
        /// A flag that a CPU and a GPU thread pass to each other.
        Flag = "flag",
        /// Reductions of a whole vector, by how they are synchronized.
        Reduction = "reduction",
        /// What a user wrote.
        Own = "own",
    }
}

/// One synchronization operation under study.
#[derive(Debug, Clone, Copy)]
pub struct Primitive {
    /// `domain.family.name`; written to files, and never changes its meaning.
    pub id: &'static str,
    /// A description in one line, without a full stop.
    pub summary: &'static str,
    /// The operation that `ns` is the cost of: "every thread adds 1 and gets the old value back".
    pub operation: &'static str,
    /// The paper, manual section or library it comes from.
    pub source: &'static str,
    /// The facts about it: its role, how it waits, whose cost it has.
    pub facts: Facts,
}

impl Primitive {
    fn part(&self, index: usize) -> &'static str {
        self.id.split('.').nth(index).unwrap_or_default()
    }

    /// The first part of the id. `None` for an id that breaks the contract; catalogues are tested for that.
    pub fn domain(&self) -> Option<Domain> {
        self.part(0).parse().ok()
    }

    /// The second part of the id.
    pub fn family(&self) -> Option<Family> {
        self.part(1).parse().ok()
    }

    /// The last part of the id.
    pub fn name(&self) -> &'static str {
        self.part(2)
    }

    /// Why this description breaks the contract on ids and texts, if it does. For the tests of the catalogues.
    pub fn defect(&self) -> Option<String> {
        let parts: Vec<&str> = self.id.split('.').collect();
        if parts.len() != 3 || self.domain().is_none() || self.family().is_none() {
            return Some(format!("`{}` is not domain.family.name", self.id));
        }
        if !self.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c)) {
            return Some(format!("`{}` has a character other than a-z, 0-9, `.` and `_`", self.id));
        }
        [("summary", self.summary), ("operation", self.operation), ("source", self.source)]
            .into_iter()
            .find(|(_, text)| text.is_empty() || text.ends_with('.'))
            .map(|(field, text)| format!("{}: {field} `{text}` is empty or ends in a full stop", self.id))
    }
}

// The primitives that are known: the command joins the lists of the hardware crates.

/// Primitives, in the order in which lists and reports show them.
///
/// ```
/// use syncscope_core::{Catalogue, Facts, Primitive, Role};
///
/// let barrier = Primitive {
///     id: "cpu.barrier.mine",
///     summary: "A barrier of all threads",
///     operation: "one barrier of all threads",
///     source: "mine.rs",
///     facts: Facts::of(Role::ThreadBarrier),
/// };
/// let catalogue: Catalogue = [barrier].into_iter().collect();
/// assert_eq!(catalogue.with_role(Role::ThreadBarrier).count(), 1);
/// assert!(catalogue.facts("cpu.barrier.other").is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    primitives: Vec<Primitive>,
    /// The place of each primitive in the order, by id.
    places: HashMap<&'static str, usize>,
}

impl Catalogue {
    /// All primitives, in their order.
    pub fn primitives(&self) -> &[Primitive] {
        &self.primitives
    }

    /// The primitive of this id.
    pub fn get(&self, id: &str) -> Option<&Primitive> {
        self.primitives.get(*self.places.get(id)?)
    }

    /// The facts about the primitive of this id.
    pub fn facts(&self, id: &str) -> Option<&Facts> {
        self.get(id).map(|primitive| &primitive.facts)
    }

    /// The primitives that can be taken for `role`.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &Primitive> {
        self.primitives.iter().filter(move |primitive| primitive.facts.role == role)
    }

    /// The place of a primitive; unknown primitives come after all others.
    pub fn position(&self, id: &str) -> usize {
        self.places.get(id).copied().unwrap_or(self.primitives.len())
    }
}

impl FromIterator<Primitive> for Catalogue {
    fn from_iter<I: IntoIterator<Item = Primitive>>(primitives: I) -> Self {
        let primitives: Vec<Primitive> = primitives.into_iter().collect();
        let places = primitives.iter().enumerate().map(|(place, primitive)| (primitive.id, place)).collect();
        Self { primitives, places }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::facts::Role;

    const GOOD: Primitive = Primitive {
        id: "cpu.atomic.add",
        summary: "Adds",
        operation: "one addition",
        source: "ISO C11",
        facts: Facts::of(Role::Update),
    };

    #[test]
    fn an_id_holds_domain_family_and_name() {
        assert_eq!(GOOD.domain(), Some(Domain::Cpu));
        assert_eq!(GOOD.family(), Some(Family::Atomic));
        assert_eq!(GOOD.name(), "add");
        assert_eq!(GOOD.defect(), None);
    }

    #[test]
    fn defects_are_named() {
        assert!(Primitive { id: "cpu.add", ..GOOD }.defect().is_some());
        assert!(Primitive { id: "cpu.atomic.Add", ..GOOD }.defect().is_some());
        assert!(Primitive { id: "tpu.atomic.add", ..GOOD }.defect().is_some());
        assert!(Primitive { summary: "Adds.", ..GOOD }.defect().is_some());
    }
}

#[cfg(test)]
mod catalogue_tests {
    use super::*;

    #[test]
    fn primitives_are_found_by_id_and_by_role() {
        let of = |id, role| Primitive { id, summary: "", operation: "", source: "", facts: Facts::of(role) };
        let all =
            [of("cpu.lock.b", Role::ThreadLock), of("cpu.lock.c", Role::ReadLock), of("cpu.lock.a", Role::ThreadLock)];
        let catalogue: Catalogue = all.into_iter().collect();
        let locks: Vec<&str> = catalogue.with_role(Role::ThreadLock).map(|primitive| primitive.id).collect();
        assert_eq!(locks, ["cpu.lock.b", "cpu.lock.a"], "in the catalogue's order");
        assert_eq!(catalogue.facts("cpu.lock.c").map(|facts| facts.role), Some(Role::ReadLock));
        assert_eq!((catalogue.get("cpu.lock.d").map(|known| known.id), catalogue.position("cpu.lock.d")), (None, 3));
    }
}
