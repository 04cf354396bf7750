//! How far runs of this machine were from each other: a small file in the user's state folder, which each finished run extends.
//!
//! The processes of a run share its minute. What changes more slowly (other guests, the place of a virtual CPU, the memory that
//! the system has left) moves them all, and they agree too well. Earlier runs show by how much: for each case, the variance of
//! its figure over the runs, less what its class has in common, relative to the variance that the processes predict. Over the
//! cases of a class these ratios follow a scaled F distribution, whose scale and second degrees of freedom are estimated as
//! in Smyth 2004 ([`Variance::prior_of`]). They are the prior of each case, which its own variance over the runs moderates: what
//! enters the kernel differs more from run to run than what does not.
//!
//! The file has a line for each case and run: `ended,case_id,ns,ns_own,cycles,cycles_own`, where `own` is the standard deviation
//! of the logarithm as the processes of that run predict it. The runs are in the order in which they ended, whatever their clocks said.

use std::collections::BTreeMap;

use csv::{ReaderBuilder, StringRecord};
use serde::{Deserialize, Serialize};

use crate::run::files::lines;
use crate::run::fingerprint::{Chosen, figure_of};
use crate::stats::{LEAST_CHANGE, Variance, mean, median, variance};
use crate::units::{rounded, significant};
use crate::{CaseId, Catalogue, Class, Cycles, Nanoseconds, Row};

/// The number of latest runs of a case that count.
const MOST_RUNS: usize = 12;

/// The fewest cases that tell what a run has in common with another from what each case has of its own.
const FEWEST_CASES: usize = 8;

const COLUMNS: [&str; 6] = ["ended", "case_id", "ns", "ns_own", "cycles", "cycles_own"];

/// How far runs of a machine were from each other in the cases of a class and a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// The variance between runs divided by the variance that the processes of a run predict.
    pub factor: f64,
    /// The degrees of freedom with which this factor is a prior for the variance of a single case.
    pub degrees: f64,
    /// The variance, in one run, of the logarithm of what all cases have in common.
    pub shared: f64,
    /// By case, the variance of the rest of the logarithm between runs, and its degrees of freedom.
    pub cases: BTreeMap<String, [f64; 2]>,
}

impl Ratio {
    /// The variance of a case, given the variance that the processes predict.
    pub fn of(&self, case: &CaseId, predicted: f64) -> Variance {
        let prior = Variance { value: self.factor * predicted, degrees: self.degrees };
        let seen = self.cases.get(&case.0).map(|[value, degrees]| Variance { value: *value, degrees: *degrees });
        seen.map_or(prior, |seen| seen.moderated(prior))
    }
}

/// How far runs of a machine were from each other in the cases of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BetweenRuns {
    /// The class.
    pub class: Class,
    /// The runs in one state of the machine, the last one among them.
    pub runs: usize,
    /// In nanoseconds.
    pub ns: Ratio,
    /// In cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Ratio>,
}

/// The figure of a case in one run and one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figure {
    log: f64,
    /// The variance of the logarithm, as the processes predict it.
    own: f64,
}

/// A case in one run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figures {
    ns: Figure,
    cycles: Option<Figure>,
}

/// The latest runs of a machine, the last one at the end, each with the time when it ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History(Vec<(String, BTreeMap<CaseId, Figures>)>);

impl Figures {
    fn of(row: &Row) -> Option<Self> {
        let between = row.run_to_run?;
        let figure = |cost: f64, own: Variance| {
            Some(Figure { log: cost.ln(), own: own.value }).filter(|figure| figure.log.is_finite() && figure.own > 0.0)
        };
        let cycles = row.cycles.map(Cycles::value).zip(between.cycles);
        Some(Self {
            ns: figure(row.ns.map(Nanoseconds::value)?, between.ns.own)?,
            cycles: cycles.and_then(|(cost, parts)| figure(cost, parts.own)),
        })
    }

