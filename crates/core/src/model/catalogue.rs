//! The primitives that are known: the command joins the lists of the hardware crates.

use crate::model::facts::{Facts, Role};
use crate::model::primitive::Primitive;

/// Primitives, in the order in which lists and reports show them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue(Vec<Primitive>);

impl Catalogue {
    /// All primitives, in their order.
    pub fn primitives(&self) -> &[Primitive] {
        &self.0
    }

    /// The primitive of this id.
    pub fn get(&self, id: &str) -> Option<&Primitive> {
        self.0.iter().find(|primitive| primitive.id == id)
    }

    /// What is known of the primitive of this id.
    pub fn facts(&self, id: &str) -> Option<&Facts> {
        self.get(id).map(|primitive| &primitive.facts)
    }

    /// The primitives that can be taken for `role`.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &Primitive> {
        self.0.iter().filter(move |primitive| primitive.facts.role == role)
    }

    /// The place of a primitive; those that are unknown come after all others.
    pub fn position(&self, id: &str) -> usize {
        self.0.iter().position(|primitive| primitive.id == id).unwrap_or(self.0.len())
    }
}

impl FromIterator<Primitive> for Catalogue {
    fn from_iter<I: IntoIterator<Item = Primitive>>(primitives: I) -> Self {
        Self(primitives.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!((catalogue.get("cpu.lock.d"), catalogue.position("cpu.lock.d")), (None, 3));
    }
}
