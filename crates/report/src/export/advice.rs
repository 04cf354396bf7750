//! Advice as text: a table, Markdown and JSON.

use serde_json::{Value, json};
use syncscope_core::run::shown::ROUGH_UP_TO;

use super::answer::Answer;
use crate::analysis::questions::advice::{Advice, Candidate, Choice, CostFigure, Decision, RunnerUp, side_name};
use crate::analysis::questions::{WITHOUT_INTERVALS, lacks_intervals};
use crate::grid::{self, Grid};
use crate::harmless::{plain, plain_lines};
use crate::wrap::wrap;
use crate::{RunData, figure, naming};

/// Writes advice for the terminal: a line for each answer, then what to know about the answers that advise something.
pub fn for_terminal(data: &RunData, answers: &[Advice], width: usize) -> String {
    let mut blocks = vec![plain(&heading(data)), table_of(answers, width)];
    blocks.extend(taken(answers).map(|(advice, choice)| {
        let lines = remarks(choice).into_iter().map(|line| format!("    {}", plain(&line)));
        format!("  {}\n{}", plain(&title(advice, choice)), lines.collect::<Vec<_>>().join("\n"))
    }));
    blocks.extend(drawings(answers).map(|lines| format!("    {}", plain_lines(&lines.join("\n    ")))));
    blocks.join("\n\n")
}

fn drawings(answers: &[Advice]) -> impl Iterator<Item = &Vec<String>> {
    answers.iter().map(|advice| &advice.decision.drawing).filter(|lines| !lines.is_empty())
}

/// Writes Markdown in the same order.
pub fn as_markdown(data: &RunData, answers: &[Advice]) -> String {
    let mut blocks = vec![grid::markdown(&heading(data)), grid_of(answers, Decision::reason).as_markdown()];
    blocks.extend(taken(answers).map(|(advice, choice)| {
        let lines = remarks(choice).into_iter().map(|line| format!("- {}", grid::markdown(&line)));
        format!("**{}**\n\n{}", grid::markdown(&title(advice, choice)), lines.collect::<Vec<_>>().join("\n"))
    }));
    blocks.extend(drawings(answers).map(|lines| format!("```text\n{}\n```", lines.join("\n"))));
    blocks.join("\n\n")
}

/// Writes only a line for each answer, for the terminal.
pub fn overview(data: &RunData, answers: &[Advice], width: usize) -> String {
    let warned = taken(answers).any(|(_, choice)| !choice.warnings.is_empty());
    let warning = if warned { " (!): there is a warning; --need shows it." } else { "" };
    let intervals = "Intervals have at least 95 % confidence; intervals of costs are run-to-run.";
    let about = if lacks_intervals(data) { WITHOUT_INTERVALS } else { intervals };
    let about = format!("{about}{warning}");
    format!("{}\n\n{}\n\n{}", plain(&heading(data)), table_of(answers, width), wrap(&about, width, "").join("\n"))
}

/// Writes one object: the `name` of the run, `advice` (a list), and the advice as `answers`.
pub fn as_json(data: &RunData, answers: &[Advice]) -> Value {
    let advice: Vec<Value> = answers.iter().map(json_advice).collect();
    let of_all: Vec<Answer> = answers.iter().flat_map(Answer::of_advice).collect();
    let machine = naming::machine(&data.run.machine);
    json!({ "name": data.name, "machine": machine, "advice": advice, "answers": of_all })
}

fn heading(data: &RunData) -> String {
    format!("{}, {}", naming::machine(&data.run.machine), naming::origin(&data.run))
}

fn taken(answers: &[Advice]) -> impl Iterator<Item = (&Advice, &Choice)> {
    answers.iter().filter_map(|advice| Some((advice, choice(advice)?)))
}

fn choice(advice: &Advice) -> Option<&Choice> {
    advice.decision.choice.as_deref()
}

fn title(advice: &Advice, choice: &Choice) -> String {
    format!("{}: {}", advice.asked(), choice.name)
}

