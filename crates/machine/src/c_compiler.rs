//! The system's C compiler, for what cannot be compiled in advance: the shim of an MPI library and code that a user wrote.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs, io};

use syncscope_core::Refusal;
use syncscope_host::child_process::{self, Ended, Killed};
use syncscope_host::end::End;
use syncscope_host::guard::{temporary_folder, temporary_folder_in};
use syncscope_host::limits;

/// The files with these names in the folders of a `PATH`, in the order of `names`. A name with a slash is the path of a file. The
/// working folder is not searched.
pub fn in_path(names: &[&str], path: &OsStr) -> Vec<PathBuf> {
    let in_folders = |name: &&str| {
        let file = PathBuf::from(name);
        if name.contains('/') {
            return Some(file).filter(|file| file.is_file());
        }
        let mut folders = env::split_paths(path).filter(|folder| folder.is_absolute());
        folders.find_map(|folder| Some(folder.join(&file)).filter(|file| file.is_file()))
    };
    names.iter().filter_map(in_folders).collect()
}

/// Compiles a text to a `file`. `source` is the file name ending of its language and the text; `libraries` are the arguments
/// after it. The file appears complete or not at all, even if several processes compile it at the same time.
///
/// # Errors
/// The compiler's first error, or that it did not end.
pub fn compile(
    compiler: Command,
    source: (&str, &str),
    libraries: &[String],
    file: &Path,
    limit: Duration,
    is_cancelled: impl Fn() -> bool,
) -> Result<(), Refusal> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let work = fs::create_dir_all(folder)
        .and_then(|()| temporary_folder_in(folder))
        .map_err(|error| could_not(file, &error))?;
    let draft = work.path().join("draft");
    if let Some(messages) = run(compiler, source, libraries, &draft, limit, is_cancelled)? {
        return Err(Refusal::Failed(first_error(&messages)));
    }
    Ok(fs::rename(&draft, file).map_err(|error| unwritten(&error).unwrap_or_else(|| could_not(file, &error)))?)
}

/// Why a file cannot be read or written, and what to do.
fn could_not(file: &Path, error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull if file.starts_with(env::temp_dir()) => {
            "; free some space, or set TMPDIR to a folder that has some"
        }
        io::ErrorKind::StorageFull => "; free some space",
        _ => limits::remedy(error),
    };
    format!("{}: {error}{remedy}", file.display())
}

/// The message for a compiler that ends without a complaint and without its file.
fn unwritten(error: &io::Error) -> Option<String> {
    const REASON: &str =
        "the compiler ended without writing its file: is it one, and has it no option to stop earlier (-E, -S)?";
    (error.kind() == io::ErrorKind::NotFound).then(|| REASON.to_owned())
}

/// Compiles a text to assembly. Returns its text, or all messages of a compiler that refuses the source.
///
/// # Errors
/// Where the compiler could not be run, or did not end.
pub fn assembly(
    mut compiler: Command,
    source: (&str, &str),
    limit: Duration,
    is_cancelled: impl Fn() -> bool,
) -> Result<Result<String, String>, Refusal> {
    let work = temporary_folder()?;
    let file = work.path().join("assembly");
    // Clang writes comments behind labels and instructions by default, gcc on request; a parser of the text would take them for
    // code.
    compiler.args(["-S", "-fno-verbose-asm"]);
    if let Some(messages) = run(compiler, source, &[], &file, limit, is_cancelled)? {
        return Ok(Err(messages));
    }
    let text = fs::read_to_string(&file);
    Ok(text.map(Ok).map_err(|error| unwritten(&error).unwrap_or_else(|| could_not(&file, &error)))?)
}

/// All messages of a compiler that refuses a text; `None` if the compiler accepts it.
///
/// # Errors
/// Where the compiler could not be run, or did not end.
pub fn refusal(
    mut compiler: Command,
    source: (&str, &str),
    limit: Duration,
    is_cancelled: impl Fn() -> bool,
) -> Result<Option<String>, Refusal> {
    compiler.arg("-fsyntax-only");
    run(compiler, source, &[], &temporary_folder()?.path().join("nothing"), limit, is_cancelled)
}

