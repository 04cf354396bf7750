//! Finds the MPI library's compiler wrapper (`mpicc`) and compiles the shim with it.
//!
//! MPI libraries differ in their binary interfaces: in Open MPI a communicator is a pointer, in MPICH a number. The site's
//! own wrapper knows its library. It compiles the shim once, into the user's cache.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use syncscope_core::Cancel;
use syncscope_host::trust::{Origin, trusted};
use syncscope_host::{cache_folder, content_hash, file_hash};

use syncscope_machine::c_compiler::{self, in_path};

/// The source of the shim.
pub(crate) const SOURCE: &str = include_str!("shim.c");

/// Names the wrapper to use if the usual ones do not belong to the launcher.
const CHOSEN: &str = "SYNCSCOPE_MPICC";

/// Compiling the shim takes a tenth of a second, and more where many nodes read their compiler from one file server.
const LIMIT: Duration = Duration::from_secs(60);

/// The family of the MPI library whose launcher started the processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Open MPI and its derivatives.
    OpenMpi,
    /// MPICH and its derivatives, such as Intel MPI.
    Mpich,
    /// Any library, because Slurm starts processes of all of them.
    Any,
}

impl Family {
    /// The names of the family's wrappers: Debian's first, then the name in a module or in an installation of its own.
    const fn wrappers(self) -> &'static [&'static str] {
        match self {
            Self::OpenMpi => &["mpicc.openmpi", "mpicc"],
            Self::Mpich => &["mpicc.mpich", "mpicc"],
            Self::Any => &["mpicc", "mpicc.openmpi", "mpicc.mpich"],
        }
    }

    /// The definition that makes the compiler refuse the library of another family.
    const fn definition(self) -> Option<&'static str> {
        match self {
            Self::OpenMpi => Some("-DSYNCSCOPE_OPEN_MPI"),
            Self::Mpich => Some("-DSYNCSCOPE_MPICH"),
            Self::Any => None,
        }
    }
}

/// Why this process, which no launcher started together with others, cannot measure primitives between processes.
pub fn unavailable() -> String {
    match wrappers(Family::Any) {
        Ok(_) => {
            "needs several processes that measure nothing else: mpirun -n 4 syncscope run --only 'mpi.*' --out DIR"
                .to_owned()
        }
        Err(missing) => missing,
    }
}

/// Finds the installed wrappers.
fn wrappers(family: Family) -> Result<Vec<PathBuf>, String> {
    let found = match env::var_os(CHOSEN).filter(|chosen| !chosen.is_empty()) {
        Some(chosen) => vec![PathBuf::from(chosen)],
        None => in_path(family.wrappers(), env::var_os("PATH").unwrap_or_default().as_ref()),
    };
    if !found.is_empty() {
        return Ok(found);
    }
    Err(format!(
        "no MPI compiler wrapper ({}) is in PATH: load the site's MPI module, install libopenmpi-dev or libmpich-dev \
         (Debian, Ubuntu), or name the wrapper in {CHOSEN}",
        family.wrappers().join(", ")
    ))
}

/// A compiled shim.
#[derive(Debug, Clone)]
pub(crate) struct Shim {
    pub(crate) file: PathBuf,
    /// The command that compiled it, without the names of the files.
    pub(crate) command: String,
}

