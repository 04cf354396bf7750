//! Programs that try whether an operation keeps its promise: in a model of memory (`explore.c`), or by threads of this machine
//! (`stress.c`). Both use the operation in the same way (`trial.h`). They run in processes of their own with limited time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::io;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use syncscope_core::{Dtype, OwnCheck, OwnOperation};
use syncscope_host::child_process::{self, Ended, Killed};
use syncscope_host::end::End;
use syncscope_host::guard::{temporary_folder, temporary_folder_in};
use syncscope_host::limits;
use tempfile::TempDir;

use super::inspection::body_of;
use super::library::NOEXEC;
use super::source::{CompilerOf, LIMIT, compiler_among, compiler_of, explained, functions, is_cancelled, text};
use syncscope_machine::c_compiler;

const TRIAL: &str = include_str!("trial.h");

/// The model of memory: one program made of four parts.
const MODEL: &str = concat!(
    include_str!("sequential.h"),
    include_str!("memory.h"),
    include_str!("libraries.h"),
    include_str!("explore.c")
);

/// The text in front of a source in the model, which redirects its pauses and meetings to the model.
const OF_MODEL: &str = "#ifdef __cplusplus\nextern \"C\" {\n#endif\nvoid syncscope_model_pause(void);\n\
     void syncscope_model_meet(void *me);\n#ifdef __cplusplus\n}\n#endif\n\
     #define syncscope_pause syncscope_model_pause\n#define meet(me) syncscope_model_meet(me)\n";

/// A program may take this many times its time, plus a moment to begin: other programs may have the CPUs.
const PATIENCE: u32 = 4;
const MOMENT: Duration = Duration::from_secs(3);

/// How long `stress.c` waits at most for a thread that gets no CPU.
const STARVED: Duration = Duration::from_secs(12);

macro_rules! forms {
    ($($id:literal $($file:literal)+,)+) => { [$(($id, concat!($(include_str!(concat!("forms/", $file))),+))),+] };
}

/// Our own locks and barriers by their id, written in C as a user would: the catalogue's are in Rust.
pub const FORMS: [(&str, &str); 17] = forms! {
    "cpu.lock.ttas" "ttas.c",
    "cpu.lock.ttas_backoff" "ttas_backoff.c",
    "cpu.lock.ticket" "ticket.c",
    "cpu.lock.mcs" "nodes.c" "queue.c" "mcs.c",
    "cpu.lock.clh" "clh.c",
    "cpu.lock.reciprocating" "reciprocating.c",
    "cpu.lock.hemlock" "hemlock.c",
    "cpu.lock.qspinlock" "nodes.c" "qspinlock.c",
    "cpu.lock.cna" "nodes.c" "queue.c" "cna.c",
    "cpu.lock.cohort" "cohort.c",
    "cpu.lock.spin_park" "spin_park.c",
    "cpu.barrier.sense" "sense.c",
    "cpu.barrier.dissemination" "dissemination.c",
    "cpu.barrier.tree" "tree.c",
    "cpu.barrier.flat" "flat.c",
    "cpu.barrier.clusters" "clusters.c",
    "cpu.barrier.futex" "futex.c",
};

/// The usual sizes of the model: threads, and uses of the operation per thread.
pub const SIZES: [(u32, u32); 3] = [(2, 2), (3, 1), (2, 4)];

/// Programs of one operation and its variants.
#[derive(Debug)]
pub struct Trials {
    folder: TempDir,
    dtype: Dtype,
    /// The compiled assembly, by file, text and function. (The file's folder has its headers.)
    known: Mutex<HashMap<Known, Result<String, String>>>,
    /// Whether the compiler is for another processor, known once it has compiled something.
    is_foreign: OnceLock<bool>,
}

type Known = (Option<String>, String, Option<String>);

/// One of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Program {
    Model,
    Stress,
}

impl Program {
    const fn source(self) -> (&'static str, &'static str) {
        match self {
            Self::Model => ("explore", MODEL),
            Self::Stress => ("stress", include_str!("stress.c")),
        }
    }
}

impl Trials {
    /// Trials for variables of a type.
    ///
    /// # Errors
    /// Where there is no folder for the programs.
    pub fn new(dtype: Option<Dtype>) -> Result<Self, String> {
        let folder = temporary_folder()?;
        Ok(Self { folder, dtype: dtype.unwrap_or(Dtype::I32), known: Mutex::default(), is_foreign: OnceLock::new() })
    }

