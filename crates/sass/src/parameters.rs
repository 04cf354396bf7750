//! How many bytes of parameters each kernel of a CUBIN takes.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, SectionHeader as _};
use std::collections::BTreeMap;
use std::str;

use crate::error::SassError;

/// The attributes of a kernel are in a section with this prefix and the name of the kernel.
const INFO_PREFIX: &[u8] = b".nv.info.";

/// The attribute whose value is the number of bytes: `EIATTR_CBANK_PARAM_SIZE` in the output of `cuobjdump`.
const PARAMETER_BYTES: u8 = 0x19;

/// The bytes of parameters of each kernel, by its (mangled) name. A kernel without parameters has 0.
///
/// Nothing is decoded, so the architecture does not matter.
///
/// # Errors
/// If the bytes are not an intact 64-bit little-endian ELF file, or the attributes of a kernel are cut off.
pub fn parameter_bytes(cubin: &[u8]) -> Result<BTreeMap<String, usize>, SassError> {
    let header = FileHeader64::<LittleEndian>::parse(cubin)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, cubin)?;
    let mut found = BTreeMap::new();
    for section in sections.iter() {
        let Some(name) = sections.section_name(endian, section)?.strip_prefix(INFO_PREFIX) else { continue };
        let name = str::from_utf8(name).map_err(|_| SassError::KernelName)?.to_owned();
        let bytes = in_attributes(section.data(endian, cubin)?);
        let bytes = bytes.ok_or_else(|| SassError::Attributes { kernel: name.clone() })?;
        found.insert(name, bytes);
    }
    Ok(found)
}

/// The number of bytes in the attributes of one kernel; `None` if they are cut off.
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

/// Number and value of each attribute of a kernel; `None`, as the last one, if they are cut off.
///
/// An attribute has a byte for its form, a byte for its number, and two bytes. These are its value, or, in form 4, the
/// length of the value that follows.
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
mod tests {
    use super::*;

    #[test]
    fn the_attribute_is_found_among_others() {
        // Of a kernel compiled by NVRTC 13.0 for sm_90 that takes a structure of 88 bytes.
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
