//! The primitives and their cases.

use syncscope_core::{Case, Facts, Primitive, Role, Waits};

use crate::catalogue::facts::WITH_HOST;

/// How the sums of a chain are launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Launching {
    /// One call for each device and sum.
    Eager,
    /// As graphs, one of each device, that were captured before.
    Graph,
}

const SOURCE: &str =
    "NCCL User Guide, ncclAllReduce and Using NCCL with CUDA Graphs; nccl-tests, all_reduce_perf -b 8 -e 8";

/// The host queues the sums, and there is no grid of ours.
const FACTS: Facts =
    Facts { run_effect: |_| WITH_HOST, ..Facts::of(Role::DeviceCollective).waiting(Waits::InHardware) };

pub(crate) static PRIMITIVES: [Primitive; 2] = [
    Primitive {
        id: "gpu.multi.nccl_allreduce",
        summary: "NCCL's sum of one 8-byte integer of each device, which is a barrier of their streams; one process, a call \
                  for each device",
        operation: "one sum over all devices, in a chain that the host queues",
        source: SOURCE,
        facts: FACTS,
    },
    Primitive {
        id: "gpu.multi.nccl_allreduce_graph",
        summary: "The same in a CUDA graph of each device",
        operation: "one sum over all devices, in a chain of replays of one graph",
        source: SOURCE,
        facts: FACTS,
    },
];

/// How a case is launched; `None` for other primitives.
pub(crate) fn launching_of(case: &Case) -> Option<Launching> {
    let at = PRIMITIVES.iter().position(|primitive| primitive.id == case.primitive)?;
    Some([Launching::Eager, Launching::Graph][at])
}

/// The cases on so many devices: 2, 4, 8 and all of them.
pub(crate) fn cases(devices: u32) -> Vec<Case> {
    let mut counts: Vec<u32> = [2, 4, 8].into_iter().filter(|count| *count < devices).collect();
    counts.extend(Some(devices).filter(|devices| *devices > 1));
    let of = |primitive: &Primitive| {
        let case = Case::new(primitive.id);
        counts.iter().map(|count| Case { devices: Some(*count), ..case.clone() }).collect::<Vec<_>>()
    };
    PRIMITIVES.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_devices_have_cases_and_one_has_none() {
        let devices = |count| -> Vec<u32> { cases(count).iter().filter_map(|case| case.devices).collect() };
        assert!(devices(1).is_empty() && devices(0).is_empty());
        assert_eq!(devices(2), [2, 2]);
        assert_eq!(devices(6), [2, 4, 6, 2, 4, 6]);
        assert_eq!(devices(8), [2, 4, 8, 2, 4, 8]);
    }

    #[test]
    fn descriptions_keep_the_contract_and_name_their_launches() {
        assert!(PRIMITIVES.iter().all(|primitive| primitive.defect().is_none()));
        let launching = |at: usize| launching_of(&Case::new(PRIMITIVES[at].id));
        assert_eq!([launching(0), launching(1)], [Some(Launching::Eager), Some(Launching::Graph)]);
        assert_eq!(launching_of(&Case::new("gpu.multi.flags")), None);
    }
}
