//! Makes and checks an anonymous bundle of a run, for the gallery.
//!
//! A bundle is one compressed JSON object: what `anonymous` keeps of `run.json`, the rows as the run shows them, and
//! their measurement blocks. It is not an archive: no name in it becomes a path.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use syncscope_core::data_file;
use syncscope_core::machine::Environment;
use syncscope_core::run::columns::{self, COLUMNS, Column};
use syncscope_core::run::directory::RunDirectory;
use syncscope_core::run::provenance::Tool;
use syncscope_core::run::{self, Status};
use syncscope_core::units::plural;
use syncscope_core::{Case, CaseId, Catalogue, Detail, Placement, Row, Run, Verdict};
use syncscope_report::{RunData, plain};

/// The largest bundle in bytes, packed and unpacked.
const MOST_BYTES: u64 = 64 << 10;
const MOST_UNPACKED: u64 = 4 << 20;
/// How much of a run a bundle holds. The first extent that fits is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Every row.
    All,
    /// The cases of the quick preset, which other machines have too.
    Quick,
    /// The costs and intervals of the quick preset's cases.
    QuickCosts,
}

impl Extent {
    const EACH: [Self; 3] = [Self::All, Self::Quick, Self::QuickCosts];

    /// The warning that the bundle's run carries.
    const fn warning(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Quick => Some("the bundle has only the cases of the quick preset: all would be too many"),
            Self::QuickCosts => Some(
                "the bundle has only the cases of the quick preset, with their costs and intervals: more would be too much",
            ),
        }
    }
}

/// The columns that [`Extent::QuickCosts`] leaves out of a row, and that every extent leaves out of rows without a
/// number.
const LEFT_OUT: [&str; 16] = [
    "cycles",
    "cycles_low",
    "cycles_high",
    "cycles_within_low",
    "cycles_within_high",
    "fastest_ns",
    "median_ns",
    "slowest_ns",
    "ns_p05",
    "ns_p95",
    "noise",
    "set_aside",
    "iterations",
    "unroll",
    "evidence",
    "clock_hz",
];

/// The reason in a bundle's row without a number.
const NO_REASON: &str = "its run has the reason";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
/// A run without anything that names its owner.
pub struct Bundle {
    run: Run,
    measurements: String,
    details: String,
}

impl Bundle {
    /// Keeps what others need of a run, to this extent.
    fn of(
        RunData { run, rows, details, .. }: &RunData,
        (extent, quick): (Extent, &BTreeSet<CaseId>),
        known: &Catalogue,
    ) -> Result<Self, Box<dyn Error>> {
        // A run finds out which CPUs are near a device, so these cases are looked up without a placement.
        let anywhere = |case: &Case| Case { placement: None, ..case.clone() }.id();
        let planned = |case: &Case| if case.is_on_cpus() { case.id() } else { anywhere(case) };
        let is_meant = |row: &Row| extent == Extent::All || quick.contains(&planned(&row.case));
        let left_out: &[&str] = if extent == Extent::QuickCosts { &LEFT_OUT } else { &[] };
        let (measurements, rows) = quoted(known, rows, left_out, is_meant)?;
        Ok(Self {
            run: anonymous(run, rows.len() as u64, extent),
            measurements,
            details: run::only_details(&rows, details, Detail::MEASUREMENT_BLOCKS)?,
        })
    }
}

/// A packed bundle.
#[derive(Debug)]
pub struct Packed {
    /// The content of the bundle's file.
    pub bytes: Vec<u8>,
    /// The warnings of the bundle's run: what was left out.
    pub warnings: Vec<String>,
    /// The answers to the questions of `.github/ISSUE_TEMPLATE/machine.yml`, before and after the file's name.
    issue: [String; 2],
}

/// Packs as much of a run as fits in a bundle. `quick` are the cases that other machines have too.
///
/// # Errors
/// If the run has no rows for a bundle, or too many.
pub fn pack(data: &RunData, quick: &BTreeSet<CaseId>, known: &Catalogue) -> Result<Packed, Box<dyn Error>> {
    for extent in Extent::EACH {
        let bundle = Bundle::of(data, (extent, quick), known)?;
        let bytes = packed(&bundle)?;
        if bytes.len() as u64 <= MOST_BYTES && bundle.run.planned > 0 {
            return Ok(Packed { bytes, issue: issue(&bundle), warnings: bundle.run.warnings });
        }
    }
    Err(format!("no row of the quick preset, or more than {MOST_BYTES} bytes of them: submit a run of that preset")
        .into())
}

impl Packed {
    /// The text to paste into an issue to which the file is attached.
    pub fn issue(&self, file: &Path) -> String {
        let [before, after] = &self.issue;
        format!("{before}{}{after}", file.display())
    }
}

