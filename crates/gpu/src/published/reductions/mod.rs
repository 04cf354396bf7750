//! Reductions of a vector with each kind of synchronization.
//!
//! | file | contents |
//! |---|---|
//! | this one | which variants are measured at which sizes |
//! | [`programs`] | how each variant is compiled and launched, and on which grid |
//! | [`session`] | one device with the vector, the results and the kernels |
//! | [`chain`] | one variant at one size |
//! | [`several`], [`member`] | several devices, and one of them |
//! | [`joining`] | what is queued for one reduction on several devices |
//! | [`vector`] | the vector and the known answers |
//! | [`arguments`] | what the host passes to the kernels |
//! | [`warps`] | sums within a warp |
//!
//! Start with [`chain`]. The kernels are in `kernels/published_reductions.cu` and `kernels/published_cub.cu`.

mod arguments;
mod chain;
mod joining;
mod member;
mod plan;
mod programs;
mod session;
mod several;
mod vector;
mod warps;

use std::sync::Arc;
use std::time::{Duration, Instant};

use syncscope_core::published::reductions::{Operation, ReductionRow, Variant, variant};

pub use self::plan::ReductionPlan;
pub use self::warps::{warp_instructions, warp_program};

use self::chain::{Chain, Problem};
use self::programs::{RECIPES, Recipe};
use self::session::{Loaded, Session};
use crate::GpuLaboratory;
use crate::cuda::compile::Program;
use crate::cuda::error::GpuError;
use crate::launch::outage::Outage;

/// Sizes at which every variant is checked once, before it is timed: fewer elements than a warp, a block or a quad, and
/// numbers that are no multiple of any of them.
const ODD_SIZES: [u64; 6] = [1, 31, 1000, 4099, 100_003, (1 << 20) + 3];

/// The programs of all variants that an architecture of this compute capability can run, without CUB's.
#[must_use]
pub fn reduction_programs(capability: (u32, u32)) -> Vec<(&'static str, Operation, Program)> {
    let usable = RECIPES.iter().filter(|recipe| recipe.needs <= capability && !recipe.is_cub());
    usable
        .flat_map(|recipe| operations_of(recipe).map(|operation| (recipe.id, operation, recipe.program(operation))))
        .collect()
}

/// CUB's programs, which need the headers in the folders of CUDA.
#[must_use]
pub fn cub_programs() -> Vec<Program> {
    let cub = RECIPES.iter().filter(|recipe| recipe.is_cub());
    cub.flat_map(|recipe| operations_of(recipe).map(|operation| recipe.program(operation))).collect()
}

/// The programs of reductions on several devices: for each operation one without waits, and one in which devices wait.
#[must_use]
pub fn several_programs() -> Vec<[Program; 2]> {
    [Operation::Max, Operation::Sum].map(joining::programs).to_vec()
}

fn operations_of(recipe: &'static Recipe) -> impl Iterator<Item = Operation> {
    let computes = |operation: &Operation| variant(recipe.id).is_some_and(|variant| variant.computes(*operation));
    [Operation::Max, Operation::Sum].into_iter().filter(computes)
}

impl GpuLaboratory {
    /// Measures every variant on the first device at every size. `progress` gets the variant and the number of elements.
    ///
    /// # Errors
    /// When the device cannot be opened, or a kernel made it unusable.
    pub fn reductions(
        &mut self,
        plan: &ReductionPlan,
        progress: &mut dyn FnMut(&str, u64),
    ) -> Result<Vec<ReductionRow>, GpuError> {
        let capability = self.machines.first().map_or((0, 0), |machine| machine.compute_capability);
        progress("compiling", 0);
        let programs = reduction_programs(capability);
        let programs: Vec<Program> = programs.into_iter().map(|(_, _, program)| program).collect();
        self.compiler.prepare(&programs, &mut |_, _| {});
        let largest = plan.sizes.iter().chain(&ODD_SIZES).copied().max().unwrap_or(1);
        let session = Session::new(self.experiment_device()?, largest)?;
        let cells = plan.sizes.len() * plan.operations.len() * RECIPES.len();
        let each = plan.time / u32::try_from(cells.max(1)).unwrap_or(u32::MAX);
        let mut run = DeviceRun { laboratory: self, session, capability, each, seed: plan.seed, rows: Vec::new() };
        let mut outcome = Ok(());
        for operation in &plan.operations {
            outcome = outcome.and_then(|()| run.operation(*operation, &plan.sizes, progress));
        }
        let DeviceRun { laboratory, mut rows, .. } = run;
        if let Err(outage) = outcome {
            // What was measured before is worth keeping.
            if rows.is_empty() {
                return Err(outage.into());
            }
            add_missing(&mut rows, plan, &outage.to_string());
            return Ok(rows);
        }
        rows.extend(laboratory.reductions_of_several(plan, progress));
        Ok(rows)
    }

