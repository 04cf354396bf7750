//! Which lock? Cost by threads, fairness, what to know before taking the cheapest, and a map over the work inside and
//! outside the lock.

use syncscope_core::{Detail, Waits, Work};

use super::atomics::count;
use super::prelude::*;
use super::rows::cpu_rules;
use crate::analysis::contest::Win;

pub(super) const SENTENCES: Sentences = &[
    sentence(cheapest, &[On::Placement, On::Section, On::Thread]),
    sentence(spinning_or_sleeping, &[On::Placement, On::Section, On::Thread]),
];

/// The smallest team that contends.
const SEVERAL: u32 = 2;

/// Names the cheapest lock if all CPUs contend for it.
fn cheapest(data: &RunData) -> Option<Outcome> {
    let peers = Peers::of_team(data, Role::ThreadLock, None, 1)?;
    peers.like.threads.filter(|threads| *threads >= SEVERAL)?;
    cheapest_in_words(data, &peers, "lock", |win, next| {
        let last = win.rivals.last().filter(|(_, last)| last.index != next.index);
        // A lock without a number may cost more than the last one.
        let is_unknown =
            |known: &Known<'_>, last: &Known<'_>| !known.is_written() && known.bounds.high > last.bounds.low;
        let last = last.filter(|(_, last)| !win.rivals.iter().any(|(_, known)| is_unknown(known, last)));
        let last =
            last.map(|(last, cost)| format!("the most expensive, {}, costs {} as much", last.name, win.ratio(cost)));
        let of_winner = joined([keeps(data, win.cost.row), does_more(win)], "; ");
        (of_winner, last.into_iter().collect())
    })
}

/// Compares the cheapest spinning lock with the cheapest sleeping one, if all CPUs contend.
fn spinning_or_sleeping(data: &RunData) -> Option<Outcome> {
    let peers = Peers::of_team(data, Role::ThreadLock, None, SEVERAL)?;
    let contest = peers.contest(Basis::Run);
    let of_kind = |ways: &[Waits]| {
        let waits = |row: &Row| data.catalogue.facts(&row.case.primitive).map(|facts| facts.waits);
        contest.clone().only(|one| waits(&data.rows[one.index]).is_some_and(|waits| ways.contains(&waits)))
    };
    let spins = ("spinning", of_kind(&[Waits::Spins]));
    let sleeps = ("sleeping", of_kind(&[Waits::SpinsThenSleeps, Waits::Sleeps]));
    let is_less = spins.1.least()?.1.ns < sleeps.1.least()?.1.ns;
    let ((faster, of_faster), (slower, of_slower)) = if is_less { (spins, sleeps) } else { (sleeps, spins) };
    let [(_, least), (_, most)] = [of_faster.least()?, of_slower.least()?];
    let [cheap, costly] = [named(&of_faster.candidates())?, named(&of_slower.candidates())?];
    // A lock without a number must not cost less than the one that represents its kind.
    let is_lower = |(_, one): (_, Known<'_>)| !one.is_written() && one.bounds.low < most.bounds.low;
    let is_certain = of_slower.is_above(&least) && !of_slower.known().any(is_lower);
    let both @ Comparison { less, more, ratio } = least.against(most).filter(|_| is_certain)?;
    let threads = peers.like.threads?;
    let text = format!(
        "With {threads} threads, the cheapest {slower} lock ({costly}, {more}) takes {ratio} as long as the cheapest \
         {faster} lock ({cheap}, {less})."
    );
    Some(Outcome::holds(text, both.rows()).headed(more))
}

/// The cost of a row by the total work of all threads, which may be served unequally.
fn by_work<'a>(known: &Known<'a>) -> Option<Known<'a>> {
    let ns = known.row.rate_ns.filter(|ns| ns.value() > 0.0 && known.has_figure())?;
    Some(known.with_cost(ns.value()))
}

