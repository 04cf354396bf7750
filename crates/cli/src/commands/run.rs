//! `syncscope run`: measures this machine, then writes the page and shows the table.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use syncscope_core::profile::{self, Phase};
use syncscope_core::run::directory::RunDirectory;
use syncscope_core::run::provenance::StolenTime;
use syncscope_core::run::{Status, timestamp};
use syncscope_core::session::plan::Plan;
use syncscope_core::session::{Finished, Here, Limits, Session, SessionError};
use syncscope_core::{CaseId, Preset, Run, Verdict};
use syncscope_host::{cpu_list, scheduling};
use syncscope_report::{page, table};

use crate::args::{Arguments, AxisArguments, Command, CpuList, RunArguments};
use crate::axes::AxisFilter;
use crate::catalogue::catalogue;
use crate::commands::repeat;
use crate::commands::together::{self, Together};
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::launcher::{self, Part};
use crate::page_file;
use crate::progress::Progress;
use crate::provenance::{self, SessionStart};
use crate::runs;
use crate::selection::Selection;
use crate::signals::cancel_on_signal;
use crate::supervisor::board::{self, Step};
use crate::supervisor::decision::Instruction;
use crate::supervisor::{self, Resuming, supervised};
use crate::terminal;

/// Measures this machine.
pub(crate) fn run(arguments: &RunArguments) -> Result<Outcome, Failure> {
    match launcher::part(arguments)? {
        Part::Alone => measure(arguments, None),
        Part::Nothing => Ok(Outcome::Done),
        Part::Together(process) => match together::join(arguments, process)? {
            Some(together) => measure(arguments, Some(together)),
            None => Ok(Outcome::Done),
        },
        Part::Node(directory) if arguments.resume.is_some() && is_complete(&directory) => Ok(Outcome::Done),
        Part::Node(directory) => measure(&in_directory(arguments, directory), None),
    }
}

/// The same, once it is known what this process measures: for itself, in a process that this one watches, or together with
/// others, which only this process can be part of.
fn measure(arguments: &RunArguments, together: Option<Together>) -> Result<Outcome, Failure> {
    if let Some(count) = repeats(arguments)? {
        return repeat::run(arguments, count);
    }
    let started = Instant::now();
    // No clock counts as far as the longest budgets.
    let deadline = arguments.budget.and_then(|budget| started.checked_add(budget));
    if together.is_some() {
        return measure_here(arguments, together, started, deadline);
    }
    let resuming = Resuming { devices: arguments.device.as_deref(), deadline };
    supervised(resuming, || measure_here(arguments, None, started, deadline))
}

/// Measures in this process.
fn measure_here(
    arguments: &RunArguments,
    together: Option<Together>,
    started: Instant,
    deadline: Option<Instant>,
) -> Result<Outcome, Failure> {
    let (processes, cancel) = together.map(|together| (together.laboratory, together.cancel)).unzip();
    if std::env::var_os(PROFILE).is_some() {
        profile::enable();
    }
    // Checked first, because opening the laboratories takes time.
    let request = Request::new(arguments)?;
    if let Some(CpuList(cpus)) = &request.cpus {
        restrict_to(cpus)?;
    }
    let mut progress = Progress::new("inspecting this machine");
    let opened = profile::time(Phase::Open, || Laboratories::open(request.devices.as_deref()));
    let mut laboratories = opened.inspect_err(|_| progress.finish())?.with_processes(processes);
    let plan = request.selection.plan(&mut laboratories, request.preset, request.seed);
    let plan = plan.inspect_err(|_| progress.finish())?;
    for value in request.selection.missing_values(&plan) {
        progress.suspend(|| terminal::warning(&format!("no case of any preset has {value}")));
    }
    if arguments.dry_run {
        progress.finish();
        return show_plan(&plan, request.preset, arguments).map(|()| Outcome::Done);
    }
    profile::time(Phase::Crosscheck, || laboratories.check_chains(request.seed));
    let begun = begin(&request, &mut laboratories, plan).inspect_err(|_| progress.finish());
    if let Err(SessionError::Complete(path)) = &begun {
        // It was not when this process started.
        terminal::note(&"another process has completed the run meanwhile");
        laboratories.dismiss_processes()?;
        let directory = RunDirectory::open(path)?;
        return report(&Finished { directory, status: Status::Done, contradictions: Vec::new() });
    }
    let mut session = begun?;
    board::begin(&Step::Preparing);
    if !request.target.is_known() {
        progress.suspend(|| {
            session.run().warnings.iter().for_each(|text| terminal::warning(text));
            laboratories.without_gpu().iter().for_each(|text| terminal::note(text));
        });
    }
    let start = SessionStart::now(&laboratories);
    let limits = Limits { cancel: cancel.unwrap_or_else(cancel_on_signal), deadline };
    let measured = session.measure(&mut laboratories.all(), &limits, &mut progress);
    progress.finish();
    board::begin(&Step::Ending);
    let dismissed = laboratories.dismiss_processes();
    let record = start.ended(&laboratories);
    record.stolen.as_ref().and_then(StolenTime::warning).iter().for_each(|text| terminal::warning(text));
    session.add_record(record);
    let lost_at = session.lost_at().filter(|_| !limits.cancel.is_cancelled() && supervisor::another_follows()).cloned();
    let outcome = profile::time(Phase::Report, || {
        let finished = session.finish(measured, &laboratories.all())?;
        lost_at.map_or_else(|| report(&finished), |case| Ok(supervisor::lost(&case)))
    });
    dismissed?;
    show_profile(started.elapsed());
    outcome
}