    /// The code of an operation in a timed loop and in its test, as assembly without names: equal for operations that execute
    /// the same.
    ///
    /// # Errors
    /// The compiler's error.
    pub fn assembly(&self, own: &OwnOperation) -> Result<String, String> {
        let key = (own.file.clone(), own.text.clone(), own.function.clone());
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let compiler = compiler_of(own, self.dtype, false)?;
        let text = format!("{}{TARGET}{}", text(own), trial_of(own, Program::Stress).unwrap_or_default());
        let assembly = assembly(own, &compiler, &text, &["-DSYNCSCOPE_FEW=1"]);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, assembly.clone());
        assembly
    }

    /// The processor that this assembly is for, if it is not this machine's.
    pub fn foreign(assembly: &str) -> Option<&str> {
        let (_, rest) = assembly.split_once("syncscope_target_")?;
        rest.split(',').next().map(str::trim).filter(|target| *target != std::env::consts::ARCH)
    }

    /// The instructions that execute an operation once, from its assembly.
    pub fn code(assembly: &str) -> Vec<String> {
        let lines = body_of(assembly, "syncscope_execute").lines().skip(1).map(|line| line.trim().replace('\t', " "));
        // The compiler marks the beginning and the end of an `asm` statement by comments.
        let is_code = |line: &String| {
            !line.is_empty() && !line.starts_with('#') && (!line.starts_with('.') || line.ends_with(':'))
        };
        lines.filter(is_code).collect()
    }

    /// The instructions that execute an operation once, and everything that decides what they do: the functions of its file
    /// that it calls or takes the address of, the data that it uses, its setup and the file's initializers. Labels and names of
    /// the file are numbered in order, so operations that differ only in names are equal.
    pub fn timed(assembly: &str) -> Vec<String> {
        const DATA: [&str; 14] = [
            ".long", ".quad", ".value", ".byte", ".string", ".ascii", ".asciz", ".zero", ".short", ".word", ".xword",
            ".hword", ".octa", ".skip",
        ];
        let lines: Vec<&str> = assembly.lines().collect();
        let labels = lines.iter().enumerate().filter_map(|(at, line)| Some((line.strip_suffix(':')?, at + 1)));
        let defined: HashMap<&str, usize> = labels.collect();
        let is_of =
            |line: &str, words: &[&str]| line.split_whitespace().next().is_some_and(|word| words.contains(&word));
        let is_data = |line: &&&str| is_of(line, &DATA);
        let is_code = |line: &&&str| line.starts_with(['\t', ' ']) && !line.trim_start().starts_with(['.', '#']);
        let is_inside = |line: &&&str| !is_of(line, &[".cfi_endproc", ".size"]);
        let is_of_name = |letter: char| letter.is_alphanumeric() || "_.$".contains(letter);
        let mut open = vec!["syncscope_execute", "syncscope_begin"];
        for section in lines.split(|line| line.contains(".init_array")).skip(1) {
            let entries = section.iter().skip_while(|line| !is_data(line)).take_while(is_data);
            open.extend(entries.filter_map(|line| line.split_whitespace().nth(1)));
        }
        let mut numbers: HashMap<&str, usize> = open.iter().copied().zip(0..).collect();
        let (mut at, mut instructions) = (0, Vec::new());
        while let Some(name) = open.get(at).copied() {
            at += 1;
            let body = defined.get(name).map_or(&[][..], |first| &lines[*first..]);
            let is_function = !name.starts_with('.');
            let code = body.iter().take_while(is_inside).filter(|line| is_function && is_code(line));
            let data: Vec<_> = body.iter().take_while(is_data).collect();
            for line in if data.is_empty() { code.collect() } else { data } {
                let mut text = String::new();
                for word in line.trim().split_inclusive(|letter| !is_of_name(letter)) {
                    let name = word.trim_end_matches(|letter| !is_of_name(letter));
                    if !defined.contains_key(name) {
                        text += word;
                        continue;
                    }
                    let next = numbers.len();
                    let number = *numbers.entry(name).or_insert(next);
                    if number == next {
                        open.push(name);
                    }
                    let _ = write!(text, "L{number}{}", &word[name.len()..]);
                }
                instructions.push(text.replace('\t', " "));
            }
        }
        instructions
    }

    /// The names of instructions, each fence and call with its operand.
    pub fn instructions(code: &[String]) -> Vec<String> {
        let of = |line: &String| {
            let mut words = line.split([' ', ';']).filter(|word| !word.is_empty());
            let first = words.next().filter(|word| !word.ends_with(':'))?;
            let more = (CALLS.contains(&first) || ["lock", "rep", "dmb", "dsb"].contains(&first))
                .then(|| words.next())
                .flatten();
            Some(more.map_or_else(|| first.to_owned(), |more| format!("{first} {more}")))
        };
        code.iter().filter_map(of).collect()
    }

    /// Whether a compiler accepts an operation.
    ///
    /// # Errors
    /// Where there is no compiler, or it did not end.
    pub fn is_taken(&self, own: &OwnOperation) -> Result<bool, String> {
        let compiler = compiler_of(own, self.dtype, false)?;
        let refusal =
            c_compiler::refusal(compiler.command(&[]), (compiler.ending, &functions(own)), LIMIT, is_cancelled);
        Ok(refusal?.is_none())
    }

    /// Runs the model of an operation within a time, for some sizes: threads, and uses per thread. Returns the lines of
    /// `explore.c`, and the numbers of the user's files. The operation's target processor does not matter: the model runs on
    /// this one.
    ///
    /// # Errors
    /// Why the operation cannot be modelled.
    pub fn model(
        &self,
        own: &OwnOperation,
        time: Duration,
        sizes: &[(u32, u32)],
    ) -> Result<(String, BTreeMap<i32, Option<String>>), String> {
        let seen = |assembly: String| *self.is_foreign.get_or_init(|| Self::foreign(&assembly).is_some());
        let is_foreign = self.is_foreign.get().copied().unwrap_or_else(|| self.assembly(own).is_ok_and(seen));
        let compiler = compiler_among(own, self.dtype, false, !is_foreign)?;
        let modelled = OwnOperation { includes: format!("{OF_MODEL}{}", own.includes), ..own.clone() };
        // Inlines the functions that a library wraps around an access, so that the access is in the user's function.
        let inlined = "-finline-small-functions";
        // Addresses of a thread's variables start from the thread pointer in all ways of access.
        let of_thread: &[&str] = if cfg!(target_arch = "x86_64") { &["-mno-tls-direct-seg-refs"] } else { &[] };
        let options = [
            &[
                "-O1",
                "-g",
                "-fsanitize=thread",
                "-fno-optimize-sibling-calls",
                "-ftls-model=initial-exec",
                inlined,
                "-w",
            ],
            of_thread,
        ]
        .concat();
        let text = functions(&modelled) + &trial_of(own, Program::Model)?;
        let assembly = assembly(own, &compiler, &text, &options)?;
        if let Some(reason) = outside_of_model(&assembly) {
            return Err(reason);
        }
        let files = files_of(&assembly, own);
        let program = self.linked(&compiler, &with_sites(&assembly, &files), Program::Model)?;
        let mut command = Command::new(program.path().join("trial"));
        let numbers = sizes.iter().flat_map(|(threads, times)| [threads.to_string(), times.to_string()]);
        let said = run(command.arg(time.as_secs_f64().to_string()).args(numbers), time * PATIENCE + MOMENT)?;
        Ok((said, files))
    }

    /// Runs an operation by threads on at most `most` of these CPUs, within a time. Returns the line of `stress.c`.
    ///
    /// # Errors
    /// Why the operation cannot be run.
    pub fn stress(&self, own: &OwnOperation, time: Duration, cpus: &[u32], most: usize) -> Result<String, String> {
        trial_of(own, Program::Stress)?;
        let (compiler, assembly) = (compiler_of(own, self.dtype, false)?, self.assembly(own)?);
        if let Some(target) = Self::foreign(&assembly) {
            return Err(format!("its code is for {target}"));
        }
        let program = self.linked(&compiler, &assembly, Program::Stress)?;
        let threads = cpus.len().min(most).clamp(2, MOST_THREADS);
        let mut command = Command::new(program.path().join("trial"));
        command.args([time.as_secs_f64().to_string(), threads.to_string()]);
        run(command.args(cpus.iter().take(threads).map(u32::to_string)), time * PATIENCE + MOMENT + STARVED)
    }

    /// A program linked from the assembly, in a folder of its own.
    fn linked(&self, compiler: &CompilerOf, assembly: &str, program: Program) -> Result<TempDir, String> {
        let (name, source) = program.source();
        let object = self.folder.path().join(format!("{name}.o"));
        if !object.exists() {
            let mut command = compiler.of_c();
            command.args(["-O2", "-w", "-U_FORTIFY_SOURCE", "-c"]);
            c_compiler::compile(command, ("c", source), &[], &object, LIMIT, is_cancelled)?;
        }
        let folder = temporary_folder_in(self.folder.path()).map_err(|error| error.to_string())?;
        let object = object.to_string_lossy();
        compiler.link(assembly, &["-pthread", &object], &folder.path().join("trial"))?;
        Ok(folder)
    }
}

