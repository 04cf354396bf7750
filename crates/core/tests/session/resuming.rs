//! Runs that go on where another process ended.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use syncscope_core::fake::Fault;
use syncscope_core::machine::{CpuMachine, Environment, Machine};
use syncscope_core::run::Status;
use syncscope_core::run::provenance::SessionRecord;
use syncscope_core::session::plan::Plan;
use syncscope_core::session::{Here, Limits, Session, SessionError};
use syncscope_core::{Case, Preset, Run};

use crate::{Fixture, Recorder};

#[test]
fn a_resumed_run_holds_what_an_uninterrupted_one_does() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    // In the ninth pass: the precise cases are finished, the others are not.
    let mut recorder = Recorder { cancel_after: Some(12 + 7 * 10 + 3), ..Recorder::default() };
    let limits = recorder.limits();
    let interrupted = fixture.measure(session, &limits, &mut recorder);
    assert_eq!(interrupted.status, Status::Interrupted);
    let before = interrupted.directory.read_rows().unwrap();
    let (provisional, finished): (Vec<_>, Vec<_>) = before.into_iter().partition(|row| row.provisional);
    assert!(!provisional.is_empty() && !finished.is_empty());

    let session = fixture.resume().unwrap();
    let mut recorder = Recorder::default();
    let resumed = fixture.measure(session, &Limits::default(), &mut recorder);
    assert_eq!(resumed.status, Status::Done);
    let again: HashSet<Case> = recorder.measuring.into_iter().collect();
    assert_eq!(again, provisional.into_iter().map(|row| row.case).collect(), "what was finished is not measured again");
    let after = resumed.directory.read_rows().unwrap();
    assert!(finished.iter().all(|row| after.contains(row)), "finished rows stay as they are");
    let planned: HashSet<Case> = fixture.plan().cases().cloned().collect();
    assert_eq!(after.iter().map(|row| row.case.clone()).collect::<HashSet<_>>(), planned);
    assert_eq!(after.len(), planned.len());
    assert!(after.iter().all(|row| !row.provisional));
}

#[test]
fn a_lost_laboratory_leaves_its_cases_for_a_resumed_run() {
    let mut fixture = Fixture::new(Duration::ZERO);
    fixture.laboratory.fake.fault = Fault::LosesLaboratory;
    let session = fixture.start();
    let mut recorder = Recorder::default();
    let finished = fixture.measure(session, &Limits::default(), &mut recorder);
    assert_eq!(finished.status, Status::Interrupted);
    assert_eq!(recorder.warnings, ["the fake broke its laboratory"]);
    let rows = finished.directory.read_rows().unwrap();
    assert!(rows.len() < 12 && rows.iter().all(|row| row.case.primitive != "cpu.lock.std_mutex"));

    fixture.laboratory.fake.fault = Fault::None;
    let session = fixture.resume().unwrap();
    let resumed = fixture.measure(session, &Limits::default(), &mut Recorder::default());
    assert_eq!((resumed.status, resumed.directory.read_rows().unwrap().len()), (Status::Done, 12));
}

#[test]
fn a_run_is_not_resumed_on_another_machine() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    let mut recorder = Recorder { cancel_after: Some(3), ..Recorder::default() };
    let limits = recorder.limits();
    fixture.measure(session, &limits, &mut recorder);
    let (directory, plan) = (fixture.directory(), fixture.plan());
    let cpu = CpuMachine { model: "another".to_owned(), ..CpuMachine::default() };
    let here = Here { machine: Machine { cpu, ..Machine::default() }, ..Here::default() };
    let rows = directory.read_rows().unwrap();
    let refused = Session::resume(directory.clone(), &here, Preset::Quick, plan);
    assert!(matches!(refused.err().unwrap(), SessionError::AnotherMachine { .. }));
    assert_eq!(directory.read_rows().unwrap(), rows, "nothing was touched");
}

