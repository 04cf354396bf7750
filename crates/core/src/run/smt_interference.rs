//! How often another hardware thread of the core was active, over the cases of one thread of a run.

use std::collections::HashMap;
use std::hash::BuildHasher;

use crate::model::case::CaseId;
use crate::model::detail::Detail;
use crate::model::primitive::Domain;
use crate::run::row::Row;

/// A larger share disturbs the figures of several threads.
const FREQUENT: f64 = 0.1;

/// With fewer pairs, the share is not known.
const ENOUGH_PAIRS: f64 = 100.0;

/// The share of the pairs of one CPU thread during which another hardware thread of its core was active, where that was
/// frequent. Only cases of one thread count: threads of a team may be siblings of each other.
pub fn frequent_share<S: BuildHasher>(rows: &[Row], details: &HashMap<CaseId, Vec<Detail>, S>) -> Option<f64> {
    let is_on_cpu = |row: &Row| row.case.domain_and_family().0 == Domain::Cpu.as_str();
    let has_one_thread = |row: &&Row| row.case.threads == Some(1) && !row.provisional && is_on_cpu(row);
    let share = |row: &Row| {
        let of_case = details.get(&row.case.id())?;
        of_case.iter().find(|detail| detail.name == Detail::SMT_INTERFERENCE).map(|detail| detail.value)
    };
    let (pairs, disturbed) = rows.iter().filter(has_one_thread).fold((0.0, 0.0), |(pairs, disturbed), row| {
        let taken = (row.pairs.unwrap_or(0) + row.excluded.unwrap_or(0)) as f64;
        (pairs + taken, disturbed + taken * share(row).unwrap_or(0.0))
    });
    (pairs >= ENOUGH_PAIRS && disturbed > FREQUENT * pairs).then(|| disturbed / pairs)
}
