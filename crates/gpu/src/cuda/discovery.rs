//! Finds NVRTC and the CUDA headers: in a toolkit, through the dynamic loader, in the project's folder, or in a Python
//! environment. Refuses files that another user may have put there, and never searches the working folder.

use std::path::{Path, PathBuf};
use std::{env, fs};

use syncscope_host::trust::{Origin, trusted};

/// Where `make nvrtc` installs the wheels, below the project's folder.
const PROJECT_FOLDER: &str = ".syncscope/cuda";

/// How many folders above the executable the project's folder is searched (`target/release/deps/` is three below).
const FOLDERS_ABOVE: usize = 5;

/// The parts of the process's environment that show where CUDA may be installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The values of CUDA_HOME and CUDA_PATH, if they are set.
    pub toolkits: Vec<PathBuf>,
    /// The folder where toolkits are installed: `/usr/local`.
    pub system: Option<PathBuf>,
    /// The executable.
    pub executable: Option<PathBuf>,
    /// Folders with a `lib/python3.X/site-packages`.
    pub pythons: Vec<PathBuf>,
}

/// Whether the dynamic loader looks up this path: a name without a folder, as for `dlopen(3)`.
pub(super) fn is_for_loader(library: &Path) -> bool {
    library.parent() == Some(Path::new(""))
}

impl Surroundings {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = variable("HOME").map(|home| home.join(".local"));
        let named = [variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), home].into_iter().flatten();
        let on_path = variable("PATH").map(|path| pythons_on_path(path.as_os_str())).unwrap_or_default();
        Self {
            toolkits: [variable("CUDA_HOME"), variable("CUDA_PATH")].into_iter().flatten().collect(),
            system: Some(PathBuf::from("/usr/local")),
            executable: env::current_exe().ok(),
            // Debian's pip installs there for every Python prefix.
            pythons: named.chain(on_path).chain([PathBuf::from("/usr/local")]).collect(),
        }
    }

    /// The files that may be NVRTC, and the names by which the dynamic loader may find it, in the order in which to try them;
    /// for a file that is refused, the reason.
    pub fn nvrtc_libraries(&self) -> Vec<Result<PathBuf, String>> {
        self.nvrtc_places().into_iter().map(allowed).collect()
    }

    fn nvrtc_places(&self) -> Vec<Place> {
        let files = |root: &Place| {
            let folders = library_folders(&root.path);
            let found: Vec<Place> =
                folders.iter().flat_map(|folder| nvrtc_files(folder)).map(|path| Place { path, ..*root }).collect();
            found
        };
        let loader = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"].map(named);
        let toolkits: Vec<Place> = self.toolkits.iter().map(named).collect();
        let others = [self.system_toolkits(), self.project_folders(), self.site_packages()].concat();
        toolkits.iter().flat_map(files).chain(loader).chain(others.iter().flat_map(files)).collect()
    }

    /// The same list for NCCL. `SYNCSCOPE_NCCL` names a file or a folder.
    pub fn nccl_libraries(&self) -> Vec<Result<PathBuf, String>> {
        const FILE: &str = "libnccl.so.2";
        let chosen = env::var_os("SYNCSCOPE_NCCL").filter(|chosen| !chosen.is_empty()).map(PathBuf::from);
        if let Some(chosen) = chosen {
            return vec![trusted(&if chosen.is_dir() { chosen.join(FILE) } else { chosen }, Origin::Named)];
        }
        let roots = [self.project_folders(), self.site_packages()].concat();
        let wheels = roots.into_iter().map(|root| Place { path: root.path.join("nvidia/nccl/lib").join(FILE), ..root });
        std::iter::once(named(FILE)).chain(wheels.filter(|place| place.path.is_file())).map(allowed).collect()
    }

    /// The include folders of the CUDA headers; empty if there are none. This project's own kernels do not need them.
    pub fn include_folders(&self) -> Vec<PathBuf> {
        let toolkits = self.toolkits.iter().map(named).collect();
        let roots = [toolkits, self.system_toolkits(), self.project_folders(), self.site_packages()];
        let real = roots.iter().flatten().filter_map(|root| trusted(&root.path, root.origin).ok());
        real.into_iter().find_map(|root| headers(&root)).unwrap_or_default()
    }

    /// The toolkits such as `/usr/local/cuda` and `/usr/local/cuda-13.0`, newest first.
    fn system_toolkits(&self) -> Vec<Place> {
        let mut toolkits = self.system.as_deref().map(entries).unwrap_or_default();
        toolkits.retain(|path| begins(path, "cuda"));
        toolkits.sort_by_key(|path| std::cmp::Reverse(numbers(path)));
        toolkits.into_iter().map(named).collect()
    }

    /// `.syncscope/cuda` in the executable's folder and in the folders above it.
    fn project_folders(&self) -> Vec<Place> {
        let folder = self.executable.as_deref().and_then(Path::parent);
        let folders = folder.into_iter().flat_map(|start| start.ancestors().take(FOLDERS_ABOVE));
        let folders = folders.map(|folder| folder.join(PROJECT_FOLDER)).filter(|folder| folder.is_dir());
        folders.map(|path| Place { path, origin: Origin::Found }).collect()
    }

    fn site_packages(&self) -> Vec<Place> {
        let libraries = self.pythons.iter().flat_map(|python| entries(&python.join("lib")));
        let of_python = libraries.filter(|library| begins(library, "python3"));
        // `dist-packages` is Debian's name.
        let folders = of_python.flat_map(|library| ["site-packages", "dist-packages"].map(|name| library.join(name)));
        folders.filter(|folder| folder.is_dir()).map(named).collect()
    }
}

