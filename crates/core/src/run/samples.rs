//! `samples.csv` and `samples.csv.gz`: every pair of every case, so that a point and its interval can be computed again.

use std::collections::HashMap;

use csv::StringRecord;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::engine::population::{Cost, mean_over_processes, process_costs};
use crate::model::estimate::Strata;
use crate::run::files::{At, body, complete_lines, count_lines, read_large_table};
use crate::units::significant;
use crate::{CaseId, Interval, Level, Observation, Row, RunDirectory, RunDirectoryError, Ticks};

/// The columns of `samples.csv`.
pub(super) const COLUMNS: [&str; 10] =
    ["case_id", "pair", "first", "baseline_ticks", "test_ticks", "ns", "cycles", "set_aside", "block", "beside"];

/// The largest table of single pairs that is read: as large as the paper's grid on 128 CPUs. Only measuring reads it.
pub(super) const MOST_BYTES: u64 = 1 << 30;

/// A line of the table: what is kept of an observation.
pub(super) fn record(id: &CaseId, observation: &Observation) -> StringRecord {
    StringRecord::from(vec![
        id.0.clone(),
        observation.pair.to_string(),
        if observation.baseline_first { "baseline" } else { "test" }.to_owned(),
        observation.baseline.0.to_string(),
        observation.test.0.to_string(),
        significant(observation.ns),
        observation.cycles.map(significant).unwrap_or_default(),
        observation.excluded.map(|cause| cause.to_string()).unwrap_or_default(),
        observation.block.to_string(),
        observation.strata.map(|strata| significant(strata.beside_share)).unwrap_or_default(),
    ])
}

/// One pair of samples as a run directory holds it, with seven significant digits.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct StoredPair {
    /// Number of the pair, from 0.
    pub pair: u64,
    /// Whether the baseline ran before the test.
    #[serde(rename = "first", deserialize_with = "is_baseline")]
    pub baseline_first: bool,
    /// The slowest actor of the baseline.
    pub baseline_ticks: Ticks,
    /// The slowest actor of the test.
    pub test_ticks: Ticks,
    /// Cost of one operation in nanoseconds, of either sign.
    pub ns: f64,
    /// Cost of one operation in cycles.
    pub cycles: Option<f64>,
    /// The cause for which this pair does not count, if there was one.
    pub set_aside: Option<String>,
    /// Number of the measurement block, from 1.
    pub block: u32,
    /// The share of the actors with SMT interference, 0 to 1; `None` where it was not detected.
    pub beside: Option<f64>,
}

/// Reads the column `first`.
fn is_baseline<'de, D: Deserializer<'de>>(word: D) -> Result<bool, D::Error> {
    match String::deserialize(word)?.as_str() {
        "baseline" => Ok(true),
        "test" => Ok(false),
        other => Err(D::Error::custom(format!("`{other}` is neither `baseline` nor `test`"))),
    }
}

/// The cost in nanoseconds that the stored pairs of a case give, and its 95 % interval within the run before it is widened
/// to one step of the clock. `processes` are the passes of each fresh process ([`SessionRecord::processes`]);
/// `shares_nothing` says whether the threads of the case share nothing. `None` if there are too few pairs.
///
/// [`SessionRecord::processes`]: crate::run::provenance::SessionRecord::processes
pub fn cost_of(pairs: &[StoredPair], processes: &[[u32; 2]], shares_nothing: bool) -> Option<(f64, Interval)> {
    let counted = pairs.iter().filter(|pair| pair.set_aside.is_none());
    let of_process = |pair: &StoredPair| {
        let number = processes.iter().position(|[first, last]| (first..=last).contains(&&pair.block));
        Observation { process: number.map_or(0, |number| number as u32 + 1), ..pair.observation() }
    };
    let observations: Vec<Observation> = counted.map(of_process).collect();
    let cost = Cost::of(&observations.iter().collect::<Vec<_>>(), |o| Some(o.ns))?;
    let mean = mean_over_processes(&process_costs(&observations), shares_nothing, |cost| Some(cost.ns));
    let (point, interval) = (mean.unwrap_or_else(|| cost.point()), cost.interval(Level::P95)?);
    Some((point, interval.at_least(point, 0.0)))
}

/// Whether a line begins another measurement of its case: the number of its pair is not larger than the one before. `None` is
/// a cell without a number, or no line before.
pub(super) fn begins_another(before: Option<u64>, pair: Option<u64>) -> bool {
    pair <= before
}

