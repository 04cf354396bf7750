//! What a hand-off from thread to thread costs, and what it costs to wake the other one.

use syncscope_core::{Case, Placement, Row};

use super::spec::{Axis, Point, Series, Spec, Unit};
use super::sweep::{exists, note};
use super::{Decision, said};
use crate::RunData;
use crate::analysis::answers::cpus::waking;
use crate::analysis::row_query::{HANDOFFS, WAKE_UPS, short_name};

/// The percentiles of single hand-offs: the name of the detail and what a mark says.
const PERCENTILES: [(&str, &str); 3] = [("p50_ns", "p50"), ("p90_ns", "p90"), ("p99_ns", "p99")];

/// Hand-offs through a queue, whose receiver spins for a while before it sleeps.
const CHANNEL: &str = "cpu.handoff.channel";
/// A flag that CPU and GPU set in turn.
const FLAG: &str = "hybrid.flag.round_trip";

pub(super) fn decision(data: &RunData) -> Option<Decision> {
    let ids: Vec<&str> =
        HANDOFFS.iter().copied().chain([CHANNEL]).chain(WAKE_UPS.iter().copied()).chain([FLAG]).collect();
    let usual = |id: &&str| {
        let rows = data.rows.iter().enumerate().filter(|(_, row)| is_shown(row, id));
        rows.min_by_key(|(_, row)| &row.case).map(|(index, _)| index)
    };
    let rows: Vec<usize> = ids.iter().filter_map(usual).collect();
    let mut without = 0;
    let series = rows.iter().map(|index| {
        let points = percentiles(data, *index);
        without += usize::from(points.is_empty());
        let row = &data.rows[*index];
        let points = if points.is_empty() { vec![Point::cost(row, *index, 0.0)] } else { points };
        Series { label: label(&row.case), primitive: Some(row.case.primitive.clone()), points }
    });
    let chart = Spec::dots(Axis::log("time of one hand-off (p50, p90, p99)", Unit::Time), series.collect())?;
    let sentence = waking(data).map_or_else(
        || "What it costs to wake a sleeping thread cannot be decided: no hand-off of this run certainly found its thread asleep.".to_owned(),
        said,
    );
    let means = (without > 0)
        .then(|| "Where single hand-offs were not timed, the mark is the mean of many in a row.".to_owned());
    let spin = "Two CPU threads in close places; a hand-off is one way, the flag of CPU and GPU is there and back.";
    Some(Decision {
        id: "decide-handoff",
        question: "Spin or sleep?",
        sentence,
        charts: vec![chart],
        note: note([Some(spin.to_owned()), means]),
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

/// The percentiles of a row that timed single hand-offs. They have no interval.
fn percentiles(data: &RunData, index: usize) -> Vec<Point> {
    let details = data.details.get(&data.rows[index].case.id()).map(Vec::as_slice).unwrap_or_default();
    let value = |name: &str| details.iter().find(|one| one.name == name && one.actor.is_none()).map(|one| one.value);
    let point = |(name, text): (&str, &str)| {
        let ns = value(name).filter(|ns| ns.is_finite() && *ns > 0.0)?;
        Some(Point::bare(ns, index, text.to_owned()))
    };
    PERCENTILES.into_iter().filter_map(point).collect()
}
