//! A run as it is stored in `results/`: everything that cannot be made again, and nothing twice.
//!
//! ```text
//! results/NAME/run.json, measurements.csv   as the run wrote them; a large table as measurements.csv.gz
//! results/NAME/details.csv                  compact, as a finished run leaves it
//! results/NAME/*.csv                        the tables of experiments, without their samples
//! results/NAME/evidence.csv                 of the quick preset, name,file: where each disassembly of the run is
//! results/evidence/*.txt.gz                 each distinct disassembly once, for all runs
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use csv::StringRecord;

use crate::data_file;
pub use crate::run::directory::LICENSE;
use crate::run::directory::ORDERINGS;
use crate::run::files::{At, is_plain_name, lines, packed, read_if_there, read_table, replace, write_packed};
use crate::{Preset, RunDirectory, RunDirectoryError};

/// The folder of disassemblies that the stored runs share.
const EVIDENCE: &str = "evidence";

/// The most bytes of a licence. A larger file is none, and is not copied.
pub const LARGEST_LICENSE: u64 = 64 * 1024;

/// How the names of tables of single observations end.
const SAMPLES: &str = "samples";

/// The largest table that stays uncompressed, in bytes.
const LARGEST_PLAIN: usize = 128 * 1024;

impl RunDirectory {
    /// The index of the disassemblies of a stored run.
    pub fn evidence_index(&self) -> PathBuf {
        self.path().join("evidence.csv")
    }

    /// The file of each disassembly, by its name: files in `evidence/`, and files that `evidence.csv` places
    /// elsewhere. Each may be compressed; [`read_text`](crate::run::plain::read_text) reads both forms.
    ///
    /// # Errors
    /// When the folder or the index is there and cannot be read.
    pub fn evidence_files(&self) -> Result<BTreeMap<String, PathBuf>, RunDirectoryError> {
        let index = self.evidence_index();
        let mut files = BTreeMap::new();
        if let Some(bytes) = read_if_there(&index)? {
            for line in csv::Reader::from_reader(bytes.as_slice()).into_deserialize::<(String, String)>() {
                let (name, file) = line.at(&index)?;
                // A file that the index names is read and published with the runs.
                let shared = file.strip_prefix("../").and_then(|file| file.strip_prefix(EVIDENCE)?.strip_prefix('/'));
                let Some(shared) = shared.filter(|file| {
                    is_plain_name(file) && has_extension(Path::new(file), "txt") && is_plain_name(&name)
                }) else {
                    let reason = format!("`{file}` is no disassembly of the stored runs, ../{EVIDENCE}/NAME.txt");
                    return Err(RunDirectoryError::content(&index, reason));
                };
                files.insert(name, self.path().join("..").join(EVIDENCE).join(shared));
            }
        }
        let listings = tables(&self.evidence(), "txt")?;
        files.extend(listings.into_iter().map(|path| (stem(&path), path)));
        Ok(files)
    }
}

/// Stores a run under `name` in the folder `results`. The run itself stays as it is.
///
/// # Errors
/// When the run cannot be read, something is under that name, or a file cannot be written.
pub fn store(run: &RunDirectory, results: &Path, name: &str) -> Result<RunDirectory, RunDirectoryError> {
    let preset = run.read_run()?.preset.parse();
    let evidence = run.evidence_files()?;
    let folder = results.join(name);
    if folder.exists() || name == EVIDENCE {
        return Err(RunDirectoryError::AlreadyStored(folder));
    }
    fs::create_dir_all(&folder).at(&folder)?;
    for file in ["run.json", ORDERINGS, LICENSE] {
        let original = run.path().join(file);
        let small = |found: &fs::Metadata| found.is_file() && (file != LICENSE || found.len() <= LARGEST_LICENSE);
        if fs::symlink_metadata(&original).is_ok_and(|found| small(&found)) {
            replace(&folder.join(file), &data_file::read(&original).at(&original)?)?;
        }
    }
    let stored = RunDirectory::open(&folder)?;
    // Samples, and disassemblies of more than the quick preset, are too large for a repository.
    let is_kept = |table: &PathBuf| *table != run.evidence_index() && !stem(table).ends_with(SAMPLES);
    for table in tables(run.path(), "csv")?.into_iter().filter(is_kept) {
        if let Some((_, bytes)) = read_table(&table)? {
            replace(&folder.join(format!("{}.csv", stem(&table))), &bytes)?;
        }
    }
    if stored.has_measurements() {
        stored.tidy()?;
    }
    for table in tables(&folder, "csv")? {
        let bytes = data_file::read(&table).at(&table)?;
        if bytes.len() > LARGEST_PLAIN {
            write_packed(&table, &bytes)?;
            fs::remove_file(&table).at(&table)?;
        }
    }
    if matches!(preset, Ok(Preset::Quick)) && !evidence.is_empty() {
        let kept = keep_evidence(&evidence, &results.join(EVIDENCE))?;
        write_index(&stored.evidence_index(), &kept)?;
    }
    Ok(stored)
}

