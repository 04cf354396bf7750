//! The description of machine and environment on the page, as labels and texts.

use syncscope_core::Run;
use syncscope_core::machine::{Cache, CpuMachine, CpuSignature, Environment, GpuMachine};

use crate::analysis::compare::differences::openmp_in_words;
use crate::naming::generation::generation;
use crate::naming::plural;

/// The description of the machine of a run. Unknown values are left out.
pub(super) fn facts(run: &Run) -> Vec<(&'static str, String)> {
    let gpus = run.machine.gpus.iter().map(|device| ("GPU", Some(gpu(device))));
    let described = cpu(&run.machine.cpu).into_iter().chain(gpus).chain(environment(&run.environment));
    let known = described.filter_map(|(label, text)| Some((label, text.filter(|text| !text.is_empty())?)));
    known.chain([("seed", run.seed.to_string()), ("command", run.command.join(" "))]).collect()
}

/// A label and its text, if known.
type Fact = (&'static str, Option<String>);

fn cpu(cpu: &CpuMachine) -> [Fact; 5] {
    let counts = [
        (cpu.packages, "package"),
        (cpu.numa_nodes, "NUMA node"),
        (cpu.cores, "core"),
        (cpu.hardware_threads, "hardware thread"),
    ];
    let mut counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, of)| plural(*count, of)).collect();
    if !cpu.memory_nodes.is_empty() {
        counts.push(format!("{} of memory without CPUs", plural(cpu.memory_nodes.len(), "NUMA node")));
    }
    let architecture = Some(&cpu.architecture).filter(|name| !name.is_empty());
    let model = format!("{}{}", cpu.model, architecture.map(|name| format!(" ({name})")).unwrap_or_default());
    let counts = std::iter::once(model).chain(counts).collect::<Vec<_>>().join(", ");
    let caches = cpu.caches.iter().map(cache).collect::<Vec<_>>().join(", ");
    [
        ("CPU", Some(counts)),
        ("generation", generation_words(cpu)),
        ("caches", Some(caches)),
        ("memory", cpu.memory_bytes.map(bytes)),
        ("hypervisor", cpu.hypervisor.clone()),
    ]
}

/// `Zen 3, by AuthenticAMD family 25, model 1, stepping 1`; the numbers alone where the generation is unknown.
fn generation_words(cpu: &CpuMachine) -> Option<String> {
    let CpuSignature { vendor, family, model, stepping } = cpu.signature.as_ref()?;
    let words = generation(cpu).map(|words| format!("{words}, by ")).unwrap_or_default();
    Some(format!("{words}{vendor} family {family}, model {model}, stepping {stepping}"))
}

fn cache(cache: &Cache) -> String {
    let kind = match cache.kind.as_str() {
        "data" => "d",
        "instruction" => "i",
        _ => "",
    };
    let Cache { level, count, line_bytes, shared_by, .. } = cache;
    let threads = plural(*shared_by, "thread");
    format!("{count} × L{level}{kind} {} ({line_bytes} B lines, {threads} each)", bytes(cache.size_bytes))
}

fn gpu(gpu: &GpuMachine) -> String {
    let (major, minor) = gpu.compute_capability;
    let facts = [
        Some(format!("{}: {}", gpu.index, gpu.name)),
        (major > 0).then(|| format!("compute capability {major}.{minor}")),
        (gpu.multiprocessors > 0).then(|| format!("{} multiprocessors", gpu.multiprocessors)),
        (gpu.memory_bytes > 0).then(|| format!("{} memory", bytes(gpu.memory_bytes))),
        (gpu.l2_bytes > 0).then(|| format!("{} L2", bytes(gpu.l2_bytes))),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn environment(environment: &Environment) -> impl Iterator<Item = Fact> {
    let clocks = environment.clocks.iter().map(|clock| {
        let megahertz = clock.frequency_hz / 1e6;
        let text = format!(
            "{}: {megahertz:.1} MHz, step {:.2} ns, {:.1} ns per read",
            clock.name, clock.resolution_ns, clock.read_cost_ns
        );
        ("clock", Some(text))
    });
    let libraries = environment.libraries.iter().map(|(name, version)| format!("{name} {version}"));
    let libraries = libraries.collect::<Vec<_>>().join(", ");
    // Each variable affects a cost, and no row records it.
    let variables = environment.variables.iter().flatten().map(|(name, value)| format!("{name}={value}"));
    let variables = Some(variables.collect::<Vec<_>>().join(" "));
    let facts = [
        ("system", Some(environment.os.clone())),
        ("allowed CPUs", Some(environment.allowed_cpus.clone())),
        ("CPU quota", environment.cpu_quota.map(|quota| format!("{quota} CPUs"))),
        ("governor", environment.governor.clone()),
        ("boost", environment.boost.map(|on| if on { "on" } else { "off" }.to_owned())),
        ("load", environment.load.map(|load| format!("{load:.2} at the start"))),
        ("NVIDIA driver", environment.nvidia_driver.clone()),
        ("CUDA", environment.cuda_driver.clone()),
        ("NVRTC", environment.nvrtc.clone()),
        ("libraries", Some(libraries)),
        ("OpenMP", openmp_in_words(environment)),
        ("variables of libraries", variables),
    ];
    facts.into_iter().chain(clocks)
}

/// A size in binary units: `32 KiB`, `1.5 GiB`.
pub(super) fn bytes(count: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = count.max(1).ilog(1024).min(4);
    // One decimal, left out if it is 0.
    let text = format!("{:.1}", count as f64 / 1024_u64.pow(unit) as f64);
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), units[unit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let cpu = CpuMachine { packages: 1, numa_nodes: 1, cores: 2, hardware_threads: 2, ..CpuMachine::default() };
        let cache =
            Cache { level: 2, kind: "unified".into(), size_bytes: 1 << 20, line_bytes: 64, shared_by: 1, count: 2 };
        let facts = super::cpu(&CpuMachine { caches: vec![cache], ..cpu });
        let text = |label| facts.iter().find(|(of, _)| *of == label).and_then(|(_, text)| text.as_deref()).unwrap();
        assert!(text("CPU").ends_with(", 1 package, 1 NUMA node, 2 cores, 2 hardware threads"), "{facts:?}");
        assert_eq!(text("caches"), "2 × L2 1 MiB (64 B lines, 1 thread each)");
    }

    #[test]
    fn what_decides_the_cost_of_libraries_is_there() {
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let environment = Environment {
            variables: Some(
                [set("GLIBC_TUNABLES", "glibc.pthread.mutex_spin_count=0"), set("KMP_HW_SUBSET", "1c")].into(),
            ),
            ..Environment::default()
        };
        let of = |environment: &Environment| {
            super::environment(environment)
                .find(|(label, _)| *label == "variables of libraries")
                .and_then(|(_, text)| text)
        };
        let text = "GLIBC_TUNABLES=glibc.pthread.mutex_spin_count=0 KMP_HW_SUBSET=1c";
        assert_eq!(of(&environment).as_deref(), Some(text));
        assert_eq!(of(&Environment::default()).as_deref(), Some(""), "left out where nothing is set");
    }

    #[test]
    fn sizes_are_binary() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(32 << 10), "32 KiB");
        assert_eq!(bytes(3 << 29), "1.5 GiB");
    }
}
