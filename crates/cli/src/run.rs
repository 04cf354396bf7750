//! `syncscope run`.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use syncscope_core::journal::Journal;
use syncscope_core::machine::MeasuredTopology;
use syncscope_core::profile::{self, Phase};
use syncscope_core::run::{SCHEMA, Status, timestamp};
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Cancel, CaseId, Preset, Run};
use syncscope_report::{RunData, page, table};

use crate::args::RunArguments;
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::measuring::Measuring;
use crate::plan::{Choice, Plan};
use crate::progress::Progress;
use crate::terminal;

/// Measures this machine.
pub(crate) fn run(arguments: &RunArguments) -> Result<Outcome, Failure> {
    let started = Instant::now();
    if std::env::var_os(PROFILE).is_some() {
        profile::ask();
    }
    // Checked before the machine is looked at, which takes a moment.
    let order = Order::new(arguments)?;
    let mut progress = Progress::new("looking at this machine");
    let opened = profile::time(Phase::Open, || Laboratories::open(arguments.device.as_deref()));
    let mut laboratories = opened.inspect_err(|_| progress.finish())?;
    let plan =
        Plan::new(&mut laboratories, order.preset, &order.choice, order.seed).inspect_err(|_| progress.finish())?;
    if arguments.dry_run {
        progress.finish();
        return show_plan(&plan).map(|()| Outcome::Done);
    }
    let session = Session::begin(&order, &mut laboratories, &plan).inspect_err(|_| progress.finish())?;
    progress.suspend(|| {
        session.run.warnings.iter().for_each(|text| terminal::warning(text));
        laboratories.without_gpu().iter().for_each(|text| terminal::note(text));
    });
    let cancel = cancel_on_signal();
    let measured = Measuring {
        preset: order.preset,
        cancel,
        deadline: arguments.budget.map(|budget| started + budget),
        seed: order.seed,
        journal: Journal::open(&session.directory)?,
        directory: &session.directory,
        progress: &mut progress,
        listings: HashSet::new(),
    }
    .measure(laboratories.all(), &plan.without(&session.finished));
    progress.finish();
    let ended = profile::time(Phase::Report, || session.end(measured, &mut laboratories));
    show_account(started.elapsed());
    ended
}

/// Asks for a table of where the time went; see CONTRIBUTING.md.
const PROFILE: &str = "SYNCSCOPE_PROFILE";

fn show_account(elapsed: Duration) {
    let Some(account) = profile::account() else { return };
    terminal::note(&format!("{:<16}{:>10.3} s", "all", elapsed.as_secs_f64()));
    for profile::Entry { phase, spent, times } in account {
        let each_us = spent.as_secs_f64() * 1e6 / times as f64;
        let spent_s = spent.as_secs_f64();
        terminal::note(&format!("{:<16}{spent_s:>10.3} s{times:>10} times{each_us:>12.1} us each", phase.as_str()));
    }
}

/// What was asked for, by the command line or by the run that is resumed.
struct Order {
    preset: Preset,
    choice: Choice,
    only: Vec<String>,
    skip: Vec<String>,
    seed: u64,
    place: Place,
}

/// Where the results go.
enum Place {
    New(PathBuf),
    Resumed(RunDirectory, Box<Run>),
}

impl Order {
    fn new(arguments: &RunArguments) -> Result<Self, Failure> {
        let Some(path) = &arguments.resume else {
            return Ok(Self {
                preset: arguments.preset,
                choice: Choice::new(&arguments.only, &arguments.skip)?,
                only: arguments.only.clone(),
                skip: arguments.skip.clone(),
                seed: arguments.seed.unwrap_or_else(|| fastrand::u64(..)),
                place: Place::New(arguments.out.clone().unwrap_or_else(|| default_folder(arguments.preset))),
            });
        };
        let directory = RunDirectory::open(path)?;
        let run = directory.read_run()?;
        if run.status == Status::Done {
            return Err(Failure::Usage(format!("{} is done; there is nothing to go on with", path.display())));
        }
        let preset = run
            .preset
            .parse()
            .map_err(|error| Failure::CouldNot(format!("{}: {error}", directory.run_json().display())))?;
        Ok(Self {
            preset,
            choice: Choice::new(&run.only, &run.skip)?,
            only: run.only.clone(),
            skip: run.skip.clone(),
            seed: run.seed,
            place: Place::Resumed(directory, Box::new(run)),
        })
    }
}

/// `syncscope-runs/2026-01-31T12-00-00Z-quick`: sorts by time and is a name on every file system.
fn default_folder(preset: Preset) -> PathBuf {
    let moment = timestamp(SystemTime::now()).replace(':', "-");
    PathBuf::from("syncscope-runs").join(format!("{moment}-{preset}"))
}

/// A run directory that is being filled.
struct Session {
    directory: RunDirectory,
    run: Run,
    finished: HashSet<CaseId>,
}

