//! Variables that threads share, and variables that share a cache line.

use syncscope_core::{Case, Form, Group, Row, Verdict};

use super::Finding;
use super::field::{Basis, Known, Ratio, rung};
use crate::RunData;
use crate::analysis::false_sharing;
use crate::figure::{self, grouped};

/// The drop of the cost where elements of different threads are no longer on one cache line. The finding is made from
/// intervals within the run: all strides are measured in the same way.
pub(in crate::analysis) fn false_sharing(data: &RunData) -> Option<Finding> {
    let findings = false_sharing::findings(&data.run, &data.rows);
    let (finding, drop) = findings.iter().find_map(|finding| Some((finding, finding.cost_drop?)))?;
    let is_shown = |case: &Case| {
        case.primitive == false_sharing::PRIMITIVE
            && case.threads == Some(finding.threads)
            && case.dtype == Some(finding.dtype)
            && case.placement == finding.placement
            && case.form.is_none()
    };
    let rows: Vec<usize> = (0..data.rows.len()).filter(|index| is_shown(&data.rows[*index].case)).collect();
    let known = rows.iter().filter_map(|index| Known::with_figure(data, *index, Basis::Run));
    let mut strides: Vec<(u32, Known<'_>)> =
        known.filter_map(|one| Some((one.row.case.layout?.stride()?, one))).collect();
    strides.sort_by_key(|(stride, _)| *stride);
    let (_, adjacent) = strides.first()?;
    let (_, distant) = strides.iter().find(|(stride, _)| *stride == drop.stride)?;
    let text = format!(
        "An atomic add is {} cheaper where the threads' elements are {} bytes apart than where they are adjacent ({} \
         instead of {}; {} threads, {}).",
        adjacent.times(distant),
        drop.bytes,
        distant.time(),
        adjacent.time(),
        finding.threads,
        finding.dtype
    );
    Some(Finding::certain("decide-false-sharing", text, rows))
}

/// Additions to one variable by all CPUs, and by all threads of a GPU, as rates of all together: the cost of one addition
/// grows with the threads that wait. Two instruments measured them, so the intervals for another run are compared.
pub(super) fn contended_on_both_sides(data: &RunData) -> Option<Finding> {
    let cpu = Total::on_rung(data, "All threads", "Atomic add, contended")?;
    let gpu = Total::on_rung(data, "Device", "Atomic add, all threads")?;
    let (less, more) = if cpu.rate < gpu.rate { (&cpu, &gpu) } else { (&gpu, &cpu) };
    let ratio = more.over(less);
    if !ratio.is_above_one() {
        let question = "whether CPU or GPU threads add more often to one variable".to_owned();
        return Some(Finding::Open(format!("{question} ({} and {} a second)", cpu.rate(), gpu.rate())));
    }
    let winner = if cpu.rate < gpu.rate { "the GPU" } else { "the CPU" };
    let separate = not_aggregated(data, &gpu.known.row.case)
        .map(|rate| format!(" ({} where the compiler does not sum each warp first)", count(rate)))
        .unwrap_or_default();
    let text = format!(
        "{} CPU threads add {} times a second to one variable, {} GPU threads {} times{separate}: {} as often on {winner}.",
        cpu.known.row.case.actors(),
        cpu.rate(),
        grouped(gpu.known.row.case.actors()),
        gpu.rate(),
        ratio.times(),
    );
    let rows = [cpu.known.index, gpu.known.index].into_iter().chain(row_not_aggregated(data, &gpu.known.row.case));
    Some(Finding::certain("decide-atomics", text, rows))
}

/// That additions by CPU and GPU at once are no atomic operations of both sides: the driver says so of the link. The run
/// skips the cases, in which updates would be lost.
pub(super) fn lost_updates(data: &RunData) -> Option<Finding> {
    data.run.machine.gpus.iter().find(|gpu| gpu.host_native_atomics == Some(false))?;
    let is_of_both = |row: &Row| row.case.primitive == "hybrid.atomic.add" && row.case.group == Some(Group::Both);
    let rows: Vec<usize> = (0..data.rows.len()).filter(|index| is_of_both(&data.rows[*index])).collect();
    let text = "Additions by CPU and GPU at once lose updates here: the link between them carries no native atomic operations.";
    (!rows.is_empty()).then(|| Finding::certain("decide-atomics", text.to_owned(), rows))
}

/// The rate of all threads together, of a row whose cost has a figure.
pub(in crate::analysis) struct Total<'a> {
    pub(in crate::analysis) known: Known<'a>,
    pub(in crate::analysis) rate: f64,
}

impl<'a> Total<'a> {
    pub(in crate::analysis) fn of(data: &'a RunData, index: usize, basis: Basis) -> Option<Self> {
        let known = Known::with_figure(data, index, basis)?;
        Some(Self { known, rate: known.row.ops_per_s_total? })
    }

    fn on_rung(data: &'a RunData, level: &str, title: &str) -> Option<Self> {
        Self::of(data, rung(data, level, title)?.row, Basis::Machine)
    }

    /// This rate over the other one: as uncertain as the costs of their operations.
    pub(in crate::analysis) fn over(&self, other: &Self) -> Ratio {
        let operations = |total: &Self| total.rate * total.known.ns;
        other.known.over(&self.known).scaled(operations(self) / operations(other))
    }

    /// `43.8 million`, `~43.8 million` where the row is noisy.
    pub(in crate::analysis) fn rate(&self) -> String {
        let doubt = if self.known.row.verdict == Verdict::Resolved { "" } else { figure::ROUGHLY };
        format!("{doubt}{}", count(self.rate))
    }
}