/// A name in the assembly that tells which processor it is for.
const TARGET: &str = "\n#if defined(__aarch64__)\n__asm__(\".set syncscope_target_aarch64, 1\");\n#elif defined(__x86_64__)\n\
     __asm__(\".set syncscope_target_x86_64, 1\");\n#endif\n";

/// Compiles a text about an operation to assembly.
fn assembly(own: &OwnOperation, compiler: &CompilerOf, text: &str, options: &[&str]) -> Result<String, String> {
    let assembly = c_compiler::assembly(compiler.command(options), (compiler.ending, text), LIMIT, is_cancelled)?;
    assembly.map_err(|messages| explained(own, &messages))
}

/// The text that uses an operation in a trial; it follows the operation's functions.
fn trial_of(own: &OwnOperation, program: Program) -> Result<String, String> {
    let check = own.checked().filter(|_| !own.admits_several() || own.exclusive_half().is_some());
    if check.is_none() && !own.helpers.iter().any(|name| name.starts_with("check")) {
        return Err("nothing about it is checked: write a function `check`".to_owned());
    }
    let is = |wanted| u32::from(check == Some(wanted));
    Ok(format!(
        "\n#line 1 \"trial.h\"\n#define SYNCSCOPE_TRIAL_MODEL {}\n#define SYNCSCOPE_TRIAL_BARRIER {}\n\
         #define SYNCSCOPE_TRIAL_COUNTER {}\n{TRIAL}",
        u32::from(program == Program::Model),
        is(OwnCheck::Barrier),
        is(OwnCheck::Counter)
    ))
}

