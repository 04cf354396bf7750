//! `syncscope findings DIR..`: published claims, tested on finished runs.

use syncscope_report::export::findings::{self as export, RunFindings};
use syncscope_report::findings as findings_of;

use crate::args::{DocumentFormat, FindingsArguments};
use crate::failure::{Failure, Outcome};
use crate::{runs, terminal};

/// Tests the claims on each run.
pub(crate) fn findings(arguments: &FindingsArguments) -> Result<Outcome, Failure> {
    let papers = &arguments.paper;
    let mut found = Vec::new();
    for path in runs::named_or_latest_of_catalogue(&arguments.runs)? {
        let data = runs::load(&path)?;
        let mut findings = findings_of(&data);
        findings.retain(|finding| papers.is_empty() || papers.contains(&finding.paper));
        found.push(RunFindings::new(data, findings));
    }
    terminal::show(&match arguments.format {
        DocumentFormat::Table => export::for_terminal(&found, terminal::width(), terminal::colour()),
        DocumentFormat::Markdown => export::as_markdown(&found),
        DocumentFormat::Json => export::as_json(&found),
    })?;
    Ok(Outcome::Done)
}
