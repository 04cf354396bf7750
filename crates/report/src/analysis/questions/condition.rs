//! What the answer of a sentence depends on. If all rows of the sentence agree on a value, the sentence names it.

use syncscope_core::{Actor, Placement, Role, Row};

use crate::RunData;
use crate::analysis::claim::{Outcome, Truth};
use crate::analysis::contest::has_role;
use crate::analysis::phrases::{enumerated, joined};
use crate::naming::{self, KERNEL_US, SWEEP_US, capitalized};

/// A property that an answer depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// The number of threads, or the grid.
    Size,
    /// How threads are placed.
    Placement,
    /// The work under a lock.
    Section,
    /// How long kernels last, and whether they access memory.
    Kernels,
    /// Whose cost it is.
    Thread,
}

impl On {
    /// The value in a row.
    pub(super) fn words(self, data: &RunData, row: &Row) -> Option<String> {
        let case = &row.case;
        match self {
            Self::Size => match naming::size(case) {
                size if size.is_empty() => None,
                size if case.blocks > Some(1) => Some(format!("a grid of {size}")),
                size => Some(size),
            },
            Self::Placement => match case.placement.as_ref()? {
                Placement::List(_) => None,
                Placement::None => Some("unbound threads".to_owned()),
                named => Some(format!("{named} placement")),
            },
            Self::Section => has_role(data, case, Role::ThreadLock).then(|| match case.inside {
                Some(work) => format!("{work} under the lock"),
                None => "one addition under the lock".to_owned(),
            }),
            Self::Kernels => {
                let of = |word: &str| case.group_number(word).map(|length| format!("{length} µs kernels"));
                let idle = of(KERNEL_US).map(|kernels| format!("{kernels} that access no memory"));
                idle.or_else(|| Some(format!("{} that sweep the L2 cache", of(SWEEP_US)?)))
            }
            Self::Thread => row.actor.filter(|_| !case.has_one_thread()).map(|actor| match actor {
                Actor::Mean => "costs are means over all threads".to_owned(),
                actor => format!("costs are for the {actor} thread"),
            }),
        }
    }
}

/// A sentence, and what its answer depends on.
pub(super) struct Sentence {
    decide: fn(&RunData) -> Option<Outcome>,
    pub(super) depends: &'static [On],
}

pub(super) const fn sentence(decide: fn(&RunData) -> Option<Outcome>, depends: &'static [On]) -> Sentence {
    Sentence { decide, depends }
}

impl Sentence {
    /// The outcome and, in a separate sentence, the values that all rows of a certain outcome have in common.
    pub(super) fn outcome(&self, data: &RunData) -> Option<Outcome> {
        let mut outcome = (self.decide)(data)?;
        if outcome.verdict != Truth::Open {
            let (costs, with): (Vec<_>, Vec<_>) =
                self.conditions(data, &outcome.rows).into_iter().partition(|(on, _)| *on == On::Thread);
            let with = enumerated(with.into_iter().map(|(_, words)| words));
            let with = with.map(|with| format!("measured with {with}"));
            let said = joined([with, costs.into_iter().next().map(|(_, words)| words)], "; ");
            outcome.measured_with = said.map(|text| format!("{}.", capitalized(&text)));
        }
        Some(outcome)
    }

    /// The values that all these rows have in common.
    pub(super) fn conditions(&self, data: &RunData, rows: &[usize]) -> Vec<(On, String)> {
        let shared = |on: &On| {
            let mut values = rows.iter().map(|row| on.words(data, &data.rows[*row]));
            let first = values.next()??;
            values.all(|other| other.as_ref() == Some(&first)).then_some((*on, first))
        };
        self.depends.iter().filter_map(shared).collect()
    }
}
