//! Describes the machine and its state, and warns of what may disturb the figures.

use std::collections::BTreeMap;

use syncscope_core::Placement;
use syncscope_core::machine::{CpuMachine, Environment};
use syncscope_core::units::plural;
use syncscope_host::{c_library_version, cpu_list};

use super::CpuLaboratory;
use syncscope_machine::described;
use syncscope_machine::placement::boundaries;
use syncscope_machine::system::settings;

impl CpuLaboratory {
    /// Describes the hardware.
    pub fn machine(&self) -> CpuMachine {
        CpuMachine {
            model: self.description.processor().unwrap_or_else(|| "unknown".to_owned()),
            architecture: std::env::consts::ARCH.to_owned(),
            packages: self.topology.packages(),
            numa_nodes: self.topology.nodes_with_cpus().count() as u32,
            cores: self.topology.cores(),
            hardware_threads: self.topology.threads.len() as u32,
            caches: self.topology.cache_summary(),
            memory_bytes: self.topology.memory_bytes,
            hypervisor: self.hypervisor(),
            signature: self.system.signature(),
            node_cpus: self.topology.node_cpus(),
            core_kinds: self.topology.core_kinds(),
            memory_nodes: self.topology.memory_nodes(),
            clusters: self.topology.clusters(),
        }
    }

    /// The hypervisor of this machine; it is not known for a described machine.
    fn hypervisor(&self) -> Option<String> {
        self.system.hypervisor().filter(|_| self.topology.this_system)
    }

    /// Fills in the CPU's part of the environment.
    pub fn describe(&self, environment: &mut Environment) {
        let cpus = self.topology.allowed_cpus();
        environment.os = self.system.os();
        environment.allowed_cpus = cpu_list::format(&cpus);
        let of = |placement: Placement| (placement.to_string(), boundaries(&self.topology, &placement));
        environment.boundaries = [Placement::Cores, Placement::Close, Placement::Spread].map(of).into();
        environment.cpu_quota = self.quota().map(|quota| quota.cpus);
        environment.governor = self.system.governor(&cpus);
        environment.boost = self.system.boost();
        environment.load = self.load;
        environment.clocks.push(self.clock.description());
        environment.emulator = self.system.emulator();
        environment.core_cycles = Some(self.core_cycles.clone());
        environment.libraries.extend(libraries());
        environment.libraries.extend(self.own.compilers());
        let runtimes = crate::team::openmp::runtimes().iter();
        environment.openmp = runtimes.filter_map(|runtime| runtime.library(&self.system)).collect();
        environment.settings = Some(settings(&self.system));
    }

    /// What may disturb the figures, and what to do about it.
    pub fn warnings(&self) -> Vec<String> {
        let cpus = self.topology.allowed_cpus();
        let count = cpus.len();
        let governor = self.system.governor(&cpus).filter(|governor| governor != "performance");
        let warnings = [
            (!self.topology.this_system).then(|| {
                let set = described::variables();
                format!("the topology is not this machine's ({set} is set): nothing can be measured")
            }),
            governor.map(|governor| {
                format!(
                    "the frequency governor is {governor}: `cpupower frequency-set -g performance` steadies the clock"
                )
            }),
            self.system
                .emulator()
                .map(|name| format!("every instruction is emulated ({name}): timings are meaningless")),
            self.hypervisor().filter(|_| self.system.emulator().is_none()).map(|name| {
                format!(
                    "this is a virtual machine ({name}): its topology may be wrong and other guests may disturb it; \
                     to measure the hardware itself, run on the host or on a dedicated instance"
                )
            }),
            self.quota().map(|quota| quota.cpus).filter(|quota| *quota < count as f64).map(|quota| {
                // Its path may name a user, and warnings are stored.
                format!(
                    "a control group limits this process to the time of {quota} of {count} CPUs: raise cpu.max (docker \
                         --cpus; `syncscope system` shows which file), or use `taskset` to measure on no more CPUs than that"
                )
            }),
            self.clock.fallback_reason().map(|reason| {
                format!("{reason}: the clock of the operating system is used, which is coarser and costs more to read")
            }),
        ];
        warnings.into_iter().flatten().collect()
    }

    /// The warning before a run while other programs are running. The record of the run has what they used during it.
    pub fn load_warning(&self) -> Option<String> {
        // The load is the whole machine's, however few of its CPUs this process may use.
        let count = self.topology.threads.len();
        let load = self.load.filter(|load| Environment::is_high_load(*load, count))?;
        Some(format!(
            "the load average of the last minute is {load:.2} on {}: other programs may disturb the measurement",
            plural(count, "CPU")
        ))
    }

    /// The note for a process that may not use all CPUs.
    pub fn restriction(&self) -> Option<String> {
        let cpus = self.topology.allowed_cpus();
        let (count, all) = (cpus.len(), self.topology.threads.len());
        (count < all && self.topology.this_system).then(|| {
            format!(
                "this process may use {count} of {all} hardware threads ({}): \
                     --cpus, taskset, a cpuset or a preloaded library restricts it; start it without to measure all",
                cpu_list::format(&cpus)
            )
        })
    }
}

/// Versions of the libraries whose primitives are measured: parking_lot, crossbeam, Rust's standard library, the C library.
fn libraries() -> BTreeMap<String, String> {
    let locked = env!("SYNCSCOPE_LIBRARIES").split(',').filter_map(|library| library.split_once('='));
    let compiler = Some(env!("SYNCSCOPE_RUSTC").to_owned()).filter(|version| !version.is_empty());
    let locked = locked.map(|(name, version)| (name, version.to_owned()));
    let known = locked.chain(compiler.map(|version| ("rust", version)));
    known.chain(c_library_version()).map(|(name, version)| (name.to_owned(), version)).collect()
}
