//! One cost by two clocks on the CPU: chains of dependent operations, timed by the processor's counter and by the system's
//! raw clock at the same time.
//!
//! Both times are converted to core cycles by a chain of additions next to each pair. An addition takes one cycle, and
//! both clocks time this chain as well. The additions therefore show how steady the core's frequency is, and
//! multiplications are the known truth.

use std::array;
use std::convert::Infallible;

use syncscope_cpu::CpuLaboratory;
use syncscope_cpu::timing::chains::{self, STEP};
use syncscope_cpu::timing::clock::Clock;
use syncscope_host::clock::raw_ns;
use syncscope_host::scheduling::{AffinityGuard, current_cpu};

use super::{
    BASIC_REPEATS, BothClocks, CrosscheckPair, CrosscheckRow, CrosscheckSeries, Executor, Form, Operation,
    REPEAT_DIFFERENCES, Schedule,
};

/// Additions of the two chains that give the length of a cycle: some 30 us apart.
const REFERENCE: [u64; 2] = [8_000, 104_000];

/// How often each of these chains is timed: an interruption of the shorter chain can take longer than the longer chain.
const REFERENCES: usize = 3;

/// Pairs of the check at the start of a run: some milliseconds.
const PAIRS_OF_A_CHECK: usize = 25;

const OPERATIONS: [Operation; 2] = [Operation::IntegerAddition, Operation::IntegerMultiplication];

/// Measures chains of additions and multiplications on the calling thread's CPU, with the paper's differences of
/// repetitions, in a second. Empty if no chain is written for this architecture.
pub(super) fn measure_all(cpu: &CpuLaboratory, seed: u64) -> Vec<CrosscheckSeries> {
    let cases = OPERATIONS.into_iter().flat_map(|operation| REPEAT_DIFFERENCES.map(|more| case(operation, more)));
    measure(cpu.clock(), &cases.collect::<Vec<_>>(), Schedule::MEASURED, seed)
}

/// Measures a chain of multiplications by both clocks, for the check at the start of a run. `None` if no chain is
/// written for this architecture.
pub(super) fn measure_check(cpu: &CpuLaboratory, seed: u64) -> Option<CrosscheckSeries> {
    let case = case(Operation::IntegerMultiplication, 25_600);
    measure(cpu.clock(), &[case], Schedule::of_a_check(PAIRS_OF_A_CHECK), seed).pop()
}

fn case(operation: Operation, difference: u64) -> CrosscheckRow {
    CrosscheckRow {
        executor: Executor::Cpu,
        operation,
        form: Form::Looped,
        body: STEP,
        repeats_few: BASIC_REPEATS,
        repeats_many: BASIC_REPEATS + difference,
        known_cycles: known_cycles(operation),
        ..CrosscheckRow::default()
    }
}

fn measure(clock: &Clock, cases: &[CrosscheckRow], schedule: Schedule, seed: u64) -> Vec<CrosscheckSeries> {
    if !chains::ARE_WRITTEN {
        return Vec::new();
    }
    let _here = current_cpu().map(AffinityGuard::bind_to);
    let mut wrong = vec![0_u64; cases.len()];
    let Ok(pairs) = schedule.take(seed, cases.len(), |at, many_first| -> Result<CrosscheckPair, Infallible> {
        let (pair, is_right) = pair(clock, &cases[at], many_first);
        wrong[at] += u64::from(!is_right);
        Ok(pair)
    });
    let of = |((case, pairs), wrong): ((&CrosscheckRow, Vec<CrosscheckPair>), u64)| {
        let check = if wrong == 0 { "ok".to_owned() } else { format!("{wrong} pairs had a wrong result") };
        CrosscheckSeries { case: CrosscheckRow { check: Some(check), ..case.clone() }, pairs }
    };
    cases.iter().zip(pairs).zip(wrong).map(of).collect()
}

/// The known cost from uops.info, `ADD_R64_R64` and `IMUL_R32_R32`: 1 and 3 cycles on every Intel core since Nehalem
/// and every AMD core since Zen. Multiplications of ARM cores take 2 to 4.
fn known_cycles(operation: Operation) -> Option<f64> {
    match operation {
        Operation::IntegerAddition => Some(1.0),
        Operation::IntegerMultiplication if cfg!(target_arch = "x86_64") => Some(3.0),
        _ => None,
    }
}