/// The rate of the same case where the compiler cannot add up the operands of a warp before one atomic operation.
pub(in crate::analysis) fn not_aggregated(data: &RunData, case: &Case) -> Option<f64> {
    data.rows.get(row_not_aggregated(data, case)?)?.ops_per_s_total
}

/// Where the row with that rate stands.
fn row_not_aggregated(data: &RunData, case: &Case) -> Option<usize> {
    let form = Case { form: Some(Form::NotAggregated), ..case.clone() };
    data.rows
        .iter()
        .position(|row| row.case == form && row.verdict == Verdict::Resolved && row.ops_per_s_total.is_some())
}

/// A large number in words: `43.8 million`, `1.37 billion`.
pub(in crate::analysis) fn count(number: f64) -> String {
    let (divisor, word) = match number {
        ..1e6 => (1e3, "thousand"),
        ..1e9 => (1e6, "million"),
        _ => (1e9, "billion"),
    };
    let value = number / divisor;
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$} {word}")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, on_blocks, row, said, within};
    use super::*;
    use syncscope_core::{Dtype, Layout};

    fn total(row: Row, rate: f64) -> Row {
        Row { ops_per_s_total: Some(rate), ..row }
    }

    #[test]
    fn rates_of_both_sides_are_compared() {
        let cpu = total(row(case("cpu.atomic.add", 16), 366.0, 0.17), 43.8e6);
        let gpu = total(row(on_blocks("gpu.atomic.add", 132, 1024), 99_000.0, 0.02), 1.37e9);
        let sentence = "16 CPU threads add 43.8 million times a second to one variable, 135,168 GPU threads 1.37 billion times: \
                        31 times as often on the GPU.";
        assert_eq!(said(contended_on_both_sides, vec![cpu.clone(), gpu.clone()]), Some(Ok(sentence.into())));
        let case = Case { form: Some(Form::NotAggregated), ..gpu.case.clone() };
        let form = Row { case, ..total(gpu.clone(), 0.4e9) };
        let run = crate::testing::data(vec![cpu.clone(), gpu.clone(), form]);
        let Some(Finding::Certain(answer)) = contended_on_both_sides(&run) else { panic!("no answer") };
        assert!(answer.text.contains("(400 million where the compiler does not"), "{}", answer.text);
        assert_eq!(answer.rows, [0, 1, 2], "a row for each figure");
        assert_eq!(said(contended_on_both_sides, vec![cpu.clone()]), None);
        assert_eq!(said(contended_on_both_sides, vec![gpu.clone()]), None);
        let close = total(row(case_of(&gpu), 99_000.0, 0.02), 50e6);
        assert!(said(contended_on_both_sides, vec![cpu.clone(), close]).unwrap().is_err(), "17 % may swap them");
        let noisy = |half: f64| {
            let row = within(cpu.clone(), 366.0 - half, 366.0 + half);
            vec![Row { verdict: Verdict::Noisy("wide".into()), ..row }, gpu.clone()]
        };
        let sentence = said(contended_on_both_sides, noisy(80.0)).unwrap().unwrap();
        assert!(sentence.starts_with("16 CPU threads add ~43.8 million times"), "{sentence}");
        assert_eq!(said(contended_on_both_sides, noisy(100.0)), None, "the table has no figure");
    }

    #[test]
    fn a_link_without_atomic_operations_is_a_finding_about_the_machine() {
        let skipped = |group| {
            let case = Case { group: Some(group), ..case("hybrid.atomic.add", 32) };
            Row::unmeasured(case, Verdict::Skipped("lost".into()))
        };
        let mut data = super::super::testing::data(vec![skipped(Group::GpuAlone), skipped(Group::Both)]);
        assert_eq!(lost_updates(&data), None, "a run of an older version does not know");
        data.run.machine.gpus[0].host_native_atomics = Some(true);
        assert_eq!(lost_updates(&data), None);
        data.run.machine.gpus[0].host_native_atomics = Some(false);
        let Some(Finding::Certain(answer)) = lost_updates(&data) else { panic!("no answer") };
        assert!(answer.text.starts_with("Additions by CPU and GPU at once lose updates here"), "{}", answer.text);
        assert_eq!(answer.rows, [1]);
    }

    fn case_of(row: &Row) -> Case {
        row.case.clone()
    }

    #[test]
    fn the_drop_of_the_cost_is_said() {
        let add = |stride, ns| {
            let layout = Some(Layout::Private { stride });
            row(Case { layout, dtype: Some(Dtype::I32), ..case("cpu.atomic.add", 16) }, ns, 0.2)
        };
        let rows = vec![add(1, 367.0), add(8, 43.9), add(16, 16.9), add(32, 16.9)];
        let sentence = "An atomic add is 22 times cheaper where the threads' elements are 64 bytes apart than where they are \
                        adjacent (16.9 ns instead of 367 ns; 16 threads, i32).";
        assert_eq!(said(false_sharing, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(false_sharing, rows[..2].to_vec()), None, "two strides show no plateau");
        let flat = vec![add(1, 17.0), add(8, 17.1), add(16, 16.9), add(32, 16.9)];
        assert_eq!(said(false_sharing, flat), None);
    }

    #[test]
    fn large_numbers_are_words() {
        let texts = [999.4e3, 43.76e6, 1.365e9, 47.4e9, 128.4e6].map(count);
        assert_eq!(texts, ["999 thousand", "43.8 million", "1.36 billion", "47.4 billion", "128 million"]);
    }
}
