//! The source that an argument of `syncscope measure` names: a statement, or a file with the files that it includes.

use std::path::{Path, PathBuf};

use syncscope_core::language::{Language, ending};
use syncscope_core::{Domain, Inspected, OwnOperation, data_file};
use syncscope_gpu::own::launched::{LIBRARY, PTX};
use syncscope_host::file_hash;

use crate::args::MeasureArguments;
use crate::catalogue::catalogue;
use crate::commands::own_launch::launch_of;
use crate::failure::Failure;
use crate::selection;

/// The statement or file that one argument names.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) domain: Domain,
    /// An operation whose function is not known yet.
    pub(super) own: OwnOperation,
    pub(super) file: Option<String>,
    /// The files to read: the named one and those that it includes.
    pub(super) files: Vec<PathBuf>,
    /// The only operation of the file that the user wants.
    wanted: Option<String>,
    /// Words that may be functions.
    pub(super) candidates: Vec<String>,
    /// Whether the user named the operations.
    is_named: bool,
}

impl Source {
    /// Reads the source that an argument names, the `number`-th of its side.
    pub(super) fn new(
        arguments: &MeasureArguments,
        domain: Domain,
        code: &str,
        number: usize,
    ) -> Result<Self, Failure> {
        let include = |file: &String| format!("#include \"{file}\"\n");
        let own = OwnOperation {
            id: format!("{domain}.own.{}", id_of(arguments.name.as_deref().unwrap_or("line"))),
            text: code.to_owned(),
            setup: arguments.setup.clone(),
            baseline: arguments.baseline.clone(),
            check: arguments.check,
            includes: arguments.include.iter().map(include).collect(),
            options: arguments.compiler_options(),
            launch_memory: arguments.shared_bytes.filter(|_| domain == Domain::Gpu),
            trial_ms: arguments.trial_ms,
            ..OwnOperation::default()
        };
        let headers = || with_included(Path::new(""), own.includes.clone(), &arguments.folders).0.into_iter().skip(1);
        let Some((file, wanted)) = file_of(code) else {
            let no_code =
                [("", "the statement is empty"), ("-", "`-` is no code: save it to a file, and name the file")];
            if let Some((_, why)) = no_code.iter().find(|(word, _)| *word == code.trim()) {
                return Err(Failure::Usage((*why).to_owned()));
            }
            let is_word = |letter: char| letter.is_ascii_alphanumeric() || "._".contains(letter);
            if code.starts_with(&format!("{domain}.")) && code.chars().all(is_word) {
                let all = catalogue();
                let advice = selection::advice(code, &all.primitives().iter().collect::<Vec<_>>());
                return Err(Failure::Usage(format!("no primitive is called {code}; {advice}")));
            }
            let files = headers().collect();
            return Ok(Self { domain, own, file: None, files, wanted: None, candidates: Vec::new(), is_named: true });
        };
        check_language(file, domain)?;
        if file.contains(['"', '\\', '\n', '\r']) {
            return Err(Failure::Usage(format!(
                "{file:?}: compilers get the file name in quotes, so it may contain no quote, backslash or line \
                 break; rename it"
            )));
        }
        let text = text_of(file)?;
        let stem = Path::new(file).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let id = format!("{domain}.own.{}", id_of(arguments.name.as_deref().unwrap_or(&stem)));
        let (files, all) = with_included(Path::new(file), text.clone(), &arguments.folders);
        let files = headers().chain(files).collect();
        let candidates = OwnOperation::candidates(&all);
        let launch = if domain == Domain::Gpu { launch_of(arguments, (file, wanted, &all), number)? } else { None };
        let own = OwnOperation { id, text, file: Some(file.to_owned()), launch, ..own };
        let (file, wanted, is_named) = (Some(file.to_owned()), wanted.map(str::to_owned), arguments.name.is_some());
        Ok(Self { domain, own, file, files, wanted, candidates, is_named })
    }

    /// The operations of the source, from the compiler's answers.
    pub(super) fn operations(&self, found: &Inspected) -> Result<Vec<OwnOperation>, Failure> {
        let Some(file) = &self.file else { return Ok(vec![self.own.clone().known(found, None)]) };
        let functions: Vec<String> = found.functions.iter().map(|(name, _)| name.clone()).collect();
        let is_wanted = |function: &str, name: &str| {
            self.wanted.as_deref().is_none_or(|wanted| wanted == name || wanted == function)
        };
        let chosen = OwnOperation::of_functions(&functions).0.into_iter();
        let operations = chosen.filter(|(function, name)| is_wanted(function, name)).map(|(function, name)| {
            let own = self.own.clone().known(found, Some(&function));
            let is_whole = name.is_empty() || self.is_named;
            let id = if is_whole { own.id.clone() } else { format!("{}_{}", own.id, id_of(&name)) };
            OwnOperation { id, ..own }
        });
        let operations: Vec<OwnOperation> = operations.collect();
        if operations.is_empty() {
            let domain = self.domain;
            let what = self
                .wanted
                .as_ref()
                .map_or_else(|| "no operation".to_owned(), |wanted| format!("no operation {wanted}"));
            let shape = match domain {
                Domain::Gpu => "__device__ void operation(Thread &me)",
                _ => "void operation(struct thread *me)",
            };
            let pasted = domain == Domain::Gpu && self.own.text.contains("##");
            return Err(Failure::Usage(format!(
                "{file} has {what}: it needs a function `{shape}`, or like it `acquire` and `release`, `wait`, or `send` and `receive`; \
                 see `syncscope measure --header {domain}`{}{}",
                if self.own.text.contains("__global__") { "; --kernel times a whole kernel" } else { "" },
                if pasted { "; write out names that a macro pastes together (`##`)" } else { "" },
            )));
        }
        Ok(operations)
    }
}

