//! Turns the text of a kernel into machine code: from the cache, or with NVRTC on all cores at once.

use crate::cuda::compiler_process::{CompilerProcesses, HEAD_ENDS};
use crate::cuda::discovery::Surroundings;
use crate::cuda::error::NvrtcError;
use crate::cuda::hash::hash;
use crate::cuda::nvrtc::{Code, Nvrtc, Source};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::{fs, thread};
use syncscope_core::run_directory::replace_file;
use syncscope_host::trust::{Origin, trusted};

/// Names and texts of the headers that kernels include.
pub type Headers = &'static [(&'static str, &'static str)];

/// One text with one set of definitions: it compiles to one CUBIN with the kernels `baseline`, `test` and `check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Name of the program's file in `kernels/`.
    pub file: &'static str,
    /// Text of the file.
    pub text: &'static str,
    /// Preprocessor definitions, such as `VALUE=int`; an entry that begins with `-` is another option of NVRTC.
    pub definitions: Vec<String>,
}

/// Hashes the file and the definitions, by which programs usually differ; hashing texts would be slow.
impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.file, &self.definitions).hash(state);
    }
}

impl Program {
    /// Adds a definition.
    pub(crate) fn with(mut self, definition: String) -> Self {
        self.definitions.push(definition);
        self
    }

    /// Adds the kernel `third`; see `harness.cuh`.
    pub fn with_third_loop(self) -> Self {
        self.with("SYNCSCOPE_THIRD_LOOP=1".to_owned())
    }
}

/// The definition of programs with users' code: they get none of our headers, so that they cannot take one of ours for their
/// own, and they may use the instructions that only the device has.
pub(crate) const OF_USER: &str = "SYNCSCOPE_OWN=1";

/// The definition of programs whose instructions are guaranteed only on exactly this compute capability, such as `sm_100a`.
pub(crate) const SPECIFIC: &str = "SYNCSCOPE_SPECIFIC=1";

/// The definition that states how much shared memory per block the program's launches allocate.
pub(crate) const LAUNCH_MEMORY: &str = "SYNCSCOPE_LAUNCH_MEMORY=";

impl Program {
    /// Shared memory per block that the program's launches allocate, in bytes.
    pub(crate) fn launch_memory(&self) -> u32 {
        let bytes = self.definitions.iter().find_map(|definition| definition.strip_prefix(LAUNCH_MEMORY));
        bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
    }

    /// The head of the program and the definitions it is compiled with; `None` without a head.
    fn head(&self) -> Option<(&str, &[String])> {
        Some((self.text.split_once(HEAD_ENDS)?.0, &self.definitions))
    }

    fn is_of_user(&self) -> bool {
        self.definitions.iter().any(|definition| definition == OF_USER)
    }
}

/// The first bytes of a CUBIN.
const ELF: &[u8] = b"\x7fELF";

/// The compiler for one architecture, with the programs it has compiled.
#[derive(Debug)]
pub struct Compiler {
    nvrtc: Nvrtc,
    cache: Cache,
    arch: String,
    arch_of_users: String,
    headers: Headers,
    done: HashMap<Program, Result<Arc<[u8]>, NvrtcError>>,
    warning: Option<String>,
}

impl Compiler {
    /// Creates a compiler for `arch`, such as `sm_90`, for kernels that include `headers`.
    pub fn new(nvrtc: Nvrtc, cache: Cache, arch: String, headers: Headers) -> Self {
        Self { nvrtc, cache, arch_of_users: arch.clone(), arch, headers, done: HashMap::new(), warning: None }
    }

    /// Sets another architecture for users' code, such as `sm_90a`.
    pub fn with_arch_of_users(self, arch_of_users: String) -> Self {
        Self { arch_of_users, ..self }
    }

    /// The compiler's version, such as `13.0`.
    pub fn version(&self) -> String {
        self.nvrtc.version()
    }

    /// The architecture compiled for.
    pub fn arch(&self) -> &str {
        &self.arch
    }

    /// The architecture that users' code is compiled for.
    pub(crate) fn arch_of_users(&self) -> &str {
        &self.arch_of_users
    }

    /// A problem with the cache, for the user.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Compiles `programs` on all cores. `progress` gets the number of finished programs and the total.
    pub fn prepare(&mut self, programs: &[Program], progress: &mut dyn FnMut(usize, usize)) {
        let mut seen = HashSet::new();
        let unknown = programs.iter().filter(|program| !self.done.contains_key(*program));
        let missing: Vec<&Program> = unknown.filter(|program| seen.insert(*program)).collect();
        let results = {
            let compiler = &*self;
            let processes = CompilerProcesses::default();
            let heads: Vec<_> = missing.iter().map(|program| program.head()).collect();
            let obtain = |index: usize| {
                let head = heads[index];
                let shares_head = head.is_some() && heads.iter().filter(|other| **other == head).count() > 1;
                compiler.obtain(&processes, missing[index], shares_head)
            };
            in_parallel(missing.len(), obtain, progress)
        };
        for (index, obtained) in results {
            let cubin = obtained.map(|(cubin, warning)| {
                self.warning = self.warning.take().or(warning);
                cubin
            });
            self.done.insert(missing[index].clone(), cubin);
        }
    }

