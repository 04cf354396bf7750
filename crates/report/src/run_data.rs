//! A run as read from its directory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use syncscope_core::detail::{Details, value_of};
use syncscope_core::run::fingerprint::Fingerprint;
use syncscope_core::run::{Status, another_run, guests, seconds_between};
use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_core::{Case, Catalogue, Detail, Nanoseconds, Row, Run, Verdict};

use crate::naming;
use syncscope_core::sets::sets;

/// The rows whose pairs are timed samples. The uses of a trial count as pairs, but none of them is timed.
fn timed<'a>(run: &Run, rows: &'a [Row]) -> impl Iterator<Item = &'a Row> {
    let of_trial = run.own.iter().filter(|own| own.trial_ms.is_some());
    let trials: BTreeSet<String> = of_trial.map(|own| own.id.clone()).collect();
    rows.iter().filter(move |row| !trials.contains(&row.case.primitive))
}

/// One run: its description, rows and details.
#[derive(Debug, Clone)]
pub struct RunData {
    /// The name of its directory.
    pub name: String,
    /// The content of `run.json`.
    pub run: Run,
    /// The rows of the measured cases, in the order of `measurements.csv`.
    pub rows: Vec<Row>,
    /// Further numbers of the cases, such as percentiles.
    pub details: Details,
    /// What is wrong with its files.
    pub damage: Damage,
    /// What is known about the primitives. The command joins the catalogues of the hardware crates, on which this crate does
    /// not depend.
    pub catalogue: Arc<Catalogue>,
}

/// What is wrong with the files of a run that can be read nevertheless, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Damage {
    /// Set if the run is done but rows are missing from its table: `damaged: 191 of 460 cases are there`.
    pub lost_rows: Option<String>,
    /// Everything else.
    pub others: Vec<String>,
}

impl Damage {
    /// All damage, with what to do about it.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let lost = self.lost_rows.iter().map(|text| {
            format!(
                "{text}; restore its measurements.csv from a copy, or measure the rest with `syncscope run --resume`"
            )
        });
        lost.chain(self.others.iter().cloned())
    }
}

impl RunData {
    /// Reads the run in the directory `path`. If the run is unfinished or was interrupted, it reads the complete lines.
    ///
    /// # Errors
    /// If the directory holds no run, or a file of it cannot be read or parsed. The error names the file.
    pub fn load(path: &Path, catalogue: Arc<Catalogue>) -> Result<Self, RunDirectoryError> {
        let directory = RunDirectory::open(path)?;
        let mut run = directory.read_run()?;
        // The directory of an experiment has no measurements.
        let has_rows = run.experiment().is_none() || directory.has_measurements();
        let (rows, lost) = if has_rows { directory.read_numbered_rows()? } else { Default::default() };
        let derived = |(line, row): (u64, Row)| (line, row.with_facts_of(&catalogue));
        let (lines, mut rows): (Vec<u64>, Vec<Row>) = rows.into_iter().map(derived).unzip();
        // A run whose details are damaged still has its rows.
        let details = if has_rows { directory.details_and_damage(&rows) } else { Ok(Default::default()) };
        let (details, of_details) = match details {
            Ok((details, damaged)) => (details, damaged.warning("details.csv")),
            Err(error) => (HashMap::new(), Some(format!("damaged: {error}; its details are left out"))),
        };
        // A bundle keeps no sessions or processes: its intervals for another run were derived where it was made.
        let is_bundle = run.status == Status::Done && run.sessions.is_empty();
        let usual = if is_bundle { &[] } else { guests::usual(&run.machine) };
        run.shared = another_run::derive(&mut rows, &details, &catalogue, &run.between_runs, usual);
        run.fingerprint = Fingerprint::of(&rows, &details, &catalogue);
        let lost = [lost.warning("measurements.csv"), lost.note("measurements.csv")];
        let others = [of_details, contradictions(&lines, &rows), lost_details(&run, &rows, &details)];
        let mut others: Vec<String> = lost.into_iter().chain(others).flatten().collect();
        if run.status != Status::Running && run.repeat.is_none() {
            others.extend(directory.cut_off(timed(&run, &rows)));
        }
        // A verdict that is judged anew may no longer contradict what the file says.
        let read = |row: Row| row.without_contradiction().judged().at_least_a_cycle(&run.machine);
        let judged = |row: Row| read(row).without_contradiction();
        let rows: Vec<Row> = rows.into_iter().map(judged).collect();
        Ok(Self {
            name: directory_name(path),
            damage: Damage { lost_rows: run.damage(&rows).filter(|_| has_rows), others },
            rows,
            details,
            run,
            catalogue,
        })
    }

