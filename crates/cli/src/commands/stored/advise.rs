//! `syncscope advise DIR`: which primitive to take for a stated need, as far as the rows of the run decide.

use syncscope_report::export::advice;
use syncscope_report::{Advice, Decision, Need, Question, advise as answers_to};

use crate::args::{AdviseArguments, AdviseFormat};
use crate::catalogue::catalogue;
use crate::failure::{Failure, Outcome};
use crate::runs;
use crate::terminal;

/// Shows the answers.
pub(crate) fn advise(arguments: &AdviseArguments) -> Result<Outcome, Failure> {
    let data = runs::load(&arguments.run)?;
    let question = Question { threads: arguments.threads, on: arguments.on.map(Into::into) };
    let of = |need| answers_to(&data, &catalogue(), need, question);
    let answers: Vec<Advice> = match arguments.need {
        Some(need) => of(need.into()),
        None => Need::ALL.into_iter().filter_map(|need| representative(of(need))).collect(),
    };
    let width = terminal::width();
    terminal::show(&match arguments.format {
        AdviseFormat::Table if arguments.need.is_none() => advice::overview(&data, &answers, width),
        AdviseFormat::Table => advice::for_terminal(&data, &answers, width),
        AdviseFormat::Markdown => advice::as_markdown(&data, &answers),
        AdviseFormat::Json => advice::as_json(&data, &answers),
    })?;
    Ok(Outcome::Done)
}

/// The one line for a need: the first answer that advises something, otherwise the first.
fn representative(mut answers: Vec<Advice>) -> Option<Advice> {
    let decided = answers.iter().position(|advice| matches!(advice.decision, Decision::Take(_)));
    (!answers.is_empty()).then(|| answers.swap_remove(decided.unwrap_or_default()))
}
