//! The primitives of all hardware crates.

use std::sync::{Arc, LazyLock};

use syncscope_core::Catalogue;

/// All primitives in the order of lists and reports: those of the CPU first, those between processes last.
pub(crate) fn catalogue() -> Arc<Catalogue> {
    static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(|| {
        let parts = [syncscope_cpu::catalogue(), syncscope_gpu::primitives(), syncscope_mpi::primitives()];
        Arc::new(parts.into_iter().flatten().copied().collect())
    });
    Arc::clone(&CATALOGUE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use syncscope_core::{Primitive, Role, Waits};

    #[test]
    fn every_role_and_every_way_to_wait_has_a_primitive() {
        let catalogue = catalogue();
        let is_vacant = |role: &&Role| catalogue.with_role(**role).next().is_none();
        // Primitives of users are in no catalogue.
        let vacant: Vec<&Role> = Role::ALL.iter().filter(|role| **role != Role::Own).filter(is_vacant).collect();
        assert!(vacant.is_empty(), "{vacant:?}");
        let waits: BTreeSet<Waits> = catalogue.primitives().iter().map(|primitive| primitive.facts.waits).collect();
        assert_eq!(waits.len(), Waits::ALL.len());
    }

    #[test]
    fn a_lock_is_a_lock_for_its_role_whatever_its_name() {
        let catalogue = catalogue();
        let locks: Vec<&str> = catalogue.with_role(Role::ThreadLock).map(Primitive::name).collect();
        assert!(locks.len() >= 12 && locks.contains(&"spin_park") && !locks.contains(&"rwlock_write"), "{locks:?}");
        let barriers = |role| catalogue.with_role(role).map(Primitive::name).collect::<Vec<_>>();
        assert_eq!(barriers(Role::GridBarrier), ["cooperative", "counter", "lock_free", "hierarchical"]);
        assert_eq!(barriers(Role::DeviceBarrier), ["counter", "flags", "host_barrier"]);
    }
}
