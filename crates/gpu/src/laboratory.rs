//! The GPU of this machine as a laboratory: what can be measured, and the experiments.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

use syncscope_core::machine::{Clock, Environment, GpuLink, GpuMachine};
use syncscope_core::profile::{self, Phase};
use syncscope_core::{Case, Evidence, Experiment, Hertz, Laboratory, Layout, Listing, Preset, Refusal, Ruler};
use syncscope_host::scheduling;

use crate::arguments::MAX_BLOCK_THREADS;
use crate::bench::{Bench, Health, Kernels, Outage, Shape};
use crate::cache::Cache;
use crate::catalogue::{
    self, Fault, Method, Pace, Proof, arrays_of, cases, entry_of, fault_program, primitives, program_of, ruler_program,
    unavailable,
};
use crate::compile::{Compiler, Program};
use crate::describe;
use crate::discovery::Surroundings;
use crate::driver::{self, Device, Driver};
use crate::error::{CudaError, GpuError, NvrtcError};
use crate::evidence::evidence_of;
use crate::experiment::{GpuExperiment, Parameters, Setup};
use crate::fabric::Fabric;
use crate::host_clock;
use crate::links;
use crate::meeting::TimedBy;
use crate::neighbourhood::Neighbourhood;
use crate::nvml::{Nvml, Watch};
use crate::nvrtc::{Needs, Nvrtc};
use crate::peer::peer_cases;
use crate::places::{POOL_BYTES, Places};
use crate::plan::Grid;
use crate::ruler;

mod with_host;

/// The CUDA devices of this machine, opened for measuring. What has no axis of devices is measured on the first.
#[derive(Debug)]
pub struct GpuLaboratory {
    pub(crate) driver: Driver,
    device: Device,
    pub(crate) machines: Vec<GpuMachine>,
    grid: Grid,
    pub(crate) compiler: Compiler,
    pub(crate) nvml: Option<Rc<Nvml>>,
    watch: Option<Rc<Watch>>,
    pub(crate) ruler: Ruler,
    host_ruler: Ruler,
    /// The CPUs of this process, seen from the device.
    neighbourhood: Neighbourhood,
    bench: Option<Bench>,
    /// For what is wider than a block, or than a device.
    pub(crate) fabric: Option<Fabric>,
    /// What was found in machine code, which is one for all grids: by case without its grid.
    evidence: HashMap<Case, Evidence>,
}

impl GpuLaboratory {
    /// Opens the devices with the driver's numbers `devices`; all of them if none are named. Brings the clock of the first
    /// one up and measures it, in about a second.
    ///
    /// # Errors
    /// What is missing and how to get it: a driver, a device, the device named, NVRTC.
    pub fn open(devices: Option<&[u32]>) -> Result<Self, GpuError> {
        let driver = profile::time(Phase::Driver, driver::load)?;
        let numbers = chosen(devices, driver::device_count(driver)?)?;
        let machines = numbers
            .iter()
            .map(|number| describe::machine(driver.device(*number)?, *number))
            .collect::<Result<Vec<_>, _>>()?;
        let Some(first) = machines.first() else { return Err(driver::no_device()) };
        let device = driver.device(first.index)?;
        let grid = Grid {
            multiprocessors: first.multiprocessors,
            max_threads: first.max_threads_per_block.min(MAX_BLOCK_THREADS),
        };
        let mut compiler = profile::time(Phase::Compiler, || compiler_for(first.compute_capability, driver))?;
        let mut bench = profile::time(Phase::Context, || Bench::new(device, grid.multiprocessors))?;
        let ruler = match profile::time(Phase::Clock, || measured_ruler(&mut bench, &mut compiler, grid)) {
            Ok(ruler) => ruler,
            Err(error) => {
                bench.retire();
                return Err(error);
            }
        };
        let nvml = profile::time(Phase::Watch, Nvml::load).map(Rc::new);
        let address = describe::pci_address(device)?;
        let watch = nvml.as_ref().and_then(|nvml| Watch::new(nvml, &address)).map(Rc::new);
        Ok(Self {
            driver,
            device,
            machines,
            grid,
            compiler,
            nvml,
            watch,
            ruler,
            host_ruler: host_clock::measure(),
            neighbourhood: Neighbourhood::of_device(&address, &scheduling::allowed_cpus()),
            bench: Some(bench),
            fabric: None,
            evidence: HashMap::new(),
        })
    }

    /// What the hardware is.
    #[must_use]
    pub fn machine(&self) -> Vec<GpuMachine> {
        self.machines.clone()
    }

    /// The grid of SyncPerformance's CUDA programs on this device.
    #[must_use]
    pub fn peer_cases(&self) -> HashSet<Case> {
        peer_cases(self.grid.multiprocessors)
    }