/// A text after the preprocessor, without the lines of system headers; `None` if the compiler refuses it.
pub fn preprocessed(
    mut compiler: Command,
    source: (&str, &str),
    limit: Duration,
    is_cancelled: impl Fn() -> bool,
) -> Option<String> {
    let work = temporary_folder().ok()?;
    let file = work.path().join("preprocessed");
    compiler.arg("-E");
    let refused = run(compiler, source, &[], &file, limit, is_cancelled).ok()?;
    let text = String::from_utf8_lossy(&fs::read(&file).ok().filter(|_| refused.is_none())?).into_owned();
    // A marker says whose lines follow: `# 1 "stdio.h" 1 3 4`, where 3 stands for the system.
    let mut is_of_system = false;
    let own = text.lines().filter(|line| {
        let marker = line.strip_prefix("# ").and_then(|marker| marker.rsplit_once('"'));
        if let Some((_, flags)) = marker {
            is_of_system = flags.split_whitespace().any(|flag| flag == "3");
        }
        marker.is_none() && !is_of_system
    });
    Some(own.collect::<Vec<_>>().join("\n"))
}

/// The files that a text includes, without those of the system; `None` if the compiler does not say.
pub fn included(
    mut compiler: Command,
    source: (&str, &str),
    limit: Duration,
    is_cancelled: impl Fn() -> bool,
) -> Option<Vec<PathBuf>> {
    let work = temporary_folder().ok()?;
    let rules = work.path().join("rules");
    compiler.args(["-MM", "-MT", "x", "-MF"]).arg(&rules);
    let refused = run(compiler, source, &[], &work.path().join("nothing"), limit, is_cancelled).ok()?;
    let text = fs::read_to_string(rules).ok().filter(|_| refused.is_none())?;
    Some(prerequisites(&text).filter(|file| !file.starts_with(work.path())).collect())
}

/// The files behind the colon of a rule for `make`.
fn prerequisites(rule: &str) -> impl Iterator<Item = PathBuf> {
    const SPACE: &str = "\0";
    let files = rule.split_once(':').map_or("", |(_, files)| files);
    let files = files.replace("\\\n", " ").replace("\\ ", SPACE).replace("$$", "$").replace("\\#", "#");
    let files: Vec<PathBuf> = files.split_whitespace().map(|file| file.replace(SPACE, " ").into()).collect();
    files.into_iter()
}

/// Runs a compiler on the text, which lies in a temporary folder of this process next to the output. Returns all messages if it
/// refuses the text. A compiler that is ended from outside is started a second time.
fn run(
    mut compiler: Command,
    (ending, text): (&str, &str),
    libraries: &[String],
    file: &Path,
    limit: Duration,
    is_cancelled: impl Fn() -> bool,
) -> Result<Option<String>, Refusal> {
    let source = file.with_file_name(format!("source.{ending}"));
    fs::write(&source, text).map_err(|error| could_not(&source, &error))?;
    compiler.arg("-o").arg(file).arg(&source).args(libraries);
    // These variables let GCC write rules for `make` to a file.
    compiler.env_remove("DEPENDENCIES_OUTPUT").env_remove("SUNPRO_DEPENDENCIES");
    let mut again = true;
    loop {
        let ended = child_process::run_within(&mut compiler, limit, &is_cancelled);
        let program = Path::new(compiler.get_program());
        let Ended { status, messages } = ended.map_err(|error| could_not(program, &error))?;
        let failed = match status {
            Ok(End::Code(0)) => return Ok(None),
            Ok(End::Outside(_)) if again => {
                again = false;
                continue;
            }
            Ok(end @ End::Outside(_)) if end.is_excused() => {
                return Err(Refusal::Prevented(format!("the compiler {end}, twice")));
            }
            Ok(end @ End::Outside(_)) => format!("the compiler {end}, twice"),
            Ok(_) => return Ok(Some(messages)),
            Err(Killed::OutOfTime) => {
                let spent = "the time budget is spent and left no figure: a compiler was still running";
                return Err(Refusal::Prevented(spent.to_owned()));
            }
            Err(Killed::Cancelled) => "asked to stop while the compiler ran".to_owned(),
            Err(Killed::Late) => format!("the compiler did not end within {} s and was killed", limit.as_secs()),
            Err(Killed::Talks) => format!("the compiler wrote messages without end: {}", first_error(&messages)),
        };
        return Err(Refusal::Failed(failed));
    }
}

