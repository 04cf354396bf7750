//! `syncscope paper reductions`: reductions with each kind of synchronization, and whether the costs of primitives predict
//! which of them is the fastest.

mod costs;

use std::path::Path;
use std::time::Duration;

use syncscope_core::published::reductions::prediction::{needed_cases, used_costs};
use syncscope_core::published::reductions::{
    CostSource, Operation, ReductionRow, Reductions, WarpRow, decisions, predictions,
};
use syncscope_core::run::Status;
use syncscope_core::run::machine::Machine;
use syncscope_core::{Case, Laboratory, Row};
use syncscope_gpu::ReductionPlan;
use syncscope_report::{RunData, table};

use super::experiment_run::{ExperimentRun, needed_gpu, with_alternative};
use crate::args::{ReductionsArguments, ReductionsOn};
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::progress::Progress;
use crate::runs;
use crate::terminal;

const EXPERIMENT: &str = "reductions";

/// The time for the reductions of one side; the costs of primitives take about as long.
const TIME: Duration = Duration::from_secs(12);

/// Measures, compares with the costs, and writes the directory.
pub(crate) fn reductions(arguments: &ReductionsArguments) -> Result<Outcome, Failure> {
    let of_run = arguments.run.as_deref().map(|path| Ok::<_, Failure>((path, run_with_rows(path)?))).transpose()?;
    let mut laboratories = Laboratories::open(arguments.experiment.devices().as_deref())?;
    if arguments.on != ReductionsOn::Cpu {
        needed_gpu(EXPERIMENT, &mut laboratories)
            .map_err(|failure| with_alternative(failure, "`--on cpu` measures the reductions of the CPU alone"))?;
    }
    if let Some((path, data)) = &of_run {
        check_machine(path, &data.run.machine, &laboratories.machine(), arguments.on)?;
    }
    let seed = fastrand::u64(..);
    let mut run = ExperimentRun::begin(EXPERIMENT, arguments.experiment.out.as_deref(), seed, &laboratories)?;
    if let Some((path, data)) = of_run.as_ref().filter(|(_, data)| data.run.status != Status::Done) {
        run.warn(unfinished(path, data));
    }
    let mut progress = Progress::new("reducing");
    let found = measured(arguments, of_run.map(|(_, data)| data.rows), seed, &mut laboratories, &mut progress);
    progress.finish();
    let found = found?;
    found.write(run.directory())?;
    terminal::show(&table::reductions(&found, terminal::width()))?;
    run.finish(Status::Done, &laboratories)
}

fn run_with_rows(path: &Path) -> Result<RunData, Failure> {
    let data = runs::load_rows(path)?;
    if data.rows.is_empty() {
        return Err(Failure::Usage(format!("the run in {} has no measurements", path.display())));
    }
    Ok(data)
}

/// Fails if the costs are those of other hardware than the reductions: they predict nothing.
fn check_machine(path: &Path, of_run: &Machine, here: &Machine, on: ReductionsOn) -> Result<(), Failure> {
    let cpu = |machine: &Machine| Machine { cpu: machine.cpu.clone(), ..Machine::default() };
    let is_same_processor = on == ReductionsOn::Gpu || cpu(of_run).may_be(&cpu(here));
    // An experiment uses one device of several.
    let has_devices = on == ReductionsOn::Cpu || here.gpus.iter().all(|gpu| of_run.gpus.contains(gpu));
    if is_same_processor && has_devices {
        return Ok(());
    }
    let names = std::iter::once(&of_run.cpu.model).chain(of_run.gpus.iter().map(|gpu| &gpu.name));
    let names: Vec<&str> = names.map(String::as_str).filter(|name| !name.is_empty()).collect();
    Err(Failure::Usage(format!(
        "{} was measured on another machine ({}), whose costs predict nothing here; name a run of this machine, or leave out --run",
        path.display(),
        if names.is_empty() { "of unknown hardware".to_owned() } else { names.join(", ") }
    )))
}

/// What to know of costs from a run that has not ended as planned.
fn unfinished(path: &Path, data: &RunData) -> String {
    format!(
        "the costs are from {}, a run that is not complete: {} of its {} cases have a row, {} of them provisional; \
         `syncscope run --resume` measures the rest",
        path.display(),
        data.rows.len(),
        data.run.planned,
        data.provisional()
    )
}

