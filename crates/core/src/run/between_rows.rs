//! Judges rows by other rows of their run: the limits that they set each other, and how often SMT interference was.

use crate::model::detail::{Details, value_of};
use crate::units::significant_digits;
use crate::{Case, Detail, Domain, Placement, Role, Row, Verdict};

/// Below this fraction of a hand-off's time, a lock certainly changes hands too fast. The margin is for acquisitions between
/// hand-overs, which are counted in windows of their own.
const CERTAINLY_BELOW: f64 = 0.8;

/// Changes the verdict of locks that change hands faster than their threads can hand over.
pub fn judge(rows: &mut [Row], details: &Details, role: impl Fn(&Case) -> Option<Role>) {
    for (index, reason) in locks_beyond_handoffs(rows, details, role) {
        rows[index].verdict = Verdict::NotTogether(reason);
        rows[index].ops_per_s_total = None;
    }
}

/// The resolved locks whose holder changes in certainly less time than a hand-off between two of their CPUs takes, and why. A lock
/// may be taken again and again by one thread, so its cost alone says nothing.
///
/// Two threads are compared with hand-offs between the same CPUs, more threads with the fastest hand-off of the run, if it
/// has hand-offs of pairs: two CPUs among many may be nearer to each other than the CPUs of the usual hand-off.
pub fn locks_beyond_handoffs(
    rows: &[Row],
    details: &Details,
    role: impl Fn(&Case) -> Option<Role>,
) -> Vec<(usize, String)> {
    let handoffs: Vec<&Row> = rows.iter().filter(|row| role(&row.case) == Some(Role::SpinHandoff)).collect();
    let has_pairs = handoffs.iter().any(|row| matches!(row.case.placement, Some(Placement::List(_))));
    let fastest = |lock: &Case| {
        let is_between = |row: &&&Row| match lock.threads {
            Some(2) => row.case.threads == Some(2) && row.case.placement == lock.placement,
            _ => has_pairs,
        };
        handoffs.iter().filter(is_between).filter_map(|row| Some(bounds(row)?.0)).min_by(f64::total_cmp)
    };
    let beyond = |(index, row): (usize, &Row)| {
        let threads = row.case.threads.filter(|threads| *threads > 1)?;
        let kept = value_of(details, &row.case, Detail::ACQUISITIONS_PER_HANDOVER, None)?;
        let kept = Some(kept).filter(|_| role(&row.case) == Some(Role::ThreadLock))?;
        let (handover, handoff) = (bounds(row)?.1 * kept / f64::from(threads), fastest(&row.case)?);
        let [handover_ns, handoff_ns] = [handover, handoff].map(significant_digits);
        let reason = format!(
            "changes hands every {handover_ns} ns, but the fastest hand-off between its CPUs takes {handoff_ns} ns: \
             the threads did not run at the same time"
        );
        (handover < CERTAINLY_BELOW * handoff).then_some((index, reason))
    };
    rows.iter().enumerate().filter_map(beyond).collect()
}

/// The bounds of a resolved cost for another run, in nanoseconds: a state of the machine may have changed between two rows.
fn bounds(row: &Row) -> Option<(f64, f64)> {
    let quoted = row.ns_interval.filter(|_| row.verdict == Verdict::Resolved)?;
    Some((quoted.low, quoted.high))
}

// How often another hardware thread of the core was active, over the cases of one thread of a run.

/// A larger share disturbs the figures of several threads.
const FREQUENT_INTERFERENCE: f64 = 0.1;

/// The fewest pairs that show the share.
const ENOUGH_PAIRS: f64 = 100.0;

