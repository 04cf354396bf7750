//! What the two clocks say together: agreement, known costs, the instruction cache.

use syncscope_core::units::plural;
use super::{CrosscheckRow, Executor, Form, Operation};

/// Both methods agree if they differ by no more than this part; the paper's margin of error is 0.2 % to 4.4 %.
pub const AGREEMENT: f64 = 0.02;

/// A cost is right if it differs from the known cost by no more than this part.
pub const TRUTH: f64 = 0.01;

/// A body is beyond the instruction cache if its operations certainly cost more than this times as much as those of
/// short bodies.
const BEYOND: f64 = 1.05;

/// Bytes of an instruction on every architecture since 7.0.
pub const INSTRUCTION_BYTES: u64 = 16;

/// Where straight code leaves the instruction cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InstructionCache {
    /// Cycles of an operation in the shortest bodies.
    pub cached_cycles: f64,
    /// The longest body that is as fast.
    pub fits: u64,
    /// Cycles of an operation in that body, which may be a little more than in the shortest ones.
    pub fitting_cycles: f64,
    /// The next longer body that was tried, which is slower.
    pub exceeds: u64,
    /// Cycles of an operation in the longest body.
    pub beyond_cycles: f64,
}

/// The rows of float additions in this form.
pub(super) fn additions(rows: &[CrosscheckRow], form: Form) -> Vec<&CrosscheckRow> {
    rows.iter().filter(|row| (row.operation, row.form) == (Operation::FloatAddition, form)).collect()
}

/// Finds the end of the instruction cache in the rows of growing bodies, by the inside clock. `None` if no body is
/// slower, or there are too few.
pub fn instruction_cache(rows: &[CrosscheckRow]) -> Option<InstructionCache> {
    let mut bodies = additions(rows, Form::Body);
    bodies.retain(|row| row.inside_cycles.is_some());
    bodies.sort_by_key(|row| row.body);
    let cached_cycles = bodies.first()?.inside_cycles?;
    // The body from which on all are slower: one slow body between fast ones is noise.
    let is_slower = |row: &&CrosscheckRow| row.inside_cycles_low.or(row.inside_cycles) > Some(BEYOND * cached_cycles);
    let fast = bodies.len() - bodies.iter().rev().take_while(|row| is_slower(row)).count();
    let (longest, exceeds) = (bodies.get(fast.checked_sub(1)?)?, bodies.get(fast)?.body);
    Some(InstructionCache {
        cached_cycles,
        fits: longest.body,
        fitting_cycles: longest.inside_cycles?,
        exceeds,
        beyond_cycles: bodies.last()?.inside_cycles?,
    })
}

/// The row with the largest difference of repetitions of an operation in this form and on these threads, which is the
/// most certain one.
pub fn most_certain(
    rows: &[CrosscheckRow],
    executor: Executor,
    operation: Operation,
    form: Form,
    threads: Option<u32>,
) -> Option<&CrosscheckRow> {
    rows.iter()
        .filter(|row| (row.executor, row.operation, row.form, row.threads) == (executor, operation, form, threads))
        .max_by_key(|row| row.difference())
}

/// What is wrong with a row, in words: a failed check, two methods that disagree, a known cost that is not met.
pub fn objections(row: &CrosscheckRow) -> Vec<String> {
    let wrong = row.check.clone().filter(|check| check != "ok");
    let apart = row.disagreement().filter(|_| row.apart().is_some_and(|(least, _)| least > AGREEMENT));
    let apart = apart.map(|part| format!("{:+.1} % by the outside clock", 100.0 * part));
    let untrue = row.known_cycles.zip(row.inside_cycles).filter(|(known, found)| (found / known - 1.0).abs() > TRUTH);
    let untrue = untrue.map(|(known, found)| format!("{found:.3} cycles by the inside clock, {known} expected"));
    [wrong, apart, untrue].into_iter().flatten().collect()
}

/// The rows of one executor that agree with the second clock and with known costs, and those that do not.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// What executed the chains.
    pub executor: Executor,
    /// The number of this executor's rows.
    pub rows: usize,
    /// Each row that does not agree, and why: `integer addition, difference of 512 repetitions: 1.012 cycles by the inside clock, 1 expected`.
    pub objections: Vec<String>,
}

impl Agreement {
    /// The agreement of each executor with rows, the CPU last.
    pub fn of(rows: &[CrosscheckRow]) -> Vec<Self> {
        let of = |executor: Executor| {
            let own = || rows.iter().filter(move |row| row.executor == executor);
            let objection = |row: &CrosscheckRow| {
                let objections = objections(row);
                (!objections.is_empty()).then(|| format!("{}: {}", name(row), objections.join("; ")))
            };
            let agreement = Self { executor, rows: own().count(), objections: own().filter_map(objection).collect() };
            (agreement.rows > 0).then_some(agreement)
        };
        [Executor::Gpu, Executor::Cpu].into_iter().filter_map(of).collect()
    }

