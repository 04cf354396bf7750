//! The journal: `measurements.csv`, `samples.csv` and `details.csv` grow line by line while a run goes on, so that what is
//! known is readable whatever happens next. The lines of cases that are measured anew are removed.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use csv::StringRecord;

use crate::run::details::DetailTable;
use crate::run::files::{At, body, complete_lines, lines, read_at_most, read_large_table, replace, write_plain};
use crate::run::{columns, details, samples};
use crate::{CaseId, Detail, Observation, Row, RunDirectory, RunDirectoryError};

/// The growing files of a run that is being measured.
#[derive(Debug)]
pub struct Journal {
    measurements: LineFile,
    samples: LineFile,
    details: LineFile,
    /// The lengths of samples and details, in bytes, when the journal was opened.
    pub(crate) began: (u64, u64),
}

/// A file to which whole lines are added, each with one write.
#[derive(Debug)]
struct LineFile {
    path: PathBuf,
    file: File,
}

impl LineFile {
    /// Opens `path` at its last complete line, writing `header` first if there is none.
    ///
    /// # Errors
    /// When the file has another header, or cannot be written.
    fn open(path: PathBuf, header: &[&str]) -> Result<Self, RunDirectoryError> {
        let bytes = read_at_most(&path, samples::MOST_BYTES)?.unwrap_or_default();
        body(&path, &bytes, header)?;
        let file = OpenOptions::new().create(true).append(true).open(&path).at(&path)?;
        let complete = complete_lines(&bytes).len() as u64;
        file.set_len(complete).at(&path)?;
        let mut lines = Self { path, file };
        if complete == 0 {
            lines.append([StringRecord::from(header)])?;
        }
        Ok(lines)
    }

    fn length(&self) -> Result<u64, RunDirectoryError> {
        Ok(self.file.metadata().at(&self.path)?.len())
    }

    fn append(&mut self, records: impl IntoIterator<Item = StringRecord>) -> Result<(), RunDirectoryError> {
        let bytes = lines(records).at(&self.path)?;
        let before = self.file.metadata().at(&self.path)?;
        // What is written to a file without a name is lost. Find out now, not after the last case.
        if before.nlink() == 0 {
            return Err(io::Error::other("the file was deleted during the run")).at(&self.path);
        }
        let written = self.file.write_all(&bytes);
        if written.is_err() {
            // Half a line would spoil the next one, if there is room again.
            let _ = self.file.set_len(before.len());
        }
        written.at(&self.path)
    }
}

impl Journal {
    /// Opens the journal of a run, new or resumed; a line that was cut off is removed, and a compressed table is unpacked.
    ///
    /// # Errors
    /// When a file cannot be written, or has another form than this version gives it.
    pub fn open(directory: &RunDirectory) -> Result<Self, RunDirectoryError> {
        if directory.has_measurements() && !directory.measurements().is_file() {
            write_plain(&directory.measurements(), &directory.measurement_bytes()?.1)?;
        }
        if directory.has_measurements() {
            directory.bring_up_to_date()?;
        }
        let measurements = LineFile::open(directory.measurements(), &columns::names())?;
        let samples = LineFile::open(directory.samples(), &samples::COLUMNS)?;
        let details = LineFile::open(directory.details(), &details::COLUMNS)?;
        let began = (samples.length()?, details.length()?);
        Ok(Self { measurements, samples, details, began })
    }

    /// Writes what is known of a case: its new observations and details first, so that every row in the journal has
    /// them.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn append(
        &mut self,
        row: &Row,
        observations: &[Observation],
        details: &[Detail],
    ) -> Result<(), RunDirectoryError> {
        let id = row.case.id();
        self.samples.append(observations.iter().map(|observation| samples::record(&id, observation)))?;
        self.details.append(details.iter().map(|detail| details::record(&id.0, detail)))?;
        self.measurements.append([row.to_record()])
    }
}