    /// How the devices are linked.
    #[must_use]
    pub fn links(&self) -> Vec<GpuLink> {
        let devices = self.machines.iter().map(|machine| Ok((machine.index, self.driver.device(machine.index)?)));
        let devices: Result<Vec<_>, CudaError> = devices.collect();
        // Links are told where they can be asked for; figures do not depend on it.
        devices.and_then(|devices| links::links(&devices, self.nvml.as_deref())).unwrap_or_default()
    }

    /// Adds what is known of the GPU side.
    pub fn describe(&self, environment: &mut Environment) {
        let (major, minor) = self.driver.cuda_version();
        environment.nvidia_driver =
            self.nvml.as_ref().and_then(|nvml| nvml.driver_version()).or_else(describe::kernel_module);
        environment.cuda_driver = Some(format!("{major}.{minor}"));
        environment.nvrtc = Some(self.compiler.version());
        for ruler in [&self.ruler, &self.host_ruler] {
            let ns_per_tick = 1e9 / ruler.frequency.value();
            environment.clocks.push(Clock {
                name: ruler.name.to_owned(),
                frequency_hz: ruler.frequency.value(),
                resolution_ns: ruler.resolution.0 as f64 * ns_per_tick,
                read_cost_ns: ruler.read_cost.0 as f64 * ns_per_tick,
            });
        }
    }

