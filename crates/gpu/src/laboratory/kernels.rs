//! Cases that one kernel on one device measures.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use syncscope_core::profile::{self, Phase};
use syncscope_core::{Actor, Case, Evidence, Experiment, Layout, Limit, Refusal};

use super::GpuLaboratory;
use super::contexts::usable;
use crate::catalogue::entry::Entry;
use crate::catalogue::limits::DeviceLimits;
use crate::catalogue::{
    self, Fault, Method, Proof, SamplingPolicy, arrays_of, fault_program, ruler_program, third_loop_of, unavailable,
};
use crate::cuda::compile::Program;
use crate::cuda::error::CudaError;
use crate::evidence::evidence_of;
use crate::experiments::kernel::Parameters;
use crate::experiments::kernel::{Carried, KernelExperiment, Setup};
use crate::experiments::third_loop::ThirdLoop;
use crate::hard_limits;
use crate::laboratory::contexts::failed;
use crate::launch::arguments::{ArgumentKind, BenchArguments, RegisterArguments, UNROLL, VariableArguments};
use crate::launch::bench::Bench;
use crate::launch::offsets::{MemoryOffsets, POOL_BYTES};
use crate::launch::request::{Kernels, Shape};
use crate::launch::ruler;

impl GpuLaboratory {
    /// An experiment that fails on purpose, with its own limit for a batch.
    ///
    /// # Errors
    /// As [`syncscope_core::Laboratory::experiment`].
    #[doc(hidden)]
    pub fn faulty(&mut self, fault: Fault, limit: Duration) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let parameters =
            Parameters { shape: Shape { blocks: 1, threads: 32 }, dtype: None, stride: 0, arrays: 1, cluster: 0 };
        let evidence = |_: &[u8]| Evidence::NotAvailable("a fault is not a primitive".to_owned());
        let request = ExperimentRequest {
            parameters,
            arguments: BenchArguments::Register(RegisterArguments::default()),
            proof: Proof::Trial,
            third: None,
            carried: Rc::default(),
            actor: Actor::Slowest,
            is_own_context: true,
            min_iterations: 1,
            unroll: UNROLL,
            sampling: SamplingPolicy::USUAL,
            limit: Some(limit),
            least: None,
        };
        let cubin = self.compiler.cubin(&fault_program(fault)).map_err(failed)?;
        self.set_up(&fault_program(fault), evidence(&cubin), request)
    }

    /// A loop in one kernel.
    pub(super) fn kernel(
        &mut self,
        case: &Case,
        program: &Program,
        entry: &Entry,
    ) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let parameters = self.parameters(case)?;
        let min_iterations = parameters.min_iterations((entry.saturates)(case));
        let evidence = self.evidence(case, program)?;
        let stride = parameters.stride;
        let arguments = match entry.kernel.arguments {
            ArgumentKind::Variable => BenchArguments::Variable(VariableArguments {
                opaque_one: 1,
                stride,
                value_scale: 1,
                ..VariableArguments::default()
            }),
            ArgumentKind::Register => {
                BenchArguments::Register(RegisterArguments { opaque_one: 1, ..RegisterArguments::default() })
            }
            other => return Err(Refusal::Failed(format!("{case} is not a loop in one kernel: {other:?}"))),
        };
        let request = ExperimentRequest {
            parameters,
            arguments,
            proof: entry.proof,
            third: third_loop_of(case),
            carried: self.carried.entry(case.clone()).or_default().clone(),
            actor: entry.facts.actor_of(case),
            // Fences stand between updates.
            is_own_context: case.domain_and_family().1 != syncscope_core::Family::Fence.as_str(),
            min_iterations,
            unroll: entry.unroll,
            sampling: (entry.sampling)(case),
            limit: None,
            least: self.least_cycles(case, &evidence),
        };
        self.set_up(program, evidence, request)
    }

    /// Loads a program, clears memory and makes the experiment.
    fn set_up(
        &mut self,
        program: &Program,
        evidence: Evidence,
        request: ExperimentRequest,
    ) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let ExperimentRequest { parameters, arguments, proof, actor, .. } = request;
        let ExperimentRequest {
            third, carried, is_own_context, min_iterations, unroll, sampling, limit, least, ..
        } = request;
        let cubin = self.compiler.cubin(program).map_err(failed)?;
        let limits = self.limits;
        let clock_kernels = self.clock_kernels()?;
        // An eighth of the memory of a small device leaves enough for other processes.
        let memory = self.machines.first().map_or(u64::MAX, |machine| machine.memory_bytes);
        let pool = POOL_BYTES.min(usize::try_from(memory / 8).unwrap_or(usize::MAX));
        let (ruler, watch) = (self.ruler.clone(), self.watch.clone());
        // The experiment has the compiler as well, for the third loop.
        let Self { bench, compiler, device, pass, .. } = self;
        let bench = usable(bench, Bench::checked_health, || Bench::new(*device, limits.multiprocessors, *pass))?;
        bench.set_limit(None);
        ruler::warm_up(bench, clock_kernels, limits.multiprocessors).map_err(failed)?;
        let kernels = profile::time(Phase::Load, || bench.load(program, &cubin)).map_err(failed)?;
        let kernels = kernels.in_clusters(parameters.cluster);
        let kernels = kernels.map_err(|error| no_such_cluster(parameters.cluster, &error))?;
        let waves = waves(kernels, parameters, limits)?;
        let offsets = profile::time(Phase::Clear, || {
            cleared_offsets(
                |bytes| bench.clear_memory(bytes),
                parameters.memory_bytes(),
                pool,
                sampling.offsets_per_sample,
            )
        })?;
        bench.set_limit(limit);
        let setup = Setup {
            kernels,
            evidence,
            least,
            parameters,
            arguments,
            proof,
            actor,
            is_own_context,
            ruler,
            waves,
            min_iterations,
            unroll,
            sampling,
            carried,
            watch,
        };
        let third = third.map(|program| ThirdLoop::new(program, |program| compiler.cubin(program)));
        Ok(Box::new(KernelExperiment::new(bench, setup, third, offsets)))
    }

    /// What the cost of a case cannot be less than.
    fn least_cycles(&self, case: &Case, evidence: &Evidence) -> Option<Limit> {
        hard_limits::least_cycles(case, evidence, self.limits, self.machines.first()?.compute_capability)
    }

    /// The evidence in the machine code of a case.
    pub(super) fn evidence(&mut self, case: &Case, program: &Program) -> Result<Evidence, Refusal> {
        let code = Case { threads: None, blocks: None, elements: None, ..case.clone() };
        if let Some(evidence) = self.evidence.get(&code) {
            return Ok(evidence.clone());
        }
        let cubin = self.compiler.cubin(program).map_err(failed)?;
        let evidence = profile::time(Phase::Load, || evidence_of(case, &cubin));
        self.evidence.insert(code, evidence.clone());
        Ok(evidence)
    }

    /// Why the device does not have a primitive, or `None`.
    pub(super) fn unavailable(&self, id: &str) -> Option<String> {
        self.without_nccl(id).or_else(|| unavailable(id, self.machines.first()?.compute_capability))
    }

    pub(super) fn clock_kernels(&mut self) -> Result<Kernels, Refusal> {
        let program = ruler_program();
        let cubin = self.compiler.cubin(&program).map_err(failed)?;
        self.bench()?.load(&program, &cubin).map_err(failed)
    }

    /// The bench; a new one if a kernel poisoned the context of the last.
    pub(super) fn bench(&mut self) -> Result<&mut Bench, Refusal> {
        let open = || Bench::new(self.device, self.limits.multiprocessors, self.pass);
        usable(&mut self.bench, Bench::checked_health, open)
    }

    pub(super) fn parameters(&self, case: &Case) -> Result<Parameters, Refusal> {
        let (Some(threads), Some(blocks)) = (case.threads, case.blocks) else {
            return Err(Refusal::Failed(format!("{case} has no number of threads or blocks")));
        };
        if threads == 0 || threads > self.limits.max_threads {
            return Err(Refusal::Skipped(format!(
                "a block has 1 to {} threads on this device",
                self.limits.max_threads
            )));
        }
        if blocks == 0 {
            return Err(Refusal::Skipped("a grid has at least one block".to_owned()));
        }
        let stride = case.layout.and_then(Layout::stride).unwrap_or(0);
        let cluster = catalogue::entry_of(case).filter(|entry| entry.method == Method::Cluster);
        let cluster = cluster.map_or(0, |_| catalogue::cluster::size_of(case));
        Ok(Parameters { shape: Shape { blocks, threads }, dtype: case.dtype, stride, arrays: arrays_of(case), cluster })
    }
}