    /// The machine code of a variant, or why there is none.
    fn reduction_cubin(&mut self, recipe: &Recipe, operation: Operation) -> Result<Arc<[u8]>, String> {
        let program = recipe.program(operation);
        self.compiler.cubin(&program).map_err(|error| first_lines(&error.to_string()))
    }
}

/// Adds rows with a reason for the cells that have none.
fn add_missing(rows: &mut Vec<ReductionRow>, plan: &ReductionPlan, reason: &str) {
    for operation in &plan.operations {
        let variants = RECIPES.iter().filter_map(|recipe| variant(recipe.id));
        for variant in variants.filter(|variant| variant.computes(*operation)) {
            for elements in &plan.sizes {
                let is_here = |row: &ReductionRow| {
                    row.variant == variant.id && (row.operation, row.elements) == (*operation, *elements)
                };
                if !rows.iter().any(is_here) {
                    rows.push(ReductionRow::unmeasured(variant, *operation, *elements, reason.to_owned()));
                }
            }
        }
    }
}

/// The output of a compiler may have thousands of lines.
fn first_lines(text: &str) -> String {
    text.lines().take(3).collect::<Vec<_>>().join(" ")
}

/// The variant whose program fills the vector and warms up.
const FILLING: &str = "device.atomic";

/// The result, or the error of a call that leaves the device usable, as a reason.
fn survived<T>(result: Result<T, Outage>) -> Result<Result<T, String>, Outage> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Outage::Cuda(error)) if !error.is_fatal() => Ok(Err(error.to_string())),
        Err(outage) => Err(outage),
    }
}

/// The row of a variant that was tried and failed.
fn refused(variant: &Variant, operation: Operation, elements: u64, reason: &str) -> ReductionRow {
    let row = ReductionRow::unmeasured(variant, operation, elements, reason.to_owned());
    ReductionRow { check: Some(false), devices: Some(1), ..row }
}

/// The measurement on one device.
struct DeviceRun<'a> {
    laboratory: &'a mut GpuLaboratory,
    session: Session,
    capability: (u32, u32),
    /// The time for one variant at one size.
    each: Duration,
    seed: u64,
    rows: Vec<ReductionRow>,
}

