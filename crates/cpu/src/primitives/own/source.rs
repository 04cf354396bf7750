//! Makes a shared library of the user's code: the C or C++ around it, and the system's compiler.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use syncscope_core::language::Language;
use syncscope_core::{Cancel, Dtype, OwnOperation, OwnUse, Refusal};
use syncscope_host::child_process;
use syncscope_host::guard::temporary_folder;
use tempfile::TempDir;

use super::{calls, layout};
use syncscope_machine::{c_compiler, surroundings};

/// The header that a source may use; `syncscope measure --header cpu` prints it.
pub const HEADER: &str = include_str!("own.h");

const DECLARED: &str = include_str!("declared.h");
const FUNCTIONS: &str = include_str!("functions.h");
const LOOPS: &str = include_str!("loops.h");

/// The name of a statement in the compiler's messages.
const STATEMENT: &str = "statement";

/// The name of the lines of `--include` in the compiler's messages.
const INCLUDED: &str = "--include";

/// The name of what follows the user's lines in the compiler's messages.
const BEHIND: &str = "loops.h";

/// The names in scope of a statement, and their meanings.
const NAMES: [(&str, &str); 3] = [("x", "*me->x"), ("mine", "*me->mine"), ("value", "me->value")];

/// The longest time for one operation; compiling templates takes seconds. The process that watches this one waits longer.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// Whether an operation is compiled as C++: by the ending of its file; for a statement by `-std`, or else by features that C
/// lacks.
fn is_cpp(own: &OwnOperation) -> bool {
    if let Some(file) = &own.file {
        return Language::of(file) == Some(Language::Cpp);
    }
    let standard = own.options.iter().rfind(|option| option.starts_with("-std="));
    let mut statements = [Some(&own.text), own.setup.as_ref(), own.baseline.as_ref()].into_iter().flatten();
    standard.map_or_else(|| statements.any(|statement| is_cpp_alone(statement)), |standard| standard.contains("++"))
}

/// Whether a statement names something of the standard library, or calls a member of an atomic variable.
fn is_cpp_alone(statement: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let names = |variable| statement.match_indices(variable).any(|(at, _)| !statement[..at].ends_with(is_word));
    statement.contains("std::") || names("x.") || names("mine.")
}

/// The whole translation unit with the timed loops. Messages about the user's lines have the user's line numbers.
pub(super) fn text(own: &OwnOperation) -> String {
    format!("{}{LOOPS}", functions(own))
}

/// The header for the source, marked as a system header (3) so that it gives no warnings.
fn header(own: &OwnOperation) -> String {
    format!("# 1 \"own.h\" 3\n{HEADER}\n# 1 \"{INCLUDED}\"\n{}# 1 \"{BEHIND}\"\n", includes(own))
}

/// The lines of `--include`. A compiler looks for their files next to the text that it gets, so files in the working folder are
/// named with their full paths.
fn includes(own: &OwnOperation) -> String {
    let (folder, _) = place(Cancel::new());
    let in_full = |line: &str| {
        let file = folder.join(line.strip_prefix("#include \"")?.strip_suffix('"')?);
        file.is_file().then(|| format!("#include \"{}\"\n", file.display()))
    };
    own.includes.lines().map(|line| in_full(line).unwrap_or_else(|| format!("{line}\n"))).collect()
}

/// The user's lines alone, below the header that they may use.
pub(super) fn lines(own: &OwnOperation) -> String {
    let file = own.file.as_deref().unwrap_or(STATEMENT);
    format!("{}#line 1 \"{file}\"\n{}\n", header(own), own.text)
}

/// The functions made of what the user wrote: `syncscope_once` and others.
pub(super) fn functions(own: &OwnOperation) -> String {
    let mut names = String::new();
    let mut source;
    if let (Some(file), Some(_)) = (&own.file, &own.function) {
        names = parts(own)
            .iter()
            .map(|(part, name)| format!("#define SYNCSCOPE_{part} {name}\n"))
            .collect::<Vec<_>>()
            .concat();
        let text = format!("#line 1 \"{file}\"\n{}\n#line 1 \"{BEHIND}\"\n", own.text);
        source = if own.uses(OwnUse::OwnDeclaration) {
            format!("{text}#define SYNCSCOPE_BEHIND\n{DECLARED}")
        } else {
            format!("{DECLARED}{text}")
        };
    } else {
        source = format!("{DECLARED}{}", in_scope(own, "syncscope_once", &own.text));
    }
    let statements = [("SET_UP", "syncscope_set_up", &own.setup), ("CONTEXT", "syncscope_context", &own.baseline)];
    for (part, function, statement) in statements {
        if let Some(statement) = statement {
            source.extend([format!("\n#define SYNCSCOPE_HAS_{part}\n{}", in_scope(own, function, statement))]);
        }
    }
    format!("{}{names}{source}\n#line 1 \"{BEHIND}\"\n{FUNCTIONS}\n#line 1 \"{BEHIND}\"\n", header(own))
}

/// The functions of a file that belong to an operation: what `functions.h` calls them, and their names.
fn parts(own: &OwnOperation) -> Vec<(&'static str, String)> {
    let operation = own.function.clone().map(|name| ("OPERATION", name));
    let helper = |part, name: &str| Some((part, own.helper(name)?));
    let half = other_half(own).map(|(part, name)| (part, own.helper(name).unwrap_or_else(|| name.to_owned())));
    let shared = own.admits_several().then(|| ("SHARED", String::new()));
    let alone = own.exclusive_half();
    let writers =
        alone.into_iter().flat_map(|[acquire, release]| [("ACQUIRE_ALONE", acquire), ("RELEASE_ALONE", release)]);
    let others = [half, helper("SET_UP", "setup"), helper("CHECK", "check"), operation, shared];
    others.into_iter().flatten().chain(writers).collect()
}