/// What is needed to make the experiment of a case.
#[derive(Debug)]
struct ExperimentRequest {
    parameters: Parameters,
    arguments: BenchArguments,
    proof: Proof,
    /// The program with the third loop.
    third: Option<Program>,
    carried: Rc<Cell<Carried>>,
    actor: Actor,
    is_own_context: bool,
    min_iterations: u64,
    /// Operations in one iteration of the baseline.
    unroll: u32,
    sampling: SamplingPolicy,
    /// How long a batch may take; `None` for the usual limit.
    limit: Option<Duration>,
    /// What the cost cannot be less than.
    least: Option<Limit>,
}

/// Memory offsets for variables of `bytes`, in cleared memory: as many as fit into `pool` bytes, or into the free memory of
/// the device. `clear` clears so many bytes.
fn cleared_offsets(
    mut clear: impl FnMut(usize) -> Result<(), CudaError>,
    bytes: usize,
    pool: usize,
    offsets_per_sample: u32,
) -> Result<MemoryOffsets, Refusal> {
    let mut offsets = MemoryOffsets::new(bytes, pool, offsets_per_sample);
    while let Err(error) = clear(offsets.bytes()) {
        if !error.is_out_of_memory() {
            return Err(failed(error));
        }
        offsets = offsets.halved().ok_or_else(|| {
            let megabytes = bytes.div_ceil(1 << 20);
            Refusal::Skipped(format!("the variables take {megabytes} MiB, which the device does not have free"))
        })?;
    }
    Ok(offsets)
}

