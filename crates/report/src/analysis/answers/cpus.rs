//! Where threads are placed, and whether they sleep.

use syncscope_core::stats::Interval;
use syncscope_core::{Case, Group};

use super::Finding;
use super::barriers::enumeration;
use super::field::{Basis, Known, Ratio, rung};
use crate::analysis::matrix;
use crate::{RunData, figure};

/// The classes of pairs of CPUs, the nearest first: the rung of the ladder and what two CPUs of the class are.
pub(in crate::analysis) const CLASSES: [(&str, &str); 6] = [
    ("Hand-off, same core", "between the hardware threads of a core"),
    ("Hand-off, same L2", "within an L2 cache"),
    ("Hand-off, same L3", "within an L3 cache"),
    ("Hand-off, same NUMA node", "within a NUMA node"),
    ("Hand-off, same package", "within a package"),
    ("Hand-off, across packages", "across packages"),
];

/// The median of single hand-offs to a thread that sleeps has no interval. It must be at least this factor above the interval,
/// for another run, of the hand-off to a thread that spins.
const CERTAIN_FACTOR: f64 = 2.0;

/// A wake-up of a thread that sleeps against a hand-off to one that spins. A waiter that was seen asleep has an interval of
/// its own; without such a row, the median of single hand-offs takes its place.
pub(in crate::analysis) fn waking(data: &RunData) -> Option<Finding> {
    let asleep = rung(data, "Two threads", "Wake a sleeping thread")?;
    let mut rungs = std::iter::once("Hand-off, close").chain(CLASSES.map(|(title, _)| title));
    let awake = rungs.find_map(|title| Known::on_rung(data, "Two threads", title, Basis::Machine))?;
    let ways = asleep.note.as_deref().unwrap_or_default();
    let (is_certain, figure, ratio) = if let Some(median) = asleep.median_ns {
        let ratio = Ratio::of((median, Interval { low: median, high: median }), (awake.ns, awake.bounds));
        let is_certain = median > CERTAIN_FACTOR * awake.bounds.high;
        (is_certain, format!("{} ({ways}, median)", figure::time(median)), ratio.times())
    } else {
        let woken = Known::with_figure(data, asleep.row, Basis::Machine)?;
        (awake.is_below(&woken), format!("{} ({ways})", woken.time()), woken.times(&awake))
    };
    is_certain.then(|| {
        let text = format!(
            "Waking a sleeping thread takes {figure}, {ratio} as long as a hand-off to a spinning one ({}).",
            awake.time()
        );
        Finding::certain("decide-handoff", text, [asleep.row, awake.index])
    })
}