    /// The duration of the run in seconds; for a resumed run, the time it spent measuring. `None` if `run.json` holds no
    /// end.
    pub fn seconds(&self) -> Option<f64> {
        let ended = self.run.ended.as_deref()?;
        match self.run.sessions.as_slice() {
            [] => seconds_between(&self.run.started, ended),
            sessions => Some(sessions.iter().map(|session| session.seconds).sum()),
        }
    }

    /// The same run with its rows in the order of the catalogue, and the rows of one primitive in the order of their
    /// parameters. Cases are measured in a random order, which differs from run to run.
    pub fn in_order(&self) -> Self {
        let mut data = self.clone();
        data.rows.sort_by_cached_key(|row| {
            let (domain, family) = row.case.domain_and_family();
            // Primitives of older catalogues follow by name, which is part of the case.
            (naming::family_order(domain, family), self.catalogue.position(&row.case.primitive), row.case.clone())
        });
        data
    }

    /// The processors and devices that the run measured. Without rows of a GPU, its figures have nothing to do with the
    /// devices.
    pub fn measured_parts(&self) -> Vec<String> {
        let mut parts = vec![naming::processor(&self.run.machine.cpu)];
        parts.extend(naming::gpus(&self.run.machine.gpus).into_iter().filter(|_| self.has_devices()));
        parts
    }

    /// Whether the run is about the machine's devices, too. An experiment without rows is about the whole machine.
    pub(crate) fn has_devices(&self) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| row.case.domain_and_family().0 != "cpu")
    }

    /// The case of the row with this index.
    pub(crate) fn case(&self, index: usize) -> &Case {
        &self.rows[index].case
    }

    /// The indices of the rows for which `fits` returns true.
    pub(crate) fn rows_where<'a>(&'a self, fits: impl Fn(&Row) -> bool + 'a) -> impl Iterator<Item = usize> + 'a {
        (0..self.rows.len()).filter(move |index| fits(&self.rows[*index]))
    }

    /// Groups the rows that have a key by the key.
    pub(crate) fn sets<K: Ord>(&self, key: impl Fn(&Row) -> Option<K>) -> BTreeMap<K, Vec<usize>> {
        sets(self.rows.iter().enumerate().filter_map(|(index, row)| Some((key(row)?, index))))
    }

    /// Sorts these rows by cost, with those without a cost last.
    pub(crate) fn by_cost(&self, mut rows: Vec<usize>) -> Vec<usize> {
        let cost = |index: &usize| self.rows[*index].ns.map_or(f64::INFINITY, Nanoseconds::value);
        rows.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        rows
    }

    /// The row with the median cost: one pair of CPUs represents its class.
    pub(crate) fn median(&self, rows: Vec<usize>) -> Option<usize> {
        let rows = self.by_cost(rows);
        rows.get(rows.len().saturating_sub(1) / 2).copied()
    }

    /// The damage to the files, and the warnings of the run.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.damage.warnings().chain(self.run.all_warnings())
    }

    /// A number of a case that no column has, such as a percentile; numbers of single threads are left out.
    pub(crate) fn detail(&self, case: &Case, name: &str) -> Option<f64> {
        value_of(&self.details, case, name, None)
    }

    /// Whether the run ended before it measured all planned cases of a primitive, and `--resume` would measure more.
    pub(crate) fn has_more_planned(&self, primitive: &str) -> bool {
        let planned = self.run.planned_by_primitive.get(primitive).copied().unwrap_or_default();
        let measured = || self.rows.iter().filter(|row| row.case.primitive == primitive).count() as u64;
        planned > 0 && self.run.status != Status::Done && measured() < planned
    }

    /// The number of rows of cases for which the run planned more measurement blocks.
    pub fn provisional(&self) -> usize {
        self.rows.iter().filter(|row| row.provisional).count()
    }

    /// The number of rows with each verdict, in the order of [`Verdict::NAMES`]. Verdicts without a row are left out.
    pub fn verdicts(&self) -> Vec<(&'static str, usize)> {
        let count = |name| self.rows.iter().filter(|row| row.verdict.name() == name).count();
        Verdict::NAMES.into_iter().map(|name| (name, count(name))).filter(|(_, count)| *count > 0).collect()
    }
}