/// Case, operation, source, warnings and notes, one line each.
fn remarks(choice: &Choice) -> Vec<String> {
    let named = [("case", &choice.case), ("the cost of", &choice.operation), ("source", &choice.source)];
    let named = named.into_iter().filter(|(_, text)| !text.is_empty());
    let warnings = choice.warnings.iter().map(|warning| ("warning", warning));
    let labelled = named.chain(warnings).map(|(label, text)| format!("{label}: {text}"));
    labelled.chain(choice.notes.iter().cloned()).collect()
}

/// The table for the terminal and, below it, the commands that measure what is missing: a table cell would break them, and
/// nobody could copy them.
fn table_of(answers: &[Advice], width: usize) -> String {
    let table = grid_of(answers, |decision| decision.outcome.sentence.clone()).for_terminal(width);
    let remedy = |advice: &Advice| {
        let command = advice.decision.remedy.as_ref()?;
        let need = format!("  To measure {} ({}), run:", advice.need.as_str(), side_name(advice.on));
        Some(format!("{need}\n    {}", plain(command)))
    };
    let mut remedies: Vec<String> = answers.iter().filter_map(remedy).collect();
    remedies.dedup();
    if remedies.is_empty() { table } else { format!("{table}\n\n{}", remedies.join("\n")) }
}

/// A table with a line for each answer. `missing` writes why nothing is known.
fn grid_of(answers: &[Advice], missing: fn(&Decision) -> String) -> Grid {
    let take = |advice: &Advice| match (choice(advice), &advice.decision.outcome.sentence) {
        (Some(choice), _) if choice.warnings.is_empty() => choice.name.clone(),
        (Some(choice), _) => format!("{} (!)", choice.name),
        (None, _) if !advice.decision.measured => format!("not measured: {}", missing(&advice.decision)),
        (None, why) => candidates_text(&advice.decision).unwrap_or_else(|| format!("undecided: {why}")),
    };
    let cost =
        |advice: &Advice| choice(advice).map_or_else(|| range_text(&advice.decision), |one| cost_text(&one.cost));
    let next = |advice: &Advice| match choice(advice) {
        Some(choice) => next_text(&choice.next),
        None => advice.decision.excluded.first().map(|one| format!("next: {}", with_cost(one))).unwrap_or_default(),
    };
    let callable = |choice: &Choice| choice.callable.as_ref().map(times_text).unwrap_or_default();
    Grid::of(answers)
        .text("need", |advice| advice.need.as_str().to_owned())
        .text("on", |advice| side_name(advice.on).to_owned())
        .text("size", |advice| advice.situation.clone())
        .text("take", |advice| take(advice))
        .text("cost", |advice| cost(advice))
        .text("advantage", |advice| next(advice))
        .text("to call", |advice| choice(advice).map(callable).unwrap_or_default())
        .grid()
}

/// `mcs or clh, unless ttas (8.00 ns to 30.0 ns) is cheaper`; `None` where nothing is known of any candidate.
fn candidates_text(decision: &Decision) -> Option<String> {
    let (known, open): (Vec<&Candidate>, Vec<&Candidate>) = decision.candidates.iter().partition(|one| one.has_figure);
    if known.is_empty() {
        let (ranges, none): (Vec<&Candidate>, Vec<&Candidate>) =
            open.iter().partition(|one| one.cost.is_some_and(|cost| cost.ns_high > 0.0));
        ranges.first()?;
        let none = (!none.is_empty()).then(|| format!("one of {} without a figure", none.len()));
        let names: Vec<String> = ranges.into_iter().map(with_cost).chain(none).collect();
        return Some(format!("{} (undecided)", naming::either(&names)));
    }
    let names: Vec<String> = known.iter().map(|one| one.name.clone()).collect();
    let unless: Vec<String> = open.iter().map(|one| with_cost(one)).collect();
    let verb = if unless.len() == 1 { "is" } else { "are" };
    let unless = (!unless.is_empty()).then(|| format!(", unless {} {verb} cheaper", naming::enumeration(&unless)));
    let none = if open.is_empty() && known.len() > 1 { " (undecided)" } else { "" };
    Some(format!("{}{none}{}", naming::either(&names), unless.unwrap_or_default()))
}

