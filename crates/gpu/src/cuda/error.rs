//! Errors of the driver, the compiler and the devices, each with what to do about it.

/// A call of the CUDA driver that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {name} ({text})")]
pub struct CudaError {
    /// The function called.
    pub call: &'static str,
    /// The driver's number for the error.
    pub code: u32,
    /// The driver's name for the error, such as `CUDA_ERROR_OUT_OF_MEMORY`.
    pub name: String,
    /// The driver's explanation.
    pub text: String,
}

/// The result of a driver call.
pub(crate) type Called<T = ()> = Result<T, CudaError>;

impl CudaError {
    /// `CUDA_ERROR_OUT_OF_MEMORY` of `cuda.h`.
    const OUT_OF_MEMORY: u32 = 2;

    /// Whether the device is out of memory; then only this one call has failed.
    pub(crate) const fn is_out_of_memory(&self) -> bool {
        self.code == Self::OUT_OF_MEMORY
    }

    /// Whether the context can no longer be used: a kernel made it unusable, or the device is lost. Error numbers of `cuda.h`.
    pub(crate) const fn is_fatal(&self) -> bool {
        matches!(
            self.code,
            // Not initialized or no longer; device unavailable, missing or invalid; context invalid.
            3 | 4 | 46 | 100 | 101 | 201
            // Uncorrectable errors of memory and links.
            | 214 | 220 | 226
            // Illegal address, launch timeout, context destroyed, assertion, hardware exceptions, launch failed.
            | 700 | 702 | 709 | 710 | 714
                ..=719
            // Unknown.
            | 999
        )
    }
}

/// Why kernels cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NvrtcError {
    /// The library was not found.
    #[error(
        "NVRTC, NVIDIA's run-time compiler, was not found; run `make nvrtc` in the project's folder, or `pip install \
         nvidia-cuda-nvrtc`, or set CUDA_HOME to a CUDA toolkit"
    )]
    NotFound,
    /// Libraries were found, but none of them works.
    #[error("no NVRTC could be loaded; set CUDA_HOME to a CUDA toolkit that does: {}", .0.join("; "))]
    Unusable(Vec<String>),
    /// A kernel includes headers that are not part of this program.
    #[error("no folder of CUDA headers has those of CUB (cub/version.cuh of CCCL); `make nvrtc` installs them")]
    NoHeaders,
    /// The library is older than the device.
    #[error(
        "NVRTC {nvrtc} cannot compile for sm_{arch} (it knows {known}); install an NVRTC that does, such as the one of \
         the CUDA version of the driver, {driver}"
    )]
    Architecture {
        /// Version of the library.
        nvrtc: String,
        /// Compute capability of the device, as in `sm_90`.
        arch: u32,
        /// The architectures that the library compiles for.
        known: String,
        /// CUDA version of the driver.
        driver: String,
    },
    /// The library does not know a requested architecture.
    #[error("NVRTC {nvrtc} does not compile for `{arch}`; it knows {known}, from sm_90 on also with an `a` appended")]
    UnknownArchitecture {
        /// Version of the library.
        nvrtc: String,
        /// The requested architecture.
        arch: String,
        /// The architectures that the library compiles for.
        known: String,
    },
    /// The compiler refused a kernel.
    #[error(transparent)]
    Compile(Box<CompileFailure>),
    /// Another call failed.
    #[error("{call}: {text}")]
    Call {
        /// The function called.
        call: &'static str,
        /// The library's explanation.
        text: String,
    },
}

/// The compiler's messages about a kernel that it refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.in_brief())]
pub struct CompileFailure {
    /// Version of the library.
    pub nvrtc: String,
    /// The file of the kernel.
    pub file: String,
    /// The architecture, such as `sm_90`.
    pub arch: String,
    /// The options given.
    pub options: Vec<String>,
    /// The output of the compiler.
    pub log: String,
}

impl CompileFailure {
    /// The lines of the log that are errors.
    fn lines(&self) -> impl Iterator<Item = &str> {
        self.log.lines().filter(|line| {
            let before = line.split("error").next().unwrap_or_default();
            line.contains("error")
                && (["): ", " : ", "catastrophic "].iter().any(|end| before.ends_with(end)) || before.is_empty())
        })
    }

