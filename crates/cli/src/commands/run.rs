//! `syncscope run` measures this machine, then writes the page and shows the table. `syncscope measure` does the same with
//! operations that the user wrote.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use syncscope_core::profile::{self, Phase};
use syncscope_core::run::directory::RunDirectory;
use syncscope_core::run::{Status, another_run};
use syncscope_core::session::plan::Plan;
use syncscope_core::session::{Finished, Here, Limits, Session, SessionError};
use syncscope_core::{Domain, Run};
use syncscope_gpu::verify::listings_of_own;
use syncscope_host::descriptors::silence_output;
use syncscope_host::{child_process, cpu_list, scheduling};
use syncscope_mpi::MpiLaboratory;

use crate::args::{CpuList, MOST_REPEATS, MeasureArguments, RunArguments};
use crate::commands::begun_run::{as_begun, default_directory, is_complete, report, resumable};
use crate::commands::instructions::compare_instructions;
use crate::commands::orderings::orderings;
use crate::commands::own_request::OwnRequest;
use crate::commands::{paper, repeat, written_code};
use crate::failure::{Failure, Outcome};
use crate::history;
use crate::laboratories::Laboratories;
use crate::launcher::{self, Duty, Together};
use crate::progress::Progress;
use crate::provenance::{self, SessionStart};
use crate::runs;
use crate::selection::Selection;
use crate::supervisor::board::{self, Step};
use crate::supervisor::{self, Resuming, supervised};
use crate::terminal::{self, cancel_on_signal};

/// Measures this machine.
pub(crate) fn run(arguments: &RunArguments) -> Result<Outcome, Failure> {
    match launcher::part(arguments)? {
        Duty::Alone => measure_run(arguments, None),
        Duty::Nothing => Ok(Outcome::Done),
        Duty::Together(process) => {
            let together = launcher::join(process, arguments)?;
            together.map_or(Ok(Outcome::Done), |together| measure_run(arguments, Some(together)))
        }
        Duty::Node(directory) if arguments.resume.is_some() && is_complete(&directory) => Ok(Outcome::Done),
        Duty::Node(directory) => measure_run(&in_directory(arguments, directory), None),
    }
}

/// Measures what the user wrote, on this machine alone, with the plan, passes and files of every run.
pub(crate) fn measure(arguments: &MeasureArguments) -> Result<Outcome, Failure> {
    if let Some(side) = arguments.header {
        let of_cpu = side == Domain::Cpu;
        let header = if of_cpu { syncscope_cpu::primitives::own::HEADER } else { syncscope_gpu::own::HEADER };
        return terminal::show(&header.trim_end());
    }
    if arguments.orderings || arguments.instructions {
        let cancel = terminal::cancel_on_signal();
        syncscope_gpu::compiler_process::compile_until(cancel.clone());
        let found = if arguments.orderings { orderings(arguments) } else { compare_instructions(arguments) };
        // Interrupted compilers report a failure.
        return found.or_else(|failure| {
            if !cancel.is_cancelled() {
                return Err(failure);
            }
            terminal::note(&"interrupted");
            Ok(Outcome::Interrupted)
        });
    }
    let own = OwnRequest::new(arguments)?;
    if let Some(arch) = &arguments.sass {
        let own = own.resolved(Some(arch))?;
        let mut missing = Vec::new();
        for (id, listing) in listings_of_own(&own.code(), Some(arch), None, false).map_err(Failure::CouldNot)? {
            match listing {
                Ok(listing) => drop(terminal::show(&format!("{id} on {arch}\n{listing}"))?),
                Err(reason) => missing.push(format!("{id} on {arch}: {reason}")),
            }
        }
        return if missing.is_empty() { Ok(Outcome::Done) } else { Err(terminal::could_not(missing)) };
    }
    measure_once(&own.as_run(), Some(&own), None)
}