    fn from_cells(cells: &StringRecord) -> Option<Self> {
        let number = |at: usize| cells.get(at)?.parse::<f64>().ok().filter(|number| *number > 0.0);
        let figure = |at| Some(Figure { log: number(at)?.ln(), own: number(at + 1)?.powi(2) });
        Some(Self { ns: figure(2)?, cycles: figure(4) })
    }

    fn cells(&self) -> [String; 4] {
        let numbers = |figure: Figure| [figure.log.exp(), figure.own.sqrt()].map(significant);
        let ([ns, ns_own], [cycles, cycles_own]) = (numbers(self.ns), self.cycles.map(numbers).unwrap_or_default());
        [ns, ns_own, cycles, cycles_own]
    }
}

impl History {
    /// Reads a file. A line that another version wrote is skipped.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut history = Self::default();
        for cells in ReaderBuilder::new().flexible(true).from_reader(bytes).records().map_while(Result::ok) {
            let Some(figures) = Figures::from_cells(&cells) else { continue };
            if history.0.last().is_none_or(|(ended, _)| *ended != cells[0]) {
                history.0.push((cells[0].to_owned(), BTreeMap::new()));
            }
            let (case, last) = (CaseId(cells[1].to_owned()), history.0.last_mut());
            last.and_then(|(_, cases)| cases.insert(case, figures));
        }
        history
    }

    /// The content of the file.
    ///
    /// # Errors
    /// None, as it goes to memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>, csv::Error> {
        let of_run = |(ended, cases): &(String, BTreeMap<CaseId, Figures>)| {
            let line = |(case, figures): (&CaseId, &Figures)| {
                let named = [ended.clone(), case.0.clone()].into_iter();
                named.chain(figures.cells()).collect::<StringRecord>()
            };
            cases.iter().map(line).collect::<Vec<_>>()
        };
        lines(std::iter::once(StringRecord::from(&COLUMNS[..])).chain(self.0.iter().flat_map(of_run)))
    }

    /// Whether it has no run.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a run, whose rows have what its processes predict. Only the latest runs of each case are kept.
    pub fn add(&mut self, ended: &str, rows: &[Row]) {
        let known: BTreeMap<CaseId, Figures> =
            rows.iter().filter_map(|row| Some((row.case.id(), Figures::of(row)?))).collect();
        let added = (!known.is_empty()).then(|| (ended.to_owned(), known));
        self.extend(Self(added.into_iter().collect()));
    }

    /// Adds the runs of another part of the history, which ended after these.
    pub fn extend(&mut self, later: Self) {
        self.0.extend(later.0);
        // Runs of a few cases do not take away what is known of the others.
        let mut known: BTreeMap<CaseId, usize> = BTreeMap::new();
        for (_, cases) in self.0.iter_mut().rev() {
            cases.retain(|case, _| {
                let runs = known.entry(case.clone()).or_default();
                *runs += 1;
                *runs <= MOST_RUNS
            });
        }
        self.0.retain(|(_, cases)| !cases.is_empty());
    }

    /// How far earlier runs were from these rows and from each other, by class. A class without an earlier run in the same
    /// state is left out.
    pub fn between_runs(&self, rows: &[Row], catalogue: &Catalogue) -> Vec<BetweenRuns> {
        let chosen = Chosen::of(&rows.iter().filter(|row| row.run_to_run.is_some()).collect::<Vec<_>>(), catalogue);
        let mut classes: BTreeMap<Class, BTreeMap<CaseId, Figures>> = BTreeMap::new();
        for row in rows {
            if let (Some(between), Some(figures)) = (row.run_to_run, Figures::of(row)) {
                classes.entry(between.class).or_default().insert(row.case.id(), figures);
            }
        }
        let of_class = |(class, own): (Class, BTreeMap<CaseId, Figures>)| {
            let states = self.0.iter().map(|(_, cases)| cases).filter(|run| {
                if matches!(class, Class::Lines | Class::Sleeping) && is_elsewhere(&chosen, run) {
                    return false;
                }
                let [ns, cycles] = [IN_NS, IN_CYCLES].map(|figure| shift(&own, run, figure));
                ns.is_some_and(|ns| ns.abs().min(cycles.map_or(f64::INFINITY, f64::abs)) < LEAST_CHANGE)
            });
            let runs: Vec<&BTreeMap<CaseId, Figures>> = states.collect();
            let ns = ratio(&own, &runs, IN_NS)?;
            Some(BetweenRuns { class, runs: 1 + runs.len(), ns, cycles: ratio(&own, &runs, IN_CYCLES) })
        };
        classes.into_iter().filter_map(of_class).collect()
    }
}

