//! Benches of a Rust program's own synchronization, for `cargo bench`:
//!
//! ```no_run
//! use std::{hint::spin_loop, process::ExitCode, sync::Mutex, sync::atomic::{AtomicBool, Ordering::{Acquire, Release}}};
//! use syncscope_cpu::bench;
//!
//! fn main() -> ExitCode {
//!     let spin = bench::lock("spin", |_| AtomicBool::new(false), |lock, me| {
//!         while lock.swap(true, Acquire) { spin_loop() }
//!         me.count();
//!         lock.store(false, Release);
//!     });
//!     spin.against(bench::lock("std", |_| Mutex::new(()), |lock, me| { let _held = lock.lock(); me.count(); })).run()
//! }
//! ```
//!
//! In `Cargo.toml`: `[[bench]]`, `name = "locks"`, `harness = false`. Then `cargo bench --bench locks -- --threads 1,2`. Costs
//! are measured as `syncscope measure` does for the same code in C: the difference of two loops, in blocks that take turns, with
//! new memory in each. The interval is of this process; `measure` adds other processes and other places of the code in memory,
//! which move a short operation by some percent. `measure` also ends code that waits for ever. Here such code runs in your
//! program: it is `TimedOut` after some seconds and its threads keep their CPUs, so the bench ends.
//!
//! Pass what your code computes to [`std::hint::black_box`]; the compiler removes what nobody uses, and the verdict is then `Elided`.
//!
//! Exit codes: 0 done; 1 no figure, or `--fail-if-slower` could not compare; 2 wrong usage; 3 a check failed, or the first function is
//! slower than `--fail-if-slower` allows.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fmt, io};

use syncscope_core::stats::{Clustered, Interval, Level, layouts, median};
use syncscope_core::stopping::PrecisionRule;
use syncscope_core::units::{plural, significant_digits};
use syncscope_core::{
    BlockCount, Cancel, Case, Check, Engine, Laboratory, Measurement, Placement, Refusal, Settings, Verdict,
};

use crate::CpuLaboratory;
use crate::primitives::Workload;
use crate::primitives::rust::{self, Kind};

pub use crate::primitives::rust::{Code, Me};

/// Functions that are measured in turn.
pub struct Bench(Vec<Subject>);

struct Subject {
    name: String,
    make: Box<dyn Fn(u32) -> Option<Workload>>,
}

/// Benches any operation: `code` executes it once on the state that `make` creates for a number of threads.
pub fn operation<S: Send + Sync + 'static>(name: &str, make: impl Fn(u32) -> S + 'static, code: impl Code<S>) -> Bench {
    Bench::of(Kind::Operation, name, make, code)
}

/// Benches a lock: `code` takes it, calls [`Me::count`] once and releases it. The check: no addition is lost.
pub fn lock<S: Send + Sync + 'static>(name: &str, make: impl Fn(u32) -> S + 'static, code: impl Code<S>) -> Bench {
    Bench::of(Kind::Lock, name, make, code)
}

/// Benches a barrier: `code` waits for all threads. The check: no thread leaves before the last has arrived.
pub fn barrier<S: Send + Sync + 'static>(name: &str, make: impl Fn(u32) -> S + 'static, code: impl Code<S>) -> Bench {
    Bench::of(Kind::Barrier, name, make, code)
}

/// Benches a hand-off between two threads: `code` waits until the token is at [`Me::thread`], calls [`Me::count`] once and passes
/// it to the other thread. Thread 0 has the token at first.
pub fn handoff<S: Send + Sync + 'static>(name: &str, make: impl Fn(u32) -> S + 'static, code: impl Code<S>) -> Bench {
    Bench::of(Kind::Handoff, name, make, code)
}

/// The measurements with one number of threads.
#[derive(Debug)]
pub struct Found {
    /// Threads of the team.
    pub threads: u32,
    /// Name and measurement of each function, in the order of the bench.
    pub costs: Vec<(String, Measurement)>,
    /// The first function's cost divided by that of each later function, with a 95 % interval; `None` where either has no cost or
    /// there are too few blocks. Empty if the first function cannot run with so many threads.
    pub ratios: Vec<Option<(f64, Interval)>>,
}

/// Blocks in which a function is measured, at least and at most.
const BLOCKS: BlockCount = BlockCount { min: 12, max: 400 };
const PAIRS_OF_A_BLOCK: u64 = 8;

