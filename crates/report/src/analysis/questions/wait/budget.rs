//! How long should a waiter spin before it sleeps? The cost of waits of unknown length by the time spun, and of OpenMP's
//! constructs by the policy that sets the time there.

use syncscope_core::SpinBudget;
use syncscope_core::own::is_own;

use super::super::prelude::*;

pub(in crate::analysis::questions) const SENTENCES: Sentences =
    &[sentence(least_budget, &[]), sentence(beside_a_competitor, &[]), sentence(by_policy, &[])];

/// How long a waiter spins, or serial code lasts, in microseconds.
fn spun_us(case: &Case) -> Option<u32> {
    case.group.as_ref()?.number()
}

/// The name of a way to sleep.
fn way(case: &Case) -> String {
    short_name(&case.primitive).trim_start_matches("budget_").to_owned()
}

/// The rows of each way to sleep, by the time spun, the shortest first; users' own ways come first.
fn curves(data: &RunData, beside: bool) -> Vec<(String, Vec<usize>)> {
    let is_one = |row: &Row| {
        (has_role(data, &row.case, Role::SpinBudget) || is_own(&row.case.primitive))
            && SpinBudget::of(&row.case).is_some_and(|budget| budget.competes == beside)
            && !is_absent(row)
    };
    let mut rows: Vec<usize> = data.rows_where(is_one).collect();
    rows.sort_by_key(|index| spun_us(data.case(*index)));
    let name = |index: &usize| {
        let case = data.case(*index);
        (data.catalogue.get(&case.primitive).is_some(), way(case))
    };
    sets(rows.iter().map(|index| (name(index), *index))).into_iter().map(|((_, name), rows)| (name, rows)).collect()
}

const AT_ONCE: &str = "at once";

/// The longest wait: a waiter that spins this long never sleeps.
const LONGEST_US: u32 = 512;

const AFTER: &str = "after spinning for ";

/// "at once", "after spinning for 10.0 µs".
fn spun(case: &Case) -> String {
    match spun_us(case) {
        None | Some(0) => AT_ONCE.to_owned(),
        Some(us) => format!("{AFTER}{}", figure::time(f64::from(us) * 1000.0)),
    }
}

/// One way to sleep with each budget.
fn contest<'a>(data: &'a RunData, rows: &[usize]) -> Contest<'a> {
    let entrants =
        rows.iter().map(|index| Entrant { name: spun(data.case(*index)), ..Entrant::of(data, *index, Basis::Run) });
    Contest::of(entrants.collect(), Vec::new())
}

/// The way that a sentence is about: the first, other than yielding, with several budgets and a cost that may be written.
fn sleeping(data: &RunData, beside: bool) -> Option<(String, Contest<'_>)> {
    let known = |(name, rows): (String, Vec<usize>)| {
        let contest = contest(data, &rows);
        (rows.len() > 1 && name != "yield" && contest.least().is_some()).then_some((name, contest))
    };
    // The condvar comes last, so the futex represents the catalogue.
    let mut all = curves(data, beside);
    all.sort_by_key(|(name, _)| name == "condvar");
    all.into_iter().find_map(known)
}