impl StoredPair {
    /// The engine's result for the pair, as far as it concerns the cost in nanoseconds.
    fn observation(&self) -> Observation {
        // A pair that counts and has a thread alone on its core belongs to such threads.
        Observation {
            pair: self.pair,
            block: self.block,
            baseline_first: self.baseline_first,
            baseline: self.baseline_ticks,
            test: self.test_ticks,
            ns: self.ns,
            cycles: self.cycles,
            fastest_ns: self.ns,
            median_ns: self.ns,
            slowest_ns: self.ns,
            mean_rate_ns: self.ns,
            strata: self.beside.map(|share| Strata::of_whole(self.ns, share)),
            ..Observation::default()
        }
    }
}

impl RunDirectory {
    /// What was cut off from the samples and details of a run with these timed rows, after it had ended.
    pub fn cut_off<'a>(&self, rows: impl IntoIterator<Item = &'a Row>) -> Vec<String> {
        let pairs: u64 =
            rows.into_iter().map(|row| row.pairs.unwrap_or_default() + row.excluded.unwrap_or_default()).sum();
        let [samples, details] = [self.samples(), self.details()].map(|path| count_lines(&path, MOST_BYTES).ok());
        // The first line is the header.
        let lacking = samples
            .map(|(lines, _)| lines.saturating_sub(1))
            .filter(|there| *there < pairs)
            .map(|there| format!("damaged: {there} of {pairs} pairs are in samples.csv; restore it from a copy"));
        let half = details.filter(|(_, is_whole)| !is_whole);
        let half = half
            .map(|(lines, _)| format!("damaged: line {} of details.csv is cut off; restore it from a copy", lines + 1));
        lacking.into_iter().chain(half).collect()
    }

    /// Reads the pairs of each case in the order they were taken, from `samples.csv` or else from `samples.csv.gz`; a run
    /// that was stored without samples has none. A last line that was cut off is skipped. A case that was measured again by
    /// a run that was killed later has its later pairs.
    ///
    /// # Errors
    /// When a file is there and cannot be read or understood.
    pub fn read_samples(&self) -> Result<HashMap<CaseId, Vec<StoredPair>>, RunDirectoryError> {
        let Some((path, bytes)) = read_large_table(&self.samples(), MOST_BYTES)? else { return Ok(HashMap::new()) };
        let mut pairs: HashMap<CaseId, Vec<StoredPair>> = HashMap::new();
        body(&path, &bytes, &COLUMNS)?;
        let mut reader = csv::Reader::from_reader(complete_lines(&bytes));
        let header = reader.headers().at(&path)?.clone();
        for record in reader.records() {
            let record = record.at(&path)?;
            let pair: StoredPair = record.deserialize(Some(&header)).at(&path)?;
            let of_case = pairs.entry(CaseId(record[0].to_owned())).or_default();
            if begins_another(of_case.last().map(|last| last.pair), Some(pair.pair)) {
                of_case.clear();
            }
            of_case.push(pair);
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;

    use super::*;
    use crate::model::case::Case;
    use crate::model::sample::Disturbance;
    use crate::model::verdict::Verdict;
    use crate::run::files::{packed, write_packed};
    use crate::run::journal::Journal;
    use crate::run::row::Row;

    fn row(primitive: &str) -> Row {
        Row::unmeasured(Case::new(primitive), Verdict::Resolved)
    }

    fn observation(pair: u64, cycles: Option<f64>, excluded: Option<Disturbance>) -> Observation {
        Observation { pair, baseline_first: pair % 2 == 1, ns: -0.5, cycles, excluded, ..Observation::example() }
    }

    /// A run whose samples are of two cases.
    fn run(folder: &std::path::Path) -> RunDirectory {
        let directory = RunDirectory::create(folder).unwrap();
        let mut journal = Journal::open(&directory).unwrap();
        let pairs = [observation(0, None, Some(Disturbance::Migration)), observation(1, Some(2.0), None)];
        journal.append(&row("cpu.barrier.std"), &pairs, &[]).unwrap();
        journal.append(&row("cpu.barrier.sense"), &pairs[1..], &[]).unwrap();
        directory
    }

    #[test]
    fn what_is_cut_off_beside_the_rows_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(folder.path()).unwrap();
        let row = Row { pairs: Some(2), excluded: Some(1), ..crate::run::row::tests::full() };
        let cut = || directory.cut_off([&row]);
        assert!(cut().is_empty(), "a run may be stored without them");
        let samples = format!("{}\n1\n2\n3\n", COLUMNS.join(","));
        let lacks = ["damaged: 2 of 3 pairs are in samples.csv; restore it from a copy"];
        for (text, expected) in [(&samples[..], &[][..]), (&samples[..samples.len() - 1], &lacks)] {
            fs::write(directory.samples(), text).unwrap();
            assert_eq!(cut(), expected);
        }
        write_packed(&directory.samples(), samples.as_bytes()).unwrap();
        fs::remove_file(directory.samples()).unwrap();
        assert!(cut().is_empty());
        let packed = packed(&directory.samples());
        let bytes = fs::read(&packed).unwrap();
        fs::write(&packed, &bytes[..bytes.len() / 2]).unwrap();
        assert!(cut()[0].contains("of 3 pairs"), "{:?}", cut());
        fs::remove_file(packed).unwrap();
        fs::write(directory.details(), "case_id,name,actor,value\na,b").unwrap();
        assert_eq!(cut(), ["damaged: line 2 of details.csv is cut off; restore it from a copy"]);
    }

    #[test]
    fn samples_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let directory = run(folder.path());
        let samples = directory.read_samples().unwrap();
        let (baseline, test) = (Ticks(100), Ticks(150));
        let first = StoredPair {
            pair: 0,
            baseline_first: false,
            baseline_ticks: baseline,
            test_ticks: test,
            ns: -0.5,
            cycles: None,
            set_aside: Some("migration".to_owned()),
            block: 1,
            beside: None,
        };
        let second = StoredPair { pair: 1, baseline_first: true, cycles: Some(2.0), set_aside: None, ..first.clone() };
        assert_eq!(samples[&row("cpu.barrier.std").case.id()], [first, second.clone()]);
        assert_eq!(samples[&row("cpu.barrier.sense").case.id()], [second]);
        assert_eq!(samples.len(), 2);
    }

    #[test]
    fn compressed_samples_are_read_and_resumed_like_others() {
        let folder = tempfile::tempdir().unwrap();
        let directory = run(folder.path());
        let (plain, samples) = (fs::read(directory.samples()).unwrap(), directory.read_samples().unwrap());
        write_packed(&directory.samples(), &plain).unwrap();
        fs::remove_file(directory.samples()).unwrap();
        assert_eq!(directory.read_samples().unwrap(), samples);
        let finished = row("cpu.barrier.sense").case.id();
        directory.forget_all_but(&HashSet::from([finished.clone()])).unwrap();
        assert!(!packed(&directory.samples()).exists(), "a run that goes on adds lines to a plain file");
        assert_eq!(directory.read_samples().unwrap(), HashMap::from([(finished.clone(), samples[&finished].clone())]));
        let mut journal = Journal::open(&directory).unwrap();
        journal.append(&row("cpu.barrier.std"), &[observation(0, None, None)], &[]).unwrap();
        assert_eq!(directory.read_samples().unwrap().len(), 2);
    }

    #[test]
    fn of_a_case_that_was_measured_again_the_later_samples_and_details_count() {
        let folder = tempfile::tempdir().unwrap();
        let directory = run(folder.path());
        let mut journal = Journal::open(&directory).unwrap();
        let again = [observation(0, Some(7.0), None)];
        let (case, other) = (row("cpu.barrier.std").case.id(), row("cpu.barrier.sense").case.id());
        for value in [1.0, 2.0] {
            let details = [crate::model::detail::Detail::of_case("p99_ns", value)];
            journal.append(&row("cpu.barrier.std"), &again, &details).unwrap();
        }
        let samples = directory.read_samples().unwrap();
        assert_eq!((samples[&case].len(), samples[&case][0].cycles, samples[&other].len()), (1, Some(7.0), 1));
        directory.forget_all_but(&HashSet::from([case.clone()])).unwrap();
        assert_eq!(fs::read_to_string(directory.samples()).unwrap().lines().count(), 2);
        assert_eq!(directory.read_samples().unwrap()[&case], samples[&case]);
        let details = directory.read_details().unwrap();
        assert_eq!(details[&case].iter().map(|detail| detail.value).collect::<Vec<_>>(), [2.0]);
    }

    #[test]
    fn samples_that_cannot_be_read_are_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let directory = run(folder.path());
        let plain = fs::read(directory.samples()).unwrap();
        fs::write(directory.samples(), [&plain[..], b"0123,4,base"].concat()).unwrap();
        assert_eq!(directory.read_samples().unwrap().len(), 2, "a line that was cut off");
        fs::write(directory.samples(), [&plain[..], b"0123,4,neither,1,2,3,,,1,,1\n"].concat()).unwrap();
        let error = directory.read_samples().unwrap_err().to_string();
        assert!(error.contains("samples.csv:") && error.contains("line: 5"), "{error}");
        write_packed(&directory.samples(), &plain).unwrap();
        fs::remove_file(directory.samples()).unwrap();
        let compressed = fs::read(packed(&directory.samples())).unwrap();
        fs::write(packed(&directory.samples()), &compressed[..compressed.len() - 9]).unwrap();
        let error = directory.read_samples().unwrap_err().to_string();
        assert!(error.contains("samples.csv.gz"), "{error}");
        fs::remove_file(packed(&directory.samples())).unwrap();
        assert!(directory.read_samples().unwrap().is_empty());
    }
}
