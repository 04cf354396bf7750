//! Launch, wait, abort and drop, on devices that follow a script.

use std::time::Duration;

use super::testing::{Call, FakeDriver, Script, error, launch, run};
use crate::launch::runner::{GRACE, Health, LIMIT, Outage};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Just within the limits.
const ALMOST_LIMIT: Duration = LIMIT.saturating_sub(MS);
const ALMOST_GRACE: Duration = GRACE.saturating_sub(MS);

#[test]
fn one_device_is_made_current_once_for_a_batch() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfter(MS)]);
    assert_eq!(runner.idle(), None);
    runner.begin(1).unwrap();
    for _ in 0..2 {
        launch(&mut runner, 1).unwrap();
    }
    runner.fetch(1, 8).unwrap();
    assert_eq!(runner.wait(1), Ok(()));
    let queued = [Call::OrderBlocks(0), Call::Launch(0), Call::OrderBlocks(0), Call::Launch(0), Call::Fetch(0, 8)];
    assert_eq!(driver.take_calls(), [&[Call::MakeCurrent(0)][..], &queued].concat());
    assert_eq!(runner.health, Health::Usable);
    driver.wait(3 * MS);
    assert_eq!(runner.idle(), Some(3 * MS));
    drop(runner);
    assert_eq!(driver.take_calls(), [Call::MakeCurrent(0), Call::Destroy(0)]);
}

#[test]
fn all_devices_are_prepared_before_the_first_kernel_is_launched() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfter(MS); 2]);
    assert_eq!(run(&mut runner), Ok(()));
    let [one, two] = [0, 1].map(Call::MakeCurrent);
    let ordered = [one, Call::OrderBlocks(0), two, Call::OrderBlocks(1)];
    let after = [one, Call::Fetch(0, 8), two, Call::Fetch(1, 8), one, two];
    let launched = [one, Call::Launch(0), two, Call::Launch(1)];
    assert_eq!(driver.take_calls(), [&ordered[..], &launched, &after].concat());
}

#[test]
fn only_the_first_devices_take_part() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfter(MS), Script::EndsAfter(MS), Script::NeverEnds]);
    launch(&mut runner, 2).unwrap();
    runner.fetch(2, 4).unwrap();
    assert_eq!(runner.wait(2), Ok(()));
    let of_the_third = [Call::MakeCurrent(2), Call::OrderBlocks(2), Call::Launch(2), Call::Fetch(2, 4)];
    assert!(driver.take_calls().iter().all(|call| !of_the_third.contains(call)));
}

#[test]
fn a_kernel_may_take_as_long_as_the_limit() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfter(ALMOST_LIMIT)]);
    assert_eq!(run(&mut runner), Ok(()));
    runner.devices[0].script = Script::EndsAfter(LIMIT + MS);
    assert_eq!(run(&mut runner), Err(Outage::TimedOut(LIMIT)));
    assert_eq!(runner.health, Health::Usable, "it ended by itself within the grace period");
}

#[test]
fn work_launched_by_other_means_is_noted() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfter(MS)]);
    assert_eq!(runner.idle(), None);
    assert_eq!(runner.noted(Ok(7)), Ok(7));
    assert!(runner.idle().is_some() && runner.health == Health::Usable);
    for outage in [Outage::TimedOut(LIMIT), Outage::Cuda(error("cuStreamQuery", 700))] {
        let mut runner = driver.runner(&[Script::EndsAfter(MS)]);
        assert_eq!(runner.noted::<()>(Err(outage.clone())), Err(outage));
        assert_eq!(runner.health, Health::Poisoned, "something may still run");
    }
    // An earlier finding that the device is occupied says more.
    runner.health = Health::Occupied;
    assert!(runner.noted::<()>(Err(Outage::TimedOut(LIMIT))).is_err());
    assert_eq!(runner.health, Health::Occupied);
}