/// Refuses variables with values that nothing reads, because they would be ignored.
fn check_variables() -> Result<(), Failure> {
    type Rule = (&'static str, &'static str, fn(&str) -> bool);
    const RULES: [Rule; 3] = [
        ("SYNCSCOPE_KEEP_AWAKE", "on or off", |text| ["on", "off"].contains(&text)),
        ("SYNCSCOPE_STEP_LIMIT", "a time such as 10m", |text| {
            humantime::parse_duration(text).is_ok_and(|limit| !limit.is_zero())
        }),
        ("SYNCSCOPE_COMPILE_LIMIT", "seconds such as 90", |text| text.parse::<u64>().is_ok()),
    ];
    let wrong = |(name, expected, fits): Rule| {
        let text = std::env::var(name).ok().filter(|text| !text.is_empty() && !fits(text))?;
        Some(Failure::Usage(format!("{name} is `{text}`: expected {expected}")))
    };
    RULES.into_iter().find_map(wrong).map_or(Ok(()), Err)
}

/// Measures one run or several.
fn measure_run(arguments: &RunArguments, together: Option<Together>) -> Result<Outcome, Failure> {
    match repeats(arguments)? {
        Some(count) => repeat::run(arguments, count),
        None => measure_once(arguments, None, together),
    }
}

/// Measures in a supervised process, or together with other processes, in which case this process itself takes part.
fn measure_once(
    arguments: &RunArguments,
    own: Option<&OwnRequest>,
    together: Option<Together>,
) -> Result<Outcome, Failure> {
    check_variables()?;
    let started = Instant::now();
    // The longest budgets exceed the range of the clock.
    let deadline = arguments.budget.and_then(|budget| started.checked_add(budget));
    if together.is_some() {
        return measure_here(arguments, own, together, started, deadline);
    }
    let trusts_code = own.is_some() || arguments.trust_code;
    let exports = own.map_or([None; 2], OwnRequest::exports);
    let resuming = Resuming { devices: arguments.device.as_deref(), deadline, trusts_code, exports };
    // An earlier process may have ended when everything was written.
    let completed = || arguments.resume.as_ref().filter(|path| board::instructions().is_again && is_complete(path));
    supervised(resuming, || match completed() {
        Some(path) => report_complete(arguments, path),
        None => measure_here(arguments, own, None, started, deadline),
    })
}

/// The least time for compilers, however short the budget is.
const FOR_COMPILERS: Duration = Duration::from_secs(5);

/// Measures in this process: opens the machine, plans, begins the run, measures and finishes it.
fn measure_here(
    arguments: &RunArguments,
    own: Option<&OwnRequest>,
    together: Option<Together>,
    started: Instant,
    deadline: Option<Instant>,
) -> Result<Outcome, Failure> {
    let (processes, cancel) = together.map(|together| (together.laboratory, together.cancel)).unzip();
    let is_alone = cancel.is_none();
    if std::env::var_os(PROFILE).is_some() {
        profile::enable();
    }
    // This holds for compilers of the user's code, too: before a compiler has answered, nothing can be said of the code.
    if let Some(end) = deadline {
        child_process::end_at(end.max(started + FOR_COMPILERS));
    }
    // Checked first, because opening the laboratories takes time.
    let request = RunRequest::new(arguments, own)?;
    request.arguments.cpus.as_ref().map_or(Ok(()), |CpuList(cpus)| restrict_to(cpus))?;
    let mut progress = Progress::new("inspecting this machine");
    let mut laboratories = profile::time(Phase::Open, || request.open(processes)).inspect_err(|_| progress.finish())?;
    let plan = planned(&request, &mut laboratories, &mut progress).inspect_err(|_| progress.finish())?;
    if arguments.dry_run {
        progress.finish();
        laboratories.notes(arguments.preset, &plan).iter().for_each(|note| terminal::note(note));
        note_expected(&request, &mut laboratories, &plan, &mut progress);
        note_short_budget(&plan, &request.arguments);
        return show_plan(&plan, &request.arguments);
    }
    if matches!(request.target, Target::New(_)) {
        note_expected(&request, &mut laboratories, &plan, &mut progress);
        if request.own.is_none() {
            progress.suspend(|| note_short_budget(&plan, &request.arguments));
        }
    }
    let mut session = match begin(&request, &mut laboratories, plan).inspect_err(|_| progress.finish()) {
        Err(SessionError::Complete(path)) => {
            // The run was incomplete when this process started.
            terminal::note(&"another process has completed the run meanwhile");
            laboratories.dismiss_processes()?;
            return request.report(&complete(&path)?);
        }
        begun => begun?,
    };
    let has_history = is_alone && request.own.is_none() && !laboratories.are_fake();
    session.history = has_history.then(|| history::read(session.run())).flatten();
    let limits = Limits { cancel: cancel.unwrap_or_else(cancel_on_signal), deadline };
    let measured = measure_all(&request, &mut session, &mut laboratories, &limits, &mut progress);
    let outcome = finish(&request, session, measured, &mut laboratories, &limits);
    if request.own.is_some() {
        // The end of a CUDA context prints the output of its kernels.
        let silence = silence_output(None);
        drop(laboratories);
        drop(silence);
    }
    show_profile(started.elapsed());
    outcome
}

