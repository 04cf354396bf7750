//! From what a user wrote to a shared library: the C or C++ around it, and the system's compiler.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use syncscope_core::language::Language;
use syncscope_core::{Cancel, Dtype, OwnOperation};
use syncscope_host::guard::TemporaryFolder;

use crate::machine::c_compiler;

/// What the source may use: printed by `syncscope measure --header cpu`.
pub const HEADER: &str = include_str!("own.h");

const LOOPS: &str = include_str!("loops.h");

/// The name of a statement in the compiler's messages.
const STATEMENT: &str = "statement";

/// What stands behind the user's lines in the compiler's messages.
const BEHIND: &str = "loops.h";

/// Longest time for one operation; those of templates take seconds. Whoever watches this process waits longer.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// A copy of the operation must stand in the loop itself, as a program's compiler may put it there.
const INLINED: &str = "static inline __attribute__((always_inline, unused))";

/// Whether it is compiled as C++: by the ending of the file, for a statement by `-std`, or else where it has what C has not.
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
fn text(own: &OwnOperation) -> String {
    format!("{}{LOOPS}", functions(own))
}

/// The user's lines alone, with what they may use.
pub(super) fn lines(own: &OwnOperation) -> String {
    let file = own.file.as_deref().unwrap_or(STATEMENT);
    format!("#line 1 \"own.h\"\n{HEADER}\n{}#line 1 \"{file}\"\n{}\n", own.includes, own.text)
}

/// The functions that are made of what the user wrote: `syncscope_once` and others.
pub(super) fn functions(own: &OwnOperation) -> String {
    let mut unit = vec![format!("#line 1 \"own.h\"\n{HEADER}\n{}", own.includes)];
    let call = |name: Option<String>| name.map_or_else(String::new, |name| format!("{name}(me);"));
    let (set_up, check) = if let (Some(file), Some(function)) = (&own.file, &own.function) {
        let other = |kind, name: &str| own.is(kind).then(|| own.helper(name).unwrap_or_else(|| name.to_owned()));
        let (release, receive) = (other("acquire", "release"), other("send", "receive"));
        for name in [Some(function.clone()), release.clone(), receive.clone()].into_iter().flatten() {
            unit.push(format!("{INLINED} void {name}(struct thread *me);\n"));
        }
        unit.push(format!("#line 1 \"{file}\"\n{}\n#line 1 \"{BEHIND}\"\n", own.text));
        let stressed = release.as_ref().map(|release| {
            format!(
                "{INLINED} void syncscope_stressed(struct thread *me) {{ {function}(me); const uint64_t seen = *me->counter; \
                 for (uint64_t i = (me->number * 7 + seen * 5) % 32; i > 0; i--) syncscope_pause(); *me->counter = seen + 1; \
                 {release}(me); }}\n"
            )
        });
        unit.extend(stressed);
        let body = match release {
            Some(release) => format!(
                "if (SYNCSCOPE_WORK) me->work(me->outside); {function}(me); *me->counter = *me->counter + 1; \
                 if (SYNCSCOPE_WORK) me->work(me->inside); {release}(me);"
            ),
            None => receive.map_or_else(
                || format!("{function}(me);"),
                |receive| {
                    format!(
                        "me->sent++; if (me->number == 0) {{ *me->counter = me->sent; {function}(me); }} \
                         else {{ {receive}(me); if (*me->counter != me->sent) __atomic_fetch_add(me->counter + 1, 1, __ATOMIC_RELAXED); }} meet(me);"
                    )
                },
            ),
        };
        unit.push(format!("{INLINED} void syncscope_once(struct thread *me) {{ {body} }}\n"));
        let check = own.helper("check").map_or_else(|| "return 1;".to_owned(), |name| format!("return {name}(me);"));
        (call(own.helper("setup")), check)
    } else {
        unit.push(in_scope(own, "syncscope_once", &own.text));
        (String::new(), "return 1;".to_owned())
    };
    match &own.setup {
        Some(statement) => unit.push(in_scope(own, "syncscope_set_up", statement)),
        None => unit.push(format!("static void syncscope_set_up(struct thread *me) {{ (void)me; {set_up} }}\n")),
    }
    if !own.is("acquire") {
        unit.push("#define syncscope_stressed syncscope_once\n".to_owned());
    }
    match &own.baseline {
        Some(statement) => unit.push(in_scope(own, "syncscope_context", statement)),
        None => unit.push("#define syncscope_context syncscope_once\n".to_owned()),
    }
    unit.push(format!("static int syncscope_check(struct thread *me) {{ (void)me; {check} }}\n#line 1 \"{BEHIND}\"\n"));
    unit.concat()
}

/// A function with a statement that has its names in scope.
fn in_scope(own: &OwnOperation, function: &str, statement: &str) -> String {
    const NAMES: [(&str, &str); 3] = [("x", "*me->x"), ("mine", "*me->mine"), ("value", "me->value")];
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
    format!(
        "{before}{INLINED} void {function}(struct thread *me) {{ {inside}\n#line 1 \"{STATEMENT}\"\n{statement}\n;\n}}\n#line 1 \"{BEHIND}\"\n{after}"
    )
}

