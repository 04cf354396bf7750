//! Converts the results of other tools into runs.
//!
//! | file | contents |
//! |---|---|
//! | `lib.rs` | what all imports share; the cases that SyncPerformance's results become |
//! | [`syncperformance`] | SyncPerformance's result files |
//! | `openmp` | SyncPerformance's OpenMP programs |
//! | [`core_to_core`], `matrix` | the matrices of core-to-core-latency |

#![forbid(unsafe_code)]

pub mod core_to_core;
mod matrix;
mod openmp;
pub mod syncperformance;

pub use openmp::{is_openmp_case, is_openmp_primitive};

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;
use syncscope_core::data_file;
use syncscope_core::journal::Journal;
use syncscope_core::machine::{CpuMachine, GpuMachine, Machine};
use syncscope_core::run::{self, Status};
use syncscope_core::run_directory::{RunDirectory, RunDirectoryError};
use syncscope_core::stats::median;
use syncscope_core::stored_run::{LARGEST_LICENSE, LICENSE};
use syncscope_core::{Case, Catalogue, Nanoseconds, Row, Run};
use syncscope_gpu::peer::peer_program;

use crate::syncperformance::{ResultFigure, ResultFile};

/// The name of SyncPerformance's result files.
const RESULT_FILE: &str = "runtimes.csv";

/// The depth of the result files below the given directory: a device, a program, a stride.
const MAX_DEPTH: usize = 4;

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file prevents the import.
    #[error("{0}")]
    CouldNot(String),
    /// The command has to be used differently.
    #[error("{0}")]
    Usage(String),
}

impl ImportError {
    fn in_file<E: Display>(path: &Path) -> impl Fn(E) -> Self {
        move |error| Self::CouldNot(format!("{}: {error}", path.display()))
    }
}

impl From<RunDirectoryError> for ImportError {
    fn from(error: RunDirectoryError) -> Self {
        Self::CouldNot(error.to_string())
    }
}

/// Where a run goes, and what the files of a tool do not say.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The run's directory, new or empty.
    pub out: &'a Path,
    /// A file that describes the machine and the environment.
    pub machine: Option<&'a Path>,
    /// The command that does the import.
    pub command: &'a [String],
    /// All primitives.
    pub catalogue: &'a Catalogue,
    /// Is called with what was written.
    pub note: &'a dyn Fn(&str),
}

/// Converts SyncPerformance's results of one system, and returns what a reader must know of them.
///
/// # Errors
/// If there are no results, or a file cannot be read or written.
pub fn import_results(folder: &Path, bound: bool, target: &Target<'_>) -> Result<Vec<String>, ImportError> {
    let mut paths = Vec::new();
    collect(folder, MAX_DEPTH, &mut paths)?;
    let results_folder = folder;
    let folder = folder.display();
    if paths.is_empty() {
        return Err(ImportError::Usage(format!(
            "{folder} holds no {RESULT_FILE}; name the directory with the results of one system"
        )));
    }
    paths.sort();
    let mut results = Results { bound, ..Results::default() };
    let mut files = Vec::new();
    for path in &paths {
        let file = ResultFile::read(path).map_err(|error| ImportError::CouldNot(error.to_string()))?;
        results.record_system(path, &file);
        files.push(file);
    }
    for (what, folders) in [("systems", &results.systems), ("GPUs", &results.devices)] {
        if let [first, second, ..] = folders.iter().collect::<Vec<_>>().as_slice() {
            let (first, second) = (first.display(), second.display());
            return Err(ImportError::Usage(format!(
                "{folder} holds the results of several {what} ({first}, {second}); name one"
            )));
        }
    }
    for (path, file) in paths.iter().zip(&files) {
        results.add(file, target.catalogue).map_err(ImportError::in_file(path))?;
    }
    if results.rows.is_empty() {
        let none = format!("{folder} holds no figure of a case of ours");
        return Err(ImportError::CouldNot([vec![none], results.ignored()].concat().join("; ")));
    }
    let run = results.run(results_folder, target.command);
    let rows = results.rows.into_values().map(|(row, _)| row).collect::<Vec<_>>();
    write_run(run, &rows, target, results_folder)
}