/// The second function that an operation needs, which may be a macro.
fn other_half(own: &OwnOperation) -> Option<(&'static str, &'static str)> {
    let release = if own.admits_several() { "release_shared" } else { "release" };
    let halves = [
        (own.is_lock(), ("RELEASE", release)),
        (own.is("send"), ("RECEIVE", "receive")),
        (own.is_wait_for(), ("WAKE", "wake")),
    ];
    halves.into_iter().find_map(|(is_needed, half)| is_needed.then_some(half))
}

/// A function around a statement, with the names of the statement in scope.
fn in_scope(own: &OwnOperation, function: &str, statement: &str) -> String {
    let names: Vec<(&str, &str)> = NAMES.into_iter().filter(|(name, _)| has_word(statement, name)).collect();
    let of_each = |line: fn(&str, &str) -> String| -> String {
        names.iter().map(|(name, meaning)| line(name, meaning)).collect()
    };
    let (before, inside, after) = if is_cpp(own) {
        let references = of_each(|name, meaning| format!("[[maybe_unused]] auto &{name} = {meaning}; "));
        (String::new(), references, String::new())
    } else {
        let macros = of_each(|name, meaning| format!("#define {name} ({meaning})\n"));
        (macros, String::new(), of_each(|name, _| format!("#undef {name}\n")))
    };
    let head = format!("SYNCSCOPE_INLINED void {function}(struct thread *me) {{ {inside}");
    let line = |file| format!("#line 1 \"{file}\"");
    format!("{before}{head}\n{}\n{statement}\n;\n}}\n{}\n{after}", line(STATEMENT), line(BEHIND))
}

/// Whether a statement has a word outside member accesses: in C the word becomes a macro, which would also replace members.
fn has_word(statement: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    statement.match_indices(word).any(|(at, _)| {
        let (before, after) = (&statement[..at], &statement[at + word.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word) && !before.ends_with('.') && !before.ends_with("->")
    })
}

const fn c_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::I32 => "int32_t",
        Dtype::U32 => "uint32_t",
        Dtype::U64 => "uint64_t",
        Dtype::F32 => "float",
        Dtype::F64 => "double",
    }
}

/// The folder in which everything is compiled, even if measured code leaves it, and what cancels the compiler.
static PLACE: OnceLock<(PathBuf, Cancel)> = OnceLock::new();

/// Compiles in the current working folder from now on, even if measured code leaves it, and until `cancel`.
pub fn compile_here_until(cancel: Cancel) {
    place(cancel);
}

fn place(cancel: Cancel) -> &'static (PathBuf, Cancel) {
    PLACE.get_or_init(|| (env::current_dir().unwrap_or_default(), cancel))
}

/// The folder in which everything is compiled.
pub(super) fn folder() -> &'static Path {
    &place(Cancel::new()).0
}

/// A compiler with its options.
#[derive(Debug)]
pub(super) struct CompilerOf {
    program: PathBuf,
    /// The environment variable that names the compiler.
    variable: &'static str,
    pub(super) options: Vec<String>,
    /// How many of the options are words of the variable.
    given: usize,
    /// Options that a linker reads in order, to be placed behind the code that needs them.
    libraries: Vec<String>,
    /// The ending of a file in its language.
    pub(super) ending: &'static str,
}

impl CompilerOf {
    /// The compiler's command, with further options.
    pub(super) fn command(&self, more: &[&str]) -> Command {
        let folder = folder();
        let mut command = Command::new(&self.program);
        command.args(&self.options).args(more);
        if folder.is_dir() {
            command.current_dir(folder);
        }
        command
    }

    /// Links assembly to a file. Some atomic operations (`x++` of a `_Atomic double`, 16 bytes) have no instruction and are
    /// functions of the compiler's own library, which no compiler links by itself. The library of mathematical functions is
    /// linked only where something is missing without it, so that other code does not get it.
    pub(super) fn link(&self, assembly: &str, more: &[&str], file: &Path) -> Result<(), Refusal> {
        let linked_with = |libraries: &[&str]| {
            let mut command = self.command(more);
            // Clang has no use for some of the options when it gets assembly, and `-Werror` would make that an error.
            command.arg("-Wno-unused-command-line-argument");
            command.args(assembly.contains("__atomic_").then_some("-Wl,--no-as-needed,-latomic")).args(libraries);
            c_compiler::compile(command, ("s", assembly), &self.libraries, file, LIMIT, is_cancelled)
        };
        match linked_with(&[]) {
            Err(Refusal::Failed(error)) if error.contains("making a shared object") => {
                let hint = "the code becomes a shared library: leave out -static, and compile its objects with -fPIC";
                Err(Refusal::Failed(format!("{error} ({hint})")))
            }
            Err(Refusal::Failed(error)) if error.contains("undefined") => {
                let hint = format!("name its library in {0}, as in {0}='cc -lNAME'", self.variable);
                linked_with(&["-Wl,--no-as-needed,-lm"]).map_err(|_| Refusal::Failed(format!("{error} ({hint})")))
            }
            linked => linked,
        }
    }

    /// The compiler's name and version, the user's options without paths, and what else it reads or adds: wrappers and the
    /// variables of compilers change the code, too.
    fn description(&self) -> Option<String> {
        let mut command = Command::new(&self.program);
        command.args(&self.options).args(["-###", "-S", "-x", self.language(), "/dev/null", "-o", "/dev/null"]);
        let said = child_process::run_within(command.env("LC_ALL", "C"), LIMIT, is_cancelled).ok()?.messages;
        let version = said.lines().find(|line| line.contains(" version "))?.trim();
        let name = self.program.file_name()?.to_string_lossy();
        let own = self.options[..self.given].iter().chain(&self.libraries);
        let own = own.map(String::as_str).filter(|option| !option.contains('/'));
        let words = [&*name].into_iter().chain(own).collect::<Vec<_>>().join(" ");
        let mut added: Vec<String> = added_by_driver(&said, &self.options).into_iter().map(str::to_owned).collect();
        added.extend(added_to_clang(&said, &command).unwrap_or_default());
        let added = (!added.is_empty()).then(|| format!("adds {}", added.join(" ")));
        let told = surroundings::of_compilers();
        let told = (!told.is_empty()).then(|| format!("with {}", told.join(" ")));
        let all: Vec<String> = [version.to_owned()].into_iter().chain(added).chain(told).collect();
        Some(format!("{words} ({})", all.join("; ")))
    }

