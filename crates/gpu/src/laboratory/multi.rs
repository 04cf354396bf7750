//! Barriers of a grid or of several devices, and reductions of a vector, set up on a group of devices.

use std::time::Duration;

use syncscope_core::{Case, Check, Group, Refusal};

use super::{GpuLaboratory, Made, failed, lost, usable};
use crate::catalogue::recipe::{Operation, Recipe};
use crate::catalogue::{Method, absent_block_program, entry_of, grid, multi, program_of, weakened_program};
use crate::cuda::compile::{Compiler, Program};
use crate::cuda::describe::adds_natively;
use crate::cuda::driver::{Device, Way, launches_on_several_devices};
use crate::cuda::error::NvrtcError;
use crate::experiments::ThirdLoop;
use crate::experiments::grid_barrier::{GridBarrierExperiment, Setup};
use crate::experiments::host_barrier::HostBarrierExperiment;
use crate::experiments::reduction::{LEAST_ROOM, Queue, ReductionExperiment, ReductionRequest};
use crate::launch::bench::Shape;
use crate::launch::offsets::MemoryOffsets;
use crate::launch::runner::Outage;
use crate::multi::{DeviceGroup, LIMIT, LaunchCall, LoadedProgram, MOST_DEVICES};

const NO_ACCESS: &str = "the devices have no access to each other's memory";

/// Maximum number of memory offsets, more than most cases use; each is as large as the flags of its barrier.
const MOST_OFFSETS: usize = 2048;

/// Maximum memory of all offsets; a user's barrier may have an element for each thread of the grid.
const MOST_BYTES: usize = 1 << 28;

/// Memory offsets that one sample uses. (On an H200 the lock-free barrier takes 2,960 to 3,770 cycles, depending on the
/// addresses of its flags, and the same again at the same addresses.)
pub(super) const OFFSETS_PER_SAMPLE: u32 = 8;

