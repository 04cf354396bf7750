//! Descriptions of a machine and of its state, as stored in `run.json`. The hardware crates fill them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use crate::records::records;

records! {
    /// The hardware, the same in every run on it.
    pub struct Machine {
        /// The CPUs.
        pub cpu: CpuMachine,
        /// The CUDA devices, in the driver's order; empty where there is none.
        pub gpus: Vec<GpuMachine>,
        /// The links between the devices, each pair in both directions; empty where there are fewer than two devices.
        pub links: Vec<GpuLink>,
    }

    /// The CPUs of a machine, as the operating system reports them.
    pub struct CpuMachine {
        /// The vendor's name for the processor.
        pub model: String,
        /// `x86_64`, `aarch64`.
        pub architecture: String,
        /// Number of packages (sockets).
        pub packages: u32,
        /// Number of NUMA nodes with CPUs. Older files also count nodes without CPUs.
        pub numa_nodes: u32,
        /// Number of physical cores.
        pub cores: u32,
        /// Number of hardware threads, allowed to this process or not.
        pub hardware_threads: u32,
        /// The caches a core sees, innermost first.
        pub caches: Vec<Cache>,
        /// Main memory in bytes.
        pub memory_bytes: Option<u64>,
        /// The virtual machine monitor underneath, if one shows itself.
        pub hypervisor: Option<String>,
        /// The design of the processor; `None` where it has no such numbers, and where nobody asked for them.
        pub signature?: Option<CpuSignature>,
        /// The CPUs next to each NUMA node, by the system's numbers, as lists such as `0-3,8`; empty where there is one.
        pub node_cpus?: BTreeMap<u32, String>,
        /// The kinds of cores, the fastest first; empty where all are alike.
        pub core_kinds?: Vec<CoreKind>,
        /// The NUMA nodes without CPUs, by the system's numbers: memory of a GPU, behind CXL, persistent memory.
        pub memory_nodes?: Vec<u32>,
        /// The cores in topology order, alike ones together; empty in older files.
        pub clusters?: Vec<Cluster>,
    }

    /// Cores that follow each other in topology order, share what is named here and have as many hardware threads.
    pub struct Cluster {
        /// The package, numbered in topology order.
        pub package: u32,
        /// The NUMA node, by the system's number; `None` where it is offline.
        pub numa_node: Option<u32>,
        /// The cache of the third level or beyond, by a number of its own; `None` without one.
        pub cache: Option<u32>,
        /// Which of the kinds of cores they are.
        pub kind: u32,
        /// How many there are.
        pub cores: u32,
        /// Their CPUs, as lists such as `0-3`: the first hardware thread of each core, the second of each.
        pub cpus: Vec<String>,
    }

    /// Cores that are alike, such as the efficiency cores of a hybrid processor.
    pub struct CoreKind {
        /// How many there are.
        pub cores: u32,
        /// Their hardware threads.
        pub hardware_threads: u32,
        /// The name of their design, such as `Cortex-X925`, where the processor says it.
        pub name?: Option<String>,
    }

    /// What an x86-64 processor says of its design (CPUID, leaf 1). It identifies a processor whose model name a hypervisor
    /// hides.
    pub struct CpuSignature {
        /// `AuthenticAMD`, `GenuineIntel`.
        pub vendor: String,
        /// Family, with the extended one added.
        pub family: u32,
        /// Model, with the extended one in front.
        pub model: u32,
        /// Stepping.
        pub stepping: u32,
    }

    /// One level of cache.
    pub struct Cache {
        /// 1, 2, 3.
        pub level: u32,
        /// `data`, `instruction` or `unified`.
        pub kind: String,
        /// Size of one such cache.
        pub size_bytes: u64,
        /// Length of a line.
        pub line_bytes: u32,
        /// How many hardware threads share one.
        pub shared_by: u32,
        /// How many there are.
        pub count: u32,
    }

    /// What measuring says about the CPUs' topology, which a virtual machine may hide or make up.
    pub struct MeasuredTopology {
        /// Groups of CPUs that answer each other faster than others do, the nearest level first.
        pub groups: Vec<MeasuredGroup>,
        /// Where these groups contradict what the system reports, in words for people.
        pub contradictions: Vec<String>,
    }

    /// CPUs that are near each other.
    pub struct MeasuredGroup {
        /// The nearest part that they seem to share: `core`, `cache`, `package` (whatever is beyond the first such cache),
        /// or nothing but the `machine`.
        pub shares: String,
        /// The CPUs, as a list such as `0-3,8`.
        pub cpus: String,
        /// The median of a hand-off, in nanoseconds, between two of them that share nothing nearer.
        pub handoff_ns: f64,
    }

    /// One CUDA device.
    pub struct GpuMachine {
        /// The driver's number.
        pub index: u32,
        /// The vendor's name.
        pub name: String,
        /// Compute capability, major and minor.
        pub compute_capability: (u32, u32),
        /// Number of streaming multiprocessors.
        pub multiprocessors: u32,
        /// Most threads in a block.
        pub max_threads_per_block: u32,
        /// Most threads resident on one multiprocessor.
        pub max_threads_per_multiprocessor: u32,
        /// Most blocks resident on one multiprocessor.
        pub max_blocks_per_multiprocessor: u32,
        /// Device memory in bytes.
        pub memory_bytes: u64,
        /// Second-level cache in bytes.
        pub l2_bytes: u64,
        /// The highest multiprocessor clock the driver names; figures never use it.
        pub nominal_clock_hz: Option<f64>,
        /// Whether memory errors are corrected, where the driver says.
        pub ecc: Option<bool>,
        /// Whether the link to the host carries atomic operations: a kernel's operations on host memory are then atomic for
        /// the CPU too.
        pub host_native_atomics?: Option<bool>,
    }

    /// The link from one CUDA device to another.
    pub struct GpuLink {
        /// The driver's number of the device that asks.
        pub from: u32,
        /// The driver's number of the device whose memory it is.
        pub to: u32,
        /// `NVLink`, `PCIe`; `None` where the driver does not say.
        pub kind: Option<String>,
        /// Whether kernels can use the other's memory.
        pub access: bool,
        /// Whether atomic operations on the other's memory are carried out by its hardware.
        pub native_atomics: bool,
        /// The driver's order of the links between devices; lower is faster.
        pub performance_rank: Option<u32>,
    }
}