#[test]
fn a_run_that_is_being_measured_is_not_resumed() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    let begun = fs::read(fixture.directory().run_json()).unwrap();
    let refused = fixture.resume().err().unwrap();
    assert!(refused.to_string().contains("in use by another syncscope"), "{refused}");
    assert_eq!(fs::read(fixture.directory().run_json()).unwrap(), begun, "nothing was touched");
    let finished = fixture.measure(session, &Limits::default(), &mut Recorder::default());
    assert_eq!((finished.status, finished.directory.read_rows().unwrap().len()), (Status::Done, 12));
}

/// The fixture's run after three blocks, and its plan without some of its cases.
fn interrupted_with_shorter_plan(fixture: &mut Fixture, left: usize) -> Plan {
    let session = fixture.start();
    let mut recorder = Recorder { cancel_after: Some(3), ..Recorder::default() };
    let limits = recorder.limits();
    fixture.measure(session, &limits, &mut recorder);
    let rows = fixture.directory().read_rows().unwrap();
    let has_row = |case: &Case| rows.iter().any(|row| row.case == *case);
    let (known, unknown): (Vec<Case>, Vec<Case>) = fixture.plan().cases().cloned().partition(has_row);
    assert!(!known.is_empty() && known.len() < left, "{} of {left}", known.len());
    Plan { parts: vec![known.into_iter().chain(unknown).take(left).collect()], ..Plan::default() }
}

#[test]
fn a_run_is_not_resumed_with_a_plan_that_lacks_its_cases() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let shorter = interrupted_with_shorter_plan(&mut fixture, 8);
    let directory = fixture.directory();
    let begun = directory.read_run().unwrap();
    let environment = Environment { allowed_cpus: "0-3".to_owned(), ..begun.environment.clone() };
    directory.write_run(&Run { environment, ..begun }).unwrap();
    let before = (fs::read(directory.run_json()).unwrap(), fs::read(directory.measurements()).unwrap());
    let refused = |allowed_cpus: &str, plan: Plan| {
        let here = Here { allowed_cpus: allowed_cpus.to_owned(), ..Here::default() };
        let refused = Session::resume(directory.clone(), &here, Preset::Quick, plan);
        refused.err().unwrap().to_string()
    };
    let error = refused("0", shorter.clone());
    assert!(error.contains("12 cases, but here it would have 8"), "{error}");
    assert!(error.contains("began with CPUs 0-3 and this process may use 0"), "{error}");
    let error = refused("0-3", shorter.clone());
    assert!(error.contains("resume it as it was begun") && error.contains("new run"), "{error}");
    // As many cases, but other ones than the rows have.
    let others = (0..12).map(|threads| Case { threads: Some(threads), ..Case::new("cpu.lock.ticket") });
    let error = refused("0-3", Plan { parts: vec![others.collect()], ..Plan::default() });
    assert!(error.contains("rows match no case of the plan"), "{error}");
    let after = (fs::read(directory.run_json()).unwrap(), fs::read(directory.measurements()).unwrap());
    assert_eq!(after, before, "nothing was touched");
}

#[test]
fn a_process_that_leaves_out_the_gpus_does_not_end_the_run() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let shorter = interrupted_with_shorter_plan(&mut fixture, 8);
    let here = Here { leaves_out_gpus: true, ..Here::default() };
    let session = Session::resume(fixture.directory(), &here, Preset::Quick, shorter).unwrap();
    let finished = fixture.measure(session, &Limits::default(), &mut Recorder::default());
    assert_eq!((finished.status, finished.directory.read_rows().unwrap().len()), (Status::Interrupted, 8));
    assert_eq!(finished.directory.read_run().unwrap().status, Status::Interrupted);
    let session = fixture.resume().unwrap();
    let finished = fixture.measure(session, &Limits::default(), &mut Recorder::default());
    assert_eq!((finished.status, finished.directory.read_rows().unwrap().len()), (Status::Done, 12));
}