type InUnit = fn(&Figures) -> Option<Figure>;

const IN_NS: InUnit = |figures| Some(figures.ns);
const IN_CYCLES: InUnit = |figures| figures.cycles;

/// Whether hand-offs differ in another run by more than the clock of the cores explains: then its threads were at other
/// places.
fn is_elsewhere(chosen: &Chosen<'_>, run: &BTreeMap<CaseId, Figures>) -> bool {
    let change = |in_cycles: bool, figure: InUnit| {
        let here = chosen.reading(|row, _| figure_of(row, in_cycles));
        let there = chosen.reading(|row, _| Some(figure(run.get(&row.case.id())?)?.log.exp()));
        here.handoffs_to(&there).map(|ratio| ratio.ln().abs())
    };
    let changes = [change(false, IN_NS), change(true, IN_CYCLES)].into_iter().flatten();
    changes.reduce(f64::min).is_some_and(|change| change > LEAST_CHANGE)
}

/// The shift that the cases have in common in another run, as a logarithm.
fn shift(own: &BTreeMap<CaseId, Figures>, run: &BTreeMap<CaseId, Figures>, figure: InUnit) -> Option<f64> {
    let log = |(case, of_own): (&CaseId, &Figures)| Some(figure(run.get(case)?)?.log - figure(of_own)?.log);
    let logs: Vec<f64> = own.iter().filter_map(log).collect();
    median(&logs).filter(|_| logs.len() >= FEWEST_CASES)
}

