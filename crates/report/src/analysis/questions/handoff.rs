//! Spin or sleep? What a hand-off between threads costs, and what it costs to wake the receiver.

pub(super) mod blocks;

use super::prelude::*;
use super::wait;
use crate::analysis::ladder::row_query::MEDIAN_DETAIL;
use crate::analysis::matrix::PAIR_CLASSES;

pub(super) const SENTENCES: Sentences = &[sentence(waking, &[On::Placement])];

/// The median of single hand-offs to a sleeping thread has no interval. It must exceed the interval, for another run, of the
/// hand-off to a spinning thread by at least this factor.
const CERTAIN_FACTOR: f64 = 2.0;

/// Compares waking a sleeping thread with a hand-off to a spinning one. A waiter that was seen asleep has its own interval;
/// without such a row, the median of single hand-offs replaces it.
fn waking(data: &RunData) -> Option<Outcome> {
    let asleep = rung(data, "wake")?;
    let mut rungs = std::iter::once("handoff.close").chain(PAIR_CLASSES.map(|class| class.rung));
    let awake = rungs.find_map(|id| on_rung(data, id, Basis::Machine))?;
    // The figure belongs to the first name; the others may have none, or a larger one.
    let ways = match asleep.names.as_slice() {
        [first, others @ ..] if !others.is_empty() => format!("{first}; {} may be equally cheap", either(others)),
        _ => asleep.note.clone().unwrap_or_default(),
    };
    let (is_certain, thread, figure, headline, ratio) = if let Some(median) = asleep.median_ns {
        let ratio = Ratio::of((median, Interval { low: median, high: median }), (awake.ns, awake.bounds));
        let is_certain = median > CERTAIN_FACTOR * awake.bounds.high;
        let thread = "a sleeping thread".to_owned();
        (is_certain, thread, format!("{} ({ways}, median)", figure::time(median)), figure::time(median), ratio)
    } else {
        let both = awake.against(Known::written(data, asleep.row, Basis::Machine)?)?;
        let slept = wait::asleep_us(data.case(asleep.row)).map(|us| figure::time(f64::from(us) * 1000.0));
        let thread = slept.map_or("a sleeping thread".to_owned(), |slept| format!("a thread asleep for {slept}"));
        (both.is_certain(), thread, format!("{} ({ways})", both.more), both.more.to_string(), both.ratio)
    };
    let longer = wait::after_longer_sleeps(data).map(|longer| format!("A wake-up takes {longer}."));
    let text = format!("Waking {thread} takes {figure}, {ratio} as long as a hand-off to a spinning thread ({awake}).");
    is_certain.then(|| Outcome::holds(text, [asleep.row, awake.index]).headed(headline).followed_by(longer))
}

/// The kinds of hand-offs in the order of their colours, with what a label adds to the name.
const KINDS: [(&[Role], &str); 4] = [
    (&[Role::SpinHandoff], ", spins"),
    (&[Role::SleepHandoff, Role::Wake], ", sleeps"),
    (&[Role::Channel], ""),
    (&[Role::HostDeviceHandoff], ""),
];

/// The index of a case's kind.
fn kind(data: &RunData, case: &Case) -> Option<usize> {
    let role = data.catalogue.facts(&case.primitive)?.role;
    KINDS.iter().position(|(roles, _)| roles.contains(&role))
}

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let shown = placements::shown(data);
    let is_shown = |row: &Row, id: &str| {
        let case = &row.case;
        let is_usual = case.placement.as_ref().is_none_or(|placement| *placement == shown)
            && (case.group.is_none() || wait::asleep_us(case).is_some());
        let is_one = case.primitive == id && case.form.is_none() && !is_absent(row);
        is_one && (is_usual || has_role(data, case, Role::HostDeviceHandoff))
    };
    let roles = KINDS.iter().flat_map(|(roles, _)| roles.iter());
    let ids = roles.flat_map(|role| data.catalogue.with_role(*role)).map(|primitive| primitive.id);
    let usual = |id: &str| data.rows_where(|row| is_shown(row, id)).min_by_key(|index| data.case(*index));
    let found: Vec<usize> = ids.filter_map(usual).collect();
    let case = |index: &usize| data.case(*index);
    // The wake-up of a thread that was seen asleep is the better figure of the two.
    let is_woken = |index: &usize| {
        let name = |index: &usize| short_name(&case(index).primitive);
        let same = |other: &usize| has_role(data, case(other), Role::Wake) && name(other) == name(index);
        has_role(data, case(index), Role::SleepHandoff) && found.iter().any(same)
    };
    let rows: Vec<usize> = found.iter().copied().filter(|index| !is_woken(index)).collect();
    // A flag between CPU and GPU by itself is no choice.
    rows.iter().find(|index| !has_role(data, case(index), Role::HostDeviceHandoff))?;
    let series = rows.iter().map(|index| {
        let (label, colour, points) = (label(data, case(index)), kind(data, case(index)), vec![point(data, *index)]);
        Series { label, primitive: None, colour, points }
    });
    let chart = Spec::dots(Axis::log("time of a hand-off (ring: 99th percentile)", Unit::Time), series.collect())?;
    let medians = rows.iter().any(|index| single(data, *index).is_some()).then(|| {
        "For waiters that may sleep, the mark is the median of hand-offs timed one by one, because in a loop the waiter \
         is usually still awake."
            .to_owned()
    });
    let spin = "The two CPU threads are placed close together. Hand-offs are one-way, except that the flag \
                between CPU and GPU makes a round trip.";
    let advice = "A waiter that spins for as long as a wake-up takes and then sleeps pays at most twice the optimum \
                  (Karlin et al., SOSP 1991).";
    let otherwise = "The run does not show what waking a sleeping thread costs, because it saw no thread asleep.";
    Picture::of([Some(chart)], otherwise, [Some(spin.to_owned()), medians, Some(advice.to_owned())])
}

