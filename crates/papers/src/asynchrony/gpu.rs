//! The experiment on a device: one program for each block size, whose kernels are executed and counted, and whose grids are
//! watched as they arrive.

use std::ffi::CStr;

use syncscope_gpu::compile::Program;
use syncscope_gpu::own_device::{Kernel, Loaded, Outage, OwnDevice};
use syncscope_gpu::{CudaError, GpuError, GpuLaboratory};

use super::arrival::{self, LaunchArrivals, NeighbourRow};
use super::arrivals::Recorder;
use super::counted::Counted;
use super::updates::{Case, Executor, Memories};
use super::{Asynchrony, BLOCK_THREADS, Plan, Variant};

/// Why there are no tables.
#[derive(Debug, thiserror::Error)]
pub enum AsynchronyError {
    /// Such a plan cannot be executed.
    #[error("{0}")]
    Plan(String),
    /// A call of the driver or a compilation failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// A kernel failed, or did not end.
    #[error(transparent)]
    Outage(#[from] Outage),
    /// A component is neither one nor zero, or an end of the vector was cleared.
    #[error("{0} executions left values that no execution can leave")]
    Wrong(u64),
    /// The two ways of counting disagree.
    #[error("the counts by position and by execution contradict each other")]
    Contradiction,
    /// A block is missing or arrived twice.
    #[error("the blocks of launch {launch} of draw {draw} were not all counted once")]
    Incomplete {
        /// The draw.
        draw: u32,
        /// The launch within it.
        launch: u32,
    },
}

/// The program for blocks of so many threads.
#[must_use]
pub fn asynchrony_program(block_threads: u32) -> Program {
    let definitions = vec![format!("BLOCK_THREADS={block_threads}")];
    Program { file: "asynchrony.cu", text: include_str!("asynchrony.cu"), definitions }
}

/// Its kernels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernels {
    updates: [Kernel; Variant::ALL.len()],
    pub(super) count: Kernel,
    pub(super) tally: Kernel,
    pub(super) arrive: Kernel,
    pub(super) idle: Kernel,
}

impl Kernels {
    fn of(program: &Loaded) -> Result<Self, CudaError> {
        let kernel = |name: &CStr| program.kernel(name);
        Ok(Self {
            // In the order of `Variant::ALL`.
            updates: [
                kernel(c"update_global")?,
                kernel(c"update_shared")?,
                kernel(c"update_global_left_first")?,
                kernel(c"update_shared_uniform")?,
            ],
            count: kernel(c"count")?,
            tally: kernel(c"tally")?,
            arrive: kernel(c"arrive")?,
            idle: kernel(c"idle")?,
        })
    }

    /// The kernel that updates a vector.
    pub(super) const fn update(&self, variant: Variant) -> Kernel {
        self.updates[variant as usize]
    }
}

/// What the device gave, before it is folded into tables.
#[derive(Debug, Default)]
struct Taken {
    counted: Vec<Counted>,
    neighbours: Vec<NeighbourRow>,
    orders: Vec<LaunchArrivals>,
}

/// Runs the experiment on the first opened device. `progress` gets the number of finished parts and of all.
///
/// # Errors
/// If the plan has a fault, a kernel does not compile, a call of the driver fails, or the counts contradict themselves.
pub fn measure(
    gpu: &mut GpuLaboratory,
    plan: &Plan,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Asynchrony, AsynchronyError> {
    if let Some(fault) = plan.fault() {
        return Err(AsynchronyError::Plan(fault));
    }
    gpu.prepare_programs(&BLOCK_THREADS.map(asynchrony_program));
    let multiprocessors = gpu.limits().multiprocessors;
    let mut device: OwnDevice = gpu.own_device()?;
    let memories = Memories::new(&mut device, plan.components)?;
    let parts = BLOCK_THREADS.len() * Variant::ALL.len();
    let mut taken = Taken::default();
    for block_threads in BLOCK_THREADS {
        let program = device.load(&gpu.cubin(&asynchrony_program(block_threads))?)?;
        let kernels = Kernels::of(&program).map_err(Outage::from)?;
        let mut recorder = Recorder { device: &mut device, kernels, multiprocessors };
        if taken.orders.is_empty() {
            taken.orders = recorder.orders(plan.draws)?;
        }
        let arrivals = recorder.of_grid(plan.components / block_threads, block_threads)?;
        taken.neighbours.push(arrival::neighbour_row(block_threads, &arrivals));
        let mut executor = Executor { device: &mut device, memories, kernels, multiprocessors };
        for variant in Variant::ALL.iter().copied() {
            let (components, executions) = (plan.components, plan.executions_of(variant));
            taken.counted.push(executor.count(Case { variant, block_threads, components, executions })?);
            progress(taken.counted.len(), parts);
        }
    }
    Ok(tables(taken))
}

fn tables(mut taken: Taken) -> Asynchrony {
    taken.counted.sort_by_key(|counted| (counted.variant, counted.block_threads));
    Asynchrony {
        positions: taken.counted.iter().flat_map(Counted::positions).collect(),
        classes: taken.counted.iter().flat_map(Counted::classes).collect(),
        neighbours: taken.neighbours,
        launches: arrival::launch_rows(&taken.orders),
        arrivals: arrival::arrival_rows(&taken.orders),
    }
}
