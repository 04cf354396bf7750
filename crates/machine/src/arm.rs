//! ARM processors by their identification register, MIDR_EL1, which may differ between the CPUs of one machine.

use std::collections::{BTreeMap, HashMap};

/// Designs by implementer and part (Linux, `arch/arm64/include/asm/cputype.h`; Arm's reference manuals, MIDR_EL1).
const DESIGNS: [((u32, u32), &str); 59] = [
    ((0x41, 0xd01), "ARM Cortex-A32"),
    ((0x41, 0xd02), "ARM Cortex-A34"),
    ((0x41, 0xd03), "ARM Cortex-A53"),
    ((0x41, 0xd04), "ARM Cortex-A35"),
    ((0x41, 0xd05), "ARM Cortex-A55"),
    ((0x41, 0xd06), "ARM Cortex-A65"),
    ((0x41, 0xd07), "ARM Cortex-A57"),
    ((0x41, 0xd08), "ARM Cortex-A72"),
    ((0x41, 0xd09), "ARM Cortex-A73"),
    ((0x41, 0xd0a), "ARM Cortex-A75"),
    ((0x41, 0xd0b), "ARM Cortex-A76"),
    ((0x41, 0xd0c), "ARM Neoverse N1"),
    ((0x41, 0xd0d), "ARM Cortex-A77"),
    ((0x41, 0xd0e), "ARM Cortex-A76AE"),
    ((0x41, 0xd40), "ARM Neoverse V1"),
    ((0x41, 0xd41), "ARM Cortex-A78"),
    ((0x41, 0xd42), "ARM Cortex-A78AE"),
    ((0x41, 0xd43), "ARM Cortex-A65AE"),
    ((0x41, 0xd44), "ARM Cortex-X1"),
    ((0x41, 0xd46), "ARM Cortex-A510"),
    ((0x41, 0xd47), "ARM Cortex-A710"),
    ((0x41, 0xd48), "ARM Cortex-X2"),
    ((0x41, 0xd49), "ARM Neoverse N2"),
    ((0x41, 0xd4a), "ARM Neoverse E1"),
    ((0x41, 0xd4b), "ARM Cortex-A78C"),
    ((0x41, 0xd4c), "ARM Cortex-X1C"),
    ((0x41, 0xd4d), "ARM Cortex-A715"),
    ((0x41, 0xd4e), "ARM Cortex-X3"),
    ((0x41, 0xd4f), "ARM Neoverse V2"),
    ((0x41, 0xd80), "ARM Cortex-A520"),
    ((0x41, 0xd81), "ARM Cortex-A720"),
    ((0x41, 0xd82), "ARM Cortex-X4"),
    ((0x41, 0xd83), "ARM Neoverse V3AE"),
    ((0x41, 0xd84), "ARM Neoverse V3"),
    ((0x41, 0xd85), "ARM Cortex-X925"),
    ((0x41, 0xd87), "ARM Cortex-A725"),
    ((0x41, 0xd88), "ARM Cortex-A520AE"),
    ((0x41, 0xd89), "ARM Cortex-A720AE"),
    ((0x41, 0xd8a), "ARM C1-Nano"),
    ((0x41, 0xd8b), "ARM C1-Pro"),
    ((0x41, 0xd8c), "ARM C1-Ultra"),
    ((0x41, 0xd8e), "ARM Neoverse N3"),
    ((0x43, 0x0a1), "Cavium ThunderX"),
    ((0x43, 0x0af), "Cavium ThunderX2"),
    ((0x46, 0x001), "Fujitsu A64FX"),
    ((0x48, 0xd01), "HiSilicon TSV110 (Kunpeng 920)"),
    ((0x4e, 0x003), "NVIDIA Denver 2"),
    ((0x4e, 0x004), "NVIDIA Carmel"),
    ((0x61, 0x022), "Apple Icestorm (M1)"),
    ((0x61, 0x023), "Apple Firestorm (M1)"),
    ((0x61, 0x024), "Apple Icestorm (M1 Pro)"),
    ((0x61, 0x025), "Apple Firestorm (M1 Pro)"),
    ((0x61, 0x028), "Apple Icestorm (M1 Max)"),
    ((0x61, 0x029), "Apple Firestorm (M1 Max)"),
    ((0x61, 0x032), "Apple Blizzard (M2)"),
    ((0x61, 0x033), "Apple Avalanche (M2)"),
    ((0x6d, 0xd49), "Microsoft Cobalt 100 (Neoverse N2)"),
    ((0xc0, 0xac3), "Ampere-1"),
    ((0xc0, 0xac4), "Ampere-1A"),
];

/// Implementer and part: CPUs of one design have the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Design {
    implementer: u32,
    part: u32,
}

impl Design {
    /// Reads the register: the implementer is in bits 31 to 24, the part in bits 15 to 4.
    fn of_register(text: &str) -> Option<Self> {
        let bits = u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()?;
        Some(Self { implementer: (bits >> 24 & 0xff) as u32, part: (bits >> 4 & 0xfff) as u32 })
    }

    fn known(self) -> Option<&'static str> {
        DESIGNS.iter().find(|(numbers, _)| *numbers == (self.implementer, self.part)).map(|(_, name)| *name)
    }

    /// The short name, such as `Neoverse V2`; the numbers if the design is unknown.
    pub(super) fn short_name(self) -> String {
        let known = self.known().map(|name| name.strip_prefix("ARM ").unwrap_or(name).to_owned());
        known.unwrap_or_else(|| self.to_string())
    }
}