/// A remark if the blocks of the grid do not all fit on the device at once.
fn waves(
    kernels: Kernels,
    Parameters { shape, cluster, .. }: Parameters,
    limits: DeviceLimits,
) -> Result<Option<String>, Refusal> {
    let at_once = match cluster {
        0 => kernels.baseline.blocks_per_multiprocessor(shape.threads).unwrap_or(0) * limits.multiprocessors,
        size => {
            let kernels = [kernels.baseline, kernels.test, kernels.check];
            let fits = kernels.map(|kernel| kernel.active_clusters(shape.threads)).into_iter();
            let clusters = fits.collect::<Result<Vec<_>, _>>().map_err(failed)?.into_iter().min().unwrap_or(0);
            if clusters == 0 {
                let Shape { threads, .. } = shape;
                let reason = format!("the device holds no cluster of {size} blocks with {threads} threads each");
                return Err(Refusal::Skipped(reason));
            }
            clusters * size
        }
    };
    let is_more = at_once > 0 && shape.blocks > at_once;
    Ok(is_more.then(|| format!("{at_once} of the {} blocks run at a time", shape.blocks)))
}

fn no_such_cluster(size: u32, error: &CudaError) -> Refusal {
    Refusal::Skipped(format!("the device has no clusters of {size} blocks: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u32) -> CudaError {
        CudaError { call: "cuMemAlloc", code, name: "CUDA_ERROR".into(), text: "failed on purpose".into() }
    }

    #[test]
    fn a_device_with_little_memory_gets_fewer_offsets_or_a_reason() {
        let cleared = |free: usize| {
            let mut asked = Vec::new();
            let offsets = cleared_offsets(
                |bytes| {
                    asked.push(bytes >> 20);
                    if bytes <= free { Ok(()) } else { Err(error(2)) }
                },
                100 << 20,
                1 << 30,
                1,
            );
            (offsets.map(|offsets| offsets.bytes() >> 20), asked)
        };
        assert_eq!(cleared(4 << 30), (Ok(1000), vec![1000]));
        assert_eq!(cleared(300 << 20), (Ok(200), vec![1000, 500, 200]));
        let (nothing, asked) = cleared(50 << 20);
        assert_eq!(asked, [1000, 500, 200, 100]);
        assert!(matches!(&nothing, Err(Refusal::Skipped(reason)) if reason.contains("take 100 MiB")), "{nothing:?}");
        let broken = cleared_offsets(|_| Err(error(719)), 8, 1 << 20, 8);
        assert!(matches!(&broken, Err(Refusal::Failed(reason)) if reason.contains("failed on purpose")), "{broken:?}");
    }
}