/// A distinct label for each run: its machine, and where machines are equal also the folder, the start and the number of the
/// run, until the labels differ.
pub(crate) fn labels(runs: &[RunData]) -> Vec<String> {
    let mut labels: Vec<String> = runs.iter().map(|data| naming::machine(&data.run.machine)).collect();
    let additions: [fn(usize, &RunData) -> String; 3] =
        [|_, data| data.name.clone(), |_, data| data.run.started.clone(), |index, _| format!("#{}", index + 1)];
    for addition in additions {
        let before = labels.clone();
        for (index, label) in labels.iter_mut().enumerate() {
            if before.iter().filter(|other| **other == before[index]).count() > 1 {
                *label = format!("{} · {}", before[index], addition(index, &runs[index]));
            }
        }
    }
    labels
}

/// The domains and families of the rows of these runs, in the order of reports.
pub(crate) fn families(runs: &[RunData]) -> Vec<(&str, &str)> {
    let cases = runs.iter().flat_map(|data| &data.rows).map(|row| row.case.domain_and_family());
    let mut families: Vec<(&str, &str)> = cases.collect::<BTreeSet<_>>().into_iter().collect();
    families.sort_by_key(|(domain, family)| naming::family_order(domain, family));
    families
}

/// From this many pairs on, each process of a run has some.
const ENOUGH_PAIRS: u64 = 24;

/// How many cases of a finished run lack the figures of its processes, from which their intervals for another run are made.
/// A few cases were measured in only one process, and a run with too few processes lacks the figures for all of them; where
/// other programs took most pairs, some processes have none.
fn lost_details(run: &Run, rows: &[Row], details: &Details) -> Option<String> {
    let fresh: usize = run.sessions.iter().map(|session| session.processes.len()).sum();
    let had_processes = fresh + 1 >= another_run::FEWEST_PROCESSES;
    let is_known = |detail: &Detail| detail.name == Detail::PROCESS_NS;
    let lacks = |row: &&&Row| !details.get(&row.case.id()).is_some_and(|of_case| of_case.iter().any(is_known));
    let has_enough = |row: &&Row| row.has_figure() && row.pairs >= Some(ENOUGH_PAIRS);
    let all: Vec<&Row> = rows.iter().filter(|row| has_enough(row) && row.case.is_on_cpus()).collect();
    let lacking = all.iter().filter(lacks).count();
    (run.status == Status::Done && run.repeat.is_none() && had_processes && 10 * lacking > all.len()).then(|| {
        format!(
            "damaged: details.csv lacks {lacking} of {} CPU cases, which changes the run-to-run intervals; restore \
             it from a copy",
            all.len()
        )
    })
}

/// Says how many rows contradict themselves, and names the first.
fn contradictions(lines: &[u64], rows: &[Row]) -> Option<String> {
    let mut found = lines.iter().zip(rows).filter_map(|(line, row)| Some((line, row, row.contradiction()?)));
    let (line, row, text) = found.next()?;
    let count = 1 + found.count();
    let rows = match count {
        1 => "1 row contradicts itself and counts".to_owned(),
        _ => format!("{count} rows contradict themselves and count"),
    };
    Some(format!(
        "{rows} as failed; the first, in line {line} of measurements.csv ({}): {text}; the file was changed or \
         damaged",
        row.case
    ))
}