impl Bench {
    fn of<S: Send + Sync + 'static>(
        kind: Kind,
        name: &str,
        make: impl Fn(u32) -> S + 'static,
        code: impl Code<S>,
    ) -> Self {
        let make = Box::new(move |threads| rust::workload(kind, &make, code, threads));
        Self(vec![Subject { name: name.to_owned(), make }])
    }

    /// Adds the functions of another bench; the first function is compared with each of them.
    #[must_use]
    pub fn against(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Measures as the command line asks, prints the costs and returns the exit code.
    pub fn run(self) -> ExitCode {
        let words: Vec<String> = env::args().skip(1).collect();
        let asks = |options: &[&str]| words.iter().any(|word| options.contains(&word.as_str()));
        if asks(&["--help", "-h"]) {
            show(USAGE);
            return ExitCode::SUCCESS;
        }
        // `cargo nextest` asks each target for its tests: this one has none.
        if asks(&["--list"]) {
            return ExitCode::SUCCESS;
        }
        ExitCode::from(match Arguments::of(words.into_iter()) {
            Ok(Arguments { slower: Some(_), .. }) if self.0.len() < 2 => {
                complain("--fail-if-slower needs a second function to compare with: `against`", 2)
            }
            Ok(arguments) => self.concluded(&arguments),
            Err(wrong) => complain(&format!("{wrong}; {USAGE}"), 2),
        })
    }

    fn concluded(&self, Arguments { threads, time, slower }: &Arguments) -> u8 {
        let (mut code, mut has_ratios) = (0, false);
        let measured = self.measure_each(threads, *time, |found| {
            show(&found.to_string());
            code = code.max(found.exit_code(*slower));
            has_ratios |= !found.ratios.is_empty();
        });
        match measured {
            Err(reason) => code.max(complain(&reason, 1)),
            Ok(()) if slower.is_some() && !has_ratios => {
                code.max(complain("--fail-if-slower had nothing to compare", 1))
            }
            Ok(()) => code,
        }
    }

    /// Measures each function for about `time` at each number of threads that it can run with.
    ///
    /// # Errors
    /// When the machine cannot be measured, or no function runs with so many threads.
    pub fn measure(&self, teams: &[u32], time: Duration) -> Result<Vec<Found>, String> {
        let mut all = Vec::new();
        self.measure_each(teams, time, |found| all.push(found))?;
        Ok(all)
    }

    /// Like [`Self::measure`], but hands over the result of each number of threads at once: a later number may not be measurable.
    fn measure_each(&self, teams: &[u32], time: Duration, mut on_found: impl FnMut(Found)) -> Result<(), String> {
        let mut laboratory = CpuLaboratory::open()?;
        laboratory.prepare(&[Case::default()], &mut |_, _| {});
        let mut is_empty = true;
        for threads in teams {
            let found = self.of_team(&mut laboratory, *threads, time)?;
            if !found.costs.is_empty() {
                is_empty = false;
                on_found(found);
            }
        }
        if is_empty { Err("a hand-off has two threads: --threads 2".to_owned()) } else { Ok(()) }
    }

    fn of_team(&self, laboratory: &mut CpuLaboratory, threads: u32, time: Duration) -> Result<Found, String> {
        let all = u64::from(BLOCKS.max) * PAIRS_OF_A_BLOCK;
        let rule = PrecisionRule { precision: 0.005, min_pairs: PAIRS_OF_A_BLOCK, max_pairs: all, max_time: time };
        let engine = Engine::new(Settings { blocks: BLOCKS, ..Settings::with_rule(rule) }, Cancel::new());
        let mut costs: Vec<(String, Measurement)> = Vec::new();
        let end = Instant::now() + time * self.0.len() as u32;
        let (mut pass, mut has_first) = (0, false);
        'passes: while costs.is_empty() || (pass < BLOCKS.min || Instant::now() < end) && needs_more(&engine, &costs) {
            let mut earlier = costs.drain(..).map(Some).collect::<Vec<_>>().into_iter();
            for (at, Subject { name, make }) in self.0.iter().enumerate() {
                let Some(workload) = make(threads) else { continue };
                has_first |= at == 0;
                let failed = |what: String| format!("{name}, {}: {what}", plural(threads, "thread"));
                let experiment = laboratory.experiment_of(workload, &Placement::Close, threads);
                let mut experiment = match experiment {
                    Ok(experiment) => experiment,
                    // Threads of an earlier function never returned.
                    Err(Refusal::Lost(_)) if !costs.is_empty() => {
                        costs.extend(earlier.flatten());
                        break 'passes;
                    }
                    Err(refusal) => return Err(failed(refusal.to_string())),
                };
                let known = earlier.next().flatten().map(|(_, known)| known);
                let found = engine.measure_block(experiment.as_mut(), known, u64::from(pass) + 1);
                costs.push((name.clone(), found.map_err(|error| failed(error.to_string()))?));
            }
            pass += 1;
            if costs.is_empty() {
                break;
            }
        }
        for (_, found) in &mut costs {
            found.settle();
        }
        let others = costs.iter().skip(1).filter(|_| has_first);
        let ratios = others.map(|(_, other)| ratio(&costs[0].1, other)).collect();
        Ok(Found { threads, costs, ratios })
    }
}

