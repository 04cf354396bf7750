//! Advice as text: a table, Markdown and JSON.

use serde_json::{Value, json};

use super::grid::{self, Grid};
use crate::analysis::questions::advice::{Advice, Choice, CostFigure, Decision, RunnerUp, side_name};
use crate::harmless::{self, plain};
use crate::wrap::wrap;
use crate::{RunData, figure, naming};

/// For the terminal: a line for each answer, then what to know about those that advise something.
pub fn for_terminal(data: &RunData, answers: &[Advice], width: usize) -> String {
    let mut blocks = vec![plain(&heading(data)), table_of(answers, width)];
    blocks.extend(taken(answers).map(|(advice, choice)| {
        let lines = remarks(choice).into_iter().map(|line| format!("    {}", plain(&line)));
        format!("  {}\n{}", plain(&title(advice, choice)), lines.collect::<Vec<_>>().join("\n"))
    }));
    blocks.join("\n\n")
}

/// As Markdown, in the same order.
pub fn as_markdown(data: &RunData, answers: &[Advice]) -> String {
    let mut blocks = vec![grid::markdown(&heading(data)), grid_of(answers, |why| why).as_markdown()];
    blocks.extend(taken(answers).map(|(advice, choice)| {
        let lines = remarks(choice).into_iter().map(|line| format!("- {}", grid::markdown(&line)));
        format!("**{}**\n\n{}", grid::markdown(&title(advice, choice)), lines.collect::<Vec<_>>().join("\n"))
    }));
    blocks.join("\n\n")
}

/// A line for each answer and nothing else, for the terminal.
pub fn overview(data: &RunData, answers: &[Advice], width: usize) -> String {
    let warned = taken(answers).any(|(_, choice)| !choice.warnings.is_empty());
    let warning = if warned { " (!): there is a warning; --need shows it." } else { "" };
    let about = format!("Intervals have at least 95 % confidence; those of costs are run-to-run.{warning}");
    format!("{}\n\n{}\n\n{}", plain(&heading(data)), table_of(answers, width), wrap(&about, width, "").join("\n"))
}

/// As one object: `name` of the run and `advice`, a list.
pub fn as_json(data: &RunData, answers: &[Advice]) -> String {
    let advice: Vec<Value> = answers.iter().map(json_advice).collect();
    harmless::json(&json!({ "name": data.name, "machine": naming::machine(&data.run.machine), "advice": advice }))
}

fn heading(data: &RunData) -> String {
    format!("{}, {} preset, {}", naming::machine(&data.run.machine), data.run.preset, data.run.started)
}

fn taken(answers: &[Advice]) -> impl Iterator<Item = (&Advice, &Choice)> {
    answers.iter().filter_map(|advice| Some((advice, choice(advice)?)))
}

fn choice(advice: &Advice) -> Option<&Choice> {
    if let Decision::Take(choice) = &advice.decision { Some(choice) } else { None }
}

fn title(advice: &Advice, choice: &Choice) -> String {
    format!("{} ({}, {}): {}", advice.need.as_str(), side_name(advice.on), advice.situation, choice.name)
}

/// Source, warnings and notes, one line each.
fn remarks(choice: &Choice) -> Vec<String> {
    let named = [("case", &choice.case), ("the cost of", &choice.operation), ("source", &choice.source)];
    let named = named.into_iter().filter(|(_, text)| !text.is_empty());
    let warnings = choice.warnings.iter().map(|warning| ("warning", warning));
    let labelled = named.chain(warnings).map(|(label, text)| format!("{label}: {text}"));
    labelled.chain(choice.notes.iter().cloned()).collect()
}

/// The table for the terminal, and below it the commands that measure what is missing: a cell would cut them into pieces, which
/// nobody can copy.
fn table_of(answers: &[Advice], width: usize) -> String {
    let table = grid_of(answers, |why| without_command(why).0).for_terminal(width);
    let remedy = |advice: &Advice| {
        let Decision::Missing(why) = &advice.decision else { return None };
        let command = without_command(why).1?;
        let need = format!("  To measure {} ({}), run:", advice.need.as_str(), side_name(advice.on));
        Some(format!("{need}\n    {}", plain(&command)))
    };
    let remedies: Vec<String> = answers.iter().filter_map(remedy).collect();
    if remedies.is_empty() { table } else { format!("{table}\n\n{}", remedies.join("\n")) }
}

/// A reason in two parts: without its last clause, and the command in that clause.
fn without_command(why: &str) -> (&str, Option<String>) {
    let parts = why.split_once("; `syncscope ").and_then(|(reason, rest)| Some((reason, rest.split_once('`')?.0)));
    parts.map_or((why, None), |(reason, words)| (reason, Some(format!("syncscope {words}"))))
}