impl GpuLaboratory {
    /// A grid barrier by both clocks; each launch uses one memory offset, so it repeats exactly as often as asked.
    ///
    /// # Errors
    /// The errors of [`syncscope_core::Laboratory::experiment`].
    pub fn grid_barrier_by_both_clocks(&mut self, case: &Case) -> Result<GridBarrierExperiment<'_>, Refusal> {
        self.grid_barrier(case, program_of(case), LIMIT, 1)
    }

    /// A barrier of one or several grids; each launch uses this many memory offsets.
    pub(super) fn grid_barrier(
        &mut self,
        case: &Case,
        program: Option<Program>,
        limit: Duration,
        offsets_per_sample: u32,
    ) -> Result<GridBarrierExperiment<'_>, Refusal> {
        let program = &program.ok_or_else(|| Refusal::Skipped(format!("there is no {case} in this version")))?;
        let entry = self.entries.entry_of(case).filter(|entry| entry.method == Method::GridBarrier);
        let Some(entry) = entry else {
            return Err(Refusal::Failed(format!("{case} is not a barrier of grids")));
        };
        let evidence = self.entries.evidence_of(case, &self.compiler.cubin(program).map_err(failed)?);
        let ruler = self.ruler.clone();
        let bytes = grid::state_bytes(case, entry.own);
        let pool = (MOST_OFFSETS * bytes.next_multiple_of(512)).min(MOST_BYTES);
        let mut offsets = MemoryOffsets::new(bytes, pool, offsets_per_sample);
        let (third, unroll) = (self.entries.third_loop_of(case), (entry.unroll)(case));
        let OnDevices { device_group, compiler, program, remark } =
            self.set_up_on_devices(case, program, &offsets, limit)?;
        let third = third.map(|program| ThirdLoop::new(program, |program| compiler.cubin(program)));
        let apart = offsets.set_apart();
        let setup = Setup { program, offsets, apart, unroll, evidence, ruler, remark };
        let mut experiment = GridBarrierExperiment { device_group, setup, third, generation: 1 };
        if limit == LIMIT {
            experiment.warm_up().map_err(failed)?;
        }
        Ok(experiment)
    }

    /// A host barrier of several devices.
    pub(crate) fn host_barrier(&mut self, case: &Case, program: &Program) -> Made<'_> {
        let OnDevices { device_group, program, remark, .. } =
            self.set_up_on_devices(case, program, &MemoryOffsets::new(1, 1, 1), LIMIT)?;
        Ok(Box::new(HostBarrierExperiment::new(device_group, program, remark)))
    }

    /// A grid barrier that the last block never reaches.
    ///
    /// # Errors
    /// The errors of [`syncscope_core::Laboratory::experiment`].
    #[doc(hidden)]
    pub fn without_last_block(&mut self, case: &Case, limit: Duration) -> Made<'_> {
        Ok(Box::new(self.grid_barrier(case, absent_block_program(case), limit, OFFSETS_PER_SAMPLE)?))
    }

    /// Passes a barrier at least `barriers` times, with blocks that arrive late, and checks each time that all have arrived
    /// and, unless it is relaxed, that their writes are visible. Returns the barriers passed and what was found. `weakened` is
    /// the number, from 1, of one of its [`orderings`](crate::orderings) that the barrier omits.
    ///
    /// # Errors
    /// The errors of [`syncscope_core::Laboratory::experiment`].
    #[doc(hidden)]
    pub fn stress(&mut self, case: &Case, weakened: Option<u32>, barriers: u64) -> Result<(u64, Check), Refusal> {
        let program = weakened.map_or_else(|| program_of(case), |ordering| weakened_program(case, ordering));
        let mut experiment = self.grid_barrier(case, program, LIMIT, OFFSETS_PER_SAMPLE)?;
        experiment.stress_while(|passed| passed < barriers).map_err(failed)
    }

    /// A chain of reductions of a vector.
    pub(super) fn reduction(&mut self, case: &Case, program: &Program, recipe: Recipe) -> Made<'_> {
        let Some((operation, elements)) =
            case.group_word().parse::<Operation>().ok().zip(case.elements.filter(|elements| *elements > 0))
        else {
            let reason = "a reduction has a number of elements, and the group is `max` or `sum`";
            return Err(Refusal::Skipped(reason.to_owned()));
        };
        let count = case.devices.unwrap_or(1) as usize;
        if (count > 1) != recipe.joining.is_some() {
            return Err(Refusal::Skipped(format!("{} has no variant on {count} devices", case.primitive)));
        }
        let devices = self.first_devices(count)?;
        // Its kernels fill the vector and combine partial results.
        let simplest = Case { group: Some(Group::named(operation.as_str())), ..Case::new("gpu.reduction.atomic") };
        let helper = program_of(&simplest).ok_or_else(|| Refusal::Failed("the vector has no kernel".to_owned()))?;
        let helper_cubin = self.compiler.cubin(&helper).map_err(failed)?;
        let cubin = self.compiler.cubin(program).map_err(|error| match error {
            NvrtcError::NoHeaders => Refusal::Skipped(error.to_string()),
            other => failed(other),
        })?;
        let (evidence, _) = self.inspected(case, program)?;
        let (ruler, cpu) = (self.host_ruler.clone(), self.nearby_cpus.any());
        let multiprocessors = self.fewest_multiprocessors(count);
        let Self { device_group, pass, .. } = self;
        let group = opened_group(device_group, *pass, &devices)?;
        if !group.is_connected(count).map_err(failed)? {
            return Err(Refusal::Skipped(NO_ACCESS.to_owned()));
        }
        let request = ReductionRequest {
            recipe,
            operation,
            devices: count,
            elements,
            room: elements.max(LEAST_ROOM),
            multiprocessors,
            program: (program, &cubin),
            helper: (&helper, &helper_cubin),
        };
        let queue = Queue::new(group, &request).map_err(|outage| match outage {
            Outage::Cuda(error) if error.is_out_of_memory() => {
                Refusal::Skipped(format!("the device has no memory free for {elements} elements"))
            }
            other => failed(other),
        })?;
        let (blocks, threads) = queue.shape();
        if case.threads.is_some_and(|asked| asked != threads) || case.blocks.is_some_and(|asked| asked != blocks) {
            return Err(Refusal::Skipped(format!("it has {blocks} blocks of {threads} threads for so many elements")));
        }
        let mut experiment = ReductionExperiment::new(queue, (evidence, ruler), cpu);
        experiment.warm_up().map_err(failed)?;
        Ok(Box::new(experiment))
    }

    /// The smallest number of multiprocessors among the first `count` devices.
    fn fewest_multiprocessors(&self, count: usize) -> u32 {
        self.machines[..count].iter().map(|machine| machine.multiprocessors).min().unwrap_or(1)
    }

    /// Sets a program up on the devices of a case.
    fn set_up_on_devices(
        &mut self,
        case: &Case,
        program: &Program,
        offsets: &MemoryOffsets,
        limit: Duration,
    ) -> Result<OnDevices<'_>, Refusal> {
        let shape = self.parameters(case)?.shape;
        let count = case.devices.unwrap_or(1) as usize;
        let devices = self.first_devices(count)?;
        let launching = launching(case)?;
        let cubin = self.compiler.cubin(program).map_err(failed)?;
        let fewest = self.fewest_multiprocessors(count);
        let Self { device_group, compiler, pass, .. } = self;
        let device_group = opened_group(device_group, *pass, &devices)?;
        let resident = device_group.resident_blocks(program, &cubin, count, (shape.threads, launching), fewest);
        let resident = resident.map_err(failed)?;
        fits(shape, resident)?;
        let connected = device_group.is_connected(count).map_err(failed)?;
        if entry_of(case).is_some_and(|entry| (entry.adds_across_devices)(case)) {
            adds_everywhere(&devices, connected)?;
        }
        let set_up = device_group.set_up(program, &cubin, (count, shape, launching), offsets, limit);
        let remark = (!connected).then(|| "no peer access: the devices exchange data in host memory".to_owned());
        let program = set_up.map_err(failed)?;
        Ok(OnDevices { device_group, compiler, program, remark })
    }

    /// The first `count` devices; they must run the same kernels.
    fn first_devices(&self, count: usize) -> Result<Vec<Device>, Refusal> {
        let there = self.machines.len();
        if count == 0 || count > there || count > MOST_DEVICES {
            return Err(Refusal::Skipped(format!("asked {count} devices, there are {}", there.min(MOST_DEVICES))));
        }
        let machines = &self.machines[..count];
        if let Some(other) = machines.iter().find(|other| other.compute_capability != machines[0].compute_capability) {
            let reason = format!("devices {} and {} are of different generations", machines[0].index, other.index);
            return Err(Refusal::Skipped(reason));
        }
        machines.iter().map(|machine| self.driver.device(machine.index).map_err(failed)).collect()
    }
}

