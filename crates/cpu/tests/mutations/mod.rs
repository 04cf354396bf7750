//! Weakens each ordering of our own locks and barriers, one at a time: the model must fail. Every trial is a process of its own,
//! which this program starts with the name of the model and the weakened use in its environment.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use loom::sync::atomic::Ordering;
use syncscope_cpu::sync::{Barrier, BarrierVisitor, LockVisitor, RawLock, visit_barriers, visit_locks, weakened};

/// The model that a process checks; without it, all.
const MODEL: &str = "SYNCSCOPE_MODEL";
/// The use that it weakens: `sense.rs:53:25=Acquire`.
const WEAKEN: &str = "SYNCSCOPE_WEAKEN";
/// What comes before each use that a model has, in the output.
const USE: &str = "use of an ordering: ";

/// A model that holds takes this long at most.
const LIMIT: Duration = Duration::from_secs(300);

/// Checks a model, unless this process is for another one.
pub(crate) fn check(name: &str, model: impl FnOnce()) {
    let wanted = std::env::var(MODEL).ok();
    if wanted.as_deref().is_some_and(|wanted| wanted != name) {
        return;
    }
    println!("{name}");
    if let Ok(weaken) = std::env::var(WEAKEN) {
        let (place, ordering) = weaken.split_once('=').expect("a place and an ordering");
        weakened::weaken(place, ordering_of(ordering));
    }
    model();
    if wanted.is_some() {
        weakened::seen().iter().for_each(|used| println!("{USE}{} {}", used.place, used.ordering));
    }
}

fn ordering_of(word: &str) -> Ordering {
    match word {
        "Relaxed" => Ordering::Relaxed,
        "Acquire" => Ordering::Acquire,
        "Release" => Ordering::Release,
        "AcqRel" => Ordering::AcqRel,
        other => panic!("no weaker ordering: {other}"),
    }
}

/// The orderings that are weaker by one step.
fn weaker(ordering: &str) -> &'static [&'static str] {
    match ordering {
        "Acquire" | "Release" => &["Relaxed"],
        "AcqRel" => &["Acquire", "Release"],
        "SeqCst" => &["AcqRel"],
        other => panic!("an ordering that orders nothing: {other}"),
    }
}

/// Runs one test of this program for one model; `None` if it takes too long.
fn run(test: &str, model: &str, weaken: Option<&str>) -> Option<(bool, String)> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(MODEL, model);
    command.env_remove("RUST_BACKTRACE").stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(weaken) = weaken {
        command.env(WEAKEN, weaken);
    }
    let (began, mut child) = (Instant::now(), command.spawn().unwrap());
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Some((output.status.success(), text))
}

/// What the model found: the line after that of the first panic.
fn finding(text: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.contains("panicked at"));
    lines.next();
    lines.next().unwrap_or("no message").trim().chars().take(56).collect()
}

/// The test and the name of each model.
struct Models(Vec<(&'static str, String)>);

impl LockVisitor for Models {
    fn visit<L: RawLock>(&mut self, name: &str, _: fn(u32, Duration) -> L, _: usize) {
        self.0.push(("locks_exclude", name.to_owned()));
    }
}

impl BarrierVisitor for Models {
    fn visit<B: Barrier>(&mut self, name: &str, _: fn(u32, Duration) -> B, _: u32) {
        self.0.push(("barriers_separate_phases", name.to_owned()));
    }
}

/// Does `work` for each of `all`, on all CPUs. The results are in order.
fn on_all_cpus<'a, T: Sync, R: Send>(all: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take = || {
        while let Some((at, one)) = Some(next.fetch_add(1, Relaxed)).and_then(|at| Some((at, all.get(at)?))) {
            let result = work(one);
            found.lock().unwrap().push((at, result));
        }
    };
    thread::scope(|scope| {
        (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(take)))
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, result)| result).collect()
}

#[test]
#[ignore = "minutes: make loom-mutations"]
fn every_ordering_is_needed() {
    let mut models = Models(Vec::new());
    visit_locks(&mut models);
    visit_barriers(&mut models);
    let trials = on_all_cpus(&models.0, |(test, model)| {
        let (holds, text) = run(test, model, None).expect("the model itself is checked in time");
        assert!(holds, "{model}: {text}");
        let uses = text.lines().filter_map(|line| line.strip_prefix(USE)?.split_once(' '));
        let trials =
            uses.flat_map(|(place, ordering)| weaker(ordering).iter().map(move |weaker| (place, ordering, *weaker)));
        let trials: Vec<_> =
            trials.map(|(place, ordering, weaker)| (place.to_owned(), ordering.to_owned(), weaker)).collect();
        assert!(!trials.is_empty(), "{model} uses no ordering");
        trials.into_iter().map(|trial| (*test, model.as_str(), trial)).collect::<Vec<_>>()
    })
    .concat();
    println!("| model | ordering | weakened to | what the model says |\n|---|---|---|---|");
    let survivors = on_all_cpus(&trials, |(test, model, (place, ordering, weaker))| {
        let said = match run(test, model, Some(&format!("{place}={weaker}"))) {
            Some((false, text)) => finding(&text),
            Some((true, _)) => "**holds**".to_owned(),
            None => "**holds for too long**".to_owned(),
        };
        println!("| {model} | `{place}` {ordering} | {weaker} | {said} |");
        said.starts_with("**").then(|| format!("{model} with {weaker} at {place}"))
    });
    let survivors: Vec<String> = survivors.into_iter().flatten().collect();
    println!("{} trials, {} without a failure", trials.len(), survivors.len());
    assert!(trials.len() > 30 && survivors.is_empty(), "an ordering that no model needs: {survivors:?}");
}
