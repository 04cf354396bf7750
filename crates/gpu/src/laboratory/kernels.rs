//! Cases that one kernel on one device measures.

use std::rc::Rc;
use std::time::Duration;
use syncscope_core::units::plural;

use syncscope_core::profile::{self, Phase};
use syncscope_core::{Case, Evidence, Layout, Refusal};

use super::{GpuLaboratory, Made, failed, usable};
use crate::catalogue::entry::Entry;
use crate::catalogue::limits::DeviceLimits;
use crate::catalogue::{self, Fault, Method, Proof, SamplingPolicy, fault_program, ruler_program};
use crate::cuda::compile::Program;
use crate::cuda::driver::Way;
use crate::cuda::error::Called;
use crate::evidence::Loops;
use crate::experiments::ThirdLoop;
use crate::experiments::kernel::{KernelExperiment, KernelRequest, Parameters, Setup};
use crate::hard_limits::least_cycles;
use crate::launch::arguments::{ArgumentKind, BenchArguments, RegisterArguments, UNROLL, VariableArguments};
use crate::launch::bench::{Bench, Shape};
use crate::launch::device_context::Kernels;
use crate::launch::offsets::{MemoryOffsets, POOL_BYTES};
use crate::launch::ruler;

impl GpuLaboratory {
    /// An experiment that fails on purpose, with its own limit for a batch.
    ///
    /// # Errors
    /// The errors of [`syncscope_core::Laboratory::experiment`].
    #[doc(hidden)]
    pub fn faulty(&mut self, fault: Fault, limit: Duration) -> Made<'_> {
        let parameters =
            Parameters { shape: Shape { blocks: 1, threads: 32 }, dtype: None, stride: 0, arrays: 1, cluster: 0 };
        let evidence = Evidence::NotAvailable("a fault is not a primitive".to_owned());
        let request = KernelRequest {
            parameters,
            arguments: BenchArguments::Register(RegisterArguments::default()),
            proof: Proof::Trial,
            third: None,
            carried: Rc::default(),
            is_own_context: true,
            unroll: UNROLL,
            sampling: SamplingPolicy::USUAL,
            limit: Some(limit),
            least: None,
        };
        self.set_up(&fault_program(fault), (evidence, Loops::default()), request)
    }

    /// A loop in one kernel.
    pub(super) fn kernel(&mut self, case: &Case, program: &Program, entry: &Entry) -> Made<'_> {
        let parameters = self.parameters(case)?;
        let (evidence, loops) = self.inspected(case, program)?;
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
        let request = KernelRequest {
            parameters,
            arguments,
            proof: entry.proof,
            third: self.entries.third_loop_of(case),
            carried: self.carried.entry(case.clone()).or_default().clone(),
            // The context of fences is updates, not fences.
            is_own_context: case.domain_and_family().1 != syncscope_core::Family::Fence.as_str(),
            unroll: (entry.unroll)(case),
            sampling: (entry.sampling)(case),
            limit: None,
            least: self.machines.first().and_then(|device| least_cycles(entry, case, &evidence, device)),
        };
        self.set_up(program, (evidence, loops), request)
    }

    /// Loads a program, clears memory and makes the experiment.
    fn set_up(
        &mut self,
        program: &Program,
        (evidence, loops): (Evidence, Loops),
        mut request: KernelRequest,
    ) -> Made<'_> {
        let parameters = request.parameters;
        let cubin = self.compiler.cubin(program).map_err(failed)?;
        let limits = self.limits;
        let clock_kernels = self.clock_kernels()?;
        // An eighth of a small device's memory leaves enough for other processes.
        let memory = self.machines.first().map_or(u64::MAX, |machine| machine.memory_bytes);
        let pool = POOL_BYTES.min(usize::try_from(memory / 8).unwrap_or(usize::MAX));
        let (ruler, watch) = (self.ruler.clone(), self.watch.clone());
        // The experiment needs the compiler too, for the third loop.
        let Self { bench, compiler, device, pass, .. } = self;
        let mut load = || {
            let open = || Bench::new(*device, limits.multiprocessors, *pass);
            let bench = usable(bench, |bench| bench.runner.checked_health(), open)?;
            bench.runner.set_limit(None);
            let warm_up = || ruler::warm_up(bench, clock_kernels, limits.multiprocessors);
            profile::time(Phase::Wake, warm_up).map_err(failed)?;
            profile::time(Phase::Load, || bench.load(program, &cubin)).map_err(failed)
        };
        // A kernel's fault can outlive its context: the first program in the next context fails to load with the same error,
        // which says nothing about this program.
        let kernels = load().or_else(|_| load())?;
        let Some(bench) = bench else { return Err(Refusal::Failed("the context is gone".to_owned())) };
        let kernels = kernels.launched(Way::in_clusters(parameters.cluster));
        let no_clusters = format!("the device has no clusters of {} blocks", parameters.cluster);
        let kernels = kernels.map_err(|error| Refusal::Skipped(format!("{no_clusters}: {error}")))?;
        profile::time(Phase::Fit, || refuse_waves(kernels, parameters, limits))?;
        let (bytes, each) = (parameters.memory_bytes(), request.sampling.offsets_per_sample);
        let clear = |bytes| bench.clear_memory(bytes);
        let offsets = profile::time(Phase::Clear, || cleared_offsets(clear, bytes, pool, each))?;
        bench.runner.set_limit(request.limit);
        let third = request.third.take();
        let third = third.map(|program| ThirdLoop::new(program, |program| compiler.cubin(program)));
        let setup = Setup { kernels, evidence, loops, ruler, watch, third };
        Ok(Box::new(KernelExperiment::new(bench, setup, request, offsets)))
    }

    /// The evidence in a case's machine code, and what else its loops show.
    pub(super) fn inspected(&mut self, case: &Case, program: &Program) -> Result<(Evidence, Loops), Refusal> {
        if let Some(known) = self.inspected.get(program) {
            return Ok(known.clone());
        }
        let cubin = self.compiler.cubin(program).map_err(failed)?;
        let found = profile::time(Phase::Load, || self.entries.inspected(case, &cubin));
        self.inspected.insert(program.clone(), found.clone());
        Ok(found)
    }

    /// Why the device does not have a primitive; `None` if it has.
    pub(super) fn unavailable(&self, id: &str) -> Option<String> {
        self.without_nccl(id).or_else(|| self.entries.unavailable(id, self.machines.first()?.compute_capability))
    }

    pub(super) fn clock_kernels(&mut self) -> Result<Kernels, Refusal> {
        let program = ruler_program();
        let cubin = self.compiler.cubin(&program).map_err(failed)?;
        self.bench()?.load(&program, &cubin).map_err(failed)
    }

    /// The bench; a new one if a kernel poisoned the last one's context.
    pub(super) fn bench(&mut self) -> Result<&mut Bench, Refusal> {
        let open = || Bench::new(self.device, self.limits.multiprocessors, self.pass);
        usable(&mut self.bench, |bench| bench.runner.checked_health(), open)
    }

    pub(super) fn parameters(&self, case: &Case) -> Result<Parameters, Refusal> {
        let (Some(threads), Some(blocks)) = (case.threads, case.blocks) else {
            return Err(Refusal::Failed(format!("{case} has no number of threads or blocks")));
        };
        let most = self.limits.max_threads;
        if !(1..=most).contains(&threads) {
            return Err(Refusal::Skipped(format!("a block has 1 to {most} threads on this device")));
        }
        if blocks == 0 {
            return Err(Refusal::Skipped("a grid has at least one block".to_owned()));
        }
        let stride = case.layout.and_then(Layout::stride).unwrap_or(0);
        let entry = self.entries.entry_of(case);
        let is_in_clusters = entry.is_some_and(|entry| entry.method == Method::Cluster);
        let cluster = if is_in_clusters { catalogue::cluster::size_of(case) } else { 0 };
        let arrays = entry.map_or(1, |entry| entry.arrays);
        Ok(Parameters { shape: Shape { blocks, threads }, dtype: case.dtype, stride, arrays, cluster })
    }
}

/// Memory offsets for variables of `bytes`, in cleared memory: as many as fit into `pool` bytes, or into the device's free
/// memory. `clear` clears the given number of bytes.
fn cleared_offsets(
    mut clear: impl FnMut(usize) -> Called,
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

/// Refuses a grid whose blocks do not all fit on the device at once: they cannot be timed together.
fn refuse_waves(
    kernels: Kernels,
    Parameters { shape, cluster, .. }: Parameters,
    limits: DeviceLimits,
) -> Result<(), Refusal> {
    let Shape { blocks, threads } = shape;
    let at_once = match cluster {
        0 => kernels.baseline.resident_blocks(threads, limits.multiprocessors).unwrap_or(0),
        _ => kernels.resident_blocks(threads, limits.multiprocessors).map_err(failed)?,
    };
    Err(Refusal::Skipped(match at_once {
        0 if cluster > 0 => {
            format!("the device holds no cluster of {cluster} blocks with {} each", plural(threads, "thread"))
        }
        1.. if blocks > at_once => {
            format!("only {at_once} of the {blocks} blocks fit on the device at once, so they cannot be timed together")
        }
        _ => return Ok(()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::error::CudaError;

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
