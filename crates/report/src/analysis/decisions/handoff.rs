//! What a hand-off from thread to thread costs, and what it costs to wake the other one.

use syncscope_core::{Case, Placement, Row};

use super::spec::{Axis, Point, Series, Spec, Unit};
use super::sweep::{exists, note};
use super::{Decision, said};
use crate::analysis::answers::cpus::waking;
use crate::analysis::row_query::{HANDOFFS, MEDIAN_DETAIL, SEEN_ASLEEP, SLEEPING_HANDOFFS, WAKE_UPS, short_name};
use crate::{RunData, figure};

/// Hand-offs through a queue, whose receiver spins for a while before it sleeps.
const CHANNEL: &str = "cpu.handoff.channel";
/// A flag that CPU and GPU set in turn.
const FLAG: &str = "hybrid.flag.round_trip";
pub(super) const PRIMITIVES: [&str; 2] = [CHANNEL, FLAG];

pub(super) fn decision(data: &RunData) -> Option<Decision> {
    let sleeping = SLEEPING_HANDOFFS.into_iter().chain(SEEN_ASLEEP);
    let ids: Vec<&str> = HANDOFFS.iter().copied().chain([CHANNEL]).chain(sleeping).chain([FLAG]).collect();
    let usual = |id: &&str| {
        let rows = data.rows.iter().enumerate().filter(|(_, row)| is_shown(row, id));
        rows.min_by_key(|(_, row)| &row.case).map(|(index, _)| index)
    };
    let found: Vec<usize> = ids.iter().filter_map(usual).collect();
    let id = |index: &usize| data.rows[*index].case.primitive.as_str();
    // A wake-up of a thread that was seen asleep is the better figure of the two.
    let is_woken = |index: &usize| {
        let same = |other: &usize| SEEN_ASLEEP.contains(&id(other)) && short_name(id(other)) == short_name(id(index));
        SLEEPING_HANDOFFS.contains(&id(index)) && found.iter().any(same)
    };
    let rows: Vec<usize> = found.iter().copied().filter(|index| !is_woken(index)).collect();
    // A flag of CPU and GPU alone is no choice.
    rows.iter().find(|index| data.rows[**index].case.primitive != FLAG)?;
    let series = rows.iter().map(|index| {
        let row = &data.rows[*index];
        let point = point(data, *index);
        Series { label: label(&row.case), primitive: None, colour: Some(kind(&row.case)), points: vec![point] }
    });
    let chart = Spec::dots(Axis::log("time of one hand-off; ring: 99th percentile", Unit::Time), series.collect())?;
    let sentence = waking(data).map_or_else(
        || {
            "What it costs to wake a sleeping thread cannot be decided: no thread of this run was certainly asleep."
                .to_owned()
        },
        said,
    );
    let medians = rows.iter().any(|index| is_of_single_ones(data, *index)).then(|| {
        "The mark of a hand-off that may sleep is the median of single ones: many in a row find their thread awake."
            .to_owned()
    });
    let spin = "Two CPU threads, placed close. A hand-off is one way; the flag between CPU and GPU is a round trip.";
    let advice = "A thread that spins for as long as a wake-up takes, and then sleeps, waits at most twice as long as with the \
                  best choice (Karlin et al., SOSP 1991).";
    Some(Decision {
        id: "decide-handoff",
        question: "Spin or sleep?",
        sentence,
        charts: vec![chart],
        note: note([Some(spin.to_owned()), medians, Some(advice.to_owned())]),
    })
}

fn is_shown(row: &Row, id: &str) -> bool {
    let place = row.case.primitive == FLAG || matches!(row.case.placement, None | Some(Placement::Close));
    row.case.primitive == id
        && row.case.form.is_none()
        && exists(row)
        && place
        && (row.case.group.is_none() || id == FLAG)
}

fn label(case: &Case) -> String {
    match case.primitive.as_str() {
        FLAG => "flag, CPU and GPU".to_owned(),
        id if WAKE_UPS.contains(&id) => format!("{}, sleeps", short_name(id)),
        id if HANDOFFS.contains(&id) => format!("{}, spins", short_name(id)),
        id => short_name(id).to_owned(),
    }
}

