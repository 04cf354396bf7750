//! The differences between the machines of two runs and between their states.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use syncscope_core::Run;
use syncscope_core::machine::{Cache, Clock, CpuMachine, Environment, GpuState, Machine};

use crate::analysis::phrases::joined;
use crate::naming;
use crate::naming::generation::generation;

/// One property that two runs do not share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The name of the property: `GPU`, `NVIDIA driver`.
    pub what: String,
    /// Its value in A.
    pub a: String,
    /// Its value in B.
    pub b: String,
}

/// Measured clocks that differ by less than this are the same.
const SAME_CLOCK: f64 = 0.01;

/// The differences, hardware first. A property that one of the files is too old to record is left out.
pub fn differences(a: &Run, b: &Run) -> Vec<Difference> {
    let mut differences = changed(properties(a), &properties(b).into_iter().collect());
    differences.extend(clocks(&a.environment.clocks, &b.environment.clocks));
    differences.extend(changed(a.environment.libraries.clone(), &b.environment.libraries));
    differences.extend(variables(&a.environment, &b.environment));
    differences
}

/// All variables that affect the cost of library calls, in one text; `None` if the run does not record them.
pub fn variables_in_words(run: &Run) -> Option<Property> {
    let all = run.environment.variables.as_ref()?.iter().map(|(name, value)| format!("{name}={value}"));
    property("variables of libraries", Some(or_none(&all.collect::<Vec<_>>().join(" "))))
}

/// The variables that affect the cost of library calls and have different values, or are set in only one run.
fn variables(a: &Environment, b: &Environment) -> Vec<Difference> {
    let Some((a, b)) = a.variables.as_ref().zip(b.variables.as_ref()) else { return Vec::new() };
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let value = |of: &BTreeMap<String, String>, name: &str| of.get(name).map_or("not set", String::as_str).to_owned();
    let both = names.into_iter().map(|name| Difference { what: name.clone(), a: value(a, name), b: value(b, name) });
    both.filter(|difference| difference.a != difference.b).collect()
}

/// The properties that both runs record with different values.
fn changed(a: impl IntoIterator<Item = Property>, b: &BTreeMap<String, String>) -> Vec<Difference> {
    let difference = |(what, a): Property| {
        let b = b.get(&what).filter(|b| **b != a)?.clone();
        Some(Difference { what, a, b })
    };
    a.into_iter().filter_map(difference).collect()
}

/// The name of a property, and its value.
pub type Property = (String, String);

/// The properties of a run's machine and environment; unknown ones are left out.
pub fn properties(run: &Run) -> Vec<Property> {
    let states = run.environment.gpus.iter().flat_map(gpu_state);
    hardware(&run.machine).into_iter().chain(software(run)).chain(settings(run)).chain(states).flatten().collect()
}

/// A property with its name; `None` if its value is unknown.
fn property<T: ToString>(what: &str, value: Option<T>) -> Option<Property> {
    Some((what.to_owned(), value?.to_string()))
}

fn hardware(machine: &Machine) -> Vec<Option<Property>> {
    let cpu = &machine.cpu;
    let caches =
        |cache: &Cache| format!("L{} {} {} x {} KiB", cache.level, cache.kind, cache.count, cache.size_bytes / 1024);
    let CpuMachine { packages, numa_nodes, cores, hardware_threads: threads, .. } = cpu;
    let counts = [(packages, "package"), (numa_nodes, "NUMA node"), (cores, "core"), (threads, "hardware thread")];
    let mut topology = counts.map(|(count, what)| naming::plural(*count, what)).join(", ");
    if !cpu.memory_nodes.is_empty() {
        topology.extend([", ", &naming::plural(cpu.memory_nodes.len(), "NUMA node"), " of memory without CPUs"]);
    }
    let gpus = joined(naming::gpus(&machine.gpus).into_iter().map(Some), " + ");
    vec![
        property("CPU", Some(naming::cpu(&cpu.model))),
        property("CPU generation", generation(cpu)),
        property("architecture", Some(&cpu.architecture)),
        property("CPU topology", Some(topology)),
        property("caches", Some(cpu.caches.iter().map(caches).collect::<Vec<_>>().join(", "))),
        property("GPU", Some(gpus.as_deref().unwrap_or("none"))),
        property("multiprocessors", list(machine.gpus.iter().map(|gpu| gpu.multiprocessors))),
        property(
            "GPU L2 cache",
            list(
                machine
                    .gpus
                    .iter()
                    .map(|gpu| gpu.l2_bytes >> 20)
                    .filter(|mib| *mib > 0)
                    .map(|mib| format!("{mib} MiB")),
            ),
        ),
        property("GPU memory", list(machine.gpus.iter().map(|gpu| format!("{} GiB", gpu.memory_bytes >> 30)))),
        property("ECC", list(machine.gpus.iter().filter_map(|gpu| gpu.ecc).map(on_off))),
        // Two guests on one host differ in these.
        property("memory", cpu.memory_bytes.map(|bytes| format!("{} GiB", bytes >> 30))),
        property("hypervisor", Some(cpu.hypervisor.as_deref().unwrap_or("none"))),
    ]
}

