//! Which lock to take: cost by threads, and fairness.

use super::Decision;
use super::cheapest;
use super::spec::{Axis, Point, Series, Spec, Unit};
use super::sweep::{cpu_rules, largest_team, name, note, series, sweep, team, threads, unreliable};
use crate::RunData;
use crate::analysis::row_query::CPU_LOCKS;

/// The detail with Jain's fairness index of the threads' acquisitions (Jain, Chiu, Hawe, 1984).
const FAIRNESS: &str = "jain_index";

pub(super) fn decision(data: &RunData) -> Option<Decision> {
    let rows = sweep(data, CPU_LOCKS, threads);
    let cost = Spec::lines(
        Axis::log("threads", Unit::Count),
        Axis::log("time per acquisition", Unit::Time),
        series(data, &rows, name, team, Point::cost),
    )?;
    let most = largest_team(data, &rows);
    let fairness = most.and_then(|threads| fairness(data, &rows, threads));
    let dtype = rows.first().and_then(|index| data.rows[*index].case.dtype);
    let dtype = dtype.map(|dtype| format!(" ({dtype})")).unwrap_or_default();
    Some(Decision {
        id: "decide-lock",
        question: "Which lock?",
        sentence: cheapest::sentence(data, &rows, "lock", 1)
            .unwrap_or_else(|| "One lock alone has figures: there is nothing to choose from.".to_owned()),
        charts: [Some(cost.ruled(cpu_rules(data))), fairness].into_iter().flatten().collect(),
        note: note([
            Some(format!(
                "The critical section is one addition{dtype}. A lock that is cheap because one thread keeps it is not fair."
            )),
            unreliable(data, &rows),
        ]),
    })
}

/// Jain's index of each lock at so many threads: 1 if all threads got the lock equally often, 1/n if one thread alone did.
fn fairness(data: &RunData, rows: &[usize], threads: u32) -> Option<Spec> {
    let of_row = |index: &usize| {
        let row = &data.rows[*index];
        let details = data.details.get(&row.case.id()).filter(|_| row.case.threads == Some(threads))?;
        let index_of_jain = details.iter().find(|detail| detail.name == FAIRNESS && detail.actor.is_none())?.value;
        let point = Point::bare(index_of_jain, *index, format!("{index_of_jain:.2}"));
        Some(Series {
            label: name(&row.case),
            primitive: Some(row.case.primitive.clone()),
            colour: None,
            points: vec![point],
        })
    };
    let mut all: Vec<Series> = if threads > 1 { rows.iter().filter_map(of_row).collect() } else { Vec::new() };
    all.sort_by(|a, b| b.points[0].y.unwrap_or(0.0).total_cmp(&a.points[0].y.unwrap_or(0.0)));
    let axis = Axis::share("Jain's index: 1 if all threads get the lock alike");
    Some(Spec::dots(axis, all)?.titled(format!("Fairness at {threads} threads")))
}
