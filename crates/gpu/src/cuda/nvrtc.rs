//! A binding of NVRTC, NVIDIA's run-time compiler.
//!
//! cudarc has a binding too, but it finds the library only in the loader's path, where wheels are not, and panics if it is
//! missing. This binding uses the library that it is given.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;
use syncscope_host::loading::undisturbed;

use crate::cuda::discovery::{Surroundings, is_for_loader};
use crate::cuda::error::{CompileFailure, NvrtcError, telling};

type Program = *mut c_void;
type Status = c_int;

const SUCCESS: Status = 0;
const INVALID_OPTION: Status = 5;
const COMPILATION: Status = 6;

/// From Hopper on, architectures have instructions that no later one has, such as those of `sm_90a`.
const ARCH_WITH_VARIANTS: u32 = 90;

syncscope_host::functions! {
    /// The functions of `nvrtc.h`, with the signatures of CUDA 11.1 and every later version.
    Functions {
        required version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status = "nvrtcVersion",
        required arch_count: unsafe extern "C" fn(*mut c_int) -> Status = "nvrtcGetNumSupportedArchs",
        required archs: unsafe extern "C" fn(*mut c_int) -> Status = "nvrtcGetSupportedArchs",
        required create: Create = "nvrtcCreateProgram",
        required destroy: unsafe extern "C" fn(*mut Program) -> Status = "nvrtcDestroyProgram",
        required compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status = "nvrtcCompileProgram",
        required cubin_size: unsafe extern "C" fn(Program, *mut usize) -> Status = "nvrtcGetCUBINSize",
        required cubin: unsafe extern "C" fn(Program, *mut c_char) -> Status = "nvrtcGetCUBIN",
        required ptx_size: unsafe extern "C" fn(Program, *mut usize) -> Status = "nvrtcGetPTXSize",
        required ptx: unsafe extern "C" fn(Program, *mut c_char) -> Status = "nvrtcGetPTX",
        required log_size: unsafe extern "C" fn(Program, *mut usize) -> Status = "nvrtcGetProgramLogSize",
        required log: unsafe extern "C" fn(Program, *mut c_char) -> Status = "nvrtcGetProgramLog",
        required error_string: unsafe extern "C" fn(Status) -> *const c_char = "nvrtcGetErrorString",
    }
}

/// Program, text, name, number of headers, and the headers' contents and names.
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Status;

/// What the compiler must support.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// Compute capability of the device, major and minor.
    pub capability: (u32, u32),
    /// CUDA version of the driver; the driver loads no code of a later major version.
    pub driver: (u32, u32),
}

/// The output of a compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Code {
    /// Machine code.
    Cubin,
    /// PTX text.
    Ptx,
}

/// A text to compile, and the headers it may include.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The name of the text, for messages.
    pub file: &'a str,
    /// The text.
    pub text: &'a str,
    /// Names and texts of the headers.
    pub headers: &'a [(&'a str, &'a str)],
}

/// A loaded NVRTC, which several threads may use at the same time (NVRTC documentation, "Thread safety").
#[derive(Debug)]
pub struct Nvrtc {
    functions: Functions,
    version: (u32, u32),
    archs: Vec<u32>,
    found: PathBuf,
}

impl Nvrtc {
    /// Loads the first NVRTC that meets the needs.
    ///
    /// # Errors
    /// If there is none; the error says how to get one.
    pub fn find(surroundings: &Surroundings, needs: Option<Needs>) -> Result<Self, NvrtcError> {
        let mut unusable = Vec::new();
        let mut too_old = None;
        for candidate in surroundings.nvrtc_libraries() {
            let candidate = match candidate {
                Ok(candidate) => candidate,
                Err(refused) => {
                    unusable.push(refused);
                    continue;
                }
            };
            let loaded = Self::load(&candidate);
            match loaded.map(|nvrtc| (needs.map_or(Ok(()), |needs| nvrtc.meets(needs)), nvrtc)) {
                Ok((Ok(()), nvrtc)) => return Ok(nvrtc),
                Ok((Err(error @ NvrtcError::Architecture { .. }), _)) => too_old = too_old.or(Some(error)),
                Ok((Err(error), _)) => unusable.push(format!("{}: {error}", candidate.display())),
                // The loader finds no library with this name.
                Err(_) if is_for_loader(&candidate) => {}
                Err(reason) => unusable.push(format!("{}: {reason}", candidate.display())),
            }
        }
        let none = if unusable.is_empty() { NvrtcError::NotFound } else { NvrtcError::Unusable(unusable) };
        Err(too_old.unwrap_or(none))
    }

