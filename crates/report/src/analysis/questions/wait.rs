//! How to wait? What a hint such as PAUSE costs, how soon a waiter reacts in each way of waiting, and how long a wait must
//! be for sleeping to be better.

pub(super) mod budget;
pub(super) mod host;

use std::collections::BTreeSet;

use syncscope_core::Waits;

use super::prelude::*;

pub(super) const SENTENCES: Sentences = &[sentence(a_microsecond, &[]), sentence(spin_or_sleep, &[On::Placement])];

/// The hints of one thread, the usual one of this processor first.
fn hints(data: &RunData) -> Option<Peers<'_>> {
    Peers::of(data, Role::WaitHint, |case| case.threads == Some(1), Size::Fewest)
}

/// A hint that takes longer is a call rather than a hint that programs count.
const LONGEST_HINT_NS: f64 = 100.0;

/// Says how many hints make a microsecond, which programs that count hints have to know.
fn a_microsecond(data: &RunData) -> Option<Outcome> {
    let contest = hints(data)?.contest(Basis::Machine);
    let is_counted =
        |hint: &Known<'_>| hint.has_figure() && hint.bounds.low > 0.0 && hint.bounds.high < LONGEST_HINT_NS;
    let (Entrant { name, .. }, hint) = contest.known().find(|(_, hint)| is_counted(hint))?;
    let count = |ns: f64| figure::grouped(format!("{:.0}", 1000.0 / ns));
    let [usual, fewest, most] = [hint.ns, hint.bounds.high, hint.bounds.low].map(count);
    let range = if fewest == most { String::new() } else { format!(" ({fewest} to {most} from run to run)") };
    let text = format!("One {name} takes {hint}: {usual} of them make a microsecond{range}.");
    Some(Outcome::holds(text, [hint.index]).headed(hint))
}

/// How long the waiters of a case waited, in microseconds.
fn waited_us(case: &Case) -> Option<u32> {
    case.group.as_ref()?.number()
}

/// The group of wake-ups, by how long the waiter has slept.
const ASLEEP: &str = "asleep # us";

pub(super) fn asleep_us(case: &Case) -> Option<u32> {
    case.group_number(ASLEEP)
}

/// "after 20.0 µs asleep".
pub(super) fn slept(case: &Case) -> Option<String> {
    asleep_us(case).map(|us| format!("after {} asleep", figure::time(f64::from(us) * 1000.0)))
}

/// The lengths of sleep for which the run has wake-ups, the shortest first. Empty for older runs, which woke waiters at
/// once.
fn sleeps_us(data: &RunData) -> BTreeSet<u32> {
    data.rows.iter().filter(|row| takes_part(data, row, Role::Wake)).filter_map(|row| asleep_us(&row.case)).collect()
}

/// The wake-ups after sleeps of about this many microseconds.
fn wake_ups(data: &RunData, us: f64) -> Option<Contest<'_>> {
    let nearest = nearest(sleeps_us(data).into_iter(), us);
    Some(Peers::of(data, Role::Wake, |case| asleep_us(case) == nearest, Size::Fewest)?.contest(Basis::Run))
}

/// The cheapest wake-ups after sleeps longer than the shortest: "18.0 µs after 200 µs asleep (futex), 40.0 µs after 2.00 ms
/// asleep (condvar)".
pub(super) fn after_longer_sleeps(data: &RunData) -> Option<String> {
    let after = |us: u32| {
        let contest = wake_ups(data, us.into())?;
        let (entrant, known) = contest.least()?;
        Some(format!("{known} {} ({})", slept(data.case(known.index))?, entrant.name))
    };
    let longer: Vec<String> = sleeps_us(data).into_iter().skip(1).filter_map(after).collect();
    (!longer.is_empty()).then(|| longer.join(", "))
}

/// The length nearest to this many microseconds, by ratio.
fn nearest(lengths: impl Iterator<Item = u32>, us: f64) -> Option<u32> {
    let distance = |length: &u32| (f64::from(*length) / us).ln().abs();
    lengths.min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// The waiter that stays awake and the one that sleeps, to be compared.
struct Waiters<'a> {
    data: &'a RunData,
    awake: Entrant<'a>,
    asleep: Entrant<'a>,
    /// All wake-ups after a sleep of about as long as the wait.
    sleeping: Contest<'a>,
}