/// Removes the disassemblies that no stored run refers to, and returns them.
///
/// # Errors
/// When a stored run cannot be read or a file cannot be removed.
pub fn remove_unused_evidence(results: &Path) -> Result<Vec<PathBuf>, RunDirectoryError> {
    let mut used = BTreeSet::new();
    for run in stored_runs(results)? {
        used.extend(run.evidence_files()?.into_values().map(|path| stem(&path)));
    }
    let mut unused = tables(&results.join(EVIDENCE), "txt")?;
    unused.retain(|path| !used.contains(&stem(path)));
    unused.iter().map(|path| packed(path)).try_for_each(|path| fs::remove_file(&path).at(&path))?;
    Ok(unused)
}

/// The runs in the folder `results`, in the order of their names.
///
/// # Errors
/// When the folder cannot be read.
pub fn stored_runs(results: &Path) -> Result<Vec<RunDirectory>, RunDirectoryError> {
    Ok(stored(results)?.into_iter().filter(RunDirectory::has_measurements).collect())
}

/// The published experiments in the folder `results`, in the order of their names.
///
/// # Errors
/// When the folder cannot be read.
pub fn stored_experiments(results: &Path) -> Result<Vec<RunDirectory>, RunDirectoryError> {
    Ok(stored(results)?.into_iter().filter(|run| !run.has_measurements()).collect())
}

fn stored(results: &Path) -> Result<Vec<RunDirectory>, RunDirectoryError> {
    let folders = sorted_entries(results)?;
    Ok(folders.iter().filter_map(|folder| RunDirectory::open(folder).ok()).collect())
}

/// Puts each disassembly into the folder `shared`, unless its text is there already, and says which file has it.
fn keep_evidence(
    evidence: &BTreeMap<String, PathBuf>,
    shared: &Path,
) -> Result<BTreeMap<String, String>, RunDirectoryError> {
    fs::create_dir_all(shared).at(shared)?;
    let mut known: BTreeMap<Vec<u8>, PathBuf> = BTreeMap::new();
    for path in tables(shared, "txt")? {
        known.extend(read_table(&path)?.map(|(_, text)| (text, path)));
    }
    let mut files = BTreeMap::new();
    for (name, path) in evidence {
        let Some((_, text)) = read_table(path)? else { continue };
        let kept = if let Some(kept) = known.get(&text) {
            kept.clone()
        } else {
            let kept = free_path(shared, name);
            write_packed(&kept, &text)?;
            known.insert(text, kept.clone());
            kept
        };
        files.insert(name.clone(), format!("../{EVIDENCE}/{}.txt", stem(&kept)));
    }
    Ok(files)
}

/// `NAME.txt`; `NAME.2.txt` and so on where another machine or version has other instructions under that name.
fn free_path(folder: &Path, name: &str) -> PathBuf {
    let numbered = (2_u64..).map(|number| folder.join(format!("{name}.{number}.txt")));
    let mut paths = std::iter::once(folder.join(format!("{name}.txt"))).chain(numbered);
    paths.find(|path| !packed(path).exists()).unwrap_or_default()
}

fn write_index(path: &Path, files: &BTreeMap<String, String>) -> Result<(), RunDirectoryError> {
    let cells = files.iter().map(|(name, file)| [name.as_str(), file]);
    let records = std::iter::once(["name", "file"]).chain(cells).map(|cells| StringRecord::from(&cells[..]));
    replace(path, &lines(records).at(path)?)
}