/// The word for cores of these kinds in the column `group`: `performance_cores`, or `mixed_cores` for both of two kinds.
pub fn kinds_group(of: &[usize], kinds: usize) -> String {
    let names: Vec<String> = of.iter().map(|kind| kind_name(*kind, kinds).replace(['-', ' '], "_")).collect();
    if names.len() > 1 && kinds == 2 { "mixed_cores".to_owned() } else { format!("{}_cores", names.join("_and_")) }
}

/// The name of a kind of cores among this many kinds, the fastest first: `performance`, `efficiency`, `low-power`.
pub fn kind_name(index: usize, kinds: usize) -> Cow<'static, str> {
    match (index, kinds) {
        (0, _) => "performance".into(),
        (1, 2 | 3) => "efficiency".into(),
        (2, 3) => "low-power".into(),
        _ => format!("kind {}", index + 1).into(),
    }
}

impl Machine {
    /// Whether this may be the other machine: everything that both descriptions say is the same. Some descriptions lack the
    /// signature of the processor, or the CPUs of its nodes and its kinds of cores.
    pub fn may_be(&self, other: &Self) -> bool {
        let is_signed = self.cpu.signature.is_some() && other.cpu.signature.is_some();
        let compared = |machine: &Self| {
            let signature = machine.cpu.signature.clone().filter(|_| is_signed);
            // Older files tell less of the structure.
            let (node_cpus, core_kinds, memory_nodes, clusters) = Default::default();
            let cpu = CpuMachine {
                signature,
                node_cpus,
                core_kinds,
                memory_nodes,
                clusters,
                memory_bytes: None,
                ..machine.cpu.clone()
            };
            Self { cpu, ..machine.clone() }
        };
        compared(self) == compared(other)
    }
}