/// The text of a file; for a library, which is not text, its hash.
fn text_of(file: &str) -> Result<String, Failure> {
    let text = if ending(file) == Some(LIBRARY) {
        file_hash(Path::new(file)).ok_or_else(|| "no library that can be read".to_owned())
    } else {
        data_file::read_text(Path::new(file)).map_err(|error| error.to_string())
    };
    text.map_err(|error| Failure::Usage(format!("{file}: {error}")))
}

/// The text of a file followed by those of the user's files that it includes, because their functions count as its own. Also
/// the paths of all these files.
fn with_included(file: &Path, text: String, folders: &[String]) -> (Vec<PathBuf>, String) {
    const MOST_FILES: usize = 256;
    let mut known = vec![file.to_owned()];
    let mut all = text.clone();
    let mut left = vec![(file.to_owned(), text)];
    while let Some((file, text)) = left.pop() {
        for line in text.lines().filter_map(|line| line.trim_start().strip_prefix('#')) {
            let Some(rest) = line.trim_start().strip_prefix("include") else { continue };
            let name = rest.trim().trim_start_matches(['"', '<']).split(['"', '>']).next().unwrap_or_default();
            let beside = file.parent().unwrap_or(Path::new("")).join(name);
            let found = std::iter::once(beside).chain(folders.iter().map(|folder| Path::new(folder).join(name)));
            for path in found.filter(|path| path.is_file()).take(1) {
                if known.contains(&path) || known.len() >= MOST_FILES {
                    continue;
                }
                known.push(path.clone());
                let text = data_file::read_text(&path).unwrap_or_default();
                all = all + "\n" + &text;
                left.push((path, text));
            }
        }
    }
    (known, all)
}

/// The file that a word names, and the operation in it: `FILE` or `FILE:NAME`. A word with the ending of a source file, in any
/// language, is a file even if it does not exist.
fn file_of(code: &str) -> Option<(&str, Option<&str>)> {
    const OTHERS: [&str; 21] = [
        "rs", "go", "py", "zig", "java", "kt", "cs", "swift", "js", "ts", "f90", "jl", "nim", "hs", "asm", "ptx", "cl",
        "hip", "metal", "ispc", LIBRARY,
    ];
    let is_file = |word: &str| {
        let has_ending = ending(word).is_some_and(|end| Language::of(word).is_some() || OTHERS.contains(&end));
        Path::new(word).exists() || (has_ending && !word.contains([' ', '(', ';', '=', '&', '>']))
    };
    if is_file(code) {
        return Some((code, None));
    }
    let (file, name) = code.rsplit_once(':')?;
    is_file(file).then_some((file, Some(name)))
}

/// Refuses files of languages that no compiler here accepts. A file without an ending counts as C.
fn check_language(file: &str, side: Domain) -> Result<(), Failure> {
    let (language, is_cpu) = (Language::of(file), side == Domain::Cpu);
    if Path::new(file).is_dir() {
        return Err(Failure::Usage(format!("{file} is a folder: name a file in it")));
    }
    match ending(file) {
        Some(_) if is_cpu && language == Some(Language::Cuda) => {
            Err(Failure::Usage(format!("{file} is CUDA C++, which `--gpu` takes; `--cpu` takes C and C++ (.c, .cpp)")))
        }
        Some(PTX | LIBRARY) if !is_cpu => Ok(()),
        Some(other) if language.is_none() => Err(Failure::Usage(format!(
            "{file}: `measure` takes C, C++ and CUDA C++ (.c, .cpp, .cu and their headers), no `.{other}`; let a C file call \
             what another language exports"
        ))),
        _ => Ok(()),
    }
}

/// A name as a part of an id.
fn id_of(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if name.trim_matches('_').is_empty() { "line".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_file_by_its_ending() {
        assert_eq!(file_of("mine.c"), Some(("mine.c", None)));
        assert_eq!(file_of("a/mine.cuh:fast"), Some(("a/mine.cuh", Some("fast"))));
        for other in ["lock.rs", "lock.go", "a/lock.py:fast", "lock.zig"] {
            let (file, _) = file_of(other).unwrap();
            let said = check_language(file, Domain::Cpu).unwrap_err().to_string();
            assert!(said.contains("takes C, C++ and CUDA C++"), "{said}");
        }
        assert!(
            check_language("kernel.cuh", Domain::Cpu).is_err() && check_language("kernel.cuh", Domain::Gpu).is_ok()
        );
        assert!(["lock", "lock.c", "lock.hh", "lock.C"].iter().all(|file| check_language(file, Domain::Cpu).is_ok()));
        for statement in
            ["atomicAdd(&x, 1)", "x = a.c", "me->value++", "std::atomic_thread_fence()", "me->rs", "a.rs++"]
        {
            assert_eq!(file_of(statement), None, "{statement}");
        }
        assert_eq!(["My-Lock", "λ", "a1"].map(id_of), ["my_lock", "line", "a1"]);
    }
}
