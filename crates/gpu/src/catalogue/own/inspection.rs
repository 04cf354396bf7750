//! Finds out, with a compiler, which words of a source are functions that can be called with a thread, and what each of them
//! uses. [`text::probe`] has a kernel for each function, which is compiled to PTX and never run. The kernel marks what the
//! thread gives to the function; the marks that remain in the generated code show what the function uses.

use std::collections::BTreeSet;

use syncscope_core::{Dtype, Inspected, OwnOperation, OwnUse};

use super::{Span, launched, options, text};
use crate::catalogue::families::type_of;
use crate::cuda::compile::{Compiler, Program};
use crate::cuda::compiler_process::CompilerProcesses;
use crate::cuda::error::{CompileFailure, NvrtcError};
use crate::launch::compilers::compiler_of_users;

/// Names that the header gives to a source, unless it has its own.
const NAMES: [&[&str]; 4] = [&[], &["T"], &["Thread"], &["T", "Thread"]];

/// Inspects sources with the compiler of the measurement, for the same architecture.
#[derive(Debug)]
pub struct Inspector {
    compiler: Compiler,
    processes: CompilerProcesses,
}

impl Inspector {
    /// An inspector for an architecture such as `sm_90a`, or else for the first of these devices, or else for Hopper.
    ///
    /// # Errors
    /// If there is no NVRTC, or it does not know the architecture.
    pub fn new(arch: Option<&str>, devices: Option<&[u32]>) -> Result<Self, NvrtcError> {
        Ok(Self { compiler: compiler_of_users(arch, devices)?, processes: CompilerProcesses::default() })
    }

    /// What the source contains. `candidates` are words of it that may be functions.
    ///
    /// # Errors
    /// The compiler's error.
    pub fn inspect(
        &self,
        source: &OwnOperation,
        candidates: &[String],
        dtype: Option<Dtype>,
    ) -> Result<Inspected, NvrtcError> {
        let mut failures: Vec<Box<CompileFailure>> = Vec::new();
        for names in NAMES {
            // A message about a name quotes the name.
            let may_help = |first: &CompileFailure| names.iter().all(|name| first.names(name));
            if failures.first().is_some_and(|first| !may_help(first)) {
                continue;
            }
            let defines = names.iter().map(|name| (*name).to_owned()).collect();
            let source = OwnOperation { defines, ..source.clone() };
            match self.inspect_as(&source, candidates, dtype) {
                Err(NvrtcError::Compile(failure)) => failures.push(failure),
                other => return other,
            }
        }
        // The failure with the fewest errors is only about the user's own mistakes.
        let least = failures.into_iter().min_by_key(|failure| failure.errors());
        Err(least.map_or(NvrtcError::NotFound, NvrtcError::Compile))
    }

    /// The PTX of a source's functions, for a memory model, with the names of their kernels.
    ///
    /// # Errors
    /// The compiler's error.
    pub fn ptx(&self, source: &OwnOperation, functions: &[String]) -> Result<(String, Vec<String>), NvrtcError> {
        let mut definitions = options(source, type_of(None), Span::Block);
        definitions.push("-lineinfo".to_owned());
        let program = Program { file: "source.cu", text: text::model(source, functions).leak(), definitions };
        let kernels = (0..functions.len()).map(|number| format!("{}{number}", text::MODELLED)).collect();
        Ok((self.compiler.ptx(&self.processes, &program, true)?, kernels))
    }

    /// The PTX of a file with kernels.
    ///
    /// # Errors
    /// The compiler's error.
    pub fn ptx_of_kernels(&self, source: &OwnOperation) -> Result<String, NvrtcError> {
        self.compiler.ptx(&self.processes, &launched::program(source), false)
    }

    /// Inspects a source under the assumption that it defines the names in `source.defines`. Drops words that are no functions.
    fn inspect_as(
        &self,
        source: &OwnOperation,
        candidates: &[String],
        dtype: Option<Dtype>,
    ) -> Result<Inspected, NvrtcError> {
        let mut functions = [text::statements(source), candidates.to_vec()].concat();
        loop {
            let definitions = options(source, type_of(dtype), Span::Block);
            let program = Program { file: "source.cu", text: text::probe(source, &functions).leak(), definitions };
            match self.compiler.ptx(&self.processes, &program, false) {
                Ok(ptx) => return Ok(found(&ptx, functions, source.defines.clone())),
                Err(NvrtcError::Compile(failure)) => {
                    let wrong: BTreeSet<usize> = failure.lines_in(text::BEHIND).collect();
                    let is_wrong = |at: &usize| wrong.contains(&(at + 1));
                    if wrong.is_empty() || failure.errors() > failure.lines_in(text::BEHIND).count() {
                        return Err(NvrtcError::Compile(failure));
                    }
                    let before = functions.len();
                    let kept = functions.into_iter().enumerate().filter(|(at, _)| !is_wrong(at));
                    functions = kept.map(|(_, function)| function).collect();
                    if functions.len() == before {
                        return Err(NvrtcError::Compile(failure));
                    }
                }
                Err(other) => return Err(other),
            }
        }
    }
}