/// Names the rival with which all threads together certainly do more, although it costs the slowest thread more.
fn does_more(win: &Win<'_, '_>) -> Option<String> {
    let own = by_work(&win.cost)?;
    let rivals = win.rivals.iter().filter_map(|(one, cost)| Some((&one.name, by_work(cost)?)));
    let (name, most) = rivals.min_by(|(_, a), (_, b)| a.ns.total_cmp(&b.ns))?;
    let both = most.across(own).filter(Comparison::is_certain)?;
    let rate = |known: &Known<'_>| count(f64::from(known.row.case.threads.unwrap_or(1)) * 1e9 / known.ns);
    let [less, more] = [both.less, both.more].map(|one| rate(&one));
    Some(format!("{name} has the most acquisitions in total, {less} per second against {more}"))
}

/// `on average, a thread takes it 17 times in a row`; `None` if the lock usually passes on, or that is unknown.
fn keeps(data: &RunData, row: &Row) -> Option<String> {
    let times = data.detail(&row.case, Detail::ACQUISITIONS_PER_HANDOVER).filter(|times| *times >= 1.5)?;
    let digits = usize::from(times < 10.0);
    Some(format!("on average, a thread takes it {times:.digits$} times in a row"))
}

/// The detail with Jain's fairness index of the threads' acquisitions (Jain, Chiu, Hawe, 1984).
const FAIRNESS: &str = "jain_index";

pub(super) fn picture(data: &RunData) -> Option<Picture> {
    let peers = Peers::of_team(data, Role::ThreadLock, None, 1)?;
    let rows = peers.with_other_teams();
    let name = |case: &Case| design(&data.catalogue, case);
    let lines = series(data, &rows, name, team, Point::cost);
    let rules = cpu_rules(data, &lines);
    let (x, y) = (Axis::log("threads", Unit::Count), Axis::log("time per acquisition", Unit::Time));
    let cost = Spec::lines(x, y, lines)?.ruled(rules);
    let fairness = largest_team(data, &rows).and_then(|threads| fairness(data, &rows, threads));
    let dtype = peers.like.dtype.map(|dtype| format!(" ({dtype})")).unwrap_or_default();
    let about = format!(
        "The critical section is one addition{dtype}. Fairness compares how often each thread got the lock over a \
         whole window, so one thread may take even a fair lock several times in a row."
    );
    let sentences = [Some(about), unreliable(data, &rows)];
    let picture = Picture::of([Some(cost), fairness], "Only one lock was measured.", sentences)?;
    Some(picture.finding([by_threads(data, &peers, "lock", 1)]))
}

/// Jain's index of each lock with this many threads: 1 if all threads got the lock equally often, 1/n if a single thread got
/// it.
fn fairness(data: &RunData, rows: &[usize], threads: u32) -> Option<Spec> {
    let of_row = |index: &usize| {
        let case = data.case(*index);
        let jain = data.detail(case, FAIRNESS).filter(|_| case.threads == Some(threads))?;
        Some(Series {
            label: design(&data.catalogue, case),
            primitive: Some(case.primitive.clone()),
            colour: None,
            points: vec![Point::bare(jain, *index, format!("{jain:.2}"))],
        })
    };
    let mut all: Vec<Series> = if threads > 1 { rows.iter().filter_map(of_row).collect() } else { Vec::new() };
    all.sort_by(|a, b| b.points[0].y.unwrap_or(0.0).total_cmp(&a.points[0].y.unwrap_or(0.0)));
    let axis = Axis::share("Jain's fairness index (1 = fair)");
    let window = all.iter().find_map(|one| in_windows(data, data.case(one.points[0].row?))).unwrap_or_default();
    Some(Spec::dots(axis, all)?.titled(format!("Fairness at {threads} threads{window}")))
}

/// ` in windows of 800 µs`, over which fairness was measured: over longer ones a lock is fairer.
fn in_windows(data: &RunData, case: &Case) -> Option<String> {
    data.detail(case, "window_ns").map(|ns| format!(" in windows of {}", figure::time(ns)))
}

/// In a table of 1,024 stripes, each with its lock, threads paid between half of this bound and all of it, not the contended
/// row, which is up to a hundred times as much (docs/notes/programs.md).
const MOSTLY_FREE: &str = "this holds for a contended lock; a mostly free one, such as one of many stripes, costs at \
                           most about its one-thread row plus a hand-off";