/// Measures the plan, and the experiments that the user asked for.
fn measure_all(
    request: &RunRequest,
    session: &mut Session,
    laboratories: &mut Laboratories,
    limits: &Limits,
    progress: &mut Progress,
) -> Measured {
    board::begin(&Step::Preparing);
    if !request.target.is_known() {
        progress.suspend(|| show_warnings(session.run(), laboratories));
    }
    progress.show_ladder(session.run());
    let start = SessionStart::now(laboratories);
    let mut measure = |progress: &mut Progress| session.measure(&mut laboratories.all(), limits, progress);
    // The user's code may print as much as it likes.
    let mut status = if request.own.is_some() { progress.in_silence(measure) } else { measure(progress) };
    if request.arguments.experiments && matches!(status, Ok(Status::Done)) {
        status = Ok(repeat_experiments(session, laboratories, limits, progress));
    }
    progress.finish();
    Measured { start, status }
}

/// How the measuring ended, and the state of the machine at its start.
struct Measured {
    start: SessionStart,
    status: Result<Status, SessionError>,
}

/// Writes the results of the run, and shows them.
fn finish(
    request: &RunRequest,
    mut session: Session,
    Measured { start, status }: Measured,
    laboratories: &mut Laboratories,
    limits: &Limits,
) -> Result<Outcome, Failure> {
    board::begin(&Step::Ending);
    let dismissed = laboratories.dismiss_processes();
    add_record(&mut session, start, laboratories);
    let goes_on = !limits.cancel.is_cancelled() && supervisor::another_follows();
    let lost_at = session.lost_at().filter(|_| goes_on).cloned();
    let outcome = profile::time(Phase::Report, || {
        let finished = session.finish(status, &laboratories.all())?;
        history::write(&finished);
        lost_at.map_or_else(|| request.report(&finished), |case| Ok(supervisor::lost(&case)))
    });
    dismissed.and(outcome)
}

/// Makes the plan. Values that were asked for but are not in it lead to a warning, or to an error if nothing else was asked for.
fn planned(request: &RunRequest, laboratories: &mut Laboratories, progress: &mut Progress) -> Result<Plan, Failure> {
    let (plan, refused) = request.selection.plan(laboratories, request.arguments.preset, request.seed)?;
    for value in request.selection.missing_values(&plan, &refused) {
        if request.own.is_some() {
            return Err(Failure::Usage(value));
        }
        progress.suspend(|| terminal::warning(&value));
    }
    for text in request.selection.unused_globs(&plan, &laboratories.listing()) {
        progress.suspend(|| terminal::warning(&text));
    }
    Ok(plan)
}

fn complete(path: &Path) -> Result<Finished, Failure> {
    let (directory, status) = (RunDirectory::open(path)?, Status::Done);
    Ok(Finished { directory, status, without_processes: None, contradictions: Vec::new(), history: None })
}