    pub(super) fn load(candidate: &Path) -> Result<Self, String> {
        let failed = |error: libloading::Error| error.to_string();
        // Load the built-ins first: NVRTC looks for them by name, not in its own folder.
        let builtins = load_builtins(candidate);
        // SAFETY: loading NVRTC runs its initializers, which is what every program that links to it does.
        let library = undisturbed(|| unsafe { Library::new(candidate) }).map_err(failed)?;
        let functions = Functions::of(&library).map_err(failed)?;
        // Leaked, because the functions must stay valid and another thread may be compiling with the same library.
        std::mem::forget((builtins, library));
        // A name may refer to a library that this process loaded earlier from a file. Another process needs that file.
        let file = syncscope_host::file_of(functions.version as *const c_void).filter(|file| file.is_file());
        let found = file.unwrap_or_else(|| candidate.to_owned());
        let version = functions.read_version().map_err(|error| error.to_string())?;
        let archs = functions.read_archs().map_err(|error| error.to_string())?;
        Ok(Self { functions, version, archs, found })
    }

    fn meets(&self, needs: Needs) -> Result<(), NvrtcError> {
        if self.version.0 > needs.driver.0 {
            let text = format!("its code is for CUDA {}, the driver has CUDA {}", self.version(), dotted(needs.driver));
            return Err(NvrtcError::Call { call: "NVRTC", text });
        }
        let (nvrtc, arch, driver) = (self.version(), arch_number(needs.capability), dotted(needs.driver));
        let target = self.target(needs.capability);
        target.map(drop).ok_or_else(|| NvrtcError::Architecture { nvrtc, arch, known: self.known(), driver })
    }

    /// The version of the library, such as `13.0`.
    pub fn version(&self) -> String {
        dotted(self.version)
    }

    /// Whether the library can keep a precompiled header (NVRTC documentation, "Precompiled Headers").
    pub(super) fn keeps_heads(&self) -> bool {
        self.version >= (12, 8)
    }

    /// Where the library was found: a file, or a name for the dynamic loader.
    pub fn found(&self) -> &Path {
        &self.found
    }

    /// The architecture to compile for, such as `sm_90`: the device's own, or the nearest lower one of the same major version,
    /// whose code the device also runs (CUDA C++ Programming Guide, "Binary Compatibility"). `None` if there is none.
    pub fn target(&self, capability: (u32, u32)) -> Option<String> {
        let own = arch_number(capability);
        let nearest = self.archs.iter().filter(|arch| **arch / 10 == capability.0 && **arch <= own).max()?;
        Some(format!("sm_{nearest}"))
    }

    /// The architecture with the instructions that no later device has, such as `sm_90a`, if the device's own architecture has
    /// such a variant.
    pub fn target_of_users(&self, capability: (u32, u32)) -> Option<String> {
        let target = self.target(capability)?;
        let is_own = self.archs.contains(&arch_number(capability)) && arch_number(capability) >= ARCH_WITH_VARIANTS;
        Some(if is_own { format!("{target}a") } else { target })
    }

    /// Whether the library compiles for an architecture, such as `sm_90` or `sm_100a`.
    pub fn knows(&self, arch: &str) -> bool {
        let Some(number) = arch.strip_prefix("sm_") else { return false };
        let (plain, least) = number.strip_suffix(['a', 'f']).map_or((number, 0), |plain| (plain, ARCH_WITH_VARIANTS));
        plain.parse().is_ok_and(|number: u32| self.archs.contains(&number) && number >= least)
    }

    /// The architectures that the library compiles for, in words.
    pub(crate) fn known(&self) -> String {
        self.archs.iter().map(|arch| format!("sm_{arch}")).collect::<Vec<_>>().join(", ")
    }

    /// Compiles a text to a CUBIN.
    ///
    /// # Errors
    /// The output of the compiler.
    pub fn compile(&self, source: Source<'_>, arch: &str, options: &[String]) -> Result<Vec<u8>, NvrtcError> {
        self.compile_to(Code::Cubin, source, arch, options)
    }

