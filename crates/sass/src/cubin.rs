//! CUBIN files: ELF with one section `.text.<kernel>` per kernel.

use std::collections::BTreeMap;
use std::str;

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader as _, SectionHeader as _};

use crate::arch::Arch;
use crate::error::SassError;
use crate::instruction::{Instruction, SIZE_BYTES};

/// The value of `EI_OSABI` since CUDA 12.9 for Blackwell and since CUDA 13.0 for all architectures; before, it was
/// 0x33. With the new value the architecture is in another byte of `e_flags`.
const OSABI_NEW_FLAGS: u8 = 0x41;

pub(crate) const TEXT_PREFIX: &[u8] = b".text.";

/// The machine code in a CUBIN.
#[derive(Debug, Clone)]
pub struct Cubin {
    arch: Arch,
    kernels: Vec<Kernel>,
}

/// The instructions of one kernel, or of a device function that was not inlined into one.
#[derive(Debug, Clone)]
pub struct Kernel {
    arch: Arch,
    name: String,
    instructions: Vec<Instruction>,
}

impl Cubin {
    /// Reads and decodes a CUBIN.
    ///
    /// # Errors
    /// If the bytes are not a 64-bit little-endian ELF file for CUDA, are cut off, are for an architecture whose encoding is
    /// unknown, or contain code that is not a whole number of instructions.
    pub fn parse(bytes: &[u8]) -> Result<Self, SassError> {
        let header = FileHeader64::<LittleEndian>::parse(bytes)?;
        let endian = header.endian()?;
        let machine = header.e_machine(endian);
        if machine != elf::EM_CUDA {
            return Err(SassError::NotCuda(machine.0));
        }
        let arch = arch_of_flags(header.e_flags(endian).0, header.e_ident().os_abi.0)?;
        let code = sections_of_kernels(bytes, TEXT_PREFIX)?.into_iter();
        Ok(Self { arch, kernels: code.map(|(name, code)| Kernel::decode(name, code, arch)).collect::<Result<_, _>>()? })
    }

    /// The architecture that the code was compiled for.
    pub const fn arch(&self) -> Arch {
        self.arch
    }

    /// The names of the kernels, in the order of the file.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(Kernel::name)
    }

    /// The kernel with this (mangled) name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

impl Kernel {
    /// Decodes the code of one kernel, which begins at address 0.
    ///
    /// # Errors
    /// If the code is not a whole number of instructions.
    pub fn decode(name: &str, code: &[u8], arch: Arch) -> Result<Self, SassError> {
        let (words, rest) = code.as_chunks::<SIZE_BYTES>();
        if !rest.is_empty() {
            return Err(SassError::OddLength(name.to_owned(), code.len()));
        }
        let decode = |(index, word): (usize, &[u8; SIZE_BYTES])| {
            Instruction::decode((index * SIZE_BYTES) as u64, u128::from_le_bytes(*word), arch)
        };
        Ok(Self { arch, name: name.to_owned(), instructions: words.iter().enumerate().map(decode).collect() })
    }

    /// The architecture that the code was compiled for.
    pub const fn arch(&self) -> Arch {
        self.arch
    }

    /// The name, mangled as in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All instructions in address order, with the padding at the end.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// How many instructions have an unknown opcode.
    pub fn unknown(&self) -> usize {
        self.instructions.iter().filter(|instruction| !instruction.is_known()).count()
    }
}

/// The architecture in `e_flags`: the lowest byte up to ABI version 7, the next byte since. (Found by compiling for
/// every architecture with NVRTC 12.9 and 13.0; it is undocumented.)
fn arch_of_flags(flags: u32, os_abi: u8) -> Result<Arch, SassError> {
    let number = if os_abi == OSABI_NEW_FLAGS { flags >> 8 & 0xff } else { flags & 0xff };
    Arch::new(number).ok_or(SassError::Arch(number))
}

/// The prefix of the section with a kernel's attributes; the kernel's name follows.
pub(crate) const INFO_PREFIX: &[u8] = b".nv.info.";

/// The attribute with the size of a kernel's parameters: `EIATTR_CBANK_PARAM_SIZE` in the output of `cuobjdump`.
const PARAMETER_BYTES: u8 = 0x19;

