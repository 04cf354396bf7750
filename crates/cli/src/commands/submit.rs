//! `syncscope submit`: an anonymous bundle of a run, for the gallery, and its check.
//!
//! A bundle is one compressed JSON object: what [`anonymous`] leaves of `run.json`, and two tables as in the folder of a run. It is
//! no archive: no name in it becomes a path.

use std::collections::HashSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use syncscope_core::data_file;
use syncscope_core::machine::Environment;
use syncscope_core::run::columns::{self, COLUMNS, Column};
use syncscope_core::run::directory::RunDirectory;
use syncscope_core::run::provenance::Tool;
use syncscope_core::run::{IMPORTED, Status};
use syncscope_core::units::plural;
use syncscope_core::{Case, CaseId, Detail, Placement, Preset, Row, Run, Verdict};
use syncscope_gpu::DeviceLimits;
use syncscope_host::guard::temporary_folder;
use syncscope_papers::folder_name;
use syncscope_report::plain;

use crate::args::SubmitArguments;
use crate::catalogue::catalogue;
use crate::failure::{Failure, Outcome};
use crate::{output, runs, terminal};

/// The largest bundle, as it is and unpacked.
const MOST_BYTES: u64 = 64 << 10;
const MOST_UNPACKED: u64 = 4 << 20;
/// How much of a run a bundle holds: as much as fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Every row.
    All,
    /// The cases that the quick preset has, which are those that other machines have, too.
    Quick,
    /// Of these the cost and its interval.
    QuickCosts,
}

impl Extent {
    const EACH: [Self; 3] = [Self::All, Self::Quick, Self::QuickCosts];

    /// What the run of the bundle says of it.
    const fn warning(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Quick => Some("the bundle has the cases of the preset quick alone: all are too many for it"),
            Self::QuickCosts => Some(
                "the bundle has the cases of the preset quick alone, and of them costs and their intervals within the run: more \
                 is too much for it",
            ),
        }
    }
}

/// What [`Extent::QuickCosts`] leaves out of a row, besides the figures of processes, and each extent of rows without a number.
const LEFT_OUT: [&str; 15] = [
    "cycles",
    "cycles_within_low",
    "cycles_within_high",
    "fastest_ns",
    "median_ns",
    "slowest_ns",
    "ns_p05",
    "ns_p95",
    "noise",
    "pairs",
    "set_aside",
    "iterations",
    "unroll",
    "evidence",
    "clock_hz",
];

/// Why a row has no number, as far as a bundle says it.
const NO_REASON: &str = "its run has the reason";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bundle {
    run: Run,
    measurements: String,
    details: String,
}

impl Bundle {
    /// What others need of a run, to this extent.
    fn of(directory: &RunDirectory, run: &Run, extent: Extent) -> Result<Self, Failure> {
        let quick = (extent != Extent::All).then(|| quick_cases(run));
        let has_costs_alone = extent == Extent::QuickCosts;
        // Which CPUs are near a device, a run finds out.
        let anywhere = |case: &Case| Case { placement: None, ..case.clone() }.id();
        let planned = |case: &Case| if case.is_on_cpus() { case.id() } else { anywhere(case) };
        let is_meant = |row: &Row| quick.as_ref().is_none_or(|cases| cases.contains(&planned(&row.case)));
        let left_out: &[&str] = if has_costs_alone { &LEFT_OUT } else { &[] };
        let (measurements, rows) = quoted(directory.read_rows()?, run.repeat.is_some(), left_out, is_meant)
            .map_err(Failure::in_file(&directory.measurements()))?;
        let details = details(directory, if has_costs_alone { &[] } else { &rows })?;
        Ok(Self { run: anonymous(run, rows.len() as u64, extent), measurements, details })
    }
}

/// The cases of the preset quick on the machine of a run.
fn quick_cases(run: &Run) -> HashSet<CaseId> {
    let on_gpu = run.machine.gpus.first().map(|gpu| {
        let limits = DeviceLimits { multiprocessors: gpu.multiprocessors, max_threads: gpu.max_threads_per_block };
        syncscope_gpu::cases(Preset::Quick, &limits)
    });
    let cases = syncscope_cpu::cases(Preset::Quick, &run.machine.cpu).into_iter().chain(on_gpu.into_iter().flatten());
    cases.map(|case| case.id()).collect()
}

/// Makes a bundle, or checks one.
pub(crate) fn submit(arguments: &SubmitArguments) -> Result<Outcome, Failure> {
    let SubmitArguments { path, check: is_check, out } = arguments;
    if *is_check && let Some(out) = out {
        folder_name(out.clone()).map_err(|error| Failure::Usage(error.to_owned()))?;
        output::check(out, [path])?;
    }
    match out {
        _ if !is_check => make(path, out.as_deref()),
        Some(out) => check(path, out),
        None => {
            let scratch = temporary_folder().map_err(|error| Failure::CouldNot(error.to_string()))?;
            check(path, scratch.path())
        }
    }
}

