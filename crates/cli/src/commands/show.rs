//! Answers from finished runs: `syncscope show` shows their rows, `findings` tests published claims on them, and `advise` names
//! the primitive to take for a stated need.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use syncscope_core::units::plural;
use syncscope_core::{CaseId, Row};
use syncscope_report::export::answer::Answer;
use syncscope_report::{
    Advice, Asked, FEWEST_RUNS, Need, RunData, advise as answers_to, course, export, findings as report_findings,
    in_groups, of_one_machine, table,
};

use crate::args::{
    AdviseArguments, Condition, DocumentFormat, FindingsArguments, ShowArguments, ShowFormat, ShowOrder,
};
use crate::axes::shortened;
use crate::commands::report::unless_broken;
use crate::failure::{Failure, Outcome};
use crate::selection::Selection;
use crate::{runs, terminal};

/// Shows the rows of a run.
pub(crate) fn show(arguments: &ShowArguments) -> Result<Outcome, Failure> {
    let selection = Selection::new(&arguments.only, &[])?;
    if arguments.history {
        return show_history(arguments, &selection);
    }
    let mut data = runs::load_rows(&runs::named_or_latest(arguments.run.as_slice())?[0])?;
    selection.check_runs(&[&data])?;
    if arguments.sides {
        return show_sides(&data, arguments.format);
    }
    let conditions = arguments.conditions();
    let answers = match &arguments.against {
        Some(other) => Some(answers_against(&data, &selection, &conditions, other)?),
        None => None,
    };
    data.rows.retain(|row| selection.selects(&row.case));
    meeting(&mut data.rows, &conditions)?;
    if arguments.sort == ShowOrder::Cost {
        export::rows::sort_by_cost(&mut data.rows);
    }
    let width = terminal::width();
    if let (Some(answers), ShowFormat::Table | ShowFormat::Markdown) = (&answers, arguments.format) {
        let grid = export::answer::grid(&data, answers);
        let is_table = arguments.format == ShowFormat::Table;
        return terminal::show(&if is_table { grid.for_terminal(width) } else { grid.as_markdown() });
    }
    let others = answers.is_some() && arguments.format != ShowFormat::Json;
    Failure::refuse([(others, "--against is for table, markdown and json")])?;
    terminal::show_as_is(&match (arguments.format, arguments.sort) {
        // The summary puts sizes and variants side by side, so it has no order by cost.
        (ShowFormat::Table, ShowOrder::Catalogue) => table::summary(&data, width, terminal::colour()),
        (ShowFormat::Table, ShowOrder::Cost) => export::rows::for_terminal(&data, width),
        (ShowFormat::Markdown, _) => export::rows::as_markdown(&data),
        (ShowFormat::Latex, _) => export::rows::as_latex(&data),
        (ShowFormat::Csv, _) => export::rows::as_csv(&data),
        (ShowFormat::Json, _) => syncscope_report::json(&export::rows::as_json(&data, answers)),
        (ShowFormat::Bmf, _) => export::trackers::as_bmf(&data),
        (ShowFormat::Github, _) => export::trackers::as_github(&data),
        (ShowFormat::GoogleBenchmark, _) => export::trackers::as_google_benchmark(&data),
        (ShowFormat::Reframe, _) => export::trackers::as_reframe(&data),
    })?;
    let is_for_tracker = !arguments.format.is_of_all_rows();
    let left_out = export::trackers::left_out(&data);
    if is_for_tracker && left_out > 0 {
        terminal::note(&format!("{left_out} rows without a figure are left out"));
    }
    Ok(Outcome::Done)
}

/// Shows which costs changed over the runs of a folder.
fn show_history(arguments: &ShowArguments, selection: &Selection) -> Result<Outcome, Failure> {
    let folder = arguments.run.as_deref().unwrap_or(Path::new(runs::RUNS));
    let paths = runs::runs_in(folder, |run| run.read_run().is_ok_and(|run| run.own.is_empty()));
    let all: Vec<RunData> = paths.iter().filter_map(|path| unless_broken(runs::load(path))).collect();
    selection.check_runs(&all.iter().collect::<Vec<_>>())?;
    let is_asked = |row: &Row| selection.selects(&row.case) && arguments.conditions().iter().all(|one| one.is_met(row));
    let (found, all) = (all.len(), of_one_machine(all));
    if all.len() < FEWEST_RUNS {
        let what = format!("{} holds {} of one machine", folder.display(), plural(all.len() as u32, "run"));
        return Err(Failure::CouldNot(format!("{what}; a change shows in {FEWEST_RUNS} or more: keep measuring")));
    }
    if all.len() < found {
        terminal::note(&format!("{} of other machines left out", plural((found - all.len()) as u32, "run")));
    }
    let course = course(&all, is_asked);
    terminal::show(&match arguments.format {
        ShowFormat::Table => export::course::for_terminal(&all, &course, terminal::width()),
        ShowFormat::Markdown => export::course::as_markdown(&all, &course),
        ShowFormat::Json => syncscope_report::json(&export::course::as_json(&all, &course)),
        _ => return Err(Failure::Usage("--history is for table, markdown and json".to_owned())),
    })
}

