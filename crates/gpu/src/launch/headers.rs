//! The kernels and the headers they include: the files of `kernels/`, and a header that asserts the layout of shared
//! structures.
//!
//! All of them are part of the program: a binary needs no other file.

use std::fmt::Write as _;
use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

use super::arguments::{LAYOUTS, Layout};

/// Name and text of each file of `kernels/`, as `build.rs` packs them.
static FILES: LazyLock<String> = LazyLock::new(|| {
    let mut files = String::new();
    // Cannot fail, because the build packed the files.
    let _ = GzDecoder::new(include_bytes!(concat!(env!("OUT_DIR"), "/kernels")).as_slice()).read_to_string(&mut files);
    files
});

static LAYOUTS_TEXT: LazyLock<String> = LazyLock::new(|| layouts_text(LAYOUTS));

static HEADERS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let headers = files().filter(|(name, _)| name.strip_suffix(".cuh").is_some());
    headers.chain([("layouts.cuh", LAYOUTS_TEXT.as_str())]).collect()
});

fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut parts = FILES.split('\0');
    std::iter::from_fn(move || parts.next().zip(parts.next()))
}

/// The text of a file of `kernels/`.
pub(crate) fn text_of(file: &str) -> Option<&'static str> {
    files().find_map(|(name, text)| (name == file).then_some(text))
}

/// Name and text of each header.
pub fn headers() -> &'static [(&'static str, &'static str)] {
    &HEADERS
}

/// A text with this program's headers inserted where it includes them, each once, so that the user's own header may have the
/// same name.
pub(crate) fn flattened(text: &str) -> String {
    fn add(text: &str, known: &mut Vec<&'static str>, flat: &mut String) {
        for line in text.lines() {
            let name = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"'));
            match name.and_then(|name| headers().iter().find(|(header, _)| *header == name)) {
                Some((name, _)) if known.contains(name) => {}
                Some((name, content)) => {
                    known.push(name);
                    add(content, known, flat);
                }
                None if line == "#pragma once" => {}
                None => {
                    flat.push_str(line);
                    flat.push('\n');
                }
            }
        }
    }
    let mut flat = String::new();
    add(text, &mut Vec::new(), &mut flat);
    flat
}

/// The C++ text that asserts these layouts of its structures.
fn layouts_text(layouts: &[Layout]) -> String {
    let mut text = String::new();
    for Layout { name, bytes, fields } in layouts {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "static_assert(sizeof({name}) == {bytes}, \"size of {name} on the host\");");
        for (field, offset) in *fields {
            let _ = writeln!(
                text,
                "static_assert(SYNCSCOPE_OFFSET_OF({name}, {field}) == {offset}, \"offset of {name}::{field} on the host\");"
            );
        }
    }
    text
}

/// The value of a constant in a file of `kernels/`.
#[cfg(test)]
pub(crate) fn constant_of(file: &str, name: &str) -> String {
    let text = std::fs::read_to_string(format!("{}/kernels/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap_or_default();
    let value = text.lines().find_map(|line| {
        let (kind, value) = line.trim().strip_prefix("constexpr ")?.split_once(&format!(" {name} = "))?;
        (!kind.contains(' ')).then(|| value.split(';').next().unwrap_or_default().to_owned())
    });
    value.unwrap_or_else(|| panic!("{file} has no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::discovery::Surroundings;
    use crate::cuda::error::NvrtcError;
    use crate::cuda::nvrtc::{Nvrtc, Source};
    use crate::multi;

    #[test]
    fn every_file_of_the_folder_is_in_the_program() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
        let mut found = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text_of(&path.file_name().unwrap().to_string_lossy()), Some(text.as_str()));
            found += 1;
        }
        assert_eq!(found, files().count());
        assert!(headers().len() > 1 && headers().iter().all(|(_, text)| !text.is_empty()));
    }

    /// Compiles all structures with these layouts asserted.
    fn compiled_with(layouts: &[Layout]) -> Result<Vec<u8>, NvrtcError> {
        let text = layouts_text(layouts);
        let headers = headers().iter().map(|(name, content)| match *name {
            "layouts.cuh" => (*name, text.as_str()),
            _ => (*name, *content),
        });
        compiled("#include \"arguments.cuh\"", &headers.collect::<Vec<_>>())
    }

    fn compiled(text: &str, headers: &[(&str, &str)]) -> Result<Vec<u8>, NvrtcError> {
        let source = Source { file: "layout.cu", text, headers };
        Nvrtc::find(&Surroundings::of_process(), None)?.compile(source, "sm_90", &["--std=c++17".to_owned()])
    }

    fn refusal(layout: Layout) -> String {
        let Err(NvrtcError::Compile(failure)) = compiled_with(&[layout]) else { panic!("it compiled") };
        failure.log
    }

    #[test]
    fn kernels_refuse_a_structure_that_differs() {
        assert_eq!(compiled_with(LAYOUTS).err(), None);
        let moved = refusal(Layout { name: "VariableArguments", bytes: 96, fields: &[("stride", 80)] });
        assert!(moved.contains("offset of VariableArguments::stride"), "{moved}");
        let grown = refusal(Layout { name: "RegisterArguments", bytes: 88, fields: &[] });
        assert!(grown.contains("size of RegisterArguments"), "{grown}");
    }

    /// Structures in one header, which the other headers do not know.
    #[test]
    fn the_structures_of_a_grid_barrier_are_those_of_the_host() {
        let program = |layouts: &[Layout]| format!("#include \"grid_barrier.cuh\"\n{}", layouts_text(layouts));
        assert_eq!(compiled(&program(multi::LAYOUTS), headers()).err(), None);
        let swapped = [Layout { name: "DeviceTable", bytes: 296, fields: &[("devices", 24)] }];
        assert!(compiled(&program(&swapped), headers()).is_err());
    }

    #[test]
    fn a_structure_begins_with_what_every_loop_needs() {
        let begins = |name| LAYOUTS.iter().find(|layout| layout.name == name).map(|layout| layout.fields[0].1);
        let common = LAYOUTS.iter().find(|layout| layout.name == "LoopArguments").map(|layout| layout.bytes);
        for name in ["VariableArguments", "RegisterArguments", "GridBarrierArguments", "HybridFlagArguments"] {
            assert_eq!(begins(name), common, "{name}");
        }
    }
}