    /// The machine code of a program, compiled now if it was not prepared.
    ///
    /// # Errors
    /// The error of the compiler.
    pub fn cubin(&mut self, program: &Program) -> Result<Arc<[u8]>, NvrtcError> {
        if !self.done.contains_key(program) {
            self.prepare(std::slice::from_ref(program), &mut |_, _| {});
        }
        self.done.get(program).cloned().unwrap_or(Err(NvrtcError::NotFound))
    }

    /// The architecture of a program; for users' code, the one with the instructions that no other device has.
    fn arch_of(&self, program: &Program) -> Cow<'_, str> {
        let is_specific = program.definitions.iter().any(|definition| definition == SPECIFIC);
        match program.is_of_user() {
            true => Cow::Borrowed(&self.arch_of_users),
            false if is_specific && !self.arch.ends_with(['a', 'f']) => Cow::Owned(format!("{}a", self.arch)),
            false => Cow::Borrowed(&self.arch),
        }
    }

    fn headers_of(&self, program: &Program) -> Headers {
        if program.is_of_user() { &[] } else { self.headers }
    }

    /// The PTX of a program.
    ///
    /// # Errors
    /// The error of the compiler.
    pub(crate) fn ptx(
        &self,
        processes: &CompilerProcesses,
        program: &Program,
        shares_head: bool,
    ) -> Result<String, NvrtcError> {
        let options = options(program, &cuda_headers(program)?.0);
        let source = Source { file: program.file, text: program.text, headers: self.headers_of(program) };
        let arch = self.arch_of(program);
        let text = processes.compile(&self.nvrtc, source, (&arch, &options), Code::Ptx, shares_head)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The machine code of a program, and a warning for the user.
    fn obtain(
        &self,
        processes: &CompilerProcesses,
        program: &Program,
        shares_head: bool,
    ) -> Result<(Arc<[u8]>, Option<String>), NvrtcError> {
        let (folders, header_version) = cuda_headers(program)?;
        let options = options(program, &folders);
        let (arch, headers) = (self.arch_of(program), self.headers_of(program));
        let version = self.nvrtc.version();
        let parts = headers.iter().map(|(_, text)| *text).chain([program.text, &*arch, &version]);
        // Programs without further headers keep the keys they have always had.
        let parts = parts.chain(options.iter().map(String::as_str)).chain(header_version.as_deref());
        let key = key_of(&parts.collect::<Vec<_>>());
        // Users' headers may change.
        let has_headers = program.is_of_user() && program.text.contains("#include");
        let is_cached = !has_headers && !program.definitions.iter().any(|option| option.starts_with("-I"));
        if let Some(cubin) = self.cache.get(key).filter(|_| is_cached) {
            return Ok((cubin.into(), None));
        }
        let source = Source { file: program.file, text: program.text, headers };
        let cubin = processes.compile(&self.nvrtc, source, (&arch, &options), Code::Cubin, shares_head)?;
        // A broken compiler's output must not break later runs with a working compiler, so only an ELF file is stored.
        let is_cubin = cubin.starts_with(ELF) && is_cached;
        let warning = is_cubin.then(|| self.cache.put(key, &cubin).err()).flatten();
        Ok((cubin.into(), warning))
    }
}

/// The folders of the CUDA headers that a program includes in angle brackets, and a text that changes when the headers change;
/// nothing for a program that includes none.
fn cuda_headers(program: &Program) -> Result<(Vec<PathBuf>, Option<String>), NvrtcError> {
    if !includes_cuda(program) {
        return Ok((Vec::new(), None));
    }
    let folders = Surroundings::of_process().include_folders();
    let version = folders.iter().find_map(|folder| std::fs::read_to_string(folder.join("cub/version.cuh")).ok());
    Ok((folders, Some(version.ok_or(NvrtcError::NoHeaders)?)))
}

/// Whether a program includes a header in angle brackets. Headers that only some of a file's programs need are under an
/// `#ifdef`.
fn includes_cuda(program: &Program) -> bool {
    let is_defined = |name: &str| program.definitions.iter().any(|one| one.split('=').next() == Some(name));
    let mut before = "";
    program.text.lines().any(|line| {
        let condition = std::mem::replace(&mut before, line).strip_prefix("#ifdef ");
        line.contains("#include <") && (program.is_of_user() || condition.is_none_or(is_defined))
    })
}

fn options(program: &Program, folders: &[PathBuf]) -> Vec<String> {
    let option = |definition: &String| {
        if definition.starts_with('-') { definition.clone() } else { format!("-D{definition}") }
    };
    let standard =
        (!program.definitions.iter().any(|option| option.starts_with("-std="))).then(|| "--std=c++17".to_owned());
    let folders = folders.iter().map(|folder| format!("-I{}", folder.display()));
    standard.into_iter().chain(program.definitions.iter().map(option)).chain(folders).collect()
}

/// Does `count` pieces of work on as many threads as there are cores. Returns the results in the order in which they finish.
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
                // Relaxed: the counter orders no other memory.
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

// The cache: compiled kernels, kept from run to run in the user's cache folder.