/// The time of a chain by both clocks, in nanoseconds and in ticks, and its result.
struct Timed {
    outside_ns: f64,
    ticks: f64,
    result: u64,
}

fn timed(clock: &Clock, operation: Operation, repeats: u64) -> Timed {
    let outside = raw_ns();
    let start = clock.start();
    let result = match operation {
        Operation::IntegerMultiplication => chains::multiplications(repeats),
        _ => chains::additions(repeats),
    };
    let stop = clock.stop();
    let outside_ns = raw_ns().saturating_sub(outside) as f64;
    Timed { outside_ns, ticks: stop.saturating_sub(start) as f64, result }
}

/// Times the shorter and the longer chain, then the length of a cycle; also returns whether all results were right.
fn pair(clock: &Clock, case: &CrosscheckRow, many_first: bool) -> (CrosscheckPair, bool) {
    let run = |repeats| timed(clock, case.operation, repeats);
    let Ok((few, many)) = CrosscheckPair::in_order(many_first, |is_many| {
        Ok::<_, Infallible>(run(if is_many { case.repeats_many } else { case.repeats_few }))
    });
    let [cycles_per_tick, cycles_per_ns] = reference(clock);
    let side =
        |timed: &Timed| BothClocks { outside_ns: timed.outside_ns, inside_cycles: timed.ticks * cycles_per_tick };
    let is_right = [(&few, case.repeats_few), (&many, case.repeats_many)]
        .iter()
        .all(|(timed, repeats)| timed.result == expected(case.operation, *repeats));
    (CrosscheckPair { many_first, few: side(&few), many: side(&many), cycles_per_ns }, is_right)
}

/// Cycles per tick and per nanosecond.
fn reference(clock: &Clock) -> [f64; 2] {
    let run = |repeats| timed(clock, Operation::IntegerAddition, repeats);
    let timings: [[Timed; 2]; REFERENCES] = array::from_fn(|_| REFERENCE.map(run));
    let times: [fn(&Timed) -> f64; 2] = [|timed| timed.ticks, |timed| timed.outside_ns];
    times.map(|time| cycles_per_unit(&timings, time))
}

/// Cycles per unit of a clock, by the shortest time of each chain: an interruption only lengthens a time.
fn cycles_per_unit(timings: &[[Timed; 2]], time: fn(&Timed) -> f64) -> f64 {
    let shortest = |chain: usize| timings.iter().map(|pair| time(&pair[chain])).fold(f64::INFINITY, f64::min);
    (REFERENCE[1] - REFERENCE[0]) as f64 / (shortest(1) - shortest(0))
}

/// The result of a chain: the number of additions, or 3 to the power of the number of multiplications, modulo 2^32.
fn expected(operation: Operation, repeats: u64) -> u64 {
    match operation {
        // No chain is longer than a `u32` counts.
        Operation::IntegerMultiplication => u64::from(3_u32.wrapping_pow(repeats as u32)),
        _ => repeats,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_is_measured_and_its_result_checked() {
        let clock = Clock::calibrate();
        let schedule = Schedule::of_a_check(3);
        let cases: Vec<CrosscheckRow> = OPERATIONS.map(|operation| case(operation, 2056)).to_vec();
        let series = measure(&clock, &cases, schedule, 7);
        assert_eq!(series.len(), 2);
        for found in series {
            assert_eq!((found.pairs.len(), found.case.check.as_deref()), (3, Some("ok")));
            assert!(found.pairs.iter().all(|pair| pair.many.outside_ns > 0.0 && pair.many.inside_cycles > 0.0));
        }
    }

    #[test]
    fn an_interruption_does_not_change_the_length_of_a_cycle() {
        let timed = |ticks| Timed { outside_ns: ticks / 2.0, ticks, result: 0 };
        let timings = [
            [timed(4_000_000.0), timed(104_000.0)],
            [timed(8_000.0), timed(9_104_000.0)],
            [timed(8_100.0), timed(104_200.0)],
        ];
        assert!((cycles_per_unit(&timings, |timed| timed.ticks) - 1.0).abs() < 1e-12);
        assert!((cycles_per_unit(&timings, |timed| timed.outside_ns) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_wrong_result_is_seen() {
        assert_eq!(chains::multiplications(2568), expected(Operation::IntegerMultiplication, 2568));
        assert_ne!(chains::multiplications(2560), expected(Operation::IntegerMultiplication, 2568));
        assert_eq!(chains::additions(2568), expected(Operation::IntegerAddition, 2568));
    }
}
