//! The GPUs of this machine as a laboratory: states what they can measure, and makes the experiments.
//!
//! | file | contents |
//! |---|---|
//! | this one | the laboratory, the choice of experiment for a case, and the replacement of contexts that a kernel poisoned |
//! | [`opening`] | opens the devices, describes them, and warns |
//! | [`kernels`] | cases that one kernel on one device measures |
//! | [`multi`] | barriers of a grid or of several devices, reductions of a vector |
//! | [`nccl`] | sums by NCCL |
//! | [`host`] | cases in which the host takes part |
//! | [`launched`] | a user's kernels and sequences of launches |
//!
//! Start with [`GpuLaboratory`].

use self::launched::LaunchedState;
use self::nccl::NcclState;
use crate::catalogue::limits::DeviceLimits;
use crate::catalogue::{Entries, Method, cases, own, variants};
use crate::cuda::compile::{Compiler, Program};
use crate::cuda::driver::{Device, Driver};
use crate::cuda::error::{Called, CudaError, GpuError};
use crate::cuda::nvml::{Nvml, Watch};
use crate::evidence::Loops;
use crate::experiments::kernel::Carried;
use crate::hybrid::nearby_cpus::NearbyCpus;
use crate::launch::bench::Bench;
use crate::launch::runner::Health;
use crate::multi::{DeviceGroup, LIMIT};
use crate::own_device;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use syncscope_core::machine::GpuMachine;
use syncscope_core::session::additivity_sample;
use syncscope_core::session::preset::GPU_CONTEXTS;
use syncscope_core::{
    Case, Evidence, Experiment, Laboratory, Listing, OwnCode, OwnUse, Preset, Primitive, Refusal, Ruler, Scope,
};

mod host;
mod kernels;
mod launched;
mod multi;
mod nccl;
mod opening;

/// An experiment ready to run, or why there is none.
type Made<'a> = Result<Box<dyn Experiment + 'a>, Refusal>;

/// The CUDA devices of this machine, opened for measuring. Cases without a number of devices are measured on the first one.
#[derive(Debug)]
pub struct GpuLaboratory {
    pub(crate) driver: Driver,
    /// The device used by cases for which one is enough.
    pub(crate) device: Device,
    pub(crate) machines: Vec<GpuMachine>,
    limits: DeviceLimits,
    pub(crate) entries: Entries,
    /// The user's operations.
    own: OwnCode,
    own_primitives: &'static [Primitive],
    pub(crate) compiler: Compiler,
    pub(crate) nvml: Option<Rc<Nvml>>,
    watch: Option<Rc<Watch>>,
    pub(crate) ruler: Ruler,
    host_ruler: Ruler,
    /// The CPUs of this process by their distance to the first device.
    nearby_cpus: NearbyCpus,
    /// The current pass over the cases, from 0.
    pass: u32,
    bench: Option<Bench>,
    /// The group for barriers of a grid and of several devices.
    pub(crate) device_group: Option<DeviceGroup>,
    /// NCCL and its groups of devices.
    nccl: NcclState,
    launched: LaunchedState,
    /// Evidence by program, as the machine code of a case is the same for all grids.
    inspected: HashMap<Program, (Evidence, Loops)>,
    /// The state that each case carries from one measurement block to the next.
    carried: HashMap<Case, Rc<RefCell<Carried>>>,
}

impl GpuLaboratory {
    /// The first device's properties that limit grids.
    pub const fn limits(&self) -> DeviceLimits {
        self.limits
    }
}

/// The programs of these cases, and the third loops of those that will run one: compiled on all CPUs now instead of one by one
/// later.
fn programs_for(entries: &Entries, cases: &[Case]) -> Vec<Program> {
    let sample = additivity_sample(cases);
    let sampled = cases.iter().filter(|case| sample.contains(&case.id()));
    let third_loops = sampled.filter_map(|case| entries.third_loop_of(case));
    cases.iter().filter_map(|case| entries.program_of(case)).chain(third_loops).collect()
}

impl Drop for GpuLaboratory {
    fn drop(&mut self) {
        // Drop contexts while the libraries are still loaded. Contexts of occupied devices are leaked.
        let contexts = (self.bench.take(), self.device_group.take(), self.nccl.take());
        if own_device::is_occupied() {
            std::mem::forget(contexts);
        }
    }
}