/// Version of the file format, and of everything that no other part of the key contains.
const FORMAT: &str = "syncscope kernel 1";

/// The hash of everything a kernel depends on. The boundaries between the parts are part of the hash.
fn key_of(parts: &[&str]) -> u128 {
    let lengths = parts.iter().map(|part| part.len().to_string()).collect::<Vec<_>>().join(",");
    hash([FORMAT, &lengths].iter().chain(parts).flat_map(|part| part.bytes()))
}

/// A folder of compiled kernels.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The user's cache: `$SYNCSCOPE_CACHE`, `$XDG_CACHE_HOME/syncscope` or `~/.cache/syncscope`; none if the user has no home
    /// folder.
    pub fn of_user() -> Self {
        Self { folder: syncscope_host::cache_folder().map(|folder| folder.join("kernels")) }
    }

    /// A cache in this folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()) }
    }

    fn path(&self, key: u128) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{key:032x}.cubin")))
    }

    /// The kernel with this key; `None` if it is missing or damaged.
    fn get(&self, key: u128) -> Option<Vec<u8>> {
        let content = fs::read(trusted(&self.path(key)?, Origin::Named).ok()?).ok()?;
        let header = header(key, content.get(header(key, &[]).len()..)?);
        Some(content.strip_prefix(header.as_bytes())?.to_vec())
    }

    /// Stores a kernel. The file appears complete or not at all, even if this process is killed.
    ///
    /// # Errors
    /// If the folder cannot be made or written to. The next run compiles again.
    fn put(&self, key: u128, cubin: &[u8]) -> Result<(), String> {
        let Some(path) = self.path(key) else { return Ok(()) };
        let write = || -> io::Result<()> {
            let folder = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            replace_file(&path, &[header(key, cubin).as_bytes(), cubin].concat())
        };
        write().map_err(|error| format!("compiled kernels cannot be kept in {}: {error}", path.display()))
    }
}

/// The header of a cache file, equally long for all kernels. It detects damaged and misplaced files.
fn header(key: u128, cubin: &[u8]) -> String {
    format!("{FORMAT}\n{:032x}\n{:032x}\n", key, hash(cubin.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CUDA headers are missing where only NVRTC is installed.
    #[test]
    fn programs_need_the_headers_that_they_include() {
        let text = "#include \"harness.cuh\"\n#ifdef LIBRARY\n#include <cuda/atomic>\n#endif";
        let program = |definitions: &[&str], text| Program {
            file: "a.cu",
            text,
            definitions: definitions.iter().map(ToString::to_string).collect(),
        };
        assert!(!includes_cuda(&program(&["VALUE=int"], text)) && includes_cuda(&program(&["LIBRARY=1"], text)));
        assert!(includes_cuda(&program(&[], "#include <cub/cub.cuh>")));
        assert!(includes_cuda(&program(&[OF_USER], text)), "users define names in their text");
    }

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

#[cfg(test)]
mod cache_tests {
    use super::*;

    const KERNEL: &[u8] = b"\x7fELF and so on";

    fn key() -> u128 {
        key_of(&["source", "sm_90", "13.0"])
    }

    #[test]
    fn a_stored_kernel_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(&folder.path().join("not/yet/there"));
        assert_eq!(cache.get(key()), None);
        cache.put(key(), KERNEL).unwrap();
        assert_eq!(cache.get(key()).as_deref(), Some(KERNEL));
        cache.put(key(), b"again").unwrap();
        assert_eq!(cache.get(key()).as_deref(), Some(&b"again"[..]));
    }

    #[test]
    fn every_part_and_its_position_changes_the_key() {
        let keys = [
            key(),
            key_of(&["source ", "sm_90", "13.0"]),
            key_of(&["source", "sm_80", "13.0"]),
            key_of(&["source", "sm_90", "13.1"]),
            key_of(&["sources", "m_90", "13.0"]),
            key_of(&["source", "sm_90", "13.0", ""]),
        ];
        for (index, one) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(one), "{index}");
        }
    }

    #[test]
    fn a_damaged_file_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path());
        cache.put(key(), KERNEL).unwrap();
        let path = cache.path(key()).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        for damaged in [&whole[..whole.len() - 1], &whole[..10], &[], &flipped] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.get(key()), None);
        }
        cache.put(key(), KERNEL).unwrap();
        assert_eq!(cache.get(key()).as_deref(), Some(KERNEL), "and is replaced");
    }

    #[test]
    fn a_kernel_under_another_name_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path());
        let other = key_of(&["other"]);
        cache.put(other, KERNEL).unwrap();
        fs::rename(cache.path(other).unwrap(), cache.path(key()).unwrap()).unwrap();
        assert_eq!(cache.get(key()), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Cache::in_folder(&file.join("below")).put(key(), KERNEL).unwrap_err();
        assert!(error.contains("cannot be kept"), "{error}");
    }

    #[test]
    fn without_a_folder_nothing_is_stored_and_there_is_no_error() {
        let cache = Cache { folder: None };
        cache.put(key(), KERNEL).unwrap();
        assert_eq!(cache.get(key()), None);
    }
}