/// The most threads of the test.
const MOST_THREADS: usize = 4;

/// Runs a program and returns its output.
fn run(command: &mut Command, limit: Duration) -> Result<String, String> {
    let ended = child_process::run_within(command, limit, is_cancelled);
    let Ended { status, messages } = ended.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => format!("its program cannot be started: {error}{NOEXEC}"),
        _ => format!("its program cannot be started: {error}{}", limits::remedy(&error)),
    })?;
    match status {
        Ok(End::Code(0)) => Ok(messages),
        Ok(end) => Err(format!("its process {end}")),
        Err(Killed::Cancelled) => Err("asked to stop".to_owned()),
        Err(Killed::OutOfTime) => Err("the time budget is spent".to_owned()),
        Err(Killed::Late) => Err(format!("it did not end within {} s and was killed", limit.as_secs())),
        Err(Killed::Talks) => Err("it wrote without end".to_owned()),
    }
}

/// The instructions that call a function: by gcc, by clang, and on AArch64.
const CALLS: [&str; 3] = ["call", "callq", "bl"];

/// What an operation does without the model seeing it.
fn outside_of_model(assembly: &str) -> Option<String> {
    const WIDE: &str = "__tsan_atomic128";
    const UNKNOWN: [&str; 7] = ["pthread_", "sem_", "mtx_", "cnd_", "thrd_", "_ZNSt18condition_variable", WIDE];
    let words = assembly.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        (CALLS.contains(&first) || ["jmp", "b"].contains(&first)).then_some(words.next()?)
    });
    let name = |word: &'_ str| UNKNOWN.iter().any(|begin| word.starts_with(begin)) && !MUTEXES.contains(&word);
    let found = words.map(|word| word.split('@').next().unwrap_or(word)).find(|word| name(word));
    let of_call = |found: &str| {
        let is_wide = found.starts_with(WIDE);
        if is_wide { "it has atomic accesses to 16 bytes".to_owned() } else { format!("it calls `{found}`") }
    };
    let of_instruction = |found| {
        format!("the memory model of C does not know its instruction `{found}`: write it with `__atomic_` functions")
    };
    found
        .map(of_call)
        .or_else(|| variable_of_library(assembly))
        .or_else(|| unseen_instruction(assembly).map(of_instruction))
}