fn ratio(own: &BTreeMap<CaseId, Figures>, runs: &[&BTreeMap<CaseId, Figures>], figure: InUnit) -> Option<Ratio> {
    let shifts: Vec<(f64, &BTreeMap<CaseId, Figures>)> =
        runs.iter().filter_map(|run| Some((shift(own, run, figure)?, *run))).collect();
    let of_case = |(case, of_own): (&CaseId, &Figures)| {
        let here = figure(of_own)?;
        let there = shifts.iter().filter_map(|(shift, run)| Some((figure(run.get(case)?)?, shift)));
        let (mut logs, mut predicted) = (vec![here.log], vec![here.own]);
        for (there, shift) in there {
            logs.push(there.log - shift);
            predicted.push(there.own);
        }
        let degrees = logs.len() as f64 - 1.0;
        (degrees > 0.0).then(|| (case.0.clone(), mean(&predicted), Variance { value: variance(&logs), degrees }))
    };
    let found: Vec<(String, f64, Variance)> = own.iter().filter_map(of_case).collect();
    let relative = |(_, predicted, seen): &(String, f64, Variance)| Variance { value: seen.value / predicted, ..*seen };
    let prior = Variance::prior_of(&found.iter().map(relative).collect::<Vec<_>>())?;
    let shared: Vec<f64> = std::iter::once(0.0).chain(shifts.iter().map(|(shift, _)| *shift)).collect();
    let [factor, degrees, shared] = [prior.value, prior.degrees, variance(&shared)].map(rounded);
    let cases = found.into_iter().map(|(case, _, seen)| (case, [rounded(seen.value), seen.degrees]));
    Some(Ratio { factor, degrees, shared, cases: cases.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::case::{Case, Layout};
    use crate::model::verdict::Verdict;
    use crate::run::row::{Parts, RunToRun};

    /// Rows of one thread that cost `factor` times the usual; `moved` moves each row by its own amount.
    fn rows(factor: f64, moved: f64) -> Vec<Row> {
        let own = Variance { value: 1e-4, degrees: 6.0 };
        let parts = Parts { own, shared: own };
        (1..=12_u32)
            .map(|stride| {
                let layout = Some(Layout::Private { stride });
                let cost = factor * (moved * (f64::from(stride % 3) - 1.0)).exp();
                Row {
                    ns: Some(Nanoseconds(10.0 * cost)),
                    run_to_run: Some(RunToRun { class: Class::NothingShared, ns: parts, cycles: None }),
                    ..Row::unmeasured(Case { layout, ..Case::new("cpu.atomic.add") }, Verdict::Resolved)
                }
            })
            .collect()
    }

    #[test]
    fn runs_in_another_state_do_not_count_and_a_common_factor_is_apart() {
        let mut history = History::default();
        assert_eq!(history.between_runs(&rows(1.0, 0.0), &Catalogue::default()), [], "nothing is known");
        history.add("2026-01-01T00:00:00Z", &rows(1.5, 0.0));
        assert_eq!(history.between_runs(&rows(1.0, 0.0), &Catalogue::default()), [], "another state");
        history.add("2026-01-02T00:00:00Z", &rows(1.05, 0.0));
        history.add("2026-01-03T00:00:00Z", &rows(1.0, 0.0));
        let [ref found] = history.between_runs(&rows(1.0, 0.04), &Catalogue::default())[..] else {
            panic!("one class")
        };
        assert_eq!((found.runs, &found.cycles), (3, &None));
        // Of logarithms: 0.05 in one of three runs.
        assert!((found.ns.shared - 1.05_f64.ln().powi(2) / 3.0).abs() < 1e-6, "{found:?}");
        assert!(found.ns.factor > 1.0, "{found:?}");
    }

    #[test]
    fn a_file_has_the_latest_runs_and_other_lines_are_passed_over() {
        let mut history = History::default();
        (10..30).for_each(|day| history.add(&format!("2026-01-{day}T00:00:00Z"), &rows(1.0, 0.01)));
        history.add("2026-02-01T00:00:00Z", &[]);
        assert_eq!((history.0.len(), history.0[0].0.as_str()), (MOST_RUNS, "2026-01-18T00:00:00Z"));
        let mut bytes = history.to_bytes().unwrap();
        bytes.extend_from_slice(b"2026,broken,,\n2026,x,-1,0.1,,\n");
        let read = History::parse(&bytes);
        assert_eq!(read.0.len(), MOST_RUNS);
        assert_eq!(read.to_bytes().unwrap(), history.to_bytes().unwrap());
        assert_eq!(History::parse(b"\xff\xfe\n"), History::default());
    }

    #[test]
    fn runs_of_one_case_leave_what_is_known_of_the_others() {
        let (all, catalogue) = (rows(1.0, 0.04), Catalogue::default());
        let mut history = History::default();
        for day in 1..=3 {
            history.add(&format!("2026-01-0{day}T00:00:00Z"), &rows(1.0, 0.01 * f64::from(day)));
        }
        let before = history.between_runs(&all, &catalogue);
        for day in 10..10 + 2 * MOST_RUNS {
            history.add(&format!("2026-02-{day}T00:00:00Z"), &all[..1]);
        }
        assert_eq!(before[0].runs, 4);
        assert_eq!(history.between_runs(&all, &catalogue)[0].runs, 4, "so many as before");
        let first = all[0].case.id();
        assert_eq!(history.0.iter().filter(|(_, cases)| cases.contains_key(&first)).count(), MOST_RUNS);
    }

    #[test]
    fn runs_whose_clock_was_ahead_do_not_keep_later_ones_out() {
        let mut history = History::default();
        (10..10 + MOST_RUNS).for_each(|day| history.add(&format!("2099-01-{day}T00:00:00Z"), &rows(1.0, 0.01)));
        let mut added = History::default();
        added.add("2026-01-01T00:00:00Z", &rows(1.0, 0.01));
        history.extend(added);
        let years = |history: &History| history.0.iter().filter(|(ended, _)| ended.starts_with("2026")).count();
        assert_eq!((history.0.len(), years(&history)), (MOST_RUNS, 1));
        assert_eq!(years(&History::parse(&history.to_bytes().unwrap())), 1);
    }
}
