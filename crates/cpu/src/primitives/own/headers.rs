//! The files that a source includes. A run holds the source, and a hash of these files: it tells whether a comparison or the
//! rest of a run has other ones.

use std::collections::BTreeMap;
use std::path::PathBuf;

use syncscope_core::{Dtype, OwnOperation};
use syncscope_host::file_hash;
use syncscope_machine::c_compiler;

use super::layout::seed;
use super::source::{LIMIT, compiler_of, folder, is_cancelled, lines};

/// A hash of the files that each source includes, without those of the system, by the name of the source. Sources of different
/// folders or commits may share a name: its hash then is of all their files.
pub(super) fn hashes<'a>(code: impl Iterator<Item = &'a OwnOperation>) -> BTreeMap<String, String> {
    let mut sources: Vec<&OwnOperation> = Vec::new();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for own in code {
        let source = |own: &'a OwnOperation| (&own.file, &own.text, &own.includes, &own.options);
        if sources.iter().any(|known| source(known) == source(own)) {
            continue;
        }
        sources.push(own);
        let name = format!("headers of {}", own.file.as_deref().map_or("--include", file_name));
        found.entry(name).or_default().extend(hash_of(own));
    }
    let joined = |hashes: Vec<String>| match &*hashes {
        [] => None,
        [hash] => Some(hash.clone()),
        several => Some(hash_of_all(several)),
    };
    found.into_iter().filter_map(|(name, hashes)| Some((name, joined(hashes)?))).collect()
}

fn hash_of_all(hashes: &[String]) -> String {
    format!("{:016x}", seed(&hashes.concat(), 0))
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
    (!hashes.is_empty()).then(|| hash_of_all(&hashes))
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

    /// Each of several sources of one name counts, and one source alone, with one operation or more, has the hash of its files.
    #[test]
    fn sources_of_one_name_in_two_folders_do_not_share_a_hash() {
        let place = temporary_folder().unwrap();
        let header = |folder: &str, value: u32| {
            std::fs::create_dir_all(place.path().join(folder)).unwrap();
            std::fs::write(place.path().join(folder).join("own.h"), format!("#define N {value}\n")).unwrap();
        };
        let own = |folder: &str| OwnOperation {
            text: "#include \"own.h\"\nvoid operation(struct thread *me) { me->value += N; }\n".to_owned(),
            file: Some(place.path().join(folder).join("x.c").display().to_string()),
            ..OwnOperation::default()
        };
        let of = |folders: &[&str]| {
            let sources: Vec<OwnOperation> = folders.iter().map(|folder| own(folder)).collect();
            hashes(sources.iter()).remove("headers of x.c").unwrap()
        };
        header("a", 1);
        header("b", 2);
        let [both, first] = [of(&["a", "b"]), of(&["a"])];
        assert_eq!(of(&["a", "a"]), first);
        assert_ne!(first, of(&["b"]));
        for folder in ["a", "b"] {
            header(folder, 7);
            assert_ne!(of(&["a", "b"]), both, "{folder}");
            header(folder, if folder == "a" { 1 } else { 2 });
            assert_eq!(of(&["a", "b"]), both);
        }
    }
}