    fn language(&self) -> &'static str {
        if self.ending == "c" { "c" } else { "c++" }
    }

    /// The compiler as a C compiler, whatever the language of the operation.
    pub(super) fn of_c(&self) -> Command {
        let mut command = Command::new(&self.program);
        // The compiler that a launcher such as ccache starts.
        command.args(self.options[..self.given].iter().take_while(|word| !word.starts_with('-')));
        command.args(["-x", "c", "-std=gnu11"]);
        command
    }
}

/// The options of a wrapper: those that a driver of GCC would pass on (`-###`) without having got them. Paths and values of
/// options are left out, and so is what GCC itself adds for a usual processor.
fn added_by_driver<'a>(said: &'a str, given: &[String]) -> Vec<&'a str> {
    const USUAL: [&str; 9] =
        ["-D", "-I", "-S", "-o", "-x", "-mtune=generic", "-march=x86-64", "-mlittle-endian", "-mabi=lp64"];
    let line = said.lines().find_map(|line| line.strip_prefix("COLLECT_GCC_OPTIONS=")).unwrap_or_default();
    let mut added = Vec::new();
    for word in line.split('\'').filter(|word| word.starts_with('-') && !word.contains('/')) {
        if !USUAL.contains(&word) && !given.iter().any(|option| option == word) && !added.contains(&word) {
            added.push(word);
        }
    }
    added
}

/// What a wrapper adds to a command of clang. Clang says what its own compiler would get, not what it got itself, so the
/// options of the same command without the wrapper, run by the program that clang names, are left out.
fn added_to_clang(said: &str, command: &Command) -> Option<Vec<String>> {
    let (program, told) = told_by_clang(said)?;
    let mut alone = Command::new(program);
    alone.args(command.get_args()).env("LC_ALL", "C");
    let alone = child_process::run_within(&mut alone, LIMIT, is_cancelled).ok()?.messages;
    let (_, usual) = told_by_clang(&alone)?;
    let added: Vec<String> = told.into_iter().filter(|option| !usual.contains(option)).collect();
    // A processor has many features: `-march` stands for all of them.
    let is_of_processor = |option: &String| option.starts_with("-m+") || option.starts_with("-m-");
    let has_processor = added.iter().any(|option| option.starts_with("-march="));
    Some(added.into_iter().filter(|option| !has_processor || !is_of_processor(option)).collect())
}

/// The program that clang would start (`-###`), and the options that it would pass, without paths.
fn told_by_clang(said: &str) -> Option<(&str, Vec<String>)> {
    let line = said.lines().find(|line| line.contains("\"-cc1\""))?;
    let mut words = line.split('"').filter(|word| !word.trim().is_empty());
    let (program, mut options) = (words.next()?, Vec::new());
    while let Some(word) = words.next() {
        match word {
            "-target-cpu" => options.extend(words.next().map(|processor| format!("-march={processor}"))),
            "-target-feature" => options.extend(words.next().map(|feature| format!("-m{feature}"))),
            _ if word.starts_with('-') && !word.contains('/') => options.push(word.to_owned()),
            _ => {}
        }
    }
    Some((program, options))
}

/// Whether the user asks to stop.
pub(super) fn is_cancelled() -> bool {
    place(Cancel::new()).1.is_cancelled()
}

/// The compiler that the user asks for, for an operation on variables of a type.
///
/// # Errors
/// Where there is no such compiler.
pub(super) fn compiler_of(own: &OwnOperation, dtype: Dtype, has_work: bool) -> Result<CompilerOf, String> {
    compiler_among(own, dtype, has_work, true)
}

/// The language of an operation: the variable that names its compiler, the usual compiler, the ending of its files and the
/// standard.
fn language_of(own: &OwnOperation) -> (&'static str, &'static str, &'static str, &'static str) {
    if is_cpp(own) { ("CXX", "c++", "cpp", "-std=gnu++20") } else { ("CC", "cc", "c", "-std=gnu11") }
}

/// The compiler that the user asks for, or the usual one of this machine.
pub(super) fn compiler_among(
    own: &OwnOperation,
    dtype: Dtype,
    has_work: bool,
    is_asked: bool,
) -> Result<CompilerOf, String> {
    let (variable, usual, ..) = language_of(own);
    let chosen = env::var(variable).ok().filter(|chosen| is_asked && !chosen.trim().is_empty());
    let chosen = chosen.unwrap_or_else(|| usual.to_owned());
    of_words(own, (dtype, has_work), &chosen)
}

/// Says that a usual variable with options, which no compiler reads by itself, is not read.
pub fn ignored_flags(own: &OwnOperation) -> Option<String> {
    let (variable, usual, ..) = language_of(own);
    let name = format!("{}FLAGS", if is_cpp(own) { "CXX" } else { "C" });
    let options = env::var(&name).ok().filter(|options| !options.trim().is_empty())?;
    Some(format!("{name} is not read; to add its options: {variable}='{usual} {}'", options.trim()))
}

/// Says that link-time optimization, which the user asks for, is switched off.
pub fn ignored_lto(own: &OwnOperation) -> Option<String> {
    let compiler = compiler_of(own, Dtype::I32, false).ok()?;
    let is_about = |option: &&String| *option == "-fno-lto" || *option == "-flto" || option.starts_with("-flto=");
    let asked = compiler.options[..compiler.given].iter().rfind(is_about).filter(|option| *option != "-fno-lto")?;
    let variable = compiler.variable;
    Some(format!(
        "{asked} in {variable} is switched off: code that is generated at link time has no assembly to measure"
    ))
}

/// The optimization level where the user asks for none.
pub(super) const USUAL_LEVEL: &str = "-O2";