    /// What may disturb the figures, and what to do about it.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.compiler.warning().map(str::to_owned).into_iter().collect();
        if let [first, _, ..] = &self.machines[..] {
            warnings
                .push(format!("the figures of a single device are of device {} ({}) alone", first.index, first.name));
        }
        if let (Some(nvml), Ok(address)) = (&self.nvml, describe::pci_address(self.device)) {
            warnings.extend(nvml.warnings(&address));
        }
        warnings
    }

    /// An experiment that goes wrong on purpose, with its own limit for a batch.
    ///
    /// # Errors
    /// As [`Laboratory::experiment`].
    #[doc(hidden)]
    pub fn faulty(&mut self, fault: Fault, limit: Duration) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let parameters =
            Parameters { shape: Shape { blocks: 1, threads: 32 }, dtype: None, stride: 0, arrays: 1, cluster: 0 };
        let evidence = |_: &[u8]| Evidence::NotAvailable("a fault is no primitive".to_owned());
        let order = Order { parameters, proof: Proof::Trial, min_iterations: 1, pace: Pace::USUAL, limit: Some(limit) };
        let cubin = self.compiler.cubin(&fault_program(fault)).map_err(failed)?;
        self.set_up(&fault_program(fault), evidence(&cubin), order)
    }

    /// Puts a case on the bench.
    fn set_up(
        &mut self,
        program: &Program,
        evidence: Evidence,
        Order { parameters, proof, min_iterations, pace, limit }: Order,
    ) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let cubin = self.compiler.cubin(program).map_err(failed)?;
        let grid = self.grid;
        let clock_kernels = self.clock_kernels()?;
        // An eighth of a small device's memory is not missed by whoever else uses it.
        let memory = self.machines.first().map_or(u64::MAX, |machine| machine.memory_bytes);
        let pool = POOL_BYTES.min(usize::try_from(memory / 8).unwrap_or(usize::MAX));
        let (ruler, watch) = (self.ruler.clone(), self.watch.clone());
        let bench = self.bench()?;
        bench.set_limit(None);
        ruler::warm_up(bench, clock_kernels, grid.multiprocessors).map_err(failed)?;
        let kernels = profile::time(Phase::Load, || bench.load(program, &cubin)).map_err(failed)?;
        let kernels = kernels.in_clusters(parameters.cluster);
        let kernels = kernels.map_err(|error| no_such_cluster(parameters.cluster, &error))?;
        let remark = waves(kernels, parameters, grid)?;
        let places = profile::time(Phase::Clear, || {
            cleared_places(|bytes| bench.clear_memory(bytes), parameters.memory_bytes(), pool, pace.tour)
        })?;
        bench.set_limit(limit);
        let setup = Setup { kernels, evidence, parameters, proof, ruler, remark, min_iterations, pace, watch };
        Ok(Box::new(GpuExperiment::new(bench, setup, places)))
    }

    /// What is found in the machine code of a case.
    fn evidence(&mut self, case: &Case, program: &Program) -> Result<Evidence, Refusal> {
        let code = Case { threads: None, blocks: None, ..case.clone() };
        if let Some(evidence) = self.evidence.get(&code) {
            return Ok(evidence.clone());
        }
        let cubin = self.compiler.cubin(program).map_err(failed)?;
        let evidence = profile::time(Phase::Load, || evidence_of(case, &cubin));
        self.evidence.insert(code, evidence.clone());
        Ok(evidence)
    }

    /// Why the device does not have a primitive, if so.
    fn unavailable(&self, id: &str) -> Option<String> {
        unavailable(id, self.machines.first()?.compute_capability)
    }

    fn clock_kernels(&mut self) -> Result<Kernels, Refusal> {
        let program = ruler_program();
        let cubin = self.compiler.cubin(&program).map_err(failed)?;
        self.bench()?.load(&program, &cubin).map_err(failed)
    }

    /// The bench; a new one if a kernel broke the last.
    fn bench(&mut self) -> Result<&mut Bench, Refusal> {
        match self.bench.as_ref().map(Bench::health) {
            Some(Health::Occupied) => return Err(Refusal::Lost(GpuError::Occupied.to_string())),
            Some(Health::Broken) => self.bench = None,
            Some(Health::Good) | None => {}
        }
        match &mut self.bench {
            Some(bench) => Ok(bench),
            none => {
                let bench = Bench::new(self.device, self.grid.multiprocessors);
                Ok(none.insert(bench.map_err(|error| Refusal::Lost(GpuError::Lost(error).to_string()))?))
            }
        }
    }

    pub(crate) fn parameters(&self, case: &Case) -> Result<Parameters, Refusal> {
        let (Some(threads), Some(blocks)) = (case.threads, case.blocks) else {
            return Err(Refusal::Failed(format!("{case} does not say how many threads and blocks")));
        };
        if threads == 0 || threads > self.grid.max_threads {
            return Err(Refusal::Skipped(format!("a block has 1 to {} threads on this device", self.grid.max_threads)));
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

impl Drop for GpuLaboratory {
    fn drop(&mut self) {
        if let Some(bench) = self.bench.take() {
            bench.retire();
        }
        if let Some(fabric) = self.fabric.take() {
            fabric.retire();
        }
    }
}

impl Laboratory for GpuLaboratory {
    fn listing(&self) -> Vec<Listing> {
        let list = |primitive: &'static _| Listing { primitive, unavailable: self.unavailable(primitive.id) };
        primitives().iter().map(list).collect()
    }

    fn plan(&self, preset: Preset) -> Vec<Case> {
        let devices = self.machines.len();
        let is_there = |case: &Case| case.devices.is_none_or(|count| count as usize <= devices);
        self.place(cases(preset, &self.grid).into_iter().filter(is_there).collect())
    }

    fn prepare(&mut self, cases: &[Case], progress: &mut dyn FnMut(usize, usize)) {
        let here = cases.iter().filter(|case| self.unavailable(&case.primitive).is_none());
        let programs: Vec<Program> = here.filter_map(program_of).collect();
        self.compiler.prepare(&programs, progress);
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        let (Some(entry), Some(program)) = (entry_of(case), program_of(case)) else {
            return Err(Refusal::Skipped(format!("this version knows no primitive {}", case.primitive)));
        };
        if let Some(reason) = self.unavailable(&case.primitive) {
            return Err(Refusal::Skipped(reason));
        }
        match entry.method {
            Method::Meeting => self.meeting(case, &program, TimedBy::Device),
            Method::Visits => self.visits(case, &program),
            Method::Kernel | Method::Cluster => {
                let parameters = self.parameters(case)?;
                let min_iterations = parameters.min_iterations((entry.busy)(case));
                let evidence = self.evidence(case, &program)?;
                self.set_up(
                    &program,
                    evidence,
                    Order { parameters, proof: entry.proof, min_iterations, pace: (entry.pace)(case), limit: None },
                )
            }
            Method::Launch(launching) => self.launches(case, &program, launching),
            Method::RoundTrip => self.round_trip(case, &program),
            Method::Addition => self.addition(case, &program),
        }
    }
}

/// What a case wants of the bench.
#[derive(Debug, Clone, Copy)]
struct Order {
    parameters: Parameters,
    proof: Proof,
    min_iterations: u64,
    pace: Pace,
    /// How long a batch may take, if not as long as usual.
    limit: Option<Duration>,
}

/// Places of `bytes` in cleared memory of the device: as many as fit into `pool` bytes, or as the device has room for.
/// `clear` clears so many bytes.
fn cleared_places(
    mut clear: impl FnMut(usize) -> Result<(), CudaError>,
    bytes: usize,
    pool: usize,
    tour: u32,
) -> Result<Places, Refusal> {
    let mut places = Places::new(bytes, pool, tour);
    while let Err(error) = clear(places.bytes()) {
        if !error.is_out_of_memory() {
            return Err(failed(error));
        }
        places = places.halved().ok_or_else(|| {
            let megabytes = bytes.div_ceil(1 << 20);
            Refusal::Skipped(format!("the variables take {megabytes} MiB, which the device does not have free"))
        })?;
    }
    Ok(places)
}

/// The devices asked for, by their numbers.
fn chosen(devices: Option<&[u32]>, count: u32) -> Result<Vec<u32>, GpuError> {
    let there: Vec<u32> = (0..count).collect();
    if there.is_empty() {
        return Err(driver::no_device());
    }
    let Some(asked) = devices.filter(|devices| !devices.is_empty()) else { return Ok(there) };
    match asked.iter().find(|device| !there.contains(device)) {
        Some(device) => Err(GpuError::NoSuchDevice { asked: *device, there }),
        None => Ok(asked.to_vec()),
    }
}

fn compiler_for(capability: (u32, u32), driver: Driver) -> Result<Compiler, GpuError> {
    let needs = Needs { capability, driver: driver.cuda_version() };
    let nvrtc = Nvrtc::find(&Surroundings::of_process(), Some(needs))?;
    // `find` gives only compilers that have a target.
    let arch = nvrtc.target(capability).ok_or(NvrtcError::NotFound)?;
    Ok(Compiler::new(nvrtc, Cache::of_user(), arch))
}

fn measured_ruler(bench: &mut Bench, compiler: &mut Compiler, grid: Grid) -> Result<Ruler, GpuError> {
    let program = catalogue::ruler_program();
    let kernels = bench.load(&program, &compiler.cubin(&program)?)?;
    let frequency = ruler::warm_up(bench, kernels, grid.multiprocessors).map_err(GpuError::from)?;
    let frequency: Hertz = frequency.ok_or(GpuError::NoTimer)?;
    Ok(ruler::measure(bench, kernels, frequency)?)
}

/// That the grid does not fit onto the device at once, if so.
fn waves(
    kernels: Kernels,
    Parameters { shape, cluster, .. }: Parameters,
    grid: Grid,
) -> Result<Option<String>, Refusal> {
    let at_once = match cluster {
        0 => kernels.baseline.blocks_per_multiprocessor(shape.threads).unwrap_or(0) * grid.multiprocessors,
        size => {
            let kernels = [kernels.baseline, kernels.test, kernels.check];
            let fits = kernels.map(|kernel| kernel.active_clusters(shape.threads)).into_iter();
            let clusters = fits.collect::<Result<Vec<_>, _>>().map_err(failed)?.into_iter().min().unwrap_or(0);
            if clusters == 0 {
                let Shape { threads, .. } = shape;
                let told = format!("the device holds no cluster of {size} blocks with {threads} threads each");
                return Err(Refusal::Skipped(told));
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

#[allow(clippy::needless_pass_by_value, reason = "`map_err` gives it by value")]
pub(crate) fn failed(error: impl ToString) -> Refusal {
    Refusal::Failed(error.to_string())
}

impl From<Outage> for GpuError {
    fn from(outage: Outage) -> Self {
        match outage {
            Outage::Cuda(error) => Self::Cuda(error),
            Outage::TimedOut(_) | Outage::TooLarge(_) => Self::Unusable(outage.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u32) -> CudaError {
        CudaError { call: "cuMemAlloc", code, name: "CUDA_ERROR".into(), text: "told to fail".into() }
    }

    #[test]
    fn a_device_with_little_memory_measures_on_fewer_places_or_says_what_it_lacks() {
        let cleared = |free: usize| {
            let mut asked = Vec::new();
            let places = cleared_places(
                |bytes| {
                    asked.push(bytes >> 20);
                    if bytes <= free { Ok(()) } else { Err(error(2)) }
                },
                100 << 20,
                1 << 30,
                1,
            );
            (places.map(|places| places.bytes() >> 20), asked)
        };
        assert_eq!(cleared(4 << 30), (Ok(1000), vec![1000]));
        assert_eq!(cleared(300 << 20), (Ok(200), vec![1000, 500, 200]));
        let (nothing, asked) = cleared(50 << 20);
        assert_eq!(asked, [1000, 500, 200, 100]);
        assert!(matches!(&nothing, Err(Refusal::Skipped(reason)) if reason.contains("take 100 MiB")), "{nothing:?}");
        let broken = cleared_places(|_| Err(error(719)), 8, 1 << 20, 8);
        assert!(matches!(&broken, Err(Refusal::Failed(reason)) if reason.contains("told to fail")), "{broken:?}");
    }

    #[test]
    fn devices_are_chosen_by_number() {
        assert_eq!(chosen(None, 2), Ok(vec![0, 1]));
        assert_eq!(chosen(Some(&[]), 2), Ok(vec![0, 1]));
        assert_eq!(chosen(Some(&[1, 0]), 2), Ok(vec![1, 0]));
        let error = chosen(Some(&[0, 7]), 2).unwrap_err();
        assert_eq!(error, GpuError::NoSuchDevice { asked: 7, there: vec![0, 1] });
        assert!(matches!(chosen(None, 0), Err(GpuError::NoDevice { .. })));
    }
}
