//! The files that a source includes. A run holds the source, and a hash of these files: it tells whether a comparison or the
//! rest of a run has other ones.

use std::collections::BTreeMap;
use std::path::PathBuf;

use syncscope_core::{Dtype, OwnOperation};
use syncscope_host::file_hash;
use syncscope_machine::c_compiler;

use super::layout::seed;
use super::source::{LIMIT, compiler_of, folder, is_cancelled, lines};

/// A hash of the files that each source includes, without those of the system, by the name of the source.
pub(super) fn hashes<'a>(code: impl Iterator<Item = &'a OwnOperation>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for own in code {
        let name = format!("headers of {}", own.file.as_deref().map_or("--include", file_name));
        if !found.contains_key(&name)
            && let Some(hash) = hash_of(own)
        {
            found.insert(name, hash);
        }
    }
    found
}

/// The name without its folders, which may name a user.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn hash_of(own: &OwnOperation) -> Option<String> {
    if !own.text.contains("include") && own.includes.is_empty() {
        return None;
    }
    let compiler = compiler_of(own, Dtype::I32, false).ok()?;
    let source = (compiler.ending, &*lines(own));
    let mut files: Vec<PathBuf> = c_compiler::included(compiler.command(&[]), source, LIMIT, is_cancelled)?;
    files.sort();
    let hashes: Vec<String> = files.iter().filter_map(|file| file_hash(&folder().join(file))).collect();
    (!hashes.is_empty()).then(|| format!("{:016x}", seed(&hashes.concat(), 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_host::guard::temporary_folder;

    /// Headers of headers count, those of the system and those that the preprocessor leaves out do not.
    #[test]
    fn another_header_has_another_hash() {
        let place = temporary_folder().unwrap();
        let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
        write("in ner.h", "#define N 1\n");
        write("outer.h", "#include \"in ner.h\"\n");
        write("unused.h", "#define N 7\n");
        let text = "#include <stdint.h>\n#include \"outer.h\"\n#if N > 5\n#include \"unused.h\"\n#endif\n\
                    void operation(struct thread *me) { me->value += N; }\n";
        let own = |text: &str| OwnOperation {
            text: text.to_owned(),
            file: Some(place.path().join("mine.c").display().to_string()),
            ..OwnOperation::default()
        };
        let with = |text: &str| hashes([own(text), own(text)].iter()).remove("headers of mine.c");
        let before = with(text);
        assert!(before.is_some());
        assert_eq!(with(text), before);
        write("unused.h", "#define N 8\n");
        assert_eq!(with(text), before, "it is not included");
        write("in ner.h", "#define N 2\n");
        assert_ne!(with(text), before);
        assert_eq!(with("#include <stdint.h>\nvoid operation(struct thread *me) { me->value++; }\n"), None);
    }
}