/// Writes a run with the user's description of its machine and the licence of its `source`, and returns what a reader
/// must know of the run.
fn write_run(mut run: Run, rows: &[Row], target: &Target<'_>, source: &Path) -> Result<Vec<String>, ImportError> {
    if let Some(file) = target.machine {
        describe(&mut run, file)?;
    }
    let directory = write_rows(target.out, rows)?;
    keep_license(source, target.out)?;
    // The run's description is the last file: without it, what a full disk leaves is not a run.
    directory.write_run(&run)?;
    (target.note)(&format!("wrote {} rows to {}", rows.len(), target.out.display()));
    Ok(run.warnings)
}

/// Puts what a JSON file says of `machine` and `environment` into the run.
fn describe(run: &mut Run, file: &Path) -> Result<(), ImportError> {
    let text = data_file::read_text(file).map_err(ImportError::in_file(file))?;
    let known: Value = serde_json::from_str(&text).map_err(ImportError::in_file(file))?;
    let Some(parts) = known.as_object() else {
        let reason = "it is no run.json: expected an object with `machine` and `environment`";
        return Err(ImportError::in_file(file)(reason));
    };
    if let Some(name) = parts.keys().find(|name| !["machine", "environment"].contains(&name.as_str())) {
        return Err(ImportError::in_file(file)(format!("expected `machine` and `environment`, found `{name}`")));
    }
    let mut described = serde_json::to_value(&*run).map_err(ImportError::in_file(file))?;
    overlay(&mut described, known);
    run::check_counts(&described).map_err(ImportError::in_file(file))?;
    let cpus = run.machine.cpu.hardware_threads;
    *run = serde_json::from_value(described).map_err(ImportError::in_file(file))?;
    let described = run.machine.cpu.hardware_threads;
    if described < cpus {
        let reason = format!("the machine has {described} hardware threads, but the results are of {cpus} CPUs");
        return Err(ImportError::in_file(file)(reason));
    }
    Ok(())
}

