//! Core cycles without performance counters: a chain of dependent additions, each of which takes one cycle.
//!
//! An addition of two registers has a latency of one cycle on every x86-64 and 64-bit ARM core in use (uops.info,
//! `ADD_R64_R64`; Arm Software Optimization Guides, "arithmetic, basic"). Register operands matter: Intel's Golden Cove
//! executes additions of small constants for free while renaming.

use crate::clock::Clock;

/// Additions in one turn of the loop: the loop's own instructions run beside the chain, and its end, which may be
/// mispredicted, occurs in both chains.
const TURN: u64 = 128;
const SHORT: u64 = 8;
const LONG: u64 = 72;

/// Core cycles per tick of `clock` on the calling thread's core right now. `None` where no chain is known, or when the
/// measurement was interrupted so badly that the longer chain came out shorter.
///
/// Two chains of different length are timed, so that reading the clock cancels. Takes about 10,000 cycles.
pub(crate) fn per_tick(clock: &Clock) -> Option<f64> {
    let short = time_chain(clock, SHORT)?;
    let long = time_chain(clock, LONG)?;
    let ticks = long.checked_sub(short).filter(|ticks| *ticks > 0)?;
    Some(((LONG - SHORT) * TURN) as f64 / ticks as f64)
}

fn time_chain(clock: &Clock, turns: u64) -> Option<u64> {
    let start = clock.start();
    let done = chain(turns);
    let stop = clock.stop();
    done.then(|| stop.saturating_sub(start))
}

/// Runs `turns` times [`TURN`] dependent additions; `false` where none is written for this architecture.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn chain(turns: u64) -> bool {
    // SAFETY: adds registers of its own; touches no memory and no stack.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2:",
            ".rept 128",
            "add {sum}, {step}",
            ".endr",
            "sub {turns}, 1",
            "jnz 2b",
            turns = inout(reg) turns => _,
            sum = inout(reg) 0_u64 => _,
            step = in(reg) 1_u64,
            options(nomem, nostack),
        );
    }
    true
}

/// Runs `turns` times [`TURN`] dependent additions; `false` where none is written for this architecture.
#[cfg(target_arch = "aarch64")]
#[inline(never)]
fn chain(turns: u64) -> bool {
    // SAFETY: adds registers of its own; touches no memory and no stack.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2:",
            ".rept 128",
            "add {sum}, {sum}, {step}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            turns = inout(reg) turns => _,
            sum = inout(reg) 0_u64 => _,
            step = in(reg) 1_u64,
            options(nomem, nostack),
        );
    }
    true
}

/// Runs `turns` times [`TURN`] dependent additions; `false` where none is written for this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn chain(_turns: u64) -> bool {
    false
}

/// The mean of the readings that lie within 5 % of their median: steps of the clock average out, interrupted readings
/// do not count.
pub(crate) fn robust_mean(readings: &[f64]) -> Option<f64> {
    let median = syncscope_core::stats::median(readings)?;
    let near: Vec<f64> = readings.iter().copied().filter(|reading| (reading - median).abs() <= 0.05 * median).collect();
    (!near.is_empty()).then(|| near.iter().sum::<f64>() / near.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_readings_do_not_count() {
        assert_eq!(robust_mean(&[]), None);
        let mean = robust_mean(&[1.40, 1.42, 1.41, 0.2, 1.41]).unwrap();
        assert!((mean - 1.41).abs() < 1e-9);
    }
}
