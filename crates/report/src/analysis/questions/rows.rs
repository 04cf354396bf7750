//! Selects rows for the charts of several questions: the rows of a line, which differ in few parameters, and words about
//! them.

use std::cmp::Reverse;

use syncscope_core::run::IMPORTED;

use super::prelude::*;
use crate::analysis::contest::{Open, Win};
use syncscope_core::sets::in_groups;

/// For each name, the rows that differ only in the parameters that `free` clears: the largest such set or, among equals, the
/// usual one. Rows of other orders or modes would be other lines.
pub(super) fn one_line_each(
    data: &RunData,
    rows: &[usize],
    name: impl Fn(&Case) -> String,
    free: fn(&mut Case),
) -> Vec<usize> {
    let with_key = |index: usize| {
        let mut key = data.case(index).clone();
        free(&mut key);
        (key, index)
    };
    let largest = |rows: Vec<usize>| {
        let usual = |case: &Case| (Reverse(unusualness(case)), Reverse(case.clone()));
        let alike = sets(rows.into_iter().map(with_key)).into_iter();
        alike.max_by_key(|(case, rows)| (rows.len(), usual(case))).map(|(_, rows)| rows).unwrap_or_default()
    };
    let lines = sets(rows.iter().map(|index| (name(data.case(*index)), *index)));
    let mut kept: Vec<usize> = lines.into_values().flat_map(largest).collect();
    kept.sort_unstable();
    kept
}

/// Clears the numbers of threads, blocks and devices.
pub(super) fn sizes(case: &mut Case) {
    (case.threads, case.blocks, case.devices) = (None, None, None);
}

/// The rows as one series for each name, in the order of the run, with the colours of their primitives and the points in the
/// order of `x`.
pub(super) fn series(
    data: &RunData,
    rows: &[usize],
    name: impl Fn(&Case) -> String,
    x: fn(&Case) -> u64,
    point: fn(&Row, usize, f64) -> Point,
) -> Vec<Series> {
    let machine = MachineSize::of(&data.run.machine);
    // Imported rows beyond the CPUs were measured on another machine and say nothing about this one.
    let is_left_out = |case: &Case| data.run.preset == IMPORTED && machine.is_oversubscribed_by(case);
    let shown = rows.iter().filter(|index| !is_left_out(data.case(**index)));
    let of_label = |(label, mut rows): (String, Vec<usize>)| {
        let primitive = rows.first().map(|index| data.case(*index).primitive.clone());
        rows.sort_by_key(|index| x(data.case(*index)));
        // Two shapes of a grid can have as many threads.
        rows.dedup_by_key(|index| x(data.case(*index)));
        let points =
            rows.into_iter().map(|index| point(&data.rows[index], index, x(data.case(index)) as f64)).collect();
        Series { label, primitive, colour: None, points }
    };
    in_groups(shown.map(|index| (name(data.case(*index)), *index))).into_iter().map(of_label).collect()
}

/// Gives the series their own colours, because their names are not primitives.
pub(super) fn plain(series: Vec<Series>) -> Vec<Series> {
    series.into_iter().map(|one| Series { primitive: None, ..one }).collect()
}

/// The number of threads of a team.
pub(super) fn team(case: &Case) -> u64 {
    u64::from(case.threads.unwrap_or(1))
}

/// The largest team of the rows that fits the CPUs.
pub(super) fn largest_team(data: &RunData, rows: &[usize]) -> Option<u32> {
    let machine = MachineSize::of(&data.run.machine);
    rows.iter().filter_map(|index| data.case(*index).threads).filter(|threads| machine.holds(*threads)).max()
}

/// Vertical lines where the teams of a chart begin to use further parts of the machine, by the placement of its first row.
pub(super) fn cpu_rules(data: &RunData, series: &[Series]) -> Vec<Rule> {
    let first = series.iter().flat_map(|series| &series.points).find_map(|point| point.row);
    let placement = first.and_then(|index| data.case(index).placement.as_ref()).unwrap_or(&Placement::Close);
    let rule = |(at, label): (u32, String)| Rule { x: f64::from(at), label };
    let ends = series.iter().flat_map(|series| &series.points).filter_map(|point| point.x);
    let most = ends.fold(0.0, f64::max) as u32;
    placements::lines(&data.run, placement, most).into_iter().map(rule).collect()
}