fn make(path: &Path, out: Option<&Path>) -> Result<Outcome, Failure> {
    let directory = RunDirectory::open(path)?;
    let data = runs::load(path)?;
    let provisional = data.rows.iter().filter(|row| row.provisional).count();
    if provisional > 0 {
        let finish = format!("finish them first by `{}`", terminal::resume_command(path));
        terminal::note(&format!("left out: {}; {finish}", plural(provisional, "provisional row")));
    }
    let run = directory.read_run()?;
    if run.preset == IMPORTED || run.experiment().is_some() {
        return Err(Failure::Usage(format!("{} is no run of `syncscope run`", path.display())));
    }
    let out = out.map_or_else(|| PathBuf::from(format!("{}.json.gz", data.name)), Path::to_owned);
    output::check(&out, [path])?;
    let (mut packed, mut bundle) = (Vec::new(), None);
    for extent in Extent::EACH {
        let made = bundle.insert(Bundle::of(&directory, &run, extent)?);
        packed = pack(made).map_err(Failure::in_file(&out))?;
        if packed.len() as u64 <= MOST_BYTES {
            break;
        }
    }
    let is_resolved = |row: &Row| row.verdict == Verdict::Resolved && !row.provisional;
    if !data.rows.iter().any(is_resolved) {
        return Err(Failure::CouldNot("no row is resolved and finished".to_owned()));
    }
    let Some(bundle) = bundle.filter(|bundle| packed.len() as u64 <= MOST_BYTES && bundle.run.planned > 0) else {
        return Err(Failure::CouldNot(format!(
            "no row of the preset quick, or more than {MOST_BYTES} bytes of them: submit a run of that preset"
        )));
    };
    bundle.run.warnings.iter().for_each(|text| terminal::note(text));
    output::write(&out, &packed)?;
    terminal::show(&issue(&bundle, &out))
}

/// The text to paste: the answers to the questions of `.github/ISSUE_TEMPLATE/machine.yml`.
fn issue(bundle: &Bundle, out: &Path) -> String {
    let Run { machine, version, preset, planned, warnings, .. } = &bundle.run;
    let mut parts = vec![format!("{} ({} hardware threads)", machine.cpu.model, machine.cpu.hardware_threads)];
    parts.extend(machine.gpus.iter().map(|gpu| gpu.name.clone()));
    let machines = plain(&parts.join(", "));
    format!(
        "### What machine is it, and what else ran on it?\n\n{}; [what else ran].\n\n### The run\n\n\
         syncscope {version}, preset {preset}, {}{}. Attach {} here.\n",
        machines,
        plural(*planned, "row"),
        warnings.first().map_or_else(String::new, |text| format!("; {text}")),
        out.display()
    )
}

/// What others need of a run, and nothing that may name its owner: no command, host, kernel, path, text of a warning or of an own
/// operation.
fn anonymous(run: &Run, rows: u64, extent: Extent) -> Run {
    let day: String = run.started.chars().take("2026-11-26".len()).collect();
    let of = &run.environment;
    Run {
        schema: run.schema,
        version: run.version.clone(),
        preset: run.preset.clone(),
        seed: run.seed,
        status: Status::Done,
        started: format!("{day}T00:00:00Z"),
        planned: rows,
        warnings: extent.warning().map(str::to_owned).into_iter().collect(),
        machine: run.machine.clone(),
        environment: Environment {
            cpu_quota: of.cpu_quota,
            governor: of.governor.clone(),
            boost: of.boost,
            nvidia_driver: of.nvidia_driver.clone(),
            cuda_driver: of.cuda_driver.clone(),
            nvrtc: of.nvrtc.clone(),
            emulator: of.emulator.clone(),
            preloaded: without_names(of.preloaded.as_ref()),
            ..Environment::default()
        },
        measured_topology: run.measured_topology.clone(),
        tool: run.tool.as_ref().map(|tool| Tool { binary: None, ..tool.clone() }),
        repeat: run.repeat,
        between_runs: run.between_runs.clone(),
        ..Run::default()
    }
}

/// That libraries were preloaded changes figures; what they are called is their owner's.
fn without_names(preloaded: Option<&Vec<String>>) -> Option<Vec<String>> {
    let names = preloaded.filter(|names| !names.is_empty())?;
    Some(names.iter().map(|_| "a library".to_owned()).collect())
}