/// Answers with the locks of each side. One instrument measures all locks of a side, so rows are compared within the run.
pub(super) fn protect(inquiry: Inquiry<'_>) -> Vec<Situation> {
    let of = |(on, role)| {
        let peers = Peers::of_team(inquiry.data, role, inquiry.asked.threads, 1);
        of_peers(inquiry, (on, role, peers, ""), |choice, like| {
            if on == Domain::Cpu {
                cautions_on_fairness(inquiry, choice);
                cautions_on_waiting(inquiry, choice);
                choice.notes.extend((like.threads > Some(1)).then(|| MOSTLY_FREE.to_owned()));
            }
            choice.notes.extend(one_addition(inquiry, like, choice.row));
        })
    };
    let sides = [(Domain::Cpu, Role::ThreadLock), (Domain::Gpu, Role::GpuLock)];
    sides.into_iter().filter_map(of).collect()
}

/// Says that data of one word need no lock, if the addition certainly costs less.
fn one_addition(inquiry: Inquiry<'_>, like: &Case, lock: usize) -> Option<String> {
    let data = inquiry.data;
    let add = data.rows.iter().position(|row| {
        let case = &row.case;
        let is_plain = case.primitive == "cpu.atomic.add" && case.form.is_none() && case.group.is_none();
        let is_alike = case.threads == like.threads && case.placement == like.placement && case.dtype == like.dtype;
        is_plain && is_alike && case.layout == like.layout && case.mode != Some(Mode::Latency)
    })?;
    let of = |index| Known::written(data, index, Basis::Run);
    let Comparison { less, .. } = of(add)?.below(of(lock)?)?;
    Some(format!("if it protects a single word, an atomic add costs less ({less})"))
}

/// A lock with a lower fairness index is called unfair: at 0.8, a fifth of the threads could have got nothing while the
/// others shared equally.
const FAIR: f64 = 0.8;

/// Says how fair a contended lock is.
fn cautions_on_fairness(inquiry: Inquiry<'_>, choice: &mut Choice) {
    let Some(row) = inquiry.data.rows.get(choice.row).filter(|row| row.case.threads > Some(1)) else { return };
    let window = in_windows(inquiry.data, &row.case).unwrap_or_default();
    match inquiry.data.detail(&row.case, FAIRNESS) {
        None => choice.notes.push("its fairness was not measured".to_owned()),
        Some(index) if index < FAIR => choice.warnings.push(format!(
            "unfair: some threads got it much more often than others (Jain's index {index:.2} of 1{window})"
        )),
        Some(index) => choice.notes.push(format!("fair: Jain's index {index:.2} of 1{window}")),
    }
    choice.notes.extend(keeps(inquiry.data, row));
}

/// Warns if waiting threads keep their CPU, and shows the consequence by a row with more threads than CPUs.
pub(super) fn cautions_on_waiting(inquiry: Inquiry<'_>, choice: &mut Choice) {
    let Some(row) = inquiry.data.rows.get(choice.row) else { return };
    match inquiry.data.catalogue.facts(&row.case.primitive).map(|facts| facts.waits) {
        Some(Waits::AsConfigured) => {
            let text = "OMP_WAIT_POLICY decides whether waiters keep their CPU; the run measured the runtime's default";
            choice.notes.push(text.to_owned());
        }
        Some(Waits::Spins) => {
            let seen = oversubscribed(inquiry, row).map(|seen| format!(": {seen}")).unwrap_or_default();
            choice.warnings.push(format!("waiters spin, so it needs its CPUs to itself{seen}"));
        }
        _ => {}
    }
}

/// `20 threads on 16 CPUs cost 1.20 ms`, by the row with the fewest threads beyond the CPUs.
fn oversubscribed(inquiry: Inquiry<'_>, row: &Row) -> Option<String> {
    let cpus = MachineSize::of(&inquiry.data.run.machine).hardware_threads;
    let alike = |case: &Case| Case { threads: row.case.threads, ..case.clone() } == row.case;
    let rows = inquiry.data.rows.iter().filter(|other| alike(&other.case) && other.case.threads > Some(cpus));
    let known = rows.filter(|other| cpus > 0 && reading::has_figure(other));
    let first = known.min_by_key(|other| other.case.threads)?;
    Some(format!("{} threads on {cpus} CPUs take {}", first.case.threads?, Reading::of(first).figure))
}

