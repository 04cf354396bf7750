//! `syncscope advise DIR`: which primitive to take for a stated need, as far as the rows of the run decide.

use syncscope_report::export::advice;
use syncscope_report::{Advice, Asked, Decision, Need, advise as answers_to};

use crate::args::{AdviseArguments, DocumentFormat};
use crate::failure::{Failure, Outcome};
use crate::runs;
use crate::terminal;

/// Shows the answers.
pub(crate) fn advise(arguments: &AdviseArguments) -> Result<Outcome, Failure> {
    let data = runs::load(&runs::named_or_latest_of_catalogue(arguments.run.as_slice())?[0])?;
    if arguments.wait.is_some() && arguments.need != Some(Need::Wait) {
        return Err(Failure::Usage("--for is how long a thread waits: add `--need wait`".to_owned()));
    }
    let asked = Asked { threads: arguments.threads, on: arguments.on, wait: arguments.wait };
    let of = |need| answers_to(&data, need, asked);
    let answers: Vec<Advice> = match arguments.need {
        Some(need) => of(need),
        None => Need::ALL.into_iter().flat_map(|need| representatives(of(need))).collect(),
    };
    let width = terminal::width();
    terminal::show(&match arguments.format {
        DocumentFormat::Table if arguments.need.is_none() => advice::overview(&data, &answers, width),
        DocumentFormat::Table => advice::for_terminal(&data, &answers, width),
        DocumentFormat::Markdown => advice::as_markdown(&data, &answers),
        DocumentFormat::Json => advice::as_json(&data, &answers),
    })?;
    let is_asked = arguments.need.is_some() || arguments.threads.is_some() || arguments.on.is_some();
    if is_asked && answers.iter().all(|advice| matches!(advice.decision, Decision::Missing(_))) {
        return Err(Failure::CouldNot("the run has no rows that answer this".to_owned()));
    }
    Ok(Outcome::Done)
}

/// The one line for a need on each side of the machine: the first answer that advises something, otherwise the first.
fn representatives(answers: Vec<Advice>) -> Vec<Advice> {
    let mut lines: Vec<Advice> = Vec::new();
    let is_decided = |advice: &Advice| matches!(advice.decision, Decision::Take(_));
    for advice in answers {
        match lines.iter_mut().find(|line| line.on == advice.on) {
            Some(line) if !is_decided(line) && is_decided(&advice) => *line = advice,
            Some(_) => {}
            None => lines.push(advice),
        }
    }
    lines
}