/// A file, a folder or a name for the loader, and who chose it.
#[derive(Debug, Clone)]
struct Place {
    path: PathBuf,
    origin: Origin,
}

fn named(path: impl Into<PathBuf>) -> Place {
    Place { path: path.into(), origin: Origin::Named }
}

/// A file that may be loaded, or why it is refused. The loader searches its own folders.
fn allowed(place: Place) -> Result<PathBuf, String> {
    if is_for_loader(&place.path) { Ok(place.path) } else { trusted(&place.path, place.origin) }
}

/// The parents of the folders in `PATH` that have a `python3`. Links are followed, to find the packages.
fn pythons_on_path(path: &std::ffi::OsStr) -> Vec<PathBuf> {
    let installed = |folder: PathBuf| {
        let python = folder.join("python3");
        let real = fs::canonicalize(&python).ok()?;
        Some([python, real].into_iter().filter_map(|python| Some(python.parent()?.parent()?.to_path_buf())))
    };
    env::split_paths(path).filter(|folder| folder.is_absolute()).filter_map(installed).flatten().collect()
}

/// The folders with libraries in a toolkit or in an installation of wheels.
fn library_folders(root: &Path) -> Vec<PathBuf> {
    const TOOLKIT: [&str; 4] = ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"];
    // Wheels: one tree per version since CUDA 13, one per component before.
    let mut wheels = entries(&root.join("nvidia"));
    wheels.sort_by_key(|path| std::cmp::Reverse(numbers(path)));
    TOOLKIT.map(|folder| root.join(folder)).into_iter().chain(wheels.iter().map(|wheel| wheel.join("lib"))).collect()
}

/// The files in a folder that are NVRTC by name, newest first. `libnvrtc-builtins` and `libnvrtc.alt` do not count.
fn nvrtc_files(folder: &Path) -> Vec<PathBuf> {
    let version = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix("libnvrtc.so")?;
        let digits = |part: &str| part.parse::<u32>().ok();
        if name.is_empty() { Some(Vec::new()) } else { name.strip_prefix('.')?.split('.').map(digits).collect() }
    };
    let mut files: Vec<PathBuf> = entries(folder).into_iter().filter(|path| version(path).is_some()).collect();
    files.sort_by_key(|path| std::cmp::Reverse(version(path)));
    files
}

/// The include folders below `root` of the CUDA headers and of CCCL, which they need; `None` if `root` has no CUDA headers.
fn headers(root: &Path) -> Option<Vec<PathBuf>> {
    let wheels = entries(&root.join("nvidia"));
    let folders =
        ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"].map(|folder| root.join(folder));
    let mut folders = folders.into_iter().chain(wheels.iter().map(|wheel| wheel.join("include")));
    let main = folders.find(|folder| folder.join("cooperative_groups.h").is_file())?;
    let cccl = [main.join("cccl"), root.join("nvidia/cuda_cccl/include")];
    Some(std::iter::once(main).chain(cccl.into_iter().filter(|folder| folder.is_dir())).collect())
}

/// Whether the last part of a path begins with `word`.
fn begins(path: &Path, word: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(word))
}