/// `mcs ~1.20 µs`, `ttas (8.00 ns to 30.0 ns)`, `clh (no figure)`, `one shared counter (not additive)`.
fn with_cost(one: &Candidate) -> String {
    match one.cost {
        Some(cost) if one.has_figure => format!("{} {}", one.name, cost.figure()),
        Some(CostFigure { ns_low, ns_high, .. }) if ns_high > 0.0 => {
            format!("{} ({})", one.name, between_times(ns_low, ns_high))
        }
        _ => format!("{} ({})", one.name, one.without_cost),
    }
}

/// `8.00 ns to 30.0 ns`, `up to 30.0 ns`.
fn between_times(low: f64, high: f64) -> String {
    if low > 0.0 {
        format!("{} to {}", figure::time(low), figure::time(high))
    } else {
        format!("up to {}", figure::time(high))
    }
}

/// The range from the least to the most that a candidate may cost; a dash where nothing is known.
fn range_text(decision: &Decision) -> String {
    let has_figure = decision.candidates.iter().any(|one| one.has_figure);
    let costs = decision.candidates.iter().filter(|one| one.has_figure || !has_figure).filter_map(|one| one.cost);
    let ends = figure::extremes(costs.flat_map(|cost| [cost.ns_low, cost.ns_high]));
    ends.map_or_else(|| "–".to_owned(), |(low, high)| between_times(low, high))
}

/// `1.20 µs (1.10 µs to 1.31 µs)`, `7.00 µs to 12.0 µs` where the interval is too wide for a number.
fn cost_text(cost: &CostFigure) -> String {
    if cost.ns_high - cost.ns_low > 2.0 * ROUGH_UP_TO * cost.ns {
        return between_times(cost.ns_low, cost.ns_high);
    }
    let [low, high] = [cost.ns_low, cost.ns_high].map(figure::time);
    if low == high { cost.figure() } else { format!("{} ({low} to {high})", cost.figure()) }
}

/// `std_mutex costs 1.8 times as much (1.6 to 2.1)`.
fn next_text(next: &RunnerUp) -> String {
    let verb = if next.name.ends_with("counters") { "cost" } else { "costs" };
    format!("{} {verb} {} as much{}", next.name, times(next.ratio), between(next))
}

/// `openmp: 1.8 times (1.6 to 2.1)`.
fn times_text(other: &RunnerUp) -> String {
    format!("{}: {}{}", other.name, times(other.ratio), between(other))
}

fn times(ratio: f64) -> String {
    format!("{} times", figure::ratio(ratio))
}

/// The interval of a ratio; empty for figures without one.
fn between(one: &RunnerUp) -> String {
    if one.ratio_low == one.ratio_high && one.ratio_low.is_some() {
        return String::new();
    }
    format!(" ({})", figure::ends(one.ratio_low, one.ratio_high))
}

