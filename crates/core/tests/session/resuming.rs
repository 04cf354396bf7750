//! Runs that go on where another process ended.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use syncscope_core::fake::Fault;
use syncscope_core::machine::{CpuMachine, Machine};
use syncscope_core::run::Status;
use syncscope_core::session::{Limits, Session, SessionError};
use syncscope_core::{Case, Preset};

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
    let begun = directory.read_run().unwrap();
    let here =
        Machine { cpu: CpuMachine { model: "another".to_owned(), ..CpuMachine::default() }, ..Machine::default() };
    let rows = directory.read_rows().unwrap();
    let refused = Session::resume(directory.clone(), begun, &here, Preset::Quick, plan, &fixture.all());
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
