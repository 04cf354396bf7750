//! `syncscope system`: shows the machine as the laboratories see it.

use serde_json::json;
use syncscope_core::machine::{Clock, Environment, GpuLink, GpuMachine, GpuState, Machine, SystemSettings};
use syncscope_cpu::CpuLaboratory;
use syncscope_machine::cpu_time::Quota;

use crate::args::SystemFormat;
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::{provenance, terminal};

/// Shows the machine, its state and the warnings.
pub(crate) fn system(format: SystemFormat) -> Result<Outcome, Failure> {
    let laboratories = Laboratories::open(None)?;
    match format {
        SystemFormat::Json => terminal::show(&syncscope_report::json(&as_json(&laboratories))),
        SystemFormat::Text => terminal::show(&as_text(&laboratories).trim_end()),
    }
}

fn warnings(laboratories: &Laboratories) -> Vec<String> {
    laboratories.warnings().into_iter().chain(laboratories.load_warning()).collect()
}

fn as_json(laboratories: &Laboratories) -> serde_json::Value {
    json!({
        "tool": provenance::tool(),
        "machine": laboratories.machine(),
        "environment": laboratories.environment(),
        "topology": laboratories.cpu.as_ref().map(CpuLaboratory::topology),
        "warnings": warnings(laboratories),
        "gpu_unavailable": laboratories.without_gpu(),
    })
}

/// Groups of lines: the processor and the system, the kernel's settings, clocks and libraries, the GPUs, the topology.
fn as_text(laboratories: &Laboratories) -> String {
    let environment = laboratories.environment();
    let machine = laboratories.machine();
    let mut gpus = gpu_lines(&machine, &environment);
    gpus.extend(laboratories.without_gpu().map(|reason| line("GPU", &reason)));
    let quota = laboratories.cpu.as_ref().and_then(CpuLaboratory::quota);
    let mut first = system_lines(&machine, &environment, quota);
    first.push(line("build", &provenance::tool().to_string()));
    let settings = environment.settings.as_ref().map(setting_lines).unwrap_or_default();
    let topology = laboratories.cpu.as_ref().map(|cpu| cpu.topology().to_string());
    let warnings = warnings(laboratories).iter().map(|warning| format!("warning: {warning}")).collect();
    let groups: [Vec<String>; 6] =
        [first, settings, software_lines(&environment), gpus, topology.into_iter().collect(), warnings];
    let groups = groups.iter().filter(|group| !group.is_empty()).map(|group| group.join("\n"));
    groups.collect::<Vec<_>>().join("\n\n")
}

fn line(label: &str, value: &str) -> String {
    format!("{label:12} {value}")
}

fn system_lines(machine: &Machine, environment: &Environment, quota: Option<&Quota>) -> Vec<String> {
    let quota = quota.map(|Quota { cpus, file }| format!("{cpus} CPUs ({})", file.display()));
    vec![
        line("CPU", &machine.cpu.model),
        line("system", &environment.os),
        line("hypervisor", machine.cpu.hypervisor.as_deref().unwrap_or("none detected")),
        line("emulator", environment.emulator.as_deref().unwrap_or("none detected")),
        line("allowed CPUs", &environment.allowed_cpus),
        line("CPU quota", quota.as_deref().unwrap_or("none")),
        line("governor", environment.governor.as_deref().unwrap_or("not reported")),
    ]
}