/// The compiler that these words name, with their options.
fn of_words(own: &OwnOperation, (dtype, has_work): (Dtype, bool), chosen: &str) -> Result<CompilerOf, String> {
    let (variable, usual, ending, standard) = language_of(own);
    let mut words = chosen.split_whitespace();
    let compiler = words.next().unwrap_or(usual);
    let mut found = c_compiler::in_path(&[compiler], env::var_os("PATH").unwrap_or_default().as_ref());
    let compiler = found.pop().ok_or_else(|| {
        format!(
            "there is no compiler `{compiler}`: install gcc or clang (Debian, Ubuntu: apt install g++), or name one in {variable}"
        )
    })?;
    let is_library = |word: &String| word.starts_with("-l");
    let (mut libraries, mut options): (Vec<String>, Vec<String>) = words.map(str::to_owned).partition(is_library);
    if let Some(sanitizer) = options.iter().find(|option| is_loaded_first(option)) {
        return Err(format!("{variable} has {sanitizer}, whose library a program must load first: measure without it"));
    }
    libraries.extend(run_paths(&options));
    let given = options.len();
    // The first words may be a launcher, such as ccache, and its compiler. The last level counts: the user's, in the variable or
    // in the options of the command.
    if !options.iter().any(|option| option.starts_with("-O")) {
        options.push(USUAL_LEVEL.to_owned());
    }
    // As in a program, no other library replaces a function of the source. A wait that gives up leaves the loop through the
    // frames of this code. Code that is generated at link time has no assembly.
    options.extend([standard, "-fPIC", "-fvisibility=hidden", "-fexceptions", "-fno-lto"].map(str::to_owned));
    if !is_cpp(own) {
        options.push("-Werror=implicit-function-declaration".to_owned());
    }
    options.push(format!("-DSYNCSCOPE_TYPE={}", c_type(dtype)));
    options.push(format!("-DSYNCSCOPE_FLOATING={}", u32::from(dtype.is_floating())));
    options.push(format!("-DSYNCSCOPE_WORK={}", u32::from(has_work)));
    if let Some(folder) = own.file.as_ref().and_then(|file| Path::new(file).parent()) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        options.push(format!("-I{}", folder.display()));
    }
    options.extend(own.options.iter().cloned());
    Ok(CompilerOf { program: compiler, variable, options, given, libraries, ending })
}

/// Whether an option needs a library that must be loaded before all others.
fn is_loaded_first(option: &str) -> bool {
    const SANITIZERS: [&str; 5] = ["address", "hwaddress", "leak", "memory", "thread"];
    let mut named = option.strip_prefix("-fsanitize=").into_iter().flat_map(|names| names.split(','));
    named.any(|name| SANITIZERS.contains(&name))
}

/// The options that let the loader find shared libraries in the folders in which the linker finds them.
fn run_paths(options: &[String]) -> Vec<String> {
    let (folder, _) = place(Cancel::new());
    let mut words = options.iter();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let named = match word.strip_prefix("-L") {
            Some("") => words.next().map(String::as_str),
            named => named,
        };
        found.extend(named.map(|name| format!("-Wl,-rpath,{}", folder.join(name).display())));
    }
    found
}

/// The compilers of these operations, by the variables that name them, because compilers decide the code.
pub(super) fn compilers<'a>(code: impl Iterator<Item = &'a OwnOperation>) -> BTreeMap<String, String> {
    let of_each = code.filter_map(|own| compiler_of(own, Dtype::I32, false).ok());
    let by_variable: BTreeMap<_, _> = of_each.map(|compiler| (compiler.variable, compiler)).collect();
    by_variable.into_iter().filter_map(|(name, compiler)| Some((name.to_owned(), compiler.description()?))).collect()
}

/// The name of the compiled library in its folder.
pub(super) const LIBRARY: &str = "operation.so";

/// A compiled operation, as assembly: the place of its code is decided when a library is made of it.
#[derive(Debug)]
pub(super) struct Compiled {
    assembly: String,
    compiler: CompilerOf,
}

/// Compiles an operation on variables of a type.
///
/// # Errors
/// The compiler's error, with the line of the user's source, or that there is no compiler.
pub(super) fn compile(own: &OwnOperation, dtype: Dtype, has_work: bool) -> Result<Compiled, Refusal> {
    compile_with(own, compiler_of(own, dtype, has_work)?)
}

fn compile_with(own: &OwnOperation, compiler: CompilerOf) -> Result<Compiled, Refusal> {
    let source = (compiler.ending, &*text(own));
    let assembly = c_compiler::assembly(compiler.command(&[]), source, LIMIT, is_cancelled)?;
    let assembly = assembly.map_err(|messages| explained(own, &messages))?;
    Ok(Compiled { assembly, compiler })
}

impl Compiled {
    /// A library with the code in a layout, in a folder of its own: the loader takes a file with a known name for the library
    /// that it has already loaded.
    ///
    /// # Errors
    /// The error of the assembler or the linker: a function that the source calls may be in no library.
    pub(super) fn library(&self, layout: u32) -> Result<TempDir, Refusal> {
        let folder = temporary_folder()?;
        let text = layout::padded(&self.assembly, layout);
        let options = ["-shared", "-Wl,--no-undefined,-z,now"];
        self.compiler.link(&text, &options, &folder.path().join(LIBRARY)).map(|()| folder)
    }

    /// Whether the timed code, with the functions that it calls, refers to anything outside the source: a function or variable
    /// of a library.
    pub(super) fn calls_libraries(&self) -> bool {
        !calls::outside(&self.assembly, |function| function == "syncscope_repeat_1").is_empty()
    }
}