/// The name of the directory itself, even if `path` is `.`, `..` or a link.
fn directory_name(path: &Path) -> String {
    let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    resolved.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::run::provenance::SessionRecord;
    use syncscope_core::{Dtype, OwnOperation, Primitive, Role};

    const fn primitive(id: &'static str) -> Primitive {
        Primitive { id, summary: "", operation: "", source: "", facts: syncscope_core::Facts::of(Role::Update) }
    }

    #[test]
    fn uses_of_a_trial_are_no_samples() {
        let rows = ["cpu.own.tried", "cpu.own.timed", "cpu.atomic.add"]
            .map(|id| Row { pairs: Some(9), ..Row::unmeasured(Case::new(id), Verdict::Resolved) });
        let own = |id: &str, trial_ms| OwnOperation { id: id.to_owned(), trial_ms, ..OwnOperation::default() };
        let run = Run { own: vec![own("cpu.own.tried", Some(5)), own("cpu.own.timed", None)], ..Run::default() };
        assert!(timed(&run, &rows).eq(&rows[1..]));
    }

    #[test]
    fn rows_stand_in_the_order_of_the_catalogue_whatever_the_order_of_measuring() {
        let row = |id: &str, dtype, threads| {
            Row::unmeasured(Case { dtype, threads: Some(threads), ..Case::new(id) }, Verdict::Resolved)
        };
        let expected = [
            row("cpu.atomic.write", None, 1),
            row("cpu.atomic.add", Some(Dtype::I32), 2),
            row("cpu.atomic.add", Some(Dtype::I32), 16),
            row("cpu.atomic.add", Some(Dtype::F64), 1),
            row("cpu.atomic.unknown", None, 1),
            row("cpu.fence.flush", None, 1),
            row("gpu.atomic.add", None, 32),
        ];
        let catalogue = ["cpu.fence.flush", "cpu.atomic.write", "cpu.atomic.add", "gpu.atomic.add"].map(primitive);
        for rotation in 0..expected.len() {
            let mut rows = expected.to_vec();
            rows.rotate_left(rotation);
            rows.swap(0, 3);
            let data = RunData { catalogue: Arc::new(catalogue.into_iter().collect()), ..crate::testing::data(rows) };
            assert_eq!(data.in_order().rows, expected);
        }
    }

    #[test]
    fn a_run_that_ended_early_may_measure_what_it_planned() {
        let row = |threads| {
            let case = Case { threads: Some(threads), ..Case::new("cpu.lock.ticket") };
            Row::unmeasured(case, Verdict::Resolved)
        };
        let mut data = crate::testing::data(vec![row(1), row(2)]);
        data.run.status = Status::BudgetSpent;
        let more = |data: &RunData| ["cpu.lock.ticket", "cpu.lock.mcs"].map(|id| data.has_more_planned(id));
        assert_eq!(more(&data), [false, false]);
        data.run.planned_by_primitive = [("cpu.lock.ticket".to_owned(), 3)].into();
        assert_eq!(more(&data), [true, false]);
        data.rows.push(row(4));
        assert_eq!(more(&data), [false, false]);
        data.run.planned_by_primitive.insert("cpu.lock.mcs".to_owned(), 1);
        assert_eq!(more(&data), [false, true]);
        data.run.status = Status::Done;
        assert_eq!(more(&data), [false, false]);
    }

    #[test]
    fn the_pause_before_a_resumption_does_not_count() {
        let mut data = crate::testing::data(vec![]);
        data.run.ended = Some("2026-11-21T07:07:52Z".into());
        assert_eq!(data.seconds(), Some(472.0));
        data.run.sessions = [20.0, 8.0].map(|seconds| SessionRecord { seconds, ..SessionRecord::default() }).to_vec();
        assert_eq!(data.seconds(), Some(28.0));
    }
}