/// Functions of mutexes: the first six are the model's, the others change nothing that another thread may use.
const MUTEXES: [&str; 10] = [
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "mtx_lock",
    "mtx_trylock",
    "mtx_unlock",
    "pthread_mutex_init",
    "pthread_mutex_destroy",
    "mtx_init",
    "mtx_destroy",
];

/// A variable of each thread that a library defines: the model has only those of the program.
fn variable_of_library(assembly: &str) -> Option<String> {
    let is_end = |letter: char| !(letter.is_alphanumeric() || "_.$".contains(letter));
    let names = assembly.lines().filter_map(|line| {
        let of_x86 = line.split_once("@gottpoff").map(|(before, _)| before.rsplit(is_end).next());
        let of_arm = line.split_once(":gottprel:").map(|(_, behind)| behind.split(is_end).next());
        of_x86.or(of_arm)?
    });
    let defined: HashSet<&str> = assembly.lines().filter_map(|line| line.strip_suffix(':')).collect();
    let unknown = names.into_iter().find(|name| !defined.contains(name))?;
    Some(format!("it uses `{unknown}`, a library's variable of each thread"))
}

/// An instruction that accesses or orders memory without a report to the model: inline assembly, or a fence of the processor
/// (C's fences are calls).
fn unseen_instruction(assembly: &str) -> Option<String> {
    const ORDERS: [&str; 7] = ["mfence", "lfence", "sfence", "lock", "cpuid", "dmb", "dsb"];
    let mut is_inline = false;
    for line in assembly.lines().map(str::trim) {
        if line.ends_with("APP") && line.starts_with(['#', '/']) {
            is_inline = !line.ends_with("NO_APP");
        }
        let instructions = line.split(';').map(behind_label);
        let instructions = instructions.filter(|one| !one.is_empty() && !one.starts_with(['#', '/', '.']));
        let is_unseen = |one: &&str| {
            let orders = one.split_whitespace().any(|word| ORDERS.contains(&word));
            orders || (is_inline && one.contains(['(', '[']))
        };
        if let Some(found) = instructions.clone().find(is_unseen) {
            // `lock; xadd` is one instruction.
            let all = instructions.collect::<Vec<_>>().join("; ");
            return Some(
                if found == "lock" { all } else { found.to_owned() }.split_whitespace().collect::<Vec<_>>().join(" "),
            );
        }
    }
    None
}

/// An instruction without the label in front of it.
fn behind_label(text: &str) -> &str {
    let is_label = |text: &str| text.trim().chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    text.split_once(':').filter(|(label, _)| is_label(label)).map_or(text, |(_, rest)| rest).trim()
}

/// Functions of the C library that copy and fill memory; compilers add or keep calls of them.
const COPIES: [&str; 3] = ["memcpy", "memmove", "memset"];

/// Whether the model has a function of this name that accesses the program's memory, for the compiler or in place of a library's
/// function.
fn is_of_model(name: &str) -> bool {
    let name = name.split('@').next().unwrap_or(name);
    name == "free"
        || MUTEXES.contains(&name)
        || ["__tsan_", "__cxa_guard_", "_Zd"].iter().any(|begin| name.starts_with(begin))
}

/// Replaces a call of one of [`COPIES`] by a call of the model's function, which sees the accesses.
fn seen_copy(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let is_call = words.next().is_some_and(|word| CALLS.contains(&word));
    let name = words.next().filter(|_| is_call)?.split('@').next()?;
    // The variant of a hardened library has one more argument.
    let copy = COPIES.iter().find(|copy| name == **copy || name == format!("__{copy}_chk"))?;
    Some(line.replacen(name, &format!("__tsan_{copy}"), 1))
}