/// Says how many rows have no reliable figure, by verdict.
pub(super) fn unreliable(data: &RunData, rows: &[usize]) -> Option<String> {
    let verdicts = rows.iter().map(|index| &data.rows[*index].verdict).filter(|verdict| !verdict.has_cost());
    let mut words: Vec<&str> = verdicts.map(|verdict| reading::words(verdict.name())).collect();
    words.sort_unstable();
    let kinds: Vec<&[&str]> = words.chunk_by(|one, other| one == other).collect();
    let counted = match kinds[..] {
        [only] => (*only.first()?).to_owned(),
        _ => joined(kinds.iter().map(|alike| Some(format!("{} {}", alike.len(), alike.first()?))), ", ")?,
    };
    let (which, is_singular) = figure::share(words.len(), rows.len(), "cost");
    let verb = if is_singular { "is" } else { "are" };
    Some(format!("{} {verb} approximate at best ({counted}).", naming::capitalized(&which)))
}

/// Two charts side by side as one picture with one vertical axis: the lines of the CPU, with its numbers of cores and CPUs,
/// and those of a GPU, each with the label of its horizontal axis. `None` if neither has a figure.
pub(super) fn both_sides(
    data: &RunData,
    y: &Axis,
    (cpu_x, cpu): (&'static str, Vec<Series>),
    (gpu_x, gpu): (&'static str, Vec<Series>),
) -> Vec<Option<Spec>> {
    let chart = |x, series, title: &str| Some(Spec::lines(Axis::log(x, Unit::Count), y.clone(), series)?.titled(title));
    let rules = cpu_rules(data, &cpu);
    let cpu = chart(cpu_x, cpu, "CPU").map(|chart| chart.ruled(rules));
    let charts = [cpu, chart(gpu_x, gpu, "GPU")].into_iter().flatten().collect();
    Spec::side_by_side(charts).into_iter().map(Some).collect()
}

/// Whether each cost is certainly above the one before it.
pub(super) fn each_costs_more(known: &[(&str, Known<'_>)]) -> bool {
    let is_certain = |one: Known<'_>, other| one.against(other).is_some_and(|both| both.is_certain());
    known.windows(2).all(|pair| is_certain(pair[0].1, pair[1].1))
}

/// `At 16 threads, mcs (1.10 µs) is the cheapest lock. The next cheapest, clh, costs 1.2 times as much; ...`, with further
/// words about the winner and about others than the next. All are measured in the same way, so rows are compared within the
/// run.
pub(super) fn cheapest_in_words(
    data: &RunData,
    peers: &Peers<'_>,
    noun: &str,
    more: impl Fn(&Win<'_, '_>, &Known<'_>) -> (Option<String>, Vec<String>),
) -> Option<Outcome> {
    let threads = peers.like.threads?;
    let contest = peers.contest(Basis::Run);
    let win = match contest.outcome()? {
        Ok(win) => win,
        Err(open) => {
            return Some(Outcome::open(format!("which {noun} is the cheapest at {threads} threads ({open})")));
        }
    };
    let (Entrant { name: next, .. }, next_cost) = win.next()?;
    let (of_winner, others) = more(&win, &next_cost);
    let of_winner = of_winner.map(|text| format!("; {text}")).unwrap_or_default();
    let others = enumerated(others).map(|others| format!("; {others}")).unwrap_or_default();
    let (threads, cheapest, times) = (size_and_place(data, peers.like)?, contest.cheapest(noun), win.ratio(&next_cost));
    let Win { name, cost, .. } = &win;
    let text = format!("At {threads}, {name} ({cost}) is the {cheapest}{of_winner}.");
    let after = format!("The next cheapest, {next}, costs {times} as much{others}.");
    Some(Outcome::holds(text, win.rows()).headed(cost).followed_by([after]))
}

/// `16 threads`, `16 threads across sockets`.
pub(super) fn size_and_place(data: &RunData, case: &Case) -> Option<String> {
    let on = placements::beyond_one_socket(&data.run, case).map(|on| format!(" {on}"));
    Some(plural(case.threads?, "thread") + &on.unwrap_or_default())
}

/// The numbers of threads that a sentence is about: the smallest ones, the largest team that fits the CPUs, and the largest
/// beyond it. If some cost is unknown at the team that fits, the largest smaller team without unknown costs follows.
fn stops(data: &RunData, peers: &Peers<'_>, least: u32) -> Vec<u32> {
    let rows = peers.with_other_teams();
    let teams: BTreeSet<u32> = rows.iter().filter_map(|index| data.case(*index).threads).collect();
    let teams: Vec<u32> = teams.into_iter().filter(|team| *team >= least).collect();
    let Some(fits) = largest_team(data, &rows) else { return Vec::new() };
    let is_unknown = |team: &u32| {
        !matches!(peers.at(*team).outcome(), Some(Ok(_) | Err(Open::Overlap { .. } | Open::Unordered { .. })))
    };
    let smaller = teams.iter().rev().copied().filter(|team| *team < fits).find(|team| !is_unknown(team));
    let stops = teams.iter().copied().filter(|team| *team <= 2);
    let all = stops.chain(smaller.filter(|_| is_unknown(&fits))).chain([fits]).chain(teams.last().copied());
    all.collect::<BTreeSet<u32>>().into_iter().collect()
}

/// `The cheapest lock is ticket with 1 thread (8.99 ns), pthread_mutex with 2 threads (88 ns) and with 16 (1.30 us). At 4 threads,
/// ...`, with `The cheapest measured lock` if the run leaves some out at one of these numbers. Open if nothing is certain at
/// any of them; `None` if none has two rows.
pub(super) fn by_threads(data: &RunData, peers: &Peers<'_>, noun: &str, least: u32) -> Option<Outcome> {
    let at = |threads: u32| format!("at {}", plural(threads, "thread"));
    let mut certain: Vec<(String, (u32, String))> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut measured = "";
    for threads in stops(data, peers, least) {
        let contest = peers.at(threads);
        match contest.outcome() {
            None => {}
            Some(Err(reason)) => open.push(format!("{}, {reason}.", capitalized(&at(threads)))),
            Some(Ok(win)) => {
                if contest.left_out > 0 {
                    measured = "measured ";
                }
                certain.push((win.name.to_owned(), (threads, win.cost.to_string())));
            }
        }
    }
    let first = match certain.as_slice() {
        [] => {
            open.first()?;
            Outcome::open(format!("The run does not show which {noun} is the cheapest."))
        }
        [(name, (threads, cost))] => {
            let with = plural(*threads, "thread");
            Outcome::holds(format!("With {with}, the cheapest {measured}{noun} is {name} ({cost})."), [])
        }
        _ => {
            let in_words = |(name, places): (String, Vec<(u32, String)>)| {
                let place = |(at, (threads, cost)): (usize, (u32, String))| {
                    let with = if at == 0 { plural(threads, "thread") } else { threads.to_string() };
                    format!("with {with} ({cost})")
                };
                format!("{name} {}", enumeration(&places.into_iter().enumerate().map(place).collect::<Vec<_>>()))
            };
            let all: Vec<String> = in_groups(certain).into_iter().map(in_words).collect();
            Outcome::holds(format!("The cheapest {measured}{noun} is {}.", enumeration(&all)), [])
        }
    };
    Some(first.followed_by(open))
}

/// Neighbouring numbers at which the same rivals may be the cheapest, with the contest at the last one.
struct Stretch<'c, 'a> {
    from: u32,
    to: u32,
    names: Vec<String>,
    last: &'c Contest<'a>,
}

/// The cheapest choice as a number grows, such as the length of kernels.
pub(super) struct Along<'a> {
    stops: Vec<(u32, Contest<'a>)>,
}

impl<'a> Along<'a> {
    /// Keeps the numbers, which must grow, that have two rivals; `None` if there is none.
    pub(super) fn of(mut stops: Vec<(u32, Contest<'a>)>) -> Option<Self> {
        stops.retain(|(_, contest)| contest.outcome().is_some());
        (!stops.is_empty()).then_some(Self { stops })
    }

    /// Whether `of` is true of the contenders at any of the numbers.
    pub(super) fn any(&self, of: impl Fn(&[&Entrant<'a>]) -> bool) -> bool {
        self.stops.iter().map(|(_, contest)| contest.contenders()).any(|all| !all.is_empty() && of(&all))
    }

    /// The number, if there is only one.
    pub(super) fn only_stop(&self) -> Option<u32> {
        if let [(number, _)] = self.stops.as_slice() { Some(*number) } else { None }
    }

    /// The least cost of the first answer, quoted at the last number for which it holds.
    pub(super) fn least(&self) -> Option<Known<'a>> {
        self.stretches().first().and_then(|stretch| stretch.last.least()).map(|(_, known)| known)
    }

    /// The rows, each once.
    pub(super) fn rows(&self) -> BTreeSet<usize> {
        self.stops.iter().flat_map(|(_, contest)| contest.rows()).collect()
    }

    /// Neighbouring numbers with the same answer.
    fn stretches(&self) -> Vec<Stretch<'_, 'a>> {
        let mut stretches: Vec<Stretch<'_, 'a>> = Vec::new();
        for (number, contest) in &self.stops {
            let names = contest.candidates();
            let is_same = |stretch: &&mut Stretch<'_, 'a>| {
                stretch.names.iter().collect::<BTreeSet<_>>() == names.iter().collect::<BTreeSet<_>>()
            };
            match stretches.last_mut().filter(is_same) {
                Some(stretch) => *stretch = Stretch { from: stretch.from, to: *number, names, last: contest },
                None => stretches.push(Stretch { from: *number, to: *number, names, last: contest }),
            }
        }
        stretches
    }

    /// `for 1 µs, mcs (820 ns); for 2 to 5 µs, mcs or clh; for 10 µs, unknown` if no cost is known. `noun` precedes the
    /// first number. A single number is left out.
    pub(super) fn in_words(&self, noun: &str, unit: &str) -> String {
        let in_words = |(at, Stretch { from, to, names, last }): (usize, Stretch<'_, 'a>)| {
            let with_its_cost = |name: &String| {
                let known = last.known().find(|(one, known)| one.name == *name && known.is_written());
                known.map_or_else(|| with_cost(name, &reading::NO_NUMBER), |(_, cost)| with_cost(name, &cost))
            };
            let shown = if names.len() > MOST_CANDIDATES + 1 { MOST_CANDIDATES } else { names.len() };
            let others = names.len() - shown;
            let named = names.iter().take(shown).map(with_its_cost);
            let all: Vec<String> = named.chain((others > 0).then(|| format!("one of {others} others"))).collect();
            let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
            let answer = if all.is_empty() { "unknown".to_owned() } else { either(&all) };
            let noun = if at == 0 { noun } else { "" };
            let of = format!("for {noun}{range} {unit}");
            Some(if self.only_stop().is_some() { answer } else { format!("{of}, {answer}") })
        };
        joined(self.stretches().into_iter().enumerate().map(in_words), "; ").unwrap_or_default()
    }

    /// Rivals that certainly cost more than another at every number, ordered by their cost at the last number.
    pub(super) fn dearer(&self) -> Vec<(String, Known<'a>)> {
        let may: BTreeSet<String> = self.stops.iter().flat_map(|(_, contest)| contest.candidates()).collect();
        let last = self.stops.last().into_iter().flat_map(|(_, contest)| contest.known());
        let rest = last.filter(|(one, known)| !may.contains(&one.name) && known.is_written());
        let mut rest: Vec<_> = rest.map(|(one, known)| (one.name.clone(), known)).collect();
        rest.sort_by(|(_, a), (_, b)| a.ns.total_cmp(&b.ns));
        rest
    }
}

/// `a graph (690 ns)`, `a grid barrier (counter, 806 ns)`.
pub(super) fn with_cost(name: &str, cost: &dyn std::fmt::Display) -> String {
    name.strip_suffix(')').map_or_else(|| format!("{name} ({cost})"), |open| format!("{open}, {cost})"))
}

/// The most candidates to name, unless only one more is left; the others are counted.
const MOST_CANDIDATES: usize = 2;

#[cfg(test)]
mod tests {
    use super::super::testing::data;
    use super::super::testing::{decision, lock};
    use crate::chart::Spec;

    #[test]
    fn the_rules_of_a_sweep_are_those_of_its_placement() {
        let rules = |cores| {
            let mut run = data(vec![lock("ticket", 2, 100.0), lock("mcs", 4, 90.0)]);
            run.run.machine.cpu.cores = cores;
            let Some(Spec::Lines { rules, .. }) = decision("decide-lock", &run).map(|found| found.charts[0].clone())
            else {
                panic!("no lines");
            };
            rules.into_iter().map(|rule| rule.label).collect::<Vec<_>>()
        };
        assert_eq!(rules(8), ["both threads of a core from 2", "CPUs: 16"]);
        assert_eq!(rules(16), ["CPUs: 16"]);
    }
}
