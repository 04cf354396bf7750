//! Sums of two floats per device by NCCL, as a barrier of several devices: the primitives, their cases, and chains of sums that
//! become samples, timed by the host.
//!
//! The baseline is a chain of n sums, the test one of 2 n. The first call and the wait drop out of the difference, and n
//! sums remain. (`all_reduce_perf` of nccl-tests divides the time of a chain by its length.) There is no figure in cycles,
//! because the host takes part.
//!
//! A chain in graphs consists of replays of one short graph instead of one long graph: launching a graph takes longer the
//! longer it is, and the first device waits for the launch on the last. With one graph a sum took 6.8 us on two H200, with
//! replays 5.6.
//!
//! [`group`] has the devices of a case, queues sums on all of them, and waits. The library is bound in `cuda/nccl.rs`. It works
//! in the primary contexts of the devices, which nothing else here uses.

mod group;

use syncscope_core::sweep::Sweep;
use syncscope_core::{
    Case, Check, Evidence, Experiment, ExperimentError, Facts, Group, OperationsAtOnce, Primitive, Protocol, Role,
    Ruler, Sample, Shot, Side, Waits,
};
use syncscope_host::scheduling::AffinityGuard;

use crate::catalogue::families::WITH_HOST;
use crate::cuda::nccl::multicast;
use crate::launch::host_clock;
use crate::launch::runner::Outage;
use crate::nccl::group::SUMS_OF_GRAPH;

pub(crate) use crate::nccl::group::NcclGroup;

/// How the sums of a chain are launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Launching {
    /// One call for each device and sum.
    Eager,
    /// As graphs captured beforehand, one for each device.
    Graph,
}

const SOURCE: &str = "NCCL User Guide, ncclAllReduce, Using NCCL with CUDA Graphs and Window Registration; \
                      nccl-tests, all_reduce_perf -b 8 -e 8";

/// The host queues the sums, and the grids are NCCL's.
const FACTS: Facts = Facts {
    run_effect: |_| WITH_HOST,
    at_once: OperationsAtOnce::One,
    ..Facts::of(Role::DeviceCollective).waiting(Waits::InHardware)
};

pub(crate) static PRIMITIVES: [Primitive; 2] = [
    Primitive {
        id: "gpu.multi.nccl_allreduce",
        summary: "NCCL all-reduce (sum) of two floats (8 bytes) per device, which acts as a barrier across the \
                  devices' streams; one process makes one call per device",
        operation: "one all-reduce across all devices, in a chain that the host queues",
        source: SOURCE,
        facts: FACTS,
    },
    Primitive {
        id: "gpu.multi.nccl_allreduce_graph",
        summary: "NCCL all-reduce (sum) of two floats (8 bytes) per device, captured in one CUDA graph per device",
        operation: "one all-reduce across all devices; each device replays a graph of several all-reduces",
        source: SOURCE,
        facts: FACTS,
    },
];

/// How a case is launched; `None` for other primitives.
pub(crate) fn launching_of(case: &Case) -> Option<Launching> {
    let at = PRIMITIVES.iter().position(|primitive| primitive.id == case.primitive)?;
    Some([Launching::Eager, Launching::Graph][at])
}

/// The group of sums whose values are in registered windows, which NCCL reads and writes in place.
pub(crate) const WINDOW: &str = "registered window";

/// The cases for `devices` devices: on 2, 4, 8 and all of them, each with plain memory and with windows.
pub(crate) fn cases(devices: u32) -> Vec<Case> {
    let mut counts: Vec<u32> = [2, 4, 8].into_iter().filter(|count| *count < devices).collect();
    counts.extend(Some(devices).filter(|devices| *devices > 1));
    let plain = PRIMITIVES.iter().flat_map(|primitive| Sweep::of(primitive.id).devices(&counts).cases());
    let in_window = |case: &Case| Case { group: Some(Group::named(WINDOW)), ..case.clone() };
    plain.flat_map(|case| [in_window(&case), case]).collect()
}

/// The longest baseline, in steps of [`SUMS_OF_GRAPH`] sums.
const MOST_STEPS: u64 = 10;

/// The shortest baseline: half of a chain of `all_reduce_perf -n 200`.
const FEWEST_STEPS: u64 = 5;

/// Number of sums in the check.
const TRIALS: u64 = 8;

/// A case ready to run.
#[derive(Debug)]
pub(crate) struct NcclExperiment<'a> {
    pub(crate) group: &'a mut NcclGroup,
    pub(crate) launching: Launching,
    pub(crate) devices: u32,
    pub(crate) ruler: Ruler,
    /// The CPU of the launching thread.
    pub(crate) cpu: Option<u32>,
}

const fn sums(side: Side, iterations: u64) -> u64 {
    (1 + side.copies()) * iterations * SUMS_OF_GRAPH
}