/// Replaces the thread pointer by the model's: a thread of the model is none of the system.
fn seen_thread(line: &str) -> Option<String> {
    const POINTER: &str = "syncscope_model_thread_pointer";
    if let Some(register) = line.trim().strip_prefix("mrs").and_then(|rest| rest.trim().strip_suffix(", tpidr_el0")) {
        return Some(format!("\tadrp\t{register}, {POINTER}\n\tldr\t{register}, [{register}, :lo12:{POINTER}]"));
    }
    let (before, behind) = line.split_once("%fs:0")?;
    behind.starts_with([',', ' ', '\t']).then(|| format!("{before}{POINTER}(%rip){behind}"))
}

/// The assembly with a table of the return addresses of its calls of the model, and the file and line of each. An access in a
/// library function, such as `std::atomic::load`, gets the user's line that precedes it.
fn with_sites(assembly: &str, files: &BTreeMap<i32, Option<String>>) -> String {
    let (mut text, mut table, mut place, mut number) = (String::new(), String::new(), (0, 0), 0);
    let of_library: Vec<i32> = numbered_files(assembly)
        .filter(|(number, name)| name.starts_with('/') && !files.contains_key(number))
        .map(|(number, _)| number)
        .collect();
    for line in assembly.lines() {
        let seen = seen_copy(line).or_else(|| seen_thread(line));
        let line = seen.as_deref().unwrap_or(line);
        text.push_str(line);
        text.push('\n');
        let mut words = line.split_whitespace();
        match words.next() {
            Some(".loc") => {
                let mut numbers = words.filter_map(|word| word.parse::<i32>().ok());
                let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
                if !of_library.contains(&found.0) {
                    place = found;
                }
            }
            Some(".cfi_startproc") => {
                place = (0, 0);
            }
            Some(name) if CALLS.contains(&name) && words.next().is_some_and(is_of_model) => {
                number += 1;
                let _ = writeln!(text, ".Lsyncscope_site_{number}:");
                let _ = writeln!(table, "\t.quad .Lsyncscope_site_{number}\n\t.long {}\n\t.long {}", place.0, place.1);
            }
            _ => {}
        }
    }
    // Without an entry the section would have no symbols for its bounds.
    format!("{text}\t.section syncscope_sites,\"aw\"\n\t.balign 8\n{table}\t.quad 0\n\t.quad 0\n")
}

/// The files of assembly by their numbers.
fn numbered_files(assembly: &str) -> impl Iterator<Item = (i32, &str)> {
    assembly.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix(".file")?.trim_start();
        let number = rest.split_whitespace().next()?.parse().ok()?;
        Some((number, rest.rsplit('"').nth(1)?))
    })
}