/// The size in bytes of each kernel's parameters, by its (mangled) name. A kernel without parameters has 0.
///
/// Nothing is decoded, so the architecture does not matter.
///
/// # Errors
/// If the bytes are not an intact 64-bit little-endian ELF file, or the attributes of a kernel are cut off.
pub fn parameter_bytes(cubin: &[u8]) -> Result<BTreeMap<String, usize>, SassError> {
    let bytes_of = |(name, data): (&str, &[u8])| {
        let bytes = in_attributes(data).ok_or_else(|| SassError::Attributes(name.to_owned()))?;
        Ok((name.to_owned(), bytes))
    };
    sections_of_kernels(cubin, INFO_PREFIX)?.into_iter().map(bytes_of).collect()
}

/// The section with attributes of the whole file, and the attribute that says how many registers a kernel has: the
/// kernel's number, then the number of registers (`EIATTR_REGCOUNT` in the output of `cuobjdump`).
const INFO_OF_ALL: &[u8] = b".nv.info";
const REGISTERS: u8 = 0x2f;

/// The most registers per thread of any kernel in the file; `None` if the file does not say.
pub fn most_registers(cubin: &[u8]) -> Option<u32> {
    let sections = sections_of_kernels(cubin, INFO_OF_ALL).ok()?;
    let (_, data) = sections.into_iter().find(|(rest, _)| rest.is_empty())?;
    let counts = attributes(data).flatten().filter(|(number, _)| *number == REGISTERS);
    counts.filter_map(|(_, value)| Some(u32::from_le_bytes(value.get(4..8)?.try_into().ok()?))).max()
}

/// The kernel's name and the content of each section with this prefix.
pub(crate) fn sections_of_kernels<'a>(cubin: &'a [u8], prefix: &[u8]) -> Result<Vec<(&'a str, &'a [u8])>, SassError> {
    let header = FileHeader64::<LittleEndian>::parse(cubin)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, cubin)?;
    let mut found = Vec::new();
    for section in sections.iter() {
        let Some(name) = sections.section_name(endian, section)?.strip_prefix(prefix) else { continue };
        let name = str::from_utf8(name).map_err(|_| SassError::KernelName)?;
        found.push((name, section.data(endian, cubin)?));
    }
    Ok(found)
}

/// The size of the parameters in one kernel's attributes; `None` if the attributes are cut off.
fn in_attributes(data: &[u8]) -> Option<usize> {
    let mut bytes = 0;
    for attribute in attributes(data) {
        let (number, value) = attribute?;
        if number == PARAMETER_BYTES {
            bytes = value.iter().rev().fold(0, |bytes, byte| bytes << 8 | usize::from(*byte));
        }
    }
    Some(bytes)
}