    /// Compiles a text.
    ///
    /// # Errors
    /// The output of the compiler.
    pub fn compile_to(
        &self,
        code: Code,
        source: Source<'_>,
        arch: &str,
        options: &[String],
    ) -> Result<Vec<u8>, NvrtcError> {
        // PTX is not assembled: assemblers crash on some sources that are compiled only to be read.
        let target = match code {
            Code::Cubin => arch.to_owned(),
            Code::Ptx => arch.replacen("sm_", "compute_", 1),
        };
        let architecture = format!("--gpu-architecture={target}");
        let options: Vec<String> = std::iter::once(architecture).chain(options.iter().cloned()).collect();
        // All texts outlive the program: the documentation does not say that the library copies them.
        let (file, text) = (c_string(source.file)?, c_string(source.text)?);
        let (_kept_options, c_options) = c_strings(options.iter().map(String::as_str))?;
        let (_kept_names, names) = c_strings(source.headers.iter().map(|(name, _)| *name))?;
        let (_kept_texts, texts) = c_strings(source.headers.iter().map(|(_, text)| *text))?;
        let count = |texts: &[*const c_char]| c_int::try_from(texts.len()).unwrap_or(c_int::MAX);
        let functions = &self.functions;
        let mut program = ptr::null_mut();
        let (to, text, file) = (&raw mut program, text.as_ptr(), file.as_ptr());
        // SAFETY: all texts are ended by zeros and live longer than the program; as many headers as names.
        let status = unsafe { (functions.create)(to, text, file, count(&names), texts.as_ptr(), names.as_ptr()) };
        functions.checked("nvrtcCreateProgram", status)?;
        let program = Handle { functions, program };
        // SAFETY: the program is alive, the options are ended by zeros and live until the call returns.
        let status = unsafe { (functions.compile)(program.program, count(&c_options), c_options.as_ptr()) };
        if status == COMPILATION {
            let log = program.bytes("nvrtcGetProgramLog", functions.log_size, functions.log)?;
            let log = String::from_utf8_lossy(&log).trim_matches(['\0', '\n']).to_owned();
            let (file, arch) = (source.file.to_owned(), arch.to_owned());
            let failure = CompileFailure { nvrtc: self.version(), file, arch, options, log };
            return Err(NvrtcError::Compile(Box::new(failure)));
        }
        functions.checked("nvrtcCompileProgram", status).map_err(|error| match error {
            NvrtcError::Call { call, text } if status == INVALID_OPTION => {
                NvrtcError::Call { call, text: format!("{text}: it does not know all of: {}", telling(&options)) }
            }
            other => other,
        })?;
        match code {
            Code::Cubin => program.bytes("nvrtcGetCUBIN", functions.cubin_size, functions.cubin),
            Code::Ptx => program.bytes("nvrtcGetPTX", functions.ptx_size, functions.ptx),
        }
    }
}

/// Loads `libnvrtc-builtins.so.X.Y` from the library's folder, so that NVRTC finds it by name.
fn load_builtins(library: &Path) -> Option<Library> {
    let entries = std::fs::read_dir(library.parent()?).ok()?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnvrtc-builtins.so."))
    });
    files.sort();
    // SAFETY: it holds data for NVRTC and runs nothing of its own.
    files.iter().rev().find_map(|path| undisturbed(|| unsafe { Library::new(path) }).ok())
}

const fn arch_number(capability: (u32, u32)) -> u32 {
    capability.0 * 10 + capability.1
}

fn dotted(version: (u32, u32)) -> String {
    format!("{}.{}", version.0, version.1)
}

fn c_string(text: &str) -> Result<CString, NvrtcError> {
    CString::new(text).map_err(|error| NvrtcError::Call { call: "nvrtcCreateProgram", text: error.to_string() })
}

/// Zero-terminated texts and their addresses.
fn c_strings<'a>(texts: impl Iterator<Item = &'a str>) -> Result<(Vec<CString>, Vec<*const c_char>), NvrtcError> {
    let kept = texts.map(c_string).collect::<Result<Vec<_>, _>>()?;
    let addresses = kept.iter().map(|text| text.as_ptr()).collect();
    Ok((kept, addresses))
}

impl Functions {
    fn read_version(&self) -> Result<(u32, u32), NvrtcError> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the pointers are valid for the call.
        let status = unsafe { (self.version)(&raw mut major, &raw mut minor) };
        self.checked("nvrtcVersion", status)?;
        Ok((major.unsigned_abs(), minor.unsigned_abs()))
    }

    fn read_archs(&self) -> Result<Vec<u32>, NvrtcError> {
        let mut count = 0;
        // SAFETY: the pointer is valid for the call.
        let status = unsafe { (self.arch_count)(&raw mut count) };
        self.checked("nvrtcGetNumSupportedArchs", status)?;
        let mut archs = vec![0; count.max(0) as usize];
        // SAFETY: the library writes as many numbers as it said.
        let status = unsafe { (self.archs)(archs.as_mut_ptr()) };
        self.checked("nvrtcGetSupportedArchs", status)?;
        Ok(archs.into_iter().map(c_int::unsigned_abs).collect())
    }

    fn checked(&self, call: &'static str, status: Status) -> Result<(), NvrtcError> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: the function takes any number.
        let text = unsafe { (self.error_string)(status) };
        let text = if text.is_null() {
            format!("error {status}")
        } else {
            // SAFETY: a static text, ended by a zero.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(NvrtcError::Call { call, text })
    }
}

