//! Reductions of a vector: sets them up on a group of devices.

use syncscope_core::{Case, Experiment, Refusal};

use super::multi::opened_group;
use super::{GpuLaboratory, failed};
use crate::catalogue::program_of;
use crate::catalogue::reduction::{Operation, Recipe};
use crate::cuda::compile::Program;
use crate::cuda::error::NvrtcError;
use crate::experiments::reduction::{LEAST_ROOM, Queue, ReductionExperiment, Request};
use crate::launch::runner::Outage;

impl GpuLaboratory {
    /// A chain of reductions.
    pub(super) fn reduction(
        &mut self,
        case: &Case,
        program: &Program,
        recipe: Recipe,
    ) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let Some((operation, elements)) = Operation::of(case).zip(case.elements.filter(|elements| *elements > 0))
        else {
            let reason = "a reduction has a number of elements, and the group is `max` or `sum`";
            return Err(Refusal::Skipped(reason.to_owned()));
        };
        let count = case.devices.unwrap_or(1) as usize;
        if (count > 1) != recipe.joining.is_some() {
            return Err(Refusal::Skipped(format!("{} has no variant on {count} devices", case.primitive)));
        }
        let devices = self.first_devices(count)?;
        let helper = helper_of(operation).ok_or_else(|| Refusal::Failed("the vector has no kernel".to_owned()))?;
        let helper_cubin = self.compiler.cubin(&helper).map_err(failed)?;
        let cubin = self.compiler.cubin(program).map_err(|error| match error {
            NvrtcError::NoHeaders => Refusal::Skipped(error.to_string()),
            other => failed(other),
        })?;
        let evidence = self.evidence(case, program)?;
        let (ruler, cpu) = (self.host_ruler.clone(), self.nearby_cpus.any());
        let multiprocessors = self.machines[..count].iter().map(|machine| machine.multiprocessors).min().unwrap_or(1);
        let Self { device_group, pass, .. } = self;
        let group = opened_group(device_group, *pass, &devices)?;
        if !group.is_connected(count).map_err(failed)? {
            return Err(Refusal::Skipped("the devices have no access to each other's memory".to_owned()));
        }
        let request = Request {
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
}

/// The program whose kernels fill the vector and join partial results: that of the simplest variant.
fn helper_of(operation: Operation) -> Option<Program> {
    program_of(&Case { group: Some(operation.group()), ..Case::new("gpu.reduction.atomic") })
}