fn found(ptx: &str, functions: Vec<String>, defines: Vec<String>) -> Inspected {
    let used = |(number, function): (usize, String)| {
        let [keep, drop] = ["keep", "drop"].map(|kind| body_of(ptx, &format!("syncscope_{kind}_{number}")));
        (!keep.contains("// syncscope none")).then(|| (function, uses_of(ptx, keep, drop)))
    };
    Inspected { functions: functions.into_iter().enumerate().filter_map(used).collect(), defines }
}

/// The text of a kernel.
fn body_of<'a>(ptx: &'a str, kernel: &str) -> &'a str {
    let start = ptx.find(&format!(".entry {kernel}(")).unwrap_or(ptx.len());
    let text = &ptx[start..];
    &text[..text.find("\n}").unwrap_or(text.len())]
}

/// The texts of the functions that were not inlined, which a kernel may call.
fn called(ptx: &str) -> String {
    let of = |(at, _): (usize, &str)| &ptx[at..][..ptx[at..].find("\n}").unwrap_or(0)];
    ptx.match_indices("\n.func ").chain(ptx.match_indices("\n.visible .func ")).map(of).collect()
}

/// Operations with more PTX instructions than this are long.
const LONG: usize = 100;

fn uses_of(ptx: &str, keep: &str, drop: &str) -> Vec<OwnUse> {
    let calls = keep.contains("call.uni") || keep.contains("call (") || keep.contains("call \n");
    let all = if calls { keep.to_owned() + &called(ptx) } else { keep.to_owned() };
    let marked = |text: &str, name: &str| text.lines().any(|line| line.ends_with(&format!("// syncscope {name}")));
    let any = |is: &dyn Fn(&str) -> bool| all.lines().map(instruction).any(is);
    let launch_memory = || {
        let names = ptx.lines().filter(|line| line.starts_with(".extern .shared")).filter_map(|line| {
            Some(line.split_whitespace().last()?.trim_end_matches(';').trim_end_matches("[]").to_owned())
        });
        names.into_iter().any(|name| all.contains(&name))
    };
    let is_used = |what: &OwnUse| match what {
        OwnUse::Variable => marked(keep, "x"),
        OwnUse::Element => marked(keep, "mine"),
        OwnUse::BlockMemory => marked(keep, "shared"),
        OwnUse::Value => marked(drop, "value") || changes_value(keep),
        OwnUse::Meeting => any(&meets),
        OwnUse::Loops => calls || has_loop(&all),
        OwnUse::Clusters => any(&is_of_clusters),
        OwnUse::Grids => all.contains("%envreg"),
        OwnUse::Devices => marked(keep, "devices"),
        OwnUse::LaunchMemory => launch_memory(),
        OwnUse::Long => all.lines().filter(|line| line.ends_with(';')).count() > LONG,
        OwnUse::OwnDeclaration | OwnUse::Starts => false,
    };
    OwnUse::ALL.iter().copied().filter(is_used).collect()
}

/// A line without its predicate.
fn instruction(line: &str) -> &str {
    let line = line.trim_start();
    line.strip_prefix('@')
        .and_then(|rest| rest.split_once(char::is_whitespace))
        .map_or(line, |(_, rest)| rest.trim_start())
}

/// Whether threads of a block wait for each other in an instruction.
fn meets(instruction: &str) -> bool {
    let is_of = ["bar.", "barrier.", "mbarrier."].iter().any(|name| instruction.starts_with(name));
    is_of && !instruction.starts_with("bar.warp.")
}

fn is_of_clusters(instruction: &str) -> bool {
    let names = ["barrier.cluster.", "mapa", "getctarank", "st.async", "red.async"];
    names.iter().any(|name| instruction.starts_with(name)) || instruction.contains("%cluster")
}

/// Whether any instruction branches backwards.
fn has_loop(text: &str) -> bool {
    let mut labels = BTreeSet::new();
    text.lines().map(instruction).any(|line| {
        if let Some(label) = line.trim_end().strip_suffix(':') {
            labels.insert(label.to_owned());
        }
        let target = line.strip_prefix("bra").and_then(|rest| rest.split_whitespace().last());
        target.is_some_and(|target| labels.contains(target.trim_end_matches(';'))) || line.starts_with("brx")
    })
}

/// Whether the function changes the value, judged by the names of the registers.
fn changes_value(keep: &str) -> bool {
    keep.lines()
        .filter_map(|line| line.trim().strip_prefix("// syncscope kept "))
        .any(|names| names.trim_end_matches(';').split_once(' ').is_some_and(|(before, after)| before != after))
}