    /// The number of errors.
    pub(crate) fn errors(&self) -> usize {
        self.lines().count()
    }

    /// Whether an error is about this name.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.log.contains(&format!("\"{name}\""))
    }

    /// The line numbers in a file that errors refer to.
    pub(crate) fn lines_in<'a>(&'a self, file: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.lines().filter_map(move |line| line.strip_prefix(file)?.strip_prefix('(')?.split(')').next()?.parse().ok())
    }

    /// The first error, the number of others, and the options that may matter; the user knows their own options.
    fn in_brief(&self) -> String {
        let first = self.lines().next().or_else(|| self.log.lines().find(|line| !line.trim().is_empty()));
        let first = first.unwrap_or("the compiler says nothing").trim();
        let others = match self.errors() {
            0 | 1 => String::new(),
            count => format!("; errors in all: {count}"),
        };
        let advice = advice(first).map_or_else(String::new, |advice| format!("; {advice}"));
        format!("{first} (NVRTC {} for {}, {}{others}){advice}", self.nvrtc, self.arch, telling(&self.options))
    }
}

/// The options that are not part of every program.
pub(super) fn telling(options: &[String]) -> String {
    let is_telling =
        |option: &&String| !["-I", "-DSYNCSCOPE_", "--gpu-arch"].iter().any(|known| option.starts_with(known));
    options.iter().filter(is_telling).map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// What a message means for the user's code, where the message does not say so.
fn advice(message: &str) -> Option<String> {
    const MEANINGS: [(&str, &str); 3] = [
        (
            "Duplicate definition of",
            "the operation is repeated in a loop: put its assembly in braces, asm(\"{ ... }\")",
        ),
        ("syncscope(1): error: identifier \"release\" is undefined", "the file has `acquire` but no `release`"),
        ("error: identifier \"receive\" is undefined", "the file has `send` but no `receive`"),
    ];
    let known = MEANINGS.iter().find(|(begin, _)| message.contains(begin));
    known.map(|(_, meaning)| (*meaning).to_owned()).or_else(|| about_header(message))
}

/// What to do about a header that the compiler does not find, if the message concerns one.
fn about_header(message: &str) -> Option<String> {
    /// Headers of the C++ library that the toolkit has for devices.
    const ON_DEVICES: [&str; 27] = [
        "array",
        "atomic",
        "barrier",
        "bit",
        "bitset",
        "cassert",
        "cfloat",
        "chrono",
        "climits",
        "cmath",
        "complex",
        "cstddef",
        "cstdint",
        "cstdlib",
        "cstring",
        "functional",
        "initializer_list",
        "latch",
        "limits",
        "numeric",
        "optional",
        "ratio",
        "semaphore",
        "span",
        "tuple",
        "type_traits",
        "utility",
    ];
    const OF_CUDA: [&str; 7] = ["cuda", "cooperative_groups", "cub/", "thrust/", "nv/", "crt/", "mma.h"];
    let name = message.split_once("cannot open source file \"")?.1.split('"').next()?;
    let in_cpp = name.strip_suffix(".h").map_or_else(|| name.to_owned(), |name| format!("c{name}"));
    let known = ON_DEVICES.contains(&in_cpp.as_str()).then(|| format!("use <cuda/std/{in_cpp}>"));
    let of_language = ["cstdio", "iostream", "string", "vector", "map", "thread", "mutex", "algorithm", "memory"];
    Some(if OF_CUDA.iter().any(|begin| name.starts_with(begin)) {
        "CUDA_HOME names the toolkit that has CUDA's headers".to_owned()
    } else if known.is_some() || of_language.contains(&in_cpp.as_str()) {
        let instead = known.unwrap_or_else(|| "leave it out".to_owned());
        format!("NVRTC has no C or C++ library: {instead} (printf and assert need no header)")
    } else {
        "-I names the folder of a header".to_owned()
    })
}

/// Why the GPUs cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// GPUs were not requested.
    #[error("GPUs were not asked for")]
    NotAsked,
    /// A process before this one ended while it opened the devices, by a crash or because a call did not return.
    #[error("{0}; libcuda.so.1 or NVRTC may be broken, or the driver may hang; check that `nvidia-smi` answers")]
    EndedProcess(String),
    /// There is no NVIDIA driver.
    #[error("no NVIDIA driver (libcuda.so.1 cannot be loaded); install the driver to measure a GPU")]
    NoDriver,
    /// The driver lacks a function.
    #[error("the NVIDIA driver does not have {0}; CUDA 12.0 or later is needed (driver 525)")]
    OldDriver(&'static str),
    /// The driver sees no device.
    #[error("the NVIDIA driver is there, but it sees no device{}", hidden(.visible.as_deref()))]
    NoDevice {
        /// The value of `CUDA_VISIBLE_DEVICES`, if it is set.
        visible: Option<String>,
    },
    /// A requested device does not exist.
    #[error("there is no device {asked}; there {}", numbers(.there))]
    NoSuchDevice {
        /// The requested number.
        asked: u32,
        /// The existing numbers.
        there: Vec<u32>,
    },
    /// Kernels cannot be compiled.
    #[error(transparent)]
    Nvrtc(#[from] NvrtcError),
    /// A call of the driver failed.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// The global timer of the device does not advance, so the length of a cycle is unknown.
    #[error("the global timer of the device does not advance: clocks cannot be measured")]
    NoTimer,
    /// The kernel that measures the clock did not end.
    #[error("the clock of the device could not be measured: {0}")]
    Unusable(String),
    /// A kernel did not end within its limit, did not stop on request, and still occupies the device.
    #[error("a kernel that did not end still occupies the device")]
    Occupied,
    /// A kernel broke its context, and the driver gives this process no other.
    #[error("a kernel broke its context, and this process gets no other: {0}")]
    Lost(CudaError),
}

impl GpuError {
    /// Whether the request was wrong, rather than the machine.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::NoSuchDevice { .. })
    }
}

fn hidden(visible: Option<&str>) -> String {
    match visible {
        Some("") => "; CUDA_VISIBLE_DEVICES is empty and hides all of them".to_owned(),
        Some(visible) => format!("; CUDA_VISIBLE_DEVICES={visible} may hide it"),
        None => "; does `nvidia-smi` show one, and was it passed into this container?".to_owned(),
    }
}

fn numbers(there: &[u32]) -> String {
    match there {
        [only] => format!("is {only} alone"),
        _ => format!("are {}", there.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_memory_fails_one_case_and_a_lost_device_all() {
        let error = |code| CudaError { call: "cuMemAlloc", code, name: String::new(), text: String::new() };
        assert!(error(2).is_out_of_memory() && !error(2).is_fatal());
        assert!(error(719).is_fatal() && error(46).is_fatal() && !error(719).is_out_of_memory());
        assert!(!error(701).is_fatal(), "too many registers or threads for one launch");
    }

    #[test]
    fn a_warning_in_front_of_an_error_is_not_what_is_wrong() {
        let log =
            "a.cu(1): warning #177-D: never used\n\na.cu(2): catastrophic error: cannot open source file \"b.h\"\n";
        let [nvrtc, file, arch] = ["13.0", "a.cu", "sm_90"].map(str::to_owned);
        let failure = CompileFailure { nvrtc, file, arch, options: Vec::new(), log: log.to_owned() };
        assert_eq!(failure.errors(), 1);
        assert!(
            failure.to_string().starts_with("a.cu(2): catastrophic error") && failure.to_string().contains("-I names")
        );
    }

    #[test]
    fn errors_name_what_is_missing_and_the_remedy() {
        let hidden = GpuError::NoDevice { visible: Some(String::new()) }.to_string();
        assert!(hidden.contains("CUDA_VISIBLE_DEVICES is empty"), "{hidden}");
        let seven = GpuError::NoSuchDevice { asked: 7, there: vec![0, 1] };
        assert_eq!(seven.to_string(), "there is no device 7; there are 0, 1");
        assert_eq!(
            GpuError::NoSuchDevice { asked: 7, there: vec![0] }.to_string(),
            "there is no device 7; there is 0 alone"
        );
        assert!(seven.is_usage() && !GpuError::NoDriver.is_usage());
        for remedy in ["make nvrtc", "pip install nvidia-cuda-nvrtc", "CUDA_HOME"] {
            assert!(NvrtcError::NotFound.to_string().contains(remedy));
        }
    }
}
