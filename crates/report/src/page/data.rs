//! The data of the page as JSON, in the form that the scripts read (`assets/js/model/data.js`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use serde_json::{Number, Value, json};
use syncscope_core::run::columns::{self, COLUMNS};
use syncscope_core::sets::unique;
use syncscope_core::units::significant;
use syncscope_core::{Form, Placement, Row};

use super::{changes, matrix as matrix_words, run_words};
use crate::analysis::anchors::{self, Mark};
use crate::analysis::compare::Comparison;
use crate::analysis::ladder::row_query::{Rung, Selected};
use crate::analysis::ladder::{self, LADDER};
use crate::analysis::matrix;
use crate::analysis::questions::{self, Answer};
use crate::analysis::{paper_figures, placements, topics, trust, usual};
use crate::html::escape_json;
use crate::reading::{self, Reading, State};
use crate::run_data::families;
use crate::section::Section;
use crate::{RunData, naming};

/// The data of the page: a few large parts, and a description of them.
#[derive(Serialize)]
struct Page<'a> {
    #[serde(flatten)]
    described: Value,
    runs: Vec<PageRun<'a>>,
}

#[derive(Serialize)]
struct PageRun<'a> {
    #[serde(flatten)]
    described: Value,
    matrix: Option<matrix_words::InWords>,
    /// The details of the rows: the row's index, the name, the actor and the value.
    details: Vec<(usize, &'a str, Option<u32>, f64)>,
    /// The cells of each stored column.
    columns: Vec<Cells>,
}

/// The data as JSON, safe inside a `script` element.
pub(super) fn json(
    runs: &[RunData],
    sections: &[&[Section]],
    labels: &[String],
    compared: Option<&Comparison<'_>>,
) -> String {
    let (ladder, marks): (Vec<Value>, Vec<Vec<Mark>>) = ladder(runs, compared).into_iter().unzip();
    let marks = marks.concat();
    let described = json!({
        "columns": stored().map(|column| column.name).chain(READ).collect::<Vec<_>>(),
        // Columns that the table of rows shows as they are, under a title.
        "labelled": labelled(),
        "compared": compared.map(changes::on_first_screen),
        "ladder": ladder,
        // The machines behind the other machines' figures in the ladder.
        "anchors": anchors::in_words(&marks),
        // What changed since stored runs on the same hardware; for a page of one run.
        "changed": if let [data] = runs { anchors::against_equal_hardware(data) } else { None },
        // Why there are no figures of GPUs.
        "no_gpu": run_words::no_gpu(runs),
        // The sides of a machine, by their domains.
        "sides": naming::SIDES,
        "families": families(runs).into_iter().map(family).collect::<Vec<_>>(),
        "primitives": primitives(runs),
        // The forms that are not the default: the word of the column, and the words for people.
        "forms": Form::ALL.iter().map(|form| (form, naming::form(*form))).collect::<Vec<_>>(),
        // Figures of papers as ready states of the explorer.
        "figures": paper_figures::states(runs),
        "signs": reading::SIGNS,
        "verdicts": reading::VERDICTS,
        "marks": reading::MARKS,
        // The usual values of parameters, the most usual first; an empty value means none.
        "usual": usual::words(),
        // The interval that charts draw.
        "drawn": drawn(runs.len()),
    });
    let page = Page { described, runs: runs.iter().zip(sections).zip(labels).map(page_run).collect() };
    // Serialization fails only for maps whose keys are not strings. This data has none.
    escape_json(&serde_json::to_string(&page).unwrap_or_default())
}

