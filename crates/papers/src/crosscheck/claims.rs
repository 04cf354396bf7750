//! Tests the statements of the paper on rows of this machine.

use syncscope_report::{Finding, Paper};

use super::findings::{AGREEMENT, INSTRUCTION_BYTES, InstructionCache, additions, instruction_cache, most_certain};
use super::{CrosscheckRow, Executor, Form, Operation};
use crate::Claim;

/// Table 1 of the paper, a V100: the repeat difference, cycles inferred from the CPU's time, cycles tested in the GPU.
pub(super) const TABLE_1: [(u64, Option<f64>, f64); 9] = [
    (512, None, 4.150),
    (2056, Some(4.045), 4.025),
    (5120, Some(4.034), 4.025),
    (7680, Some(5.278), 5.067),
    (10_240, Some(7.259), 6.952),
    (20_480, Some(7.080), 6.950),
    (25_600, Some(7.066), 6.958),
    (40_960, Some(7.014), 6.954),
    (51_200, Some(7.005), 6.958),
];

/// From this difference on, the paper calls both methods equal "within the margin of error"; its rows differ by up to
/// 4.42 %.
const FROM: u64 = 2056;
const MARGIN: f64 = 0.045;

/// All claims, which are about GPUs; none if no GPU was measured.
pub(super) fn claims(rows: &[CrosscheckRow]) -> Vec<Finding> {
    if !rows.iter().any(|row| row.executor == Executor::Gpu) {
        return Vec::new();
    }
    let claims = [same_result(rows), addition(rows), instructions(rows), deviation(rows), barriers(rows)];
    Claim::findings(Paper::Zhang, "zhang.crosscheck", claims)
}

/// A row, and the least and the most by which its two methods differ.
type Apart<'a> = (&'a CrosscheckRow, [f64; 2]);

/// Whether both methods agree in all rows: even the farthest ends of their intervals are within `margin`. `None` if the
/// intervals do not decide. The row is the one that shows it.
fn agree<'a>(rows: impl Iterator<Item = &'a CrosscheckRow>, margin: f64) -> (Option<bool>, Option<Apart<'a>>) {
    let apart: Vec<Apart<'_>> = rows.filter_map(|row| Some((row, row.apart()?.into()))).collect();
    let farthest = |end: usize| apart.iter().copied().max_by(|(_, one), (_, other)| one[end].total_cmp(&other[end]));
    match (farthest(0), farthest(1)) {
        (Some(least), _) if least.1[0] > margin => (Some(false), Some(least)),
        (_, most) => (most.filter(|(_, [_, most])| *most <= margin).map(|_| true), most),
    }
}

fn same_result(rows: &[CrosscheckRow]) -> Claim {
    let compared = rows
        .iter()
        .filter(|row| row.operation == Operation::FloatAddition && row.form != Form::Body && row.difference() >= FROM);
    let (agree, farthest) = agree(compared, MARGIN);
    let figures = farthest.and_then(|(row, [least, most])| {
        let [part, least, most, margin] = [row.disagreement()?, least, most, MARGIN].map(|share| 100.0 * share);
        let part = part.abs();
        let is_exact = most - least < 0.005;
        let how = if agree == Some(false) || is_exact { "differ" } else { "may differ" };
        let ends = if is_exact { String::new() } else { format!(" ({least:.2} to {most:.2} %)") };
        let (difference, form) = (row.difference(), row.form);
        Some(format!(
            "for float additions with a repeat difference of {FROM} or more, the clocks {how} most at {difference} ({form}): by {part:.2} %{ends}; the paper's rows differ by up to {margin:.1} %"
        ))
    });
    of_table("The latency inferred from the CPU clock equals that from the GPU clock within the margin of error", agree, figures)
}

fn addition(rows: &[CrosscheckRow]) -> Claim {
    let row = additions(rows, Form::Looped).into_iter().max_by_key(|row| row.difference());
    let both = row.and_then(|row| Some((row.inferred_cycles?, row.inside_cycles?)));
    of_table(
        "A float addition takes 4 cycles (V100)",
        both.map(|both| [both.0, both.1].iter().all(|cycles| (cycles / 4.0 - 1.0).abs() <= 0.01)),
        both.map(|(outside, inside)| {
            format!(
                "{outside:.3} cycles by the outside clock, {inside:.3} by the inside clock, in a loop that stays in \
                 the instruction cache"
            )
        }),
    )
}