/// A map for each length of the work outside; `None` in a run without work, or with only one lock.
pub(super) fn map_of_work(data: &RunData) -> Option<Picture> {
    let idle = |case: &Case| Case { inside: None, outside: None, ..case.clone() };
    let is_lock = |row: &Row| takes_part(data, &Row { case: idle(&row.case), ..row.clone() }, Role::ThreadLock);
    let first = &data.rows.iter().find(|row| row.case.has_work() && is_lock(row))?.case;
    let kind = |case: &Case| (case.dtype, case.placement.clone(), case.layout);
    let place = |case: &Case| (case.outside, case.inside, case.threads.unwrap_or_default());
    let alike = data.rows_where(|row| is_lock(row) && kind(&row.case) == kind(first));
    let mut places = sets(alike.map(|index| (place(data.case(index)), Entrant::of(data, index, Basis::Run))));
    places.retain(|_, entrants| entrants.len() > 1);
    let all_threads: BTreeSet<u32> = places.keys().map(|(_, _, threads)| *threads).collect();
    let columns: Vec<String> = all_threads.iter().map(|threads| plural(*threads, "thread")).collect();
    let map = |outside: Option<Work>| {
        let line = |inside: Option<Work>| Line {
            label: amount(inside, "inside"),
            cells: all_threads.iter().map(|threads| cheapest_of(places.get(&(outside, inside, *threads))?)).collect(),
        };
        let insides: BTreeSet<Option<Work>> = places.keys().map(|(_, inside, _)| *inside).collect();
        let lines: Vec<Line> = insides.into_iter().map(line).collect();
        let has_cell = lines.iter().flat_map(|line| &line.cells).any(Option::is_some);
        Spec::table(&amount(outside, "outside"), &columns, lines).filter(|_| has_cell)
    };
    let text =
        "Each cell names the lock with the lowest time per acquisition, work included; “or” joins locks that may have it."
            .to_owned();
    let note = "Work given as a time is a loop of additions without memory accesses; work given as a size changes a \
                word in each cache line.";
    let otherwise = "The run does not show which lock is the cheapest.";
    let outsides: BTreeSet<Option<Work>> = places.keys().map(|(outside, _, _)| *outside).collect();
    Some(
        Picture::of(outsides.into_iter().map(map), otherwise, [Some(note.to_owned())])?
            .saying(Some(Outcome::holds(text, []))),
    )
}

fn amount(work: Option<Work>, side: &str) -> String {
    work.map_or_else(|| format!("no work {side}"), |work| format!("{work} {side}"))
}

/// The words for the cheapest one, or for those that may be.
fn named(candidates: &[String]) -> Option<String> {
    match candidates {
        [one] => Some(one.clone()),
        [one, other] => Some(format!("{one} or {other}")),
        [one, others @ ..] => Some(format!("{one} or one of {} others", others.len())),
        [] => None,
    }
}

