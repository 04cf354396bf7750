//! The names of machines, runs, families and sizes in reports.

pub(crate) mod generation;

use syncscope_core::machine::{CpuMachine, GpuMachine, Machine};
use syncscope_core::run::IMPORTED;
pub(crate) use syncscope_core::units::plural;
use syncscope_core::{Case, Domain, Form, Group, Layout, Placement, Run, Scope};

use syncscope_core::sets::sets;

use self::generation::generation;

/// The model of a processor without words that do not identify it: `AMD EPYC 9274F` for `AMD EPYC 9274F 24-Core Processor`,
/// `Intel Xeon Gold 6242` for `Intel(R) Xeon(R) Gold 6242 CPU @ 2.80GHz`.
pub(crate) fn cpu(model: &str) -> String {
    let model = model.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    let model = model.split(" @ ").next().unwrap_or_default();
    let is_filler = |word: &str| matches!(word, "CPU" | "Processor") || word.ends_with("-Core");
    let words: Vec<&str> = model.split_whitespace().filter(|word| !is_filler(word)).collect();
    if words.is_empty() { "unnamed CPU".to_owned() } else { words.join(" ") }
}

/// The processor with its generation, if known: `Intel Xeon (Sapphire Rapids)`.
pub fn processor(machine: &CpuMachine) -> String {
    let name = cpu(&machine.model);
    match generation(machine) {
        Some(generation) if !name.contains(generation) => format!("{name} ({generation})"),
        _ => name,
    }
}

/// The preset of a run and when it started: `quick preset, 2026-11-21T07:00:00Z`. The date of measurement of imported
/// figures is unknown.
pub(crate) fn origin(run: &Run) -> String {
    match run.preset.as_str() {
        IMPORTED => format!("figures from another tool, imported {}", run.started),
        preset => format!("{preset} preset, {}", run.started),
    }
}

/// The devices, with equal ones counted: `4 × NVIDIA H200`.
pub fn gpus(devices: &[GpuMachine]) -> Vec<String> {
    let counted = |(name, devices): (&str, Vec<&GpuMachine>)| match devices.len() {
        1 => name.to_owned(),
        count => format!("{count} × {name}"),
    };
    sets(devices.iter().map(|gpu| (gpu.name.as_str(), gpu))).into_iter().map(counted).collect()
}

/// The processor with the number of its hardware threads: `Intel Xeon, 16 CPUs`.
pub fn cpus(cpus: &CpuMachine) -> String {
    let threads = match cpus.hardware_threads {
        0 => String::new(),
        count => format!(", {}", plural(count, "CPU")),
    };
    format!("{}{threads}", processor(cpus))
}

/// The hardware that executes a case, as far as `run.json` says: a launch needs the processor, too.
pub(crate) fn hardware(machine: &Machine, case: &Case) -> String {
    match case.domain_and_family() {
        ("cpu", _) => cpus(&machine.cpu),
        // A system-scope operation costs more where there are further GPUs.
        ("gpu", _) if case.scope == Some(Scope::System) => gpus(&machine.gpus).join(", "),
        ("gpu", family) if family != "launch" => machine.gpus.first().map_or_else(String::new, |gpu| gpu.name.clone()),
        _ => [vec![cpus(&machine.cpu)], gpus(&machine.gpus)].concat().join(", "),
    }
}

/// The machine in one line: `AMD EPYC 9274F + NVIDIA H200`.
pub(crate) fn machine(machine: &Machine) -> String {
    [vec![processor(&machine.cpu)], gpus(&machine.gpus)].concat().join(" + ")
}

/// The families in the order of the reports, each with its heading.
const FAMILIES: [(&str, &str); 23] = [
    ("atomic", "Atomics"),
    ("barrier", "Barriers"),
    ("lock", "Locks"),
    ("fence", "Fences"),
    ("handoff", "Handoff"),
    ("wake", "Wake-ups"),
    ("wait", "Waiting"),
    ("process", "Between processes"),
    ("block", "Block barriers"),
    ("warp", "Warp barriers"),
    ("shuffle", "Shuffles"),
    ("vote", "Votes"),
    ("match", "Matches"),
    ("reduce", "Warp reductions"),
    ("cluster", "Clusters"),
    ("grid", "Grid barriers"),
    ("multi", "Multi-device barriers"),
    ("launch", "Kernel launches"),
    ("flag", "Flags"),
    ("reduction", "Reductions"),
    ("openmp", "OpenMP by wait policy"),
    ("core", "Speed of cores"),
    ("own", "Own operations"),
];