fn needs_more(engine: &Engine, costs: &[(String, Measurement)]) -> bool {
    costs.iter().any(|(_, found)| engine.needs_another_block(found))
}

/// Whether the measurement has a cost, however rough. Code that the compiler removed, that failed or whose cost may be zero has
/// none.
fn has_cost(found: &Measurement) -> bool {
    found.verdict.has_cost() || matches!(found.verdict, Verdict::Noisy(_) | Verdict::NonAdditive(_))
}

/// The ratio of two costs, from the blocks that both have.
fn ratio(one: &Measurement, other: &Measurement) -> Option<(f64, Interval)> {
    if !has_cost(one) || !has_cost(other) {
        return None;
    }
    let of_blocks = |found: &Measurement| -> BTreeMap<u32, f64> {
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for pair in found.observations.iter().filter(|pair| pair.excluded.is_none()) {
            blocks.entry(pair.block).or_default().push(pair.ns);
        }
        blocks.into_iter().filter_map(|(block, costs)| Some((block, median(&costs)?))).collect()
    };
    let ratios = layouts::of_passes(&of_blocks(one), &of_blocks(other));
    let logarithms: Vec<(u32, f64)> = ratios.into_iter().map(|(block, ratio)| (block, ratio.ln())).collect();
    let found = Clustered::of(&logarithms)?;
    let Interval { low, high } = found.interval(Level::P95)?;
    Some((found.median()?.exp(), Interval { low: low.exp(), high: high.exp() }))
}

impl Found {
    /// 3 if a check failed or the first function is slower than allowed; 1 if a figure that was asked for is missing.
    fn exit_code(&self, slower: Option<f64>) -> u8 {
        let is_wrong = |(_, found): &(String, Measurement)| found.verdict.is_failure();
        let is_slower = |ratio: &Option<(f64, Interval)>| {
            slower.zip(*ratio).is_some_and(|(most, (_, Interval { low, .. }))| low > 1.0 + most)
        };
        let is_open = slower.is_some() && self.ratios.iter().any(Option::is_none);
        let has_none = !self.costs.is_empty() && self.costs.iter().all(|(_, found)| found.estimate.is_none());
        if self.costs.iter().any(is_wrong) || self.ratios.iter().any(is_slower) {
            return 3;
        }
        u8::from(is_open || has_none)
    }
}

impl fmt::Display for Found {
    /// `spin, 2 threads: 46.1 ns (44.9 to 47.2), Resolved`, then how the first compares with the others.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let team = plural(self.threads, "thread");
        for (at, (name, found)) in self.costs.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            write!(out, "{line}{name}, {team}: {}, {}", cost(found), found.verdict.name())?;
            let reason = match &found.check {
                Check::Failed(why) => format!("check failed: {why}"),
                _ => found.verdict.reason().to_owned(),
            };
            for text in [Some(&reason), found.remark.as_ref()].into_iter().flatten().filter(|text| !text.is_empty()) {
                write!(out, ", {text}")?;
            }
        }
        let Some(((first, _), others)) = self.costs.split_first() else { return Ok(()) };
        for ((name, _), ratio) in others.iter().zip(&self.ratios) {
            match ratio {
                Some((ratio, Interval { low, high })) => {
                    write!(out, "\n{first} against {name}, {team}: {ratio:.3} times the cost ({low:.3} to {high:.3})")?;
                }
                None => write!(out, "\n{first} against {name}, {team}: not comparable")?,
            }
        }
        Ok(())
    }
}

/// `46.1 ns (44.9 to 47.2)`.
fn cost(found: &Measurement) -> String {
    let Some(estimate) = found.estimate.as_ref().filter(|_| has_cost(found)) else { return "no figure".to_owned() };
    let digits = significant_digits;
    let within = estimate.ns_within.map(|ends| format!(" ({} to {})", digits(ends.low), digits(ends.high)));
    format!("{} ns{}", digits(estimate.ns.value()), within.unwrap_or_default())
}

fn show(text: &str) {
    // A reader that closed the pipe wants no text.
    let _ = writeln!(io::stdout(), "{text}");
}

/// Prints what is wrong and returns `code`, the exit code of the bench.
fn complain(text: &str, code: u8) -> u8 {
    let _ = writeln!(io::stderr(), "error: {text}");
    code
}

const USAGE: &str =
    "the options are --threads 1,2, --time SECONDS (of each function and number of threads) and --fail-if-slower 5%";

const OPTIONS: [&str; 3] = ["--threads", "--time", "--fail-if-slower"];