/// The rungs that some run has a row for, each with its rows, and the figures of other machines.
fn ladder(runs: &[RunData], compared: Option<&Comparison<'_>>) -> Vec<(Value, Vec<Mark>)> {
    let card = if let [data] = runs { ladder::card(data) } else { Vec::new() };
    let line = |rung: &Rung| {
        let found: Vec<Option<Selected>> = runs.iter().map(|data| rung.find(data)).collect();
        let anchors = match (runs, found.as_slice()) {
            ([data], [Some(selected)]) => anchors::behind(rung, data, selected),
            _ => Vec::new(),
        };
        let row = runs.iter().zip(&found).find_map(|(data, found)| data.rows.get(found.as_ref()?.row))?;
        let row_of = |run: usize| found.get(run)?.as_ref().filter(|one| one.median_ns.is_none()).map(|one| one.row);
        let ratio = compared.map(|compared| {
            let rows = row_of(0).zip(row_of(1));
            rows.map_or("–".to_owned(), |(a, b)| changes::ratio(compared, &runs[0].rows[a], &runs[1].rows[b]))
        });
        let each = |of: fn(&Selected) -> Value| -> Value {
            found.iter().map(|one| one.as_ref().map_or(Value::Null, of)).collect()
        };
        let domain = row.case.domain_and_family().0;
        let (title, all) = title(rung, grid(runs, &found), found.iter().flatten());
        let value = json!({
            "id": rung.id,
            "domain": domain,
            "heading": heading(domain, rung.level),
            // The title with the cheapest primitives; `all` names all of them if the title only counts them.
            "title": title,
            "all": all,
            // The index of the selected row of each run, and the cost where it is not the row's own.
            "rows": each(|one| one.row.into()),
            "medians": each(|one| one.median_ns.into()),
            // The cost in the second run over the cost in the first, on a page of two runs.
            "ratio": ratio,
            // The rung's name on the first screen, if it is one of the few there.
            "card": card.iter().find(|(id, _)| *id == rung.id).map(|(_, name)| name),
            // Figures of other machines; empty on a page of several runs.
            "anchors": anchors,
        });
        Some((value, anchors))
    };
    LADDER.iter().filter(|rung| !ladder::is_repeated(rung, runs)).filter_map(line).collect()
}

/// The part of the machine that a rung is about.
fn heading(domain: &str, level: &str) -> String {
    match level {
        "CPU and GPU" | "Processes" | "Several nodes" => level.to_owned(),
        _ => format!("{}: {}", naming::side(domain), level.to_lowercase()),
    }
}

/// The most names of possibly cheapest primitives in the title of a rung; a larger number is only counted.
const MOST_NAMES: usize = 3;

/// The title of a rung. Where all runs agree on the cheapest primitives, it has their names, and a second title has all of
/// them if some are left out. Blocks and threads of the kernels are in it wherever a grid barrier and a launch could be
/// compared, since costs depend on them.
fn title<'s>(rung: &Rung, grid: Option<String>, found: impl Iterator<Item = &'s Selected>) -> (String, Option<String>) {
    let title = grid.map_or_else(|| rung.full_title(), |grid| format!("{}, {grid}", rung.full_title()));
    match unique(found.map(|one| (one.note.as_deref(), one.names.len())))[..] {
        [(Some(_), 0)] => (format!("{title} (no figure)"), None),
        [(Some(note), 1..=MOST_NAMES)] => (format!("{title}: {note}"), None),
        [(Some(note), count)] => (format!("{title}: one of {count}"), Some(format!("{title}: {note}"))),
        _ => (title, None),
    }
}

/// A family with its title.
fn family((domain, family): (&str, &str)) -> Value {
    let (title, side) = (naming::family(family), naming::side(domain));
    let heading = match domain {
        "hybrid" => format!("{title} across CPU and GPU"),
        "mpi" => format!("{title} between processes"),
        _ => format!("{title} on the {side}"),
    };
    json!({ "domain": domain, "family": family, "title": title, "heading": heading })
}

/// The families whose kernels have a grid size that readers compare.
const WITH_GRID: [&str; 3] = ["grid", "multi", "launch"];

/// The grid sizes of the selected rows, each once.
fn grid(runs: &[RunData], found: &[Option<Selected>]) -> Option<String> {
    let selected = runs.iter().zip(found).filter_map(|(data, found)| data.rows.get(found.as_ref()?.row));
    let with_grid = selected.map(|row| &row.case).filter(|case| WITH_GRID.contains(&case.domain_and_family().1));
    let mut sizes: Vec<String> = with_grid.filter(|case| case.threads.is_some()).map(naming::grid_size).collect();
    sizes.dedup();
    (!sizes.is_empty()).then(|| sizes.join(" and "))
}

/// Removes the backticks around commands, which the page does not need.
fn without_ticks(message: &str) -> String {
    message.replace('`', "")
}