impl DeviceRun<'_> {
    fn operation(
        &mut self,
        operation: Operation,
        sizes: &[u64],
        progress: &mut dyn FnMut(&str, u64),
    ) -> Result<(), Outage> {
        self.warm_up(operation)?;
        for recipe in RECIPES {
            let Some(variant) = variant(recipe.id).filter(|variant| variant.computes(operation)) else { continue };
            match self.loaded(recipe, operation) {
                Ok(loaded) => {
                    let refusal = self.refusal(recipe, loaded, operation)?;
                    for elements in sizes {
                        progress(recipe.id, *elements);
                        let row = match &refusal {
                            Some(refusal) => refused(variant, operation, *elements, refusal),
                            None => survived(self.measured(recipe, variant, loaded, operation, *elements))?
                                .unwrap_or_else(|reason| refused(variant, operation, *elements, &reason)),
                        };
                        self.rows.push(row);
                    }
                }
                Err(reason) => {
                    let refused = |elements| ReductionRow::unmeasured(variant, operation, elements, reason.clone());
                    self.rows.extend(sizes.iter().map(|elements| refused(*elements)));
                }
            }
        }
        Ok(())
    }

    /// The kernels of a variant, or why it is not measured.
    fn loaded(&mut self, recipe: &Recipe, operation: Operation) -> Result<Loaded, String> {
        if recipe.needs > self.capability {
            let ((major, minor), (own_major, own_minor)) = (recipe.needs, self.capability);
            return Err(format!(
                "needs compute capability {major}.{minor}, and the device has {own_major}.{own_minor}"
            ));
        }
        let cubin = self.laboratory.reduction_cubin(recipe, operation)?;
        self.session.load(recipe, operation, &cubin).map_err(|error| error.to_string())
    }

    /// Keeps the device busy until its clock has risen.
    fn warm_up(&mut self, operation: Operation) -> Result<(), Outage> {
        const LONG_ENOUGH: Duration = Duration::from_millis(300);
        let Some(recipe) = RECIPES.iter().find(|recipe| recipe.id == FILLING) else { return Ok(()) };
        let loaded = self.filling(operation)?;
        let elements = self.session.capacity();
        let started = Instant::now();
        if let Some(mut chain) = self.chain(recipe, loaded, operation, elements)? {
            while started.elapsed() < LONG_ENOUGH {
                chain.is_right()?;
            }
        }
        Ok(())
    }

    /// Why a variant is not timed: a result at one of the sizes that fit badly is wrong, or it cannot be launched.
    fn refusal(&mut self, recipe: &Recipe, loaded: Loaded, operation: Operation) -> Result<Option<String>, Outage> {
        let wrong = survived(self.first_wrong_size(recipe, loaded, operation))?;
        Ok(wrong.unwrap_or_else(Some))
    }

    fn first_wrong_size(
        &mut self,
        recipe: &Recipe,
        loaded: Loaded,
        operation: Operation,
    ) -> Result<Option<String>, Outage> {
        for elements in ODD_SIZES {
            let Some(mut chain) = self.chain(recipe, loaded, operation, elements)? else { continue };
            if !chain.is_right()? {
                return Ok(Some(format!("the result for {elements} elements is wrong")));
            }
        }
        Ok(None)
    }

    /// A chain on the prepared vector; `None` if there is no room for it.
    fn chain<'a>(
        &'a mut self,
        recipe: &'a Recipe,
        loaded: Loaded,
        operation: Operation,
        elements: u64,
    ) -> Result<Option<Chain<'a>>, Outage> {
        if elements > self.session.capacity() {
            return Ok(None);
        }
        let filling = self.filling(operation)?;
        self.session.prepare(&filling, operation, elements)?;
        let multiprocessors = self.laboratory.limits().multiprocessors;
        let resident = loaded.reduce.blocks_per_multiprocessor(recipe.threads())?;
        let clusters = if recipe.cluster() > 0 { loaded.reduce.active_clusters(recipe.threads())? } else { 0 };
        let blocks = recipe.blocks(elements, multiprocessors, resident, clusters);
        let cpu = self.laboratory.launching_cpu();
        Ok(Some(Chain::new(&mut self.session, recipe, loaded, Problem { operation, elements, blocks }, cpu)?))
    }

    /// The kernels that fill the vector: those of the first variant that computes the operation.
    fn filling(&mut self, operation: Operation) -> Result<Loaded, Outage> {
        let own = |recipe: &&Recipe| recipe.id == FILLING;
        let Some(recipe) = RECIPES.iter().find(own) else { return Err(Outage::TooLarge(0)) };
        self.loaded(recipe, operation).map_err(|reason| {
            Outage::Cuda(crate::cuda::error::CudaError {
                call: "cuModuleLoadData",
                code: 0,
                name: String::new(),
                text: reason,
            })
        })
    }

    fn measured(
        &mut self,
        recipe: &Recipe,
        variant: &Variant,
        loaded: Loaded,
        operation: Operation,
        elements: u64,
    ) -> Result<ReductionRow, Outage> {
        let (each, seed) = (self.each, self.seed.wrapping_add(self.rows.len() as u64));
        let Some(mut chain) = self.chain(recipe, loaded, operation, elements)? else {
            let reason = "the device has not enough memory free for the vector".to_owned();
            return Ok(ReductionRow::unmeasured(variant, operation, elements, reason));
        };
        let blocks = chain.blocks();
        let (times, wrong) = chain.measure(each, seed)?;
        let row =
            ReductionRow::unmeasured(variant, operation, elements, String::new()).with_times(&times.ns, times.chain);
        let reason = (wrong > 0).then(|| format!("{wrong} results were wrong"));
        let (devices, blocks, threads) = (Some(1), Some(blocks), Some(recipe.threads()));
        Ok(ReductionRow { devices, blocks, threads, check: Some(wrong == 0), reason, ..row })
    }
}
