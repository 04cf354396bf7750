//! What a run records of the processes that measured it.

use std::time::Duration;

use syncscope_core::run::Status;
use syncscope_core::run::directory::RunDirectoryError;
use syncscope_core::run::provenance::{Disturbed, Disturber, SessionRecord};
use syncscope_core::session::{Limits, SessionError};

use crate::{Fixture, Recorder};

#[test]
fn what_preparing_decided_is_recorded_for_each_process() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    let in_file = |fixture: &Fixture| fixture.directory().read_run().unwrap().environment.keep_awake;
    assert_eq!(in_file(&fixture), None, "nothing is decided yet");
    let mut recorder = Recorder { cancel_after: Some(3), ..Recorder::default() };
    fixture.measure(session, &recorder.limits(), &mut recorder);
    assert_eq!(in_file(&fixture).as_deref(), Some("off (decision 1)"));
    let session = fixture.resume().unwrap();
    fixture.measure(session, &Limits::default(), &mut Recorder::default());
    assert_eq!(in_file(&fixture).as_deref(), Some("off (decision 1); then off (decision 2)"));
}

#[test]
fn each_process_that_measured_leaves_its_record() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let mut session = fixture.start();
    let warnings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    session.warn(warnings(&["one"]));
    session.disturb(vec![Disturbed::of(Disturber::Others, 0.3), Disturbed::of(Disturber::SmtInterference, 0.5)]);
    session.add_record(SessionRecord { load_start: Some(0.5), ..SessionRecord::default() });
    session.finish(Ok(Status::Interrupted), &fixture.all()).unwrap();
    let mut session = fixture.resume().unwrap();
    session.warn(warnings(&["one", "two"]));
    session.disturb(vec![Disturbed::of(Disturber::Others, 0.1)]);
    session.add_record(SessionRecord { load_start: Some(0.7), ..SessionRecord::default() });
    session.finish(Ok(Status::Done), &fixture.all()).unwrap();
    let run = fixture.directory().read_run().unwrap();
    assert_eq!(run.sessions.iter().map(|session| session.load_start).collect::<Vec<_>>(), [Some(0.5), Some(0.7)]);
    assert_eq!(run.warnings, ["one", "two"], "each once");
    let of_both = Disturbed { share: [0.1, 0.3], ..Disturbed::of(Disturber::Others, 0.1) };
    assert_eq!(run.disturbed, [of_both], "what rows say is found again");
}

#[test]
fn a_failure_while_measuring_is_recorded_and_returned() {
    let mut fixture = Fixture::new(Duration::ZERO);
    let session = fixture.start();
    let full = RunDirectoryError::NoRun(fixture.folder.path().to_owned());
    let failed = session.finish(Err(full.into()), &fixture.all());
    assert!(matches!(failed, Err(SessionError::Directory(RunDirectoryError::NoRun(_)))));
    let run = fixture.directory().read_run().unwrap();
    assert_eq!(run.status, Status::Interrupted);
    assert!(run.ended.is_some());
}