/// Replaces the fields that `known` has, in objects and, by position, in lists.
fn overlay(base: &mut Value, known: Value) {
    match (base, known) {
        (Value::Object(base), Value::Object(known)) => {
            for (name, value) in known {
                overlay(base.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(base), Value::Array(known)) if base.len() == known.len() => {
            base.iter_mut().zip(known).for_each(|(base, known)| overlay(base, known));
        }
        (base, known) => *base = known,
    }
}

/// Collects the result files below a directory.
fn collect(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<(), ImportError> {
    let failed = ImportError::in_file(folder);
    for entry in std::fs::read_dir(folder).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        // Links are not followed: they could form a cycle.
        let kind = entry.file_type().map_err(&failed)?;
        if kind.is_dir() && depth > 0 {
            collect(&entry.path(), depth - 1, paths)?;
        } else if kind.is_file() && entry.file_name() == RESULT_FILE {
            paths.push(entry.path());
        }
    }
    Ok(())
}

/// The content of all result files.
#[derive(Default)]
struct Results {
    /// The row of each case, and the program that it comes from.
    rows: BTreeMap<Case, (Row, String)>,
    /// Programs whose cases another program measures too: the ignored one, and the one used.
    repeated: BTreeMap<String, String>,
    /// Whether the threads of programs that name a placement were bound.
    bound: bool,
    /// For figures of several threads: their relative difference from the program that is used and differs only in
    /// placement.
    differences: Vec<f64>,
    /// Programs without an equivalent case, with the reasons.
    without_case: BTreeMap<String, &'static str>,
    /// The directories that hold devices and OpenMP programs.
    systems: BTreeSet<PathBuf>,
    /// The directories among them that hold CUDA programs and are named for a device.
    devices: BTreeSet<PathBuf>,
    blocks: Vec<u32>,
}

impl Results {
    /// Adds the figures of a file. A program may have only one figure of a case, because nobody knows which of two is
    /// right.
    fn add(&mut self, file: &ResultFile, known: &Catalogue) -> Result<(), String> {
        for figure in &file.figures {
            self.blocks.extend(figure.blocks);
            let Some(case) = case(file, figure, self.bound) else {
                let reason =
                    if file.program.starts_with("omp_") { openmp::reason(&file.program) } else { "unknown program" };
                self.without_case.insert(file.program.clone(), reason);
                continue;
            };
            let row = figure.row(case.clone(), known.facts(&case.primitive), file.iterations);
            match self.rows.entry(case) {
                Entry::Vacant(entry) => {
                    entry.insert((row, file.program.clone()));
                }
                // The case is the same in every placement: one thread, or threads that are not bound. The files are
                // sorted: the program without a placement is first, then close, then spread.
                Entry::Occupied(entry) if openmp::differ_in_placement(&entry.get().1, &file.program) => {
                    let used = entry.get().0.ns.map(Nanoseconds::value).filter(|ns| *ns > 0.0);
                    let ratio = used.zip(row.ns).map(|(used, ns)| (ns.value() / used - 1.0).abs());
                    self.differences.extend(ratio.filter(|_| row.case.threads > Some(1)));
                }
                Entry::Occupied(entry) if entry.get().1 == file.program => {
                    return Err(format!("{} has a second figure of {}", file.program, entry.key()));
                }
                // The files are sorted, so the second version of a program replaces the first one.
                Entry::Occupied(mut entry) => {
                    let (_, earlier) = entry.insert((row, file.program.clone()));
                    self.repeated.insert(earlier, file.program.clone());
                }
            }
        }
        Ok(())
    }

    /// Records the system of a file: `system/program/[step1/]runtimes.csv`, or `system/device/program/[step1/]runtimes.csv`.
    fn record_system(&mut self, path: &Path, file: &ResultFile) {
        let folder = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| *name == *file.program));
        let Some(parent) = folder.and_then(Path::parent) else { return };
        let is_on_device = file.program.starts_with("cuda_");
        self.devices.extend(is_on_device.then(|| parent.to_owned()));
        self.systems.insert(parent.parent().filter(|_| is_on_device).unwrap_or(parent).to_owned());
    }

    /// The description of the run. The result files hold neither machine nor date, so most fields are empty.
    fn run(&self, results: &Path, command: &[String]) -> Run {
        let resolved = results.canonicalize().unwrap_or_else(|_| results.to_owned());
        let system = resolved.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let device = self.devices.first().and_then(|folder| folder.file_name());
        let gpu = device.map(|name| GpuMachine {
            name: name.to_string_lossy().replace('_', " "),
            multiprocessors: multiprocessors(&self.blocks),
            ..GpuMachine::default()
        });
        Run {
            command: command.to_vec(),
            status: Status::Done,
            planned: self.rows.len() as u64,
            warnings: self.warnings(),
            machine: Machine {
                cpu: CpuMachine { model: format!("{system} (SyncPerformance)"), ..CpuMachine::default() },
                gpus: gpu.into_iter().collect(),
                links: Vec::new(),
            },
            ..Run::new(syncscope_core::run::IMPORTED, SystemTime::now())
        }
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = vec![
            "imported from SyncPerformance, whose figures are differences between medians of nine runs, repeated up to \
             seven times until they were positive; they have no intervals, GPU times are cycles divided by the \
             nominal clock, and the date is that of the import"
                .to_owned(),
        ];
        if !self.bound && self.rows.keys().any(|case| case.placement.is_some()) {
            let median = median(&self.differences).map(|median| {
                let (count, percent) = (self.differences.len(), median * 100.0);
                format!("; the {count} unused figures differ from these by a median of {percent:.1} %")
            });
            warnings.push(format!(
                "OpenMP threads count as unbound (placement none), even those of programs named _close and _spread, \
                 because proc_bind clauses need OMP_PLACES or OMP_PROC_BIND, which SyncPerformance does not set, \
                 so very probably nothing was bound; of programs that differ only in placement, the one without a placement is used, or \
                 else _close{}",
                median.unwrap_or_default()
            ));
        }
        warnings.extend(self.ignored());
        warnings
    }

    /// The programs that are left out, grouped by reason.
    fn ignored(&self) -> Vec<String> {
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let repeated = self.repeated.iter().map(|(program, used)| (program, format!("{used} measures the same")));
        let without_case = self.without_case.iter().map(|(program, reason)| (program, (*reason).to_owned()));
        for (program, reason) in repeated.chain(without_case) {
            reasons.entry(reason).or_default().push(program);
        }
        reasons.iter().map(|(reason, programs)| format!("ignored {}: {reason}", programs.join(", "))).collect()
    }
}

fn case(file: &ResultFile, figure: &ResultFigure, bound: bool) -> Option<Case> {
    let Some(program) = peer_program(&file.program) else {
        return openmp::case(&file.program, figure.dtype, file.stride, figure.threads, bound);
    };
    let dtype = if program.types == [None] { None } else { Some(figure.dtype) };
    let case = || program.case(dtype, file.stride.unwrap_or(1), figure.blocks.unwrap_or(1), figure.threads);
    program.types.contains(&dtype).then(case)
}