/// The shim for this launcher's library, from the cache or compiled now; `cancel` stops the compiler.
///
/// # Errors
/// If something is missing, the compiler fails, or the compiler does not end.
pub(crate) fn shim(family: Family, cancel: &Cancel) -> Result<Shim, String> {
    let folder = cache_folder().ok_or("there is no folder for the compiled MPI shim: name one in SYNCSCOPE_CACHE")?;
    let folder = folder.join("mpi");
    fs::create_dir_all(&folder)
        .map_err(|error| format!("{}: {error}; name another folder in SYNCSCOPE_CACHE", folder.display()))?;
    // The first wrapper is the launcher's own; others may belong to another library.
    let mut refused = None;
    for wrapper in wrappers(family)? {
        match shim_of(&wrapper, family, &folder, cancel) {
            Ok(shim) => return Ok(shim),
            Err(error) if cancel.is_cancelled() => return Err(error),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(format!("{}; the wrapper to use can be named in {CHOSEN}", refused.unwrap_or_default()))
}

fn shim_of(wrapper: &Path, family: Family, folder: &Path, cancel: &Cancel) -> Result<Shim, String> {
    let options: Vec<&str> = ["-O2", "-fPIC", "-shared"].into_iter().chain(family.definition()).collect();
    let command = format!("{} {}", wrapper.display(), options.join(" "));
    // Another version of the library has another wrapper.
    let real = fs::canonicalize(wrapper).unwrap_or_else(|_| wrapper.to_owned());
    let identity = [SOURCE, &command, &file_hash(&real).unwrap_or_default()].join("\n");
    let file = folder.join(format!("{}.so", content_hash(identity.as_bytes())));
    if !file.is_file() {
        let mut compiler = Command::new(wrapper);
        compiler.args(&options);
        c_compiler::compile(compiler, ("c", SOURCE), &[], &file, LIMIT, || cancel.is_cancelled())
            .map_err(|error| format!("{command}: {error}"))?;
    }
    let file =
        trusted(&file, Origin::Named).map_err(|error| format!("{error}; name another folder in SYNCSCOPE_CACHE"))?;
    Ok(Shim { file, command })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_found_in_the_order_of_preference() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        for (directory, name) in [(&first, "mpicc"), (&second, "mpicc"), (&second, "mpicc.mpich")] {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join(name), "").unwrap();
        }
        let path = env::join_paths([&first, &second]).unwrap();
        let found = in_path(Family::Mpich.wrappers(), &path);
        assert_eq!(found, [second.join("mpicc.mpich"), first.join("mpicc")]);
        assert!(in_path(Family::OpenMpi.wrappers(), "".as_ref()).is_empty());
    }

    #[test]
    fn a_shim_is_compiled_once() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let wrapper = folder.path().join("mpicc");
        // The wrapper "compiles" by writing the file that `-o` names.
        let script = "#!/bin/sh\necho \"$@\" >>LOG\nwhile [ \"$1\" != -o ]; do shift; done\necho done >\"$2\"\n";
        fs::write(&wrapper, script.replace("LOG", log.to_str().unwrap())).unwrap();
        make_executable(&wrapper);
        let cache = folder.path().join("cache");
        let shim_of = |family| shim_of(&wrapper, family, &cache, &Cancel::new());
        let shim = shim_of(Family::OpenMpi).unwrap();
        assert_eq!(fs::read_to_string(&shim.file).unwrap(), "done\n");
        assert_eq!(shim_of(Family::OpenMpi).unwrap().file, shim.file);
        assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 1);
        assert_ne!(shim_of(Family::Mpich).unwrap().file, shim.file, "another family, another shim");
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 2, "no drafts are left");
        fs::write(&wrapper, "#!/bin/sh\necho 'mpi.h: error: no such file' >&2\nexit 1\n").unwrap();
        let error = shim_of(Family::OpenMpi).unwrap_err();
        assert!(error.contains("mpicc -O2") && error.ends_with("mpi.h: error: no such file"), "{error}");
    }

    #[test]
    fn a_compiler_that_hangs_is_killed_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let wrapper = folder.path().join("mpicc");
        fs::write(&wrapper, "#!/bin/sh\nsleep 600 & wait\n").unwrap();
        make_executable(&wrapper);
        let file = folder.path().join("cache/shim.so");
        let error = |limit, cancel: &Cancel| {
            let compiler = Command::new(&wrapper);
            c_compiler::compile(compiler, ("c", SOURCE), &[], &file, limit, || cancel.is_cancelled())
                .unwrap_err()
                .to_string()
        };
        assert!(error(Duration::from_secs(1), &Cancel::new()).contains("did not end within 1 s"));
        let cancel = Cancel::new();
        cancel.cancel();
        assert!(error(Duration::from_secs(600), &cancel).contains("asked to stop"));
        assert_eq!(fs::read_dir(folder.path().join("cache")).unwrap().count(), 0);
    }

    fn make_executable(file: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
