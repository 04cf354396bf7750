//! The facts that several families share, and by how much the costs of primitives differ between two runs on one machine,
//! beyond what the interval within a run shows.
//!
//! A run has its own allocations, contexts and orders of blocks, and its own temperature. The values, here and in the
//! families, are standard deviations relative to the cost, measured between runs on one machine, rounded up. A run with
//! `--repeat` measures its own and uses that instead.

use syncscope_core::{ActorRule, Facts, Mode, Role, RunEffect, Waits};

/// Registers and the barriers of a block: nothing of the memory takes part.
pub(super) const REGISTERS: RunEffect = RunEffect::of_both(0.001);

/// Where the host takes part: its CPU, its clock and the link.
pub(crate) const WITH_HOST: RunEffect = RunEffect::of_both(0.02);

/// The lanes of a warp exchange registers; nothing of one is needed for the next, and warps share nothing.
pub(super) const WARP_COLLECTIVE: Facts = Facts {
    orders_memory: false,
    mode: Mode::Throughput,
    actor: ActorRule::Median,
    run_effect: |_| REGISTERS,
    ..Facts::of(Role::WarpCollective).waiting(Waits::InHardware)
};

/// Threads of the host and of a device on one variable.
pub(super) const HYBRID: Facts =
    Facts { run_effect: |_| WITH_HOST, ..Facts::of(Role::HostDeviceHandoff).waiting(Waits::Spins) };