#[test]
fn a_kernel_that_heeds_the_abort_flag_leaves_a_usable_context() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfterAbort(ALMOST_GRACE)]);
    runner.set_limit(Some(SECOND));
    assert_eq!(run(&mut runner), Err(Outage::TimedOut(SECOND)));
    assert_eq!(runner.health, Health::Usable);
    assert!((SECOND + ALMOST_GRACE..SECOND + GRACE).contains(&driver.passed()), "{:?}", driver.passed());
    let calls = driver.take_calls();
    assert_eq!(calls[calls.len() - 2..], [Call::SetAbort(0, true), Call::SetAbort(0, false)]);
    runner.devices[0].script = Script::EndsAfter(MS);
    assert_eq!(run(&mut runner), Ok(()), "the next kernel does not see the flag");
    runner.set_limit(None);
    runner.devices[0].script = Script::EndsAfter(2 * SECOND);
    assert_eq!(run(&mut runner), Ok(()), "the limit is the usual one again");
}

#[test]
fn a_kernel_that_does_not_end_keeps_its_context_for_ever() {
    let driver = FakeDriver::new();
    for script in [Script::NeverEnds, Script::EndsAfterAbort(GRACE + MS)] {
        let mut runner = driver.runner(&[script]);
        assert_eq!(run(&mut runner), Err(Outage::TimedOut(LIMIT)));
        assert_eq!(runner.health, Health::Occupied);
        driver.take_calls();
        drop(runner);
        assert_eq!(driver.take_calls(), [], "nothing is asked of an occupied device, and nothing is destroyed");
    }
}

#[test]
fn a_launch_that_fails_poisons_the_context_and_stops_the_batch() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfter(MS), Script::LaunchFails, Script::EndsAfter(MS)]);
    assert_eq!(run(&mut runner), Err(Outage::Cuda(error("launch", 701))));
    assert_eq!(runner.health, Health::Poisoned);
    let calls = driver.take_calls();
    assert_eq!(calls.last(), Some(&Call::Launch(1)), "neither the third device nor the copies: {calls:?}");
    drop(runner);
    assert_eq!(driver.destroyed(), [0, 1, 2]);
    assert!(driver.take_calls().contains(&Call::SetAbort(0, true)), "the first kernel still ran");
}

#[test]
fn the_error_of_a_kernel_appears_at_a_query_and_poisons_the_context() {
    let driver = FakeDriver::new();
    let failed = Err(Outage::Cuda(error("is_done", 719)));
    let mut runner = driver.runner(&[Script::EndsAfter(MS), Script::PoisonsAfter(5 * MS)]);
    assert_eq!(run(&mut runner), failed);
    assert_eq!(runner.health, Health::Poisoned);
    assert_eq!(runner.idle(), None, "a batch without results is no use that warms a device up");
    drop(runner);
    assert_eq!(driver.destroyed(), [0, 1]);
    // In the grace period: the flag is cleared, and the error counts.
    let mut runner = driver.runner(&[Script::PoisonsAfter(LIMIT + SECOND)]);
    driver.take_calls();
    assert_eq!(run(&mut runner), failed);
    assert_eq!(runner.health, Health::Poisoned);
    assert_eq!(driver.take_calls().last(), Some(&Call::SetAbort(0, false)));
}

#[test]
fn devices_that_wait_for_one_that_hangs_are_asked_to_stop_together() {
    let driver = FakeDriver::new();
    let waiting = Script::EndsAfterAbort(10 * MS);
    for (other, health) in [(waiting, Health::Usable), (Script::NeverEnds, Health::Occupied)] {
        let mut runner = driver.runner(&[waiting, other, waiting]);
        driver.take_calls();
        assert_eq!(run(&mut runner), Err(Outage::TimedOut(LIMIT)));
        assert_eq!(runner.health, health);
        let calls = driver.take_calls();
        let first = calls.iter().position(|call| *call == Call::SetAbort(0, true)).unwrap();
        assert_eq!(calls[first..first + 3], [0, 1, 2].map(|device| Call::SetAbort(device, true)));
        assert_eq!(calls[calls.len() - 3..], [0, 1, 2].map(|device| Call::SetAbort(device, false)));
        drop(runner);
        let all: &[usize] = if health == Health::Usable { &[0, 1, 2] } else { &[] };
        assert_eq!(driver.destroyed(), all, "the other contexts may hold memory that the kernel uses");
    }
}