impl RunDirectory {
    /// Forgets the observations and details of all cases but these: the others will be measured anew. A detail that holds
    /// for all cases of a domain is written down for each, because it need not hold for later cases. A case that was
    /// measured twice, because a resumed run was killed, keeps its later observations and details.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn forget_all_but(&self, kept: &HashSet<CaseId>) -> Result<(), RunDirectoryError> {
        let details = self.detail_table()?;
        if let Some((path, bytes)) = read_large_table(&self.samples(), samples::MOST_BYTES)? {
            let ids: HashSet<&[u8]> = kept.iter().map(|id| id.0.as_bytes()).collect();
            let lines: Vec<&[u8]> =
                body(&path, &bytes, &samples::COLUMNS)?.split_inclusive(|byte| *byte == b'\n').collect();
            let header = format!("{}\n", samples::COLUMNS.join(","));
            let kept = std::iter::once(header.as_bytes()).chain(last_measurements(&lines, &ids));
            write_plain(&self.samples(), &kept.collect::<Vec<_>>().concat())?;
        }
        if details.is_some() {
            let rows = self.read_rows()?;
            let mut own = self.details_of(&rows)?;
            own.retain(|id, _| kept.contains(id));
            self.write_details(&DetailTable::of_cases(own), &rows)?;
        }
        Ok(())
    }

    /// Removes these cases from the first bytes of the samples and of the details: they were measured anew.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub(crate) fn forget_first(
        &self,
        replaced: &HashSet<CaseId>,
        (samples, details): (u64, u64),
    ) -> Result<(), RunDirectoryError> {
        if replaced.is_empty() {
            return Ok(());
        }
        let ids: HashSet<&[u8]> = replaced.iter().map(|id| id.0.as_bytes()).collect();
        let later = |bytes: &[u8], first: u64| {
            let (first, rest) = bytes.split_at(bytes.len().min(usize::try_from(first).unwrap_or(usize::MAX)));
            let kept = first.split_inclusive(|byte| *byte == b'\n').filter(|line| !ids.contains(id_of(line)));
            [kept.collect::<Vec<_>>().concat(), rest.to_vec()].concat()
        };
        for (path, first) in [(self.samples(), samples), (self.details(), details)] {
            if let Some(bytes) = read_at_most(&path, samples::MOST_BYTES)? {
                replace(&path, &later(&bytes, first))?;
            }
        }
        Ok(())
    }
}

/// The lines of these cases, from the last measurement of each.
fn last_measurements<'a>(lines: &[&'a [u8]], ids: &HashSet<&[u8]>) -> Vec<&'a [u8]> {
    let pair = |line: &[u8]| std::str::from_utf8(line.split(|byte| *byte == b',').nth(1)?).ok()?.parse::<u64>().ok();
    let mut latest: HashMap<&[u8], (Option<u64>, usize)> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        let (number, first) = latest.entry(id_of(line)).or_insert((None, at));
        let pair = pair(line);
        if samples::begins_another(*number, pair) {
            *first = at;
        }
        *number = pair;
    }
    let is_last = |at: usize, line: &[u8]| latest.get(id_of(line)).is_some_and(|(_, first)| at >= *first);
    let kept = lines.iter().enumerate().filter(|(at, line)| ids.contains(id_of(line)) && is_last(*at, line));
    kept.map(|(_, line)| *line).collect()
}

