//! Settings of the processor's firmware and of the kernel that change what synchronization costs.

use std::collections::BTreeMap;
use std::fs;

use syncscope_core::machine::SystemSettings;

use crate::machine::system::System;

/// The settings of this system.
pub fn settings(system: &System) -> SystemSettings {
    let number = |path: &str| system.read(path)?.parse::<u32>().ok();
    SystemSettings {
        microcode: microcode(system),
        kernel_parameters: system.read("proc/cmdline").map(|line| parameters_that_matter(&line)),
        mitigations: mitigations(system),
        transparent_huge_pages: system.read("sys/kernel/mm/transparent_hugepage/enabled").as_deref().and_then(chosen),
        numa_balancing: number("proc/sys/kernel/numa_balancing"),
        ksm: number("sys/kernel/mm/ksm/run").map(|run| run == 1),
        aslr: number("proc/sys/kernel/randomize_va_space").map(|level| if is_exempt(system) { 0 } else { level }),
        smt: system.read("sys/devices/system/cpu/smt/control"),
        isolated_cpus: cpu_list(system, "sys/devices/system/cpu/isolated"),
        nohz_full_cpus: cpu_list(system, "sys/devices/system/cpu/nohz_full"),
        clocksource: system.read("sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }
}

/// The revisions of all CPUs, each once.
fn microcode(system: &System) -> Option<String> {
    let text = system.read("proc/cpuinfo")?;
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    let mut revisions: Vec<&str> =
        fields.filter(|(key, _)| key.trim() == "microcode").map(|(_, value)| value.trim()).collect();
    revisions.sort_unstable();
    revisions.dedup();
    (!revisions.is_empty()).then(|| revisions.join(", "))
}

/// Beginnings of the kernel's parameters that change scheduling, idling, clocks, memory or mitigations (Linux
/// `Documentation/admin-guide/kernel-parameters.txt`). Only these are written: others may name a host, a network or a
/// user.
const THAT_MATTER: &str = "\
    acpi_ amd_iommu amd_pstate amd_prefcore clocksource cpufreq. cpuidle default_hugepagesz gather_data_sampling \
    haltpoll. highres hpet hugepages idle indirect_target_selection intel_idle. intel_iommu intel_pstate iommu \
    irqaffinity isolcpus kaslr kvm l1d_flush l1tf lapic managed_irq maxcpus mce mds mitigations mmio_stale_data \
    nmi_watchdog no5lvl nohpet nohz nokaslr nopti norandmaps nosmt nospec nosoftlockup notsc nowatchdog nr_cpus numa \
    nvidia pci possible_cpus preempt processor. psi pti rcu reg_file_data_sampling retbleed sched skew_tick spec \
    split_lock_detect srbds threadirqs transparent_hugepage tsa tsc tsx vmscape";

fn parameters_that_matter(line: &str) -> String {
    // What follows `--` is for the first process, not for the kernel.
    let words = line.split_whitespace().take_while(|word| *word != "--");
    words.filter(|word| THAT_MATTER.split(' ').any(|start| word.starts_with(start))).collect::<Vec<_>>().join(" ")
}

/// Vulnerabilities that the kernel knows, but for those that do not affect this processor.
fn mitigations(system: &System) -> BTreeMap<String, String> {
    const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";
    let entries = fs::read_dir(system.root().join(FOLDER)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| Some((system.read(&format!("{FOLDER}/{name}"))?, name)))
        .filter(|(state, _)| state != "Not affected")
        .map(|(state, name)| (name, state))
        .collect()
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Whether the process asked for addresses that are not randomized (`setarch --addr-no-randomize`).
fn is_exempt(system: &System) -> bool {
    /// `ADDR_NO_RANDOMIZE` of `linux/personality.h`.
    const ADDR_NO_RANDOMIZE: u64 = 0x0004_0000;
    let personality = system.read("proc/self/personality");
    let bits = personality.and_then(|text| u64::from_str_radix(&text, 16).ok());
    bits.is_some_and(|bits| bits & ADDR_NO_RANDOMIZE != 0)
}

/// The list in a file that is empty or `(null)` where there are none.
fn cpu_list(system: &System, path: &str) -> Option<String> {
    let text = fs::read_to_string(system.root().join(path)).ok()?;
    Some(text.trim().replace("(null)", ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::system::tests::system;

    #[test]
    fn settings_are_read() {
        let (_root, system) = system(&[
            (
                "proc/cpuinfo",
                "processor\t: 0\nmicrocode\t: 0xb2\n\nprocessor\t: 1\nmicrocode\t: 0xb1\nmicrocode: 0xb2\n",
            ),
            (
                "proc/cmdline",
                "BOOT_IMAGE=/home/ann/vmlinuz root=UUID=1 hostname=ann-pc isolcpus=2-3 quiet nohz_full=2-3\n",
            ),
            ("proc/sys/kernel/numa_balancing", "1\n"),
            ("proc/sys/kernel/randomize_va_space", "2\n"),
            ("sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n"),
            ("sys/devices/system/cpu/vulnerabilities/retbleed", "Mitigation: Enhanced IBRS\n"),
            ("sys/devices/system/cpu/vulnerabilities/srbds", "Vulnerable\n"),
            ("sys/devices/system/cpu/smt/control", "on\n"),
            ("sys/devices/system/cpu/isolated", "2-3\n"),
            ("sys/devices/system/cpu/nohz_full", "  (null)\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
            ("sys/kernel/mm/ksm/run", "0\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ]);
        let text = |text: &str| Some(text.to_owned());
        let mitigations = [("retbleed", "Mitigation: Enhanced IBRS"), ("srbds", "Vulnerable")];
        let expected = SystemSettings {
            microcode: text("0xb1, 0xb2"),
            kernel_parameters: text("isolcpus=2-3 nohz_full=2-3"),
            mitigations: mitigations.map(|(name, state)| (name.to_owned(), state.to_owned())).into(),
            transparent_huge_pages: text("madvise"),
            numa_balancing: Some(1),
            ksm: Some(false),
            aslr: Some(2),
            smt: text("on"),
            isolated_cpus: text("2-3"),
            nohz_full_cpus: text(""),
            clocksource: text("tsc"),
        };
        assert_eq!(settings(&system), expected);
    }

    #[test]
    fn missing_files_are_unknown_not_wrong() {
        let (_root, system) = system(&[]);
        assert_eq!(settings(&system), SystemSettings::default());
    }

    #[test]
    fn a_process_can_be_exempt_from_randomization() {
        let (_root, system) =
            system(&[("proc/sys/kernel/randomize_va_space", "2\n"), ("proc/self/personality", "00040000\n")]);
        assert_eq!(settings(&system).aslr, Some(0));
    }

    #[test]
    fn parameters_of_the_first_process_are_not_the_kernels() {
        assert_eq!(parameters_that_matter("mitigations=off -- --isolcpus tsc=reliable"), "mitigations=off");
        assert_eq!(parameters_that_matter("ip=10.0.0.1::::ann-pc:eth0 nfsroot=ann@host user=ann"), "");
    }

    #[test]
    fn this_system_is_read_without_failing() {
        let here = settings(&System::default());
        assert!(here.aslr.is_none_or(|level| level <= 2), "{here:?}");
    }
}