/// The settings, with similar ones on one line.
fn setting_lines(settings: &SystemSettings) -> Vec<String> {
    let list = |cpus: &str| if cpus.is_empty() { "none".to_owned() } else { cpus.to_owned() };
    let on_or_off = |on| if on { "on" } else { "off" }.to_owned();
    let memory = [
        ("transparent huge pages", settings.transparent_huge_pages.clone()),
        ("NUMA balancing", settings.numa_balancing.map(|level| on_or_off(level > 0))),
        ("KSM", settings.ksm.map(on_or_off)),
        ("ASLR", settings.aslr.map(|level| level.to_string())),
    ];
    let cpus = [
        ("SMT", settings.smt.clone()),
        ("isolated", settings.isolated_cpus.as_deref().map(list)),
        ("nohz_full", settings.nohz_full_cpus.as_deref().map(list)),
        ("clocksource", settings.clocksource.clone()),
    ];
    let is_open = |state: &str| state.starts_with("Vulnerable");
    let named = |open: bool| {
        let wanted = settings.mitigations.iter().filter(|(_, state)| is_open(state) == open);
        let names: Vec<&str> = wanted.map(|(name, _)| name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(" "))
    };
    [
        ("microcode", settings.microcode.clone()),
        ("kernel", settings.kernel_parameters.clone().filter(|text| !text.is_empty())),
        ("mitigated", named(false)),
        ("vulnerable", named(true)),
        ("CPUs", joined(cpus)),
        ("idle states", settings.idle_states.clone()),
        ("frequencies", settings.frequency_range.clone()),
        ("energy", settings.energy_preference.clone()),
        ("memory", joined(memory)),
        ("process", joined(settings.process.iter().map(|(name, value)| (name.as_str(), Some(value.clone()))))),
    ]
    .into_iter()
    .filter_map(|(label, text)| Some(line(label, &text?)))
    .collect()
}

