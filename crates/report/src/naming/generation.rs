//! Names the generation of a processor from its family, model and stepping.
//!
//! Hypervisors often hide the model name behind one such as `Intel Xeon Processor`, but family and model remain. Processors
//! that are not in the tables have no generation.

use syncscope_core::machine::{CpuMachine, CpuSignature};

/// A family, a generation, and the ranges of models in the family that belong to it.
type Generation = (u32, &'static str, &'static [(u32, u32)]);

/// Linux, `arch/x86/kernel/cpu/amd.c`, `bsp_init_amd` ("Figure out Zen generations"), version 6.18.
const AMD: [Generation; 6] = [
    (0x17, "Zen or Zen+", &[(0x00, 0x2f), (0x50, 0x5f)]),
    (0x17, "Zen 2", &[(0x30, 0x4f), (0x60, 0x7f), (0x90, 0x91), (0xa0, 0xaf)]),
    (0x19, "Zen 3", &[(0x00, 0x0f), (0x20, 0x5f)]),
    (0x19, "Zen 4", &[(0x10, 0x1f), (0x60, 0xaf)]),
    (0x1a, "Zen 5", &[(0x00, 0x2f), (0x40, 0x4f), (0x60, 0x7f)]),
    (0x1a, "Zen 6", &[(0x50, 0x5f), (0x80, 0xaf), (0xc0, 0xcf)]),
];

/// Linux, `arch/x86/include/asm/intel-family.h`.
const INTEL: [Generation; 19] = [
    (6, "Sandy Bridge", &[(0x2a, 0x2a), (0x2d, 0x2d)]),
    (6, "Ivy Bridge", &[(0x3a, 0x3a), (0x3e, 0x3e)]),
    (6, "Haswell", &[(0x3c, 0x3c), (0x3f, 0x3f), (0x45, 0x46)]),
    (6, "Broadwell", &[(0x3d, 0x3d), (0x47, 0x47), (0x4f, 0x4f), (0x56, 0x56)]),
    (6, "Skylake", &[(0x4e, 0x4e), (0x5e, 0x5e)]),
    (6, "Kaby Lake or Coffee Lake", &[(0x8e, 0x8e), (0x9e, 0x9e)]),
    (6, "Comet Lake", &[(0xa5, 0xa6)]),
    (6, "Ice Lake", &[(0x6a, 0x6a), (0x6c, 0x6c), (0x7d, 0x7e)]),
    (6, "Tiger Lake", &[(0x8c, 0x8d)]),
    (6, "Rocket Lake", &[(0xa7, 0xa7)]),
    (6, "Alder Lake", &[(0x97, 0x97), (0x9a, 0x9a)]),
    (6, "Raptor Lake", &[(0xb7, 0xb7), (0xba, 0xba), (0xbf, 0xbf)]),
    (6, "Meteor Lake", &[(0xaa, 0xaa), (0xac, 0xac)]),
    (6, "Arrow Lake", &[(0xb5, 0xb5), (0xc5, 0xc6)]),
    (6, "Lunar Lake", &[(0xbd, 0xbd)]),
    (6, "Sapphire Rapids", &[(0x8f, 0x8f)]),
    (6, "Emerald Rapids", &[(0xcf, 0xcf)]),
    (6, "Granite Rapids", &[(0xad, 0xae)]),
    (6, "Sierra Forest", &[(0xaf, 0xaf)]),
];

/// Three generations of Intel's server processors share a model: Linux, `intel-family.h`, comments on `INTEL_SKYLAKE_X`;
/// Intel, *Affected Processors: Guidance for Security Issues*, 06_55H.
const fn skylake_server(stepping: u32) -> Option<&'static str> {
    match stepping {
        3 | 4 => Some("Skylake"),
        5..=7 => Some("Cascade Lake"),
        10 | 11 => Some("Cooper Lake"),
        _ => None,
    }
}

const SKYLAKE_SERVER: (u32, u32) = (6, 0x55);

/// `Zen 3`, `Sapphire Rapids`; `None` where it cannot be derived.
pub(crate) fn generation(cpu: &CpuMachine) -> Option<&'static str> {
    let CpuSignature { vendor, family, model, stepping } = cpu.signature.as_ref()?;
    let table: &[Generation] = match vendor.as_str() {
        "AuthenticAMD" => &AMD,
        "GenuineIntel" if (*family, *model) == SKYLAKE_SERVER => return skylake_server(*stepping),
        "GenuineIntel" => &INTEL,
        _ => return None,
    };
    let is_of = |(of, _, models): &&Generation| {
        of == family && models.iter().any(|(first, last)| (first..=last).contains(&model))
    };
    table.iter().find(is_of).map(|(_, words, _)| *words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_signature(vendor: &str, family: u32, model: u32, stepping: u32) -> Option<&'static str> {
        let signature = Some(CpuSignature { vendor: vendor.to_owned(), family, model, stepping });
        generation(&CpuMachine { signature, ..CpuMachine::default() })
    }

    #[test]
    fn known_processors_have_their_generation() {
        assert_eq!(of_signature("AuthenticAMD", 0x19, 0x01, 1), Some("Zen 3"), "EPYC 7003");
        assert_eq!(of_signature("AuthenticAMD", 0x19, 0x11, 1), Some("Zen 4"), "EPYC 9004");
        assert_eq!(of_signature("AuthenticAMD", 0x1a, 0x02, 1), Some("Zen 5"), "EPYC 9005");
        assert_eq!(of_signature("GenuineIntel", 6, 0x8f, 8), Some("Sapphire Rapids"));
        let servers = [4, 7, 11].map(|stepping| of_signature("GenuineIntel", 6, 0x55, stepping));
        assert_eq!(servers, [Some("Skylake"), Some("Cascade Lake"), Some("Cooper Lake")]);
    }

    #[test]
    fn unknown_processors_have_none() {
        assert_eq!(generation(&CpuMachine { model: "AMD EPYC".into(), ..CpuMachine::default() }), None, "no signature");
        assert_eq!(of_signature("HygonGenuine", 0x19, 0x01, 1), None);
        assert_eq!(of_signature("AuthenticAMD", 0x19, 0xf0, 1), None);
        assert_eq!(of_signature("GenuineIntel", 15, 0x8f, 1), None, "another family");
    }

    #[test]
    fn no_model_is_of_two_generations() {
        for table in [&AMD[..], &INTEL[..]] {
            for (family, model) in
                [6, 0x17, 0x19, 0x1a].into_iter().flat_map(|family| (0..256).map(move |model| (family, model)))
            {
                let is_of = |(of, _, models): &&Generation| {
                    *of == family && models.iter().any(|(first, last)| (*first..=*last).contains(&model))
                };
                assert!(table.iter().filter(is_of).count() <= 1, "{family:x} {model:x}");
            }
        }
    }
}
