//! The cost of a hand-off between two blocks of a GPU, by where they are, and of an exchange between devices.

use super::super::prelude::*;

pub(in crate::analysis::questions) const SENTENCES: Sentences = &[sentence(ordering, &[]), sentence(devices, &[])];

/// Where both blocks are: the group, and the words of a label.
const PLACES: [(&str, &str); 4] = [
    ("", "the first two blocks of a grid"),
    ("near", "two blocks near the same half of the L2 cache"),
    ("far", "two blocks near different halves of the L2 cache"),
    ("cluster #", "two blocks of a cluster"),
];

fn is_at(case: &Case, place: &str) -> bool {
    case.group_word() == place
}

/// Whether a hand-off passes data, which a relaxed flag does not.
fn passes_data(case: &Case) -> bool {
    case.order != Some(MemoryOrder::Relaxed)
}

/// The hand-offs at a place that pass data, as rivals.
fn rivals<'a>(data: &'a RunData, place: &str) -> Option<Peers<'a>> {
    Peers::of(data, Role::BlockHandoff, |case| is_at(case, place) && passes_data(case), Size::Fewest)
}

/// The usual place: any two blocks, otherwise the first place that the run has.
fn usual_place(data: &RunData) -> Option<(&'static str, &'static str)> {
    PLACES.into_iter().find(|(place, _)| rivals(data, place).is_some())
}

/// Compares the cheapest hand-off of data with a flag alone.
fn ordering(data: &RunData) -> Option<Outcome> {
    let (place, words) = usual_place(data)?;
    let contest = rivals(data, place)?.contest(Basis::Run);
    let relaxed =
        |row: &Row| has_role(data, &row.case, Role::BlockHandoff) && is_at(&row.case, place) && !passes_data(&row.case);
    let flag = data.rows_where(relaxed).find_map(|index| Known::written(data, index, Basis::Run));
    let win = match contest.outcome()? {
        Ok(win) => win,
        Err(open) => return Some(Outcome::open(format!("which hand-off between GPU blocks is the cheapest ({open})"))),
    };
    let (next, cost) = win.next()?;
    let flag = flag.map(|flag| format!("; a signal without data takes {flag}")).unwrap_or_default();
    let text = format!(
        "The cheapest way to pass data between {words} is {} ({} a round trip); {} costs {} as much{flag}.",
        win.name,
        win.cost,
        next.name,
        win.ratio(&cost)
    );
    Some(Outcome::holds(text, win.rows()).headed(win.cost))
}

/// Compares ways to exchange a few bytes between devices: one store against a fence and a flag.
fn devices(data: &RunData) -> Option<Outcome> {
    let peers = Peers::of(data, Role::DeviceExchange, |_| true, Size::Fewest)?;
    let contest = peers.contest(Basis::Run);
    let win = contest.outcome()?.ok()?;
    let (next, cost) = win.next()?;
    let (bytes, devices) = (peers.like.group.as_ref().and_then(Group::number)?, peers.like.devices?);
    let text = format!(
        "{devices} GPUs exchange {bytes} bytes in {} ({}); {} costs {} as much.",
        win.cost,
        win.name,
        next.name,
        win.ratio(&cost)
    );
    Some(Outcome::holds(text, win.rows()).headed(win.cost))
}

pub(in crate::analysis::questions) fn picture(data: &RunData) -> Option<Picture> {
    let rows: Vec<usize> = data.rows_where(|row| takes_part(data, row, Role::BlockHandoff)).collect();
    let name = |case: &Case| {
        let order = if passes_data(case) { "" } else { ", no data" };
        let place = PLACES.iter().find(|(place, _)| is_at(case, place)).map_or("", |(_, words)| words);
        format!("{}{order}: {place}", short_name(&case.primitive))
    };
    let costs =
        Spec::dots(Axis::log("time of one round trip", Unit::Time), series(data, &rows, name, |_| 0, Point::cost));
    let between: Vec<usize> = data.rows_where(|row| takes_part(data, row, Role::DeviceExchange)).collect();
    let bytes = |case: &Case| case.group.as_ref().and_then(Group::number).map_or(0, u64::from);
    let of_devices = |case: &Case| format!("{}, {} GPUs", short_name(&case.primitive), case.devices.unwrap_or(2));
    let devices = Spec::lines(
        Axis::log("bytes to each other GPU", Unit::Count),
        Axis::log("time of one exchange", Unit::Time),
        series(data, &between, of_devices, bytes, Point::cost),
    );
    let otherwise = "The run does not show which hand-off between GPU blocks is the cheapest.";
    Picture::of([costs, devices], otherwise, [unreliable(data, &[rows, between].concat())])
}