/// The first cell of a line; ids are hexadecimal and never quoted.
fn id_of(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b',').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::case::Case;
    use crate::model::sample::Disturbance;
    use crate::model::verdict::Verdict;

    fn row(primitive: &str) -> Row {
        Row::unmeasured(Case::new(primitive), Verdict::Skipped("two\nlines, and \"quotes\"".into()))
    }

    fn observation() -> Observation {
        let excluded = Some(Disturbance::Migration);
        Observation { pair: 3, baseline_first: false, excluded, ..Observation::example() }
    }

    #[test]
    fn a_journal_gives_back_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(&folder.path().join("a/b")).unwrap();
        let mut journal = Journal::open(&directory).unwrap();
        journal.append(&row("cpu.barrier.std"), &[observation()], &[Detail::of_case("p99_ns", 7.5)]).unwrap();
        journal.append(&row("cpu.barrier.sense"), &[], &[]).unwrap();
        let rows = directory.read_rows().unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].verdict.reason(), "two lines, and \"quotes\"");
        let details = directory.read_details().unwrap();
        assert_eq!(details[&rows[0].case.id()], [Detail::of_case("p99_ns", 7.5)]);
        assert_eq!(details.len(), 1);
        let samples = fs::read_to_string(directory.samples()).unwrap();
        assert_eq!(samples.lines().count(), 2);
        assert!(samples.contains(",3,test,100,150,0.5,,migration"), "{samples}");
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_row_and_goes_when_the_run_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(folder.path()).unwrap();
        let mut journal = Journal::open(&directory).unwrap();
        journal.append(&row("cpu.barrier.std"), &[observation()], &[Detail::of_case("p99_ns", 7.5)]).unwrap();
        drop(journal);
        let whole = fs::read(directory.measurements()).unwrap();
        let mut cut = whole.clone();
        cut.extend_from_slice(b"0123,cpu,bar");
        fs::write(directory.measurements(), &cut).unwrap();
        assert_eq!(directory.read_rows().unwrap().len(), 1);
        let mut journal = Journal::open(&directory).unwrap();
        assert_eq!(fs::read(directory.measurements()).unwrap(), whole);
        journal.append(&row("cpu.barrier.sense"), &[], &[]).unwrap();
        assert_eq!(directory.read_rows().unwrap().len(), 2);
    }

    #[test]
    fn a_file_that_is_deleted_under_way_is_an_error_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(&folder.path().join("run")).unwrap();
        let mut journal = Journal::open(&directory).unwrap();
        journal.append(&row("cpu.barrier.std"), &[observation()], &[]).unwrap();
        fs::remove_dir_all(directory.path()).unwrap();
        let error = journal.append(&row("cpu.barrier.sense"), &[observation()], &[]).unwrap_err().to_string();
        assert!(error.contains("samples.csv") && error.contains("deleted"), "{error}");
    }

    #[test]
    fn the_later_row_of_a_case_counts_and_is_the_one_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(folder.path()).unwrap();
        let mut journal = Journal::open(&directory).unwrap();
        let early = Row { provisional: true, ..row("cpu.barrier.std") };
        journal.append(&early, &[observation()], &[]).unwrap();
        journal.append(&row("cpu.barrier.sense"), &[observation()], &[Detail::of_case("p99_ns", 7.5)]).unwrap();
        assert!(directory.read_rows().unwrap()[0].provisional);
        journal.append(&row("cpu.barrier.std"), &[observation()], &[Detail::of_case("p99_ns", 7.5)]).unwrap();
        let read = directory.read_rows().unwrap();
        assert_eq!((read.len(), read[0].provisional), (2, false));
        assert_eq!(fs::read_to_string(directory.measurements()).unwrap().lines().count(), 4);
        directory.tidy().unwrap();
        assert_eq!(fs::read_to_string(directory.measurements()).unwrap().lines().count(), 3);
        assert_eq!(directory.read_rows().unwrap().len(), 2);
        // What is measured anew leaves nothing behind, and what is finished keeps what it has.
        directory.forget_all_but(&HashSet::from([row("cpu.barrier.sense").case.id()])).unwrap();
        assert_eq!(fs::read_to_string(directory.samples()).unwrap().lines().count(), 2);
        assert_eq!(directory.read_details().unwrap().len(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no draft is left");
    }

    #[test]
    fn a_compact_run_that_goes_on_keeps_the_details_of_what_is_finished_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(folder.path()).unwrap();
        let measured = |primitive: &str| Row { pairs: Some(20), ..row(primitive) };
        let blocks = |count: f64| vec![Detail::of_case("blocks", count), Detail::of_case("p99_ns", count)];
        let early = ["cpu.barrier.std", "cpu.barrier.sense", "cpu.barrier.tree"];
        let mut journal = Journal::open(&directory).unwrap();
        for primitive in early {
            journal.append(&measured(primitive), &[], &blocks(8.0)).unwrap();
        }
        drop(journal);
        directory.tidy().unwrap();
        assert_eq!(fs::read_to_string(directory.details()).unwrap().lines().count(), 3, "one line for each name");
        assert_eq!(directory.read_details().unwrap().len(), 3);

        let finished: HashSet<CaseId> = early[..2].iter().map(|primitive| row(primitive).case.id()).collect();
        directory.forget_all_but(&finished).unwrap();
        let kept = directory.read_details().unwrap();
        assert_eq!(kept.keys().cloned().collect::<HashSet<_>>(), finished);
        let mut journal = Journal::open(&directory).unwrap();
        journal.append(&measured("cpu.barrier.tree"), &[], &blocks(9.0)).unwrap();
        // A case of the same domain that has no details at all.
        journal.append(&measured("cpu.barrier.openmp"), &[], &[]).unwrap();
        for _ in 0..2 {
            let read = directory.read_details().unwrap();
            assert!(finished.iter().all(|id| read[id] == blocks(8.0)), "{read:?}");
            assert_eq!((read[&row("cpu.barrier.tree").case.id()].clone(), read.len()), (blocks(9.0), 3));
            directory.tidy().unwrap();
        }
    }
}
