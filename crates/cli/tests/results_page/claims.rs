//! `{{claims PAPER RUN ..}}`: what becomes of the claims of a paper, each on the first of the runs that has its rows.

use syncscope_report::{Finding, findings};

use super::tables::Runs;

pub(crate) fn table(words: &str, runs: &Runs) -> Result<String, String> {
    let mut words = words.split_whitespace();
    let paper = words.next().ok_or("a paper is missing")?;
    let mut found: Vec<(Finding, Option<&str>)> = Vec::new();
    for run in words {
        for finding in findings(runs.data(run)?.as_ref()).into_iter().filter(|finding| finding.paper.as_str() == paper)
        {
            match found.iter_mut().find(|(known, _)| known.id == finding.id) {
                Some(known) if known.1.is_none() && finding.measured => *known = (finding, Some(run)),
                Some(_) => {}
                None => {
                    let run = finding.measured.then_some(run);
                    found.push((finding, run));
                }
            }
        }
    }
    if found.iter().all(|(_, run)| run.is_none()) {
        return Err(format!("no run decides a claim of `{paper}`"));
    }
    let mut lines = vec!["| claim | place | verdict | figures | run |".to_owned(), "|---|---|---|---|---|".to_owned()];
    for (finding, run) in &found {
        let cells = [&finding.text, &finding.place, finding.outcome.verdict.words(), &finding.outcome.sentence];
        let run = run.map_or_else(|| "none".to_owned(), |run| format!("[{run}](../results/{run})"));
        lines.push(format!("| {} | {run} |", cells.map(escape).join(" | ")));
    }
    Ok(lines.join("\n"))
}

/// The text so that Markdown shows it as it is.
fn escape(text: &str) -> String {
    let special = |letter| matches!(letter, '|' | '_' | '*' | '`' | '[' | ']' | '~' | '\\');
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            letter if special(letter) => escaped.extend(['\\', letter]),
            letter => escaped.push(letter),
        }
    }
    escaped
}
