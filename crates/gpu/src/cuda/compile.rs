//! From the text of a kernel to machine code: from the cache, or by NVRTC on all cores at once.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use crate::cuda::cache::{Cache, Key};
use crate::cuda::compiler_process::CompilerProcesses;
use crate::cuda::discovery::Surroundings;
use crate::cuda::error::NvrtcError;
use crate::cuda::nvrtc::{Nvrtc, Source};

/// Names and texts of the headers that kernels include.
pub type Headers = &'static [(&'static str, &'static str)];

/// One text with one set of definitions: it compiles to one CUBIN with the kernels `baseline`, `test` and `check`.
#[derive(Debug, Clone)]
pub struct Program {
    /// Name of the file in `kernels/`.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Preprocessor definitions, such as `VALUE=int`; what begins with `-` is another option of NVRTC.
    pub definitions: Vec<String>,
}

impl Program {
    /// The same with another kernel, `third`; see `harness.cuh`.
    pub fn with_third_loop(mut self) -> Self {
        self.definitions.push("THIRD_LOOP=1".to_owned());
        self
    }

    /// What distinguishes programs. A file has only one text, so the text is not needed.
    fn name(&self) -> (&str, &[String]) {
        (self.file, &self.definitions)
    }
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Program {}

impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

/// How a CUBIN begins.
const ELF: &[u8] = b"\x7fELF";

/// The compiler for one architecture, with the programs that it has compiled.
#[derive(Debug)]
pub struct Compiler {
    nvrtc: Nvrtc,
    cache: Cache,
    arch: String,
    headers: Headers,
    done: HashMap<Program, Result<Arc<[u8]>, NvrtcError>>,
    warning: Option<String>,
}

impl Compiler {
    /// A compiler for `arch`, such as `sm_90`, of kernels that include `headers`.
    pub fn new(nvrtc: Nvrtc, cache: Cache, arch: String, headers: Headers) -> Self {
        Self { nvrtc, cache, arch, headers, done: HashMap::new(), warning: None }
    }

    /// The compiler's version, such as `13.0`.
    pub fn version(&self) -> String {
        self.nvrtc.version()
    }

    /// The architecture compiled for.
    pub fn arch(&self) -> &str {
        &self.arch
    }

    /// A problem with the cache, for the user.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Compiles `programs` on all cores. `progress` gets the number of finished programs and the number of all.
    pub fn prepare(&mut self, programs: &[Program], progress: &mut dyn FnMut(usize, usize)) {
        let mut seen = HashSet::new();
        let unknown = programs.iter().filter(|program| !self.done.contains_key(*program));
        let missing: Vec<&Program> = unknown.filter(|program| seen.insert(*program)).collect();
        let results = {
            let compiler = &*self;
            let processes = CompilerProcesses::new(&self.nvrtc);
            in_parallel(missing.len(), |index| compiler.obtain(&processes, missing[index]), progress)
        };
        for (index, Obtained { cubin, warning }) in results {
            self.warning = self.warning.take().or(warning);
            self.done.insert(missing[index].clone(), cubin);
        }
    }

    /// The machine code of a program. It is compiled now unless it was prepared.
    ///
    /// # Errors
    /// The error of the compiler.
    pub fn cubin(&mut self, program: &Program) -> Result<Arc<[u8]>, NvrtcError> {
        if !self.done.contains_key(program) {
            self.prepare(std::slice::from_ref(program), &mut |_, _| {});
        }
        self.done.get(program).cloned().unwrap_or(Err(NvrtcError::NotFound))
    }

    fn obtain(&self, processes: &CompilerProcesses<'_>, program: &Program) -> Obtained {
        let (folders, header_version) = match cuda_headers(program) {
            Ok(found) => found,
            Err(error) => return Obtained { cubin: Err(error), warning: None },
        };
        let mut options = options(program);
        options.extend(folders.iter().map(|folder| format!("-I{}", folder.display())));
        let version = self.nvrtc.version();
        let mut parts: Vec<&str> = self.headers.iter().map(|(_, text)| *text).collect();
        parts.extend([program.text, &self.arch, &version]);
        parts.extend(options.iter().map(String::as_str));
        // The key of programs without further headers stays what it was.
        parts.extend(header_version.as_deref());
        let key = Key::of(&parts);
        // Headers of users may change.
        let is_cached = !program.definitions.iter().any(|option| option.starts_with("-I"));
        if let Some(cubin) = self.cache.get(&key).filter(|_| is_cached) {
            return Obtained { cubin: Ok(cubin.into()), warning: None };
        }
        let source = Source { file: program.file, text: program.text, headers: self.headers };
        match processes.compile(source, &self.arch, &options) {
            Ok(cubin) => {
                // What a broken compiler returns is no reason to fail with a compiler that works.
                let is_cubin = cubin.starts_with(ELF) && is_cached;
                let warning = is_cubin.then(|| self.cache.put(&key, &cubin).err()).flatten();
                Obtained { cubin: Ok(cubin.into()), warning }
            }
            Err(error) => Obtained { cubin: Err(error), warning: None },
        }
    }
}

/// A compiled program, and a warning for the user.
struct Obtained {
    cubin: Result<Arc<[u8]>, NvrtcError>,
    warning: Option<String>,
}

/// Where the headers of CUDA are that a program includes in angle brackets, and a text that changes where theirs does; nothing
/// for a program that includes none.
fn cuda_headers(program: &Program) -> Result<(Vec<PathBuf>, Option<String>), NvrtcError> {
    if !program.text.contains("#include <") {
        return Ok((Vec::new(), None));
    }
    let folders = Surroundings::of_process().include_folders();
    let version = folders.iter().find_map(|folder| std::fs::read_to_string(folder.join("cub/version.cuh")).ok());
    Ok((folders, Some(version.ok_or(NvrtcError::NoHeaders)?)))
}

fn options(program: &Program) -> Vec<String> {
    let option = |definition: &String| {
        if definition.starts_with('-') { definition.clone() } else { format!("-D{definition}") }
    };
    let standard =
        (!program.definitions.iter().any(|option| option.starts_with("-std="))).then(|| "--std=c++17".to_owned());
    standard.into_iter().chain(program.definitions.iter().map(option)).collect()
}

/// Does `count` pieces of work on as many threads as there are cores. The results are in the order in which they finish.
fn in_parallel<T: Send>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    progress: &mut dyn FnMut(usize, usize),
) -> Vec<(usize, T)> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(count);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                // Relaxed: the counter orders nothing but itself.
                while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < count) {
                    // The receiver lives until all senders are dropped.
                    let _ = sender.send((index, work(index)));
                }
            });
        }
        drop(sender);
        let mut results = Vec::with_capacity(count);
        for result in receiver {
            results.push(result);
            progress(results.len(), count);
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_work_is_done_once_and_reported() {
        let mut heard = Vec::new();
        let mut results = in_parallel(20, |index| index * index, &mut |done, all| heard.push((done, all)));
        results.sort_unstable();
        assert_eq!(results, (0..20).map(|index| (index, index * index)).collect::<Vec<_>>());
        assert_eq!(heard, (1..=20).map(|done| (done, 20)).collect::<Vec<_>>());
        assert!(in_parallel(0, |index| index, &mut |_, _| {}).is_empty());
    }
}
