//! Contexts of a laboratory: a poisoned one is replaced, and an occupied device ends the run. Each pass has new ones. Errors of
//! the device become reasons why there is no experiment.

use syncscope_core::Refusal;

use crate::cuda::error::{CudaError, GpuError};
use crate::launch::outage::Health;

/// What can run launches. If a kernel poisoned its context, the old one is dropped before `open` makes a new one.
pub(super) fn usable<R>(
    slot: &mut Option<R>,
    health: impl FnOnce(&mut R) -> Health,
    open: impl FnOnce() -> Result<R, CudaError>,
) -> Result<&mut R, Refusal> {
    match slot.as_mut().map(health) {
        Some(Health::Occupied) => return Err(Refusal::Lost(GpuError::Occupied.to_string())),
        Some(Health::Poisoned) => *slot = None,
        Some(Health::Usable) | None => {}
    }
    match slot {
        Some(runner) => Ok(runner),
        none => Ok(none.insert(open().map_err(lost)?)),
    }
}

/// Destroys what can run launches on the devices, with modules and memory, so that [`usable`] opens others. If a kernel
/// occupies a device, nothing is touched: calls might wait for it, and nothing can be measured any more.
pub(super) fn give_up<A, B>(
    (one, health_of_one): (&mut Option<A>, impl FnOnce(&mut A) -> Health),
    (other, health_of_other): (&mut Option<B>, impl FnOnce(&mut B) -> Health),
) {
    let is_occupied = |health| health == Some(Health::Occupied);
    if is_occupied(one.as_mut().map(health_of_one)) || is_occupied(other.as_mut().map(health_of_other)) {
        return;
    }
    (*one, *other) = (None, None);
}

/// The driver gives this process no context any more.
pub(super) fn lost(error: CudaError) -> Refusal {
    Refusal::Lost(GpuError::Lost(error).to_string())
}