/// A line for each answer. `missing` writes why nothing is known.
fn grid_of(answers: &[Advice], missing: fn(&str) -> &str) -> Grid {
    let taken = |advice: &Advice, show: fn(&Choice) -> String| choice(advice).map(show).unwrap_or_default();
    let take = |advice: &Advice| match &advice.decision {
        Decision::Take(choice) if choice.warnings.is_empty() => choice.name.clone(),
        Decision::Take(choice) => format!("{} (!)", choice.name),
        Decision::Undecided(why) => format!("undecided: {why}"),
        Decision::Missing(why) => format!("not measured: {}", missing(why)),
    };
    Grid::of(answers)
        .text("need", |advice| advice.need.as_str().to_owned())
        .text("on", |advice| side_name(advice.on).to_owned())
        .text("size", |advice| advice.situation.clone())
        .text("take", |advice| take(advice))
        .text("cost", |advice| taken(advice, |choice| cost_text(&choice.cost)))
        .text("advantage", |advice| taken(advice, |choice| next_text(&choice.next)))
        .grid()
}

/// `1.20 µs (1.10 µs to 1.31 µs)`.
fn cost_text(cost: &CostFigure) -> String {
    let [low, high] = [cost.ns_low, cost.ns_high].map(figure::time);
    format!("{} ({low} to {high})", cost.figure())
}

/// `std_mutex costs 1.8 times as much (1.6 to 2.1)`.
fn next_text(next: &RunnerUp) -> String {
    let ends = figure::ends(next.ratio_low, next.ratio_high);
    let verb = if next.name.ends_with("counters") { "cost" } else { "costs" };
    format!("{} {verb} {} times as much ({ends})", next.name, figure::ratio(next.ratio))
}

fn json_advice(advice: &Advice) -> Value {
    let (decision, reason, choice) = match &advice.decision {
        Decision::Take(choice) => ("take", None, Some(choice)),
        Decision::Undecided(why) => ("undecided", Some(why), None),
        Decision::Missing(why) => ("missing", Some(why), None),
    };
    json!({
        "need": advice.need.as_str(),
        "on": advice.on.as_str(),
        "situation": advice.situation,
        "decision": decision,
        "reason": reason,
        "choice": choice,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::questions::advice::Need;
    use syncscope_core::Domain;

    fn taken_with(name: &str, warnings: &[&str]) -> Advice {
        let cost = |ns: f64| CostFigure { ns, ns_low: ns - 1.0, ns_high: ns + 1.0, is_rough: false };
        let next = RunnerUp {
            name: "second".into(),
            id: "cpu.lock.second".into(),
            cost: cost(30.0),
            ratio: 3.0,
            ratio_low: Some(2.5),
            ratio_high: None,
        };
        let choice = Choice {
            name: name.into(),
            id: "cpu.lock.first".into(),
            operation: "one turn".into(),
            source: "a paper".into(),
            case: name.into(),
            row: 0,
            cost: cost(10.0),
            next,
            warnings: warnings.iter().map(|text| (*text).to_owned()).collect(),
            notes: Vec::new(),
        };
        let decision = Decision::Take(Box::new(choice));
        Advice { need: Need::Protect, on: Domain::Cpu, situation: "16 threads".into(), decision }
    }

    #[test]
    fn an_open_end_of_a_ratio_is_no_number() {
        let data = crate::testing::data(vec![]);
        let answers = [taken_with("first", &["unfair"])];
        let text = overview(&data, &answers, 160);
        assert!(text.contains("first (!)") && text.contains("10.0 ns (9.00 ns to 11.0 ns)"), "{text}");
        assert!(
            text.contains("second costs 3.00 times as much (above 2.50)") && text.contains("--need shows it"),
            "{text}"
        );
        assert!(!overview(&data, &[taken_with("first", &[])], 160).contains("(!)"));
        let value: Value = serde_json::from_str(&as_json(&data, &answers)).unwrap();
        let next = &value["advice"][0]["choice"]["next"];
        assert_eq!((&next["ratio_low"], &next["ratio_high"]), (&json!(2.5), &Value::Null));
    }

    #[test]
    fn a_command_stands_on_a_line_of_its_own() {
        let data = crate::testing::data(vec![]);
        let command = "syncscope run --only cpu.lock.ticket --only cpu.lock.std_mutex --only cpu.lock.pthread_mutex";
        let why = format!("the run has no rows of two candidates on the CPU; `{command}` measures them");
        let unknown = Advice { decision: Decision::Missing(why), ..taken_with("first", &[]) };
        let answers = [unknown, taken_with("first", &[])];
        for text in [overview(&data, &answers, 100), for_terminal(&data, &answers, 100)] {
            assert!(text.lines().any(|line| line.trim() == command), "{text}");
            assert_eq!(
                (text.matches('`').count(), text.contains("To measure protect (CPU), run:")),
                (0, true),
                "{text}"
            );
        }
        assert!(as_markdown(&data, &answers).contains("measures them"));
        let (reason, none) = without_command("no rows at 3 threads; the run has 2");
        assert_eq!((reason, none), ("no rows at 3 threads; the run has 2", None));
    }

    #[test]
    fn hostile_names_are_harmless() {
        let data = crate::testing::data(vec![]);
        let answers = [taken_with("<b>|\u{1b}[31mx", &[])];
        for text in [for_terminal(&data, &answers, 100), overview(&data, &answers, 100)] {
            assert!(!text.contains('\u{1b}'), "{text:?}");
        }
        let markdown = as_markdown(&data, &answers);
        assert!(!markdown.contains("<b>") && markdown.contains("&lt;b&gt;\\|"), "{markdown}");
    }
}
