//! Totals of threads that ran together, compared with a program that knows nothing of the harness: one long kernel, timed from
//! outside.

use std::time::{Duration, Instant};

use syncscope_core::stopping::PrecisionRule;
use syncscope_core::{
    Cancel, Case, Dtype, Engine, Experiment, Laboratory as _, Layout, Mode, Scope, Settings, Shot, Side, Space,
    Verdict, stats,
};
use syncscope_gpu::GpuLaboratory;
use syncscope_gpu::compile::Program;
use syncscope_gpu::own_device::{Arguments, Kernel, Launch, Memory, OwnDevice};

use super::open;

/// Each pair has other addresses: as many as the long kernel uses.
fn engine() -> Engine {
    let rule = PrecisionRule { precision: 0.0, min_pairs: PLACES, max_pairs: PLACES, max_time: Duration::from_secs(2) };
    Engine::new(Settings { sample: Duration::from_micros(100), ..Settings::with_rule(rule) }, Cancel::new())
}

/// Each thread operates on its own element, either for a time in which it counts its operations, which are independent
/// (`timed`) or each need the one before (`chained`); or a fixed number of times (`counted`).
const LONG: &str = r#"
struct Arguments {
    VALUE *elements;
    unsigned long long *total;
    unsigned stride, times, nanoseconds;
};
extern "C" __global__ void __launch_bounds__(1024, 2) counted(const Arguments arguments) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    VALUE *const element = arguments.elements + (unsigned long long)arguments.stride * thread;
    for (unsigned time = 0; time < arguments.times; time++) {
#pragma unroll
        for (int copy = 0; copy < 8; copy++) OPERATE(element, (VALUE)thread);
    }
}
__device__ unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
template <bool CHAINED>
__device__ void operate(const Arguments &arguments) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    VALUE *const element = arguments.elements + (unsigned long long)arguments.stride * thread;
    VALUE value = (VALUE)thread;
    const unsigned long long end = now() + arguments.nanoseconds;
    unsigned count = 0;
    do {
#pragma unroll
        for (int copy = 0; copy < 32; copy++) {
            const VALUE old = OPERATE(element, value);
            if (CHAINED) value = old;
        }
        count += 32;
    } while (now() < end);
    if (value == (VALUE)-1) *element = 0;
    // Of the last round, which crosses the end, half.
    atomicAdd(arguments.total, (unsigned long long)(count - 16));
}
extern "C" __global__ void __launch_bounds__(1024, 2) timed(const Arguments arguments) { operate<false>(arguments); }
extern "C" __global__ void __launch_bounds__(1024, 2) chained(const Arguments arguments) { operate<true>(arguments); }
"#;

/// The long kernels of one operation on one device.
struct Long {
    device: OwnDevice,
    counted: Kernel,
    timed: Kernel,
    chained: Kernel,
    elements: Memory,
    total: Memory,
}

const LIMIT: Duration = Duration::from_secs(5);
const TIMED_NS: u32 = 4_000_000;
const MOST_BYTES: usize = 264 * 1024 * 128 * 8;

/// The cost of an addition depends on its address, for neighbouring elements by up to a seventh. Each rate is therefore the
/// median over elements that begin at this many places, as ours is over this many sets of offsets. The medians of places at
/// other distances differ by up to 8 %, so the long kernel's places are at several distances.
const PLACES: u64 = 64;
const PLACES_OF_LONG: u64 = 32;
const FEWER_PLACES: u64 = 8;
const FROM_PLACE_TO_PLACE: [u64; 4] = [776 << 10, 777 << 10, 1 << 20, 1056 << 10];

impl Long {
    fn of(laboratory: &mut GpuLaboratory, value: &str, operate: &str) -> Self {
        let definitions = vec![format!("VALUE={value}"), format!("OPERATE(element,value)={operate}")];
        let program = Program { file: "long.cu", text: LONG, definitions };
        let cubin = laboratory.cubin(&program).unwrap();
        let mut device = laboratory.own_device().unwrap();
        let (total, elements) = (
            device.results(1).unwrap(),
            device.memory(MOST_BYTES + (PLACES_OF_LONG * FROM_PLACE_TO_PLACE[3]) as usize).unwrap(),
        );
        let loaded = device.load(&cubin).unwrap();
        let [counted, timed, chained] = [c"counted", c"timed", c"chained"].map(|name| loaded.kernel(name).unwrap());
        Self { device, counted, timed, chained, elements, total }
    }

