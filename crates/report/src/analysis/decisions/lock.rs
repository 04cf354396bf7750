//! Which lock to take: cost by threads, and fairness.

use super::Decision;
use super::cheapest::{self, Contest};
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
        sentence: cheapest::sentence(Contest { data, primitives: CPU_LOCKS, rows: &rows }, "lock", 1)
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

#[cfg(test)]
mod tests {
    use syncscope_core::{Detail, Row, Verdict};

    use super::super::testing::{decision, labels, lock, noisy, sentence, series};
    use crate::analysis::answers::testing::{data, within};

    #[test]
    fn the_cheapest_lock_differs_by_number_of_threads() {
        let rows = || {
            let ticket =
                [(1, 9.0), (2, 200.0), (16, 6000.0), (32, 90_000.0)].map(|(threads, ns)| lock("ticket", threads, ns));
            let mutex = [(1, 15.0), (2, 90.0), (16, 1200.0), (32, 1300.0)];
            let mutex = mutex.map(|(threads, ns)| lock("pthread_mutex", threads, ns));
            ticket.into_iter().chain(mutex).collect::<Vec<Row>>()
        };
        assert_eq!(
            sentence("decide-lock", rows()),
            "Cheapest measured lock: ticket at 1 thread (9.00 ns), pthread_mutex at 2 threads (90.0 ns), at 16 (1.20 µs) and at 32 (1.30 \
             µs)."
        );
        let mut overlapping = rows();
        overlapping[2] = within(overlapping[2].clone(), 1100.0, 9000.0);
        let text = sentence("decide-lock", overlapping);
        assert!(text.ends_with("; at 16 threads, pthread_mutex and ticket cannot be distinguished."), "{text}");
        let mut unknown = rows();
        unknown[2].verdict = Verdict::Interfered("too many".into());
        let text = sentence("decide-lock", unknown);
        assert!(text.ends_with("; at 16 threads, 1 of 2 have no reliable figure."), "{text}");
        assert!(!text.contains("at 16 ("), "{text}");
    }

    #[test]
    fn locks_that_are_not_measured_yet_leave_the_choice_open() {
        let mut run = data(vec![lock("ticket", 1, 9.0), lock("mcs", 1, 12.0), lock("ticket", 16, 100.0)]);
        run.run.status = syncscope_core::run::Status::BudgetSpent;
        run.run.planned_by_primitive = [("cpu.lock.ticket".to_owned(), 2), ("cpu.lock.mcs".to_owned(), 2)].into();
        assert_eq!(
            decision("decide-lock", &run).unwrap().sentence,
            "Cheapest measured lock: ticket at 1 thread (9.00 ns); at 16 threads, 1 of 2 is not measured yet."
        );
    }

    #[test]
    fn a_lower_estimate_of_a_noisy_row_is_no_winner() {
        let rows = vec![lock("ticket", 16, 100.0), noisy(lock("mcs", 16, 60.0), 20.0, 400.0), lock("ttas", 16, 900.0)];
        assert_eq!(
            sentence("decide-lock", rows),
            "Cheapest lock: at 16 threads, mcs and ticket cannot be distinguished."
        );
        let many: Vec<Row> = ["ticket", "mcs", "ttas", "std_mutex", "pthread_spin"]
            .map(|name| noisy(lock(name, 16, 100.0), 50.0, 150.0))
            .to_vec();
        let text = sentence("decide-lock", many);
        assert_eq!(text, "Cheapest lock: at 16 threads, ticket, mcs and 3 more cannot be distinguished.");
    }

    #[test]
    fn fairness_is_shown_for_the_largest_team_that_fits() {
        let mut run = data(vec![lock("ticket", 16, 100.0), lock("ttas", 16, 90.0), lock("ttas", 32, 95.0)]);
        for (at, index) in [(0, 1.0), (1, 0.4), (2, 0.1)] {
            run.details.insert(run.rows[at].case.id(), vec![Detail::of_case("jain_index", index)]);
        }
        let found = decision("decide-lock", &run).unwrap();
        assert_eq!(labels(&found.charts[1]), ["ticket", "ttas"]);
        assert_eq!(series(&found.charts[1])[1].points[0].x, Some(0.4), "not that of 32 threads on 16 CPUs");
    }
}
