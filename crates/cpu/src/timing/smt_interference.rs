//! Whether someone else is using the other hardware thread of a core.
//!
//! On a virtual machine that is often another guest, which nobody can see. Yet it shows: independent additions, of which a core
//! carries out four or more in a cycle, have to share it, while dependent multiplications wait for themselves and take as long
//! as ever. The quotient of the two, which does not depend on the clock, is taken before and after each sample by each of its
//! threads, in 2 us. Measured on virtual machines where it says alone, and where not: an uncontended `lock add` takes 18.01 to 18.02
//! cycles and 21.5 to 22.0 (medians of six runs) on Sapphire Rapids, 4.6 to 4.7 ticks and 6.4 to 7.0 on Zen 3, whose quotient is 0.75 alone and 0.9 to
//! 1.3 beside a neighbour.

use std::collections::HashMap;

use syncscope_core::{CaseId, Detail, Row};

use crate::timing::clock::Clock;

/// Turns of the loop of independent additions, eight in each.
const ADDITIONS: u64 = 600;

/// Turns of the chain of dependent multiplications.
const MULTIPLICATIONS: u64 = 400;

/// How long independent work takes on the calling thread's core right now, told in dependent work. `None` where no loop is
/// written for this architecture, or where the clock's steps are too coarse for it.
pub(crate) fn crowding(clock: &Clock) -> Option<f64> {
    let additions = timed(clock, || add(ADDITIONS))? as f64 / ADDITIONS as f64;
    let multiplications = timed(clock, || multiply(MULTIPLICATIONS))? as f64 / MULTIPLICATIONS as f64;
    let crowding = additions / multiplications;
    (crowding.is_finite() && crowding > 0.0).then_some(crowding)
}

fn timed(clock: &Clock, run: impl FnOnce() -> bool) -> Option<u64> {
    /// A step of a coarser clock would be more than a hundredth of the loop.
    const FEWEST_TICKS: u64 = 100;
    let start = clock.start();
    let done = run();
    let ticks = clock.stop().saturating_sub(start);
    (done && ticks >= FEWEST_TICKS).then_some(ticks)
}

/// Independent additions, of registers: Intel's Golden Cove executes those of small constants for free.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn add(turns: u64) -> bool {
    // SAFETY: adds registers of its own; touches no memory and no stack.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2:",
            "add {a}, {step}",
            "add {b}, {step}",
            "add {c}, {step}",
            "add {d}, {step}",
            "add {e}, {step}",
            "add {f}, {step}",
            "add {g}, {step}",
            "add {h}, {step}",
            "sub {turns}, 1",
            "jnz 2b",
            turns = inout(reg) turns => _,
            step = in(reg) 1_u64,
            a = inout(reg) 0_u64 => _,
            b = inout(reg) 0_u64 => _,
            c = inout(reg) 0_u64 => _,
            d = inout(reg) 0_u64 => _,
            e = inout(reg) 0_u64 => _,
            f = inout(reg) 0_u64 => _,
            g = inout(reg) 0_u64 => _,
            h = inout(reg) 0_u64 => _,
            options(nomem, nostack),
        );
    }
    true
}

/// Dependent multiplications.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn multiply(turns: u64) -> bool {
    // SAFETY: multiplies registers of its own; touches no memory and no stack.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2:",
            "imul {product}, {factor}",
            "sub {turns}, 1",
            "jnz 2b",
            turns = inout(reg) turns => _,
            product = inout(reg) 3_u64 => _,
            factor = in(reg) 5_u64,
            options(nomem, nostack),
        );
    }
    true
}

#[cfg(not(target_arch = "x86_64"))]
fn add(_turns: u64) -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn multiply(_turns: u64) -> bool {
    false
}

/// What is known of each CPU from all readings there so far.
#[derive(Debug, Default)]
pub(crate) struct Neighbours(HashMap<u32, Scale>);

impl Neighbours {
    /// Notes a reading on a CPU.
    pub(crate) fn note(&mut self, cpu: u32, crowding: f64) {
        self.0.entry(cpu).or_default().note(crowding);
    }

    /// Whether a reading says that someone else uses the core. `false` as long as too little is known.
    pub(crate) fn is_busy(&self, cpu: u32, crowding: f64) -> bool {
        /// Further from the least than readings on a core of one's own are from each other, and nearer than a neighbour is.
        const FURTHER: f64 = 1.12;
        self.0.get(&cpu).and_then(Scale::alone).is_some_and(|alone| crowding > FURTHER * alone)
    }
}

/// How often which reading was seen on one CPU: in steps of 2 %.
#[derive(Debug)]
struct Scale {
    counts: [u32; Self::STEPS],
    total: u32,
}

impl Default for Scale {
    fn default() -> Self {
        Self { counts: [0; Self::STEPS], total: 0 }
    }
}

impl Scale {
    const STEPS: usize = 256;
    const STEP: f64 = 1.02;
    const LEAST: f64 = 0.1;