    fn launch(&mut self, kernel: Kernel, grid: (u32, u32), stride: u32, times: u32, place: u64) -> f64 {
        let elements = self.elements.address + place;
        let arguments = Arguments::default().wide(elements).wide(self.total.address);
        let arguments = arguments.word(stride).word(times).word(TIMED_NS).word(0);
        let started = Instant::now();
        self.device.launch(&Launch::new(kernel, grid, arguments)).unwrap();
        self.device.wait(LIMIT).unwrap();
        started.elapsed().as_secs_f64() * 1e9
    }

    /// Operations of all threads in a nanosecond while all of them operate, at each place.
    fn rates_of_all(&mut self, kernel: Kernel, grid: (u32, u32), stride: u32) -> Vec<f64> {
        let places =
            FROM_PLACE_TO_PLACE.iter().flat_map(|distance| (0..PLACES_OF_LONG).map(move |place| place * distance));
        let mut rate_at = |place| {
            self.device.clear(self.total).unwrap();
            self.launch(kernel, grid, stride, 1, place);
            self.device.fetch(self.total, 1, LIMIT).unwrap()[0] as f64 / f64::from(TIMED_NS)
        };
        places.map(&mut rate_at).collect()
    }

    /// The same rate from a kernel in which every thread adds equally often, timed from outside: from the difference of two
    /// lengths.
    fn rate_of_equal_work(&mut self, grid: (u32, u32), stride: u32, rate: f64) -> f64 {
        let additions = |times: u32| f64::from(grid.0 * grid.1) * f64::from(times) * 8.0;
        let times = ((rate * 1e6 / additions(1)) as u32).max(1);
        let mut more_ns = 0.0;
        for place in 0..FEWER_PLACES {
            let place = place * FROM_PLACE_TO_PLACE[0];
            let mut of =
                |times| (0..2).map(|_| self.launch(self.counted, grid, stride, times, place)).fold(f64::MAX, f64::min);
            more_ns += of(2 * times) - of(times);
        }
        FEWER_PLACES as f64 * additions(times) / more_ns
    }
}

/// A case with private elements.
fn case(id: &str, dtype: Dtype, stride: u32, (blocks, threads): (u32, u32), mode: Mode) -> Case {
    Case {
        dtype: Some(dtype),
        layout: Some(Layout::Private { stride }),
        threads: Some(threads),
        blocks: Some(blocks),
        scope: Some(Scope::Device),
        space: Some(Space::Global),
        mode: Some(mode),
        ..Case::new(id)
    }
}

