//! The block-asynchronous experiment on a device; `syncscope_core::published::asynchrony` says what it is and what is counted.
//!
//! | file | contents |
//! |---|---|
//! | [`kernels`], [`arguments`] | the program for one block size, and what its kernels are passed |
//! | [`updates`] | executes the kernels and counts what they leave, on the device |
//! | [`arrivals`] | in which order blocks arrive, and on which multiprocessors |

mod arguments;
mod arrivals;
mod kernels;
mod updates;

use syncscope_core::ExperimentError;
use syncscope_core::published::asynchrony::arrival::{self, LaunchArrivals, NeighbourRow};
use syncscope_core::published::asynchrony::counted::Counted;
use syncscope_core::published::asynchrony::{Asynchrony, BLOCK_THREADS, Plan, Variant, claims};

use self::arrivals::{ArrivalError, Recorder};
use self::kernels::Kernels;
use self::updates::{Buffers, Case, CountError, Executor};
use super::device::ExperimentDevice;
use crate::GpuLaboratory;
use crate::cuda::error::GpuError;
use crate::launch::outage::Outage;

pub use self::kernels::asynchrony_program;

/// What the device gave, before it is folded into tables.
#[derive(Debug, Default)]
struct Taken {
    counted: Vec<Counted>,
    neighbours: Vec<NeighbourRow>,
    orders: Vec<LaunchArrivals>,
}

impl GpuLaboratory {
    /// Runs the block-asynchronous experiment on the first opened device. `progress` gets the number of finished parts and of
    /// all.
    ///
    /// # Errors
    /// If the plan has a fault, a kernel does not compile, a call of the driver fails, or the counts contradict themselves.
    pub fn asynchrony(
        &mut self,
        plan: &Plan,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Asynchrony, ExperimentError> {
        if let Some(fault) = plan.fault() {
            return Err(ExperimentError::Unsupported(fault));
        }
        let programs = BLOCK_THREADS.map(asynchrony_program);
        self.compiler.prepare(&programs, &mut |_, _| {});
        // Declared first, so that it is dropped after the buffers in its context.
        let mut device = self.experiment_device().map_err(|error| failed(&error))?;
        let mut buffers =
            Buffers::new(device.context().map_err(Outage::from)?, plan.components).map_err(Outage::from)?;
        let taken = self.take(&mut device, &mut buffers, plan, progress);
        if device.is_occupied() {
            // To free memory would wait for the kernel that uses it.
            std::mem::forget(buffers);
        }
        let name = self.machines.first().map_or("", |machine| machine.name.as_str());
        Ok(tables(&taken?, name))
    }

    fn take(
        &mut self,
        device: &mut ExperimentDevice,
        buffers: &mut Buffers,
        plan: &Plan,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Taken, ExperimentError> {
        let multiprocessors = self.machines.first().map_or(1, |machine| machine.multiprocessors);
        let parts = BLOCK_THREADS.len() * Variant::ALL.len();
        let mut taken = Taken::default();
        for block_threads in BLOCK_THREADS {
            let module = self.load_for(device, &asynchrony_program(block_threads)).map_err(|error| failed(&error))?;
            let kernels = Kernels::of(&module).map_err(Outage::from)?;
            let mut recorder = Recorder { device, kernels, multiprocessors };
            if taken.orders.is_empty() {
                taken.orders = recorder.orders(plan.draws)?;
            }
            let arrivals = recorder.of_grid(plan.components / block_threads, block_threads)?;
            taken.neighbours.push(arrival::neighbour_row(block_threads, &arrivals));
            let mut executor = Executor { device, buffers, kernels, multiprocessors };
            for variant in Variant::ALL.iter().copied() {
                let (components, executions) = (plan.components, plan.executions_of(variant));
                taken.counted.push(executor.count(Case { variant, block_threads, components, executions })?);
                progress(taken.counted.len(), parts);
            }
        }
        Ok(taken)
    }
}

/// The tables of what a device of this name gave.
fn tables(taken: &Taken, device: &str) -> Asynchrony {
    let mut counted: Vec<&Counted> = taken.counted.iter().collect();
    counted.sort_by_key(|counted| (counted.variant, counted.block_threads));
    let classes: Vec<_> = counted.iter().flat_map(|counted| counted.classes()).collect();
    let launches = arrival::launch_rows(&taken.orders);
    let mut all = claims::claims_of_kernels(&classes);
    all.extend(claims::claims_of_arrival(&taken.neighbours));
    all.extend(claims::claim_of_orders(arrival::summary(&launches), device));
    Asynchrony {
        positions: counted.iter().flat_map(|counted| counted.positions()).collect(),
        classes,
        claims: all,
        neighbours: taken.neighbours.clone(),
        launches,
        arrivals: arrival::arrival_rows(&taken.orders),
    }
}

fn failed(error: &GpuError) -> ExperimentError {
    ExperimentError::Failed(error.to_string())
}

impl From<CountError> for ExperimentError {
    fn from(error: CountError) -> Self {
        match error {
            CountError::Outage(outage) => outage.into(),
            CountError::Wrong { .. } | CountError::Contradiction => Self::Failed(error.to_string()),
        }
    }
}

impl From<ArrivalError> for ExperimentError {
    fn from(error: ArrivalError) -> Self {
        match error {
            ArrivalError::Outage(outage) => outage.into(),
            ArrivalError::Incomplete { .. } => Self::Failed(error.to_string()),
        }
    }
}
