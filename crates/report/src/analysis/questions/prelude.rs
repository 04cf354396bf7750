//! Imports for every question: rows and their known costs, charts, and words.

pub(super) use std::collections::{BTreeMap, BTreeSet};

pub(super) use syncscope_core::stats::Interval;
pub(super) use syncscope_core::{Case, Domain, Dtype, Group, Layout, MemoryOrder, Mode, Placement, Role, Row, Verdict};

pub(super) use super::advice::{Choice, Decision, Inquiry, Situation, decide, missing_size, of_peers};
pub(super) use super::condition::{On, sentence};
pub(super) use super::rows::{
    Along, by_threads, cheapest_in_words, each_costs_more, largest_team, one_line_each, plain, series, size_and_place,
    sizes, team, unreliable,
};
pub(super) use super::{Picture, Sentences};
pub(super) use crate::analysis::claim::Outcome;
pub(super) use crate::analysis::contest::{
    Basis, Comparison, Contest, Entrant, Known, Peers, Ratio, Size, design, has_role, is_absent, is_plain,
    short_design, takes_part,
};
pub(super) use crate::analysis::ladder::{on_rung, rung};
pub(super) use crate::analysis::phrases::{enumerated, joined};
pub(super) use crate::analysis::placements;
pub(super) use crate::analysis::usual::{MachineSize, most_usual, short_name, unusualness};
pub(super) use crate::chart::{Axis, Cell, Line, Point, Rule, Series, Spec, Unit};
pub(super) use crate::naming::{capitalized, either, enumeration, plural};
pub(super) use crate::reading::Reading;
pub(super) use crate::{RunData, figure, naming, reading};
pub(super) use syncscope_core::sets::sets;