impl Laboratory for GpuLaboratory {
    fn listing(&self) -> Vec<Listing> {
        let planned = cases(Preset::Paper, &self.limits);
        let too_few = |id: &str| {
            let of_primitive = planned.iter().filter(|case| case.primitive == id);
            let fewest = of_primitive.map(|case| case.devices.unwrap_or(1)).min()? as usize;
            (fewest > self.machines.len()).then(|| format!("needs {fewest} GPUs or more"))
        };
        let list = |primitive: &'static Primitive| {
            let unavailable = self.unavailable(primitive.id).or_else(|| too_few(primitive.id));
            Listing { primitive, unavailable }
        };
        crate::primitives().iter().chain(self.own_primitives).map(list).collect()
    }

    fn plan(&self, preset: Preset) -> Vec<Case> {
        let devices = self.machines.len();
        let is_there = |case: &Case| case.devices.is_none_or(|count| count as usize <= devices);
        let with_kernels = cases(preset, &self.limits).into_iter().filter(is_there).collect();
        let mut of_own = own::cases(&self.own, self.limits);
        let is_on_all = |case: &&mut Case| self.own.find(&case.primitive).is_some_and(|own| own.uses(OwnUse::Devices));
        of_own.iter_mut().filter(is_on_all).for_each(|case| case.devices = Some(devices as u32));
        [self.place(with_kernels), self.nccl_cases(), of_own].concat()
    }

    fn variants(&self) -> Vec<Case> {
        variants()
    }

    fn fitting(&self, _: Preset, cases: Vec<Case>) -> Vec<Result<Case, String>> {
        cases.into_iter().map(|case| self.entries.limit(&case, self.limits).map_or(Ok(case), Err)).collect()
    }

    fn prepare(&mut self, cases: &[Case], progress: &mut dyn FnMut(usize, usize)) {
        let here = cases.iter().filter(|case| self.unavailable(&case.primitive).is_none());
        self.compiler.prepare(&programs_for(&self.entries, &here.cloned().collect::<Vec<_>>()), progress);
    }

    /// Gives the first passes new contexts, with other allocations: a case has one of several possible costs in each context,
    /// and the interval covers them. Machine code and evidence stay. Contexts open again with the next case.
    fn begin_pass(&mut self, pass: u32) {
        // Later passes repeat few and noisy cases: other contexts would cost more than they show.
        self.pass = pass.min(GPU_CONTEXTS - 1);
        if (1..GPU_CONTEXTS).contains(&pass) {
            give_up(
                (&mut self.bench, |bench| bench.runner.checked_health()),
                (&mut self.device_group, |group| group.runner.checked_health()),
            );
        }
    }

    fn experiment(&mut self, case: &Case) -> Made<'_> {
        self.nccl.checked_health()?;
        if let Some(launching) = crate::nccl::launching_of(case) {
            return self.nccl_sum(case, launching);
        }
        if let Some((own, launch)) = self.own.find(&case.primitive).and_then(|own| Some((own, own.launch.as_ref()?))) {
            let (own, launch) = (own.clone(), launch.clone());
            return self.launched(case, &own, &launch);
        }
        let (Some(entry), Some(program)) = (self.entries.entry_of(case), self.entries.program_of(case)) else {
            return Err(Refusal::Skipped(format!("there is no primitive {} in this version", case.primitive)));
        };
        if let Some(reason) = self.unavailable(&case.primitive) {
            return Err(Refusal::Skipped(reason));
        }
        let has_clusters = self.machines.first().is_some_and(|machine| machine.compute_capability >= (9, 0));
        if case.scope == Some(Scope::Cluster) && !has_clusters {
            return Err(Refusal::Skipped("the device has no clusters".to_owned()));
        }
        match entry.method {
            Method::GridBarrier => {
                Ok(Box::new(self.grid_barrier(case, Some(program), LIMIT, multi::OFFSETS_PER_SAMPLE)?))
            }
            Method::HostBarrier => self.host_barrier(case, &program),
            Method::Kernel | Method::Cluster => self.kernel(case, &program, entry),
            Method::Launch(launching) => self.launches(case, &program, launching),
            Method::Reduction(recipe) => self.reduction(case, &program, recipe),
            Method::RoundTrip => self.round_trip(case, &program),
            Method::Addition => self.addition(case, &program),
            Method::Compiled(why) => Err(Refusal::Skipped(format!("compiled, and not run: {why}"))),
        }
    }
}

// Contexts of a laboratory: a poisoned one is replaced, and an occupied device ends the run. Each pass has new ones. Errors of
// the device become reasons why there is no experiment.

/// Returns a runner of launches. If a kernel poisoned its context, the old one is dropped before `open` makes a new one.
fn usable<R>(
    slot: &mut Option<R>,
    health: impl FnOnce(&mut R) -> Health,
    open: impl FnOnce() -> Called<R>,
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

/// Destroys the runners of launches on the devices, with modules and memory, so that [`usable`] opens others. If a kernel
/// occupies a device, nothing is touched: calls might wait for it, and nothing can be measured any more.
fn give_up<A, B>(
    (one, health_of_one): (&mut Option<A>, impl FnOnce(&mut A) -> Health),
    (other, health_of_other): (&mut Option<B>, impl FnOnce(&mut B) -> Health),
) {
    let is_occupied = |health| health == Some(Health::Occupied);
    if is_occupied(one.as_mut().map(health_of_one)) || is_occupied(other.as_mut().map(health_of_other)) {
        return;
    }
    (*one, *other) = (None, None);
}

/// The driver gives this process no further context.
fn lost(error: CudaError) -> Refusal {
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
    use crate::launch::runner::Outage;
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

    /// Does what the beginning of a pass does.
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
