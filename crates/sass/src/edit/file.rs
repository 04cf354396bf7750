//! A CUBIN whose instructions can be replaced.

use std::collections::BTreeMap;
use std::ops::Range;
use std::str;

use object::LittleEndian;
use object::elf::{FileHeader64, SHT_REL, SHT_RELA};
use object::read::elf::{FileHeader as _, SectionHeader as _};

use crate::cubin::{Cubin, INFO_PREFIX, TEXT_PREFIX, attributes, sections_of_kernels};
use crate::edit::KernelEdit;
use crate::error::SassError;
use crate::instruction::SIZE_BYTES;

/// Attributes whose value is a list of instruction offsets, named in the output of `cuobjdump`: exits, block numbers,
/// cooperative groups, warp-wide instructions, indirect branches, memory barriers.
const OFFSETS: [u8; 7] = [0x1c, 0x1d, 0x28, 0x31, 0x34, 0x39, 0x46];

/// The bytes of a CUBIN, and where its code is in them. A CUBIN has no checksum, and an edit never changes a size.
#[derive(Debug, Clone)]
pub struct CubinFile {
    bytes: Vec<u8>,
    cubin: Cubin,
    code: BTreeMap<String, Range<usize>>,
    /// Offsets in each kernel to which something outside the code refers.
    referred: BTreeMap<String, Vec<u64>>,
}

impl CubinFile {
    /// Reads a CUBIN.
    ///
    /// # Errors
    /// As for [`Cubin::parse`].
    pub fn parse(bytes: &[u8]) -> Result<Self, SassError> {
        let cubin = Cubin::parse(bytes)?;
        let header = FileHeader64::<LittleEndian>::parse(bytes)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, bytes)?;
        let mut code = BTreeMap::new();
        let mut referred: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for section in sections.iter() {
            let name = sections.section_name(endian, section)?;
            if let Some(kernel) = name.strip_prefix(TEXT_PREFIX) {
                // A section without bytes in the file (`SHT_NOBITS`) has no code to replace, whatever its offset says.
                if let Some(place) = section.file_range(endian).and_then(range) {
                    code.insert(text(kernel)?, place);
                }
            } else if [SHT_REL, SHT_RELA].contains(&section.sh_type(endian)) {
                let target = sections.section(section.info_link(endian))?;
                let Some(kernel) = sections.section_name(endian, target)?.strip_prefix(TEXT_PREFIX) else { continue };
                let data = section.data(endian, bytes)?;
                // Each entry begins with the offset.
                let size = usize::try_from(section.sh_entsize(endian)).unwrap_or(0).max(8);
                let entries = data.chunks_exact(size).filter_map(|entry| entry.first_chunk::<8>());
                referred.entry(text(kernel)?).or_default().extend(entries.map(|entry| u64::from_le_bytes(*entry)));
            }
        }
        for (kernel, attributes) in sections_of_kernels(bytes, INFO_PREFIX)? {
            let offsets = offsets(attributes).ok_or_else(|| SassError::Attributes(kernel.to_owned()))?;
            referred.entry(kernel.to_owned()).or_default().extend(offsets);
        }
        Ok(Self { bytes: bytes.to_vec(), cubin, code, referred })
    }

    /// The decoded code in its current state.
    pub const fn cubin(&self) -> &Cubin {
        &self.cubin
    }

    /// The file's bytes in their current state.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Opens the kernel with this (mangled) name for editing.
    ///
    /// # Errors
    /// If there is no such kernel.
    pub fn edit(&self, kernel: &str) -> Result<KernelEdit, SassError> {
        let no_kernel = || SassError::NoKernel(kernel.to_owned());
        let found = self.cubin.kernel(kernel).ok_or_else(no_kernel)?;
        let mut referred = self.referred.get(kernel).cloned().unwrap_or_default();
        for offset in &mut referred {
            *offset -= *offset % SIZE_BYTES as u64;
        }
        Ok(KernelEdit::new(found.clone(), referred))
    }

    /// A copy of this file with the instructions of an edited kernel.
    ///
    /// # Errors
    /// If the kernel does not come from this file.
    pub fn with(&self, edit: &KernelEdit) -> Result<Self, SassError> {
        let no_kernel = || SassError::NoKernel(edit.name().to_owned());
        let place = self.code.get(edit.name()).ok_or_else(no_kernel)?;
        let code: Vec<u8> = edit.words().flat_map(u128::to_le_bytes).collect();
        let mut bytes = self.bytes.clone();
        let old = bytes.get_mut(place.clone()).filter(|old| old.len() == code.len()).ok_or_else(no_kernel)?;
        old.copy_from_slice(&code);
        Self::parse(&bytes)
    }
}