/// The same, for the directory of a node.
fn in_directory(arguments: &RunArguments, directory: PathBuf) -> RunArguments {
    let (out, resume) = if arguments.resume.is_some() { (None, Some(directory)) } else { (Some(directory), None) };
    RunArguments { out, resume, ..arguments.clone() }
}

/// Whether a run has nothing left to measure.
pub(super) fn is_complete(directory: &Path) -> bool {
    let is_finished = |directory: RunDirectory| directory.is_finished(&directory.read_run()?);
    RunDirectory::open(directory).and_then(is_finished).unwrap_or(false)
}

/// How many runs are asked for: by the command line, or by the run that is resumed. `None` for one.
fn repeats(arguments: &RunArguments) -> Result<Option<u32>, Failure> {
    let of_resumed = match &arguments.resume {
        Some(path) => RunDirectory::open(path)?.read_run()?.repeat,
        None => None,
    };
    Ok(of_resumed.or(arguments.repeat).filter(|count| *count > 1 && !arguments.dry_run))
}

/// The environment variable that requests a table of the time per phase; see CONTRIBUTING.md.
const PROFILE: &str = "SYNCSCOPE_PROFILE";

fn show_profile(elapsed: Duration) {
    let Some(account) = profile::phase_times() else { return };
    terminal::note(&format!("{:<16}{:>10.3} s", "all", elapsed.as_secs_f64()));
    for profile::PhaseTime { phase, spent, times } in account {
        let each_us = spent.as_secs_f64() * 1e6 / times as f64;
        let spent_s = spent.as_secs_f64();
        terminal::note(&format!("{:<16}{spent_s:>10.3} s{times:>10} times{each_us:>12.1} µs each", phase.as_str()));
    }
}

/// The requested measurement, from the command line or from the run that is resumed.
struct Request {
    preset: Preset,
    selection: Selection,
    only: Vec<String>,
    skip: Vec<String>,
    seed: u64,
    cpus: Option<CpuList>,
    devices: Option<Vec<u32>>,
    target: Target,
}

/// The directory of the results.
enum Target {
    New(PathBuf),
    Resumed(RunDirectory, Box<Run>),
}

impl Target {
    fn path(&self) -> &Path {
        match self {
            Self::New(path) => path,
            Self::Resumed(directory, _) => directory.path(),
        }
    }

    /// Whether the process before this one measured the same run: its warnings have been shown.
    fn is_known(&self) -> bool {
        matches!(self, Self::Resumed(..)) && board::instructions().contains(&Instruction::Again)
    }
}