/// The sides of a machine, by their domains.
pub(crate) const SIDES: [(&str, &str); 4] =
    [("cpu", "CPU"), ("gpu", "GPU"), ("hybrid", "CPU and GPU"), ("mpi", "Processes")];

/// The side of a domain.
pub(crate) fn side(domain: &str) -> &str {
    SIDES.iter().find(|(known, _)| *known == domain).map_or(domain, |(_, side)| side)
}

/// The heading of a family.
pub(crate) fn family(family: &str) -> String {
    FAMILIES.iter().find(|(name, _)| *name == family).map_or(family, |(_, title)| title).to_owned()
}

/// The position of a family in a report: CPU first, then GPU, then both. Unknown domains and families come last.
pub(crate) fn family_order(domain: &str, family: &str) -> (usize, usize) {
    let domain = Domain::ALL.iter().position(|known| known.as_str() == domain).unwrap_or(Domain::ALL.len());
    (domain, FAMILIES.iter().position(|(name, _)| *name == family).unwrap_or(FAMILIES.len()))
}

/// A form in a few words: `value changes each time`. The default form has none.
pub(crate) const fn form(form: Form) -> &'static str {
    match form {
        Form::Varying => "value changes each time",
        Form::NotAggregated => "not aggregated by the compiler",
        Form::Constant => "constant operand 1",
        Form::Volatile => "among volatile accesses",
        Form::Opaque => "argument in a register",
        Form::Parity => "waiting by parity",
        Form::Fenced => "after another fence",
        Form::Alone => "set up each time",
        Form::Library => "by the library",
        Form::OneThreadProcess => "in a one-thread process",
        Form::Published => "loops of the paper",
    }
}

/// The groups of kernels of a fixed length in microseconds: without memory accesses, and sweeping arrays in the second-level
/// cache.
pub(crate) const KERNEL_US: &str = "# us";
pub(crate) const SWEEP_US: &str = "# us sweep";

/// The group of kernels that do nothing.
pub(crate) const EMPTY_KERNEL: &str = "empty";

/// A group as people write it: `5 µs`, `after 5 µs`. The files have no letter mu.
pub(crate) fn group(group: &Group) -> String {
    let text = group.to_string();
    if group.word().contains("# us") { text.replacen(" us", " µs", 1) } else { text }
}

/// The placement as a word; a list of CPUs is marked as one.
pub(crate) fn placement(placement: &Placement) -> String {
    match placement {
        Placement::List(cpus) => format!("{} {placement}", if cpus.len() == 1 { "CPU" } else { "CPUs" }),
        named => named.to_string(),
    }
}

/// `shared`, `private/8`.
pub(crate) fn layout(layout: Layout) -> String {
    match layout {
        Layout::Shared => "shared".to_owned(),
        Layout::Private { stride } => format!("private/{stride}"),
    }
}

/// Threads, blocks and devices in short: `16 threads`, `132×1024`, `2 devices`.
pub fn size(case: &Case) -> String {
    let on_device = match (case.blocks, case.threads) {
        (Some(blocks), Some(threads)) if blocks > 1 => Some(format!("{blocks}×{threads}")),
        (_, Some(threads)) => Some(plural(threads, "thread")),
        (Some(blocks), None) => Some(plural(blocks, "block")),
        (None, None) => None,
    };
    let devices = case.devices.filter(|devices| *devices > 1 || on_device.is_none());
    let devices = devices.map(|devices| plural(devices, "device"));
    [devices, on_device].into_iter().flatten().collect::<Vec<_>>().join(" × ")
}

/// The sizes of two cases next to each other. Next to a grid, one block is written as a grid, too.
pub(crate) fn sizes(cases: [&Case; 2]) -> [String; 2] {
    let is_grid = cases.map(|case| case.blocks.is_some_and(|blocks| blocks > 1));
    let is_of_one_device =
        |case: &Case| case.blocks.and(case.threads).is_some() && case.devices.is_none_or(|devices| devices == 1);
    let as_grids = is_grid[0] != is_grid[1] && cases.into_iter().all(is_of_one_device);
    cases.map(|case| if as_grids { grid_size(case) } else { size(case) })
}

