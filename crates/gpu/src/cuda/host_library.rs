//! A user's sequence of launches: `int launch(stream)` in a file for the host, compiled with nvcc, or in a library.

use std::ffi::{OsString, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use syncscope_core::OwnOperation;
use syncscope_host::child_process::run_within;
use syncscope_host::end::End;
use syncscope_host::file_hash;
use syncscope_host::guard::temporary_folder;
use syncscope_host::loading::undisturbed;

use crate::cuda::driver::Stream;
use crate::cuda::error::{Called, CudaError};

/// The longest time that nvcc may take.
const LIMIT: Duration = Duration::from_secs(100);

/// The last place to look for nvcc.
const USUAL: &str = "/usr/local/cuda/bin/nvcc";

/// The extension of library files.
pub const LIBRARY: &str = "so";

/// A loaded library with the user's `launch`. It stays loaded: the CUDA runtime in it has handlers of its own.
#[derive(Debug)]
pub(crate) struct HostLibrary {
    launch: unsafe extern "C" fn(*mut c_void) -> c_int,
}

impl HostLibrary {
    /// Compiles a source for devices such as `sm_90a`, or takes the library that the user names.
    pub(crate) fn of(own: &OwnOperation, arch: &str) -> Result<Self, String> {
        let file = Path::new(own.file.as_deref().unwrap_or_default());
        if file.extension().is_some_and(|end| end == LIBRARY) {
            let is_same = file_hash(file).is_some_and(|hash| hash == own.text);
            let changed = || format!("{} is not the library that was named: it has changed", file.display());
            return if is_same { Self::load(file) } else { Err(changed()) };
        }
        let folder = temporary_folder()?;
        let failed = |error: std::io::Error| format!("{}: {error}", folder.path().display());
        let source = folder.path().join(file.file_name().unwrap_or_default());
        fs::write(&source, format!("{}#line 1 \"{}\"\n{}\n", own.includes, file.display(), own.text))
            .map_err(failed)?;
        let (library, compiler) = (folder.path().join("launch.so"), nvcc());
        let mut command = Command::new(&compiler);
        command.args(options(own, arch)).arg("-o").arg(&library).arg(&source).arg("-lcuda");
        let compiler = compiler.display();
        let ended = run_within(&mut command, LIMIT, || false).map_err(|error| {
            format!("{compiler}: {error}; a file with `launch` needs nvcc: name it in NVCC, or compile a library and name that (.so)")
        })?;
        if matches!(ended.status, Ok(End::Code(0))) {
            return Self::load(&library);
        }
        let line = ended.messages.lines().find(|line| line.contains("error")).or(ended.messages.lines().next());
        Err(format!("{}: {compiler} failed: {}", file.display(), line.unwrap_or("it says nothing").trim()))
    }

    fn load(file: &Path) -> Result<Self, String> {
        // The loader would search elsewhere for a name without a folder.
        let file: PathBuf = fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?;
        // SAFETY: initializers of a library run here. They are the user's own, in the process that runs the rest of it.
        let loaded = undisturbed(|| unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_LOCAL) });
        let library = loaded.map_err(|error| format!("{}: {error}", file.display()))?;
        // SAFETY: the documented type of the function.
        let launch = unsafe { library.get::<unsafe extern "C" fn(*mut c_void) -> c_int>(b"launch\0") };
        let launch = launch.map_err(|_| {
            let name = file.display();
            format!("{name} exports no function `launch`: it needs `extern \"C\" int launch(cudaStream_t stream)`")
        })?;
        let launch = *launch;
        std::mem::forget(library);
        Ok(Self { launch })
    }

    /// Lets the function queue its work in a stream.
    pub(crate) fn launch(&self, stream: &Stream) -> Called {
        // SAFETY: the library stays loaded; what the function does is the user's.
        match unsafe { (self.launch)(stream.handle()) } {
            0 => Ok(()),
            code => Err(CudaError {
                call: "launch",
                code: code.cast_unsigned(),
                name: format!("error {code}"),
                text: "the function `launch` of the file did not return 0".to_owned(),
            }),
        }
    }
}

/// The options of nvcc. Without an architecture, nvcc compiles for the oldest it knows, which gives other device code.
fn options(own: &OwnOperation, arch: &str) -> Vec<OsString> {
    let folder =
        own.file.as_deref().and_then(|file| Path::new(file).parent()).filter(|folder| *folder != Path::new(""));
    let ours = ["-O2", "-shared", "-Xcompiler", "-fPIC"].map(str::to_owned).into_iter();
    let of_user = own.options.iter().cloned();
    let words = ours.chain([format!("-arch={arch}")]).chain(of_user).chain(["-I".to_owned()]).map(OsString::from);
    words.chain([folder.unwrap_or(Path::new(".")).into()]).collect()
}

/// The compiler in `$NVCC`, in the search path, or where the toolkit puts it.
fn nvcc() -> OsString {
    let chosen = env::var_os("NVCC").filter(|chosen| !chosen.is_empty());
    let is_in_path =
        || env::split_paths(&env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join("nvcc").is_file());
    chosen.unwrap_or_else(|| if is_in_path() || !Path::new(USUAL).is_file() { "nvcc".into() } else { USUAL.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_compiled_for_the_device_that_runs_them() {
        let (file, asked) = (Some("there/chain.cu".to_owned()), vec!["-O3".to_owned()]);
        let own = OwnOperation { file, options: asked, ..OwnOperation::default() };
        let words = options(&own, "sm_90a");
        assert!(words.contains(&"-arch=sm_90a".into()) && words.ends_with(&["-I".into(), "there".into()]), "{words:?}");
        let at = |word: &str| words.iter().position(|one| one == word);
        assert!(at("-O2") < at("-O3"), "{words:?}");
    }
}