impl Request {
    fn new(arguments: &RunArguments) -> Result<Self, Failure> {
        let Some(path) = &arguments.resume else {
            return Ok(Self {
                preset: arguments.preset,
                selection: Selection::new(&arguments.only, &arguments.skip)?
                    .with_axes(AxisFilter::new(&arguments.axes)),
                only: arguments.only.clone(),
                skip: arguments.skip.clone(),
                seed: arguments.seed.unwrap_or_else(|| fastrand::u64(..)),
                cpus: arguments.cpus.clone(),
                devices: arguments.device.clone(),
                target: Target::New(arguments.out.clone().unwrap_or_else(|| default_directory(arguments.preset))),
            });
        };
        let directory = RunDirectory::open(path)?;
        let run = directory.read_run()?;
        if let Some(experiment) = run.experiment() {
            return Err(Failure::Usage(format!(
                "{} holds a published experiment, which is not resumed; measure it again with `syncscope {experiment}`",
                path.display()
            )));
        }
        // Known before the laboratories open, which takes time. It counts again once no other process can write.
        if directory.is_finished(&run)? {
            return Err(SessionError::Complete(path.clone()).into());
        }
        let preset = run
            .preset
            .parse()
            .map_err(|error| Failure::CouldNot(format!("{}: {error}", directory.run_json().display())))?;
        let begun = begun_with(&run, path)?;
        Ok(Self {
            preset,
            selection: Selection::new(&run.only, &run.skip)?.with_axes(AxisFilter::new(&begun.axes)),
            only: run.only.clone(),
            skip: run.skip.clone(),
            seed: run.seed,
            cpus: begun.cpus,
            devices: arguments.device.clone().or(begun.devices),
            target: Target::Resumed(directory, Box::new(run)),
        })
    }
}

/// What a run that is resumed was restricted to, from its command in `run.json`.
pub(super) struct BegunWith {
    pub(super) axes: AxisArguments,
    pub(super) cpus: Option<CpuList>,
    pub(super) devices: Option<Vec<u32>>,
}

/// # Errors
/// If the command has options that this version does not understand: the rest of the run would not fit its beginning.
pub(super) fn begun_with(run: &Run, path: &Path) -> Result<BegunWith, Failure> {
    match Arguments::of_command(&run.command) {
        Ok(Command::Run(begun)) => Ok(BegunWith { axes: begun.axes, cpus: begun.cpus, devices: begun.device }),
        Err(error) if run.command.iter().any(|word| RESTRICTIONS.iter().any(|option| word.starts_with(option))) => {
            let path = path.display();
            Err(Failure::CouldNot(format!(
                "{path}: the command in run.json cannot be understood: {error}; start a new run"
            )))
        }
        // Commands of other versions, which had no such options.
        _ => Ok(BegunWith { axes: AxisArguments::default(), cpus: None, devices: None }),
    }
}

/// The options that restrict a run and stand nowhere but in its command.
const RESTRICTIONS: [&str; 7] = ["--threads", "--cpus", "--placement", "--dtype", "--stride", "--blocks", "--device"];

/// Leaves this process only these CPUs. Called before anything reads which ones there are, and before there are other
/// threads.
fn restrict_to(cpus: &[u32]) -> Result<(), Failure> {
    let allowed = scheduling::allowed_cpus();
    if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        let allowed = cpu_list::format(&allowed);
        return Err(Failure::Usage(format!("--cpus names CPU {cpu}; this process may use {allowed}")));
    }
    scheduling::bind_to(cpus).map_err(|error| Failure::CouldNot(format!("--cpus {}: {error}", cpu_list::format(cpus))))
}

/// `syncscope-runs/2026-01-31T12-00-00Z-quick`: sorts by time and is valid on every file system.
pub(super) fn default_directory(preset: Preset) -> PathBuf {
    let time = timestamp(SystemTime::now()).replace(':', "-");
    PathBuf::from("syncscope-runs").join(format!("{time}-{preset}"))
}

