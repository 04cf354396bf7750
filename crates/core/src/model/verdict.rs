//! Verdicts: what a figure is worth.

use std::fmt;

/// Declares the verdicts that carry a reason; their names are the words of the column `verdict`.
macro_rules! verdicts {
    ($($(#[$meta:meta])* $verdict:ident,)+) => {
        /// The judgement on one case. Every verdict but `Resolved` carries its reason.
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum Verdict {
            /// The interval is narrow and excludes zero.
            Resolved,
            $($(#[$meta])* $verdict(String),)+
        }

        impl Verdict {
            /// The words of the column `verdict`.
            pub const NAMES: [&'static str; 1 + [$(stringify!($verdict)),+].len()] =
                ["Resolved", $(stringify!($verdict)),+];

            /// The word in the column `verdict`.
            pub const fn name(&self) -> &'static str {
                match self {
                    Self::Resolved => "Resolved",
                    $(Self::$verdict(_) => stringify!($verdict),)+
                }
            }

            /// The text in the column `reason`; empty for `Resolved`.
            pub fn reason(&self) -> &str {
                match self {
                    Self::Resolved => "",
                    $(Self::$verdict(reason))|+ => reason,
                }
            }

            /// The verdict that a file holds. `None` for a word that is no verdict.
            pub fn from_columns(name: &str, reason: &str) -> Option<Self> {
                match name {
                    "Resolved" => Some(Self::Resolved),
                    $(stringify!($verdict) => Some(Self::$verdict(reason.to_owned())),)+
                    _ => None,
                }
            }
        }
    };
}

verdicts! {
    /// A figure of another tool, without an interval.
    Imported,
    /// The interval contains zero; the reason gives the upper bound.
    BelowResolution,
    /// Certainly cheaper with the primitive than without it: what surrounds it hides it, or runs faster with it.
    Overlapped,
    /// A second copy of the primitive does not cost what the first one does.
    NonAdditive,
    /// The interval stayed wide until the budget was spent.
    Noisy,
    /// The compiler removed or replaced the primitive.
    Elided,
    /// Too many samples were excluded for causes outside the measurement.
    Interfered,
    /// The threads that the figure is about did not run at the same time.
    NotTogether,
    /// A loop did not end within its bound.
    TimedOut,
    /// The case does not exist here.
    Skipped,
    /// It could not be measured, or its check failed.
    Failed,
}

/// The reason of a case whose samples become longer with each one: a list that is walked and never cleared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// By how much the last third of a measurement block takes longer than its first.
    pub factor: f64,
}

impl Growth {
    const WORDS: [&'static str; 2] = [
        "samples took longer and longer (the last third of a measurement block ",
        " times as long as its first): the cost depends on what ran before",
    ];
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = Self::WORDS;
        write!(f, "{before}{:.1}{after}", self.factor)
    }
}

/// The verdict on a case about which nothing is known yet.
impl Default for Verdict {
    fn default() -> Self {
        Self::Failed(String::new())
    }
}

impl Verdict {
    /// Whether the cost may be quoted without reservation: it is resolved, or comes from another tool.
    pub const fn has_cost(&self) -> bool {
        matches!(self, Self::Resolved | Self::Imported(_))
    }

    /// The growth that is the reason of this verdict; files hold its sentence.
    pub fn growth(&self) -> Option<Growth> {
        let Self::NonAdditive(reason) = self else { return None };
        let [before, after] = Growth::WORDS;
        let factor = reason.strip_prefix(before)?.strip_suffix(after)?.parse().ok()?;
        Some(Growth { factor })
    }

    /// Whether this verdict makes a run end with exit code 3.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::TimedOut(_) | Self::Failed(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason() {
            "" => f.pad(self.name()),
            reason => write!(f, "{}: {reason}", self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_verdict_and_back() {
        for name in Verdict::NAMES {
            let verdict = Verdict::from_columns(name, "because").unwrap();
            assert_eq!(verdict.name(), name);
            assert_eq!(verdict.reason().is_empty(), name == "Resolved");
        }
        assert_eq!(Verdict::from_columns("resolved", ""), None);
    }

    /// A growth is read from the sentence that it wrote, and from no other text.
    #[test]
    fn a_growth_comes_back_from_a_file() {
        for factor in [1.2, 2.0, 1234.5] {
            let growth = Growth { factor };
            let stored = Verdict::from_columns("NonAdditive", &growth.to_string()).unwrap();
            assert_eq!(stored.growth(), Some(growth));
            assert_eq!(Verdict::Noisy(growth.to_string()).growth(), None);
            assert_eq!(Verdict::NonAdditive(format!("{growth}, and more")).growth(), None);
        }
    }
}