/// The number of multiprocessors. SyncPerformance measures 1, 2, half as many, as many and twice as many blocks as there
/// are multiprocessors. 0 for other numbers of blocks.
fn multiprocessors(blocks: &[u32]) -> u32 {
    let sizes: BTreeSet<u32> = blocks.iter().copied().collect();
    match Vec::from_iter(sizes)[..] {
        [1, 2, half, all, twice] if all == 2 * half && twice == 2 * all => all,
        _ => 0,
    }
}

fn write_rows(output: &Path, rows: &[Row]) -> Result<RunDirectory, ImportError> {
    let directory = RunDirectory::create(output).map_err(|error| match error {
        RunDirectoryError::NotEmpty(path) => {
            ImportError::Usage(format!("{} is not empty; name another directory with -o", path.display()))
        }
        other => other.into(),
    })?;
    let mut journal = Journal::open(&directory)?;
    for row in rows {
        journal.append(row, &[], &[])?;
    }
    Ok(directory)
}

/// Copies the licence of the figures from their directory or the one above. A link or a large file does not count.
fn keep_license(results: &Path, output: &Path) -> Result<(), ImportError> {
    let resolved = results.canonicalize().unwrap_or_else(|_| results.to_owned());
    let Some(license) = resolved.ancestors().take(2).map(|folder| folder.join(LICENSE)).find(|path| is_license(path))
    else {
        return Ok(());
    };
    let text = data_file::read(&license).map_err(ImportError::in_file(&license))?;
    std::fs::write(output.join(LICENSE), text).map_err(ImportError::in_file(&license))
}

fn is_license(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST_LICENSE)
}

#[cfg(test)]
mod tests {
    use syncscope_core::{Form, Placement};

    use super::*;

    #[test]
    fn multiprocessors_follow_from_the_blocks() {
        assert_eq!(multiprocessors(&[80, 1, 2, 20, 40, 1]), 40);
        assert_eq!(multiprocessors(&[1, 2, 132]), 0);
        assert_eq!(multiprocessors(&[]), 0);
    }

    #[test]
    fn the_second_version_of_a_program_is_used() {
        let file = |program: &str, ms| {
            let text = format!("{program}\nn iter,1000\n\"\"\nn_blocks,1\ntype mode,aggregate,32\nint,max,{ms}\n");
            ResultFile::parse(&text).unwrap()
        };
        let mut results = Results::default();
        for (program, ms) in [("cuda_atomiccas_scalar_pass", "1e-6"), ("cuda_atomiccas_scalar_pass_v2", "3e-6")] {
            let (path, file) = (PathBuf::from(format!("/x/system/GPU/{program}/runtimes.csv")), file(program, ms));
            results.record_system(&path, &file);
            results.add(&file, &Catalogue::default()).unwrap();
        }
        let rows: Vec<_> = results.rows.values().collect();
        assert_eq!(rows.len(), 1);
        assert!((rows[0].0.ns.unwrap().value() - 3.0).abs() < 1e-9);
        assert!(results.warnings()[1].starts_with("ignored cuda_atomiccas_scalar_pass: "), "{:?}", results.warnings());
        assert_eq!((results.systems, results.devices), (["/x/system".into()].into(), ["/x/system/GPU".into()].into()));
    }

    /// Imports these files, each with its folder.
    fn imported(files: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        for (program, text) in files {
            std::fs::create_dir_all(folder.path().join(program)).unwrap();
            std::fs::write(folder.path().join(program).join(RESULT_FILE), text).unwrap();
        }
        let (out, note) = (folder.path().join("run"), |_: &str| {});
        let target = Target { out: &out, machine: None, command: &[], catalogue: &Catalogue::default(), note: &note };
        import_results(folder.path(), false, &target).map_err(|error| error.to_string())
    }

    #[test]
    fn a_case_with_two_figures_has_none() {
        let head = "omp_barrier\nn iter,1000000\n\"\"\ntype mode,aggregate";
        let once = format!("{head},2,4\nint,max,1e-7,2e-7\n");
        assert!(imported(&[("omp_barrier", &once)]).is_ok());
        for text in [format!("{head},2,2\nint,max,1e-7,2e-7\n"), format!("{head},2\nint,max,1e-7\nint,max,2e-7\n")] {
            let error = imported(&[("omp_barrier", &text)]).unwrap_err();
            assert!(error.contains("omp_barrier has a second figure of cpu.barrier.openmp 2 threads"), "{error}");
        }
        let error = imported(&[("one", &once), ("other", &once)]).unwrap_err();
        assert!(error.contains("other") && error.contains("second figure"), "{error}");
    }