#[test]
fn a_longer_plan_is_measured_and_counted() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let shorter = interrupted_with_shorter_plan(&mut fixture, 8);
    let directory = fixture.directory();
    directory.write_run(&Run { planned: 8, ..directory.read_run().unwrap() }).unwrap();
    assert_eq!(shorter.len(), 8);
    let session = fixture.resume().unwrap();
    let finished = fixture.measure(session, &Limits::default(), &mut Recorder::default());
    let run = finished.directory.read_run().unwrap();
    assert_eq!((run.status, run.planned, finished.directory.read_rows().unwrap().len()), (Status::Done, 12, 12));
    assert!(run.warnings.iter().any(|warning| warning.contains("8 cases when the run began")), "{:?}", run.warnings);
}

#[test]
fn a_run_that_lost_rows_after_its_end_is_resumed_and_a_complete_one_is_not() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    let finished = fixture.measure(session, &Limits::default(), &mut Recorder::default());
    let directory = finished.directory;
    assert!(matches!(fixture.resume(), Err(SessionError::Complete(_))));
    let table = fs::read_to_string(directory.measurements()).unwrap();
    let half: Vec<&str> = table.split_inclusive('\n').take(6).collect();
    fs::write(directory.measurements(), half.concat()).unwrap();
    let session = fixture.resume().unwrap();
    let mut recorder = Recorder::default();
    let resumed = fixture.measure(session, &Limits::default(), &mut recorder);
    assert_eq!((resumed.status, resumed.directory.read_rows().unwrap().len()), (Status::Done, 12));
    assert_eq!(recorder.measuring.iter().collect::<HashSet<_>>().len(), 12 - 5, "what is there is not measured again");
}

/// Two processes resume one run. The second one begins before the first one has ended and waits for it.
#[test]
fn what_another_process_wrote_until_it_ended_is_kept() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let mut session = fixture.start();
    let mut recorder = Recorder { cancel_after: Some(20), ..Recorder::default() };
    let limits = recorder.limits();
    session.add_record(SessionRecord { seconds: 20.0, ..SessionRecord::default() });
    let directory = fixture.directory();
    let early = directory.read_run().unwrap();
    fixture.measure(session, &limits, &mut recorder);
    assert!(early.sessions.is_empty() && early.status == Status::Running);
    let mut session = fixture.resume().unwrap();
    session.add_record(SessionRecord { seconds: 8.0, ..SessionRecord::default() });
    fixture.measure(session, &Limits::default(), &mut Recorder::default());
    let seconds: Vec<f64> = directory.read_run().unwrap().sessions.iter().map(|session| session.seconds).collect();
    assert_eq!(seconds, [20.0, 8.0]);
}

#[test]
fn a_table_that_another_program_wrote_is_refused_and_left_as_it_is() {
    let mut fixture = Fixture::new(Duration::ZERO);
    interrupted_with_shorter_plan(&mut fixture, 8);
    let directory = fixture.directory();
    let with_column = |table: &str| {
        let lines = table.lines().enumerate();
        lines.map(|(at, line)| [line, if at == 0 { ",later\n" } else { ",7\n" }].concat()).collect::<String>()
    };
    let quoted = |table: &str| table.lines().map(|line| ["\"", &line.replace(',', "\",\""), "\"\n"].concat()).collect();
    let other_line_ends = |table: &str| table.replace('\n', "\r\n");
    let changes: [&dyn Fn(&str) -> String; 3] = [&with_column, &quoted, &other_line_ends];
    for path in [directory.measurements(), directory.samples(), directory.details()] {
        let whole = fs::read_to_string(&path).unwrap();
        for change in changes {
            fs::write(&path, change(&whole)).unwrap();
            let before = fs::read_to_string(directory.samples()).unwrap();
            let error = fixture.resume().err().unwrap().to_string();
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(error.contains(name) && error.contains("spreadsheet") && error.contains("restore"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), change(&whole));
            assert_eq!(fs::read_to_string(directory.samples()).unwrap(), before);
        }
        fs::write(&path, whole).unwrap();
    }
    fixture.resume().unwrap();
}
