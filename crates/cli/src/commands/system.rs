//! `syncscope system`: the machine as the laboratories see it.

use serde_json::json;
use syncscope_core::machine::GpuLink;
use syncscope_cpu::CpuLaboratory;

use crate::args::{SystemArguments, SystemFormat};
use crate::failure::{Failure, Outcome};
use crate::laboratories::Laboratories;
use crate::terminal;

/// Shows the machine, its state and the warnings.
pub(crate) fn system(arguments: &SystemArguments) -> Result<Outcome, Failure> {
    let laboratories = Laboratories::open(None)?;
    match arguments.format {
        SystemFormat::Json => terminal::show(&format!("{:#}", as_json(&laboratories)))?,
        SystemFormat::Text => terminal::show(&as_text(&laboratories).trim_end())?,
    }
    Ok(Outcome::Done)
}

fn as_json(laboratories: &Laboratories) -> serde_json::Value {
    json!({
        "machine": laboratories.machine(),
        "environment": laboratories.environment(),
        "topology": laboratories.cpu.as_ref().map(CpuLaboratory::topology),
        "warnings": laboratories.warnings(),
        "gpu_unavailable": laboratories.without_gpu(),
    })
}

fn as_text(laboratories: &Laboratories) -> String {
    let environment = laboratories.environment();
    let machine = laboratories.machine();
    let mut lines = Vec::new();
    let mut line = |label: &str, value: &str| lines.push(format!("{label:12} {value}"));
    line("CPU", &machine.cpu.model);
    line("system", &environment.os);
    line("hypervisor", machine.cpu.hypervisor.as_deref().unwrap_or("none detected"));
    line("allowed CPUs", &environment.allowed_cpus);
    line("CPU quota", &environment.cpu_quota.map_or("none".to_owned(), |cpus| format!("{cpus} CPUs")));
    line("governor", environment.governor.as_deref().unwrap_or("not reported"));
    for clock in &environment.clocks {
        let text = format!(
            "{:.3} GHz, steps of {:.2} ns, {:.1} ns to read",
            clock.frequency_hz / 1e9,
            clock.resolution_ns,
            clock.read_cost_ns
        );
        line(&clock.name, &text);
    }
    if let Some(source) = &environment.core_cycles {
        line("core cycles", source);
    }
    for gpu in &machine.gpus {
        let (major, minor) = gpu.compute_capability;
        let text = format!(
            "{} (compute {major}.{minor}), {} multiprocessors, {:.0} GiB",
            gpu.name,
            gpu.multiprocessors,
            gpu.memory_bytes as f64 / f64::from(1 << 30)
        );
        line(&format!("GPU {}", gpu.index), &text);
    }
    for link in &machine.links {
        line(&format!("GPU {} to {}", link.from, link.to), &link_text(link));
    }
    for (label, version) in
        [("driver", &environment.nvidia_driver), ("CUDA", &environment.cuda_driver), ("NVRTC", &environment.nvrtc)]
    {
        if let Some(version) = version {
            line(label, version);
        }
    }
    if let Some(reason) = laboratories.without_gpu() {
        line("GPU", &reason);
    }
    if let Some(cpu) = &laboratories.cpu {
        lines.push(format!("\n{}", cpu.topology()));
    }
    lines.extend(laboratories.warnings().iter().map(|warning| format!("warning: {warning}")));
    lines.join("\n")
}

/// `NVLink, peer access, native atomics, rank 0`.
fn link_text(link: &GpuLink) -> String {
    let mut words = vec![link.kind.as_deref().unwrap_or("unknown link")];
    words.push(if link.access { "peer access" } else { "no peer access" });
    words.push(if link.native_atomics { "native atomics" } else { "no native atomics" });
    let rank = link.performance_rank.map(|rank| format!("rank {rank}"));
    words.extend(rank.as_deref());
    words.join(", ")
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
}