    fn note(&mut self, crowding: f64) {
        let step = (crowding / Self::LEAST).ln() / Self::STEP.ln();
        // Too small and too large ones are counted at the ends.
        let step = step.clamp(0.0, Self::STEPS as f64 - 1.0) as usize;
        self.counts[step] = self.counts[step].saturating_add(1);
        self.total = self.total.saturating_add(1);
    }

    /// The least reading that came often enough to be none of those that an interruption made small.
    fn alone(&self) -> Option<f64> {
        let enough = (self.total / 200).max(8);
        let step = self.counts.windows(2).position(|two| two[0].saturating_add(two[1]) >= enough)?;
        Some(Self::LEAST * Self::STEP.powi(i32::try_from(step).ok()? + 2))
    }
}

/// How often someone else was beside single threads, who have nobody but strangers there, if that was often; for people.
pub(crate) fn finding(rows: &[Row], details: &HashMap<CaseId, Vec<Detail>>) -> Option<String> {
    /// A larger part than this disturbs the figures of several threads.
    const OFTEN: f64 = 0.1;
    const ENOUGH_PAIRS: f64 = 100.0;
    let is_alone =
        |row: &&Row| row.case.threads == Some(1) && !row.provisional && row.case.primitive.starts_with("cpu.");
    let busy_part = |row: &Row| {
        let of_case = details.get(&row.case.id())?;
        of_case.iter().find(|detail| detail.name == Detail::SMT_INTERFERENCE).map(|detail| detail.value)
    };
    let (pairs, busy) = rows.iter().filter(is_alone).fold((0.0, 0.0), |(pairs, busy), row| {
        let taken = (row.pairs.unwrap_or(0) + row.excluded.unwrap_or(0)) as f64;
        (pairs + taken, busy + taken * busy_part(row).unwrap_or(0.0))
    });
    (pairs >= ENOUGH_PAIRS && busy > OFTEN * pairs).then(|| {
        format!(
            "someone else used the core in {:.0} % of the pairs of a single thread, which are set aside where others are left; \
             figures of several threads include such moments and may be lower on a machine of one's own (how often: \
             {} in details.csv)",
            busy / pairs * 100.0,
            Detail::SMT_INTERFERENCE
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{Case, Verdict};

    fn known(readings: &[(f64, u32)]) -> Neighbours {
        let mut neighbours = Neighbours::default();
        for (crowding, times) in readings {
            (0..*times).for_each(|_| neighbours.note(3, *crowding));
        }
        neighbours
    }

    #[test]
    fn the_least_that_came_often_is_a_core_of_ones_own() {
        let neighbours = known(&[(1.1, 700), (0.75, 250), (0.76, 50), (0.4, 3)]);
        assert!(!neighbours.is_busy(3, 0.74) && !neighbours.is_busy(3, 0.78));
        assert!(neighbours.is_busy(3, 0.9) && neighbours.is_busy(3, 1.3));
        assert!(!neighbours.is_busy(2, 1.3), "nothing is known of another CPU");
    }

    #[test]
    fn little_is_nothing() {
        assert!(!known(&[(0.75, 4), (1.1, 3)]).is_busy(3, 1.1));
        // Someone who was never seen alone is not known to be disturbed.
        assert!(!known(&[(1.1, 500)]).is_busy(3, 1.12));
        let odd = known(&[(f64::MIN_POSITIVE, 20), (1e9, 20)]);
        assert!(odd.is_busy(3, 1.0));
    }

    #[test]
    fn how_often_someone_else_was_there_is_told_of_single_threads() {
        let row = |threads, pairs, provisional| Row {
            pairs: Some(pairs),
            excluded: Some(0),
            provisional,
            ..Row::unmeasured(
                Case { threads: Some(threads), ..Case::new("cpu.barrier.std") },
                Verdict::Noisy(String::new()),
            )
        };
        let found = |rows: &[Row], busy: &[f64]| {
            let of =
                |(row, busy): (&Row, &f64)| (row.case.id(), vec![Detail::of_case(Detail::SMT_INTERFERENCE, *busy)]);
            finding(rows, &rows.iter().zip(busy).map(of).collect())
        };
        let alone = row(1, 100, false);
        assert!(found(std::slice::from_ref(&alone), &[0.4]).unwrap().contains(" 40 % "));
        assert_eq!(found(std::slice::from_ref(&alone), &[0.09]), None);
        assert_eq!(found(std::slice::from_ref(&alone), &[]), None, "nothing is told of it: nobody was there");
        assert_eq!(found(&[row(1, 99, false)], &[0.9]), None, "too few");
        assert_eq!(found(&[row(2, 1000, false), row(1, 1000, true)], &[0.9, 0.9]), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_core_does_several_independent_additions_in_a_cycle() {
        let clock = Clock::calibrate();
        let mut readings: Vec<f64> = (0..200).filter_map(|_| crowding(&clock)).collect();
        readings.sort_by(f64::total_cmp);
        // Eight additions in one to eight cycles, a multiplication in three or four.
        let least = readings[readings.len() / 20];
        assert!((0.2..3.0).contains(&least), "{least}");
    }
}