/// The lines of finished rows of the catalogue on one machine that are meant, without these columns and what follows from others,
/// and the rows. What has no number is among them: it may be the cheapest. Reasons are texts of the machine.
fn quoted(
    all: Vec<Row>,
    joins_runs: bool,
    left_out: &[&str],
    is_meant: impl Fn(&Row) -> bool,
) -> Result<(String, Vec<Row>), Box<dyn Error>> {
    let known = catalogue();
    let (mut text, mut rows) = (format!("{}\n", columns::names().join(",")), Vec::new());
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in all {
        // Pairs of CPUs are no rivals of others, and a large machine has thousands.
        let is_rival = !matches!(row.case.placement, Some(Placement::List(_)));
        let says = row.verdict == Verdict::Resolved || (is_rival && !row.verdict.is_failure());
        let is_quoted = says && !row.provisional && is_meant(&row);
        if !is_quoted || row.case.domain_and_family().0 == "mpi" || known.facts(&row.case.primitive).is_none() {
            continue;
        }
        let is_resolved = row.verdict == Verdict::Resolved;
        let left_out = if is_resolved { left_out } else { &LEFT_OUT };
        let is_kept = |column: &Column| !column.is_derived(joins_runs) && !left_out.contains(&column.name);
        let record = row.to_record();
        let cells = COLUMNS.iter().zip(&record).map(|(column, cell)| match column.name {
            "reason" if !is_resolved => NO_REASON,
            _ if is_kept(column) => cell,
            _ => "",
        });
        writer.write_record(cells)?;
        rows.push(row);
    }
    text.push_str(&String::from_utf8(writer.into_inner()?)?);
    Ok((text, rows))
}

/// The figures of the resolved ones of these rows in each process, of which their intervals for another run are made.
fn details(directory: &RunDirectory, rows: &[Row]) -> Result<String, Failure> {
    let all = directory.details_of(rows)?;
    let mut text = "case_id,name,actor,value\n".to_owned();
    for id in rows.iter().filter(|row| row.verdict == Verdict::Resolved).map(|row| row.case.id()) {
        let of_row = all.get(&id).into_iter().flatten().filter(|detail| detail.name == Detail::PROCESS_NS);
        for (actor, value) in of_row.filter_map(|detail| Some((detail.actor?, detail.value))) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{},{},{actor},{value}", id.0, Detail::PROCESS_NS);
        }
    }
    Ok(text)
}

fn pack(bundle: &Bundle) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&serde_json::to_vec(bundle)?)?;
    encoder.finish()
}

/// Writes the run of a bundle to `out` and reads it as any run. What is no bundle leaves nothing there.
fn check(file: &Path, out: &Path) -> Result<Outcome, Failure> {
    let bundle = read(file).map_err(Failure::in_file(file))?;
    let directory = RunDirectory::create(out)?;
    if let Err(reason) = written(&bundle, &directory) {
        fs::remove_dir_all(out).map_err(Failure::in_file(file))?;
        return Err(Failure::in_file(file)(reason.to_string().replace(&format!("{}", out.display()), "the bundle")));
    }
    terminal::note(&format!("{}: {} rows of a bundle", file.display(), bundle.run.planned));
    Ok(Outcome::Done)
}

fn read(file: &Path) -> Result<Bundle, Box<dyn Error>> {
    let packed = data_file::read_at_most(file, MOST_BYTES)?;
    Ok(serde_json::from_slice(&data_file::unpack(&packed, MOST_UNPACKED)?)?)
}

/// Why the run of a bundle is none that `submit` makes.
fn written(bundle: &Bundle, directory: &RunDirectory) -> Result<(), Box<dyn Error>> {
    let Bundle { run, measurements, details } = bundle;
    if !Extent::EACH.map(|extent| anonymous(run, run.planned, extent)).contains(run) {
        return Err("its run holds more than `syncscope submit` writes".into());
    }
    let path = directory.path();
    fs::write(directory.measurements(), measurements)?;
    fs::write(directory.details(), details)?;
    directory.write_run(run)?;
    let (_, rows) = quoted(directory.read_rows()?, run.repeat.is_some(), &[], |_| true)?;
    let data = runs::load(path)?;
    if let Some(damage) = data.damage.warnings().next() {
        return Err(damage.into());
    }
    if rows.is_empty() || rows.len() != data.rows.len() || rows.len() as u64 != run.planned {
        return Err(format!("{} of {} rows are finished and of the catalogue", rows.len(), data.rows.len()).into());
    }
    let defect = data.rows.iter().find_map(|row| Some(format!("{}: {}", row.case, row.defect()?)));
    defect.map_or(Ok(()), |defect| Err(defect.into()))
}