records! {
    /// The state the machine was in during a run.
    pub struct Environment {
        /// Operating system and kernel.
        pub os: String,
        /// The CPUs this process may use, as a list such as `0-3,8`.
        pub allowed_cpus: String,
        /// The team sizes from which teams on these CPUs use further parts of the machine, by placement; empty in older
        /// files.
        pub boundaries?: BTreeMap<String, Boundaries>,
        /// CPU time this process may use, in CPUs, where a control group limits it.
        pub cpu_quota: Option<f64>,
        /// The frequency governor, where the system shows one.
        pub governor: Option<String>,
        /// Whether the processor may exceed its base frequency, where the system shows it.
        pub boost: Option<bool>,
        /// Load average over the last minute at the start.
        pub load: Option<f64>,
        /// The NVIDIA driver, where there is one.
        pub nvidia_driver: Option<String>,
        /// The CUDA version of the driver, such as `13.0`.
        pub cuda_driver: Option<String>,
        /// Version of NVRTC, such as `13.0`.
        pub nvrtc: Option<String>,
        /// The clocks that were read, each with what was measured of it.
        pub clocks: Vec<Clock>,
        /// How the cycles of the CPUs' cores are counted, and why not otherwise.
        pub core_cycles?: Option<String>,
        /// Whether idle CPUs were kept from halting, and why; of each process that measured a part of the run.
        pub keep_awake?: Option<String>,
        /// What executed the instructions in place of a processor, such as `QEMU TCG`: timings are meaningless.
        pub emulator?: Option<String>,
        /// Versions of the libraries that are themselves measured, such as parking_lot.
        pub libraries: BTreeMap<String, String>,
        /// The OpenMP runtimes that were loaded, as far as is known.
        pub openmp?: Vec<LoadedLibrary>,
        /// The variables of the process that decide the cost of library calls, such as `OMP_WAIT_POLICY`, each with its value;
        /// `None` where nobody looked.
        pub variables?: Option<BTreeMap<String, String>>,
        /// The names of libraries that were loaded before those that the program names (`LD_PRELOAD`); `None` where nobody looked.
        pub preloaded?: Option<Vec<String>>,
        /// Settings of firmware and kernel; `None` where nobody read them.
        pub settings?: Option<SystemSettings>,
        /// The state of each CUDA device, as far as is known.
        pub gpus?: Vec<GpuState>,
        /// Whether CUDA's Multi-Process Service seems active: its process, or its control pipe, which may be left over.
        pub mps?: Option<bool>,
        /// Whether the GPUs compute confidentially (encrypted transfers), where NVML reports it.
        pub confidential_computing?: Option<bool>,
        /// Chains of known operations by two clocks, at the start of the run; none in runs without hardware.
        pub crosscheck?: Vec<ChainCheck>,
    }

    /// The team sizes from which a team uses further parts of the machine; `None` for a part that no team uses.
    pub struct Boundaries {
        /// Two hardware threads of a core.
        pub siblings?: Option<u32>,
        /// A core of each kind, the fastest kind first; empty where all are alike.
        pub kinds?: Vec<Option<u32>>,
        /// A second cache of the third level or beyond.
        pub cache?: Option<u32>,
        /// A second NUMA node.
        pub node?: Option<u32>,
        /// A second package.
        pub package?: Option<u32>,
    }

    /// A shared library as it was loaded.
    pub struct LoadedLibrary {
        /// `libgomp`, `libomp`.
        pub name: String,
        /// The file; only its name where it is in no folder of the system.
        pub file: String,
        /// Version of the package that installed it, where the system lists it; else the one in the file's name.
        pub version?: Option<String>,
        /// The 64-bit FNV-1a hash of the file.
        pub hash?: Option<String>,
    }

    /// Settings of the processor's firmware and of the kernel that change what synchronization costs. `None`: not reported.
    pub struct SystemSettings {
        /// Revision of the microcode; several are joined by commas.
        pub microcode?: Option<String>,
        /// The parameters of the kernel's command line that can change a cost. Others, such as the root device, are left out.
        pub kernel_parameters?: Option<String>,
        /// The processor's vulnerabilities that apply, each with its mitigation.
        pub mitigations?: BTreeMap<String, String>,
        /// Transparent huge pages: `always`, `madvise`, `never`.
        pub transparent_huge_pages?: Option<String>,
        /// Automatic NUMA balancing: 0 is off.
        pub numa_balancing?: Option<u32>,
        /// Whether the kernel merges equal pages (KSM).
        pub ksm?: Option<bool>,
        /// Randomization of addresses in this process: 0 is off, 2 is full.
        pub aslr?: Option<u32>,
        /// SMT control: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
        pub smt?: Option<String>,
        /// CPUs without load balancing, as a list; empty if there are none.
        pub isolated_cpus?: Option<String>,
        /// CPUs without a periodic tick, as a list; empty if there are none.
        pub nohz_full_cpus?: Option<String>,
        /// The clock source of the kernel, such as `tsc`.
        pub clocksource?: Option<String>,
        /// How an idle CPU sleeps: driver, governor and states, such as `intel_idle, menu, POLL, C1, C6 (off)`.
        pub idle_states?: Option<String>,
        /// Between which frequencies the governor may choose, such as `800 to 3800 MHz`; several are joined by commas.
        pub frequency_range?: Option<String>,
        /// The energy-performance preference of the CPUs, such as `balance_performance`; several are joined by commas.
        pub energy_preference?: Option<String>,
        /// What this process has and most others do not (nice, scheduling policy, memory policy, timer slack, a tracer,
        /// filters of system calls, speculation), each with its value.
        pub process?: BTreeMap<String, String>,
    }

    /// The state of one CUDA device at the start of the run. `None`: the driver does not report it.
    pub struct GpuState {
        /// The driver's number, as in [`GpuMachine::index`].
        pub index: u32,
        /// The identity of this one device.
        pub uuid?: Option<String>,
        /// Where it is: domain, bus, device, function.
        pub pci_address?: Option<String>,
        /// Version of its firmware.
        pub vbios?: Option<String>,
        /// The power limit that is enforced, in watts.
        pub power_limit_watts?: Option<f64>,
        /// Temperature of the chip in degrees Celsius.
        pub temperature_celsius?: Option<u32>,
        /// Whether the driver stays loaded without a program that uses it.
        pub persistence?: Option<bool>,
        /// Who may use it: `default`, `exclusive_process`, `prohibited`.
        pub compute_mode?: Option<String>,
        /// Memory clock.
        pub memory_clock_hz?: Option<f64>,
        /// Lowest multiprocessor clock of the performance state the device was in.
        pub sm_clock_lowest_hz?: Option<f64>,
        /// Highest multiprocessor clock of that state; of the device where the driver has no limits by state.
        pub sm_clock_highest_hz?: Option<f64>,
        /// The multiprocessor clock that applications are given (`nvidia-smi -ac`).
        pub sm_clock_application_hz?: Option<f64>,
        /// Whether it is partitioned (MIG).
        pub mig?: Option<bool>,
    }

    /// A clock as it was found at the start of the run.
    pub struct Clock {
        /// `tsc`, `sm clock`.
        pub name: String,
        /// Measured frequency.
        pub frequency_hz: f64,
        /// Smallest step between two readings.
        pub resolution_ns: f64,
        /// Cost of a reading.
        pub read_cost_ns: f64,
    }

    /// A chain of one operation by both clocks, at the start of a run.
    pub struct ChainCheck {
        /// `cpu`, `gpu`.
        pub executor: String,
        /// `integer_multiplication`, `float_addition`.
        pub operation: String,
        /// Cycles of one operation, inferred from the system's clock outside; `None` if it could not be measured.
        pub outside_cycles: Option<f64>,
        /// Cycles of one operation by the clock inside.
        pub inside_cycles: Option<f64>,
        /// The known cost of the operation on this machine; `None` if it is not known.
        pub known_cycles: Option<f64>,
        /// Why the machine failed the check; `None` if it passed.
        pub failure?: Option<String>,
    }
}