/// The number of its colour: spinning, sleeping, through a queue, of CPU and GPU.
fn kind(case: &Case) -> usize {
    match case.primitive.as_str() {
        FLAG => 3,
        id if WAKE_UPS.contains(&id) => 1,
        id if HANDOFFS.contains(&id) => 0,
        _ => 2,
    }
}

/// A percentile of the single hand-offs of a row; `None` where these were not timed.
fn percentile(data: &RunData, index: usize, name: &str) -> Option<f64> {
    let details = data.details.get(&data.rows[index].case.id())?;
    let of = details.iter().find(|one| one.name == name && one.actor.is_none()).map(|one| one.value);
    of.filter(|ns| ns.is_finite() && *ns > 0.0)
}

/// Whether the mark of a row is the median of single hand-offs, as in the sentence: whoever hands over in a loop may find
/// the other thread awake.
fn is_of_single_ones(data: &RunData, index: usize) -> bool {
    SLEEPING_HANDOFFS.contains(&data.rows[index].case.primitive.as_str())
        && percentile(data, index, MEDIAN_DETAIL).is_some()
}

/// The figure that the sentence names, and the 99th percentile of single hand-offs.
fn point(data: &RunData, index: usize) -> Point {
    let most = percentile(data, index, "p99_ns");
    if is_of_single_ones(data, index)
        && let Some(median) = percentile(data, index, MEDIAN_DETAIL)
    {
        return Point { most: most.filter(|p99| *p99 > median), ..Point::bare(median, index, figure::time(median)) };
    }
    let point = Point::dot(&data.rows[index], index);
    let cost = point.y;
    Point { most: most.filter(|p99| cost.is_some_and(|cost| *p99 > cost)), ..point }
}

#[cfg(test)]
mod tests {
    use syncscope_core::Detail;

    use super::super::testing::{decision, labels, series};
    use super::*;
    use crate::analysis::answers::testing::{case, data, row};

    #[test]
    fn a_hand_off_that_did_not_sleep_is_no_wake_up() {
        let close = |name: &str| Case { placement: Some(Placement::Close), ..case(&format!("cpu.handoff.{name}"), 2) };
        let mut run = data(vec![row(close("cas_pingpong"), 71.5, 0.1), row(close("park"), 133.0, 0.1)]);
        let text = decision("decide-handoff", &run).unwrap().sentence;
        assert!(text.starts_with("What it costs to wake a sleeping thread cannot be decided"), "{text}");
        let details = [("p50_ns", 4540.0), ("p90_ns", 5000.0), ("p99_ns", 9000.0)];
        run.details.insert(run.rows[1].case.id(), details.map(|(name, ns)| Detail::of_case(name, ns)).to_vec());
        let found = decision("decide-handoff", &run).unwrap();
        assert!(
            found.sentence.starts_with("Waking a sleeping thread takes 4.54 µs (park, median)"),
            "{}",
            found.sentence
        );
        let park = &series(&found.charts[0])[1].points[0];
        assert_eq!((park.x, park.bar, park.most), (Some(4540.0), None, Some(9000.0)));
        assert!(found.note.unwrap().contains("is the median of single ones"));
        // The marks are the figures of the sentence, also where single hand-offs were timed.
        run.details
            .insert(run.rows[0].case.id(), vec![Detail::of_case("p50_ns", 47.6), Detail::of_case("p99_ns", 90.0)]);
        let found = decision("decide-handoff", &run).unwrap();
        let spinning = &series(&found.charts[0])[0].points[0];
        assert_eq!((spinning.x, spinning.most, spinning.text.as_deref()), (Some(71.5), Some(90.0), Some("71.5 ns")));
        assert!(found.sentence.contains("(71.5 ns)"), "{}", found.sentence);
    }

    #[test]
    fn a_thread_that_was_seen_asleep_replaces_one_that_may_have_slept() {
        let close = |id: &str| Case { placement: Some(Placement::Close), ..case(id, 2) };
        let rows = ["cpu.handoff.cas_pingpong", "cpu.handoff.futex", "cpu.handoff.park", "cpu.wake.futex"];
        let found = decision("decide-handoff", &data(rows.map(|id| row(close(id), 100.0, 0.1)).to_vec())).unwrap();
        assert_eq!(labels(&found.charts[0]), ["cas_pingpong, spins", "park, sleeps", "futex, sleeps"]);
        assert_eq!(series(&found.charts[0])[2].points[0].row, Some(3));
    }
}