/// Says which budgets may cost least, and what the ends of the curve cost.
fn in_words(data: &RunData, beside: bool, begin: &str) -> Option<Outcome> {
    let (way, contest) = sleeping(data, beside)?;
    let (_, least) = contest.least()?;
    let all: Vec<_> = contest.known().map(|(_, known)| known).collect();
    let longest = contest.entrants().filter_map(|one| spun_us(data.case(one.index))).max();
    let mut candidates = contest.candidates();
    candidates.sort_by_key(|name| name != AT_ONCE);
    // "after spinning for" is said once.
    let (at_once, spun_first): (Vec<_>, Vec<_>) = candidates.iter().cloned().partition(|name| name == AT_ONCE);
    let times: Vec<String> = spun_first.iter().map(|name| name.trim_start_matches(AFTER).to_owned()).collect();
    let spins = (!times.is_empty()).then(|| format!("{AFTER}{}", either(&times)));
    let sleeps = at_once.into_iter().chain(spins).collect::<Vec<_>>();
    // Budgets among the best already have their cost in the sentence.
    let other = |us: Option<u32>, what: &str| {
        let is_one = |known: &&Known<'_>| spun_us(&known.row.case) == us && known.is_written();
        let known = all.iter().find(is_one).filter(|known| !candidates.contains(&spun(&known.row.case)));
        known.map_or_else(String::new, |known| format!("; {what} costs {known}"))
    };
    let text = format!(
        "{begin}, CPU time plus delay is lowest if the waiter sleeps {} ({way}, {least} a wait){}{}.",
        either(&sleeps),
        other(Some(0), "sleeping at once"),
        other(longest.filter(|us| *us >= LONGEST_US), "never sleeping"),
    );
    Some(Outcome::holds(text, all.iter().map(|known| known.index)).headed(least))
}

fn least_budget(data: &RunData) -> Option<Outcome> {
    in_words(data, false, "For waits of unknown length from 1 to 512 µs")
}

fn beside_a_competitor(data: &RunData) -> Option<Outcome> {
    in_words(data, true, "When another thread runs on the waiter's CPU")
}

/// Answers how long to spin if the length of the wait is unknown.
pub(super) fn wait(inquiry: Inquiry<'_>) -> Option<Situation> {
    let (_, contest) = sleeping(inquiry.data, false).filter(|_| inquiry.asked.wait.is_none())?;
    let drawing = drawn(inquiry.data);
    let situation = "a wait of unknown length: when to sleep".to_owned();
    Some((Domain::Cpu, situation, Decision { drawing, ..decide(inquiry, &contest)? }))
}

/// The length of the longest bar.
const BAR: f64 = 32.0;

/// The curves as bars.
fn drawn(data: &RunData) -> Vec<String> {
    let of = |(beside, title)| {
        let (way, contest) = sleeping(data, beside)?;
        let written = contest.known().filter(|(_, known)| known.is_written());
        let most = written.map(|(_, known)| known.ns).fold(f64::MIN_POSITIVE, f64::max);
        let bar = |ns: f64| "█".repeat((BAR * ns / most).round().max(1.0) as usize);
        // A cost without a number gets no bar.
        let long = |known: &Known<'_>| if known.is_written() { bar(known.ns) } else { String::new() };
        let lines = contest.known().map(|(one, known)| format!("{:<27} {} {known}", one.name, long(&known)));
        Some([format!("{title} ({way}):")].into_iter().chain(lines).collect::<Vec<_>>())
    };
    let titles = [
        (false, "CPU time plus delay per wait of 1 to 512 µs, sleeping"),
        (true, "the same when another thread runs on the waiter's CPU, sleeping"),
    ];
    titles.into_iter().filter_map(of).flatten().collect()
}

/// The OpenMP constructs by policy that follow a gap.
fn after_gaps(data: &RunData) -> Vec<usize> {
    data.rows_where(|row| takes_part(data, row, Role::RuntimeWait) && spun_us(&row.case).is_some()).collect()
}