/// The time of one operation in one of the loops, for the mean thread, including everything else in the loop.
fn ns_in_loop(experiment: &mut dyn Experiment, side: Side, iterations: u64) -> f64 {
    let shots: Vec<Shot> = (0..PLACES).map(|pair| Shot { side, iterations, pair }).collect();
    let operations = experiment.operations(side, iterations) as f64;
    let samples = experiment.samples(&shots).unwrap();
    let ns = samples.iter().map(|sample| sample.mean_rate * sample.ns_per_tick / operations);
    stats::median(&ns.collect::<Vec<_>>()).unwrap()
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn totals_of_private_additions_are_those_of_a_long_kernel() {
    let types =
        [(Dtype::I32, "int"), (Dtype::U64, "unsigned long long"), (Dtype::F32, "float"), (Dtype::F64, "double")];
    // On four H100s, 72, 68, 71 and 70 of the 72 cases were within 5 %, for an unknown reason; the farthest was 7.8 % off.
    let (mut far, mut farthest, mut unresolved) = (Vec::new(), 0.0_f64, Vec::new());
    println!(
        "type stride blocks threads: additions per ns: ours, of the long kernel, equal work; fastest, median, slowest thread in ns"
    );
    for (dtype, name) in types {
        let mut laboratory = open();
        let mut long = Long::of(&mut laboratory, name, "atomicAdd(element, value)");
        let multiprocessors = laboratory.limits().multiprocessors;
        for stride in [1, 32, 128] {
            for (of_each, threads) in [1, 2].into_iter().flat_map(|n| [256, 512, 1024].map(|t| (n, t))) {
                let blocks = of_each * multiprocessors;
                let case = case("gpu.atomic.add", dtype, stride, (blocks, threads), Mode::Throughput);
                let mut experiment = laboratory.experiment(&case).unwrap();
                let found = engine().measure(experiment.as_mut(), 1).unwrap();
                let everyone = f64::from(blocks * threads);
                let of_loops = [Side::Baseline, Side::Test]
                    .map(|side| everyone / ns_in_loop(experiment.as_mut(), side, found.iterations));
                drop(experiment);
                let rates = long.rates_of_all(long.timed, (blocks, threads), stride);
                let all = stats::median(&rates).unwrap();
                let [low, high] = [0.1, 0.9].map(|part| stats::percentile(&rates, part).unwrap() / all);
                let equal = long.rate_of_equal_work((blocks, threads), stride, all);
                let Some(estimate) = &found.estimate else {
                    unresolved.push(format!("{case}: {}", found.verdict));
                    continue;
                };
                let total = everyone / estimate.rate_ns.unwrap().value();
                let total_of_equal = estimate.equal_work.map_or(total, |equal| everyone / equal.ns.value());
                let of_threads = [estimate.fastest_ns, estimate.median_ns, estimate.slowest_ns]
                    .map(syncscope_core::Nanoseconds::value);
                let (verdict, pairs) = (found.verdict.name(), found.pairs);
                println!(
                    "{dtype} {stride} {blocks} {threads}: {total:.1} {all:.1} ({low:.2} to {high:.2}), ratio {:.3}; loops {of_loops:.1?}; \
                     {total_of_equal:.1} {equal:.1}; {of_threads:.1?} {verdict}, {pairs} pairs",
                    total / all
                );
                let off = (total / all - 1.0).abs();
                farthest = farthest.max(off);
                if off > 0.05 {
                    far.push(format!("{case}: {total:.1} instead of {all:.1}"));
                }
                if found.verdict != Verdict::Resolved {
                    unresolved.push(format!("{case}: {}", found.verdict));
                }
            }
        }
    }
    assert!(unresolved.is_empty(), "{}", unresolved.join("\n"));
    assert!(far.len() <= 5 && farthest < 0.1, "{}", far.join("\n"));
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn on_a_full_device_independent_operations_cost_more_than_a_chain_as_in_a_long_kernel() {
    // Minimum cost of an independent operation, relative to one in a chain. Exchanges on five H200s: 1.15 to 1.18.
    let operations = [
        ("gpu.atomic.cas_fail", Dtype::U32, "unsigned", "atomicCAS(element, value + 1, 0u)", 1.2),
        ("gpu.atomic.cas_fail", Dtype::U64, "unsigned long long", "atomicCAS(element, value + 1, 0ull)", 1.2),
        ("gpu.atomic.exchange", Dtype::I32, "int", "atomicExch(element, value)", 1.1),
    ];
    for (id, dtype, value, operate, least) in operations {
        let mut laboratory = open();
        let mut long = Long::of(&mut laboratory, value, operate);
        let grid = (laboratory.limits().multiprocessors, 1024);
        let everyone = f64::from(grid.0 * grid.1);
        let forms = [(Mode::Throughput, long.timed), (Mode::Latency, long.chained)];
        let [independent, chain] = forms.map(|(mode, kernel)| {
            let of_long = everyone / stats::median(&long.rates_of_all(kernel, grid, 1)).unwrap();
            let case = case(id, dtype, 1, grid, mode);
            let mut experiment = laboratory.experiment(&case).unwrap();
            let found = engine().measure(experiment.as_mut(), 1).unwrap();
            let ours = found.estimate.as_ref().unwrap().rate_ns.unwrap().value();
            println!("{case}: {ours:.1} ns, in the long kernel {of_long:.1}; {}", found.verdict);
            assert!((ours / of_long - 1.0).abs() < 0.08, "{case}: {ours:.1} ns, in the long kernel {of_long:.1}");
            of_long
        });
        assert!(independent > least * chain, "{id}: {independent:.1} ns, in a chain {chain:.1}");
    }
}