#[test]
fn all_devices_together_have_one_limit() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfter(15 * SECOND), Script::EndsAfter(LIMIT + SECOND)]);
    assert_eq!(run(&mut runner), Err(Outage::TimedOut(LIMIT)));
    assert!((LIMIT + SECOND..LIMIT + SECOND + MS).contains(&driver.passed()), "{:?}", driver.passed());
    assert_eq!(runner.health, Health::Usable);
}

#[test]
fn work_that_is_queued_when_the_runner_is_dropped_is_asked_to_stop() {
    let driver = FakeDriver::new();
    let cases = [
        (Script::EndsAfterAbort(MS), true),
        (Script::EndsAfter(SECOND), true),
        (Script::PoisonsAfter(SECOND), true),
        (Script::NeverEnds, false),
        (Script::EndsAfterAbort(GRACE + SECOND), false),
    ];
    for (script, is_destroyed) in cases {
        let mut runner = driver.runner(&[Script::EndsAfterAbort(MS), script]);
        launch(&mut runner, 2).unwrap();
        driver.take_calls();
        let started = driver.passed();
        drop(runner);
        assert!(driver.passed().saturating_sub(started) <= GRACE + MS, "{script:?}");
        assert_eq!(driver.destroyed().len(), if is_destroyed { 2 } else { 0 }, "{script:?}");
        let calls = driver.take_calls();
        assert!(calls.contains(&Call::SetAbort(1, true)) && !calls.contains(&Call::SetAbort(1, false)), "{calls:?}");
    }
}

#[test]
fn memory_that_is_being_cleared_is_waited_for_and_warms_nothing_up() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfter(ALMOST_GRACE), Script::EndsAfter(MS)]);
    launch(&mut runner, 2).unwrap();
    assert_eq!(runner.settle(2), Ok(()));
    assert_eq!(runner.idle(), None);
    runner.devices[1].script = Script::NeverEnds;
    launch(&mut runner, 2).unwrap();
    assert_eq!(runner.settle(2), Err(Outage::TimedOut(GRACE)));
    assert_eq!(runner.health, Health::Occupied);
}

#[test]
fn the_first_two_milliseconds_are_waited_for_without_a_pause() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfter(2 * MS)]);
    assert_eq!(run(&mut runner), Ok(()));
    let (spins, sleeps) = driver.spins_and_sleeps();
    assert_eq!((spins, sleeps), (200, 0), "10 us each");
    runner.devices[0].script = Script::EndsAfter(12 * MS);
    assert_eq!(run(&mut runner), Ok(()));
    let (spins, sleeps) = driver.spins_and_sleeps();
    assert_eq!(spins, 200 + 201);
    assert!((195..=200).contains(&sleeps), "{sleeps} pauses of 50 us");
}

#[test]
fn a_lack_of_memory_does_not_poison_a_context() {
    let driver = FakeDriver::new();
    let mut runner = driver.runner(&[Script::EndsAfter(MS)]);
    let lack = error("cuMemAlloc", 2);
    assert_eq!(runner.judged(Err::<(), _>(lack.clone())), Err(lack));
    assert_eq!(runner.health, Health::Usable);
    assert_eq!(runner.judged(Ok(7)), Ok(7));
    let fatal = error("cuMemAlloc", 719);
    assert_eq!(runner.judged(Err::<(), _>(fatal.clone())), Err(fatal));
    assert_eq!(runner.health, Health::Poisoned);
}
