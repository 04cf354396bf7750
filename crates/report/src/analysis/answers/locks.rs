//! Which lock to take.

use syncscope_core::Case;

use super::Finding;
use super::field::{Basis, field, rung};
use crate::RunData;
use crate::analysis::row_query::CPU_LOCKS;

/// The cheapest lock where all CPUs want it. The locks are measured in the same way, so rows are compared within the run.
pub(super) fn cheapest_lock(data: &RunData) -> Option<Finding> {
    let like: &Case = &data.rows.get(rung(data, "All threads", "Lock, contended, best")?.row)?.case;
    let field = field(data, CPU_LOCKS, like, Basis::Run);
    let threads = like.threads?;
    Some(match field.winner()? {
        Err(reason) => Finding::Open(format!("which lock is the cheapest at {threads} threads ({reason})")),
        Ok((best, rivals)) => {
            let next = rivals.first()?;
            let last = rivals.last().filter(|last| last.index != next.index);
            let last = last.map(|last| format!("; the most expensive, {}, {}", last.name(), last.times(&best)));
            let text = format!(
                "At {threads} threads {} ({}) is the {}. The next, {}, costs {} as much{}.",
                best.name(),
                best.time(),
                field.coverage.cheapest("lock"),
                next.name(),
                next.times(&best),
                last.unwrap_or_default(),
            );
            Finding::certain("decide-lock", text, std::iter::once(best.index).chain(rivals.iter().map(|one| one.index)))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, row, said, said_of, within};
    use super::*;
    use syncscope_core::run::Status;
    use syncscope_core::{Group, Row, Verdict};

    fn lock(name: &str, ns: f64) -> Row {
        // In another run each may differ by half, and all of them alike.
        row(case(&format!("cpu.lock.{name}"), 16), ns, 0.5)
    }

    #[test]
    fn the_cheapest_lock_of_the_run_is_named() {
        let rows = vec![
            lock("std_mutex", 2617.0),
            lock("pthread_mutex", 1204.0),
            lock("ticket", 6154.0),
            lock("ttas", 3795.0),
        ];
        assert_eq!(
            said(cheapest_lock, rows),
            Some(Ok(
                "At 16 threads pthread_mutex (1.20 µs) is the cheapest of the 4 measured locks. The next, std_mutex, costs 2.2 times as \
                     much; the most expensive, ticket, 5.1 times."
                    .into()
            ))
        );
    }

    #[test]
    fn overlapping_locks_are_not_ranked() {
        let rows = vec![within(lock("std_mutex", 1300.0), 1150.0, 1450.0), lock("pthread_mutex", 1204.0)];
        let question =
            "which lock is the cheapest at 16 threads (the intervals of pthread_mutex and std_mutex overlap)";
        assert_eq!(said(cheapest_lock, rows), Some(Err(question.into())));
    }

    #[test]
    fn every_runtime_of_openmp_is_a_rival() {
        let critical = |group, ns| {
            let row = lock("openmp_critical", ns);
            Row { case: Case { group: Some(group), ..row.case.clone() }, ..row }
        };
        let rows = vec![lock("ticket", 500.0), critical(Group::Libgomp, 900.0), critical(Group::Libomp, 400.0)];
        let sentence = said(cheapest_lock, rows).unwrap().unwrap();
        assert!(sentence.starts_with("At 16 threads openmp_critical (400 ns) is the cheapest"), "{sentence}");
    }

    #[test]
    fn a_run_that_ended_early_names_no_cheapest_lock() {
        let mut run = data(vec![lock("pthread_mutex", 80.0), lock("ticket", 536.0)]);
        run.run.status = Status::BudgetSpent;
        let plan = ["pthread_mutex", "ticket", "mcs", "ttas", "std_mutex"];
        run.run.planned_by_primitive = plan.map(|name| (format!("cpu.lock.{name}"), 1)).into();
        let question = "which lock is the cheapest at 16 threads (3 of 5 are not measured yet)";
        assert_eq!(said_of(cheapest_lock, &run), Some(Err(question.into())));
        run.run.planned_by_primitive.retain(|id, _| id.ends_with("ticket") || id.ends_with("pthread_mutex"));
        let sentence = said_of(cheapest_lock, &run).unwrap().unwrap();
        assert!(sentence.contains("pthread_mutex (80.0 ns) is the cheapest of the 2 measured locks."), "{sentence}");
    }

    #[test]
    fn one_lock_is_no_choice() {
        assert_eq!(said(cheapest_lock, vec![lock("ticket", 500.0)]), None);
        let missing = Row { verdict: Verdict::Skipped("none".into()), ..lock("mcs", 1.0) };
        assert_eq!(said(cheapest_lock, vec![lock("ticket", 500.0), missing]), None);
        assert_eq!(said(cheapest_lock, vec![]), None);
    }
}