/// The answers about selected rows, compared with another primitive of the run.
fn answers_against(
    data: &RunData,
    selection: &Selection,
    conditions: &[Condition],
    other: &str,
) -> Result<Vec<Answer>, Failure> {
    Selection::new(&[other.to_owned()], &[])?.check_runs(&[data])?;
    let mut rows = data.rows.clone();
    rows.retain(|row| selection.selects(&row.case));
    meeting(&mut rows, conditions)?;
    let selected: HashSet<CaseId> = rows.iter().map(|row| row.case.id()).collect();
    let answers = export::answer::against(data, |case| selected.contains(&case.id()), other);
    let none = format!("no selected row has the parameters of one of {other}; name a primitive of the same family");
    if answers.is_empty() { Err(Failure::CouldNot(none)) } else { Ok(answers) }
}

/// Keeps the rows that meet all conditions.
///
/// # Errors
/// When no row meets a condition; the error lists the values in its column.
fn meeting(rows: &mut Vec<Row>, conditions: &[Condition]) -> Result<(), Failure> {
    for one @ Condition { column, value } in conditions {
        let values: BTreeSet<String> = rows.iter().map(|row| column.write(row)).collect();
        rows.retain(|row| one.is_met(row));
        if rows.is_empty() {
            let mut values: Vec<String> = values.into_iter().filter(|value| !value.is_empty()).collect();
            values.sort_by_key(|value| (value.len(), value.clone()));
            let has = if values.is_empty() { "none has a value there".to_owned() } else { shortened(&values) };
            return Err(Failure::Usage(format!("no row has {} = {value}; there are: {has}", column.name)));
        }
    }
    Ok(())
}

fn show_sides(data: &RunData, format: ShowFormat) -> Result<Outcome, Failure> {
    let text = match format {
        ShowFormat::Table => export::sides::for_terminal(data, terminal::width()),
        ShowFormat::Markdown => export::sides::as_markdown(data),
        ShowFormat::Latex => export::sides::as_latex(data),
        ShowFormat::Csv => export::sides::as_csv(data),
        ShowFormat::Json => export::sides::as_json(data),
        ShowFormat::Bmf | ShowFormat::Github | ShowFormat::GoogleBenchmark | ShowFormat::Reframe => {
            return Err(Failure::Usage("--sides is for table, markdown, latex, csv and json".to_owned()));
        }
    };
    let missing = "no operation of this run was measured on both CPU and GPU; measure with `syncscope run`";
    terminal::show_as_is(&text.ok_or_else(|| Failure::CouldNot(missing.to_owned()))?)
}

/// Tests the claims on each run.
pub(crate) fn findings(arguments: &FindingsArguments) -> Result<Outcome, Failure> {
    let papers = &arguments.paper;
    let mut found = Vec::new();
    for path in runs::named_or_latest_of_catalogue(&arguments.runs)? {
        let (data, sections) = runs::load_with_sections(&path)?;
        let data = data.in_order();
        let mut findings = report_findings(&data, sections.into_iter().flat_map(|section| section.claims));
        findings.retain(|finding| papers.is_empty() || papers.contains(&finding.paper));
        found.push(export::findings::RunFindings { data, findings });
    }
    terminal::show_as_is(&match arguments.format {
        DocumentFormat::Table => export::findings::for_terminal(&found, terminal::width(), terminal::colour()),
        DocumentFormat::Markdown => export::findings::as_markdown(&found),
        DocumentFormat::Json => export::findings::as_json(&found),
    })
}

/// Shows the answers.
pub(crate) fn advise(arguments: &AdviseArguments) -> Result<Outcome, Failure> {
    let data = runs::load(&runs::named_or_latest_of_catalogue(arguments.run.as_slice())?[0])?;
    let waits_for_nothing = arguments.wait.is_some() && arguments.need != Some(Need::Wait);
    let has_no_team = arguments.threads.is_some() && matches!(arguments.need, Some(Need::Wait | Need::Reduce));
    Failure::refuse([
        (waits_for_nothing, "--for is how long a thread waits: add `--need wait`"),
        (has_no_team, "--threads changes no answer to `--need wait` or `--need reduce`: leave it out"),
    ])?;
    let asked = Asked { threads: arguments.threads, on: arguments.on, wait: arguments.wait };
    let of = |need| answers_to(&data, need, asked);
    let answers: Vec<Advice> = match arguments.need {
        Some(need) => of(need),
        None => Need::ALL.iter().flat_map(|need| representatives(of(*need))).collect(),
    };
    let width = terminal::width();
    terminal::show(&match arguments.format {
        DocumentFormat::Table if arguments.need.is_none() => export::advice::overview(&data, &answers, width),
        DocumentFormat::Table => export::advice::for_terminal(&data, &answers, width),
        DocumentFormat::Markdown => export::advice::as_markdown(&data, &answers),
        DocumentFormat::Json => syncscope_report::json(&export::advice::as_json(&data, &answers)),
    })?;
    let is_asked = arguments.need.is_some() || arguments.threads.is_some() || arguments.on.is_some();
    if is_asked && answers.iter().all(|advice| !advice.decision.measured) {
        return Err(Failure::CouldNot("the run has no rows that answer this".to_owned()));
    }
    Ok(Outcome::Done)
}

/// One answer to a need for each side of the machine: the first that advises something, otherwise the first.
fn representatives(answers: Vec<Advice>) -> Vec<Advice> {
    let is_decided = |advice: &Advice| advice.decision.choice.is_some();
    let of_side = |(_, mut own): (_, Vec<Advice>)| {
        let first = own.iter().position(is_decided).unwrap_or_default();
        own.swap_remove(first)
    };
    in_groups(answers.into_iter().map(|advice| (advice.on, advice))).into_iter().map(of_side).collect()
}
