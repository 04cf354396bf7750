//! How far two runs of a virtual machine are apart, before any earlier run of it is known.
//!
//! The processes of a run share its minute, and the first run of a machine has no history ([`History`](super::history::History)). What
//! changes from run to run on one guest (the clock that its host leaves it, the places of its virtual CPUs) changes on others, too.
//! [`GUESTS`] is learned from the calibration runs (`results/calibration`, four guests of 2 to 32 CPUs, idle and busy; a test holds
//! it to them), and predicts a guest that is not among those from which it is learned. No machine without a hypervisor was
//! calibrated: there a first run has what its processes say.

use crate::Class;
use crate::machine::Machine;
use crate::stats::Variance;

/// How far runs are apart in the cases of a class and a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apart {
    /// The least variance that another run adds to the logarithm of a case's cost, however well the processes of one run
    /// agree: its threads and cache lines are in other places. Zero where threads share nothing.
    pub added: f64,
    /// The variance of a case between runs divided by the variance that the processes of a run predict, with its
    /// degrees of freedom.
    pub factor: Variance,
    /// The variance, in one run, of the logarithm of what all cases have in common. Its degrees of freedom say how alike
    /// guests are in it: the runs of a machine outweigh it when they are more.
    pub shared: Variance,
}

/// How far runs of guests are apart in a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usual {
    /// The class.
    pub class: Class,
    /// In nanoseconds.
    pub ns: Apart,
    /// In cycles.
    pub cycles: Apart,
}

/// `added` is a standard deviation, `factor` a factor with its degrees of freedom, `shared` a standard deviation with its
/// own.
const fn apart(added: f64, factor: [f64; 2], shared: [f64; 2]) -> Apart {
    let [value, degrees] = factor;
    let [deviation, of_shared] = shared;
    let shared = Variance { value: deviation * deviation, degrees: of_shared };
    Apart { added: added * added, factor: Variance { value, degrees }, shared }
}

/// What the calibration runs say of guests.
#[rustfmt::skip]
pub const GUESTS: [Usual; 3] = [
    Usual { class: Class::NothingShared, ns: apart(0.0, [2.1, 10.0], [0.0100, 2.0]), cycles: apart(0.0, [1.4, 10.0], [0.0004, 2.0]) },
    Usual { class: Class::Lines, ns: apart(0.0141, [2.0, 6.0], [0.0296, 12.0]), cycles: apart(0.0121, [1.5, 3.0], [0.0173, 8.0]) },
    Usual { class: Class::Sleeping, ns: apart(0.0248, [2.1, 8.0], [0.0244, 12.0]), cycles: apart(0.0163, [1.5, 8.0], [0.0130, 12.0]) },
];

/// What is known of runs of this machine before it has any.
pub fn usual(machine: &Machine) -> &'static [Usual] {
    if machine.cpu.hypervisor.is_some() { &GUESTS } else { &[] }
}