fn label(data: &RunData, case: &Case) -> String {
    if has_role(data, case, Role::HostDeviceHandoff) {
        return "flag, CPU and GPU".to_owned();
    }
    let what = kind(data, case).map_or("", |kind| KINDS[kind].1);
    format!("{}{what}", short_name(&case.primitive))
}

/// A percentile of a row's single hand-offs; `None` if these were not timed.
fn percentile(data: &RunData, index: usize, name: &str) -> Option<f64> {
    data.detail(data.case(index), name).filter(|ns| ns.is_finite() && *ns > 0.0)
}

/// The median of single hand-offs, which marks one that may sleep, as in the sentence: in a loop of hand-offs the other
/// thread may still be awake.
fn single(data: &RunData, index: usize) -> Option<f64> {
    let may_sleep = has_role(data, data.case(index), Role::SleepHandoff);
    percentile(data, index, MEDIAN_DETAIL).filter(|_| may_sleep)
}

/// The figure that the sentence names, and the 99th percentile of single hand-offs.
fn point(data: &RunData, index: usize) -> Point {
    let most = percentile(data, index, "p99_ns");
    let point = match single(data, index) {
        Some(median) => Point::bare(median, index, figure::time(median)),
        None => Point::cost(&data.rows[index], index, 0.0),
    };
    Point { most: most.filter(|p99| point.y.is_some_and(|mark| *p99 > mark)), ..point }
}

/// Answers with the cheapest hand-off to a spinning thread and to one that may sleep. One instrument measures all, so rows
/// are compared within the run.
pub(super) fn hand_over(inquiry: Inquiry<'_>) -> Vec<Situation> {
    let data = inquiry.data;
    let peers = |role| {
        let is_asked = |case: &Case| inquiry.asked.threads.is_none_or(|threads| case.threads == Some(threads));
        Peers::of(data, role, is_asked, Size::Most).map(|peers| peers.contest(Basis::Run))
    };
    let (spinning, sleeping, queues) = (peers(Role::SpinHandoff), peers(Role::SleepHandoff), peers(Role::Channel));
    let of_blocks = blocks::hand_over(inquiry);
    if spinning.is_none() && sleeping.is_none() && queues.is_none() {
        return missing_size(inquiry, (Domain::Cpu, Role::SpinHandoff, ""), |_| true)
            .into_iter()
            .chain(of_blocks)
            .collect();
    }
    let may_sleep = sleeping.unwrap_or_default().with(queues.unwrap_or_default());
    let of_spinning = |choice: &mut Choice| {
        choice.warnings.push("the waiting thread spins and needs a CPU to itself".to_owned());
        choice.notes.extend(against_sleeping(data, choice, &may_sleep));
    };
    let of_sleeping = |choice: &mut Choice| {
        // The median of single hand-offs shows whether the thread was asleep: a loop of hand-offs keeps both awake.
        let median = data.detail(data.case(choice.row), MEDIAN_DETAIL).map(figure::time);
        choice.notes.extend(median.map(|time| format!("an isolated hand-off takes {time} (median)")));
    };
    let answers = [
        ("spins", spinning.and_then(|spinning| decide(inquiry, &spinning)).map(|one| one.taking(of_spinning))),
        ("may sleep", decide(inquiry, &may_sleep).map(|one| one.taking(of_sleeping))),
    ];
    let named =
        |(other, decision): (&str, Option<_>)| Some((Domain::Cpu, format!("2 threads, the waiter {other}"), decision?));
    answers.into_iter().filter_map(named).chain(of_blocks).collect()
}

