//! `show --history` as text: which costs changed over the runs of a machine, and when.

use serde_json::{Value, json};

use super::answer::{Answer, Unit};
use crate::analysis::compare::Change;
use crate::analysis::course::{Course, Step};
use crate::grid::{Grid, markdown};
use crate::harmless::plain;
use crate::reading::State;
use crate::{RunData, figure, naming};

/// Writes the runs, a line for each step, and the number of cases, for the terminal.
pub fn for_terminal(runs: &[RunData], course: &Course, width: usize) -> String {
    let heading = plain(&heading(runs));
    let steps = grid(runs, course).map(|grid| format!("\n\n{}", grid.for_terminal(width))).unwrap_or_default();
    format!("{heading}{steps}\n\n{}", summary(course))
}

/// Writes the same as Markdown.
pub fn as_markdown(runs: &[RunData], course: &Course) -> String {
    let steps = grid(runs, course).map(|grid| format!("{}\n\n", grid.as_markdown())).unwrap_or_default();
    format!("{}\n\n{steps}{}", markdown(&heading(runs)), summary(course))
}

/// Writes one JSON object: the `runs`, in order, and the steps as `answers`.
pub fn as_json(runs: &[RunData], course: &Course) -> Value {
    let answers: Vec<Answer> = course.steps.iter().map(|step| answer(runs, step)).collect();
    let names: Vec<&str> = runs.iter().map(|data| data.name.as_str()).collect();
    json!({ "runs": names, "cases": course.cases, "left_out": course.left_out, "answers": answers })
}

fn heading(runs: &[RunData]) -> String {
    let ends = runs.first().zip(runs.last());
    ends.map_or_else(String::new, |(first, last)| {
        let (machine, count) = (naming::machine(&last.run.machine), naming::plural(runs.len(), "run"));
        format!("{machine}, {count} from {} to {}", first.run.started, last.run.started)
    })
}

fn summary(course: &Course) -> String {
    let (steps, cases) = (naming::plural(course.steps.len(), "change"), naming::plural(course.cases, "case"));
    let left_out =
        if course.left_out > 0 { format!("; {} more in too few runs", course.left_out) } else { String::new() };
    format!("{steps} in {cases}{left_out}. If nothing changed, the chance of finding a change is about 1 %.")
}

fn name(step: &Step) -> String {
    match (&step.case, step.class) {
        (Some(case), _) => case.to_string(),
        (None, class) => format!("all {}", class.map_or_else(String::new, |class| class.to_string())),
    }
}

fn grid(runs: &[RunData], course: &Course) -> Option<Grid> {
    let run = |step: &&Step| &runs[step.run];
    let grid = Grid::of(&course.steps)
        .text("from run", |step| run(step).name.clone())
        .text("started", |step| run(step).run.started.clone())
        .number("times the cost", |step| figure::ratio(step.ratio))
        .text("95 % interval", |step| figure::ends(Some(step.low), Some(step.high)))
        .text("case", |step| name(step));
    (!course.steps.is_empty()).then(|| grid.grid())
}

fn answer(runs: &[RunData], step: &Step) -> Answer {
    let change = if step.ratio > 1.0 { Change::Slower } else { Change::Faster };
    Answer {
        subject: step.case.as_ref().map(|case| case.primitive.clone()),
        against: Some("the runs before".to_owned()),
        value: Some(step.ratio),
        unit: Unit::Ratio,
        low: Some(step.low),
        high: Some(step.high),
        validity: State::Resolved.into(),
        verdict: change.as_str().to_owned(),
        condition: format!("{}; from run {} on", name(step), runs[step.run].name),
        case_ids: step.case.iter().map(syncscope_core::Case::id).collect(),
    }
}