/// The numbers that assembly gives to the user's files: the operation's file, and the files that `#line` in it names, with
/// their names.
fn files_of(assembly: &str, own: &OwnOperation) -> BTreeMap<i32, Option<String>> {
    let name = own.file.as_deref().unwrap_or("statement");
    let is_included =
        |file: &str| own.text.lines().any(|line| line.starts_with("#line") && line.split('"').nth(1) == Some(file));
    let of = |(number, file): (i32, &str)| {
        let is_own = file == name || name.rsplit('/').next() == Some(file);
        (is_own || is_included(file)).then(|| (number, (!is_own).then(|| file.to_owned())))
    };
    numbered_files(assembly).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clang and gcc name call instructions differently. An unseen call would let the model refute an operation that it cannot
    /// know.
    #[test]
    fn calls_are_seen_whatever_a_compiler_names_them() {
        for call in ["call\tf@PLT", "callq\tf@PLT", "bl\tf", "jmp\tf@PLT", "b\tf"] {
            let of = |name: &str| format!("operation:\n\t.loc\t1 7 3\n\t{}\n", call.replace('f', name));
            assert_eq!(outside_of_model(&of("pthread_cond_wait")).as_deref(), Some("it calls `pthread_cond_wait`"));
            assert_eq!(outside_of_model(&of("__tsan_atomic32_store")), None);
            assert_eq!(outside_of_model(&of("pthread_mutex_lock")), None);
            assert!(outside_of_model(&of("_ZNSt18condition_variable10notify_oneEv")).is_some());
            let is_jump = call.starts_with(['j', 'b']) && !call.starts_with("bl");
            assert_eq!(
                with_sites(&of("__tsan_atomic32_store"), &BTreeMap::new()).contains("\t.long 1\n\t.long 7"),
                !is_jump,
                "{call}"
            );
        }
    }

    /// An instruction that no compiler reports to the model must not be ignored.
    #[test]
    fn instructions_that_the_model_does_not_see_are_named() {
        let inline = |text: &str| format!("\t#APP\n# 3 \"a.c\" 1\n\t{text}\n# 0 \"\" 2\n\t#NO_APP\n");
        for (seen, unseen) in [
            (inline("xchgl %eax, (%rdx)"), Some("xchgl %eax, (%rdx)")),
            (inline("1:\tlock; xaddl %eax, %ecx"), Some("lock; xaddl %eax, %ecx")),
            (inline("lock\taddl $0, -4(%rsp)"), Some("lock addl $0, -4(%rsp)")),
            (inline("mfence"), Some("mfence")),
            (inline("stlr\tw1, [x0]"), Some("stlr w1, [x0]")),
            ("\t//APP\n\tdmb ish\n\t//NO_APP\n".to_owned(), Some("dmb ish")),
            ("\tmfence\n".to_owned(), Some("mfence")),
            (inline(""), None),
            (inline("pause"), None),
            (inline("bsfl %eax, %ecx"), None),
            (inline("nop") + "\tmovl\t(%rax), %eax\n", None),
            ("\t.string\t\"mfence\"\n".to_owned(), None),
        ] {
            assert_eq!(unseen_instruction(&seen).as_deref(), unseen, "{seen}");
        }
    }

    #[test]
    fn calls_that_copy_memory_are_those_of_the_model() {
        assert_eq!(seen_copy("\tcall\tmemcpy@PLT").as_deref(), Some("\tcall\t__tsan_memcpy@PLT"));
        assert_eq!(seen_copy("\tbl\t__memset_chk").as_deref(), Some("\tbl\t__tsan_memset"));
        for other in
            ["\tcall\tmemcpy_of_mine@PLT", "\tcall\t__tsan_memcpy@PLT", "memcpy:", "\t.quad\tmemcpy", "\tcall\tmemcmp"]
        {
            assert_eq!(seen_copy(other), None, "{other}");
        }
    }

    #[test]
    fn variables_of_threads_are_those_of_the_program() {
        for line in ["\taddq\tof_it@gottpoff(%rip), %rax", "\tadrp\tx0, :gottprel:of_it"] {
            let reason = outside_of_model(line).unwrap();
            assert_eq!(reason, "it uses `of_it`, a library's variable of each thread");
            assert_eq!(outside_of_model(&format!("{line}\nof_it:\n\t.zero\t4\n")), None);
        }
    }

    #[test]
    fn the_thread_pointer_is_that_of_the_model() {
        let variable = "syncscope_model_thread_pointer";
        let x86 = seen_thread("\tmovq\t%fs:0, %rbx");
        assert_eq!(x86.unwrap(), format!("\tmovq\t{variable}(%rip), %rbx"));
        let arm = seen_thread("\tmrs\tx19, tpidr_el0").unwrap();
        assert_eq!(arm, format!("\tadrp\tx19, {variable}\n\tldr\tx19, [x19, :lo12:{variable}]"));
        for other in ["\tmovq\t%fs:40, %rax", "\tmrs\tx0, cntvct_el0", "\tmovq\t%fs:08(%rax), %rbx"] {
            assert_eq!(seen_thread(other), None, "{other}");
        }
    }

    /// In front of an inlined library function is a place in the user's code.
    #[test]
    fn an_access_in_a_library_is_at_the_users_line() {
        let assembly = "\t.file 1 \"own.cpp\"\n\t.file 2 \"/usr/include/atomic\"\nf:\n\t.cfi_startproc\n\t.loc 1 7 3\n\t.loc 2 99 1\n\
                        \tcall\t__tsan_atomic32_store\ng:\n\t.cfi_startproc\n\t.loc 2 98 1\n\tcall\t__tsan_atomic32_load\n";
        let table = with_sites(assembly, &BTreeMap::from([(1, None)]));
        let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("\t.long")).collect();
        assert_eq!(rows, ["\t.long 1", "\t.long 7", "\t.long 0", "\t.long 0"], "{table}");
    }

    #[test]
    fn a_program_that_cannot_be_started_says_what_to_do() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = run(&mut Command::new(file.path()), Duration::ZERO).unwrap_err();
        assert!(error.contains("set TMPDIR to a folder in which programs may run"), "{error}");
    }
}