/// `libgomp passive`.
fn policy(case: &Case) -> String {
    case.group_word().split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// Says what the policies cost after the longest serial part.
fn by_policy(data: &RunData) -> Option<Outcome> {
    let rows = after_gaps(data);
    let longest = rows.iter().filter_map(|index| spun_us(data.case(*index))).max().filter(|us| *us > 0)?;
    let asked = rows.into_iter().filter(|index| spun_us(data.case(*index)) == Some(longest));
    let known: Vec<(String, Known<'_>)> =
        asked.filter_map(|index| Some((policy(data.case(index)), Known::written(data, index, Basis::Run)?))).collect();
    let (_, first) = known.first()?;
    let threads = plural(first.row.case.threads?, "thread");
    let figures: Vec<String> = known.iter().map(|(name, known)| format!("{known} ({name})")).collect();
    let gap = figure::time(f64::from(longest) * 1000.0);
    let text = format!(
        "By wait policy, an empty parallel region of {threads} after {gap} of serial code costs {}.",
        enumeration(&figures)
    );
    Some(Outcome::holds(text, known.iter().map(|(_, known)| known.index)).headed(first))
}

pub(in crate::analysis::questions) fn picture(data: &RunData) -> Option<Picture> {
    // A logarithmic axis has no zero.
    let spun = |case: &Case| spun_us(case).map_or(1, |us| u64::from(us.max(1)));
    let of = |beside: bool| -> Vec<usize> { curves(data, beside).into_iter().flat_map(|(_, rows)| rows).collect() };
    let draw = |rows: &[usize], name: fn(&Case) -> String, [title, x, y]: [&'static str; 3]| {
        let lines = plain(series(data, rows, name, spun, Point::cost));
        Spec::lines(Axis::log(x, Unit::Count), Axis::log(y, Unit::Time), lines).map(|chart| chart.titled(title))
    };
    let axes = ["microseconds spun before sleeping (1: at once)", "CPU time plus delay per wait"];
    let (idle, beside, openmp) = (of(false), of(true), after_gaps(data));
    let charts = [
        draw(&idle, way, ["Waits of 1 to 512 µs", axes[0], axes[1]]),
        draw(&beside, way, ["The same with another thread running on the waiter's CPU", axes[0], axes[1]]),
        draw(
            &openmp,
            policy,
            [
                "OpenMP: an empty parallel region",
                "microseconds of serial code before it (1: none)",
                "time of both barriers",
            ],
        ),
    ];
    let all = [idle, beside, openmp].concat();
    Picture::of(charts, "The run does not show how long to spin.", [unreliable(data, &all)])
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Placement, Row};

    use super::super::super::advice::{Asked, Need, advise};
    use super::super::super::testing::{case, data, decision, labels, row, said_of};
    use super::*;

    fn budget(way: &str, us: u32, beside: bool, ns: f64) -> Row {
        let (word, threads, placement) = if beside {
            ("spin # us beside a competitor", 3, Placement::List(vec![0, 1, 1]))
        } else {
            ("spin # us", 2, Placement::Close)
        };
        let group = Some(Group::numbered(word, us));
        let case = case(&format!("cpu.wait.budget_{way}"), threads);
        row(Case { group, placement: Some(placement), ..case }, ns, 0.02)
    }

    fn part(policy: &str, us: u32, ns: f64) -> Row {
        let group = Some(Group::of_word(&format!("{policy} gap {us} us")));
        let case = case("cpu.openmp.parallel_part", 8);
        row(Case { group, placement: Some(Placement::Close), ..case }, ns, 0.02)
    }

    fn run() -> RunData {
        data(vec![
            budget("futex", 1000, false, 100_000.0),
            budget("futex", 0, false, 9_000.0),
            budget("futex", 5, false, 7_000.0),
            budget("yield", 0, false, 100_000.0),
            budget("futex", 0, true, 20_000.0),
            budget("futex", 1000, true, 3e6),
            part("libgomp active", 200, 900.0),
            part("libgomp passive", 200, 15_000.0),
            part("libgomp passive", 0, 9_000.0),
        ])
    }

    #[test]
    fn the_least_budget_and_the_ends_of_its_curve_are_named() {
        let said = |sentence| said_of(sentence, &run()).unwrap().unwrap();
        let text = "CPU time plus delay is lowest if the waiter sleeps after spinning for 5.00 µs (futex, 7.00 µs a wait); \
                    sleeping at once costs 9.00 µs; never sleeping costs 100 µs.";
        assert!(said(least_budget).ends_with(text), "{}", said(least_budget));
        assert!(
            said(beside_a_competitor)
                .contains("CPU time plus delay is lowest if the waiter sleeps at once (futex, 20.0 µs"),
            "{}",
            said(beside_a_competitor)
        );
        let wide = |us: u32, ns: f64| row(budget("futex", us, false, ns).case, ns, 0.2);
        let alike = data(vec![wide(1000, 100_000.0), wide(5, 8_900.0), wide(0, 9_000.0)]);
        let text = said_of(least_budget, &alike).unwrap().unwrap();
        assert!(text.contains("if the waiter sleeps at once or after spinning for 5.00 µs ("), "{text}");
        let text = "By wait policy, an empty parallel region of 8 threads after 200 µs of serial code costs 900 ns (libgomp active) \
                    and 15.0 µs (libgomp passive).";
        assert_eq!(said(by_policy), text);
        let bars = [
            ("at once", 3, "9.00 µs"),
            ("after spinning for 5.00 µs", 2, "7.00 µs"),
            ("after spinning for 1.00 ms", 32, "100 µs"),
        ];
        let bars = bars.map(|(name, long, cost)| format!("{name:<27} {} {cost}", "█".repeat(long)));
        assert_eq!(drawn(&run())[1..4], bars);
        assert_eq!(drawn(&run()).len(), 4 + 3);
        assert!(
            [least_budget, beside_a_competitor, by_policy].iter().all(|one| said_of(*one, &data(vec![])).is_none())
        );
    }

    /// The quoted cost belongs to a named budget, and no budget has another's name.
    #[test]
    fn what_a_budget_costs_is_not_said_of_others() {
        use syncscope_core::Verdict;
        let noisy = |us, ns: f64| {
            let row = budget("futex", us, true, ns);
            let within = syncscope_core::stats::Interval { low: 0.4 * ns, high: 1.6 * ns };
            Row { verdict: Verdict::Noisy(String::new()), ns_interval: Some(within), ns_within: Some(within), ..row }
        };
        let said = |rows| said_of(beside_a_competitor, &data(rows)).and_then(Result::ok);
        assert_eq!(said(vec![budget("futex", 10, true, 5e6), noisy(1000, 1e5)]), None, "the least has no figure");
        let text = said(vec![noisy(0, 5e6), budget("futex", 10, true, 1e5), budget("futex", 50, true, 3e6)]).unwrap();
        assert!(!text.contains("never"), "{text}");
        let text = said(vec![noisy(0, 5e6), budget("futex", 10, true, 1e5), budget("futex", 1000, true, 3e6)]).unwrap();
        assert!(text.ends_with("CPU time plus delay is lowest if the waiter sleeps after spinning for 10.0 µs (futex, 100 µs a wait); never sleeping costs 3.00 ms."), "{text}");
    }

    /// A user's wait comes before the catalogue's.
    #[test]
    fn a_users_wait_has_a_curve_and_advice_when_to_sleep() {
        let own = |us: u32, ns: f64| {
            let row = budget("futex", us, false, ns);
            Row { case: Case { primitive: "cpu.own.mine".to_owned(), ..row.case.clone() }, ..row }
        };
        let mut run = run();
        run.rows.extend([own(0, 20_000.0), own(50, 60_000.0)]);
        assert!(drawn(&run)[0].ends_with("sleeping (mine):"), "{:?}", drawn(&run));
        let advised = advise(&run, Need::Wait, Asked::default());
        let one = advised.iter().find(|one| one.situation.starts_with("a wait of unknown length")).unwrap();
        assert_eq!(one.decision.choice.as_ref().map(|choice| &*choice.name), Some("at once"));
        let text = crate::export::advice::for_terminal(&run, &advised, 200);
        assert!(text.contains("    after spinning for 50.0 µs  ████████████████████████████████ 60.0 µs"), "{text}");
    }

    #[test]
    fn budgets_and_policies_are_lines() {
        let found = decision("decide-budget", &run()).unwrap();
        let drawn: Vec<_> = found.charts.iter().map(labels).collect();
        assert_eq!(drawn, [vec!["futex", "yield"], vec!["futex"], vec!["libgomp active", "libgomp passive"]]);
        assert!(decision("decide-budget", &data(vec![])).is_none());
    }
}