/// The share of the pairs of one CPU thread during which another hardware thread of its core was active, where that was
/// frequent. Only cases of one thread count: threads of a team may be siblings of each other.
pub fn frequent_smt_interference(rows: &[Row]) -> Option<f64> {
    let is_on_cpu = |row: &Row| row.case.domain_and_family().0 == Domain::Cpu.as_str();
    let has_one_thread = |row: &&Row| row.case.threads == Some(1) && !row.provisional && is_on_cpu(row);
    // The share is not known for a case without a cost. The details of joined runs come from one run.
    let shares = rows
        .iter()
        .filter(has_one_thread)
        .filter_map(|row| Some(((row.pairs.unwrap_or(0) + row.excluded.unwrap_or(0)) as f64, row.beside_share?)));
    let (pairs, disturbed) =
        shares.fold((0.0, 0.0), |(pairs, disturbed), (taken, share)| (pairs + taken, disturbed + taken * share));
    (pairs >= ENOUGH_PAIRS && disturbed > FREQUENT_INTERFERENCE * pairs).then(|| disturbed / pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    fn row(primitive: &str, threads: u32, placement: &Placement, ns: f64) -> Row {
        let case = Case { threads: Some(threads), placement: Some(placement.clone()), ..Case::new(primitive) };
        let ns_interval = Some(Interval { low: 0.95 * ns, high: 1.05 * ns });
        Row { case, ns_interval, verdict: Verdict::Resolved, ops_per_s_total: Some(1.0), ..Row::default() }
    }

    #[expect(clippy::unnecessary_wraps, reason = "the function that a catalogue gives")]
    fn role(case: &Case) -> Option<Role> {
        Some(if case.primitive == "lock" { Role::ThreadLock } else { Role::SpinHandoff })
    }

    /// Whether these hand-offs change a lock's verdict.
    fn is_beyond(lock: Row, kept: f64, handoffs: &[Row]) -> bool {
        let details = Details::from([(lock.case.id(), vec![Detail::of_case(Detail::ACQUISITIONS_PER_HANDOVER, kept)])]);
        let mut rows = [&[lock], handoffs].concat();
        judge(&mut rows, &details, role);
        assert!(rows[1..].iter().all(|row| row.verdict == Verdict::Resolved));
        assert_eq!(rows[0].ops_per_s_total.is_some(), rows[0].verdict == Verdict::Resolved);
        matches!(rows[0].verdict, Verdict::NotTogether(_))
    }

    #[test]
    fn a_lock_changes_hands_no_faster_than_its_cpus() {
        let (close, spread) = (Placement::Close, Placement::Spread);
        let handoff = row("handoff", 2, &close, 100.0);
        // The lock of two threads that take turns changes hands after half of what each pays.
        assert!(is_beyond(row("lock", 2, &close, 120.0), 1.0, std::slice::from_ref(&handoff)));
        assert!(!is_beyond(row("lock", 2, &close, 200.0), 1.0, std::slice::from_ref(&handoff)));
        assert!(!is_beyond(row("lock", 2, &close, 12.0), 17.0, std::slice::from_ref(&handoff)), "one thread keeps it");
        assert!(!is_beyond(row("lock", 2, &spread, 120.0), 1.0, std::slice::from_ref(&handoff)), "other CPUs");
        assert!(
            !is_beyond(row("lock", 4, &close, 120.0), 1.0, std::slice::from_ref(&handoff)),
            "nearer CPUs may be among them"
        );
        let pair = row("handoff", 2, &Placement::List(vec![0, 1]), 40.0);
        assert!(is_beyond(row("lock", 4, &close, 100.0), 1.0, &[handoff.clone(), pair.clone()]));
        assert!(!is_beyond(row("lock", 4, &close, 160.0), 1.0, &[handoff, pair]));
    }

    #[test]
    fn what_certainly_bounds_a_lock_is_resolved_and_far_above_it() {
        let (close, list) = (Placement::Close, Placement::List(vec![0, 1]));
        let handoff = row("handoff", 2, &close, 100.0);
        assert!(!is_beyond(row("lock", 2, &close, 160.0), 1.0, std::slice::from_ref(&handoff)), "by little");
        let noisy = Row { verdict: Verdict::Noisy(String::new()), ..row("lock", 2, &close, 120.0) };
        assert!(locks_beyond_handoffs(&[noisy, handoff], &kept_once("lock", 2, &close), role).is_empty());
        assert!(
            !is_beyond(row("lock", 1, &close, 10.0), 1.0, &[row("handoff", 2, &list, 40.0)]),
            "nobody to hand over to"
        );
    }

    fn kept_once(primitive: &str, threads: u32, placement: &Placement) -> Details {
        let case = row(primitive, threads, placement, 1.0).case;
        Details::from([(case.id(), vec![Detail::of_case(Detail::ACQUISITIONS_PER_HANDOVER, 1.0)])])
    }

    /// The frequent share of cases, each given by its threads, the pairs that count, the excluded ones, and the share of
    /// both.
    fn frequent(cases: &[(u32, u64, u64, f64)], change: impl Fn(&mut Row)) -> Option<f64> {
        let one = |(number, (threads, pairs, excluded, share)): (usize, &(u32, u64, u64, f64))| {
            let case = Case { threads: Some(*threads), ..Case::new(&format!("cpu.x.{number}")) };
            let (pairs, excluded, beside_share) = (Some(*pairs), Some(*excluded), Some(*share));
            let mut row = Row { case, pairs, excluded, beside_share, ..Row::default() };
            change(&mut row);
            row
        };
        frequent_smt_interference(&cases.iter().enumerate().map(one).collect::<Vec<_>>())
    }

    #[test]
    fn interference_is_frequent_over_enough_pairs_of_one_thread() {
        let is = |found: Option<f64>, share: f64| found.is_some_and(|found| (found - share).abs() < 1e-12);
        assert!(is(frequent(&[(1, 60, 40, 0.2)], |_| {}), 0.2), "excluded pairs count");
        assert!(is(frequent(&[(1, 150, 0, 0.3), (1, 50, 0, 0.1)], |_| {}), 0.25), "each pair as much");
        for seldom in [(1, 99, 0, 0.9), (1, 200, 0, 0.1), (2, 200, 0, 0.9)] {
            assert_eq!(frequent(&[seldom], |_| {}), None, "{seldom:?}");
        }
        let often = [(1, 200, 0, 0.9)];
        assert_eq!(frequent(&often, |row| row.provisional = true), None);
        assert_eq!(frequent(&often, |row| row.beside_share = None), None, "of a case without a cost it is not known");
        assert_eq!(frequent(&often, |row| row.case.primitive = row.case.primitive.replace("cpu", "gpu")), None);
    }
}