/// Whether idle CPUs are kept from halting, and why. The text of [`Environment::keep_awake`] is made from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AwakeDecision {
    /// How they are kept awake, and why.
    On(String),
    /// Why they are not.
    Off(String),
}

impl fmt::Display for AwakeDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On(how) => f.write_str(how),
            Self::Off(reason) => write!(f, "off ({reason})"),
        }
    }
}

impl Environment {
    /// Whether a load average on this many CPUs probably disturbs the figures: other work takes more than a quarter of them.
    pub fn is_high_load(load: f64, cpus: usize) -> bool {
        load > 0.25 * cpus as f64
    }
}

// The check at the start of a run: does a chain of known operations cost the same by two clocks, and what it is known to?

/// How far both clocks may be apart, and a cost from its known value.
///
/// Right clocks stay well below: the median of 25 pairs (CPU) and of 101 (GPU) is uncertain by some tenths of a percent of
/// these chains, which last 10 to 50 us, and a step of a GPU's clock is below one percent. Wrong clocks lie far above: a
/// nominal clock instead of the measured one is off by 5 to 40 %, and the next whole number of cycles by 25 % (5 for 4) or
/// 33 % (4 for 3). A processor's counter of cycles may be as far from a chain of known cycles.
pub const CHAIN_TOLERANCE: f64 = 0.03;