fn page_run<'a>(((data, sections), label): ((&'a RunData, &&[Section]), &String)) -> PageRun<'a> {
    let mut answers = questions::answers(data);
    let decisions = questions::decisions(data, &answers);
    let topics = topics::topics(data, &decisions.iter().map(|one| one.id).collect::<Vec<_>>());
    answers.certain.extend(sections.iter().flat_map(of_section));
    let certain: Vec<Value> = answers.certain.iter().map(Answer::as_json).collect();
    let mut run = json!(data.run);
    // Adds what is wrong with the run's files.
    run["warnings"] = data.warnings().map(|text| without_ticks(&text)).collect();
    let described = json!({
        "label": label,
        "name": data.name,
        // The processors and devices that it measured.
        "parts": data.measured_parts(),
        // Where charts over threads have vertical lines, by placement.
        "lines": lines(data),
        // The placement of the usual curve, which starts at one thread.
        "usual_placement": placements::shown(data).to_string(),
        // The state of the run unless it is complete, and when and how it was measured.
        "state": run_words::state(data),
        "origin": run_words::origin(data),
        // The description of machine and environment: labels and texts.
        "facts": super::facts::facts(&data.run),
        "verdicts": data.verdicts(),
        // What the rows establish, in sentences, and how far to trust them.
        "answers": { "certain": certain, "open": answers.open, "trust": trust::trust(data).as_deref().map(without_ticks) },
        // Words of a search that a study answers.
        "topics": topics,
        "decisions": decisions,
        // The cheapest barrier at each size of the maps.
        "winners": questions::winners(data),
        // The published experiment, if this run is one rather than a run of a plan.
        "experiment": data.run.experiment(),
        "run": run,
        // The rows with more CPU threads than the machine has.
        "crowded": crowded(data),
        "count": data.rows.len(),
        // The operations whose individual times are known.
        "tails": run_words::tails(data),
        "is_imported": run_words::is_imported(data),
    });
    let matrix = matrix::matrix(&data.run, &data.rows);
    let matrix = matrix.map(|matrix| matrix_words::InWords::of(matrix, &data.run));
    PageRun { described, matrix, details: details(data), columns: cells(&data.rows) }
}

/// The answers of an experiment, which its section shows.
fn of_section(section: &Section) -> impl Iterator<Item = Answer> {
    section.answers.iter().map(|outcome| Answer { outcome: outcome.clone(), figure: section.name })
}

fn lines(data: &RunData) -> BTreeMap<String, Vec<(u32, String)>> {
    let of = |placement: &Placement| {
        let is_own = |row: &Row| row.case.placement.as_ref() == Some(placement);
        let most = data.rows_where(is_own).filter_map(|index| data.case(index).threads).max();
        (placement.to_string(), placements::lines(&data.run, placement, most.unwrap_or_default()))
    };
    placements::BY_RANK.iter().map(of).collect()
}

/// The details that the scripts read. Others, such as the clocks of every pass, would double the size of the page for a
/// large run; they are in `details.csv`.
const DETAILS: [&str; 11] = [
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "max_ns",
    "first_copy_ns",
    "second_copy_ns",
    "jain_index",
    "acquisitions_per_s",
    "acquisitions_per_handover",
    "measurement_blocks",
    "smt_interference",
];

/// A detail with one value per thread, of which the page shows only the least and the largest.
const EXTREMES_ONLY: &str = "acquisitions_per_s";

/// The details of all rows, in the order of the rows.
fn details(data: &RunData) -> Vec<(usize, &str, Option<u32>, f64)> {
    let of_row = |(index, row): (usize, &Row)| {
        let own = data.details.get(&row.case.id()).into_iter().flatten();
        let own = own.filter(|detail| DETAILS.contains(&detail.name.as_str()));
        let (mut threads, others): (Vec<_>, Vec<_>) = own.partition(|detail| detail.name == EXTREMES_ONLY);
        threads.sort_by(|a, b| a.value.total_cmp(&b.value));
        let extremes = threads.iter().take(1).chain(threads.iter().skip(1).last()).copied();
        let kept = others.into_iter().chain(extremes);
        kept.map(|detail| (index, detail.name.as_str(), detail.actor, detail.value)).collect::<Vec<_>>()
    };
    data.rows.iter().enumerate().flat_map(of_row).collect()
}