fn json_advice(advice: &Advice) -> Value {
    let Decision { measured, choice, candidates, excluded, .. } = &advice.decision;
    let decision = match (choice, measured) {
        (Some(_), _) => "take",
        (None, true) => "undecided",
        (None, false) => "missing",
    };
    json!({
        "need": advice.need.as_str(),
        "on": advice.on.as_str(),
        "situation": (!advice.situation.is_empty()).then_some(&advice.situation),
        "decision": decision,
        "reason": choice.is_none().then(|| advice.decision.reason()),
        "choice": choice,
        "candidates": candidates,
        "excluded": excluded,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::questions::advice::Need;
    use syncscope_core::{Case, Domain};

    fn taken_with(name: &str, warnings: &[&str]) -> Advice {
        let cost =
            |ns: f64| CostFigure { ns, ns_low: ns - 1.0, ns_high: ns + 1.0, is_rough: false, is_imported: false };
        let next = RunnerUp {
            name: "second".into(),
            id: "cpu.lock.second".into(),
            case_id: Case::new("cpu.lock.second").id(),
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
            case_id: Case::new("cpu.lock.first").id(),
            row: 0,
            cost: cost(10.0),
            next,
            callable: None,
            warnings: warnings.iter().map(|text| (*text).to_owned()).collect(),
            notes: Vec::new(),
        };
        let decision = Decision { choice: Some(Box::new(choice)), ..Decision::open(String::new()) };
        Advice { need: Need::Protect, on: Domain::Cpu, situation: "16 threads".into(), decision }
    }

    #[test]
    fn a_situation_that_no_row_tells_is_null() {
        let missing = |situation: &str| {
            let decision = Decision { measured: false, ..Decision::open("no rows".into()) };
            json_advice(&Advice { need: Need::Phases, on: Domain::Cpu, situation: situation.into(), decision })
        };
        assert_eq!((&missing("")["situation"], &missing("")["decision"]), (&Value::Null, &json!("missing")));
        assert_eq!(missing("2 threads")["situation"], json!("2 threads"));
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
        let value = as_json(&data, &answers);
        let next = &value["advice"][0]["choice"]["next"];
        assert_eq!((&next["ratio_low"], &next["ratio_high"]), (&json!(2.5), &Value::Null));
        let [cost, ratio] = [0, 1].map(|at| &value["answers"][at]);
        assert_eq!(
            (&cost["subject"], &cost["value"], &cost["verdict"]),
            (&json!("cpu.lock.first"), &json!(10.0), &json!("take"))
        );
        assert_eq!(
            (&ratio["subject"], &ratio["against"], &ratio["low"]),
            (&json!("cpu.lock.second"), &json!("cpu.lock.first"), &json!(2.5))
        );
    }

    /// Two locks may be the cheapest, a third has only an interval, and a fourth certainly costs more.
    #[test]
    fn what_is_known_is_said_where_nothing_is_decided() {
        let one = |name: &str, low: f64, high: f64, has_figure| {
            let cost = CostFigure {
                ns: f64::midpoint(low, high),
                ns_low: low,
                ns_high: high,
                is_rough: false,
                is_imported: false,
            };
            Candidate {
                name: name.into(),
                id: String::new(),
                case_id: None,
                cost: Some(cost),
                has_figure,
                without_cost: "no figure".into(),
            }
        };
        let of = |candidates: Vec<Candidate>| {
            let excluded = vec![one("ticket", 30.0, 32.0, true)];
            let decision = Decision { candidates, excluded, ..Decision::open("the intervals overlap".into()) };
            overview(&crate::testing::data(vec![]), &[Advice { decision, ..taken_with("", &[]) }], 200)
        };
        let known = vec![one("mcs", 8.0, 10.0, true), one("clh", 9.0, 11.0, true)];
        let text = of(known.clone());
        assert!(text.contains("mcs or clh (undecided)") && text.contains("8.00 ns to 11.0 ns"), "{text}");
        assert!(text.contains("next: ticket 31.0 ns"), "{text}");
        let wide = of([known, vec![one("ttas", 5.0, 30.0, false)]].concat());
        assert!(wide.contains("mcs or clh, unless ttas (5.00 ns to 30.0 ns) is cheaper"), "{wide}");
        assert!(of(vec![one("ttas", 5.0, 30.0, false)]).contains("ttas (5.00 ns to 30.0 ns) (undecided)"));
        let unknown = Candidate { cost: None, ..one("ttas", 5.0, 30.0, false) };
        assert!(of(vec![unknown.clone()]).contains("undecided: the intervals overlap"));
        let both = of(vec![one("ttas", 5.0, 30.0, false), unknown]);
        assert!(both.contains("ttas (5.00 ns to 30.0 ns) or one of 1 without a figure"), "{both}");
    }

    #[test]
    fn a_command_stands_on_a_line_of_its_own() {
        let data = crate::testing::data(vec![]);
        let command = "syncscope run --only cpu.lock.ticket --only cpu.lock.std_mutex --only cpu.lock.pthread_mutex";
        let missing = Decision::missing("the run has no rows; `--only` left them out".to_owned());
        let decision = Decision { remedy: Some(command.to_owned()), ..missing };
        let unknown = Advice { decision, ..taken_with("first", &[]) };
        let answers = [unknown, taken_with("first", &[])];
        for text in [overview(&data, &answers, 100), for_terminal(&data, &answers, 100)] {
            assert!(text.lines().any(|line| line.trim() == command), "{text}");
            assert_eq!(
                (text.matches('`').count(), text.contains("To measure protect (CPU), run:")),
                (2, true),
                "{text}"
            );
        }
        assert!(as_markdown(&data, &answers).contains("measures them"));
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