/// A program inside the library.
struct Handle<'a> {
    functions: &'a Functions,
    program: Program,
}

impl Handle<'_> {
    /// Fetches bytes in two calls of the library, one for the size and one for the bytes.
    fn bytes(
        &self,
        call: &'static str,
        size: unsafe extern "C" fn(Program, *mut usize) -> Status,
        fill: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    ) -> Result<Vec<u8>, NvrtcError> {
        let mut length = 0;
        // SAFETY: the program is alive, the pointer valid for the call.
        self.functions.checked(call, unsafe { size(self.program, &raw mut length) })?;
        let mut bytes = vec![0_u8; length];
        // SAFETY: the library writes as many bytes as it said.
        self.functions.checked(call, unsafe { fill(self.program, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is alive and not used again.
        let _ = unsafe { (self.functions.destroy)(&raw mut self.program) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: (&str, &str) = ("header.cuh", "#define NAME kernel\n");

    fn nvrtc() -> Nvrtc {
        Nvrtc::find(&Surroundings::of_process(), None).unwrap()
    }

    fn source(text: &str) -> Source<'_> {
        Source { file: "test.cu", text, headers: &[HEADER] }
    }

    #[test]
    fn a_text_becomes_machine_code() {
        let text = "#include \"header.cuh\"\nextern \"C\" __global__ void NAME(int *x) { *x = 1; }";
        let cubin = nvrtc().compile(source(text), "sm_90", &[]).unwrap();
        assert_eq!(&cubin[..4], b"\x7fELF");
    }

    #[test]
    fn an_error_comes_with_file_options_and_log() {
        let error = nvrtc().compile(source("nonsense"), "sm_90", &["-DX=1".to_owned()]).unwrap_err();
        let NvrtcError::Compile(failure) = &error else { panic!("{error}") };
        assert_eq!((failure.file.as_str(), failure.options.len()), ("test.cu", 2));
        assert!(failure.log.contains("test.cu(1)"), "{failure:?}");
        let brief = error.to_string();
        assert!(brief.starts_with("test.cu(1): error: ") && brief.lines().count() == 1, "{brief}");
    }

    #[test]
    fn a_device_runs_the_nearest_architecture_below_its_own() {
        let nvrtc = nvrtc();
        assert_eq!(nvrtc.target((9, 0)).as_deref(), Some("sm_90"));
        assert_eq!(nvrtc.target((12, 9)).as_deref(), Some("sm_121"));
        assert_eq!(nvrtc.target((99, 0)), None);
        assert_eq!(nvrtc.target_of_users((9, 0)).as_deref(), Some("sm_90a"));
        assert_eq!(nvrtc.target_of_users((8, 6)).as_deref(), Some("sm_86"));
        assert!(["sm_90a", "sm_100a", "sm_75", "sm_120f"].map(|arch| nvrtc.knows(arch)) == [true; 4]);
        assert!(["sm_86a", "sm_91a", "compute_90", "sm_90aa", "sm_"].map(|arch| nvrtc.knows(arch)) == [false; 5]);
    }

    #[test]
    fn the_file_is_known_whichever_name_finds_it() {
        let _first = nvrtc();
        let again = nvrtc();
        assert!(again.found().is_absolute(), "{:?}", again.found());
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_versions() {
        let find = |needs| Nvrtc::find(&Surroundings::of_process(), Some(needs));
        let missing = find(Needs { capability: (99, 0), driver: (13, 0) }).unwrap_err().to_string();
        assert!(missing.contains("sm_990") && missing.contains("NVRTC 1") && missing.contains("13.0"), "{missing}");
        let newer = find(Needs { capability: (9, 0), driver: (1, 0) }).unwrap_err().to_string();
        assert!(newer.contains("the driver has CUDA 1.0"), "{newer}");
    }

    #[test]
    fn nothing_found_says_how_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let broken = folder.path().join("lib/libnvrtc.so.13");
        std::fs::create_dir_all(broken.parent().unwrap()).unwrap();
        std::fs::write(&broken, "no library").unwrap();
        let surroundings = Surroundings { toolkits: vec![folder.path().into()], ..Surroundings::default() };
        match Nvrtc::find(&surroundings, None) {
            Err(NvrtcError::Unusable(reasons)) => assert!(reasons[0].contains("libnvrtc.so.13"), "{reasons:?}"),
            // This machine's loader knows an NVRTC.
            Ok(nvrtc) => assert_ne!(nvrtc.found(), broken),
            Err(error) => panic!("{error}"),
        }
    }
}