/// The entries of a folder, by name; none if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The numbers in the last part of a path, by which `cuda-13.0` is newer than `cuda-9.2`.
fn numbers(path: &Path) -> Vec<u32> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.split(|character: char| !character.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of empty files.
    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        root
    }

    /// The files found, relative to `root`, except the loader's names.
    fn found(surroundings: &Surroundings, root: &Path) -> Vec<String> {
        let files = surroundings.nvrtc_places().into_iter().map(|place| place.path);
        let files = files.filter(|path| !is_for_loader(path));
        files.map(|path| path.strip_prefix(root).unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn nccl_is_found_in_a_python_environment() {
        let file = "venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2";
        let root = tree(&[file, "venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl_static.a"]);
        let surroundings = Surroundings { pythons: vec![root.path().join("venv")], ..Surroundings::default() };
        let real = fs::canonicalize(root.path().join(file)).unwrap();
        let expected = [Ok(PathBuf::from("libnccl.so.2")), Ok(real)];
        assert_eq!(surroundings.nccl_libraries(), expected);
    }

    #[test]
    fn places_are_tried_in_order() {
        let root = tree(&[
            "home/lib64/libnvrtc.so.12",
            "local/cuda-12.4/lib64/libnvrtc.so.12",
            "local/cuda-13.0/targets/x86_64-linux/lib/libnvrtc.so.13",
            "local/lib/libnvrtc.so.11",
            "project/.syncscope/cuda/nvidia/cu13/lib/libnvrtc.so.13",
            "project/target/release/syncscope",
            "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        ]);
        let at = |path: &str| root.path().join(path);
        let surroundings = Surroundings {
            toolkits: vec![at("home")],
            system: Some(at("local")),
            executable: Some(at("project/target/release/syncscope")),
            pythons: vec![at("venv")],
        };
        let expected = [
            "home/lib64/libnvrtc.so.12",
            "local/cuda-13.0/targets/x86_64-linux/lib/libnvrtc.so.13",
            "local/cuda-12.4/lib64/libnvrtc.so.12",
            "project/.syncscope/cuda/nvidia/cu13/lib/libnvrtc.so.13",
            "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        ];
        assert_eq!(found(&surroundings, root.path()), expected);
        let loader = surroundings.nvrtc_places().iter().position(|place| is_for_loader(&place.path));
        assert_eq!(loader, Some(1), "the loader is asked after CUDA_HOME and CUDA_PATH");
    }

    #[test]
    fn what_everybody_could_have_put_there_is_refused_and_named() {
        let open =
            |folder: &Path| fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let file = ".syncscope/cuda/nvidia/cu13/lib/libnvrtc.so.13";
        let root = tree(&[file, "toolkit/lib64/libnvrtc.so.13"]);
        let toolkits = vec![root.path().join("toolkit")];
        let surroundings = Surroundings { toolkits, ..Surroundings::default() };
        let files = || surroundings.nvrtc_libraries().into_iter().flatten().filter(|file| !is_for_loader(file)).count();
        assert_eq!(files(), 1);
        open(&surroundings.toolkits[0]);
        assert_eq!(files(), 0);
        open(root.path());
        let executable = Some(root.path().join("target/release/syncscope"));
        let surroundings = Surroundings { executable, ..Surroundings::default() };
        assert_eq!(found(&surroundings, root.path()), [file]);
        let refused: Vec<String> = surroundings.nvrtc_libraries().into_iter().filter_map(Result::err).collect();
        let folder = format!("{}: everybody may write to it (mode 0777)", root.path().display());
        assert!(refused.len() == 1 && refused[0].contains(&folder), "{refused:?}");
    }

    #[test]
    fn only_nvrtc_itself_is_taken_and_the_newest_first() {
        let root = tree(&[
            "lib/libnvrtc-builtins.so.13.0",
            "lib/libnvrtc.alt.so.13",
            "lib/libnvrtc_static.a",
            "lib/libnvrtc.so.12",
            "lib/libnvrtc.so.13",
            "lib/libnvrtc.so.9",
        ]);
        let surroundings = Surroundings { toolkits: vec![root.path().into()], ..Surroundings::default() };
        let expected = ["lib/libnvrtc.so.13", "lib/libnvrtc.so.12", "lib/libnvrtc.so.9"];
        assert_eq!(found(&surroundings, root.path()), expected);
    }

    #[test]
    fn headers_come_with_those_they_need() {
        let cccl = "nvidia/cu13/include/cccl";
        let root = tree(&["nvidia/cu13/include/cooperative_groups.h", "nvidia/cu13/include/cccl/nv/target"]);
        let surroundings = Surroundings { toolkits: vec![root.path().into()], ..Surroundings::default() };
        let expected = [root.path().join("nvidia/cu13/include"), root.path().join(cccl)];
        assert_eq!(surroundings.include_folders(), expected);
        assert!(Surroundings::default().include_folders().is_empty());
    }

    #[test]
    fn a_python_on_the_path_says_where_its_packages_are() {
        let root = tree(&["venv/bin/python3", "other/bin/perl"]);
        let path = env::join_paths([root.path().join("other/bin"), root.path().join("venv/bin")]).unwrap();
        let found = pythons_on_path(&path);
        assert!(found.contains(&root.path().join("venv")) && found.len() == 2, "{found:?}");
    }
}