/// Shows a run that has nothing left to measure.
fn report_complete(arguments: &RunArguments, path: &Path) -> Result<Outcome, Failure> {
    let finished = complete(path)?;
    let (_, own) = as_begun(arguments, &finished.directory, &finished.directory.read_run()?)?;
    own.map_or_else(|| report(&finished), |own| own.conclude(&finished, report))
}

/// Says before a run how precise its results can be, unless earlier runs of the machine tell it better.
fn note_expected(request: &RunRequest, laboratories: &mut Laboratories, plan: &Plan, progress: &mut Progress) {
    if request.own.is_some() || laboratories.are_fake() || request.arguments.no_history {
        return;
    }
    let run = new_run(request, laboratories, plan);
    let is_first = history::read(&run).is_none_or(|history| history.is_empty());
    let expected = is_first.then(|| another_run::expected(&run.machine, plan.cases(), &plan.catalogue)).flatten();
    if let Some(text) = expected {
        let narrowing = match history::obstacle() {
            None => "later runs and --repeat 3 narrow this".to_owned(),
            Some(reason) => {
                format!("--repeat 3 narrows this; later runs do not, because they learn nothing of this one ({reason})")
            }
        };
        progress.suspend(|| terminal::note(&format!("{text}; {narrowing}")));
    }
}

fn show_warnings(run: &Run, laboratories: &Laboratories) {
    terminal::warnings(run.all_warnings());
    terminal::warnings(laboratories.load_warning().as_slice());
    laboratories.without_gpu().iter().for_each(|text| terminal::note(text));
}

/// Adds the record of what happened during the run, and of what was disturbed by it, which is also shown.
fn add_record(session: &mut Session, start: SessionStart, laboratories: &Laboratories) {
    let changed: Vec<String> = start.change(laboratories).into_iter().collect();
    terminal::warnings(&changed);
    session.warn(changed);
    let record = start.ended(laboratories);
    let disturbed = provenance::disturbed(&record, session.run());
    terminal::warnings(&disturbed);
    session.disturb(disturbed);
    session.add_record(record);
}

/// Repeats the experiments of papers that the directory of the run lacks.
fn repeat_experiments(
    session: &mut Session,
    laboratories: &mut Laboratories,
    limits: &Limits,
    progress: &mut Progress,
) -> Status {
    let run = (session.directory(), session.run());
    let (status, missing) = paper::measure_missing(laboratories, run, limits, progress);
    progress.suspend(|| terminal::warnings(&missing));
    session.warn(missing);
    status
}

/// The arguments for the directory of a node.
fn in_directory(arguments: &RunArguments, directory: PathBuf) -> RunArguments {
    let (out, resume) = if arguments.resume.is_some() { (None, Some(directory)) } else { (Some(directory), None) };
    RunArguments { out, resume, ..arguments.clone() }
}

/// The number of runs that the command line or the resumed run asks for; `None` for one.
fn repeats(arguments: &RunArguments) -> Result<Option<u32>, Failure> {
    let resumed = arguments.resume.as_deref().map(|path| RunDirectory::open(path)?.read_run()).transpose()?;
    if let (Some(count), Some(path)) = (resumed.as_ref().and_then(|run| run.repeat), &arguments.resume)
        && count > MOST_REPEATS
    {
        return Err(Failure::CouldNot(format!(
            "{}: run.json joins {count} runs, and no more than {MOST_REPEATS} are repeated",
            path.display()
        )));
    }
    Ok(resumed.and_then(|run| run.repeat).or(arguments.repeat).filter(|count| *count > 1 && !arguments.dry_run))
}

/// The environment variable that requests a table of the time per phase; see docs/GUIDE.md.
const PROFILE: &str = "SYNCSCOPE_PROFILE";

fn show_profile(elapsed: Duration) {
    let Some(account) = profile::phase_times() else { return };
    terminal::note(&format!("{:<16}{:>10.3} s", "all", elapsed.as_secs_f64()));
    for (phase, spent, times) in account {
        let each_us = spent.as_secs_f64() * 1e6 / times as f64;
        let spent_s = spent.as_secs_f64();
        terminal::note(&format!("{:<16}{spent_s:>10.3} s{times:>10} times{each_us:>12.1} µs each", phase.as_str()));
    }
}