impl ChainCheck {
    /// Judges what was measured. `check` says what was wrong with the work of the chain, if something was.
    pub fn of(
        (executor, operation): (&str, &str),
        (outside_cycles, inside_cycles): (Option<f64>, Option<f64>),
        known_cycles: Option<f64>,
        check: Option<&str>,
    ) -> Self {
        let failure = match (check.filter(|check| *check != "ok"), outside_cycles, inside_cycles) {
            (Some(wrong), _, _) => Some(wrong.to_owned()),
            (None, Some(outside), Some(inside)) => failure(outside, inside, known_cycles),
            (None, _, _) => Some("it gave no figure".to_owned()),
        };
        let (executor, operation) = (executor.to_owned(), operation.to_owned());
        Self { executor, operation, outside_cycles, inside_cycles, known_cycles, failure }
    }

    /// A chain that could not be measured.
    pub fn without_figures(executor: &str, operation: &str, reason: String) -> Self {
        let (executor, operation) = (executor.to_owned(), operation.to_owned());
        Self { executor, operation, failure: Some(reason), ..Self::default() }
    }

    /// The warning where the machine failed the check: what is wrong, and what that means for the figures.
    pub fn warning(&self) -> Option<String> {
        let failure = self.failure.as_ref()?;
        let (executor, operation) = (self.executor.to_uppercase(), self.operation.replace('_', " "));
        Some(format!(
            "the {executor}'s clocks failed their check at the start (a chain of {operation}s): {failure}; this \
             run's cycles are doubtful, and so are its nanoseconds unless other work is the cause; see `syncscope \
             paper crosscheck`"
        ))
    }
}

/// Whether one is within the tolerance of the other. What is not a number agrees with nothing.
fn agree(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() <= CHAIN_TOLERANCE
}