impl Session {
    fn begin(order: &Order, laboratories: &mut Laboratories, plan: &Plan) -> Result<Self, Failure> {
        let session = match &order.place {
            Place::New(path) => Self {
                directory: RunDirectory::create(path)?,
                run: new_run(order, laboratories, plan),
                finished: HashSet::new(),
            },
            Place::Resumed(directory, run) => {
                if run.machine != laboratories.machine() {
                    return Err(Failure::Usage(format!(
                        "{} was measured on another machine ({}); start a new run here",
                        directory.path().display(),
                        run.machine.cpu.model
                    )));
                }
                // What the run has found so far is found again at its end, with all that comes now.
                let mut run = run.as_ref().clone();
                let found = findings(directory, laboratories)?;
                run.warnings.retain(|warning| !found.contains(warning));
                let rows = directory.read_rows()?;
                let finished: HashSet<CaseId> =
                    rows.iter().filter(|row| !row.provisional).map(|row| row.case.id()).collect();
                directory.forget_all_but(&finished)?;
                Self {
                    directory: directory.clone(),
                    run: Run { status: Status::Running, ended: None, ..run },
                    finished,
                }
            }
        };
        session.directory.write_run(&session.run)?;
        Ok(session)
    }

    /// Writes how the run ended and the report, and shows the table.
    fn end(mut self, measured: Result<Status, Failure>, laboratories: &mut Laboratories) -> Result<Outcome, Failure> {
        // A full disk ends the measuring; what is in the journal is a run all the same.
        self.run.status = *measured.as_ref().unwrap_or(&Status::Interrupted);
        self.run.ended = Some(timestamp(SystemTime::now()));
        self.run.warnings.extend(findings(&self.directory, laboratories)?);
        self.run.measured_topology = self.measured_topology(laboratories)?;
        self.directory.write_run(&self.run)?;
        let status = measured?;
        self.directory.tidy()?;
        let data = RunData::load(self.directory.path())?;
        let report = self.directory.report();
        std::fs::write(&report, page::render(std::slice::from_ref(&data)))
            .map_err(|error| Failure::CouldNot(format!("{}: {error}", report.display())))?;
        terminal::show(&table::summary(&data, terminal::width(), terminal::colour()))?;
        terminal::note(&format!("the page is {}", report.display()));
        let provisional = data.provisional();
        let open = if provisional > 0 { format!("{provisional} provisional rows; ") } else { String::new() };
        let go_on = format!("{open}go on with: syncscope run --resume {}", self.directory.path().display());
        match status {
            Status::Interrupted | Status::Running => {
                terminal::note(&format!("interrupted; {go_on}"));
                return Ok(Outcome::Interrupted);
            }
            Status::BudgetSpent => terminal::note(&format!("the budget is spent; {go_on}")),
            Status::Done => {}
        }
        let failed = data.rows.iter().any(|row| row.verdict.is_failure());
        Ok(if failed { Outcome::SomeCasesFailed } else { Outcome::Done })
    }

    /// What all rows together say about the topology; said aloud where it contradicts what the system reports.
    fn measured_topology(&self, laboratories: &mut Laboratories) -> Result<Option<MeasuredTopology>, Failure> {
        let rows = self.directory.read_rows()?;
        let topology = laboratories.all().iter().find_map(|laboratory| laboratory.measured_topology(&rows));
        let contradictions = topology.iter().flat_map(|topology| &topology.contradictions);
        contradictions.for_each(|text| terminal::warning(text));
        Ok(topology)
    }
}

/// What the rows and details of a run say about what disturbed it.
fn findings(directory: &RunDirectory, laboratories: &mut Laboratories) -> Result<Vec<String>, Failure> {
    let (rows, details) = (directory.read_rows()?, directory.read_details()?);
    Ok(laboratories.all().iter().flat_map(|laboratory| laboratory.findings(&rows, &details)).collect())
}

fn new_run(order: &Order, laboratories: &mut Laboratories, plan: &Plan) -> Run {
    let mut warnings = laboratories.warnings();
    warnings.extend(laboratories.notes(plan));
    Run {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().collect(),
        preset: order.preset.to_string(),
        only: order.only.clone(),
        skip: order.skip.clone(),
        seed: order.seed,
        status: Status::Running,
        started: timestamp(SystemTime::now()),
        ended: None,
        planned: plan.len() as u64,
        warnings,
        machine: laboratories.machine(),
        environment: laboratories.environment(),
        measured_topology: None,
    }
}

/// A flag that Ctrl-C and the wish of the system to stop raise.
fn cancel_on_signal() -> Cancel {
    let cancel = Cancel::new();
    let raised = cancel.clone();
    if let Err(error) = ctrlc::set_handler(move || raised.cancel()) {
        terminal::warning(&format!("Ctrl-C will not end the run in good order: {error}"));
    }
    cancel
}

fn show_plan(plan: &Plan) -> Result<(), Failure> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in plan.parts.iter().flatten() {
        *counts.entry(case.primitive.as_str()).or_default() += 1;
    }
    for (primitive, count) in counts {
        terminal::show(&format!("{count:6}  {primitive}"))?;
    }
    terminal::show(&format!("{:6}  cases in all", plan.len()))
}