/// Says which hand-offs to a thread that may sleep certainly cost more.
fn against_sleeping(data: &RunData, choice: &Choice, sleeping: &Contest<'_>) -> Option<String> {
    let spinning = Known::of(data, choice.row, Basis::Machine)?;
    let costlier = sleeping.known().filter_map(|(other, cost)| {
        let both = spinning.below(cost).filter(|_| cost.is_written())?;
        Some(format!("{} {}", other.name, both.more))
    });
    let costlier: Vec<String> = costlier.collect();
    let verb = if costlier.len() == 1 { "costs" } else { "cost" };
    (!costlier.is_empty()).then(|| format!("if the waiter may sleep: {} {verb} more", enumeration(&costlier)))
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Detail, Placement};

    use super::super::testing::{case, data, row, said_of, text};
    use super::super::testing::{decision, labels, series, within};
    use super::*;

    #[test]
    fn a_hand_off_that_did_not_sleep_is_no_wake_up() {
        let close = |name: &str| Case { placement: Some(Placement::Close), ..case(&format!("cpu.handoff.{name}"), 2) };
        let mut run = data(vec![row(close("cas_pingpong"), 71.5, 0.1), row(close("park"), 133.0, 0.1)]);
        let text = text(&decision("decide-handoff", &run).unwrap());
        assert!(text.starts_with("The run does not show what waking a sleeping thread costs"), "{text}");
        let details = [("p50_ns", 4540.0), ("p90_ns", 5000.0), ("p99_ns", 9000.0)];
        run.details.insert(run.rows[1].case.id(), details.map(|(name, ns)| Detail::of_case(name, ns)).to_vec());
        let found = decision("decide-handoff", &run).unwrap();
        assert!(found.claim[0].starts_with("Waking"), "{:?}", found.claim);
        let sentence = said_of(waking, &run).unwrap().unwrap();
        assert!(sentence.starts_with("Waking a sleeping thread takes 4.54 µs (park, median)"), "{sentence}");
        let park = &series(&found.charts[0])[1].points[0];
        assert_eq!((park.x, park.bar, park.most), (Some(4540.0), None, Some(9000.0)));
        assert!(found.note.unwrap().contains("is the median of hand-offs timed one by one"));
        // The marks are the figures of the sentence, even if single hand-offs were timed.
        run.details
            .insert(run.rows[0].case.id(), vec![Detail::of_case("p50_ns", 47.6), Detail::of_case("p99_ns", 90.0)]);
        let found = decision("decide-handoff", &run).unwrap();
        let spinning = &series(&found.charts[0])[0].points[0];
        assert_eq!((spinning.x, spinning.most, spinning.text.as_deref()), (Some(71.5), Some(90.0), Some("71.5 ns")));
        assert!(said_of(waking, &run).unwrap().unwrap().contains("(71.5 ns)"));
    }

    #[test]
    fn a_thread_that_was_seen_asleep_replaces_one_that_may_have_slept() {
        let close = |id: &str| Case { placement: Some(Placement::Close), ..case(id, 2) };
        let rows = ["cpu.handoff.cas_pingpong", "cpu.handoff.futex", "cpu.handoff.park", "cpu.wake.futex"];
        let found = decision("decide-handoff", &data(rows.map(|id| row(close(id), 100.0, 0.1)).to_vec())).unwrap();
        assert_eq!(labels(&found.charts[0]), ["cas_pingpong, spins", "park, sleeps", "futex, sleeps"]);
        assert_eq!(series(&found.charts[0])[2].points[0].row, Some(3));
    }

    #[test]
    fn sleeping_costs_more_than_spinning() {
        let close = Case { placement: Some(Placement::Close), ..case("cpu.handoff.cas_pingpong", 2) };
        let spin = row(close, 71.5, 0.1);
        let park = row(case("cpu.handoff.park", 2), 133.0, 0.1);
        let mut run = data(vec![spin, park]);
        assert_eq!(said_of(waking, &run), None, "nothing says that a thread slept");
        run.details.insert(run.rows[1].case.id(), vec![Detail::of_case("p50_ns", 4540.0)]);
        let sentence = "Waking a sleeping thread takes 4.54 µs (park, median), 63 times as long as a hand-off to a \
                        spinning thread (71.5 ns).";
        assert_eq!(said_of(waking, &run), Some(Ok(sentence.into())));
        run.rows[0].ns_interval = Some(syncscope_core::stats::Interval { low: 60.0, high: 3000.0 });
        assert_eq!(said_of(waking, &run), None, "another run may be another world");
        run.rows.push(row(case("cpu.wake.park", 2), 3100.0, 0.1));
        assert_eq!(said_of(waking, &run), None, "2.79 to 3.41 \u{b5}s and up to 3 \u{b5}s overlap");
        run.rows[0].ns_interval = Some(syncscope_core::stats::Interval { low: 71.0, high: 72.0 });
        let sentence = "Waking a sleeping thread takes 3.10 µs (park), 43 times as long as a hand-off to a spinning \
                        thread (71.5 ns).";
        assert_eq!(said_of(waking, &run), Some(Ok(sentence.into())), "not the 4.54 µs of the hand-off");
        run.rows.push(within(row(case("cpu.wake.futex", 2), 3200.0, 0.1), 3050.0, 3350.0));
        let sentence = said_of(waking, &run).unwrap().unwrap();
        assert!(sentence.contains("takes 3.10 µs (park; futex may be equally cheap), 43 times"), "{sentence}");
    }
}