/// The command line of a bench.
#[derive(Debug, PartialEq)]
struct Arguments {
    threads: Vec<u32>,
    time: Duration,
    slower: Option<f64>,
}

impl Arguments {
    fn of(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut found = Self { threads: vec![1, 2], time: Duration::from_secs(2), slower: None };
        while let Some(word) = words.next() {
            // Cargo adds it when it runs a bench.
            if word == "--bench" {
                continue;
            }
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option.to_owned(), Some(value.to_owned())),
                None => (word.clone(), None),
            };
            if !OPTIONS.contains(&option.as_str()) {
                return Err(format!("{option} is not an option"));
            }
            let value = value.or_else(|| words.next());
            let value = value.ok_or_else(|| format!("{option} has no value"))?;
            let wrong = || format!("{option} {value} is not understood");
            let number = |text: &str, unit: char, most: f64| {
                let number: Option<f64> = text.strip_suffix(unit).unwrap_or(text).parse().ok();
                number.filter(|number| *number >= 0.0 && *number <= most).ok_or_else(wrong)
            };
            match option.as_str() {
                "--threads" => {
                    let threads: Option<Vec<u32>> = value.split(',').map(|word| word.parse().ok()).collect();
                    found.threads = threads.filter(|all| !all.contains(&0)).ok_or_else(wrong)?;
                }
                "--time" => found.time = Duration::from_secs_f64(number(&value, 's', 86_400.0)?),
                // As elsewhere: 0.05 may be a share or a percentage.
                _ if value.starts_with("0.") && !value.ends_with('%') => {
                    return Err(format!("{option} {value} may be {value} % or a share: write 5%"));
                }
                _ => found.slower = Some(number(&value, '%', 1000.0)? / 100.0),
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Observation;

    fn arguments(text: &str) -> Result<Arguments, String> {
        Arguments::of(text.split(' ').map(str::to_owned))
    }

    #[test]
    fn words_that_no_option_has_are_refused() {
        let found = arguments("--bench --threads 1,4 --time=0.5s --fail-if-slower 5%").unwrap();
        assert_eq!(found, Arguments { threads: vec![1, 4], time: Duration::from_millis(500), slower: Some(0.05) });
        for wrong in [
            "--threads 0",
            "--threads",
            "--time soon",
            "--time -1",
            "--time 1ss",
            "--fail-if-slower many",
            "--fail-if-slower 0.05",
            "--quick 1",
            "spin",
        ] {
            assert!(arguments(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_hand_off_has_no_third_thread() {
        let calls = rust::workload(Kind::Handoff, |_| (), |(), _: &Me<'_>| (), 3);
        assert!(calls.is_none());
    }

    #[test]
    fn only_what_has_a_cost_is_compared_and_remarks_are_said() {
        let blocks = |verdict| {
            let pair = |block| Observation { block, ns: 2.0 + f64::from(block) / 100.0, ..Observation::default() };
            let mut found = Measurement::default();
            (found.verdict, found.observations) = (verdict, (1..=40).map(pair).collect());
            found
        };
        let resolved = blocks(Verdict::Resolved);
        let of = |verdict: fn(String) -> Verdict| blocks(verdict("why".to_owned()));
        assert!(ratio(&of(Verdict::Noisy), &resolved).is_some_and(|(ratio, _)| (ratio - 1.0).abs() < 1e-9));
        for verdict in [Verdict::Elided, Verdict::BelowResolution, Verdict::Failed, Verdict::Interfered] {
            assert!(ratio(&of(verdict), &resolved).is_none() && ratio(&resolved, &of(verdict)).is_none());
        }
        let mut remarked = resolved;
        remarked.remark = Some("4 threads on 2 CPUs".to_owned());
        let costs = vec![("spin".to_owned(), remarked), ("std".to_owned(), of(Verdict::Elided))];
        let said = Found { threads: 4, costs, ratios: vec![None] }.to_string();
        let lines = [
            "spin, 4 threads: no figure, Resolved, 4 threads on 2 CPUs",
            "std, 4 threads: no figure, Elided, why",
            "spin against std, 4 threads: not comparable",
        ];
        assert_eq!(said.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_slower_first_function_fails_and_an_open_ratio_passes_for_nothing() {
        let of = |low: f64| Found {
            threads: 2,
            costs: Vec::new(),
            ratios: vec![Some((low + 0.05, Interval { low, high: low + 0.1 }))],
        };
        assert_eq!([of(1.06), of(1.04)].map(|found| found.exit_code(Some(0.05))), [3, 0]);
        assert_eq!(of(1.06).exit_code(None), 0);
        let open = Found { ratios: vec![None], ..of(1.0) };
        assert_eq!((open.exit_code(Some(0.05)), open.exit_code(None)), (1, 0));
    }
}