fn instructions(rows: &[CrosscheckRow]) -> Claim {
    let found = instruction_cache(rows);
    let tried = additions(rows, Form::Body).iter().map(|row| row.body).max();
    let figures = found.map(|InstructionCache { cached_cycles, fits, fitting_cycles, exceeds, beyond_cycles }| {
        let kib = fits * INSTRUCTION_BYTES / 1024;
        format!(
            "an addition takes {cached_cycles:.2} cycles in the shortest loop body and {fitting_cycles:.2} in one of \
             {fits} additions ({kib} KiB of code); in bodies of {exceeds} additions or more it takes longer, \
             {beyond_cycles:.2} cycles in the longest"
        )
    });
    of_table(
        "Beyond 8,192 successive repetitions, each one takes longer because of the instruction cache",
        tried.filter(|longest| *longest > 8192).map(|_| found.is_some_and(|found| found.fits <= 8192)),
        figures.or_else(|| Some(format!("no body of up to {} additions is slower than the shortest", tried?))),
    )
}

fn deviation(rows: &[CrosscheckRow]) -> Claim {
    let mut rows = additions(rows, Form::Looped);
    rows.sort_by_key(|row| row.difference());
    let ends = rows.first().zip(rows.last()).filter(|(first, last)| first.difference() < last.difference());
    let deviations = ends.and_then(|(first, last)| {
        Some(((first, first.inferred_deviation_cycles?), (last, last.inferred_deviation_cycles?)))
    });
    of_table(
        "A large difference in repetitions makes the deviation small (formula 2)",
        deviations.map(|((_, first), (_, last))| last < first),
        deviations.map(|((first, short), (last, long))| {
            format!(
                "the deviation of a single pair (not the median of all) is {short:.3} cycles at a difference of {} \
                 and {long:.4} at {}",
                first.difference(),
                last.difference()
            )
        }),
    )
}

/// The paper uses the method for barriers and does not compare it there.
fn barriers(rows: &[CrosscheckRow]) -> Claim {
    let is_barrier = |row: &&CrosscheckRow| {
        matches!(row.operation, Operation::BlockBarrier | Operation::GridBarrier) && row.difference() >= FROM
    };
    let threads: std::collections::BTreeSet<_> =
        rows.iter().filter(is_barrier).map(|row| (row.operation, row.threads)).collect();
    let certain = threads
        .iter()
        .filter_map(|(operation, threads)| most_certain(rows, Executor::Gpu, *operation, Form::Looped, *threads));
    let certain: Vec<&CrosscheckRow> = certain.collect();
    let figure = |row: &&CrosscheckRow| {
        let (blocks, threads, outside, inside) = (row.blocks?, row.threads?, row.inferred_cycles?, row.inside_cycles?);
        Some(format!("{} {blocks} x {threads}: {outside:.1} and {inside:.1} cycles", row.operation))
    };
    let figures: Vec<String> = certain.iter().filter_map(figure).collect();
    of_table(
        "The method also works for block and grid barriers",
        agree(certain.iter().copied(), AGREEMENT).0,
        (!figures.is_empty()).then(|| figures.join("; ")),
    )
}

/// A claim about the paper's table; without figures it was not measured here.
fn of_table(statement: &'static str, holds: Option<bool>, figures: Option<String>) -> Claim {
    let figures = figures.unwrap_or_else(|| "not measured".to_owned());
    Claim { place: "table 1, sections 3.2 and 3.3", statement, truth: holds.into(), figures }
}

#[cfg(test)]
mod tests {
    use syncscope_report::Truth::{Fails, Holds, Open};
    use syncscope_report::Outcome;

    use super::super::REPEAT_DIFFERENCES;
    use super::super::tests::row;
    use super::*;

    /// The paper's own table as rows.
    fn paper() -> Vec<CrosscheckRow> {
        let of = |(difference, outside, inside): (u64, Option<f64>, f64)| CrosscheckRow {
            form: Form::Straight,
            repeats_many: 512 + difference,
            body: 512 + difference,
            inferred_cycles: outside,
            inferred_cycles_low: None,
            inferred_cycles_high: None,
            inside_cycles: Some(inside),
            ..row()
        };
        TABLE_1.into_iter().map(of).collect()
    }

