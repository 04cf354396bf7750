//! What becomes of a published claim on a run: the words and types that predicates fill in, sections carry and reports show.

use serde::Serialize;
use syncscope_core::words::words;

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

/// What becomes of a claim on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// The rows make certain that it holds.
    Holds,
    /// The rows make certain that it does not.
    DoesNotHold,
    /// The rows do not decide it, or the run lacks them.
    Open,
}

impl ClaimVerdict {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Holds, Self::DoesNotHold, Self::Open];

    /// The words for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Open => "undecided",
        }
    }

    /// Of a statement that is certain, or whose opposite is.
    pub(super) const fn of(is_certain: bool, is_refuted: bool) -> Self {
        match (is_certain, is_refuted) {
            (true, _) => Self::Holds,
            (_, true) => Self::DoesNotHold,
            _ => Self::Open,
        }
    }
}

/// What a predicate finds, with the figures that it stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// The figures in a sentence; of an open claim also the reason.
    pub sentence: String,
    /// The rows, as indices among those of the run, the ones that the sentence names first. Empty where the run lacks what the
    /// claim needs, and for tables of published experiments.
    pub rows: Vec<usize>,
}

impl Outcome {
    /// Of a claim that holds, or does not, or of which that is not known, with the figures or the reason.
    pub const fn of(holds: Option<bool>, sentence: String) -> Self {
        let verdict = ClaimVerdict::of(matches!(holds, Some(true)), matches!(holds, Some(false)));
        Self { verdict, sentence, rows: Vec::new() }
    }
}

/// A claim and what became of it on a run.
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
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Whether the run has the rows or tables that the claim needs.
    pub measured: bool,
}