/// Answers with the cheapest hand-off of data at each place.
pub(in crate::analysis::questions) fn hand_over(inquiry: Inquiry<'_>) -> Vec<Situation> {
    let of = |(place, words): (&str, &str)| {
        let decision = decide(inquiry, &rivals(inquiry.data, place)?.contest(Basis::Run))?;
        let spins = |choice: &mut Choice| choice.warnings.push("both blocks must run at the same time".to_owned());
        Some((Domain::Gpu, words.to_owned(), decision.taking(spins)))
    };
    PLACES.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::advice::{Asked, Need, advise};
    use super::super::super::testing::{data, decision, labels, on_blocks, row, said};
    use super::*;

    fn at(name: &str, group: Option<Group>, order: Option<MemoryOrder>, ns: f64) -> Row {
        row(Case { group, order, ..on_blocks(&format!("gpu.handoff.{name}"), 2, 32) }, ns, 0.02)
    }

    fn rows() -> Vec<Row> {
        let near = || Some(Group::named("near"));
        vec![
            at("flag", None, None, 1200.0),
            at("flag", None, Some(MemoryOrder::Relaxed), 469.0),
            at("packed", None, None, 510.0),
            at("flag", near(), None, 1150.0),
            at("count", near(), None, 1300.0),
        ]
    }

    #[test]
    fn a_flag_without_data_is_no_hand_off_of_data() {
        let text = said(ordering, rows()).unwrap().unwrap();
        let start = "The cheapest way to pass data between the first two blocks of a grid is packed (510 ns a round trip); \
                     flag costs 2.4 times as much; a signal without data takes 469 ns";
        assert!(text.starts_with(start), "{text}");
        assert_eq!(said(ordering, rows()[1..2].to_vec()), None);
        let found = decision("decide-gpu-handoff", &data(rows())).unwrap();
        assert_eq!(labels(&found.charts[0])[1], "flag, no data: the first two blocks of a grid");
    }

    #[test]
    fn advice_on_the_gpu_is_by_place() {
        let asked = Asked { on: Some(Domain::Gpu), ..Asked::default() };
        let found = advise(&data(rows()), Need::HandOver, asked);
        let named = found.into_iter().map(|one| (one.situation, one.decision.choice.unwrap().name));
        let named: Vec<(String, String)> = named.collect();
        assert_eq!(named[0], ("the first two blocks of a grid".to_owned(), "packed".to_owned()));
        assert_eq!(named[1], ("two blocks near the same half of the L2 cache".to_owned(), "flag".to_owned()));
        let without = advise(&data(Vec::new()), Need::HandOver, asked);
        assert!(without[0].decision.reason().contains("--only 'gpu.handoff.*'"));
    }

    #[test]
    fn an_exchange_in_one_store_needs_no_fence() {
        let of = |name: &str, ns| {
            let case = on_blocks(&format!("gpu.multi.{name}"), 1, 32);
            row(Case { devices: Some(2), group: Some(Group::numbered("# bytes", 8)), ..case }, ns, 0.02)
        };
        let text = said(devices, vec![of("exchange", 795.0), of("exchange_released", 2080.0)]).unwrap().unwrap();
        assert_eq!(text, "2 GPUs exchange 8 bytes in 795 ns (exchange); exchange_released costs 2.6 times as much.");
    }
}