/// The cell of the cheapest lock in one place of a map, or of those that may be.
fn cheapest_of(entrants: &[Entrant<'_>]) -> Option<Cell> {
    let contest = Contest::of(entrants.to_vec(), Vec::new());
    let (_, best) = contest.best()?;
    let text = named(&contest.candidates())?;
    Some(Cell { value: Some(best.ns), detail: Some(best.to_string()), ..Cell::note(text, best.index) })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{case, data, row, said, said_of, within};
    use super::super::testing::{decision, labels, lock, noisy, sentence, series, text};
    use super::*;
    use syncscope_core::run::Status;
    use syncscope_core::{Group, Nanoseconds};

    #[test]
    fn the_cheapest_lock_differs_by_number_of_threads() {
        let rows = || {
            let ticket =
                [(1, 9.0), (2, 200.0), (16, 6000.0), (32, 90_000.0)].map(|(threads, ns)| lock("ticket", threads, ns));
            let mutex = [(1, 15.0), (2, 90.0), (16, 1200.0), (32, 1300.0)];
            let mutex = mutex.map(|(threads, ns)| lock("pthread_mutex", threads, ns));
            ticket.into_iter().chain(mutex).collect::<Vec<Row>>()
        };
        assert_eq!(
            sentence("decide-lock", rows()),
            "At 16 threads, pthread_mutex (1.20 µs) is the cheapest of the 2 measured locks. The next cheapest, ticket, costs 5.0 times as much. \
             The cheapest measured lock is ticket with 1 thread (9.00 ns) and pthread_mutex with 2 threads (90.0 ns), with 16 (1.20 µs) and with 32 (1.30 \
             µs). With 16 threads, the cheapest spinning lock (ticket, 6.00 µs) takes 5.0 times as long as the cheapest \
             sleeping lock (pthread_mutex, 1.20 µs). Measured with one addition under the lock."
        );
        let mut overlapping = rows();
        overlapping[2] = within(overlapping[2].clone(), 1100.0, 9000.0);
        let text = sentence("decide-lock", overlapping);
        assert!(text.ends_with(". At 16 threads, the intervals of pthread_mutex and ticket overlap."), "{text}");
        let mut unknown = rows();
        unknown[2].verdict = Verdict::Interfered("too many".into());
        let text = sentence("decide-lock", unknown);
        assert!(
            text.ends_with(
                ". At 16 threads, the cheapest may be ticket, the only one of 2 candidates without a figure."
            ),
            "{text}"
        );
        assert!(!text.contains("at 16 ("), "{text}");
    }

    #[test]
    fn locks_that_are_not_measured_yet_leave_the_choice_open() {
        let mut run = data(vec![lock("ticket", 1, 9.0), lock("mcs", 1, 12.0), lock("ticket", 16, 100.0)]);
        run.run.status = syncscope_core::run::Status::BudgetSpent;
        run.run.planned_by_primitive = [("cpu.lock.ticket".to_owned(), 2), ("cpu.lock.mcs".to_owned(), 2)].into();
        assert_eq!(
            text(&decision("decide-lock", &run).unwrap()),
            "With 1 thread, the cheapest measured lock is ticket (9.00 ns). At 16 threads, mcs, one of the 2 candidates, is not measured yet."
        );
    }

    #[test]
    fn a_lower_estimate_of_a_noisy_row_is_no_winner() {
        let rows = vec![lock("ticket", 16, 100.0), noisy(lock("mcs", 16, 60.0), 20.0, 400.0), lock("ttas", 16, 900.0)];
        let found = decision("decide-lock", &data(rows)).unwrap();
        let reason = "At 16 threads, the cheapest may be mcs, the only one of 3 candidates without a figure";
        assert!(!found.is_decided && found.note.unwrap().contains(reason), "one line says what is open");
        let many: Vec<Row> = ["ticket", "mcs", "ttas", "std_mutex", "pthread_spin"]
            .map(|name| noisy(lock(name, 16, 100.0), 40.0, 160.0))
            .to_vec();
        let text = sentence("decide-lock", many);
        assert!(text.contains("none of the 5 candidates has a figure"), "{text}");
    }

    #[test]
    fn fairness_is_shown_for_the_largest_team_that_fits() {
        let mut run = data(vec![lock("ticket", 16, 100.0), lock("ttas", 16, 90.0), lock("ttas", 32, 95.0)]);
        for (at, index) in [(0, 1.0), (1, 0.4), (2, 0.1)] {
            run.details.insert(run.rows[at].case.id(), vec![Detail::of_case("jain_index", index)]);
        }
        let found = decision("decide-lock", &run).unwrap();
        assert_eq!(labels(&found.charts[1]), ["ticket", "ttas"]);
        assert_eq!(series(&found.charts[1])[1].points[0].x, Some(0.4), "not that of 32 threads on 16 CPUs");
    }

    fn of_all(name: &str, ns: f64) -> Row {
        // In another run each may differ by half, or all of them alike.
        row(case(&format!("cpu.lock.{name}"), 16), ns, 0.5)
    }

    #[test]
    fn the_cheapest_lock_of_the_run_is_named() {
        let rows = vec![
            of_all("std_mutex", 2617.0),
            of_all("pthread_mutex", 1204.0),
            of_all("ticket", 6154.0),
            of_all("ttas", 3795.0),
        ];
        assert_eq!(
            said(cheapest, rows),
            Some(Ok(
                "At 16 threads, pthread_mutex (1.20 µs) is the cheapest of the 4 measured locks. The next cheapest, \
                 std_mutex, costs 2.2 times as \
                     much; the most expensive, ticket, costs 5.1 times as much."
                    .into()
            ))
        );
    }

    #[test]
    fn the_sentence_says_how_long_a_thread_keeps_the_cheapest_lock() {
        let sentence = |times| {
            let mut run = data(vec![of_all("ttas", 12.5), of_all("ticket", 120.0)]);
            let id = run.rows[0].case.id();
            run.details.insert(id, vec![Detail::of_case(Detail::ACQUISITIONS_PER_HANDOVER, times)]);
            said_of(cheapest, &run).unwrap().unwrap()
        };
        let kept = "of the 2 measured locks; on average, a thread takes it 17 times in a row. The \
             next cheapest, ticket,";
        assert!(sentence(17.2).contains(kept), "{}", sentence(17.2));
        assert!(sentence(3.46).contains("takes it 3.5 times in a row"), "{}", sentence(3.46));
        assert!(sentence(1.1).contains("of the 2 measured locks. The next"), "{}", sentence(1.1));
    }

    #[test]
    fn a_lock_with_which_all_threads_do_more_is_named_beside_the_cheapest() {
        let by_work = |name: &str, ns, rate| Row { rate_ns: Some(Nanoseconds(rate)), ..of_all(name, ns) };
        let both =
            |rate| said(cheapest, vec![by_work("ticket", 6280.0, 6250.0), by_work("reciprocating", 8130.0, rate)]);
        let text = both(4400.0).unwrap().unwrap();
        let more = "reciprocating has the most acquisitions in total, 3.64 million per second against 2.56 million";
        assert!(text.starts_with("At 16 threads, ticket (6.28 µs)") && text.contains(more), "{text}");
        assert!(!both(6200.0).unwrap().unwrap().contains("acquisitions in total"), "the intervals overlap");
    }

    #[test]
    fn waiting_is_compared_with_sleeping() {
        let rows = vec![of_all("std_mutex", 2400.0), of_all("pthread_mutex", 1200.0), of_all("ticket", 6000.0)];
        let sentence = "With 16 threads, the cheapest spinning lock (ticket, 6.00 µs) takes 5.0 times as long as the \
                        cheapest \
                        sleeping lock (pthread_mutex, 1.20 µs).";
        assert_eq!(said(spinning_or_sleeping, rows.clone()), Some(Ok(sentence.into())));
        assert_eq!(said(spinning_or_sleeping, rows[..2].to_vec()), None, "no lock spins");
        let blurred = vec![rows[1].clone(), within(rows[2].clone(), 1100.0, 9000.0)];
        assert_eq!(said(spinning_or_sleeping, blurred), None);
        let without_a_number =
            within(Row { verdict: Verdict::Noisy("wide".into()), ..of_all("mcs", 5000.0) }, 900.0, 9000.0);
        let unknown = Row { verdict: Verdict::Interfered("switches".into()), ..of_all("mcs", 5000.0) };
        for row in [without_a_number, unknown] {
            assert_eq!(said(spinning_or_sleeping, [rows.clone(), vec![row]].concat()), None, "it may cost less");
        }
    }

    #[test]
    fn a_lock_without_a_number_leaves_open_which_is_the_most_expensive() {
        let rows = vec![of_all("mcs", 1000.0), of_all("ticket", 3000.0), of_all("ttas", 5000.0)];
        let is_named = |rows| said(cheapest, rows).unwrap().unwrap().contains("the most expensive");
        assert!(is_named(rows.clone()));
        let wide = within(Row { verdict: Verdict::Noisy("wide".into()), ..of_all("clh", 9000.0) }, 4000.0, 20_000.0);
        assert!(!is_named([rows, vec![wide]].concat()));
    }

    #[test]
    fn overlapping_locks_are_not_ranked() {
        let rows = vec![within(of_all("std_mutex", 1300.0), 1150.0, 1450.0), of_all("pthread_mutex", 1204.0)];
        let question =
            "which lock is the cheapest at 16 threads (the intervals of pthread_mutex and std_mutex overlap)";
        assert_eq!(said(cheapest, rows), Some(Err(question.into())));
    }

    #[test]
    fn every_runtime_of_openmp_is_a_rival() {
        let critical = |group, ns| {
            let row = of_all("openmp_critical", ns);
            Row { case: Case { group: Some(group), ..row.case.clone() }, ..row }
        };
        let rows = vec![
            of_all("ticket", 500.0),
            critical(Group::named("libgomp"), 900.0),
            critical(Group::named("libomp"), 400.0),
        ];
        let sentence = said(cheapest, rows).unwrap().unwrap();
        assert!(sentence.starts_with("At 16 threads, openmp_critical libomp (400 ns) is the cheapest"), "{sentence}");
    }

    #[test]
    fn a_run_that_ended_early_names_no_cheapest_lock() {
        let mut run = data(vec![of_all("pthread_mutex", 80.0), of_all("ticket", 536.0)]);
        run.run.status = Status::BudgetSpent;
        let plan = ["pthread_mutex", "ticket", "mcs", "ttas", "std_mutex"];
        run.run.planned_by_primitive = plan.map(|name| (format!("cpu.lock.{name}"), 1)).into();
        let question = "which lock is the cheapest at 16 threads (3 of the 5 candidates are not measured yet: std_mutex, ttas and mcs)";
        assert_eq!(said_of(cheapest, &run), Some(Err(question.into())));
        run.run.planned_by_primitive.retain(|id, _| id.ends_with("ticket") || id.ends_with("pthread_mutex"));
        let sentence = said_of(cheapest, &run).unwrap().unwrap();
        assert!(sentence.contains("pthread_mutex (80.0 ns) is the cheapest of the 2 measured locks."), "{sentence}");
    }

    #[test]
    fn one_lock_is_no_choice() {
        assert_eq!(said(cheapest, vec![of_all("ticket", 500.0)]), None);
        let missing = Row { verdict: Verdict::Skipped("none".into()), ..of_all("mcs", 1.0) };
        assert_eq!(said(cheapest, vec![of_all("ticket", 500.0), missing]), None);
        assert_eq!(said(cheapest, vec![]), None);
    }

    fn at(name: &str, inside: Option<Work>, threads: u32, ns: f64) -> Row {
        let row = lock(name, threads, ns);
        Row { case: Case { inside, ..row.case.clone() }, ..row }
    }

    fn cells(rows: Vec<Row>) -> Option<Vec<(String, Vec<String>)>> {
        let spec = decision("decide-lock-work", &data(rows))?.charts.remove(0);
        let Spec::Table { lines, .. } = spec else { panic!("a table") };
        let texts =
            |line: Line| line.cells.into_iter().map(|cell| cell.map_or("none".into(), |cell| cell.text)).collect();
        Some(lines.into_iter().map(|line| (line.label.clone(), texts(line))).collect())
    }

    #[test]
    fn the_map_names_the_cheapest_lock_of_each_place() {
        let rows = || {
            vec![
                at("ticket", None, 1, 9.0),
                at("pthread_mutex", None, 1, 15.0),
                at("ticket", Some(Work::Memory(4096)), 16, 6000.0),
                at("pthread_mutex", Some(Work::Memory(4096)), 16, 3600.0),
                at("mcs", Some(Work::Memory(4096)), 1, 210.0),
            ]
        };
        let line = |label: &str, cells: [&str; 2]| (label.to_owned(), cells.map(str::to_owned).to_vec());
        let expected = [line("no work inside", ["ticket", "none"]), line("4KiB inside", ["none", "pthread_mutex"])];
        assert_eq!(cells(rows()).unwrap(), expected, "one lock alone is no choice");
        let mut overlapping = rows();
        overlapping[3] = within(overlapping[3].clone(), 3000.0, 6500.0);
        assert_eq!(cells(overlapping).unwrap()[1].1[1], "pthread_mutex or ticket");
        assert_eq!(cells(rows()[..2].to_vec()), None, "no work");
    }
}