/// The value of a device in a trial; every trial uses other values.
const fn value(trial: u64, device: u64) -> u64 {
    1000 * (trial + 1) + device + 1
}

/// Two copies of this value as floats, as they lie in memory. Values of a check are small enough to be exact.
fn floats(value: u64) -> u64 {
    let bits = u64::from((value as f32).to_bits());
    bits << 32 | bits
}

/// What is wrong with the values that the devices got; `None` if nothing is.
fn defect(trial: u64, found: &[u64], devices: u32) -> Option<String> {
    let expected: u64 = (0..u64::from(devices)).map(|device| value(trial, device)).sum();
    let all = found.len() == devices as usize;
    let wrong = found.iter().position(|sum| *sum != floats(expected));
    match wrong {
        None if all => None,
        None => Some(format!("{} of {devices} devices have a sum", found.len())),
        Some(device) => {
            let [first, second] = [0, 32].map(|shift| f32::from_bits((found[device] >> shift) as u32));
            Some(format!("device {device} got the sums {first} and {second} instead of {expected}"))
        }
    }
}

impl NcclExperiment<'_> {
    fn time(&mut self, Shot { side, iterations, .. }: Shot) -> Result<Sample, Outage> {
        let count = sums(side, iterations);
        self.group.prepare(self.launching, count)?;
        host_clock::sample_of(|| {
            self.group.launch(self.launching, count)?;
            self.group.wait()
        })
    }
}

impl Experiment for NcclExperiment<'_> {
    fn ruler(&self) -> Ruler {
        self.ruler.clone()
    }

    fn operations(&self, side: Side, iterations: u64) -> u64 {
        sums(side, iterations)
    }

    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        let _here = self.cpu.map(AffinityGuard::bind_to);
        Ok(self.time(shot)?)
    }

    fn protocol(&self) -> Protocol {
        Protocol { min_iterations: FEWEST_STEPS, max_iterations: MOST_STEPS, has_double: true, ..Protocol::of(1) }
    }

    fn check(&mut self) -> Check {
        for trial in 0..TRIALS {
            let values: Vec<u64> = (0..u64::from(self.devices)).map(|device| floats(value(trial, device))).collect();
            match self.group.sum_of(self.launching, &values).map(|found| defect(trial, &found, self.devices)) {
                Ok(None) => {}
                Ok(Some(defect)) => return Check::Failed(defect),
                Err(error) => return Check::Failed(error.to_string()),
            }
        }
        Check::Ok
    }

    /// The function is called once for each sum and device; it launches the library's own kernels.
    fn evidence(&mut self) -> Evidence {
        let summary = format!("library call ncclAllReduce (NCCL {}, {})", self.group.version(), multicast());
        Evidence::Present { listing: format!("{summary}\n"), summary, receipt: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_devices_have_cases_and_one_has_none() {
        let devices = |count| -> Vec<u32> { cases(count).iter().filter_map(|case| case.devices).collect() };
        assert!(devices(1).is_empty() && devices(0).is_empty());
        let both =
            |counts: &[u32]| [counts, counts].concat().iter().flat_map(|count| [*count; 2]).collect::<Vec<u32>>();
        assert_eq!(devices(2), both(&[2]));
        assert_eq!(devices(6), both(&[2, 4, 6]));
        assert_eq!(devices(8), both(&[2, 4, 8]));
    }

    #[test]
    fn descriptions_keep_the_contract_and_name_their_launches() {
        assert!(PRIMITIVES.iter().all(|primitive| primitive.defect().is_none()));
        let launching = |at: usize| launching_of(&Case::new(PRIMITIVES[at].id));
        assert_eq!([launching(0), launching(1)], [Some(Launching::Eager), Some(Launching::Graph)]);
        assert_eq!(launching_of(&Case::new("gpu.multi.flags")), None);
    }

    #[test]
    fn the_test_has_as_many_sums_more_as_the_baseline_has() {
        for iterations in [FEWEST_STEPS, MOST_STEPS] {
            let baseline = sums(Side::Baseline, iterations);
            assert_eq!(sums(Side::Test, iterations) - baseline, baseline);
            assert_eq!(sums(Side::Double, iterations) - sums(Side::Test, iterations), baseline);
            assert_eq!(baseline % SUMS_OF_GRAPH, 0);
        }
    }

    #[test]
    fn a_wrong_or_missing_sum_is_a_defect() {
        // 1001 + 1002.
        let right = floats(2003);
        assert_eq!(defect(0, &[right, right], 2), None);
        assert!(defect(1, &[right, right], 2).unwrap().contains("device 0 got the sums 2003 and 2003 instead of 4003"));
        let half = right & u64::from(u32::MAX);
        assert!(defect(0, &[right, half], 2).unwrap().contains("device 1 got the sums 2003 and 0"));
        assert!(defect(0, &[right], 2).unwrap().contains("1 of 2"));
    }
}