impl std::fmt::Display for Design {
    /// Writes the full name, such as `ARM Neoverse V2`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.known() {
            Some(name) => f.write_str(name),
            None => write!(f, "implementer {:#04x} part {:#05x}", self.implementer, self.part),
        }
    }
}

/// The design of each CPU, by `/proc/cpuinfo` and by the texts of the registers; empty except on ARM.
pub(super) fn designs(cpuinfo: &str, registers: impl Iterator<Item = (u32, String)>) -> BTreeMap<u32, Design> {
    let mut found = BTreeMap::new();
    // A file without numbers describes one CPU.
    let (mut cpu, mut implementer) = (Some(0), None);
    for (key, value) in cpuinfo.lines().filter_map(|line| line.split_once(':')) {
        let number = || u32::from_str_radix(value.trim().trim_start_matches("0x"), 16).ok();
        match key.trim() {
            "processor" => cpu = value.trim().parse::<u32>().ok(),
            "CPU implementer" => implementer = number(),
            "CPU part" => {
                let design = implementer.zip(number()).map(|(implementer, part)| Design { implementer, part });
                found.extend(cpu.zip(design));
            }
            _ => {}
        }
    }
    found.extend(registers.filter_map(|(cpu, text)| Some((cpu, Design::of_register(&text)?))));
    found
}

/// The processor's name: `ARM Neoverse V2`; with several designs `10 Cortex-X925 + 10 Cortex-A725`, the fastest first.
pub(super) fn processor(designs: &BTreeMap<u32, Design>, speeds: &HashMap<u32, u32>) -> Option<String> {
    let mut of_design: BTreeMap<Design, Vec<u32>> = BTreeMap::new();
    for (cpu, design) in designs {
        of_design.entry(*design).or_default().push(*cpu);
    }
    if of_design.len() < 2 {
        return of_design.keys().next().map(ToString::to_string);
    }
    let mut several: Vec<(Design, Vec<u32>)> = of_design.into_iter().collect();
    several.sort_by_key(|(_, cpus)| std::cmp::Reverse(cpus.iter().filter_map(|cpu| speeds.get(cpu)).max()));
    let words = several.iter().map(|(design, cpus)| format!("{} {}", cpus.len(), design.short_name()));
    Some(words.collect::<Vec<_>>().join(" + "))
}

/// Extensions for atomic accesses: the kernel's name, then the common name with the instructions.
const ATOMICS: [(&str, &str); 6] = [
    ("atomics", "LSE (cas, swp, ldadd)"),
    ("uscat", "LSE2"),
    ("lrcpc", "RCpc (ldapr)"),
    ("ilrcpc", "RCpc2 (ldapur, stlur)"),
    ("lrcpc3", "RCpc3 (ldiapp, stilp)"),
    ("lse128", "LSE128 (ldclrp, ldsetp, swpp)"),
];

/// The forms of ordered and atomic accesses that the processors have; `None` where `/proc/cpuinfo` names none.
pub(super) fn atomic_forms(cpuinfo: &str) -> Option<String> {
    let (_, features) =
        cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == "Features")?;
    let has = |name: &&str| features.split_whitespace().any(|feature| feature == *name);
    let forms: Vec<&str> = ATOMICS.iter().filter(|(name, _)| has(name)).map(|(_, form)| *form).collect();
    (!forms.is_empty()).then(|| forms.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_atomics_are_those_that_the_kernel_names() {
        let features = |words: &str| atomic_forms(&format!("processor : 0\nFeatures : fp asimd {words}\n"));
        assert_eq!(features("atomics lrcpc").unwrap(), "LSE (cas, swp, ldadd), RCpc (ldapr)");
        assert_eq!(features("lse128 lrcpc3").unwrap(), "RCpc3 (ldiapp, stilp), LSE128 (ldclrp, ldsetp, swpp)");
        assert_eq!((features("sve"), atomic_forms("flags : lrcpc")), (None, None));
    }

    #[test]
    fn every_design_stands_once() {
        let mut numbers: Vec<_> = DESIGNS.iter().map(|(numbers, _)| numbers).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), DESIGNS.len());
    }

    #[test]
    fn the_name_has_every_design() {
        let cpu = |cpu: u32, part: &str| format!("processor : {cpu}\nCPU implementer : 0x41\nCPU part : {part}\n\n");
        let named = |parts: &[&str], speeds: &[u32]| {
            let cpuinfo: String = parts.iter().zip(0..).map(|(part, index)| cpu(index, part)).collect();
            processor(&designs(&cpuinfo, std::iter::empty()), &(0..).zip(speeds.iter().copied()).collect())
        };
        assert_eq!(named(&["0xd4f"; 3], &[]).unwrap(), "ARM Neoverse V2");
        assert_eq!(named(&["0xfff"], &[]).unwrap(), "implementer 0x41 part 0xfff");
        assert_eq!(named(&[], &[]), None);
        let mixed = named(&["0xd87", "0xd87", "0xd85"], &[718, 731, 1024]);
        assert_eq!(mixed.unwrap(), "1 Cortex-X925 + 2 Cortex-A725");
        assert_eq!(named(&["0xd87", "0xfff"], &[]).unwrap(), "1 Cortex-A725 + 1 implementer 0x41 part 0xfff");
    }

    #[test]
    fn the_register_says_the_same() {
        let registers = [(0, "0x00000000410fd871"), (1, "0x00000000410fd851"), (2, "?")];
        let found = designs("", registers.map(|(cpu, text)| (cpu, text.to_owned())).into_iter());
        let names: Vec<String> = found.into_values().map(Design::short_name).collect();
        assert_eq!(names, ["Cortex-A725", "Cortex-X925"]);
    }
}