impl<'a> Waiters<'a> {
    /// The waiters for a wait of this many microseconds. The one that stays awake is among those that may react soonest; the
    /// last of these in the catalogue leaves the most of the core to others. `None` if the run lacks the rows.
    fn of(data: &'a RunData, us: f64) -> Option<Self> {
        let measured = data.rows.iter().filter(|row| takes_part(data, row, Role::Reaction));
        let nearest = nearest(measured.filter_map(|row| waited_us(&row.case)), us)?;
        let fits = |case: &Case| waited_us(case) == Some(nearest);
        let reactions = Peers::of(data, Role::Reaction, fits, Size::Fewest)?.contest(Basis::Run);
        let soonest = reactions.candidates();
        let spins = |known: &Known<'_>| {
            let facts = data.catalogue.facts(&known.row.case.primitive);
            facts.is_some_and(|facts| facts.waits == Waits::Spins) && known.is_written()
        };
        let among = reactions.known().filter(|(one, known)| soonest.contains(&one.name) && spins(known));
        let awake = among.last()?.0.clone();
        // The nearest length of sleep after which the run woke waiters in several ways.
        let has_choice = |us: &u32| wake_ups(data, (*us).into()).is_some_and(|contest| contest.measured() > 1);
        let sleep = self::nearest(sleeps_us(data).into_iter().filter(has_choice), us);
        let sleeping = wake_ups(data, sleep.map_or(us, f64::from))?;
        let asleep = sleeping.best().filter(|(_, known)| known.is_written())?.0.clone();
        Some(Self { data, awake, asleep, sleeping })
    }

    /// Both costs, which are measured in different ways.
    fn known(&self) -> Option<[Known<'a>; 2]> {
        let of = |one: &Entrant<'a>| Known::written(self.data, one.index, Basis::Machine);
        Some([of(&self.awake)?, of(&self.asleep)?])
    }

    /// The wait up to which spinning costs less than sleeping and being woken, in nanoseconds: the least, the estimate and
    /// the most. A thread that spins for `t` and then reacts has lost `t` and its reaction; one that sleeps loses at least
    /// the wake-up (Karlin, Li, Manasse and Owicki, SOSP 1991).
    fn break_even(&self) -> Option<[f64; 3]> {
        let [awake, asleep] = self.known()?;
        let low = asleep.bounds.low - awake.bounds.high;
        (low > 0.0).then_some([low, asleep.ns - awake.ns, asleep.bounds.high - awake.bounds.low])
    }
}

/// The wait at which to look for the break-even point before it is known.
const USUAL_US: f64 = 5.0;

fn spin_or_sleep(data: &RunData) -> Option<Outcome> {
    let waiters = Waiters::of(data, USUAL_US)?;
    let [awake, asleep] = waiters.known()?;
    let Some([least, at, most]) = waiters.break_even() else {
        return Some(Outcome::open("whether a spinning thread reacts before a sleeping one".to_owned()));
    };
    let [least, at, most] = [least, at, most].map(figure::time);
    let (spins, sleeps) = (&waiters.awake.name, &waiters.asleep.name);
    let slept = slept(data.case(asleep.index)).map_or(String::new(), |slept| format!(", {slept}"));
    let text = format!(
        "Spinning beats sleeping for waits of up to {at} ({least} to {most} from run to run): a sleeping thread \
         resumes {asleep} after the wake-up call ({sleeps}{slept}); a spinning one reacts {awake} after the store ({spins})."
    );
    Some(Outcome::holds(text, [asleep.index, awake.index]).headed(at))
}

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let name = |case: &Case| design(&data.catalogue, case);
    let hinted: Vec<usize> = hints(data).map_or_else(Vec::new, |hints| hints.contest(Basis::Run).rows().collect());
    let costs = Spec::dots(Axis::log("time of one", Unit::Time), series(data, &hinted, name, |_| 0, Point::cost));
    let costs = costs.map(|chart| chart.titled("Hints, and calls that may yield the CPU"));
    let with_role = |role| data.rows_where(move |row| takes_part(data, row, role)).collect::<Vec<_>>();
    let (rows, mut woken) = (with_role(Role::Reaction), with_role(Role::WakeAll));
    let shortest = woken.iter().filter_map(|row| asleep_us(data.case(*row))).min();
    woken.retain(|row| asleep_us(data.case(*row)) == shortest);
    let waited = |case: &Case| waited_us(case).map_or(0, u64::from);
    let break_even = Waiters::of(data, USUAL_US).and_then(|waiters| waiters.break_even());
    let rule = break_even
        .map(|[_, at, _]| Rule { x: at / 1000.0, label: format!("the cost of sleeping: {}", figure::time(at)) });
    let reactions = Spec::lines(
        Axis::log("microseconds waited", Unit::Count),
        Axis::log("from the store until the waiter reacts", Unit::Time),
        series(data, &rows, name, waited, Point::cost),
    );
    let reactions = reactions.map(|chart| chart.ruled(rule.into_iter().collect()));
    let teams = Spec::lines(
        Axis::log("threads, including the one that wakes the rest", Unit::Count),
        Axis::log("from the call until the last one runs", Unit::Time),
        series(data, &woken, name, team, Point::cost),
    );
    let about = "The two CPU threads are placed close together, and a spinning waiter keeps its CPU. Hints are \
                 timed on one thread.";
    let otherwise = "The run does not show whether to spin or to sleep, because it has no wake-ups or no spinning \
                     waiters.";
    Picture::of(
        [reactions, costs, teams],
        otherwise,
        [Some(about.to_owned()), unreliable(data, &[hinted, rows, woken].concat())],
    )
}