/// The primitives of all rows with their catalogue entries; those without an entry come last. The colour number is the
/// position within the family in the catalogue, so that a page with fewer primitives keeps the same colours.
fn primitives(runs: &[RunData]) -> Vec<Value> {
    let catalogue = runs.first().map_or(&[][..], |data| data.catalogue.primitives());
    let used: BTreeSet<&str> = runs.iter().flat_map(|data| &data.rows).map(|row| row.case.primitive.as_str()).collect();
    let unknown = used.iter().filter(|id| !catalogue.iter().any(|primitive| primitive.id == **id));
    let known = catalogue.iter().map(|one| (one.id, one.summary, one.operation, one.source));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let numbered = known.chain(unknown.map(|id| (*id, "", "", ""))).map(|(id, summary, operation, source)| {
        let count = counts.entry(id.rsplit_once('.').map_or("", |(family, _)| family)).or_default();
        *count += 1;
        let colour = *count - 1;
        (id, json!({ "id": id, "colour": colour, "summary": summary, "operation": operation, "meaning": meaning(operation), "source": source }))
    });
    numbered.filter(|(id, _)| used.contains(id)).map(|(_, primitive)| primitive).collect()
}

/// Says what one operation is: `One operation is one sum.`, `In each operation, every thread adds 1.`
fn meaning(operation: &str) -> String {
    let is_named = operation.split(' ').next().is_some_and(|word| word == "one" || word.ends_with("ing"));
    format!("{} {operation}.", if is_named { "One operation is" } else { "In each operation," })
}

/// The interval that charts draw: within the run for rows of one run, from run to run for rows of several.
fn drawn(runs: usize) -> Value {
    let (low, high, which) = match runs {
        0 | 1 => ("within_low", "within_high", "within this run"),
        _ => ("ns_low", "ns_high", "from run to run"),
    };
    json!({ "low": low, "high": high, "words": which })
}

fn crowded(data: &RunData) -> Vec<usize> {
    let machine = usual::MachineSize::of(&data.run.machine);
    data.rows_where(|row| machine.is_oversubscribed_by(&row.case)).collect()
}

/// Columns that no part of the page shows; they are in `measurements.csv`.
const LEFT_OUT: [&str; 6] = ["iterations", "unroll", "cycles_within_low", "cycles_within_high", "allowance", "rate_ns"];

/// The columns of `measurements.csv` that the page stores: all except those that the script derives or does not show.
fn stored() -> impl Iterator<Item = &'static columns::Column> {
    COLUMNS.iter().filter(|column| !column.is_left_to_script && !LEFT_OUT.contains(&column.name))
}

/// The columns that [`Reading`] adds to those of the file.
const READ: [&str; 5] = ["state", "figure", "interval", "bound", "case_id"];

/// The cells of [`READ`]. The ids join the files that the page saves with those of the run.
fn readings(rows: &[Row]) -> [Cells; 5] {
    let readings: Vec<Reading> = rows.iter().map(Reading::of).collect();
    let column = |of: &dyn Fn(&Reading) -> String| readings.iter().map(of).collect::<Vec<String>>();
    let state = column(&|one| json!(one.state).as_str().unwrap_or_default().to_owned());
    let figure = column(&|one| one.figure.clone());
    let interval = column(&|one| one.interval.clone().unwrap_or_default());
    let bounds = rows.iter().map(|row| reading::bound(row).filter(|_| State::of(row) == State::Bound));
    let bounds: Vec<String> = bounds.map(|bound| bound.map_or_else(String::new, significant)).collect();
    let texts = |cells: &[String]| words(cells.iter().map(String::as_str));
    let bounds = numbers(bounds.iter().map(String::as_str));
    let ids = rows.iter().map(|row| row.case.id().to_string()).collect();
    [texts(&state), texts(&figure), texts(&interval), bounds, Cells::Texts(ids)]
}

/// The columns whose titles are known here, so that the script needs no words for them.
fn labelled() -> Vec<Value> {
    let with_label = COLUMNS.iter().filter(|column| !column.label.is_empty());
    let of = |columns::Column { name, label, unit, is_number, .. }: &columns::Column| json!({ "name": name, "label": label, "unit": unit, "number": is_number });
    with_label.map(of).collect()
}