/// The requested measurement, from the command line or from the run that is resumed.
struct RunRequest {
    arguments: RunArguments,
    selection: Selection,
    seed: u64,
    target: Target,
    /// The user's operations, if the run measures some.
    own: Option<OwnRequest>,
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

    /// Whether an earlier process measured the same run and has shown its warnings.
    fn is_known(&self) -> bool {
        matches!(self, Self::Resumed(..)) && board::instructions().is_again
    }
}

impl RunRequest {
    fn new(arguments: &RunArguments, own: Option<&OwnRequest>) -> Result<Self, Failure> {
        let (arguments, own, target) = if let Some(path) = &arguments.resume {
            let (directory, run) = resumable(path)?;
            let directory = if run.own.is_empty() { directory } else { RunDirectory::open(&runs::absolute(path))? };
            let (arguments, own) = as_begun(arguments, &directory, &run)?;
            (arguments, own, Target::Resumed(directory, Box::new(run)))
        } else {
            let out = arguments.out.clone().unwrap_or_else(|| match own {
                Some(_) => default_directory("measure"),
                None => default_directory(arguments.preset),
            });
            let out = if own.is_some() { runs::absolute(&out) } else { out };
            let own = own.map(|own| own.resolved(None)).transpose()?;
            let only = own.as_ref().map_or_else(|| arguments.only.clone(), OwnRequest::only);
            (RunArguments { only, ..arguments.clone() }, own, Target::New(out))
        };
        Ok(Self {
            selection: Selection::new(&arguments.only, &arguments.skip)?.with_axes(arguments.axes.axes()),
            seed: arguments.seed.unwrap_or_else(|| fastrand::u64(..)),
            arguments,
            target,
            own,
        })
    }

    /// Opens the laboratories, which also measure the user's operations.
    fn open(&self, processes: Option<MpiLaboratory>) -> Result<Laboratories, Failure> {
        let code = self.own.as_ref().map(OwnRequest::code).unwrap_or_default();
        if self.own.is_some() {
            syncscope_cpu::primitives::own::compile_here_until(terminal::cancel());
        }
        let mut laboratories = match processes {
            Some(processes) => Laboratories::open_with_processes(processes),
            None if self.own.as_ref().is_some_and(|own| !own.needs_gpu()) => Laboratories::open_without_gpu(code),
            None => Laboratories::open_with(code, self.arguments.device.as_deref()),
        }?;
        laboratories.let_fresh_processes_measure();
        Ok(laboratories)
    }

    /// Shows a finished run.
    fn report(&self, finished: &Finished) -> Result<Outcome, Failure> {
        match &self.own {
            Some(own) => own.conclude(finished, report),
            None => report(finished),
        }
    }
}

/// Restricts this process to these CPUs, or the plan to these CPUs of a described machine. Call it before anything reads the
/// CPUs, and before other threads start.
fn restrict_to(cpus: &[u32]) -> Result<(), Failure> {
    if syncscope_cpu::plan_on(cpus).map_err(Failure::Usage)? {
        return Ok(());
    }
    let allowed = scheduling::allowed_cpus();
    if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        let allowed = cpu_list::format(&allowed);
        return Err(Failure::Usage(format!("--cpus names CPU {cpu}; this process may use {allowed}")));
    }
    scheduling::bind_to(cpus).map_err(|error| Failure::CouldNot(format!("--cpus {}: {error}", cpu_list::format(cpus))))
}