/// The error among the messages of a compiler, with an explanation where it is outside the user's lines.
pub(super) fn explained(own: &OwnOperation, messages: &str) -> String {
    let error = c_compiler::first_error(messages);
    let statement = own.file.as_deref().unwrap_or(STATEMENT);
    if let Some((place, name)) = macro_of(&error, messages) {
        let error = match error.split_once(" error: ") {
            Some((_, what)) if error.starts_with(BEHIND) => format!("{place} error: {what}"),
            _ => error,
        };
        return format!("{error} (`{name}` is a name of the header: choose another)");
    }
    let missing = other_half(own).filter(|(_, half)| own.helper(half).is_none() && has_word(&error, half));
    if let (Some((_, half)), Some(function)) = (missing, &own.function) {
        return format!("{statement} has `{function}` but no `{half}`");
    }
    if let Some(remedy) = remedy_of_inlining(own, &error) {
        let what = error.split_once(" error: ").filter(|_| error.starts_with(BEHIND)).map(|(_, what)| what);
        let error = what.map_or_else(|| error.clone(), |what| format!("{statement}: error: {what}"));
        return format!("{error} ({remedy})");
    }
    if error.starts_with(BEHIND) && is_open(&own.text, own.file.is_some()) {
        return format!("{error} (behind the end of the {statement}: is it complete?)");
    }
    with_compiler(own, &error)
}

/// An error with the compiler's words in the user's variable, where the message names no place in a source.
pub(super) fn with_compiler(own: &OwnOperation, error: &str) -> String {
    let (variable, ..) = language_of(own);
    let chosen = env::var(variable).ok().filter(|chosen| !chosen.trim().is_empty() && !error.contains("error:"));
    chosen.map_or_else(|| error.to_owned(), |chosen| format!("{error} (from {variable}='{chosen}')"))
}

/// What to do about a function that cannot become a part of the timed loops, in the words of gcc and clang.
fn remedy_of_inlining(own: &OwnOperation, error: &str) -> Option<String> {
    const NO_FUNCTION: [&str; 5] = [
        "body not available",
        "redeclared as different kind",
        "as different kind of symbol",
        "but is not defined",
        "conflicts with a previous declaration",
    ];
    const NOT_INLINED: [&str; 4] =
        ["can never be inlined", "can never be copied", "inlining failed", "always_inline function"];
    let (name, has) = (own.function.as_deref()?, |words: &[&str]| words.iter().any(|word| error.contains(word)));
    if has(&NO_FUNCTION) && has_word(error, name) {
        return Some(format!("`{name}` must be a plain function: no template, variable or `using`"));
    }
    let own_function = format!("the timed loops contain `{name}` itself: put this code into a function that it calls");
    has(&NOT_INLINED).then_some(own_function)
}

/// The place where a statement uses one of its names for something of its own, and the name. Names are macros in C, which
/// compilers mention in a note: gcc where the name is used, clang where it is defined.
fn macro_of<'a>(error: &str, messages: &'a str) -> Option<(&'a str, &'static str)> {
    let mut notes = messages.lines().skip_while(|line| line.trim() != error).skip(1);
    let note = notes.by_ref().take_while(|line| !line.contains(" error: ")).find(|line| line.contains(" note: "))?;
    let (place, what) = note.split_once(" note: ")?;
    let name = what.strip_prefix("in expansion of macro ").or_else(|| what.strip_prefix("expanded from macro "))?;
    let name = name.trim_matches(['\'', '‘', '’']);
    let (name, _) = NAMES.into_iter().find(|(known, _)| *known == name)?;
    error.contains("expected").then_some((place, name))
}

