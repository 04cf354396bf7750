//! `syncscope fleet DIR..`: the runs of many nodes, what is typical and which nodes differ.

use std::path::{Path, PathBuf};

use syncscope_fleet::nodes::{Fleet, page, text};

use crate::args::{FleetArguments, TextFormat};
use crate::commands::report::{page_of, unless_broken};
use crate::failure::{Failure, Outcome};
use crate::selection::Selection;
use crate::{output, runs, terminal};

/// Compares the nodes of a fleet.
pub(crate) fn fleet(arguments: &FleetArguments) -> Result<Outcome, Failure> {
    let selection = Selection::new(&arguments.only, &[])?;
    let mut fleet = Fleet::default();
    let mut pages = Vec::new();
    let runs = run_directories(&arguments.runs)?;
    arguments.out.as_ref().map_or(Ok(()), |out| output::check(out, &runs))?;
    for path in runs {
        // A broken run is only one of many: the other nodes are compared.
        let Some(mut data) = unless_broken(runs::load_as_measured(&path)) else { continue };
        data.rows.retain(|row| selection.selects(&row.case));
        if !data.rows.is_empty() {
            pages.push(arguments.out.as_ref().and_then(|out| page_of(out, &path, &data.name)));
            fleet.add(&data);
        }
    }
    let Some(examined) = fleet.examine(arguments.threshold.0) else {
        return Err(Failure::Usage(format!("`fleet` needs at least three runs, found {}", pages.len())));
    };
    // An empty table, or the exit code of an equal fleet, would not tell that nothing was compared.
    if examined.compared() == 0 {
        return Err(Failure::CouldNot(text::summary(&examined)));
    }
    terminal::show(&match arguments.format {
        TextFormat::Table => text::for_terminal(&examined, terminal::width()),
        TextFormat::Markdown => text::as_markdown(&examined),
        TextFormat::Csv => text::as_csv(&examined),
        TextFormat::Json => text::as_json(&examined),
    })?;
    if let Some(out) = &arguments.out {
        output::write(out, page::render(&examined, &pages).as_bytes())?;
    }
    let differs = examined.outliers().next().is_some();
    Ok(if differs && arguments.fail_on.is_some() { Outcome::SomeNodesDiffer } else { Outcome::Done })
}

/// Whether a directory has a run, even an unreadable one, which is left out by name.
fn has_run(path: &Path) -> bool {
    path.join("run.json").symlink_metadata().is_ok()
}

/// The directories that hold a run: the named ones, and those inside the others.
fn run_directories(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in named {
        if has_run(path) {
            found.push(path.clone());
            continue;
        }
        let entries =
            std::fs::read_dir(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        let mut within: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(|path| has_run(path)).collect();
        within.sort();
        if within.is_empty() {
            return Err(Failure::Usage(format!(
                "{} is not a run and contains none; name directories that `syncscope run --out` wrote",
                path.display()
            )));
        }
        found.extend(within);
    }
    Ok(runs::distinct(found))
}