/// The line of a compiler's messages that says why it failed. The last lines only say that the linker failed.
pub fn first_error(messages: &str) -> String {
    let says_why = |line: &&str| line.contains("error") || line.contains("undefined reference");
    let is_of_driver = |line: &str| line.starts_with("collect2:") || line.contains("linker command failed");
    let lines = || messages.lines().filter(|line| !line.trim().is_empty());
    let of_linker = |line: &&str| {
        !is_of_driver(line)
            && !["arning: ", "skipping incompatible "].iter().any(|word| line.contains(word))
            && !line.ends_with(':')
    };
    let error = lines().find(|line| says_why(line) && !is_of_driver(line)).or_else(|| lines().find(of_linker));
    error.or_else(|| lines().next()).unwrap_or("the compiler failed without a message").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_not_taken_from_the_working_folder() {
        // Tests run in the folder of their crate.
        assert!(Path::new("Cargo.toml").is_file());
        for path in ["", ".", ":/bin", "./"] {
            assert!(in_path(&["Cargo.toml"], path.as_ref()).is_empty(), "{path}");
        }
        assert_eq!(in_path(&["./Cargo.toml"], "".as_ref()), [PathBuf::from("./Cargo.toml")]);
    }

    #[test]
    fn the_error_is_found_among_the_messages() {
        let messages = "In file included from x\nx.c:1:2: error: #error \"no\"\n    1 | #error\n";
        assert_eq!(first_error(messages), "x.c:1:2: error: #error \"no\"");
        assert_eq!(first_error("cannot execute\n"), "cannot execute");
        assert_eq!(first_error("\n \nno memory is left\n"), "no memory is left");
        assert!(first_error("\n").contains("without a message"));
        let linker = "s.s:4: Warning: .space repeat count is zero, ignored\n/usr/bin/ld: a.o: in function `f':\n\
                      /usr/bin/ld: cannot find crti.o: No such file\ncollect2: error: ld returned 1 exit status\n";
        assert_eq!(first_error(linker), "/usr/bin/ld: cannot find crti.o: No such file");
        let only = "clang: error: linker command failed with exit code 1 (use -v to see invocation)";
        assert_eq!(first_error(only), only);
    }

    #[test]
    fn an_error_of_the_system_names_the_file_and_what_to_do() {
        let temporary = env::temp_dir().join("source.c");
        let of = |error: io::Error| could_not(&temporary, &error);
        let full = of(io::ErrorKind::StorageFull.into());
        assert!(full.contains("source.c: ") && full.contains("set TMPDIR"), "{full}");
        assert!(!could_not(Path::new("/proc/operation.so"), &io::ErrorKind::StorageFull.into()).contains("TMPDIR"));
        assert!(!of(io::ErrorKind::NotFound.into()).contains(';'));
        // EMFILE of Linux.
        assert!(of(io::Error::from_raw_os_error(24)).ends_with("; allow more open files (`ulimit -n`)"));
    }

    #[test]
    fn the_files_of_a_rule_may_have_spaces() {
        let rule = "x: /tmp/source.c a/in\\ ner.h \\\n b$$c.h d\\#.h\n";
        let files: Vec<PathBuf> = prerequisites(rule).collect();
        assert_eq!(files, ["/tmp/source.c", "a/in ner.h", "b$c.h", "d#.h"].map(PathBuf::from));
    }

    #[test]
    fn a_compiler_writes_no_rules_for_make() {
        let folder = temporary_folder().unwrap();
        let (rules, limit) = (folder.path().join("rules"), Duration::from_secs(60));
        for name in ["DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"] {
            let mut compiler = Command::new("cc");
            compiler.arg("-c").env(name, &rules);
            compile(compiler, ("c", "int f;"), &[], &folder.path().join("file"), limit, || false).unwrap();
            assert!(!rules.exists(), "{name}");
        }
    }

    #[test]
    fn a_compiler_that_writes_nothing_is_told() {
        let folder = temporary_folder().unwrap();
        let (source, limit) = (("c", "int f;"), Duration::from_secs(60));
        let compiled = compile(Command::new("true"), source, &[], &folder.path().join("file"), limit, || false);
        let as_text = assembly(Command::new("true"), source, limit, || false).map(|_| ());
        for refused in [compiled, as_text] {
            let refused = refused.unwrap_err().to_string();
            assert!(refused.starts_with("the compiler ended without writing its file"), "{refused}");
        }
    }
}
