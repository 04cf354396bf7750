//! What a figure is worth.

use std::fmt;

/// The judgement on one case. Every verdict but `Resolved` carries its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The interval is narrow and excludes zero.
    Resolved,
    /// The interval contains zero; the reason gives the upper bound.
    BelowResolution(String),
    /// Certainly cheaper with the primitive than without it: what surrounds it hides it, or runs faster with it.
    Overlapped(String),
    /// A second copy of the primitive does not cost what the first one does.
    NonAdditive(String),
    /// The interval stayed wide until the budget was spent.
    Noisy(String),
    /// The compiler removed or replaced the primitive.
    Elided(String),
    /// Too many samples were excluded for causes outside the measurement.
    Interfered(String),
    /// The threads that the figure is about did not run at the same time.
    NotTogether(String),
    /// A loop did not end within its bound.
    TimedOut(String),
    /// The case does not exist here.
    Skipped(String),
    /// It could not be measured, or its check failed.
    Failed(String),
}

impl Verdict {
    /// The words of the column `verdict`.
    pub const NAMES: [&'static str; 11] = [
        "Resolved",
        "BelowResolution",
        "Overlapped",
        "NonAdditive",
        "Noisy",
        "Elided",
        "Interfered",
        "NotTogether",
        "TimedOut",
        "Skipped",
        "Failed",
    ];

    /// The word in the column `verdict`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Resolved => "Resolved",
            Self::BelowResolution(_) => "BelowResolution",
            Self::Overlapped(_) => "Overlapped",
            Self::NonAdditive(_) => "NonAdditive",
            Self::Noisy(_) => "Noisy",
            Self::Elided(_) => "Elided",
            Self::Interfered(_) => "Interfered",
            Self::NotTogether(_) => "NotTogether",
            Self::TimedOut(_) => "TimedOut",
            Self::Skipped(_) => "Skipped",
            Self::Failed(_) => "Failed",
        }
    }

    /// The text in the column `reason`; empty for `Resolved`.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Resolved => "",
            Self::BelowResolution(reason)
            | Self::Overlapped(reason)
            | Self::NonAdditive(reason)
            | Self::Noisy(reason)
            | Self::Elided(reason)
            | Self::Interfered(reason)
            | Self::NotTogether(reason)
            | Self::TimedOut(reason)
            | Self::Skipped(reason)
            | Self::Failed(reason) => reason,
        }
    }

    /// The verdict that a file holds. `None` for a word that is no verdict.
    #[must_use]
    pub fn from_columns(name: &str, reason: &str) -> Option<Self> {
        let reason = reason.to_owned();
        Some(match name {
            "Resolved" => Self::Resolved,
            "BelowResolution" => Self::BelowResolution(reason),
            "Overlapped" => Self::Overlapped(reason),
            "NonAdditive" => Self::NonAdditive(reason),
            "Noisy" => Self::Noisy(reason),
            "Elided" => Self::Elided(reason),
            "Interfered" => Self::Interfered(reason),
            "NotTogether" => Self::NotTogether(reason),
            "TimedOut" => Self::TimedOut(reason),
            "Skipped" => Self::Skipped(reason),
            "Failed" => Self::Failed(reason),
            _ => return None,
        })
    }

    /// Whether this verdict makes a run end with exit code 3.
    #[must_use]
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
}