/// A program set up on the devices of a case.
struct OnDevices<'a> {
    device_group: &'a mut DeviceGroup,
    /// Compiles the third loop.
    compiler: &'a mut Compiler,
    program: LoadedProgram,
    /// A remark for the row.
    remark: Option<String>,
}

/// The group with these devices open; a new group if a kernel broke the last one.
fn opened_group<'a>(
    slot: &'a mut Option<DeviceGroup>,
    pass: u32,
    devices: &[Device],
) -> Result<&'a mut DeviceGroup, Refusal> {
    let device_group = usable(slot, |group| group.runner.checked_health(), || Ok(DeviceGroup::new(pass)))?;
    device_group.open(devices).map_err(lost)?;
    Ok(device_group)
}

/// Refuses a grid that is not resident as a whole, since its blocks wait for each other.
fn fits(shape: Shape, resident: u32) -> Result<(), Refusal> {
    if shape.blocks <= resident {
        return Ok(());
    }
    Err(Refusal::Skipped(format!("resident maximum {resident} blocks, asked {}", shape.blocks)))
}

fn launching(case: &Case) -> Result<LaunchCall, Refusal> {
    if !case.in_group(multi::ONE_LAUNCH) {
        return Ok(LaunchCall::PerDevice(match grid::cluster_of(case) {
            0 => Way::Cooperative,
            blocks => Way::InClusters(blocks),
        }));
    }
    if launches_on_several_devices() {
        return Ok(LaunchCall::Together);
    }
    Err(Refusal::Skipped("this driver no longer launches on several devices".to_owned()))
}

/// Refuses a counter shared by several devices if their additions would be lost.
fn adds_everywhere(devices: &[Device], connected: bool) -> Result<(), Refusal> {
    if devices.len() > 1 && !connected {
        return Err(Refusal::Skipped(NO_ACCESS.to_owned()));
    }
    for device in devices.iter().skip(1) {
        if !adds_natively(*device, devices[0]).map_err(failed)? {
            return Err(Refusal::Skipped("the devices have no atomic operations on each other's memory".to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_that_is_too_large_is_skipped_with_the_numbers() {
        let shape = Shape { blocks: 528, threads: 1024 };
        assert_eq!(fits(shape, 528), Ok(()));
        let refusal = fits(shape, 264).unwrap_err();
        assert_eq!(refusal, Refusal::Skipped("resident maximum 264 blocks, asked 528".to_owned()));
    }
}