fn failure(outside: f64, inside: f64, known: Option<f64>) -> Option<String> {
    let apart = outside / inside - 1.0;
    if !agree(outside, inside) {
        return Some(format!(
            "{outside:.3} cycles each by the system's clock, {inside:.3} by its own ({:+.1} %)",
            100.0 * apart
        ));
    }
    let known = known.filter(|known| !agree(inside, *known))?;
    Some(format!("{inside:.3} cycles each, but {known} are known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_signature_is_no_other_machine() {
        let with = |model: Option<u32>, cores| {
            let signature =
                model.map(|model| CpuSignature { vendor: "GenuineIntel".into(), family: 6, model, stepping: 8 });
            Machine { cpu: CpuMachine { cores, signature, ..CpuMachine::default() }, ..Machine::default() }
        };
        assert!(with(None, 8).may_be(&with(Some(0x8f), 8)) && with(Some(0x8f), 8).may_be(&with(None, 8)));
        assert!(!with(Some(0xcf), 8).may_be(&with(Some(0x8f), 8)), "another design");
        assert!(!with(None, 8).may_be(&with(Some(0x8f), 16)), "another size");
        let mut another_kernel = with(None, 8);
        another_kernel.cpu.memory_bytes = Some(1 << 30);
        assert!(with(None, 8).may_be(&another_kernel), "it leaves more or less of the memory");
    }

    #[test]
    fn kinds_of_cores_have_names() {
        let names = |kinds| (0..kinds).map(|kind| kind_name(kind, kinds).into_owned()).collect::<Vec<_>>();
        assert_eq!(names(2), ["performance", "efficiency"]);
        assert_eq!(names(3), ["performance", "efficiency", "low-power"]);
        assert_eq!(names(4), ["performance", "kind 2", "kind 3", "kind 4"]);
        assert_eq!(kinds_group(&[1], 2), "efficiency_cores");
        assert_eq!((kinds_group(&[0, 1], 2), kinds_group(&[2], 3)), ("mixed_cores".into(), "low_power_cores".into()));
        assert_eq!(kinds_group(&[0, 2], 3), "performance_and_low_power_cores");
        assert_eq!(kinds_group(&[0, 3], 4), "performance_and_kind_4_cores");
    }

    fn check(outside: f64, inside: f64, known: Option<f64>) -> ChainCheck {
        ChainCheck::of(("gpu", "float_addition"), (Some(outside), Some(inside)), known, Some("ok"))
    }

    #[test]
    fn a_sound_machine_has_no_warning() {
        for good in [check(4.01, 4.002, Some(4.0)), check(4.1, 4.0, None), check(3.9, 3.99, Some(4.0))] {
            assert_eq!((good.failure.clone(), good.warning()), (None, None), "{good:?}");
        }
    }

    #[test]
    fn a_machine_whose_clocks_disagree_is_warned_of() {
        // A nominal clock of 1,980 MHz where 1,755 were measured.
        let text = check(4.0 * 1980.0 / 1755.0, 4.0, Some(4.0)).warning().unwrap();
        for part in ["GPU", "float additions", "+12.8 %", "syncscope paper crosscheck"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(check(f64::NAN, 4.0, None).failure.is_some() && check(4.0, 0.0, None).failure.is_some());
    }

    #[test]
    fn a_known_cost_that_is_not_met_is_warned_of() {
        let text = check(5.0, 5.0, Some(4.0)).warning().unwrap();
        assert!(text.contains("5.000 cycles each, but 4 are known"), "{text}");
        let wrong = ChainCheck::of(("cpu", "x"), (Some(3.0), Some(3.0)), Some(3.0), Some("2 sums are wrong"));
        assert!(wrong.warning().unwrap().contains("CPU") && wrong.warning().unwrap().contains("2 sums are wrong"));
        let none = ChainCheck::of(("cpu", "x"), (None, Some(3.0)), None, None);
        assert!(none.warning().unwrap().contains("no figure"));
        let refused = ChainCheck::without_figures("gpu", "x", "no memory".to_owned());
        assert!(refused.warning().unwrap().contains("no memory"));
    }

    #[test]
    fn it_is_stored_as_it_is() {
        let text = serde_json::to_string(&check(4.0, 4.0, None)).unwrap();
        assert!(text.contains(r#""known_cycles":null"#) && !text.contains("failure"), "{text}");
        assert_eq!(serde_json::from_str::<ChainCheck>(&text).unwrap(), check(4.0, 4.0, None));
    }
}
