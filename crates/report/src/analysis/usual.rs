//! Decides which cases of a machine are the usual ones.

use std::collections::BTreeMap;

use syncscope_core::machine::Machine;
use syncscope_core::{Case, Dtype, Group, Layout, Mode, Scope, Space};

use super::placements;
use crate::{RunData, naming};

/// The threads of a warp.
pub(super) const WARP: u32 = 32;

/// The sizes of a machine that decide which cases fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MachineSize {
    /// Hardware threads of the CPUs; 0 where the number is unknown.
    pub(crate) hardware_threads: u32,
    /// Multiprocessors of the first device; 0 without a device.
    pub(crate) multiprocessors: u32,
}

impl MachineSize {
    pub(crate) fn of(machine: &Machine) -> Self {
        Self {
            hardware_threads: machine.cpu.hardware_threads,
            multiprocessors: machine.gpus.first().map_or(0, |gpu| gpu.multiprocessors),
        }
    }

    /// Whether the case has more CPU threads than the machine has hardware threads.
    pub(crate) fn is_oversubscribed_by(self, case: &Case) -> bool {
        !self.holds(case.threads.unwrap_or(1)) && case.domain_and_family().0 == "cpu"
    }

    /// Whether the case has the requested number of threads or, without a request, no more than the CPUs have.
    pub(crate) fn is_asked(self, case: &Case, threads: Option<u32>) -> bool {
        threads.map_or(!self.is_oversubscribed_by(case), |asked| case.threads == Some(asked))
    }

    /// Whether the case has one block on each multiprocessor; any number of blocks where the device is unknown.
    pub(crate) fn is_filled_by(self, case: &Case) -> bool {
        self.multiprocessors == 0 || case.blocks == Some(self.multiprocessors)
    }

    /// The blocks and warps of the case on each multiprocessor, if all have equally many.
    pub(crate) fn load_of(self, case: &Case) -> Option<(u32, u32)> {
        let is_even = |blocks: &u32| *blocks > 0 && blocks.is_multiple_of(self.multiprocessors);
        let blocks = case.blocks.filter(is_even)? / self.multiprocessors;
        Some((blocks, blocks.saturating_mul(case.threads?.div_ceil(WARP))))
    }

    /// Whether the CPUs have a hardware thread for each of these threads, as far as is known.
    pub(crate) const fn holds(self, threads: u32) -> bool {
        self.hardware_threads == 0 || threads <= self.hardware_threads
    }
}

/// The last part of an id.
pub(crate) fn short_name(primitive: &str) -> &str {
    primitive.split('.').next_back().unwrap_or(primitive)
}

/// The usual values of parameters, the most usual one first.
const DTYPES: [Dtype; 3] = [Dtype::I32, Dtype::U32, Dtype::U64];
const LAYOUTS: [Layout; 1] = [Layout::Shared];
const MODES: [Mode; 1] = [Mode::Throughput];
const SPACES: [Space; 1] = [Space::Global];
const SCOPES: [Scope; 1] = [Scope::Device];
/// Kernels that last longer than a launch, so that the host is ahead of the device.
const KERNELS: [&str; 2] = ["5 us", "5 us sweep"];

/// The usual values as words, by the parameter's name in the page's scripts; an empty word means that having none is usual,
/// too.
pub(crate) fn words() -> BTreeMap<&'static str, Vec<String>> {
    fn of<T: ToString>(values: &[T]) -> Vec<String> {
        values.iter().map(ToString::to_string).collect()
    }
    let group = naming::group(&Group::of_word(KERNELS[0])).replace(' ', "\u{a0}");
    BTreeMap::from([
        ("dtype", of(&DTYPES)),
        ("variables", LAYOUTS.map(naming::layout).to_vec()),
        ("mode", of(&MODES)),
        ("space", of(&SPACES)),
        ("scope", of(&SCOPES)),
        ("placement", of(&placements::BY_RANK[..2])),
        ("group", vec![String::new(), "converged".to_owned(), group]),
        ("order", vec![String::new(), "relaxed".to_owned()]),
    ])
}

/// How far the parameters of a case are from the usual ones, in the order of importance; 0 is usual.
pub(crate) fn unusualness(case: &Case) -> [usize; 7] {
    fn rank<T: PartialEq>(value: Option<&T>, usual: &[T]) -> usize {
        value.map_or(0, |value| usual.iter().position(|known| known == value).unwrap_or(usual.len()))
    }
    [
        rank(case.layout.as_ref(), &LAYOUTS),
        rank(case.dtype.as_ref(), &DTYPES),
        rank(case.mode.as_ref(), &MODES),
        rank(case.space.as_ref(), &SPACES),
        rank(case.scope.as_ref(), &SCOPES),
        rank(case.placement.as_ref(), &placements::BY_RANK),
        rank(case.group.as_ref(), &KERNELS.map(Group::of_word)),
    ]
}

/// The most usual of these rows.
pub(crate) fn most_usual(data: &RunData, rows: impl Iterator<Item = usize>) -> Option<usize> {
    rows.min_by_key(|index| (unusualness(data.case(*index)), data.case(*index)))
}

/// Whether the case runs one block of this many threads.
pub(crate) fn is_one_block(case: &Case, threads: u32) -> bool {
    case.threads == Some(threads) && case.blocks.unwrap_or(1) == 1
}
