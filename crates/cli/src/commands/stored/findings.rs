//! `syncscope findings DIR..`: published claims, tested on finished runs.

use syncscope_report::export::findings::{self as export, RunFindings};
use syncscope_report::{Paper, findings as findings_of};

use crate::args::{FindingsArguments, FindingsFormat, PaperName};
use crate::failure::{Failure, Outcome};
use crate::{runs, terminal};

/// Tests the claims on each run.
pub(crate) fn findings(arguments: &FindingsArguments) -> Result<Outcome, Failure> {
    let papers: Vec<Paper> = arguments.paper.iter().map(|name| paper(*name)).collect();
    let mut found = Vec::new();
    for path in &arguments.runs {
        let data = runs::load(path)?;
        let mut findings = findings_of(&data);
        findings.retain(|finding| papers.is_empty() || papers.contains(&finding.paper));
        found.push(RunFindings::new(data, findings));
    }
    terminal::show(&match arguments.format {
        FindingsFormat::Table => export::for_terminal(&found, terminal::width(), terminal::colour()),
        FindingsFormat::Markdown => export::as_markdown(&found),
        FindingsFormat::Json => export::as_json(&found),
    })?;
    Ok(Outcome::Done)
}

const fn paper(name: PaperName) -> Paper {
    match name {
        PaperName::Burtchell => Paper::Burtchell,
        PaperName::Zhang => Paper::Zhang,
        PaperName::Anzt => Paper::Anzt,
        PaperName::Assembler => Paper::Assembler,
    }
}