/// The range from offset and size; `None` if it cannot lie in a file.
fn range((start, size): (u64, u64)) -> Option<Range<usize>> {
    let end = usize::try_from(start.checked_add(size)?).ok()?;
    Some(usize::try_from(start).ok()?..end)
}

fn text(name: &[u8]) -> Result<String, SassError> {
    str::from_utf8(name).map(str::to_owned).map_err(|_| SassError::KernelName)
}

/// The instruction offsets in a kernel's attributes; `None` if the attributes are cut off.
fn offsets(data: &[u8]) -> Option<Vec<u64>> {
    let mut found = Vec::new();
    for attribute in attributes(data) {
        let (number, value) = attribute?;
        if OFFSETS.contains(&number) {
            let words = value.as_chunks::<4>().0;
            found.extend(words.iter().map(|word| u64::from(u32::from_le_bytes(*word))));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use object::elf::SHT_NOBITS;

    use super::*;
    use crate::cubin::tests::cubin;
    use crate::testing::{CLOCK, EXIT, NOP};

    fn file() -> Vec<u8> {
        let code: Vec<u8> = [CLOCK, NOP, EXIT].iter().flat_map(|word| word.to_le_bytes()).collect();
        cubin(190, 0x0600_5a04, &code)
    }

    #[test]
    fn an_edited_kernel_is_written_into_its_place() {
        let file = file();
        let cubin = CubinFile::parse(&file).unwrap();
        let mut edit = cubin.edit("sample").unwrap();
        assert_eq!(cubin.with(&edit).unwrap().bytes(), file, "nothing edited, nothing changed");
        edit.set_stall(0, 9).unwrap();
        let written = cubin.with(&edit).unwrap();
        let differing: Vec<usize> = (0..file.len()).filter(|&at| file[at] != written.bytes()[at]).collect();
        // The stall count is bits 105 to 108, in byte 13 of the instruction; the code begins behind the header.
        assert_eq!((written.bytes().len(), differing), (file.len(), vec![64 + 13]));
        assert_eq!(written.cubin().kernel("sample").unwrap().instructions()[0].control.stall, 9);
    }

    #[test]
    fn other_kernels_are_refused() {
        let cubin = CubinFile::parse(&file()).unwrap();
        assert!(cubin.edit("other").unwrap_err().to_string().contains("no kernel other"));
        assert!(CubinFile::parse(b"no ELF").is_err());
    }

    /// A section without bytes may end outside the file, and its end may overflow.
    #[test]
    fn a_kernel_without_bytes_in_the_file_cannot_be_written() {
        let mut file = file();
        let header = FileHeader64::<LittleEndian>::parse(&*file).unwrap();
        let sections = header.sections(LittleEndian, &*file).unwrap();
        let (code, _) = sections.section_by_name(LittleEndian, b".text.sample").unwrap();
        let at = header.e_shoff.get(LittleEndian) as usize + 64 * code.0;
        // `sh_type` is the second word of a section's header, `sh_offset` its fourth double word.
        file[at + 4..at + 8].copy_from_slice(&SHT_NOBITS.0.to_le_bytes());
        file[at + 24..at + 32].copy_from_slice(&u64::MAX.to_le_bytes());
        let cubin = CubinFile::parse(&file).unwrap();
        let edit = cubin.edit("sample").unwrap();
        assert!(cubin.with(&edit).unwrap_err().to_string().contains("no kernel sample"));
    }

    #[test]
    fn offsets_in_attributes_are_found() {
        // Exits at 0x20 and 0x50, and an attribute with something else.
        let attributes = [4, 0x1c, 8, 0, 0x20, 0, 0, 0, 0x50, 0, 0, 0, 3, 0x1b, 0x20, 0];
        assert_eq!(offsets(&attributes), Some(vec![0x20, 0x50]));
        assert_eq!(offsets(&attributes[..7]), None, "cut off");
    }
}
