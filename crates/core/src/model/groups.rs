//! Groups that primitives of the catalogue share with operations of users, and that several crates read.

use crate::{Case, Group};

/// The role that a row about readers and writers of one lock describes. All other threads have the other role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockRole {
    /// Whether the threads of this role write.
    pub writes: bool,
    /// The number of threads in this role.
    pub threads: u32,
}

const READERS: &str = "# readers";
const WRITERS: &str = "# writers";

impl LockRole {
    /// The role that the group of a case names; `None` where no thread has the other role.
    pub fn of(case: &Case) -> Option<Self> {
        let of = |(word, writes)| Some(Self { writes, threads: case.group_number(word)? });
        let role = [(READERS, false), (WRITERS, true)].into_iter().find_map(of)?;
        (1..case.threads?).contains(&role.threads).then_some(role)
    }

    /// The groups of a team: with one writer and with as many writers as readers, each from the side of both roles.
    pub fn groups(threads: u32) -> Vec<Group> {
        let mut writers = vec![1, threads / 2];
        writers.dedup();
        let both = |writers: u32| [Group::numbered(READERS, threads - writers), Group::numbered(WRITERS, writers)];
        writers.into_iter().filter(|writers| (1..threads).contains(writers)).flat_map(both).collect()
    }
}

/// How long a waiter spins before it sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpinBudget {
    /// In microseconds.
    pub us: u32,
    /// Whether another thread works on the waiter's CPU.
    pub competes: bool,
}

const SPINS: &str = "spin # us";
const COMPETITOR: &str = "spin # us beside a competitor";

impl SpinBudget {
    /// The budget that the group of a case names.
    pub fn of(case: &Case) -> Option<Self> {
        let of = |(word, competes)| Some(Self { us: case.group_number(word)?, competes });
        [(SPINS, false), (COMPETITOR, true)].into_iter().find_map(of)
    }

    /// Its group.
    pub fn group(self) -> Group {
        Group::numbered(if self.competes { COMPETITOR } else { SPINS }, self.us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_says_what_it_was_made_of() {
        let of =
            |group: Group, threads: u32| Case { group: Some(group), threads: Some(threads), ..Case::new("cpu.own.a") };
        let roles = |threads: u32| -> Vec<(u32, bool)> {
            let groups = LockRole::groups(threads).into_iter();
            groups
                .map(|group| LockRole::of(&of(group, threads)).unwrap())
                .map(|role| (role.threads, role.writes))
                .collect()
        };
        assert_eq!(roles(1), []);
        assert_eq!(roles(2), [(1, false), (1, true)]);
        assert_eq!(roles(8), [(7, false), (1, true), (4, false), (4, true)]);
        assert_eq!(LockRole::of(&of(Group::numbered(READERS, 4), 4)), None, "nobody writes");
        for budget in [SpinBudget { us: 0, competes: false }, SpinBudget { us: 20, competes: true }] {
            assert_eq!(SpinBudget::of(&of(budget.group(), 2)), Some(budget));
        }
    }
}
