//! The outcome of a statement that rows test, such as a published claim.

use std::fmt::Display;

use serde::Serialize;
use syncscope_core::words::words;

use super::phrases::joined;
use crate::figure;

words! {
    /// Where a claim was published.
    pub enum Paper ("paper") {
        /// Burtchell and Burtscher, *Characterizing CUDA and OpenMP Synchronization Primitives*, IISWC 2024.
        Burtchell = "burtchell",
        /// Zhang, Wahib, Zhang and Matsuoka, *A Study of Synchronization Methods in Modern GPUs*.
        Zhang = "zhang",
        /// Anzt, Chow and Dongarra, *On block-asynchronous execution on GPUs*, LAPACK Working Note 291, 2016.
        Anzt = "anzt",
        /// A post on cycle-accurate timing of CUDA code with an assembler.
        Assembler = "assembler",
    }
}

impl Paper {
    /// Authors and year, for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Burtchell => "Burtchell and Burtscher (IISWC 2024)",
            Self::Zhang => "Zhang, Wahib, Zhang and Matsuoka (V100, P100)",
            Self::Anzt => "Anzt, Chow and Dongarra (2016)",
            Self::Assembler => "Cycle-accurate CUDA with an assembler (post)",
        }
    }
}

/// What the rows of a run establish about a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Truth {
    /// The statement holds.
    Holds,
    /// The statement does not hold.
    #[serde(rename = "does_not_hold")]
    Fails,
    /// The rows do not decide it, or the run lacks them.
    Open,
}

impl Truth {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Holds, Self::Fails, Self::Open];

    /// The words for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Open => "undecided",
        }
    }

    /// The verdict on a statement that is certain, or whose opposite is.
    pub const fn of(is_certain: bool, is_refuted: bool) -> Self {
        match (is_certain, is_refuted) {
            (true, _) => Self::Holds,
            (_, true) => Self::Fails,
            _ => Self::Open,
        }
    }
}

/// The result of every statement, whether it answers a question, advises or tests a published claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Truth,
    /// The figures in a sentence, and the reason if the claim is open.
    pub sentence: String,
    /// The indices of the rows in the run, the ones that the sentence names first. Empty if the run lacks what the claim
    /// needs, and for tables of published experiments.
    pub rows: Vec<usize>,
    /// What the figures were measured with, in a separate sentence that other statements may share.
    #[serde(skip)]
    pub(crate) measured_with: Option<String>,
    /// The most telling figure, as a heading; empty if the sentence has none.
    #[serde(skip)]
    pub(crate) headline: String,
    /// The end of the first of several sentences; `None` if there is only one.
    #[serde(skip)]
    pub(crate) first_ends: Option<usize>,
}

impl Outcome {
    /// A statement with its figures or, where it is open, the reason.
    pub const fn of(verdict: Truth, sentence: String) -> Self {
        Self { verdict, sentence, rows: Vec::new(), measured_with: None, headline: String::new(), first_ends: None }
    }

    /// Sets the heading to the sentence's most telling figure.
    #[must_use]
    pub fn headed(self, figure: impl Display) -> Self {
        Self { headline: figure::heading(figure), ..self }
    }

    /// Adds sentences after the first one.
    #[must_use]
    pub(super) fn followed_by(self, more: impl IntoIterator<Item = String>) -> Self {
        more.into_iter().fold(self, |all, one| {
            let first_ends = all.first_ends.or(Some(all.sentence.len()));
            Self { sentence: format!("{} {one}", all.sentence), first_ends, ..all }
        })
    }

    /// Puts these words around the sentence.
    pub(super) fn within(self, before: &str, after: &str) -> Self {
        let first_ends = self.first_ends.map(|end| before.len() + end);
        Self { sentence: format!("{before}{}{after}", self.sentence), first_ends, ..self }
    }

    /// Splits a text that begins with this outcome into the first sentence and the others.
    pub(super) fn first_apart(&self, text: &str) -> [String; 2] {
        let (first, others) = text.split_at(self.first_ends.unwrap_or(self.sentence.len()));
        [first.to_owned(), others.trim_start().to_owned()]
    }

    /// Sets the rows that the outcome rests on.
    pub(crate) fn on(self, rows: Vec<usize>) -> Self {
        Self { rows, ..self }
    }

    /// The sentence, and what its figures were measured with.
    pub(crate) fn text(&self) -> String {
        joined([Some(&*self.sentence), self.measured_with.as_deref()], " ").unwrap_or_default()
    }

    /// A statement that these rows establish.
    pub(super) fn holds(sentence: String, rows: impl IntoIterator<Item = usize>) -> Self {
        Self::of(Truth::Holds, sentence).on(rows.into_iter().collect())
    }

    /// The question that these rows leave open; `None` if there are no rows.
    pub(super) fn open_of<T>(rows: &[T], question: &str) -> Option<Self> {
        (!rows.is_empty()).then(|| Self::open(question.to_owned()))
    }

    /// A question that the rows leave open, with the reason.
    pub(super) const fn open(question: String) -> Self {
        Self::of(Truth::Open, question)
    }
}

impl From<Option<bool>> for Truth {
    fn from(holds: Option<bool>) -> Self {
        Self::of(holds == Some(true), holds == Some(false))
    }
}

/// A claim and its outcome on a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the claim in files.
    #[serde(rename = "claim")]
    pub id: String,
    /// Where it was published.
    pub paper: Paper,
    /// The place in the paper.
    pub place: String,
    /// What the paper says.
    pub text: String,
    /// The outcome on the run.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Whether the run has the rows or tables that the claim needs.
    pub measured: bool,
}