/// Number and value of each attribute of a kernel; `None`, as the last item, if the attributes are cut off.
///
/// An attribute is a form byte, a number byte, and two more bytes. These two are its value or, in form 4, the length of
/// the value that follows.
pub(crate) fn attributes(mut data: &[u8]) -> impl Iterator<Item = Option<(u8, &[u8])>> {
    const VALUE_FOLLOWS: u8 = 4;
    std::iter::from_fn(move || {
        if data.is_empty() {
            return None;
        }
        let attribute = data.split_at_checked(4).and_then(|(head, rest)| {
            let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
            let (value, rest) =
                if head[0] == VALUE_FOLLOWS { rest.split_at_checked(length)? } else { (&head[2..], rest) };
            Some((head[1], value, rest))
        });
        data = attribute.map_or(&[][..], |(_, _, rest)| rest);
        Some(attribute.map(|(number, value, _)| (number, value)))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `EXIT`.
    const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;

    /// The smallest CUBIN: the ELF header, the code of one kernel, the names and three section headers.
    pub(crate) fn cubin(machine: u16, flags: u32, code: &[u8]) -> Vec<u8> {
        let names = b"\0.shstrtab\0.text.sample\0";
        let code_at = 64_u64;
        let names_at = code_at + code.len() as u64;
        let sections_at = (names_at + names.len() as u64).next_multiple_of(8);
        let mut file = b"\x7fELF\x02\x01\x01\x41\x08\0\0\0\0\0\0\0".to_vec();
        let mut put = |value: u64, bytes: usize| file.extend(&value.to_le_bytes()[..bytes]);
        for (value, bytes) in [(2, 2), (machine.into(), 2), (1, 4), (0, 8), (0, 8), (sections_at, 8), (flags.into(), 4)]
        {
            put(value, bytes);
        }
        // Sizes and counts: ELF header, program headers (none), section headers; the names are in section 1.
        for value in [64, 0, 0, 64, 3, 1] {
            put(value, 2);
        }
        file.extend(code);
        file.extend(names);
        file.resize(sections_at as usize, 0);
        let mut section = |name: u32, kind: u32, offset: u64, size: u64| {
            file.extend([name, kind].into_iter().flat_map(u32::to_le_bytes));
            file.extend([0, 0, offset, size, 0, 0, 0].into_iter().flat_map(u64::to_le_bytes));
        };
        section(0, 0, 0, 0);
        section(1, 3, names_at, names.len() as u64);
        section(11, 1, code_at, code.len() as u64);
        file
    }

    fn error(bytes: &[u8]) -> String {
        Cubin::parse(bytes).unwrap_err().to_string()
    }

    #[test]
    fn kernels_are_found_by_name() {
        let cubin = Cubin::parse(&cubin(190, 0x0600_5a04, &EXIT.to_le_bytes())).unwrap();
        assert_eq!(cubin.arch().to_string(), "sm_90");
        assert_eq!(cubin.kernels().collect::<Vec<_>>(), ["sample"]);
        let kernel = cubin.kernel("sample").unwrap();
        assert_eq!((kernel.instructions().len(), kernel.unknown()), (1, 0));
        assert_eq!(kernel.instructions()[0].mnemonic, "EXIT");
        assert!(cubin.kernel("other").is_none());
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        assert!(error(b"").contains("not an intact 64-bit ELF file"));
        assert!(error(&cubin(62, 0x0600_5a04, &[])).contains("machine 62"));
        assert!(error(&cubin(190, 0x0600_4604, &[])).contains("sm_70"));
        assert_eq!(
            error(&cubin(190, 0x0600_5a04, &[0; 40])),
            "the code of kernel sample is 40 bytes long, which is not a multiple of 16"
        );
    }

    #[test]
    fn a_file_cut_off_anywhere_is_refused() {
        let whole = cubin(190, 0x0600_5a04, &EXIT.to_le_bytes());
        for length in 0..whole.len() {
            assert!(Cubin::parse(&whole[..length]).is_err(), "{length} of {} bytes", whole.len());
        }
    }

    #[test]
    fn damaged_files_cause_no_panic() {
        let whole = cubin(190, 0x0600_5a04, &EXIT.to_le_bytes());
        for position in 0..whole.len() {
            for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[position] = value;
                // Both a result and an error are fine; a panic is not.
                let _ = Cubin::parse(&damaged);
            }
        }
    }

    #[test]
    fn the_architecture_is_found_in_both_layouts_of_the_flags() {
        let number = |flags, os_abi| arch_of_flags(flags, os_abi).map(Arch::number).ok();
        // NVRTC 12.9.
        assert_eq!(number(0x004b_054b, 0x33), Some(75));
        assert_eq!(number(0x0050_0550, 0x33), Some(80));
        assert_eq!(number(0x005a_0d5a, 0x33), Some(90), "sm_90a");
        assert_eq!(number(0x0600_6402, 0x41), Some(100));
        assert_eq!(number(0x0600_780a, 0x41), Some(120), "sm_120a");
        // NVRTC 13.0.
        assert_eq!(number(0x0600_4b04, 0x41), Some(75));
        assert_eq!(number(0x0600_5604, 0x41), Some(86));
        assert_eq!(number(0x0600_5a04, 0x41), Some(90));
        assert_eq!(number(0x0600_7902, 0x41), Some(121));
        // Volta and older.
        assert_eq!(number(0x0046_0546, 0x33), None);
    }

    #[test]
    fn the_attribute_is_found_among_others() {
        // A kernel that takes an 88-byte structure, compiled by NVRTC 13.0 for sm_90.
        let attributes = [
            0x04, 0x37, 0x04, 0x00, 0x82, 0x00, 0x00, 0x00, 0x03, 0x1b, 0x20, 0x00, 0x03, 0x19, 0x58, 0x00, 0x04, 0x0a,
            0x08, 0x00, 0x1a, 0x00, 0x00, 0x00, 0x10, 0x02, 0x58, 0x00,
        ];
        assert_eq!(in_attributes(&attributes), Some(88));
        assert_eq!(in_attributes(&attributes[..12]), Some(0), "a kernel without parameters has no such attribute");
        assert_eq!(in_attributes(&attributes[..20]), None, "cut off in a value");
        assert_eq!(in_attributes(&attributes[..2]), None, "cut off in an attribute");
        assert_eq!(in_attributes(&[]), Some(0));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(parameter_bytes(b"no ELF").unwrap_err().to_string().contains("not an intact"));
    }
}