/// Answers what to do during a wait of the asked length; without a length, up to and beyond the break-even point.
pub(super) fn wait(inquiry: Inquiry<'_>) -> Vec<Situation> {
    of_threads(inquiry).into_iter().chain(budget::wait(inquiry)).chain(host::wait(inquiry)).collect()
}

fn of_threads(inquiry: Inquiry<'_>) -> Vec<Situation> {
    let asked = inquiry.asked.wait.map(|wait| wait.as_secs_f64() * 1e9);
    let waiters = Waiters::of(inquiry.data, asked.map_or(USUAL_US, |ns| ns / 1000.0));
    let Some(waiters) = waiters else { return Vec::new() };
    let Some([low, at, high]) = waiters.break_even() else { return Vec::new() };
    let situation = |standing: &str| match asked {
        Some(ns) => format!("a wait of {}", figure::time(ns)),
        None => format!("a wait of {standing} than {}", figure::time(at)),
    };
    let spins = || Some((Domain::Cpu, situation("less"), spin(inquiry, &waiters)?));
    let sleeps = || Some((Domain::Cpu, situation("more"), sleep(inquiry, &waiters, at)?));
    match asked {
        None => [spins(), sleeps()].into_iter().flatten().collect(),
        Some(ns) if ns < low => spins().into_iter().collect(),
        Some(ns) if ns > high => sleeps().into_iter().collect(),
        Some(_) => {
            let [low, high] = [low, high].map(figure::time);
            let why = format!("spinning and sleeping cost about the same: sleeping pays off beyond {low} to {high}");
            vec![(Domain::Cpu, situation(""), Decision::open(why))]
        }
    }
}

fn spin(inquiry: Inquiry<'_>, waiters: &Waiters<'_>) -> Option<Decision> {
    let both = Contest::of(vec![waiters.awake.clone(), waiters.asleep.clone()], Vec::new());
    let warning = "the waiting thread spins and needs a CPU to itself".to_owned();
    Some(decide(inquiry, &both)?.taking(|choice| choice.warnings.push(warning)))
}

