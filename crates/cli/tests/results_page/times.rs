//! The table of runs in `results/README.md`: the last column is the time of the run as its `run.json` has it.

use std::fmt::Write;

use crate::tables::Runs;

/// The text with the times of the runs. A line of a run begins with the link to its folder.
pub(crate) fn with_times(text: &str, runs: &Runs) -> Result<String, String> {
    let mut page = String::new();
    for line in text.lines() {
        match (run_of(line), line.trim_end_matches('|').rsplit_once('|')) {
            (Some(run), Some((before, _))) => {
                let seconds = runs.data(run)?.seconds();
                // What was imported does not say when it ended.
                let time = seconds.map(|seconds| format!("{seconds:.0} s ")).unwrap_or_default();
                writeln!(page, "{before}| {time}|").map_err(|error| error.to_string())?;
            }
            _ => writeln!(page, "{line}").map_err(|error| error.to_string())?,
        }
    }
    Ok(page)
}

/// The folder of the run that a line of the table is about.
pub(crate) fn run_of(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("| [")?.split_once("](")?;
    rest.starts_with(&format!("{name}) |")).then_some(name)
}