/// The known settings on one line: `KSM off, ASLR 2`.
fn joined<'a>(parts: impl IntoIterator<Item = (&'a str, Option<String>)>) -> Option<String> {
    let known: Vec<String> = parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn software_lines(environment: &Environment) -> Vec<String> {
    let clock = |Clock { name, frequency_hz, resolution_ns, read_cost_ns, .. }: &Clock| {
        let ghz = frequency_hz / 1e9;
        line(name, &format!("{ghz:.3} GHz, steps of {resolution_ns:.2} ns, {read_cost_ns:.1} ns to read"))
    };
    let mut lines: Vec<String> = environment.clocks.iter().map(clock).collect();
    lines.extend(environment.core_cycles.as_ref().map(|source| line("core cycles", source)));
    lines.extend(environment.libraries.iter().map(|(name, version)| line(name, version)));
    lines.extend(environment.openmp.iter().map(|library| {
        let version = library.version.as_deref().unwrap_or("unknown version");
        line(&library.name, &format!("{version}, {}", library.file))
    }));
    let versions =
        [("driver", &environment.nvidia_driver), ("CUDA", &environment.cuda_driver), ("NVRTC", &environment.nvrtc)];
    lines.extend(versions.into_iter().filter_map(|(label, version)| Some(line(label, version.as_ref()?))));
    lines
}

fn gpu_lines(machine: &Machine, environment: &Environment) -> Vec<String> {
    let mut lines = Vec::new();
    for gpu in &machine.gpus {
        let GpuMachine { name, compute_capability: (major, minor), multiprocessors, .. } = gpu;
        let gib = gpu.memory_bytes as f64 / f64::from(1 << 30);
        let text = format!("{name} (compute {major}.{minor}), {multiprocessors} multiprocessors, {gib:.0} GiB");
        lines.push(line(&format!("GPU {}", gpu.index), &text));
        let state = environment.gpus.iter().find(|state| state.index == gpu.index);
        lines.extend(state.into_iter().flat_map(|state| state_lines(state, gpu.ecc)).map(|text| line("", &text)));
    }
    lines.extend(machine.links.iter().map(|link| line(&format!("GPU {} to {}", link.from, link.to), &link_text(link))));
    let yes_or_no = |yes| if yes { "yes" } else { "no" }.to_owned();
    let shared = joined([
        ("MPS", environment.mps.map(yes_or_no)),
        ("confidential computing", environment.confidential_computing.map(yes_or_no)),
    ]);
    lines.extend(shared.map(|text| line("GPU sharing", &text)));
    lines
}

/// The identity, limits and modes of a device, one per line.
fn state_lines(state: &GpuState, ecc: Option<bool>) -> Vec<String> {
    let megahertz = |hertz: f64| format!("{:.0} MHz", hertz / 1e6);
    let on_or_off = |on| if on { "on" } else { "off" }.to_owned();
    let range = match (state.sm_clock_lowest_hz, state.sm_clock_highest_hz) {
        (Some(lowest), Some(highest)) => Some(format!("{:.0} to {}", lowest / 1e6, megahertz(highest))),
        (None, Some(highest)) => Some(format!("up to {}", megahertz(highest))),
        (_, None) => None,
    };
    let identity = [("UUID", state.uuid.clone()), ("PCI", state.pci_address.clone()), ("VBIOS", state.vbios.clone())];
    let limits = [
        ("power limit", state.power_limit_watts.map(|watts| format!("{watts:.0} W"))),
        ("temperature", state.temperature_celsius.map(|degrees| format!("{degrees} °C"))),
        ("SM clock", range),
        ("application clock", state.sm_clock_application_hz.map(megahertz)),
        ("memory clock", state.memory_clock_hz.map(megahertz)),
    ];
    let modes = [
        ("ECC", ecc.map(on_or_off)),
        ("MIG", state.mig.map(on_or_off)),
        ("persistence", state.persistence.map(on_or_off)),
        ("compute mode", state.compute_mode.clone()),
    ];
    [joined(identity), joined(limits), joined(modes)].into_iter().flatten().collect()
}

/// `NVLink, peer access, native atomics, rank 0`.
fn link_text(link: &GpuLink) -> String {
    let kind = link.kind.as_deref().unwrap_or("unknown link");
    let access = if link.access { "peer access" } else { "no peer access" };
    let atomics = if link.native_atomics { "native atomics" } else { "no native atomics" };
    let rank = link.performance_rank.map(|rank| format!(", rank {rank}")).unwrap_or_default();
    format!("{kind}, {access}, {atomics}{rank}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_one_line() {
        let link = GpuLink { from: 0, to: 1, kind: Some("NVLink".to_owned()), access: true, ..GpuLink::default() };
        assert_eq!(link_text(&link), "NVLink, peer access, no native atomics");
        let other = GpuLink { kind: None, access: false, native_atomics: true, performance_rank: Some(0), ..link };
        assert_eq!(link_text(&other), "unknown link, no peer access, native atomics, rank 0");
    }

    #[test]
    fn settings_are_grouped_and_unknown_ones_are_left_out() {
        assert_eq!(setting_lines(&SystemSettings::default()), Vec::<String>::new());
        let mitigation = |name: &str, state: &str| (name.to_owned(), state.to_owned());
        let settings = SystemSettings {
            mitigations: [
                mitigation("mds", "Mitigation: Clear CPU buffers"),
                mitigation("retbleed", "Vulnerable: no microcode"),
                mitigation("spectre_v2", "Mitigation: Retpolines"),
            ]
            .into(),
            ksm: Some(false),
            aslr: Some(2),
            isolated_cpus: Some(String::new()),
            nohz_full_cpus: Some("2-3".to_owned()),
            ..SystemSettings::default()
        };
        let expected = [
            "mitigated    mds spectre_v2",
            "vulnerable   retbleed",
            "CPUs         isolated none, nohz_full 2-3",
            "memory       KSM off, ASLR 2",
        ];
        assert_eq!(setting_lines(&settings), expected);
    }

    #[test]
    fn a_gpu_has_a_line_for_identity_limits_and_modes() {
        let state = GpuState {
            uuid: Some("GPU-1".to_owned()),
            power_limit_watts: Some(700.0),
            sm_clock_lowest_hz: Some(3.45e8),
            sm_clock_highest_hz: Some(1.98e9),
            mig: Some(false),
            ..GpuState::default()
        };
        let expected = ["UUID GPU-1", "power limit 700 W, SM clock 345 to 1980 MHz", "ECC on, MIG off"];
        assert_eq!(state_lines(&state, Some(true)), expected);
        assert!(state_lines(&GpuState::default(), None).is_empty());
    }
}
