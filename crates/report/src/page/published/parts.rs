//! Parts of the section of the reductions.

use std::fmt::Write;

use super::super::html::escape;
pub(super) use crate::section::{card, paragraph, table};

/// What became of a statement of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is true of this machine.
    Holds,
    /// It is not.
    Fails,
    /// The data does not say.
    Open,
}

/// Statements of the source with what became of them: the statement, and the figures that decide it.
pub(super) fn claims(claims: &[(Outcome, String, String)]) -> String {
    let mut html = "<dl class=\"claims\">".to_owned();
    for (outcome, statement, figures) in claims {
        let (tone, word) = match outcome {
            Outcome::Holds => ("good", "holds"),
            Outcome::Fails => ("bad", "does not hold"),
            Outcome::Open => ("void", "not decided"),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            html,
            "<dt><span class=\"badge {tone}\">{word}</span> {}</dt><dd>{}</dd>",
            escape(statement),
            escape(figures)
        );
    }
    html.push_str("</dl>\n");
    html
}