/// What the place of two threads does to a hand-off. All pairs are measured in the same way, so rows are compared within the
/// run.
pub(in crate::analysis) fn placement(data: &RunData) -> Option<Finding> {
    let known: Vec<(&str, Known<'_>)> = CLASSES
        .into_iter()
        .filter_map(|(title, words)| Some((words, Known::on_rung(data, "Two threads", title, Basis::Run)?)))
        .collect();
    if let [(_, nearest), .., (_, farthest)] = known.as_slice() {
        if !known.windows(2).all(|pair| pair[0].1.is_below(&pair[1].1)) {
            return Some(Finding::Open(
                "whether hand-offs between near CPUs are cheaper (intervals overlap)".to_owned(),
            ));
        }
        let figures: Vec<String> = known.iter().map(|(words, one)| format!("{} {words}", one.time())).collect();
        let text = format!(
            "A hand-off takes {}: {} as long for the farthest pair as for the nearest.",
            enumeration(&figures),
            farthest.times(nearest)
        );
        return Some(Finding::certain("decide-placement", text, known.iter().map(|(_, one)| one.index)));
    }
    let matrix = matrix::matrix(&data.run, &data.rows)?;
    if let Some(doubt) = matrix.doubt {
        return Some(Finding::Open(format!("whether some pairs of CPUs hand over faster than others ({doubt})")));
    }
    let alike = matrix.alike?;
    let (pairs, measured, possible) = (alike.pairs, matrix.pairs.len(), matrix.possible);
    let (which, among) = match (pairs == measured, measured == possible) {
        (true, true) => (format!("All {pairs} pairs of CPUs"), ""),
        (true, false) => (format!("The {pairs} measured of {possible} pairs of CPUs"), "among them "),
        (false, _) => {
            (format!("The {pairs} of {measured} measured pairs of CPUs whose intervals are narrow"), "among them ")
        }
    };
    let text = format!(
        "{which} hand over in about the same time ({} to {}): {among}there is no better place for two threads.",
        figure::time(alike.costs.0),
        figure::time(alike.costs.1)
    );
    Some(Finding::certain("decide-placement", text, matrix.pairs.iter().map(|(_, _, row)| *row)))
}

/// The primitive that is measured with an idle and with a busy sibling hardware thread.
pub(in crate::analysis) const SMT_PRIMITIVE: &str = "cpu.atomic.add";

/// What a hardware thread loses while its sibling works, and what the core gains. Rows are compared within the run.
pub(in crate::analysis) fn hyperthreads(data: &RunData) -> Option<Finding> {
    let with_group = |group: &Group, like: Option<&Case>| {
        let fits = |case: &Case| {
            let place = |case: &Case| (case.dtype, case.layout, case.order);
            case.group.as_ref() == Some(group)
                && case.primitive == SMT_PRIMITIVE
                && case.form.is_none()
                && like.is_none_or(|like| place(like) == place(case))
        };
        let mut rows = (0..data.rows.len()).filter(|index| fits(&data.rows[*index].case));
        rows.find_map(|index| Known::with_figure(data, index, Basis::Run))
    };
    let busy = with_group(&Group::SiblingBusy, None)?;
    let idle = with_group(&Group::SiblingIdle, Some(&busy.row.case))?;
    if !idle.is_below(&busy) {
        return Some(Finding::Open("what a hardware thread loses to its sibling (intervals overlap)".to_owned()));
    }
    let text = format!(
        "Where the other hardware thread of the core is busy, an atomic add takes {} as long ({} instead of {}): both \
         together do {:.2} times the work of one.",
        busy.times(&idle),
        busy.time(),
        idle.time(),
        2.0 * idle.ns / busy.ns
    );
    Some(Finding::certain("decide-placement", text, [idle.index, busy.index]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, row, said, said_of, within};
    use super::*;
    use syncscope_core::{Detail, Placement, Row, Verdict};

    fn pair(group: Option<Group>, cpus: [u32; 2], ns: f64) -> Row {
        let placement = Some(Placement::List(cpus.to_vec()));
        row(Case { group, placement, ..case("cpu.handoff.cas_pingpong", 2) }, ns, 0.2)
    }

    #[test]
    fn sleeping_costs_more_than_spinning() {
        let close = Case { placement: Some(Placement::Close), ..case("cpu.handoff.cas_pingpong", 2) };
        let spin = row(close, 71.5, 0.1);
        let park = row(case("cpu.handoff.park", 2), 133.0, 0.1);
        let mut run = data(vec![spin, park]);
        assert_eq!(said_of(waking, &run), None, "nothing says that a thread slept");
        run.details.insert(run.rows[1].case.id(), vec![Detail::of_case("p50_ns", 4540.0)]);
        let sentence = "Waking a sleeping thread takes 4.54 µs (park, median), 63 times as long as a hand-off to a spinning one \
                        (71.5 ns).";
        assert_eq!(said_of(waking, &run), Some(Ok(sentence.into())));
        run.rows[0].ns_interval = Some(syncscope_core::stats::Interval { low: 60.0, high: 3000.0 });
        assert_eq!(said_of(waking, &run), None, "another run may be another world");
        run.rows.push(row(case("cpu.wake.park", 2), 3100.0, 0.1));
        assert_eq!(said_of(waking, &run), None, "2.79 to 3.41 \u{b5}s and up to 3 \u{b5}s overlap");
        run.rows[0].ns_interval = Some(syncscope_core::stats::Interval { low: 71.0, high: 72.0 });
        let sentence = "Waking a sleeping thread takes 3.10 µs (park), 43 times as long as a hand-off to a spinning one (71.5 ns).";
        assert_eq!(said_of(waking, &run), Some(Ok(sentence.into())), "not the 4.54 µs of the hand-off");
    }

    #[test]
    fn farther_pairs_take_longer() {
        let rows = vec![
            pair(Some(Group::SameCore), [0, 8], 6.0),
            pair(Some(Group::SameL3), [0, 1], 48.0),
            pair(Some(Group::Across), [0, 4], 210.0),
        ];
        let sentence = "A hand-off takes 6.00 ns between the hardware threads of a core, 48.0 ns within an L3 cache and 210 ns \
                        across packages: 35 times as long for the farthest pair as for the nearest.";
        assert_eq!(said(placement, rows.clone()), Some(Ok(sentence.into())));
        let blurred = vec![rows[0].clone(), within(rows[1].clone(), 5.0, 90.0)];
        assert!(said(placement, blurred).unwrap().is_err());
        assert_eq!(said(placement, rows[..1].to_vec()), None);
    }

    #[test]
    fn equal_pairs_are_said_to_be_equal_as_far_as_they_were_measured() {
        let rows = vec![pair(None, [0, 1], 70.0), pair(None, [1, 2], 73.0), pair(None, [0, 2], 71.0)];
        let sentence = "All 3 pairs of CPUs hand over in about the same time (70.0 ns to 73.0 ns): there is no better place for \
                        two threads.";
        assert_eq!(said(placement, rows.clone()), Some(Ok(sentence.into())));
        let mut sampled = data(rows);
        sampled.run.environment.allowed_cpus = "0-15".into();
        let sentence = said_of(placement, &sampled).unwrap().unwrap();
        assert!(
            sentence.starts_with("The 3 measured of 120 pairs") && sentence.contains("among them there is no better")
        );
    }

    #[test]
    fn pairs_without_a_figure_leave_open_whether_there_is_a_better_place() {
        let mut rows = vec![pair(None, [0, 1], 101.0), pair(None, [1, 2], 104.0), pair(None, [0, 2], 107.0)];
        let noisy = |row: Row, low, high| Row { verdict: Verdict::Noisy("wide".into()), ..within(row, low, high) };
        rows[2] = noisy(rows[2].clone(), 80.0, 130.0);
        let sentence = "The 2 of 3 measured pairs of CPUs whose intervals are narrow hand over in about the same time (101 ns to \
                        104 ns): among them there is no better place for two threads.";
        assert_eq!(said(placement, rows.clone()), Some(Ok(sentence.into())));
        rows[2] = noisy(rows[2].clone(), 0.98, 213.0);
        let question = "whether some pairs of CPUs hand over faster than others (1 of 3 pairs has no figure)";
        assert_eq!(said(placement, rows), Some(Err(question.into())));
    }

    #[test]
    fn a_busy_sibling_slows_a_thread_down() {
        let add = |group, threads, ns| row(Case { group: Some(group), ..case("cpu.atomic.add", threads) }, ns, 0.2);
        let rows = vec![add(Group::SiblingIdle, 1, 5.0), add(Group::SiblingBusy, 2, 9.0)];
        let sentence = "Where the other hardware thread of the core is busy, an atomic add takes 1.8 times as long (9.00 ns \
                        instead of 5.00 ns): both together do 1.11 times the work of one.";
        assert_eq!(said(hyperthreads, rows.clone()), Some(Ok(sentence.into())));
        let overlapping = vec![within(rows[0].clone(), 4.0, 9.5), rows[1].clone()];
        assert!(said(hyperthreads, overlapping).unwrap().is_err());
        assert_eq!(said(hyperthreads, rows[1..].to_vec()), None);
    }
}