/// Whether a statement has a word that is no member of something: in C it becomes a macro, which would reach members, too.
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

/// What holds for all that is compiled.
#[derive(Debug, Clone)]
struct Surroundings {
    /// The folder to which names are relative. Measured code may leave it.
    folder: PathBuf,
    /// Ends the compiler.
    cancel: Cancel,
}

static SURROUNDINGS: OnceLock<Surroundings> = OnceLock::new();

/// Compiles in what is now the working folder, also if measured code leaves it, and until `cancel`.
pub fn compile_here_until(cancel: Cancel) {
    surroundings(cancel);
}

fn surroundings(cancel: Cancel) -> &'static Surroundings {
    SURROUNDINGS.get_or_init(|| Surroundings { folder: env::current_dir().unwrap_or_default(), cancel })
}

/// A compiler with its options.
pub(super) struct CompilerOf {
    program: PathBuf,
    pub(super) options: Vec<String>,
    /// Of a file in its language.
    pub(super) ending: &'static str,
}

impl CompilerOf {
    /// The command with these options, too.
    pub(super) fn command(&self, more: &[&str]) -> Command {
        let Surroundings { folder, .. } = surroundings(Cancel::new());
        let mut command = Command::new(&self.program);
        command.args(&self.options).args(more);
        if folder.is_dir() {
            command.current_dir(folder);
        }
        command
    }
}

/// Whether the user asks to stop.
pub(super) fn is_cancelled() -> bool {
    surroundings(Cancel::new()).cancel.is_cancelled()
}

/// The compiler of an operation on variables of a type.
///
/// # Errors
/// That there is none.
pub(super) fn compiler_of(own: &OwnOperation, dtype: Dtype, has_work: bool) -> Result<CompilerOf, String> {
    let (variable, usual, ending, standard) =
        if is_cpp(own) { ("CXX", "c++", "cpp", "-std=gnu++20") } else { ("CC", "cc", "c", "-std=gnu11") };
    let chosen = env::var(variable).ok().filter(|chosen| !chosen.trim().is_empty());
    let chosen = chosen.unwrap_or_else(|| usual.to_owned());
    let mut words = chosen.split_whitespace();
    let compiler = words.next().unwrap_or(usual);
    let mut found = c_compiler::in_path(&[compiler], env::var_os("PATH").unwrap_or_default().as_ref());
    let compiler = found.pop().ok_or_else(|| {
        format!(
            "there is no compiler `{compiler}`: install gcc or clang (Debian, Ubuntu: apt install g++), or name one in {variable}"
        )
    })?;
    let mut options: Vec<String> = words.map(str::to_owned).collect();
    // A wait that gives up leaves the loop through the frames of this code.
    options.extend([standard, "-O2", "-fPIC", "-fexceptions"].map(str::to_owned));
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
    Ok(CompilerOf { program: compiler, options, ending })
}

/// The name of the compiled library in its folder.
pub(super) const LIBRARY: &str = "operation.so";

/// Compiles an operation on variables of a type, to a library in a folder of its own: the loader takes a file of a known name for the
/// one that it has loaded.
///
/// # Errors
/// What the compiler says, with the line of the user's source, or that there is none.
pub(super) fn compile(own: &OwnOperation, dtype: Dtype, has_work: bool) -> Result<TemporaryFolder, String> {
    let folder = TemporaryFolder::create().map_err(|error| format!("{}: {error}", env::temp_dir().display()))?;
    let file = folder.path().join(LIBRARY);
    let compiler = compiler_of(own, dtype, has_work)?;
    let command = compiler.command(&["-shared", "-Wl,--no-undefined,-z,now"]);
    c_compiler::compile(command, (compiler.ending, &text(own)), &file, LIMIT, is_cancelled)
        .map(|()| folder)
        .map_err(|error| explained(own, error))
}

/// An error of the compiler, with what an error behind the user's lines means.
pub(super) fn explained(own: &OwnOperation, error: String) -> String {
    if !error.starts_with(BEHIND) {
        return error;
    }
    format!("{error} (behind the end of the {}: is it complete?)", own.file.as_deref().unwrap_or(STATEMENT))
}

#[cfg(test)]
mod tests {
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
        compile(&own, Dtype::I32, false).unwrap_err()
    }

    #[test]
    fn a_word_of_a_statement_is_no_member() {
        assert!(has_word("atomic_fetch_add(&x, 1)", "x") && !has_word("y = time.x", "x"));
        assert!(!has_word("max(1, 2)", "x") && !has_word("pixel->x = 1", "x"));
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
        let missing = error("#include <stdint.h>\n\nvoid operation(struct thread *me) { me->y = 1; }", Some("mine.c"));
        assert!(missing.starts_with("mine.c:3:") && missing.contains("no member named"), "{missing}");
        let wrong = error("void operation(int me) {}", Some("mine.cpp"));
        assert!(wrong.contains("operation"), "{wrong}");
    }
}