    fn claim(rows: &[CrosscheckRow], start: &str) -> Finding {
        claims(rows).into_iter().find(|claim| claim.text.starts_with(start)).unwrap()
    }

    #[test]
    fn the_papers_own_table_supports_it() {
        let differences: Vec<u64> = TABLE_1.iter().map(|(difference, ..)| *difference).collect();
        assert_eq!(differences, REPEAT_DIFFERENCES);
        let same = claim(&paper(), "The latency inferred");
        assert_eq!(same.outcome.verdict, Holds);
        assert!(
            same.outcome.sentence.contains("10240 (straight): by 4.42 %;") && same.outcome.sentence.contains("10240"),
            "{}",
            same.outcome.sentence
        );
    }

    #[test]
    fn statements_without_rows_are_open() {
        let other = CrosscheckRow { operation: Operation::IntegerAddition, ..row() };
        let open = claims(&[other]);
        assert!(
            open.len() == 5
                && open.iter().all(|claim| claim.outcome.verdict == Open && claim.outcome.sentence == "not measured")
        );
    }

    #[test]
    fn without_a_gpu_there_is_no_statement() {
        assert_eq!(claims(&[]), []);
        assert_eq!(claims(&[CrosscheckRow { executor: Executor::Cpu, ..row() }]), []);
    }

    #[test]
    fn statements_follow_the_figures() {
        let good = [row()];
        assert_eq!(claim(&good, "A float addition").outcome.verdict, Holds);
        let slow = [CrosscheckRow { inside_cycles: Some(4.2), inferred_cycles: Some(4.2), ..row() }];
        assert_eq!(claim(&slow, "A float addition").outcome.verdict, Fails);
        let apart = |low, high| {
            let ends = (Some(low), Some(high));
            [CrosscheckRow {
                inferred_cycles: Some(4.2),
                inferred_cycles_low: ends.0,
                inferred_cycles_high: ends.1,
                ..row()
            }]
        };
        for (low, high, verdict) in
            [(4.19, 4.3, Fails), (4.1, 4.3, Open), (3.81, 4.21, Open), (3.83, 4.17, Holds)]
        {
            assert_eq!(claim(&apart(low, high), "The latency inferred").outcome.verdict, verdict, "{low} to {high}");
        }
        // The row that decides is named, and not one that differs by more but may be equal.
        let both = [apart(3.96, 4.9), apart(4.19, 4.21)].concat();
        let Outcome { verdict, sentence, .. } = claim(&both, "The latency inferred").outcome;
        assert!(verdict == Fails && sentence.contains("(4.75 to 5.25 %)"), "{sentence}");
        let body = |body, cycles| CrosscheckRow {
            form: Form::Body,
            body,
            inside_cycles: Some(cycles),
            inside_cycles_low: Some(cycles),
            ..row()
        };
        let cache = claim(&[body(512, 4.0), body(7168, 4.0), body(9216, 5.5), body(16_384, 7.0)], "Beyond");
        assert_eq!(cache.outcome.verdict, Holds);
        assert!(cache.outcome.sentence.contains("7168 additions (112 KiB of code)"), "{}", cache.outcome.sentence);
        assert_eq!(claim(&[body(512, 4.0), body(16_384, 4.0)], "Beyond").outcome.verdict, Fails);
        assert_eq!(claim(&[body(512, 4.0), body(4096, 4.0)], "Beyond").outcome.verdict, Open, "not tried");
        for (low, high, verdict) in [(4.09, 4.3, Fails), (4.07, 4.3, Open), (3.93, 4.07, Holds)] {
            let [additions] = apart(low, high);
            let barrier = CrosscheckRow { operation: Operation::GridBarrier, ..additions };
            assert_eq!(claim(&[barrier], "The method also works").outcome.verdict, verdict, "{low} to {high}");
        }
    }

    #[test]
    fn the_deviation_is_compared_between_the_ends() {
        let at = |more: u64, deviation: f64| CrosscheckRow {
            repeats_many: 512 + more,
            inferred_deviation_cycles: Some(deviation),
            ..row()
        };
        assert_eq!(claim(&[at(51_200, 0.01), at(512, 1.0)], "A large difference").outcome.verdict, Holds);
        assert_eq!(claim(&[at(51_200, 1.0), at(512, 0.01)], "A large difference").outcome.verdict, Fails);
        assert_eq!(claim(&[at(512, 1.0)], "A large difference").outcome.verdict, Open);
    }
}
