//! What was executed: the instructions found in the timed region, and whether they are the expected ones.

/// The finding of a disassembler about one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// The expected instruction stands in both loops, once more (times unroll) in the test.
    Present {
        /// One cell of text: `RED.E.ADD 32/64`.
        summary: String,
        /// The disassembled timed region of both loops, for `evidence/`.
        listing: String,
    },
    /// Another instruction does the work, and it is named; the figure is that instruction's.
    Substituted {
        /// One cell of text: `NOP for WARPSYNC`.
        summary: String,
        /// As above.
        listing: String,
    },
    /// The primitive is not in the timed region: no figure.
    Elided {
        /// What was expected and what was found.
        summary: String,
        /// As above.
        listing: String,
    },
    /// Nobody looked, and why.
    NotAvailable(String),
}

impl Evidence {
    /// The cell in the column `evidence`; empty if nobody looked.
    #[must_use]
    pub fn summary(&self) -> Option<&str> {
        match self {
            Self::Present { summary, .. } | Self::Substituted { summary, .. } | Self::Elided { summary, .. } => {
                Some(summary)
            }
            Self::NotAvailable(_) => None,
        }
    }

    /// The disassembly, if there is one.
    #[must_use]
    pub fn listing(&self) -> Option<&str> {
        match self {
            Self::Present { listing, .. } | Self::Substituted { listing, .. } | Self::Elided { listing, .. } => {
                Some(listing)
            }
            Self::NotAvailable(_) => None,
        }
    }
}