/// Whether a text ends inside brackets or, for a file, inside a declaration.
fn is_open(text: &str, is_file: bool) -> bool {
    let (mut open, mut last, mut rest) = (0, ' ', text);
    while let Some(letter) = rest.chars().next() {
        let end = match letter {
            '/' if rest.starts_with("//") => rest.find('\n'),
            '/' if rest.starts_with("/*") => rest.find("*/").map(|at| at + 2),
            // A quote within a number starts no character: 1'000.
            '"' | '\'' if letter == '"' || !last.is_ascii_hexdigit() => end_of_quoted(rest, letter),
            _ => {
                open += i32::from("([{".contains(letter)) - i32::from(")]}".contains(letter));
                last = if letter.is_whitespace() { last } else { letter };
                Some(letter.len_utf8())
            }
        };
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    let is_directive = text.trim_end().lines().last().is_some_and(|line| line.trim_start().starts_with('#'));
    open > 0 || (is_file && !";}".contains(last) && !is_directive)
}

/// Where a string or a character that begins a text ends.
fn end_of_quoted(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = true;
    let is_end = |(_, letter): &(usize, char)| {
        let ends = *letter == quote && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        ends
    };
    text.char_indices().find(is_end).map(|(at, letter)| at + letter.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::super::inspection::{body_of, inspect};
    use super::super::library::Loops;
    use super::*;

    fn error(text: &str, file: Option<&str>) -> String {
        let function = file.map(|_| "operation".to_owned());
        let own = OwnOperation {
            id: "cpu.own.line".to_owned(),
            text: text.to_owned(),
            file: file.map(str::to_owned),
            function,
            ..OwnOperation::default()
        };
        compile(&own, Dtype::I32, false).unwrap_err().to_string()
    }

    #[test]
    fn a_word_of_a_statement_is_no_member() {
        assert!(has_word("atomic_fetch_add(&x, 1)", "x") && !has_word("y = time.x", "x"));
        assert!(!has_word("max(1, 2)", "x") && !has_word("pixel->x = 1", "x"));
    }

    /// Macros that a source defines before its includes count, and the order of its includes is kept.
    #[test]
    fn feature_macros_and_the_order_of_includes_are_those_of_the_source() {
        let operation = "void operation(struct thread *me) { me->value = (T)UINT32_MAX; }\n";
        for head in [
            "#define _GNU_SOURCE\n#include <sched.h>\nint f(void) { return sched_getcpu(); }\n",
            "// A comment.\n#ifndef GUARD\n#define GUARD\n#define _GNU_SOURCE 1\n#include <pthread.h>\n\
             int f(void) { return PTHREAD_MUTEX_ADAPTIVE_NP; }\n#endif\n",
            "#define _POSIX_C_SOURCE 200809L\n#include <stdio.h>\n#include <sys/types.h>\n#include <inttypes.h>\n\
             #ifdef _GNU_SOURCE\n#error not asked for\n#endif\nconst char *f = PRIu64;\n",
            "#pragma GCC optimize(\"O3\")\n#pragma pack(push, 1)\nstruct p { char a; long b; };\n#pragma pack(pop)\n\
             _Static_assert(sizeof(struct p) == 9, \"pack\");\n#include <stdatomic.h>\n#include <stdint.h>\n",
            "#ifdef _FEATURES_H\n#error a header of the system has been read\n#endif\n_Static_assert(__STDC_HOSTED__, \"\");\n",
        ] {
            let own = OwnOperation {
                id: "cpu.own.features".to_owned(),
                text: format!("{head}{operation}"),
                file: Some("mine.c".to_owned()),
                function: Some("operation".to_owned()),
                options: vec!["-Werror".to_owned(), "-Wall".to_owned()],
                ..OwnOperation::default()
            };
            let library = compile(&own, Dtype::I32, false).and_then(|compiled| compiled.library(0));
            assert!(library.is_ok(), "{head}{library:?}");
        }
    }

    /// A user's strict warnings apply to the user's lines: the code around them gives no warning, whatever part of it is used.
    #[test]
    fn strict_options_are_for_the_lines_of_the_user() {
        let lock = "void acquire(struct thread *me) { while (atomic_exchange(me->x, 1)) syncscope_pause(); }\n\
                    void release(struct thread *me) { atomic_store(me->x, 0); }\n";
        let lock_in_cpp = "void acquire(struct thread *me) { while (me->x->exchange(1)) syncscope_pause(); }\n\
                           void release(struct thread *me) { me->x->store(0); }\n";
        let readers = lock.replace("acquire", "acquire_shared").replace("release", "release_shared");
        let counted = "int check(struct thread *me) { return *me->x >= 0; }\n\
                       void setup(struct thread *me) { atomic_store(me->x, 0); }\n\
                       void operation(struct thread *me) { atomic_fetch_add(me->x, 1); }\n";
        for (text, file) in [
            (lock, Some("lock.c")),
            (lock_in_cpp, Some("lock.cpp")),
            (&readers, Some("readers.c")),
            (counted, Some("counted.c")),
            ("x++", None),
        ] {
            let source = OwnOperation {
                text: text.to_owned(),
                file: file.map(str::to_owned),
                options: ["-Wall", "-Wextra", "-Werror"].map(str::to_owned).to_vec(),
                ..OwnOperation::default()
            };
            let found = inspect(&source, &OwnOperation::candidates(text), None);
            let found = found.unwrap_or_else(|error| panic!("{file:?}: {error}"));
            let (function, _) = &found.functions[0];
            let own = source.clone().known(&found, Some(function).filter(|_| file.is_some()).map(String::as_str));
            let library = compile(&own, Dtype::I32, false).and_then(|compiled| compiled.library(0));
            assert!(library.is_ok(), "{file:?}: {library:?}");
        }
    }

    /// Only what is outside of the code can tell whether its process has other threads.
    #[test]
    fn what_calls_a_library_is_known() {
        let calls = |text: &str, file: Option<&str>| {
            let own = OwnOperation {
                id: "cpu.own.calls".to_owned(),
                text: text.to_owned(),
                file: file.map(str::to_owned),
                function: file.map(|_| "operation".to_owned()),
                ..OwnOperation::default()
            };
            compile(&own, Dtype::I32, false).unwrap().calls_libraries()
        };
        assert!(!calls("atomic_fetch_add(&x, 1)", None) && !calls("meet(me)", None));
        let untimed = "#include <stdlib.h>\nvoid operation_other(struct thread *me) { (void)me; abort(); }\n\
                       void operation(struct thread *me) { atomic_fetch_add(me->x, 1); }";
        assert!(!calls(untimed, Some("mine.c")));
        let own = "__attribute__((noinline)) int next(int a) { __asm__ volatile(\"\"); return a + 1; }\n\
                   void operation(struct thread *me) { me->value = next(me->value); }";
        assert!(!calls(own, Some("mine.c")));
        assert!(calls(
            "#include <stdlib.h>\nvoid operation(struct thread *me) { me->value = rand(); }",
            Some("mine.c")
        ));
        let shared = "#include <memory>\nstatic std::shared_ptr<int> owner = std::make_shared<int>(7);\n\
                      void operation(struct thread *me) { std::shared_ptr<int> mine = owner; me->value = *mine; }";
        assert!(calls(shared, Some("mine.cpp")));
    }

    /// Comments would be taken for names and instructions.
    #[test]
    fn comments_of_a_compiler_are_no_code() {
        let text = "#include <stdlib.h>\nvoid operation(struct thread *me) { me->value += (T)rand(); }".to_owned();
        let (file, function) = (Some("mine.c".to_owned()), Some("operation".to_owned()));
        let own = OwnOperation { text, file, function, ..OwnOperation::default() };
        let with = |words: &str| compile_with(&own, of_words(&own, (Dtype::I32, false), words).unwrap()).unwrap();
        let commented = with("cc -fverbose-asm");
        assert!(commented.calls_libraries());
        assert_eq!(commented.assembly, with("cc").assembly);
    }

    #[test]
    fn an_open_text_is_told_from_a_whole_one() {
        for whole in ["x++", "atomic_fetch_add(&x, '(')", "f(\"\\\"(\")", "x = 1'000(", "/* { */ x++ // ("] {
            assert_eq!(is_open(whole, false), whole.starts_with("x = "), "{whole}");
        }
        for (file, open) in [
            ("int a;\n", false),
            ("void operation(void) {}\n// the end", false),
            ("#if 1\nint a;\n# endif\n", false),
            ("int a", true),
            ("void operation(void) { if (1) {", true),
        ] {
            assert_eq!(is_open(file, true), open, "{file}");
        }
    }

    /// Without optimization the loops must hold different code and the probe only what the operation uses, although the
    /// compiler would leave the choice to run time.
    #[test]
    fn loops_differ_by_the_operation_without_optimization() {
        let own = OwnOperation {
            text: "atomic_fetch_add(&x, 1)".to_owned(),
            options: vec!["-O0".to_owned()],
            ..OwnOperation::default()
        };
        let assembly = compile(&own, Dtype::I32, false).unwrap().assembly;
        let lines = ["syncscope_repeat_0", "syncscope_repeat_1", "syncscope_repeat_2"]
            .map(|name| body_of(&assembly, name).lines().count());
        // Each loop has one copy more of the same code than the one before.
        assert!(lines[0] < lines[1] && lines[1] - lines[0] == lines[2] - lines[1], "{lines:?}");
        let found = inspect(&own, &[], None).unwrap();
        assert_eq!(found.functions, [(String::new(), vec![OwnUse::Variable])]);
    }

    /// A library that is linked for every operation would be loaded by all, and would make some processes differ from others.
    #[test]
    fn mathematical_functions_are_linked_where_they_are_called() {
        for (text, needs) in [("value = (T)pow(value, 1.5)", true), ("value++", false)] {
            let own = OwnOperation {
                includes: "#include \"math.h\"\n".to_owned(),
                text: text.to_owned(),
                ..OwnOperation::default()
            };
            let compiled = compile(&own, Dtype::F64, false).unwrap();
            let library = compiled.library(0).unwrap();
            let bytes = std::fs::read(library.path().join(LIBRARY)).unwrap();
            assert_eq!(bytes.windows(6).any(|word| word == b"libm.s"), needs, "{text}");
            assert_eq!(compiled.calls_libraries(), needs, "{text}");
        }
    }

    /// A linker reads archives in order. A run records what compiled it, without paths.
    #[test]
    fn libraries_stand_behind_what_needs_them_and_compilers_are_known() {
        let folder = temporary_folder().unwrap();
        let library = folder.path().join("libown.a");
        let shell =
            "echo 'int three(void) { return 3; }' | cc -O2 -fPIC -x c -c - -o three.o && ar rcs libown.a three.o";
        assert!(Command::new("sh").args(["-c", shell]).current_dir(folder.path()).status().unwrap().success());
        let text = "int three(void); void operation(struct thread *me) { me->value = three(); }";
        let own = OwnOperation {
            text: text.to_owned(),
            file: Some("mine.c".to_owned()),
            function: Some("operation".to_owned()),
            ..OwnOperation::default()
        };
        let usual = compiler_of(&own, Dtype::I32, false).unwrap();
        let with = |words: &str| of_words(&own, (Dtype::I32, false), words).unwrap();
        let folder = format!("-L{}", library.parent().unwrap().display());
        let compiler = with(&format!("cc -g0 {folder} -lown"));
        let made_by = |compiler| compile_with(&own, compiler).and_then(|compiled| compiled.library(0));
        let missing = made_by(usual).unwrap_err().to_string();
        assert!(missing.contains("undefined") && missing.ends_with("(name its library in CC, as in CC='cc -lNAME')"));
        let description = compiler.description().unwrap();
        assert!(description.starts_with("cc -g0 -lown (") && description.contains(" version "), "{description}");
        made_by(compiler).unwrap();
    }

    /// `CC='ccache gcc'`: the first options of a launcher are its own, and it starts the next word.
    #[test]
    fn a_launcher_gets_no_option_of_the_compiler() {
        let folder = temporary_folder().unwrap();
        let launcher = folder.path().join("launch");
        let script = "#!/bin/sh\ncase $1 in -*) echo \"$0: invalid option $1\" >&2; exit 9;; esac\nexec \"$@\"\n";
        std::fs::write(&launcher, script).unwrap();
        std::fs::set_permissions(&launcher, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let own = OwnOperation { text: "x++".to_owned(), ..OwnOperation::default() };
        for (words, level) in [("cc", Some(USUAL_LEVEL)), ("cc -g0 -O1", None), ("cc -O", None)] {
            let compiler = of_words(&own, (Dtype::I32, false), &format!("{} {words}", launcher.display())).unwrap();
            assert_eq!(compiler.options.iter().any(|option| option == USUAL_LEVEL), level.is_some(), "{words}");
            assert!(compiler.description().unwrap().starts_with(&format!("launch {words} (")), "{words}");
            let [object, source] = ["f.o", "f.c"].map(|name| folder.path().join(name));
            std::fs::write(&source, "int f;").unwrap();
            let mut of_c = compiler.of_c();
            assert!(of_c.arg("-c").arg(source).arg("-o").arg(object).status().unwrap().success(), "{words}");
            compile_with(&own, compiler).and_then(|compiled| compiled.library(0)).unwrap();
        }
    }

    /// The loader looks into none of the folders of `-L` by itself.
    #[test]
    fn a_shared_library_is_found_where_the_linker_finds_it() {
        let folder = temporary_folder().unwrap();
        let shell = "echo 'int three(void) { return 3; }' | cc -shared -fPIC -x c - -o libshared_three.so";
        assert!(Command::new("sh").args(["-c", shell]).current_dir(folder.path()).status().unwrap().success());
        let own = OwnOperation {
            text: "int three(void); void operation(struct thread *me) { me->value = three(); }".to_owned(),
            file: Some("mine.c".to_owned()),
            function: Some("operation".to_owned()),
            ..OwnOperation::default()
        };
        for space in ["", " "] {
            let words = format!("cc -L{space}{} -lshared_three", folder.path().display());
            let compiled = compile_with(&own, of_words(&own, (Dtype::I32, false), &words).unwrap()).unwrap();
            let library = compiled.library(0).unwrap();
            let loaded = Loops::load(&library.path().join(LIBRARY));
            assert!(loaded.is_ok(), "{words}: {loaded:?}");
        }
    }

    /// What cannot become a part of the timed loops has an error that says what to do.
    #[test]
    fn a_compiler_that_cannot_do_it_has_an_error_with_a_remedy() {
        let own = |text: &str| OwnOperation {
            text: text.to_owned(),
            file: Some("mine.cpp".to_owned()),
            function: Some("operation".to_owned()),
            ..OwnOperation::default()
        };
        for text in [
            "template <class Thread> void operation(Thread *me) { me->value++; }",
            "static auto operation = [](thread *me) { me->value++; };",
        ] {
            let said = inspect(&own(text), &["operation".to_owned()], None).unwrap_err();
            assert!(said.starts_with("mine.cpp:") && said.contains("must be a plain function"), "{said}");
        }
        for said in [
            "function ‘operation’ can never be inlined because it uses setjmp",
            "function ‘operation’ can never be copied because it saves address of local label in a static variable",
            "inlining failed in call to ‘always_inline’ ‘operation’: target specific option mismatch",
            "always_inline function 'operation' requires target feature 'avx2', but would be inlined into function",
        ] {
            let said = explained(&own(""), &format!("mine.cpp:3:6: error: {said}\n"));
            assert!(said.starts_with("mine.cpp:3:6: error: ") && said.ends_with("a function that it calls)"), "{said}");
        }
        let with = |words: &str| of_words(&own(""), (Dtype::I32, false), words);
        for option in ["address", "undefined,thread", "leak"].map(|name| format!("-fsanitize={name}")) {
            let said = with(&format!("c++ {option}")).unwrap_err();
            assert!(said.starts_with(&format!("CXX has {option}, ")), "{said}");
        }
        assert!(with("c++ -fsanitize=undefined").is_ok());
        let shared = "/usr/bin/ld: crtbeginT.o: relocation can not be used when making a shared object";
        let linker = temporary_folder().unwrap();
        let file = linker.path().join("cc");
        std::fs::write(&file, format!("#!/bin/sh\necho '{shared}' >&2\nexit 1\n")).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let compiler = with(file.to_str().unwrap()).unwrap();
        let said = Compiled { assembly: String::new(), compiler }.library(0).unwrap_err().to_string();
        assert!(said.starts_with(shared) && said.contains("leave out -static"), "{said}");
    }

    /// The user's optimization level counts, and what a wrapper adds is recorded.
    #[test]
    fn what_changes_the_code_is_what_is_said_to() {
        let own = OwnOperation {
            text: "#ifdef __OPTIMIZE__\n#error optimized\n#endif\nvoid operation(struct thread *me) { me->value++; }"
                .to_owned(),
            file: Some("mine.c".to_owned()),
            function: Some("operation".to_owned()),
            ..OwnOperation::default()
        };
        let with = |words: &str| of_words(&own, (Dtype::I32, false), words).unwrap();
        let is_optimized = |words: &str| compile_with(&own, with(words)).is_err();
        assert!(is_optimized("cc") && is_optimized("cc -O1") && !is_optimized("cc -O0"));
        let folder = temporary_folder().unwrap();
        let wrapper = folder.path().join("cc");
        std::fs::write(&wrapper, "#!/bin/sh\nexec cc -g0 \"$@\" -O0 -I/opt/site\n").unwrap();
        std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let wrapper = wrapper.to_str().unwrap();
        assert!(!is_optimized(wrapper));
        let of = |words: &str| with(words).description().unwrap();
        assert!(!of("cc -O1").contains("adds"), "{}", of("cc -O1"));
        assert!(of("cc -O1").contains("clang") || of(wrapper).ends_with("; adds -g0 -O0)"), "{}", of(wrapper));
        // Stand-ins: a clang that prints all that its own compiler would get, and a wrapper of it.
        let [clang, wrapper] = ["clang", "site-cc"].map(|name| folder.path().join(name));
        let says = "#!/bin/sh\n{ echo 'clang version 99'; printf ' \"%s\" \"-cc1\"' \"$0\"; printf ' \"%s\"' \"$@\"; echo; } >&2\n";
        let wraps = "#!/bin/sh\nexec \"${0%/*}/clang\" \"$@\" -O0 -target-cpu snow -target-feature +ice -D SECRET -I/opt/site\n";
        for (file, script) in [(&clang, says), (&wrapper, wraps)] {
            std::fs::write(file, script).unwrap();
            std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        assert_eq!(of(&format!("{} -O1", clang.display())), "clang -O1 (clang version 99)");
        assert_eq!(of(wrapper.to_str().unwrap()), "site-cc (clang version 99; adds -O0 -march=snow -D)");
    }

    #[test]
    fn errors_have_the_lines_of_the_user() {
        assert!(error("atomic_fetch_add(&y, 1)", None).starts_with("statement:1:19: error: "), "{}", error("&y", None));
        for open in ["atomic_fetch_add(&x, 1", "{ x++"] {
            assert!(
                error(open, None).ends_with("(behind the end of the statement: is it complete?)"),
                "{}",
                error(open, None)
            );
        }
        // In C the names of a statement are macros.
        let named = error("int x = 5; value += x", None);
        assert!(named.starts_with("statement:1:5: error: expected") && named.contains("`x` is a name of"), "{named}");
        let included = OwnOperation {
            includes: "#include \"none.h\"\n".to_owned(),
            text: "x++".to_owned(),
            ..OwnOperation::default()
        };
        let included = compile(&included, Dtype::I32, false).unwrap_err().to_string();
        assert!(
            included.starts_with("--include:1:") && included.ends_with("none.h: No such file or directory"),
            "{included}"
        );
        let half = OwnOperation {
            text: "void acquire(struct thread *me) { (void)me; }\n".to_owned(),
            file: Some("mine.c".to_owned()),
            function: Some("acquire".to_owned()),
            ..OwnOperation::default()
        };
        let half = compile(&half, Dtype::I32, false).unwrap_err().to_string();
        assert_eq!(half, "mine.c has `acquire` but no `release`");
        let missing = error("#include <stdint.h>\n\nvoid operation(struct thread *me) { me->y = 1; }", Some("mine.c"));
        assert!(missing.starts_with("mine.c:3:") && missing.contains("no member named"), "{missing}");
        let wrong = error("void operation(int me) {}", Some("mine.cpp"));
        assert!(wrong.contains("operation"), "{wrong}");
    }
}
