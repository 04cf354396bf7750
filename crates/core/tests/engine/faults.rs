//! Experiments that fail, and measurements that are ended.

use syncscope_core::fake::{FakeExperiment, Fault, Noise};
use syncscope_core::{
    Cancel, Case, Check, Engine, Evidence, Experiment, ExperimentError, Protocol, Row, Ruler, Sample, Shot, Side,
    Unmeasured, Verdict,
};

use super::{measure, settings};

/// An experiment whose machine code is the same in both loops.
struct Equal(FakeExperiment);

impl Experiment for Equal {
    fn ruler(&self) -> Ruler {
        self.0.ruler()
    }
    fn operations(&self, side: Side, iterations: u64) -> u64 {
        self.0.operations(side, iterations)
    }
    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        self.0.sample(shot)
    }
    fn protocol(&self) -> Protocol {
        self.0.protocol()
    }
    fn check(&mut self) -> Check {
        self.0.check()
    }
    fn evidence(&mut self) -> Evidence {
        Evidence::Elided { summary: "equal".into(), listing: String::new() }
    }
}

/// Loops without an end are equal, too.
#[test]
fn what_is_called_elided_has_run() {
    let of = |fault| measure(Equal(FakeExperiment::new(5.0, 3).with_fault(fault)));
    assert_eq!(of(Fault::None).verdict, Verdict::Elided("equal".into()));
    assert_eq!(of(Fault::TimesOut).verdict, Verdict::TimedOut("not done after 2s: the loop does not end".into()));
    assert_eq!(of(Fault::Fails("no memory".into())).verdict, Verdict::Failed("no memory".into()));
    let miscounts = of(Fault::Miscounts);
    assert_eq!(miscounts.verdict, Verdict::Failed("check failed: expected 2, found 1".into()));
    assert_eq!(miscounts.check, Check::Failed("expected 2, found 1".into()));
}

/// An experiment whose loops execute the same number of operations.
struct Twins(FakeExperiment);

impl Experiment for Twins {
    fn ruler(&self) -> Ruler {
        self.0.ruler()
    }
    fn operations(&self, _: Side, iterations: u64) -> u64 {
        iterations
    }
    fn sample(&mut self, shot: Shot) -> Result<Sample, ExperimentError> {
        self.0.sample(shot)
    }
    fn protocol(&self) -> Protocol {
        Protocol::of(1)
    }
    fn check(&mut self) -> Check {
        Check::Ok
    }
    fn evidence(&mut self) -> Evidence {
        Evidence::NotAvailable("numbers have no machine code".into())
    }
}

#[test]
fn faults_become_verdicts() {
    let verdict = |fault| measure(FakeExperiment::new(5.0, 3).with_fault(fault)).verdict;
    assert_eq!(verdict(Fault::TimesOut), Verdict::TimedOut("not done after 2s".into()));
    assert_eq!(verdict(Fault::Fails("no memory".into())), Verdict::Failed("no memory".into()));
    assert_eq!(verdict(Fault::Miscounts), Verdict::Failed("check failed: expected 2, found 1".into()));
    assert_eq!(verdict(Fault::Elided).name(), "Elided");
    let unproved = measure(FakeExperiment::new(5.0, 3).with_fault(Fault::Unproved));
    assert_eq!(unproved.verdict, Verdict::Interfered("the processors were taken".into()), "no figure without a check");
    assert!(unproved.estimate.is_none() && unproved.check == Check::NotApplicable);
}

#[test]
fn a_raised_flag_ends_a_measurement_without_a_result() {
    let cancel = Cancel::new();
    cancel.cancel();
    let mut experiment = FakeExperiment::new(5.0, 3);
    assert_eq!(Engine::new(settings(), cancel).measure(&mut experiment, 1), Err(Unmeasured::Cancelled));
}

#[test]
fn a_loop_that_does_not_grow_is_empty() {
    let measurement = measure(FakeExperiment::new(0.0, 1).with_loop(0.0));
    assert_eq!(measurement.verdict.name(), "Elided", "{}", measurement.verdict);
}

#[test]
fn a_difference_over_nothing_is_no_figure() {
    let measurement = measure(Twins(FakeExperiment::new(5.0, 1)));
    assert_eq!(measurement.verdict.name(), "Failed", "{}", measurement.verdict);
    assert_eq!(measurement.estimate, None);
}

#[test]
fn no_figure_of_whatever_kind_goes_unexplained() {
    let noises = [Noise::Silent, Noise::Normal(500.0), Noise::HeavyTailed(50.0), Noise::Bimodal(300.0)];
    let faults = [
        Fault::None,
        Fault::TimesOut,
        Fault::Fails("no memory".into()),
        Fault::Disturbed,
        Fault::AlwaysDisturbed,
        Fault::ClockSinks,
        Fault::Miscounts,
        Fault::Elided,
    ];
    for (cost, noise, fault) in [5.0, 0.001, 0.0, -2.0]
        .into_iter()
        .flat_map(|cost| noises.iter().map(move |noise| (cost, *noise)))
        .flat_map(|(cost, noise)| faults.iter().map(move |fault| (cost, noise, fault.clone())))
    {
        let context = format!("{cost} ns, {noise:?}, {fault:?}");
        let experiment = FakeExperiment::new(cost, 5).with_loop(100.0).with_noise(noise).with_fault(fault);
        let row = Row::measured(Case::new("cpu.barrier.std"), None, &measure(experiment));
        assert_eq!(row.defect(), None, "{context}: {row:?}");
    }
}