/// The cells of one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
enum Cells {
    /// Every cell is empty.
    Empty,
    /// A number, or `null`, for each row.
    Numbers(Vec<Option<Number>>),
    /// A text of its own for each row.
    Texts(Vec<String>),
    /// The distinct texts, and for each row the index of its text, or `null`.
    Words { words: Vec<String>, at: Vec<Option<usize>> },
}

/// All stored columns of a run.
fn cells(rows: &[Row]) -> Vec<Cells> {
    let of_column = |column: &columns::Column| {
        let cells: Vec<String> = rows.iter().map(|row| column.write(row)).collect();
        let cells = cells.iter().map(String::as_str);
        if column.is_number { numbers(cells) } else { words(cells) }
    };
    stored().map(of_column).chain(readings(rows)).collect()
}

fn numbers<'a>(cells: impl Iterator<Item = &'a str>) -> Cells {
    let numbers: Vec<Option<Number>> = cells.map(number).collect();
    if numbers.iter().all(Option::is_none) { Cells::Empty } else { Cells::Numbers(numbers) }
}

/// Parses a cell. Integers stay integers: `32` is shorter than `32.0`.
fn number(cell: &str) -> Option<Number> {
    match serde_json::from_str(cell) {
        Ok(Value::Number(number)) => Some(number),
        _ => cell.parse::<f64>().ok().and_then(Number::from_f64),
    }
}

fn words<'a>(cells: impl Iterator<Item = &'a str>) -> Cells {
    let mut indices: HashMap<&str, usize> = HashMap::new();
    let index = |cell: &'a str| {
        let next = indices.len();
        (!cell.is_empty()).then(|| *indices.entry(cell).or_insert(next))
    };
    let at: Vec<Option<usize>> = cells.map(index).collect();
    let mut words = vec![String::new(); indices.len()];
    for (word, at) in indices {
        word.clone_into(&mut words[at]);
    }
    if words.is_empty() { Cells::Empty } else { Cells::Words { words, at } }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn equal_texts_are_stored_once() {
        let column = words(["a", "", "b", "a"].into_iter());
        assert_eq!(serde_json::to_string(&column).ok().as_deref(), Some(r#"{"words":["a","b"],"at":[0,null,1,0]}"#));
        assert_eq!(words(["", ""].into_iter()), Cells::Empty);
    }

    /// The texts of a column of the page; empty texts where it has none.
    fn decoded(cells: &Cells, rows: usize) -> Vec<String> {
        match cells {
            Cells::Words { words, at } => {
                at.iter().map(|at| at.map_or_else(String::new, |at| words[at].clone())).collect()
            }
            _ => vec![String::new(); rows],
        }
    }

    #[test]
    fn the_page_says_of_every_row_of_every_stored_run_what_the_terminal_says() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
        let folders = fs::read_dir(results).unwrap().map(|folder| folder.unwrap().path());
        let runs: Vec<_> = folders.filter(|folder| folder.join("run.json").is_file()).collect();
        assert!(runs.len() > 10, "{runs:?}");
        for folder in runs {
            let data = RunData::load(&folder, crate::testing::catalogue()).unwrap();
            let [_, figures, intervals, ..] = readings(&data.rows).map(|cells| decoded(&cells, data.rows.len()));
            let markdown = crate::export::rows::as_markdown(&data).replace('\\', "").replace("&lt;", "<");
            let lines = markdown.lines().filter(|line| line.starts_with("| ")).skip(2);
            let mut count = 0;
            for ((line, figure), interval) in lines.zip(figures).zip(intervals) {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                assert_eq!(cells[1..3], [figure, interval], "{}: {line}", data.name);
                count += 1;
            }
            assert_eq!(count, data.rows.len(), "{}", data.name);
        }
    }

    #[test]
    fn numbers_are_as_short_as_in_the_file() {
        let column = numbers(["32", "", "2.0331", "0.00000012", "NaN"].into_iter());
        assert_eq!(serde_json::to_string(&column).ok().as_deref(), Some("[32,null,2.0331,1.2e-7,null]"));
        assert_eq!(serde_json::to_string(&Cells::Empty).ok().as_deref(), Some("null"));
    }
}
