//! A driver and a compiler that misbehave on request, built from `tests/fake_libraries/` with the system's C compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The libraries, in folders of their own.
pub(crate) struct Libraries(TempDir);

impl Libraries {
    /// Builds the libraries. `None`, with the reason on stderr, where there is no C compiler.
    pub(crate) fn build() -> Option<Self> {
        let libraries = Self(tempfile::tempdir().unwrap());
        for (source, library) in [("libcuda.c", libraries.driver()), ("libnvrtc.c", libraries.compiler())] {
            std::fs::create_dir_all(library.parent().unwrap()).unwrap();
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_libraries").join(source);
            let built = Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).arg(library).arg(source).status();
            match built {
                Ok(status) => assert!(status.success(), "the fake library does not compile"),
                Err(error) => {
                    eprintln!("skipped: there is no C compiler to build the fake libraries with: {error}");
                    return None;
                }
            }
        }
        Some(libraries)
    }

    pub(crate) fn driver(&self) -> PathBuf {
        self.0.path().join("driver/libcuda.so.1")
    }

    pub(crate) fn compiler(&self) -> PathBuf {
        self.0.path().join("toolkit/lib64/libnvrtc.so.13")
    }

    /// Makes a command find the driver.
    pub(crate) fn driver_for<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("LD_LIBRARY_PATH", self.driver().parent().unwrap())
    }

    /// Makes a command find the compiler before any other. Its output stays in a cache of its own.
    pub(crate) fn compiler_for<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let cache = self.0.path().join("cache");
        command.env("CUDA_HOME", self.0.path().join("toolkit")).env("SYNCSCOPE_CACHE", cache)
    }
}

/// The command in a folder where it finds no NVRTC: not in the project's folder, in no Python, and in no toolkit.
pub(crate) fn without_libraries(folder: &Path) -> Command {
    let program = folder.join("syncscope");
    let original = env!("CARGO_BIN_EXE_syncscope");
    if !program.exists() && std::fs::hard_link(original, &program).is_err() {
        std::fs::copy(original, &program).unwrap();
    }
    let mut command = Command::new(program);
    command.current_dir(folder).env("PATH", "").stdin(std::process::Stdio::null());
    for variable in ["HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"] {
        command.env_remove(variable);
    }
    command
}