/// Blocks and threads of a kernel, even if it has one block: `132×32`, `1×32`.
pub(crate) fn grid_size(case: &Case) -> String {
    format!("{}×{}", case.blocks.unwrap_or(1), case.threads.unwrap_or(1))
}

/// The text with a capital first letter.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// `a, b and c`.
pub fn enumeration(words: &[String]) -> String {
    joined(words, "and")
}

/// `a, b or c`.
pub(crate) fn either(words: &[String]) -> String {
    joined(words, "or")
}

fn joined(words: &[String], last_word: &str) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} {last_word} {last}", first.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use syncscope_core::machine::CpuSignature;

    #[test]
    fn beside_a_grid_one_block_is_a_grid() {
        let on = |blocks, threads| Case {
            blocks: Some(blocks),
            threads: Some(threads),
            ..Case::new("gpu.block.syncthreads")
        };
        assert_eq!(sizes([&on(132, 1024), &on(1, 1024)]), ["132×1024", "1×1024"]);
        assert_eq!(sizes([&on(1, 32), &on(1, 1024)]), ["32 threads", "1024 threads"]);
        let two = Case { devices: Some(2), ..on(132, 32) };
        assert_eq!(sizes([&two, &on(1, 32)]), ["2 devices × 132×32", "32 threads"]);
    }

    #[test]
    fn filler_words_are_removed() {
        assert_eq!(cpu("AMD EPYC 9274F 24-Core Processor"), "AMD EPYC 9274F");
        assert_eq!(cpu("Intel(R) Xeon(R) Gold 6242 CPU @ 2.80GHz"), "Intel Xeon Gold 6242");
        assert_eq!(cpu(""), "unnamed CPU");
    }

    #[test]
    fn what_the_whole_system_sees_is_executed_by_all_devices() {
        let gpu = GpuMachine { name: "NVIDIA H200".into(), ..GpuMachine::default() };
        let two = Machine { gpus: vec![gpu.clone(), gpu], ..Machine::default() };
        let fence = Case::new("gpu.fence.system");
        assert_eq!(hardware(&two, &fence), "NVIDIA H200");
        assert_eq!(hardware(&two, &Case { scope: Some(Scope::System), ..fence }), "2 × NVIDIA H200");
    }

    #[test]
    fn a_known_generation_stands_behind_the_name() {
        let signature = CpuSignature { vendor: "GenuineIntel".into(), family: 6, model: 0x8f, stepping: 8 };
        let hidden = CpuMachine { model: "Intel(R) Xeon(R) Processor".into(), ..CpuMachine::default() };
        assert_eq!(processor(&hidden), "Intel Xeon");
        let known = CpuMachine { signature: Some(signature), ..hidden };
        assert_eq!(processor(&known), "Intel Xeon (Sapphire Rapids)");
        let named = CpuMachine { model: "Intel Xeon Processor (Sapphire Rapids)".into(), ..known };
        assert_eq!(processor(&named), "Intel Xeon (Sapphire Rapids)", "it is not said twice");
    }

    #[test]
    fn every_form_has_its_words() {
        let forms: BTreeSet<&str> = Form::ALL.iter().map(|one| form(*one)).collect();
        assert_eq!(forms.len(), Form::ALL.len());
    }

    #[test]
    fn sizes_are_short() {
        let case = |devices, blocks, threads| Case { devices, blocks, threads, ..Case::new("gpu.block.syncthreads") };
        assert_eq!(size(&case(None, None, Some(1))), "1 thread");
        assert_eq!(size(&case(Some(1), Some(1), Some(32))), "32 threads");
        assert_eq!(size(&case(None, Some(132), Some(1024))), "132×1024");
        assert_eq!(size(&case(Some(2), Some(132), Some(64))), "2 devices × 132×64");
        assert_eq!(size(&case(Some(1), None, None)), "1 device");
        assert_eq!(size(&case(None, None, None)), "");
    }
}