/// One value if all are equal, otherwise all of them; `None` for an empty list.
fn list(values: impl Iterator<Item = impl ToString>) -> Option<String> {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    let first = values.first()?;
    Some(if values.iter().all(|value| value == first) { first.clone() } else { values.join(", ") })
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

fn pairs(values: &BTreeMap<String, String>) -> String {
    values.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ")
}

fn on_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

/// The OpenMP runtimes with their versions; `None` if there are none.
pub(crate) fn openmp_in_words(environment: &Environment) -> Option<String> {
    list(environment.openmp.iter().map(|library| {
        format!("{} {}", library.name, library.version.as_deref().or(library.hash.as_deref()).unwrap_or("?"))
    }))
}

fn software(run: &Run) -> Vec<Option<Property>> {
    let environment = &run.environment;
    vec![
        property("syncscope", Some(&run.version)),
        property("build", run.tool.as_ref().map(ToString::to_string)),
        property("preset", Some(&run.preset)),
        property("repeated runs", Some(run.repeat.unwrap_or(1))),
        property("operating system", Some(&environment.os)),
        property("NVIDIA driver", environment.nvidia_driver.as_ref()),
        property("CUDA of the driver", environment.cuda_driver.as_ref()),
        property("NVRTC", environment.nvrtc.as_ref()),
        property("OpenMP", openmp_in_words(environment)),
        property("preloaded libraries", environment.preloaded.as_ref().map(|names| or_none(&names.join(", ")))),
        property("MPS", environment.mps.map(on_off)),
        property("confidential computing", environment.confidential_computing.map(on_off)),
    ]
}

fn settings(run: &Run) -> Vec<Option<Property>> {
    let environment = &run.environment;
    let settings = environment.settings.as_ref();
    let setting = |what: &str, read: fn(&syncscope_core::machine::SystemSettings) -> Option<String>| {
        property(what, settings.map(|settings| read(settings).unwrap_or_default()))
    };
    vec![
        property("allowed CPUs", Some(&environment.allowed_cpus)),
        property("CPU quota", Some(environment.cpu_quota.map_or("none".to_owned(), |quota| format!("{quota} CPUs")))),
        property("governor", environment.governor.as_ref()),
        property("boost", environment.boost.map(on_off)),
        property("emulator", Some(environment.emulator.as_deref().unwrap_or("none"))),
        property("idle CPUs kept awake", environment.keep_awake.as_ref()),
        setting("microcode", |settings| settings.microcode.clone()),
        setting("kernel parameters", |settings| settings.kernel_parameters.clone()),
        setting("mitigations", |settings| (!settings.mitigations.is_empty()).then(|| pairs(&settings.mitigations))),
        setting("transparent huge pages", |settings| settings.transparent_huge_pages.clone()),
        setting("NUMA balancing", |settings| settings.numa_balancing.map(|value| value.to_string())),
        setting("KSM", |settings| settings.ksm.map(|value| on_off(value).to_owned())),
        setting("address randomization", |settings| settings.aslr.map(|value| value.to_string())),
        setting("SMT", |settings| settings.smt.clone()),
        setting("isolated CPUs", |settings| settings.isolated_cpus.clone()),
        setting("CPUs without a tick", |settings| settings.nohz_full_cpus.clone()),
        setting("clock source", |settings| settings.clocksource.clone()),
        // Older files do not say.
        property("idle states", settings.and_then(|settings| settings.idle_states.as_ref())),
        property("frequency range", settings.and_then(|settings| settings.frequency_range.as_ref())),
        property("energy preference", settings.and_then(|settings| settings.energy_preference.as_ref())),
        setting("process", |settings| Some(or_none(&pairs(&settings.process)))),
    ]
}

fn gpu_state(state: &GpuState) -> Vec<Option<Property>> {
    let of = |what: &str| format!("GPU {}: {what}", state.index);
    let megahertz = |hertz: Option<f64>| hertz.map(|hertz| format!("{:.0} MHz", hertz / 1e6));
    vec![
        property(&of("device"), state.uuid.as_ref()),
        property(&of("firmware"), state.vbios.as_ref()),
        property(&of("power limit"), state.power_limit_watts.map(|watts| format!("{watts} W"))),
        property(&of("persistence"), state.persistence.map(on_off)),
        property(&of("compute mode"), state.compute_mode.as_ref()),
        property(&of("MIG"), state.mig.map(on_off)),
        property(&of("memory clock"), megahertz(state.memory_clock_hz)),
        property(&of("lowest clock"), megahertz(state.sm_clock_lowest_hz)),
        property(&of("highest clock"), megahertz(state.sm_clock_highest_hz)),
        property(&of("application clock"), megahertz(state.sm_clock_application_hz)),
    ]
}

/// Clocks of the same name whose measured frequencies differ.
fn clocks(a: &[Clock], b: &[Clock]) -> Vec<Difference> {
    let pairs = a.iter().filter_map(|clock| Some((clock, b.iter().find(|other| other.name == clock.name)?)));
    let differ = |(a, b): &(&Clock, &Clock)| (a.frequency_hz / b.frequency_hz - 1.0).abs() > SAME_CLOCK;
    let text = |clock: &Clock| format!("{:.0} MHz", clock.frequency_hz / 1e6);
    pairs.filter(differ).map(|(a, b)| Difference { what: a.name.clone(), a: text(a), b: text(b) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use syncscope_core::machine::{GpuMachine, SystemSettings};

    fn names(a: &Run, b: &Run) -> Vec<String> {
        differences(a, b).into_iter().map(|difference| difference.what).collect()
    }

    #[test]
    fn what_differs_is_named_hardware_first() {
        let a = testing::run();
        assert!(differences(&a, &a).is_empty());
        let mut b = a.clone();
        b.machine.gpus.push(GpuMachine { name: "NVIDIA H200".into(), ..GpuMachine::default() });
        b.environment.os = "another kernel".into();
        b.environment.nvidia_driver = Some("580".into());
        b.preset = "quick".into();
        assert_eq!(
            names(&a, &b),
            ["GPU", "preset", "operating system"],
            "a driver beside none is no difference of drivers"
        );
        let gpu = &differences(&a, &b)[0];
        assert_eq!((gpu.a.as_str(), gpu.b.as_str()), ("none", "NVIDIA H200"));
    }

    #[test]
    fn more_gpus_of_one_kind_differ_in_their_number_alone() {
        let gpu = |l2_bytes| GpuMachine { name: "NVIDIA H200".into(), l2_bytes, ..GpuMachine::default() };
        let with = |gpus: &[GpuMachine]| {
            let mut run = testing::run();
            run.machine.gpus = gpus.to_vec();
            run
        };
        let one = with(&[gpu(60 << 20)]);
        assert_eq!(names(&one, &with(&[gpu(60 << 20), gpu(60 << 20)])), ["GPU"]);
        let mixed = differences(&one, &with(&[gpu(60 << 20), gpu(50 << 20)]));
        let cache = mixed.iter().find(|difference| difference.what == "GPU L2 cache").unwrap();
        assert_eq!((cache.a.as_str(), cache.b.as_str()), ("60 MiB", "60 MiB, 50 MiB"));
    }

    #[test]
    fn what_an_older_file_does_not_record_is_no_difference() {
        let a = testing::run();
        let mut b = a.clone();
        b.environment.settings = Some(SystemSettings { aslr: Some(2), ..SystemSettings::default() });
        assert!(differences(&a, &b).is_empty());
        let mut c = b.clone();
        c.environment.settings = Some(SystemSettings { aslr: Some(0), ..SystemSettings::default() });
        assert_eq!(names(&b, &c), ["address randomization"]);
        let d = with_idle_states(&c, "intel_idle, menu, C1, C6");
        assert!(differences(&c, &d).is_empty());
        assert_eq!(names(&d, &with_idle_states(&c, "intel_idle, menu, C1, C6 (off)")), ["idle states"]);
    }

    fn with_idle_states(run: &Run, states: &str) -> Run {
        let mut run = run.clone();
        let settings = run.environment.settings.take().unwrap_or_default();
        run.environment.settings = Some(SystemSettings { idle_states: Some(states.into()), ..settings });
        run
    }

    #[test]
    fn variables_and_preloaded_libraries_that_decide_costs_are_named() {
        let with = |variables: &[(&str, &str)], preloaded: &[&str]| {
            let mut run = testing::run();
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            run.environment.variables = Some(variables.collect());
            run.environment.preloaded = Some(preloaded.iter().map(|name| (*name).to_owned()).collect());
            run
        };
        let passive = with(&[("GOMP_SPINCOUNT", "7"), ("OMP_WAIT_POLICY", "passive")], &[]);
        let other = with(&[("GOMP_SPINCOUNT", "7")], &["spin.so"]);
        assert_eq!(names(&passive, &other), ["preloaded libraries", "OMP_WAIT_POLICY"]);
        let found = differences(&passive, &other);
        assert_eq!((found[0].a.as_str(), found[0].b.as_str()), ("none", "spin.so"));
        assert_eq!((found[1].a.as_str(), found[1].b.as_str()), ("passive", "not set"));
        assert!(differences(&passive, &testing::run()).is_empty(), "an older file does not say");
    }

    #[test]
    fn clocks_differ_from_a_hundredth_on_and_libraries_by_version() {
        let clock = |hertz| Clock { name: "tsc".into(), frequency_hz: hertz, resolution_ns: 1.0, read_cost_ns: 20.0 };
        let run = |hertz, version: &str| {
            let mut run = testing::run();
            run.environment.clocks = vec![clock(hertz)];
            run.environment.libraries.insert("glibc".into(), version.into());
            run
        };
        assert!(differences(&run(2.1e9, "2.39"), &run(2.101e9, "2.39")).is_empty());
        assert_eq!(names(&run(2.1e9, "2.39"), &run(2.9e9, "2.41")), ["tsc", "glibc"]);
    }
}