fn begin(request: &RunRequest, laboratories: &mut Laboratories, plan: Plan) -> Result<Session, SessionError> {
    profile::time(Phase::Crosscheck, || laboratories.check_chains(request.seed));
    let preset = request.arguments.preset;
    let mut session = match &request.target {
        Target::New(path) => {
            let directory = RunDirectory::create(path)?;
            if let Some(own) = &request.own {
                written_code::remember(&own.operations);
            }
            Session::start(directory, new_run(request, laboratories, &plan), preset, plan)?
        }
        Target::Resumed(directory, earlier) => {
            let another_build = provenance::another_build(earlier.tool.as_ref(), &provenance::tool());
            let environment = laboratories.environment();
            let another_environment = provenance::another_environment(earlier, &environment);
            let here = Here {
                machine: laboratories.machine(),
                allowed_cpus: environment.allowed_cpus,
                may_have_gpus: laboratories.may_have_gpus(),
                leaves_out_gpus: laboratories.is_without_gpu_on_request(),
                warnings: another_build
                    .into_iter()
                    .chain(another_environment)
                    .chain(laboratories.failed_checks())
                    .collect(),
            };
            Session::resume(directory.clone(), &here, preset, plan)?
        }
    };
    board::results_in(request.target.path());
    session.give_up(&board::instructions().give_up)?;
    Ok(session)
}

fn new_run(request: &RunRequest, laboratories: &mut Laboratories, plan: &Plan) -> Run {
    let mut run = provenance::new_run(request.arguments.preset, request.seed, laboratories);
    run.warnings.extend(laboratories.notes(request.arguments.preset, plan));
    Run {
        only: request.arguments.only.clone(),
        skip: request.arguments.skip.clone(),
        time_s: request.arguments.time.map(|time| time.as_secs_f64()),
        own: request.own.as_ref().map(|own| own.operations.clone()).unwrap_or_default(),
        planned: plan.len() as u64,
        planned_by_primitive: plan.count_by_primitive(),
        ..run
    }
}

fn whole_seconds(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs().max(1))
}

/// Says that the budget ends a run early, and how all cases can be measured in the same time.
fn note_short_budget(plan: &Plan, arguments: &RunArguments) {
    let runs = arguments.repeat.unwrap_or(1);
    let planned = plan.planned_time(arguments.preset, arguments.time) * runs;
    let Some(budget) = arguments.budget.filter(|budget| *budget < planned) else { return };
    let of_each = budget / runs;
    let is_enough = plan.planned_time(arguments.preset, Some(of_each)) <= of_each.mul_f64(1.05);
    let [planned, end, of_each] = [whole_seconds(planned), budget, whole_seconds(of_each)]
        .map(|time| humantime::format_duration(time).to_string());
    let instead = if is_enough && arguments.time.is_none() {
        format!("; --time {} measures every case in about that time", of_each.replace(' ', ""))
    } else {
        ", or fewer cases".to_owned()
    };
    terminal::note(&format!(
        "the plan takes about {planned}, and the budget ends the run after {end}, with provisional rows{instead}"
    ));
}

fn show_plan(plan: &Plan, arguments: &RunArguments) -> Result<Outcome, Failure> {
    if let Some(path) = arguments.out.as_ref().filter(|path| path.is_dir()) {
        RunDirectory::check_unused(path)?;
    }
    for (primitive, count) in plan.count_by_primitive() {
        terminal::show(&format!("{count:6}  {primitive}"))?;
    }
    terminal::show(&format!("{:6}  cases in total", plan.len()))?;
    let runs = arguments.repeat.unwrap_or(1);
    let time = whole_seconds(plan.planned_time(arguments.preset, arguments.time) * runs);
    let several = if runs > 1 { format!(" in {runs} runs") } else { String::new() };
    terminal::show(&format!(
        "planned time: about {}{several}, and a few seconds to start",
        humantime::format_duration(time)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Preset;

    #[test]
    fn directories_sort_by_time_and_name_what_was_measured() {
        let names = [default_directory(Preset::Quick), default_directory("timeline")];
        for (path, name) in names.iter().map(|path| path.display().to_string()).zip(["quick", "timeline"]) {
            assert!(path.starts_with("syncscope-runs/2") && !path.contains(':'), "{path}");
            assert!(path.ends_with(&format!("Z-{name}")), "{path}");
        }
    }
}
