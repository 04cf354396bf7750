//! The MPI primitives, and the cases that a run allows with its number of processes and nodes. Start here.

use serde::{Deserialize, Serialize};
use syncscope_core::{Case, Facts, Mode, OperationsAtOnce, Primitive, Role, Waits};

use crate::world::World;
use syncscope_cpu::between_threads;

/// The calls of the shim, with the shim's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Call {
    Barrier = 0,
    Allreduce = 1,
    PingPong = 2,
    FetchOp = 3,
}

/// A primitive and its call.
pub(crate) struct Entry {
    primitive: Primitive,
    pub(crate) call: Call,
    /// The MPI functions that the timed loop calls.
    pub(crate) functions: &'static str,
}

/// The library decides how a process waits for the others.
const FACTS: Facts = Facts {
    run_effect: between_threads,
    at_once: OperationsAtOnce::One,
    ..Facts::of(Role::ProcessBarrier).waiting(Waits::AsConfigured)
};

/// The catalogue.
static ENTRIES: [Entry; 4] = [
    Entry {
        primitive: Primitive {
            id: "mpi.barrier.blocking",
            summary: "`MPI_Barrier` across processes",
            operation: "one barrier across all processes of the case",
            source: "MPI 4.1, 6.3 Barrier Synchronization",
            facts: FACTS,
        },
        call: Call::Barrier,
        functions: "MPI_Barrier",
    },
    Entry {
        primitive: Primitive {
            id: "mpi.barrier.allreduce",
            summary: "`MPI_Allreduce` of one 8-byte integer, which no process leaves before all have entered",
            operation: "one sum over all processes of the case",
            source: "MPI 4.1, 6.9.6 All-Reduce",
            facts: FACTS,
        },
        call: Call::Allreduce,
        functions: "MPI_Allreduce",
    },
    Entry {
        primitive: Primitive {
            id: "mpi.handoff.pingpong",
            summary: "Two processes send each other 8 bytes in turn: `MPI_Send`, `MPI_Recv`",
            operation: "one message from one process to the other: half a round trip",
            source: "MPI 4.1, 3.2 Blocking Send and Receive Operations",
            facts: Facts { role: Role::ProcessHandoff, at_once: OperationsAtOnce::OfEach, ..FACTS },
        },
        call: Call::PingPong,
        functions: "MPI_Send, MPI_Recv",
    },
    Entry {
        primitive: Primitive {
            id: "mpi.atomic.fetch_op",
            summary: "`MPI_Fetch_and_op` and `MPI_Win_flush`: all processes but the first add to a counter in the \
                      first one's memory",
            operation: "one addition by each process but the first, complete at the target",
            source: "MPI 4.1, 12.3.4 Accumulate Functions",
            facts: Facts {
                role: Role::Update,
                orders_memory: false,
                mode: Mode::Throughput,
                at_once: OperationsAtOnce::OfAllButOne,
                ..FACTS
            },
        },
        call: Call::FetchOp,
        functions: "MPI_Fetch_and_op, MPI_Win_flush",
    },
];

/// The primitives between processes.
pub fn primitives() -> &'static [Primitive] {
    static PRIMITIVES: [Primitive; ENTRIES.len()] =
        [ENTRIES[0].primitive, ENTRIES[1].primitive, ENTRIES[2].primitive, ENTRIES[3].primitive];
    &PRIMITIVES
}

/// The entry with this id.
pub(crate) fn entry(id: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.primitive.id == id)
}

/// All cases for these processes: each primitive on one node and across nodes, with 2, 4, 8... and all processes.
pub(crate) fn cases(world: &World) -> Vec<Case> {
    let of_entry = |entry: &'static Entry| {
        let teams = world.teams().into_iter().filter(move |team| entry.call != Call::PingPong || team.processes == 2);
        teams.map(move |team| Case {
            threads: Some(team.processes),
            group: Some(team.group()),
            // The family's mode is throughput, for independent operations; here each one completes before the next
            // begins.
            mode: (entry.call == Call::FetchOp).then_some(Mode::Latency),
            ..Case::new(entry.primitive.id)
        })
    };
    ENTRIES.iter().flat_map(of_entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Domain;

    #[test]
    fn descriptions_keep_the_contract() {
        for primitive in primitives() {
            assert_eq!((primitive.defect(), primitive.domain()), (None, Some(Domain::Mpi)));
        }
    }

    #[test]
    fn cases_have_every_size_and_two_processes_pass_messages() {
        let cases = cases(&World::of_nodes(&[6]));
        let threads = |id: &str| -> Vec<u32> {
            cases.iter().filter(|case| case.primitive == id).filter_map(|case| case.threads).collect()
        };
        assert_eq!(threads("mpi.barrier.blocking"), [2, 4, 6]);
        assert_eq!(threads("mpi.handoff.pingpong"), [2]);
        assert!(cases.iter().all(|case| entry(&case.primitive).is_some_and(|entry| !entry.functions.is_empty())));
    }
}
