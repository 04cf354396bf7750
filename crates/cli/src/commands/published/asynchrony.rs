//! `syncscope asynchrony`: which components of a vector a GPU updates one after the other.

use std::fmt::Write;

use comfy_table::{ContentArrangement, Table, presets};
use syncscope_core::PublishedExperiment;
use syncscope_core::published::asynchrony::claim::Claim;
use syncscope_core::published::asynchrony::claims::ClaimRow;
use syncscope_core::published::asynchrony::counted::ClassRow;
use syncscope_core::published::asynchrony::position::PositionClass;
use syncscope_core::published::asynchrony::{Asynchrony, Plan};
use syncscope_core::run::Status;

use super::experiment_run::{ExperimentRun, needed_gpu};
use crate::args::AsynchronyArguments;
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::progress::Progress;
use crate::terminal;

const EXPERIMENT: PublishedExperiment = PublishedExperiment::Asynchrony;

/// Executes the kernels, writes the directory and shows what became of each claim.
pub(crate) fn asynchrony(arguments: &AsynchronyArguments) -> Result<Outcome, Failure> {
    let AsynchronyArguments { executions, components, draws, .. } = *arguments;
    let plan = Plan { executions, components, draws };
    if let Some(fault) = plan.fault() {
        return Err(Failure::Usage(fault));
    }
    let mut laboratories = Laboratories::open(arguments.experiment.devices().as_deref())?;
    needed_gpu(EXPERIMENT, &mut laboratories)?;
    // No order is drawn on the host.
    let mut run = ExperimentRun::begin(EXPERIMENT, arguments.experiment.out.as_deref(), 0, &laboratories)?;
    let measured = measure(&plan, &mut laboratories)?;
    measured.write(run.directory())?;
    if measured.positions.iter().all(|row| row.inconsistencies == 0) {
        run.warn(
            "no inconsistency was found with any kernel and block size; most claims cannot be decided here".to_owned(),
        );
    }
    terminal::show(&classes(&measured.classes))?;
    terminal::show(&claims(&measured.claims))?;
    run.finish(Status::Done, &laboratories)
}

fn measure(plan: &Plan, laboratories: &mut Laboratories) -> Result<Asynchrony, Failure> {
    let mut progress = Progress::new("compiling");
    let gpu = needed_gpu(EXPERIMENT, laboratories).inspect_err(|_| progress.finish())?;
    let mut on_progress = |done, all| progress.show(&format!("kernels and block sizes done: {done} of {all}"));
    let measured = gpu.asynchrony(plan, &mut on_progress);
    progress.finish();
    measured.map_err(|error| Failure::CouldNot(format!("`syncscope {EXPERIMENT}`: {error}")))
}

/// A line for each kernel and block size: in which share of the executions something was inconsistent.
fn classes(rows: &[ClassRow]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let headings = PositionClass::ALL.iter().map(|class| class.as_str().replace('_', " "));
    let fixed = ["kernel", "threads", "blocks", "at once"].map(str::to_owned);
    table.set_header(fixed.into_iter().chain(headings));
    for of_size in rows.chunk_by(|one, next| (one.variant, one.block_threads) == (next.variant, next.block_threads)) {
        let first = &of_size[0];
        let fixed = [first.variant.to_string(), first.block_threads.to_string(), first.blocks.to_string()];
        let at_once = first.resident_blocks.min(first.blocks).to_string();
        table.add_row(fixed.into_iter().chain([at_once]).chain(of_size.iter().map(share)));
    }
    table
}

/// `12.3 %` of the executions; `0` if there was nothing, `-` where there is no such component.
fn share(row: &ClassRow) -> String {
    match row.share {
        None => "-".to_owned(),
        Some(_) if row.executions_with == 0 => "0".to_owned(),
        Some(share) if share < 1e-4 => format!("{} times", row.executions_with),
        Some(share) => format!("{:.2} %", 100.0 * share),
    }
}

/// A line for each claim over all sizes of the paper.
fn claims(rows: &[ClaimRow]) -> String {
    let mut text = String::new();
    let together = rows.iter().filter(|row| row.block_threads.is_none());
    for row in together {
        let kernel = row.variant.map(|variant| format!(" ({variant})")).unwrap_or_default();
        let source = match row.claim {
            Claim::EightOrders => row.claim.source(),
            _ if row.in_paper => "paper",
            _ => "control, not in the paper",
        };
        let (verdict, statement) = (row.verdict.as_str().replace('_', " "), row.claim.statement());
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{verdict}: {statement}{kernel}\n    {source}; here: {}", row.found);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::published::asynchrony::Variant;
    use syncscope_core::published::asynchrony::counted::{Batch, Counted};

    fn counted() -> Counted {
        let mut by_position = vec![0; 1024];
        (by_position[64], by_position[63]) = (30, 1);
        Counted {
            variant: Variant::Global,
            block_threads: 64,
            components: 1024,
            resident_blocks: 8,
            by_position,
            batches: vec![Batch { executions: 20_000, with: [0, 0, 0, 30, 1] }],
            seconds: 1.0,
        }
    }

    #[test]
    fn shares_that_are_too_small_for_percents_are_counts() {
        let rows = counted().classes();
        let cells: Vec<String> = rows.iter().map(share).collect();
        assert_eq!(cells, ["0", "0", "0", "0.15 %", "1 times"]);
        let text = classes(&rows).to_string();
        assert!(text.lines().nth(1).is_some_and(|line| line.contains("global") && line.contains('8')), "{text}");
        let one_block = Counted { block_threads: 1024, by_position: vec![0; 1024], ..counted() };
        assert_eq!(share(&one_block.classes()[PositionClass::BlockFirst.index()]), "-");
    }

    #[test]
    fn claims_are_shown_once_with_what_was_found() {
        let rows = syncscope_core::published::asynchrony::claims::claims_of_kernels(&counted().classes());
        let text = claims(&rows);
        assert!(text.contains("does not hold: All are at the first component"), "{text}");
        assert!(text.contains("here: does not hold for blocks of 64"), "{text}");
        assert_eq!(text.matches("here:").count(), 4, "one line for each claim about this kernel: {text}");
    }
}