fn measured(
    arguments: &ReductionsArguments,
    costs_of_run: Option<Vec<Row>>,
    seed: u64,
    laboratories: &mut Laboratories,
    progress: &mut Progress,
) -> Result<Reductions, Failure> {
    let sizes = sizes(&arguments.sizes);
    let (mut times, mut warps): (Vec<ReductionRow>, Vec<WarpRow>) = (Vec::new(), Vec::new());
    if let (Ok(gpu), true) = (&mut laboratories.gpu, arguments.on != ReductionsOn::Cpu) {
        let operations = vec![Operation::Max, Operation::Sum];
        let plan = ReductionPlan { sizes: sizes.clone(), operations, time: TIME, seed };
        let rows = gpu.reductions(&plan, &mut |variant, elements| progress.show(&format!("{variant} {elements}")));
        times.extend(rows.map_err(|error| Failure::CouldNot(error.to_string()))?);
        progress.show("sums of a warp");
        warps = gpu.warp_reductions(seed);
    }
    if let (Some(cpu), true) = (&mut laboratories.cpu, arguments.on != ReductionsOn::Gpu) {
        // Decides whether idle CPUs are kept awake, for the reductions and for the costs.
        cpu.prepare(&[Case::new("cpu.barrier.std")], &mut |_, _| {});
        let plan = syncscope_cpu::published::reductions::ReductionPlan { sizes: sizes.clone(), time: TIME, seed };
        times.extend(cpu.reductions(&plan, &mut |variant, elements| progress.show(&format!("{variant} {elements}"))));
    }
    let chosen: Vec<ReductionRow> = decided(&times, &sizes);
    let rows = match costs_of_run {
        Some(rows) => rows,
        None => costs_here(&needed_cases(&chosen), laboratories, seed, progress),
    };
    let source = if arguments.run.is_some() { CostSource::Run } else { CostSource::Here };
    let costs = syncscope_core::published::reductions::costs::Costs::of(rows, source);
    let (predictions, decisions) = (predictions(&chosen, &costs), decisions(&chosen, &costs));
    Ok(Reductions { times, warps, costs: used_costs(&chosen, &costs), predictions, decisions })
}

/// The numbers of elements, in order.
fn sizes(asked: &[u64]) -> Vec<u64> {
    let usual = || (10..=28).step_by(2).map(|power| 1_u64 << power).collect();
    let mut sizes: Vec<u64> = if asked.is_empty() { usual() } else { asked.to_vec() };
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Sizes at which differences are predicted: at most this many. Each needs costs on its own grid.
const DECIDED: usize = 5;

/// The rows of the sizes at which differences are predicted, spread over all, for the maximum.
fn decided(times: &[ReductionRow], sizes: &[u64]) -> Vec<ReductionRow> {
    let count = sizes.len().min(DECIDED);
    let at = |place: usize| if count < 2 { 0 } else { place * (sizes.len() - 1) / (count - 1) };
    let chosen: Vec<u64> = (0..count).filter_map(|place| sizes.get(at(place)).copied()).collect();
    let is_chosen = |row: &&ReductionRow| row.operation == Operation::Max && chosen.contains(&row.elements);
    times.iter().filter(is_chosen).cloned().collect()
}

/// Measures the costs of these cases on this machine.
fn costs_here(cases: &[Case], laboratories: &mut Laboratories, seed: u64, progress: &mut Progress) -> Vec<Row> {
    let of =
        |domain: &str| cases.iter().filter(|case| case.domain_and_family().0 == domain).cloned().collect::<Vec<_>>();
    let mut rows = Vec::new();
    if let Ok(gpu) = &mut laboratories.gpu {
        let cases: Vec<Case> = of("gpu").into_iter().map(|case| gpu.with_full_grid(case)).collect();
        gpu.prepare(&cases, &mut |_, _| {});
        rows.extend(costs::measure(gpu, &cases, seed, progress));
    }
    if let Some(cpu) = &mut laboratories.cpu {
        rows.extend(costs::measure(cpu as &mut dyn Laboratory, &of("cpu"), seed, progress));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::published::reductions::variant;

    #[test]
    fn sizes_are_in_order_and_not_twice() {
        assert_eq!(sizes(&[4096, 7, 4096]), [7, 4096]);
        let usual = sizes(&[]);
        assert_eq!((usual.len(), usual[0], usual[9]), (10, 1 << 10, 1 << 28));
    }

    #[test]
    fn differences_are_predicted_at_the_ends_and_between() {
        let sizes = sizes(&[]);
        let Some(variant) = variant("device.atomic") else { return };
        let row = |operation, elements: &u64| ReductionRow::unmeasured(variant, operation, *elements, String::new());
        let rows: Vec<ReductionRow> =
            sizes.iter().flat_map(|elements| [row(Operation::Max, elements), row(Operation::Sum, elements)]).collect();
        let chosen: Vec<u32> = decided(&rows, &sizes).iter().map(|row| row.elements.ilog2()).collect();
        assert_eq!(chosen, [10, 14, 18, 22, 28]);
        assert_eq!(decided(&rows, &sizes[..1]).len(), 1);
        assert!(decided(&rows, &[]).is_empty());
    }
}