fn sleep(inquiry: Inquiry<'_>, waiters: &Waiters<'_>, at: f64) -> Option<Decision> {
    let ([awake, _], name, at) = (waiters.known()?, &waiters.awake.name, figure::time(at));
    let notes = [
        format!("a spinning thread reacts after {awake} ({name}) but occupies its CPU for the whole wait"),
        format!("if the wait is unknown: spin for {at}, then sleep; that costs at most twice the better choice"),
    ];
    Some(decide(inquiry, &waiters.sleeping)?.taking(|choice| choice.notes.extend(notes)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use syncscope_core::{Group, Placement, Row};

    use super::super::advice::{Asked, Need, advise};
    use super::super::testing::{case, data, labels, row, said_of, within};
    use super::super::testing::{decision, noisy, series};
    use super::*;
    use crate::Advice;

    fn close(id: &str, threads: u32) -> Case {
        Case { placement: Some(Placement::Close), ..case(id, threads) }
    }

    fn after(name: &str, us: u32, ns: f64) -> Row {
        let group = Some(Group::numbered("after # us", us));
        row(Case { group, ..close(&format!("cpu.wait.{name}"), 2) }, ns, 0.02)
    }

    fn run() -> RunData {
        data(vec![
            row(close("cpu.wait.pause", 1), 40.0, 0.02),
            row(close("cpu.wait.sched_yield", 1), 400.0, 0.02),
            after("spin", 5, 100.0),
            after("spin_hint", 5, 101.0),
            after("spin_16_hints", 5, 400.0),
            after("spin_futex", 5, 100.5),
            after("spin_hint", 50, 130.0),
            after("spin", 50, 140.0),
            row(close("cpu.wake.futex", 2), 3000.0, 0.02),
            row(close("cpu.wake.park", 2), 3500.0, 0.02),
            row(close("cpu.wake.futex_all", 16), 9000.0, 0.02),
        ])
    }

    #[test]
    fn a_microsecond_is_so_many_hints() {
        let text = "One pause takes 40.0 ns: 25 of them make a microsecond (25 to 26 from run to run).";
        assert_eq!(said_of(a_microsecond, &run()), Some(Ok(text.into())));
        let mut without = run();
        without.rows.remove(0);
        assert_eq!(said_of(a_microsecond, &without), None, "no program counts calls");
        assert_eq!(said_of(a_microsecond, &data(vec![])), None);
    }

    #[test]
    fn spinning_is_better_up_to_what_sleeping_costs() {
        let text = said_of(spin_or_sleep, &run()).unwrap().unwrap();
        assert!(text.starts_with("Spinning beats sleeping for waits of up to 2.90 µs"), "{text}");
        assert!(text.contains("3.00 µs after the wake-up call (futex)"), "{text}");
        assert!(text.contains("101 ns after the store (spin_hint)"), "as soon as without a hint: {text}");
        let mut run = run();
        run.rows[8] = within(run.rows[8].clone(), 50.0, 6000.0);
        run.rows[8].ns_interval = run.rows[8].ns_within;
        run.rows.remove(9);
        assert!(matches!(said_of(spin_or_sleep, &run), Some(Err(_))), "a wake-up may be as quick");
    }

    fn asked(data: &RunData, wait: Option<Duration>) -> Vec<(String, Result<String, String>)> {
        let answers = advise(data, Need::Wait, Asked { wait, ..Asked::default() });
        let said = |Advice { situation, decision, .. }: Advice| match &decision.choice {
            Some(choice) => (situation, Ok(choice.name.clone())),
            None => (situation, Err(decision.reason())),
        };
        answers.into_iter().map(said).collect()
    }

    #[test]
    fn advice_depends_on_how_long_a_thread_waits() {
        let of = |us: f64| asked(&run(), Some(Duration::from_secs_f64(us / 1e6))).remove(0);
        assert_eq!(of(1.0), ("a wait of 1.00 µs".into(), Ok("spin_hint".into())));
        assert_eq!(of(50.0), ("a wait of 50.0 µs".into(), Ok("futex".into())));
        let (_, open) = of(2.9);
        let open = open.unwrap_err();
        assert!(open.contains("beyond 2.84 µs to 2.96 µs"), "{open}");
        let both = asked(&run(), None);
        assert_eq!(both[0], ("a wait of less than 2.90 µs".into(), Ok("spin_hint".into())));
        assert_eq!(both[1], ("a wait of more than 2.90 µs".into(), Ok("futex".into())));
        assert!(asked(&data(vec![]), None)[0].1.as_ref().unwrap_err().contains("--only 'cpu.wait.*'"));
    }

    #[test]
    fn a_way_to_wait_without_a_figure_is_not_taken() {
        let mut run = run();
        run.rows[3] = noisy(run.rows[3].clone(), 10.0, 190.0);
        assert_eq!(asked(&run, Some(Duration::from_micros(1)))[0].1, Ok("spin".into()));
    }

    /// A CPU that has idled for longer takes longer to wake.
    #[test]
    fn wake_ups_are_those_after_about_as_long_a_sleep() {
        let woken = |name: &str, us: u32, ns| {
            let group = Some(Group::numbered(ASLEEP, us));
            row(Case { group, ..close(&format!("cpu.wake.{name}"), 2) }, ns, 0.02)
        };
        let mut run = run();
        let sleeps = [("futex", 20, 6000.0), ("park", 20, 7000.0), ("futex", 200, 18_000.0), ("park", 200, 17_000.0)];
        run.rows.splice(8..10, sleeps.map(|(name, us, ns)| woken(name, us, ns)));
        let text = said_of(spin_or_sleep, &run).unwrap().unwrap();
        assert!(text.contains("waits of up to 5.90 µs") && text.contains("(futex, after 20.0 µs asleep)"), "{text}");
        assert_eq!(after_longer_sleeps(&run).as_deref(), Some("17.0 µs after 200 µs asleep (park)"));
        let of = |us: u64| asked(&run, Some(Duration::from_micros(us))).remove(0).1;
        assert_eq!([1, 30, 300].map(of), ["spin_hint", "futex", "park"].map(|name| Ok(name.into())));
        run.rows.push(woken("futex", 2000, 34_000.0));
        let of = |us: u64| asked(&run, Some(Duration::from_micros(us))).remove(0).1;
        assert_eq!(of(1_000_000), Ok("park".into()), "of one way after a longer sleep there is no choice");
    }

    #[test]
    fn reactions_are_drawn_by_the_length_of_the_wait() {
        let found = decision("decide-wait", &run()).unwrap();
        assert_eq!(labels(&found.charts[0]), ["spin", "spin_hint", "spin_16_hints", "spin_futex"]);
        let x: Vec<Option<f64>> = series(&found.charts[0])[1].points.iter().map(|point| point.x).collect();
        assert_eq!(x, [Some(5.0), Some(50.0)]);
        assert_eq!(labels(&found.charts[1]), ["pause", "sched_yield"]);
        assert_eq!(labels(&found.charts[2]), ["futex_all"]);
        assert_eq!(decision("decide-wait", &data(vec![])), None);
    }
}