    /// `CPU: 17 of 18 rows agree with a second clock and with costs known in advance`.
    pub fn summary(&self) -> String {
        let count = match self.rows - self.objections.len() {
            1 if self.rows == 1 => "the only row agrees".to_owned(),
            _ if self.objections.is_empty() => format!("all {} rows agree", self.rows),
            1 => format!("1 of {} rows agrees", self.rows),
            agreeing => format!("{agreeing} of {} rows agree", self.rows),
        };
        let executor = self.executor.as_str().to_uppercase();
        format!("{executor}: {count} with a second clock and with costs known in advance")
    }
}

/// What a row measured: `integer addition, difference of 512 repetitions`.
fn name(row: &CrosscheckRow) -> String {
    let operation = row.operation.as_str().replace('_', " ");
    let form = match row.form {
        Form::Looped => String::new(),
        Form::Straight => ", without a loop".to_owned(),
        Form::Body => format!(", body of {}", row.body),
    };
    let threads = row.threads.map(|threads| format!(", {}", plural(threads, "thread"))).unwrap_or_default();
    format!("{operation}{form}{threads}, difference of {} repetitions", row.difference())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{row, series};
    use super::*;

    fn body(body: u64, cycles: f64) -> CrosscheckRow {
        let half = 0.001 * cycles;
        CrosscheckRow {
            form: Form::Body,
            body,
            inside_cycles: Some(cycles),
            inside_cycles_low: Some(cycles - half),
            inside_cycles_high: Some(cycles + half),
            ..row()
        }
    }

    #[test]
    fn the_instruction_cache_ends_where_all_longer_bodies_are_slower() {
        // The paper's table 1 as bodies: 4.03 up to 2,568 additions (here 4.14 at 5,632), 5.07 at 8,192, 6.95 beyond.
        let rows = [body(20_992, 6.95), body(512, 4.03), body(5632, 4.14), body(2568, 4.03), body(8192, 5.07)];
        let found = instruction_cache(&rows).unwrap();
        assert!((found.fitting_cycles - 4.14).abs() < 1e-12, "of the longest body that fits");
        assert_eq!((found.fits, found.exceeds), (5632, 8192));
        assert!((found.cached_cycles - 4.03).abs() < 1e-12 && (found.beyond_cycles - 6.95).abs() < 1e-12);
        let outlier = [body(512, 4.0), body(1024, 5.0), body(2048, 4.0), body(4096, 7.0)];
        assert_eq!(instruction_cache(&outlier).map(|found| found.fits), Some(2048), "one slow body is noise");
        assert_eq!(instruction_cache(&[body(512, 4.0), body(1024, 4.01)]), None, "no body is slower");
        assert_eq!(instruction_cache(&[row()]), None, "no row of a growing body");
    }

    #[test]
    fn a_row_is_objected_to_for_each_reason() {
        let good = row();
        assert_eq!(objections(&good), [] as [String; 0]);
        let apart = CrosscheckRow { inferred_cycles: Some(4.5), inferred_cycles_low: Some(4.4), ..good.clone() };
        assert!(objections(&apart)[0].contains("+12.5 %"), "{:?}", objections(&apart));
        let uncertain = CrosscheckRow { inferred_cycles_low: Some(3.9), ..apart };
        assert_eq!(objections(&uncertain), [] as [String; 0], "the interval holds the cost inside");
        let wrong = CrosscheckRow { known_cycles: Some(6.0), ..good.clone() };
        assert!(objections(&wrong)[0].contains("inside clock, 6 expected"), "{:?}", objections(&wrong));
        let failed = CrosscheckRow { check: Some("3 threads".into()), ..good };
        assert_eq!(objections(&failed), ["3 threads"]);
    }

    #[test]
    fn each_row_that_does_not_agree_is_named_with_its_reason() {
        let of_cpu = |operation, inside| CrosscheckRow {
            executor: Executor::Cpu,
            operation,
            threads: None,
            inside_cycles: Some(inside),
            inferred_cycles: Some(inside),
            inferred_cycles_low: None,
            inferred_cycles_high: None,
            known_cycles: Some(1.0),
            ..row()
        };
        let rows = [
            of_cpu(Operation::IntegerAddition, 1.0),
            of_cpu(Operation::IntegerMultiplication, 1.012),
            of_cpu(Operation::IntegerAddition, 1.001),
            row(),
        ];
        let [gpu, cpu] = &Agreement::of(&rows)[..] else { panic!("two executors") };
        assert_eq!(gpu.summary(), "GPU: the only row agrees with a second clock and with costs known in advance");
        assert_eq!(cpu.summary(), "CPU: 2 of 3 rows agree with a second clock and with costs known in advance");
        let [objection] = &cpu.objections[..] else { panic!("{:?}", cpu.objections) };
        assert!(objection.starts_with("integer multiplication, difference of "), "{objection}");
        assert!(objection.ends_with(": 1.012 cycles by the inside clock, 1 expected"), "{objection}");
        assert_eq!(Agreement::of(&[]), []);
    }

    #[test]
    fn the_largest_difference_is_the_most_certain() {
        let rows: Vec<CrosscheckRow> = [512, 51_200, 2056].map(|more| super::super::rows::row_of(&series(more))).into();
        let find = |threads| most_certain(&rows, Executor::Gpu, Operation::FloatAddition, Form::Looped, threads);
        assert_eq!(find(Some(32)).map(CrosscheckRow::difference), Some(51_200));
        assert_eq!(find(Some(64)), None);
    }
}