    #[test]
    fn two_gpus_are_not_joined_and_what_has_no_figure_is_no_run() {
        let text = "cuda_syncthreads\n\"\"\nn_blocks,1\ntype mode,aggregate,32\nint,max,1e-6\n";
        assert!(imported(&[("A100/cuda_syncthreads", text)]).is_ok());
        let error = imported(&[("A100/cuda_syncthreads", text), ("T4/cuda_syncthreads", text)]).unwrap_err();
        assert!(error.contains("several GPUs") && error.contains("A100, ") && error.contains("T4)"), "{error}");
        let unknown = text.replace("syncthreads", "barrier");
        for (text, reason) in [("omp_barrier\n", "no figure"), (&unknown, "ignored cuda_barrier: unknown program")] {
            let error = imported(&[("A100/program", text)]).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    /// Threads, placement and rounded cost.
    type Found = (Option<u32>, Option<Placement>, Option<f64>);

    /// The rows of three programs that differ only in placement.
    fn barriers(bound: bool) -> (Results, Vec<Found>) {
        let mut results = Results { bound, ..Results::default() };
        for (program, ns) in [("omp_barrier", 90), ("omp_barrier_close", 91), ("omp_barrier_spread", 92)] {
            let text = format!("{program}\nn iter,1000\n\"\"\ntype mode,aggregate,1,2\nint,max,1e-9,{ns}e-9\n");
            results.add(&ResultFile::parse(&text).unwrap(), &Catalogue::default()).unwrap();
        }
        let of = |row: &Row| (row.case.threads, row.case.placement.clone(), row.ns.map(|ns| ns.value().round()));
        let found = results.rows.values().map(|(row, _)| of(row)).collect();
        (results, found)
    }

    #[test]
    fn threads_that_nothing_bound_have_no_placement() {
        let (results, found) = barriers(false);
        let one = (Some(1), Some(Placement::Close), Some(1.0));
        assert_eq!(
            found,
            [one.clone(), (Some(2), Some(Placement::None), Some(90.0))],
            "the program without a placement"
        );
        let warnings = results.warnings();
        assert!(warnings[1].contains("the 2 unused figures differ from these by a median of 1.7 %"), "{warnings:?}");
        let (results, found) = barriers(true);
        assert!(results.repeated.is_empty() && results.warnings().len() == 1, "{:?}", results.warnings());
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.contains(&one) && found.contains(&(Some(2), Some(Placement::Spread), Some(92.0))), "{found:?}");
    }

    #[test]
    fn a_file_describes_what_is_known_of_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("machine.json");
        let describe = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let mut run = Run::new("imported", SystemTime::now());
            run.machine.gpus = vec![GpuMachine { multiprocessors: 40, ..GpuMachine::default() }];
            describe(&mut run, &file).map(|()| run.machine)
        };
        let known = r#"{"machine": {"cpu": {"cores": 20}, "gpus": [{"memory_bytes": 8}]}}"#;
        let machine = describe(known).unwrap();
        let gpu = &machine.gpus[0];
        assert_eq!((machine.cpu.cores, machine.cpu.packages), (20, 0));
        assert_eq!((gpu.memory_bytes, gpu.multiprocessors), (8, 40), "what the file does not name stays");
        for (wrong, word) in [("{", "line 1"), (r#"{"machine": {"cpu": {"core": 20}}}"#, "unknown field `core`")] {
            let Err(ImportError::CouldNot(error)) = describe(wrong) else { panic!("{wrong}") };
            assert!(error.contains("machine.json") && error.contains(word), "{error}");
        }
    }

    #[test]
    fn programs_with_another_line_than_the_default_form_have_its_form() {
        for (program, form) in [
            ("cuda_shfl_xor_sync", Some(Form::Opaque)),
            ("cuda_match_any_sync", Some(Form::Opaque)),
            ("cuda_match_all_sync", Some(Form::Opaque)),
            ("cuda_shfl_down_sync", None),
            ("cuda_vote_all_sync", None),
        ] {
            let text = format!("{program}\nn iter,1000\n\"\"\nn_blocks,1\ntype mode,aggregate,32\nint,max,1e-6\n");
            let mut results = Results::default();
            results.add(&ResultFile::parse(&text).unwrap(), &Catalogue::default()).unwrap();
            let forms: Vec<_> = results.rows.keys().map(|case| case.form).collect();
            assert_eq!(forms, [form], "{program}");
        }
    }
}
