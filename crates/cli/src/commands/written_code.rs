//! Code that a user wrote, in a run that is resumed. `run.json` is data, which somebody else may have written: its code is
//! compiled only where this user began to measure the same code here, or trusts it after reading it.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use syncscope_core::own::is_own;
use syncscope_core::{Domain, OwnOperation};
use syncscope_host::trust::{Origin, trusted};
use syncscope_host::{content_hash, state_folder};

use crate::failure::Failure;
use crate::{history, terminal};

/// The beginning of the names of the files that hold the code that this user measured.
const PREFIX: &str = "code-";

/// The most files; the oldest is removed.
const MOST_KNOWN: usize = 256;

/// Keeps operations in the user's state folder. They are kept whole, so that nobody else can make a run that holds the same
/// code and more. If they cannot be kept, a run that resumes them needs `--trust-code`.
pub(super) fn remember(operations: &[OwnOperation]) {
    let keep = || {
        let (path, code) = place(operations)?;
        let folder = path.parent()?;
        DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
        fs::set_permissions(folder, Permissions::from_mode(0o700)).ok()?;
        fs::write(&path, code).ok()?;
        history::remove_oldest(folder, PREFIX, MOST_KNOWN)
    };
    let _ = keep();
}

/// The file for operations, and its content.
fn place(operations: &[OwnOperation]) -> Option<(PathBuf, Vec<u8>)> {
    let code = serde_json::to_vec_pretty(operations).ok()?;
    Some((state_folder()?.join(format!("{PREFIX}{}.json", content_hash(&code))), code))
}

fn is_known(operations: &[OwnOperation]) -> bool {
    let known = || {
        let (path, code) = place(operations)?;
        Some(fs::read(trusted(&path, Origin::Named).ok()?).ok()? == code)
    };
    known().unwrap_or(false)
}

/// Whether operations of a run directory may be compiled and executed.
///
/// # Errors
/// When `syncscope measure` would not write such operations, or this user neither began to measure them nor trusts them. Then
/// the error shows them.
pub(super) fn check(operations: &[OwnOperation], is_trusted: bool, directory: &Path) -> Result<(), Failure> {
    if is_known(operations) {
        return Ok(());
    }
    let place = directory.display();
    if let Some(wrong) = operations.iter().find_map(strange_part) {
        return Err(Failure::CouldNot(format!(
            "{place}: run.json has {wrong}, which `syncscope measure` does not write; start a new run"
        )));
    }
    if is_trusted {
        return Ok(());
    }
    for own in operations {
        terminal::note(&format!("the code of {} in {place}:\n{}", own.id, in_full(own)));
    }
    Err(Failure::CouldNot(format!(
        "{place} holds code that you did not begin to measure here, so none of it ran; if you trust the code above: \
         {} --trust-code",
        terminal::resume_command(directory)
    )))
}

/// All parts of an operation that the compiler gets.
fn in_full(own: &OwnOperation) -> String {
    let OwnOperation { text, file, setup, baseline, includes, options, launch, .. } = own;
    let part = |name: &str, text: &str| (!text.is_empty()).then(|| format!("{name}: {text}"));
    let named = |name, text: &Option<String>| part(name, text.as_deref().unwrap_or_default());
    let parts = [
        part("options", &options.join(" ")),
        named("file", file),
        part("includes", includes.trim_end()),
        named("setup", setup),
        named("baseline", baseline),
        launch.as_ref().map(|launch| format!("launch: {launch:?}")),
        Some(text.clone()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// A part of an operation that `syncscope measure` never writes.
fn strange_part(own: &OwnOperation) -> Option<String> {
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let name = own.id.rsplit('.').next().unwrap_or_default();
    let of = |domain: Domain| own.id == format!("{domain}.own.{name}");
    if !is_own(&own.id) || !is_word(name) || !(of(Domain::Cpu) || of(Domain::Gpu)) {
        return Some(format!("the id `{}`", own.id));
    }
    // These words are in the source next to the text that is shown.
    let mut words = own.function.iter().chain(&own.helpers).chain(&own.defines);
    if let Some(word) = words.find(|word| !word.is_empty() && !is_word(word)) {
        return Some(format!("the name `{word}`"));
    }
    if let Some(file) = own.file.as_ref().filter(|file| file.contains(['"', '\\', '\n', '\r'])) {
        return Some(format!("the file `{file}`"));
    }
    let strange = own.options.iter().find(|option| !is_harmless(option));
    strange.map(|option| format!("the compiler option `{option}`"))
}

/// Whether an option defines a macro, or names a folder of headers, a level of optimization or a standard. Other options make
/// compilers write files, load plug-ins and start programs.
fn is_harmless(option: &str) -> bool {
    let has_only = |text: &str, others: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    let rest = |begin: &str| option.strip_prefix(begin).filter(|rest| !rest.is_empty());
    rest("-D").or_else(|| rest("-I")).is_some()
        || rest("-O").is_some_and(|level| has_only(level, ""))
        || rest("-std=").is_some_and(|standard| has_only(standard, "+:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation() -> OwnOperation {
        OwnOperation { id: "cpu.own.line".to_owned(), text: "x++".to_owned(), ..OwnOperation::default() }
    }

    #[test]
    fn options_are_those_that_measure_writes() {
        for option in ["-DA", "-DA=\"b c\"", "-I/usr/include/x", "-I.", "-O3", "-Ofast", "-std=gnu++20", "-std=c11"] {
            assert!(is_harmless(option), "{option}");
        }
        for option in [
            "",
            "-",
            "-D",
            "-I",
            "-O",
            "-std=",
            "-o",
            "-oX",
            "-o/tmp/x",
            "-Wp,-MD,/tmp/x",
            "-fplugin=/tmp/x.so",
            "-wrapper",
            "@file",
            "-specs=x",
            "-B/tmp",
            "-x",
            "-xc",
            "-include",
            "-MD",
            "-MF",
            "-O2 -o x",
            "-O/tmp",
            "-std=c11/..",
            "-Xlinker",
            "-l:x",
            "x.c",
            "--param",
            "-save-temps",
            "-dumpdir",
            "-fdump-tree-all=/tmp/x",
            "-T",
            "-pipe",
        ] {
            assert!(!is_harmless(option), "{option}");
        }
    }

    #[test]
    fn what_no_command_writes_is_refused_even_where_it_is_trusted() {
        let wrong =
            |own: &OwnOperation| check(std::slice::from_ref(own), true, Path::new("run")).unwrap_err().to_string();
        assert!(check(&[operation()], true, Path::new("run")).is_ok());
        for id in
            ["cpu.own.../../x", "cpu.own.", "own.line", "cpu.atomic.add", "cpu.own.a.b", "mpi.own.a", "cpu.own.a/b"]
        {
            let error = wrong(&OwnOperation { id: id.to_owned(), ..operation() });
            assert!(error.contains(&format!("the id `{id}`")), "{error}");
        }
        let option = OwnOperation { options: vec!["-DX".to_owned(), "-Wp,-MD,x".to_owned()], ..operation() };
        assert!(wrong(&option).contains("-Wp,-MD,x"));
        assert!(wrong(&OwnOperation { function: Some("f; g".to_owned()), ..operation() }).contains("the name"));
        assert!(wrong(&OwnOperation { helpers: vec!["f(); g".to_owned()], ..operation() }).contains("the name"));
        assert!(wrong(&OwnOperation { file: Some("a\"\nint x;".to_owned()), ..operation() }).contains("the file"));
    }
}