/// The text to paste, before and after the file's name.
fn issue(bundle: &Bundle) -> [String; 2] {
    let Run { machine, version, preset, planned, warnings, .. } = &bundle.run;
    let mut parts = vec![format!("{} ({} hardware threads)", machine.cpu.model, machine.cpu.hardware_threads)];
    parts.extend(machine.gpus.iter().map(|gpu| gpu.name.clone()));
    let machines = plain(&parts.join(", "));
    let text = format!(
        "### What machine is it, and what else ran on it?\n\n{machines}; [what else ran].\n\n### The run\n\n\
         syncscope {version}, preset {preset}, {}{}. Attach ",
        plural(*planned, "row"),
        warnings.first().map_or_else(String::new, |text| format!("; {text}"))
    );
    [text, " here.\n".to_owned()]
}

/// Keeps what others need of a run and nothing that may name its owner: no command, host, kernel, path, text of a
/// warning or of an operation of the owner's.
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

/// Replaces the names of preloaded libraries: their presence changes figures, but the names belong to the owner.
fn without_names(preloaded: Option<&Vec<String>>) -> Option<Vec<String>> {
    let names = preloaded.filter(|names| !names.is_empty())?;
    Some(names.iter().map(|_| "a library".to_owned()).collect())
}

/// Writes the lines of finished, single-machine catalogue rows for which `is_meant` holds, without the columns in
/// `left_out` and those that follow from others, and returns them with the rows. Verdicts and intervals for another run
/// are those that the run shows: they follow from all its rows and processes, which a bundle does not have. Rows
/// without a number are included, because one of them may be the cheapest; their reasons are text from the machine
/// and are replaced.
fn quoted(
    known: &Catalogue,
    all: &[Row],
    left_out: &[&str],
    is_meant: impl Fn(&Row) -> bool,
) -> Result<(String, Vec<Row>), Box<dyn Error>> {
    let (mut text, mut rows) = (format!("{}\n", columns::names().join(",")), Vec::new());
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in all {
        // Pairs of CPUs do not compete with other rows, and a large machine has thousands of pairs.
        let is_rival = !matches!(row.case.placement, Some(Placement::List(_)));
        let is_resolved = row.verdict == Verdict::Resolved;
        let is_quoted = (is_resolved || (is_rival && !row.verdict.is_failure())) && !row.provisional && is_meant(row);
        if !is_quoted || row.case.domain_and_family().0 == "mpi" || known.facts(&row.case.primitive).is_none() {
            continue;
        }
        let left_out = if is_resolved { left_out } else { &LEFT_OUT };
        let is_kept = |column: &Column| !column.is_derived(true) && !left_out.contains(&column.name);
        // A row with a number of runs keeps the interval for another run as written.
        let row = Row { runs: row.runs.or(Some(1)), ..row.clone() };
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

fn packed(bundle: &Bundle) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&serde_json::to_vec(bundle)?)?;
    encoder.finish()
}

/// Reads a bundle from its file.
///
/// # Errors
/// If the file cannot be read, is too large, or is not a bundle.
pub fn read(file: &Path) -> Result<Bundle, Box<dyn Error>> {
    let packed = data_file::read_at_most(file, MOST_BYTES)?;
    Ok(serde_json::from_slice(&data_file::unpack(&packed, MOST_UNPACKED)?)?)
}

/// Writes a bundle's run to a directory, reads it like any run, and returns the number of its rows.
///
/// # Errors
/// If [`pack`] would not have made this bundle, with the reason.
pub fn unpack(bundle: &Bundle, directory: &RunDirectory, known: &Arc<Catalogue>) -> Result<u64, Box<dyn Error>> {
    let Bundle { run, measurements, details } = bundle;
    if !Extent::EACH.map(|extent| anonymous(run, run.planned, extent)).contains(run) {
        return Err("its run holds more than `syncscope submit` writes".into());
    }
    let path = directory.path();
    fs::write(directory.measurements(), measurements)?;
    fs::write(directory.details(), details)?;
    directory.write_run(run)?;
    let data = RunData::load(path, Arc::clone(known))?;
    let (_, rows) = quoted(known, &data.rows, &[], |_| true)?;
    if let Some(damage) = data.damage.warnings().next() {
        return Err(damage.into());
    }
    if rows.is_empty() || rows.len() != data.rows.len() || rows.len() as u64 != run.planned {
        return Err(format!("{} of {} rows are finished and of the catalogue", rows.len(), data.rows.len()).into());
    }
    let defect = data.rows.iter().find_map(|row| Some(format!("{}: {}", row.case, row.defect()?)));
    defect.map_or(Ok(run.planned), |defect| Err(defect.into()))
}