fn begin(request: &Request, laboratories: &mut Laboratories, plan: Plan) -> Result<Session, SessionError> {
    let preset = request.preset;
    let mut session = match &request.target {
        Target::New(path) => {
            let directory = RunDirectory::create(path)?;
            Session::start(directory, new_run(request, laboratories, &plan), preset, plan)?
        }
        Target::Resumed(directory, earlier) => {
            let another_build = provenance::another_build(earlier.tool.as_ref(), &provenance::tool());
            let here = Here {
                machine: laboratories.machine(),
                allowed_cpus: laboratories.environment().allowed_cpus,
                leaves_out_gpus: laboratories.is_without_gpu_on_request(),
                warnings: another_build.into_iter().chain(laboratories.failed_checks()).collect(),
            };
            Session::resume(directory.clone(), &here, preset, plan, &laboratories.all())?
        }
    };
    board::results_in(request.target.path());
    session.give_up(&given_up(board::instructions()))?;
    Ok(session)
}

/// The cases that ended earlier processes.
fn given_up(instructions: Vec<Instruction>) -> HashMap<CaseId, Verdict> {
    let case = |instruction| match instruction {
        Instruction::GiveUp(id, verdict) => Some((id, verdict)),
        Instruction::WithoutGpu(_) | Instruction::Again | Instruction::Last => None,
    };
    instructions.into_iter().filter_map(case).collect()
}

fn new_run(request: &Request, laboratories: &mut Laboratories, plan: &Plan) -> Run {
    let run = Run::new(request.preset.to_string(), SystemTime::now());
    let mut warnings = laboratories.warnings();
    warnings.extend(laboratories.notes(plan));
    Run {
        command: provenance::command_line(),
        only: request.only.clone(),
        skip: request.skip.clone(),
        seed: request.seed,
        planned: plan.len() as u64,
        warnings,
        machine: laboratories.machine(),
        environment: laboratories.environment(),
        tool: Some(provenance::tool()),
        ..run
    }
}

/// Writes the page, shows the table and the command that resumes an incomplete run.
pub(super) fn report(finished: &Finished) -> Result<Outcome, Failure> {
    let Finished { directory, status, contradictions } = finished;
    for text in contradictions {
        terminal::warning(text);
    }
    let data = runs::load(directory.path())?;
    let catalogue = catalogue();
    let report = directory.report();
    page_file::of_run(&report, directory.path(), &page::render(std::slice::from_ref(&data), &catalogue))?;
    terminal::show(&table::summary(&data, &catalogue, terminal::width(), terminal::colour()))?;
    terminal::note(&format!("the report is {}", report.display()));
    let provisional = data.provisional();
    let remaining = if provisional > 0 { format!("{provisional} provisional rows; ") } else { String::new() };
    let resume = format!("{remaining}resume with: syncscope run --resume {}", directory.path().display());
    match status {
        Status::Interrupted | Status::Running => {
            terminal::note(&format!("interrupted; {resume}"));
            return Ok(Outcome::Interrupted);
        }
        Status::BudgetSpent => terminal::note(&format!("the time budget is spent; {resume}")),
        Status::Done => {}
    }
    let failed = data.rows.iter().any(|row| row.verdict.is_failure());
    Ok(if failed { Outcome::SomeCasesFailed } else { Outcome::Done })
}

fn show_plan(plan: &Plan, preset: Preset, arguments: &RunArguments) -> Result<(), Failure> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in plan.cases() {
        *counts.entry(case.primitive.as_str()).or_default() += 1;
    }
    for (primitive, count) in counts {
        terminal::show(&format!("{count:6}  {primitive}"))?;
    }
    terminal::show(&format!("{:6}  cases in total", plan.len()))?;
    let runs = arguments.repeat.unwrap_or(1);
    let of_one: Duration = plan.parts.iter().map(|cases| preset.planned_time(cases)).sum();
    let time = of_one * runs;
    let seconds = Duration::from_secs(time.as_secs().max(1));
    let several = if runs > 1 { format!(" in {runs} runs") } else { String::new() };
    let budget = arguments.budget.filter(|budget| *budget < time).map_or_else(String::new, |budget| {
        format!(
            "; the budget ends it after {}, with wider intervals or fewer cases",
            humantime::format_duration(budget)
        )
    });
    terminal::show(&format!(
        "planned time: about {}{several}, and a few seconds to start{budget}",
        humantime::format_duration(seconds)
    ))
}