/// The files of a folder with this extension, in the order of their names, each by the path of its plain form; none where
/// there is no folder.
fn tables(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, RunDirectoryError> {
    let entries = if folder.is_dir() { sorted_entries(folder)? } else { Vec::new() };
    let plain = |path: PathBuf| if has_extension(&path, "gz") { path.with_extension("") } else { path };
    let mut found: Vec<PathBuf> = entries.into_iter().map(plain).collect();
    found.retain(|path| has_extension(path, extension));
    found.dedup();
    Ok(found)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>, RunDirectoryError> {
    let entries: io::Result<Vec<_>> = fs::read_dir(folder).at(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries.at(folder)?;
    entries.sort();
    Ok(entries)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::case::Case;
    use crate::model::detail::Detail;
    use crate::model::estimate::Observation;
    use crate::model::verdict::Verdict;
    use crate::run::journal::Journal;
    use crate::run::plain::read_text;
    use crate::run::row::Row;
    use crate::run::tests::interrupted;
    use crate::run::{Run, Status};

    /// A finished run of two cases, with a page and these disassemblies.
    fn finished(folder: &Path, preset: Preset, evidence: &[(&str, &str)]) -> RunDirectory {
        let directory = RunDirectory::create(folder).unwrap();
        let run = Run { preset: preset.to_string(), status: Status::Done, ..interrupted() };
        directory.write_run(&run).unwrap();
        let mut journal = Journal::open(&directory).unwrap();
        for primitive in ["cpu.barrier.std", "cpu.barrier.sense"] {
            let row = Row { pairs: Some(1), ..Row::unmeasured(Case::new(primitive), Verdict::Resolved) };
            journal.append(&row, &[observation()], &[Detail::of_case("throttle_reasons", 0.0)]).unwrap();
        }
        for (name, text) in evidence {
            directory.write_evidence(name, text).unwrap();
        }
        fs::write(directory.report(), "a page").unwrap();
        directory
    }

    fn observation() -> Observation {
        Observation { cycles: Some(1.0), ..Observation::example() }
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        sorted_entries(folder).unwrap().iter().map(name).collect()
    }

    #[test]
    fn a_stored_run_says_what_the_run_said_in_fewer_files() {
        let folder = tempfile::tempdir().unwrap();
        let run = finished(&folder.path().join("run"), Preset::Quick, &[("a", "mov\n"), ("b", "mov\n")]);
        let results = folder.path().join("results");
        let stored = store(&run, &results, "machine").unwrap();
        assert_eq!(names(stored.path()), ["details.csv", "evidence.csv", "measurements.csv", "run.json"]);
        for file in ["run.json", "measurements.csv"] {
            assert_eq!(fs::read(stored.path().join(file)).unwrap(), fs::read(run.path().join(file)).unwrap());
        }
        assert_eq!(fs::read_to_string(stored.details()).unwrap().lines().count(), 2);
        assert_eq!(fs::read_to_string(run.details()).unwrap().lines().count(), 3, "the run itself stays as it is");
        assert_eq!(stored.read_details().unwrap(), run.read_details().unwrap());
        assert!(!run.read_samples().unwrap().is_empty() && stored.read_samples().unwrap().is_empty());
        let again = store(&run, &results, "machine").unwrap_err().to_string();
        assert!(again.contains("machine") && again.contains("remove"), "{again}");
        assert!(store(&run, &results, EVIDENCE).is_err(), "that is where the disassemblies are");
        // A stored run can be stored elsewhere.
        let elsewhere = store(&stored, &folder.path().join("others"), "machine").unwrap();
        for file in ["run.json", "measurements.csv", "details.csv", "evidence.csv"] {
            let read = |run: &RunDirectory| fs::read(run.path().join(file)).unwrap();
            assert_eq!(read(&elsewhere), read(&stored), "{file}");
        }
    }

    #[test]
    fn nothing_but_disassemblies_is_published_from_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let run = finished(&folder.path().join("run"), Preset::Quick, &[]);
        fs::write(folder.path().join("key.txt"), "private").unwrap();
        let read = |name: &str, file: &str| {
            fs::write(run.evidence_index(), format!("name,file\n{name},{file}\n")).unwrap();
            run.evidence_files().map_err(|error| error.to_string())
        };
        assert_eq!(read("a", "../evidence/a.2.txt").unwrap().len(), 1);
        for file in [
            "/etc/passwd",
            "../key.txt",
            "../evidence/../key.txt",
            "key.txt",
            "../evidence/",
            "../evidence/..",
            "../evidencekey.txt",
        ] {
            let error = read("a", file).unwrap_err();
            assert!(error.contains("evidence.csv") && error.contains(file), "{error}");
        }
        assert!(read("../../a", "../evidence/a.txt").is_err());
        assert!(store(&run, &folder.path().join("results"), "machine").is_err());
    }

    #[test]
    fn a_large_table_is_compressed_and_read_stored_and_continued_like_others() {
        let folder = tempfile::tempdir().unwrap();
        let run = finished(&folder.path().join("run"), Preset::Paper, &[]);
        fs::write(run.path().join(LICENSE), "BSD").unwrap();
        fs::write(run.path().join(ORDERINGS), "[]").unwrap();
        let mut journal = Journal::open(&run).unwrap();
        let long = "x".repeat(LARGEST_PLAIN / 4);
        for threads in 1..=5 {
            let case = Case { threads: Some(threads), ..Case::new("cpu.fence.flush") };
            journal.append(&Row::unmeasured(case, Verdict::Failed(long.clone())), &[], &[]).unwrap();
        }
        let results = folder.path().join("results");
        let stored = store(&run, &results, "machine").unwrap();
        assert_eq!(names(stored.path()), [LICENSE, "details.csv", "measurements.csv.gz", ORDERINGS, "run.json"]);
        assert_eq!(stored.read_rows().unwrap(), run.read_rows().unwrap());
        assert_eq!(stored_runs(&results).unwrap(), std::slice::from_ref(&stored));
        assert_eq!(stored_experiments(&results).unwrap(), []);
        let again = store(&stored, &folder.path().join("others"), "machine").unwrap();
        assert_eq!(names(again.path()), names(stored.path()));
        Journal::open(&stored).unwrap().append(&run.read_rows().unwrap()[0], &[], &[]).unwrap();
        assert!(!packed(&stored.measurements()).exists(), "a run that goes on adds lines to a plain file");
        assert_eq!(stored.read_rows().unwrap().len(), 7);
    }

    #[test]
    fn a_published_experiment_is_stored_without_single_observations() {
        let folder = tempfile::tempdir().unwrap();
        let run = finished(&folder.path().join("run"), Preset::Quick, &[]).read_run().unwrap();
        let experiment = RunDirectory::create_for_experiment(&folder.path().join("experiment")).unwrap();
        experiment.write_run(&Run { preset: "crosscheck".into(), ..run }).unwrap();
        for file in ["crosscheck.csv", "crosscheck_part.csv", "crosscheck_samples.csv", "report.html"] {
            fs::write(experiment.path().join(file), file).unwrap();
        }
        let results = folder.path().join("results");
        let stored = store(&experiment, &results, "crosscheck").unwrap();
        assert_eq!(names(stored.path()), ["crosscheck.csv", "crosscheck_part.csv", "run.json"]);
        assert_eq!(stored_experiments(&results).unwrap(), [stored]);
        assert_eq!(stored_runs(&results).unwrap(), [], "it is no run of a plan");
    }

    #[test]
    fn each_distinct_disassembly_is_there_once() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("results");
        let one =
            finished(&folder.path().join("one"), Preset::Quick, &[("a", "mov\n"), ("b", "add\n"), ("c", "mov\n")]);
        let two =
            finished(&folder.path().join("two"), Preset::Quick, &[("a", "mov\n"), ("b", "sub\n"), ("d", "ret\n")]);
        let one = store(&one, &results, "one").unwrap();
        let two = store(&two, &results, "two").unwrap();
        assert_eq!(names(&results.join(EVIDENCE)), ["a.txt.gz", "b.2.txt.gz", "b.txt.gz", "d.txt.gz"]);
        let text = |run: &RunDirectory, name: &str| read_text(&run.evidence_files().unwrap()[name]).unwrap();
        assert_eq!([text(&one, "a"), text(&one, "b"), text(&one, "c")], ["mov\n", "add\n", "mov\n"]);
        assert_eq!([text(&two, "a"), text(&two, "b"), text(&two, "d")], ["mov\n", "sub\n", "ret\n"]);
        assert_eq!(stored_runs(&results).unwrap(), [one.clone(), two]);
        assert_eq!(remove_unused_evidence(&results).unwrap(), [] as [PathBuf; 0]);
        fs::remove_dir_all(one.path()).unwrap();
        assert_eq!(remove_unused_evidence(&results).unwrap(), [results.join(EVIDENCE).join("b.txt")]);
        assert_eq!(names(&results.join(EVIDENCE)), ["a.txt.gz", "b.2.txt.gz", "d.txt.gz"]);
    }
}