/// A failure with the text of an error.
#[allow(clippy::needless_pass_by_value, reason = "`map_err` passes it by value")]
pub(crate) fn failed(error: impl ToString) -> Refusal {
    Refusal::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::outage::Outage;
    use crate::launch::runner::Runner;
    use crate::launch::runner::testing::{Call, FakeClock, FakeDevice, FakeDriver, Script, error, run};
    use std::time::Duration;

    #[test]
    fn a_runner_is_opened_once_and_kept() {
        let driver = FakeDriver::new();
        let mut slot = None;
        usable(&mut slot, Runner::checked_health, || Ok(driver.runner(&[Script::NeverEnds]))).unwrap();
        let kept = usable(&mut slot, Runner::checked_health, || Err(error("cuCtxCreate", 2)));
        assert!(kept.is_ok());
        assert_eq!(driver.take_calls(), []);
    }

    #[test]
    fn a_poisoned_context_is_destroyed_before_the_next_one_is_made() {
        let driver = FakeDriver::new();
        let mut slot = Some(driver.runner(&[Script::PoisonsAfter(Duration::ZERO)]));
        assert!(matches!(run(slot.as_mut().unwrap()), Err(Outage::Cuda(_))));
        let opened = usable(&mut slot, Runner::checked_health, || {
            assert_eq!(driver.take_calls().last(), Some(&Call::Destroy(0)));
            Ok(driver.runner(&[Script::EndsAfter(Duration::ZERO)]))
        });
        assert_eq!(run(opened.unwrap()), Ok(()));
    }

    type Slot = Option<Runner<FakeDevice, FakeClock>>;

    /// As at the beginning of a pass.
    fn begin(one: &mut Slot, other: &mut Slot) {
        give_up((one, Runner::checked_health), (other, Runner::checked_health));
    }

    #[test]
    fn the_contexts_of_a_pass_are_destroyed_before_those_of_the_next_one_are_made() {
        let driver = FakeDriver::new();
        let ends = Script::EndsAfter(Duration::ZERO);
        let (mut slot, mut group) = (Some(driver.runner(&[ends])), Some(driver.runner(&[ends; 2])));
        assert_eq!(run(slot.as_mut().unwrap()), Ok(()));
        begin(&mut slot, &mut group);
        assert!(slot.is_none() && group.is_none());
        assert_eq!(driver.destroyed(), [0, 0, 1], "that of one device and those of the group");
        let opened = usable(&mut slot, Runner::checked_health, || {
            assert_eq!(driver.take_calls().last(), Some(&Call::Destroy(1)));
            Ok(driver.runner(&[ends]))
        });
        assert_eq!(run(opened.unwrap()), Ok(()));
        begin(&mut group, &mut None);
        assert!(driver.destroyed().is_empty(), "there is nothing to give up");
    }

    #[test]
    fn a_poisoned_context_is_given_up_if_its_kernels_stop() {
        let driver = FakeDriver::new();
        for (script, is_given_up) in [(Script::EndsAfterAbort(Duration::ZERO), true), (Script::NeverEnds, false)] {
            let mut slot = Some(driver.runner(&[script, Script::LaunchFails]));
            assert!(matches!(run(slot.as_mut().unwrap()), Err(Outage::Cuda(_))));
            driver.take_calls();
            begin(&mut slot, &mut None);
            assert_eq!((slot.is_none(), driver.destroyed().len()), (is_given_up, if is_given_up { 2 } else { 0 }));
        }
    }

    #[test]
    fn no_context_of_an_occupied_device_is_given_up() {
        let driver = FakeDriver::new();
        let (mut slot, mut group) =
            (Some(driver.runner(&[Script::NeverEnds])), Some(driver.runner(&[Script::NeverEnds])));
        assert!(matches!(run(slot.as_mut().unwrap()), Err(Outage::TimedOut(_))));
        driver.take_calls();
        begin(&mut slot, &mut group);
        begin(&mut group, &mut slot);
        assert_eq!(driver.take_calls(), [], "nothing is asked, and nothing is destroyed");
        let refused = usable(&mut slot, Runner::checked_health, || Ok(driver.runner(&[])));
        assert!(matches!(refused, Err(Refusal::Lost(reason)) if reason.contains("still occupies the device")));
    }

    #[test]
    fn the_laboratory_is_lost_if_there_is_no_other_context() {
        let driver = FakeDriver::new();
        let mut slot = Some(driver.runner(&[Script::LaunchFails]));
        assert!(run(slot.as_mut().unwrap()).is_err());
        for _ in 0..2 {
            let refused = usable(&mut slot, Runner::checked_health, || Err(error("cuCtxCreate", 46)));
            let Err(Refusal::Lost(reason)) = refused else { panic!("there is no context") };
            assert!(reason.contains("this process gets no other: cuCtxCreate"), "{reason}");
        }
        assert_eq!(driver.destroyed(), [0]);
    }

    #[test]
    fn no_context_is_made_beside_a_kernel_that_still_runs_in_a_poisoned_one() {
        let driver = FakeDriver::new();
        let mut slot = Some(driver.runner(&[Script::NeverEnds, Script::LaunchFails]));
        assert!(matches!(run(slot.as_mut().unwrap()), Err(Outage::Cuda(_))));
        let refused = usable(&mut slot, Runner::checked_health, || Ok(driver.runner(&[])));
        assert!(matches!(refused, Err(Refusal::Lost(reason)) if reason.contains("still occupies the device")));
        drop(slot);
        assert!(driver.destroyed().is_empty());
    }

    #[test]
    fn the_laboratory_is_lost_while_a_kernel_occupies_a_device() {
        let driver = FakeDriver::new();
        let mut slot = Some(driver.runner(&[Script::NeverEnds, Script::EndsAfterAbort(Duration::ZERO)]));
        assert!(matches!(run(slot.as_mut().unwrap()), Err(Outage::TimedOut(_))));
        for _ in 0..2 {
            let refused = usable(&mut slot, Runner::checked_health, || Ok(driver.runner(&[])));
            let Err(Refusal::Lost(reason)) = refused else { panic!("the device is occupied") };
            assert!(reason.contains("still occupies the device"), "{reason}");
        }
        drop(slot);
        assert!(driver.destroyed().is_empty());
    }
}
