//! Whether CUDA's Multi-Process Service stands between this process and the devices.

use std::fs;
use std::path::Path;

/// Its folder of pipes without `CUDA_MPS_PIPE_DIRECTORY`.
const PIPE_FOLDER: &str = "/tmp/nvidia-mps";

/// The beginning of the names of its processes, as long as Linux keeps it.
const PROCESS: &str = "nvidia-cuda-mps";

/// Whether the service seems active: one of its processes is there, or its control pipe, which a container may have
/// without seeing the process. The pipe may be left over. `root` is `/` but in tests; `pipe_folder` is the value of
/// `CUDA_MPS_PIPE_DIRECTORY`.
pub(crate) fn seems_active(root: &Path, pipe_folder: Option<&Path>) -> bool {
    let folder = pipe_folder.unwrap_or(Path::new(PIPE_FOLDER));
    let below_root = root.join(folder.strip_prefix("/").unwrap_or(folder));
    below_root.join("control").exists() || has_process(root)
}

fn has_process(root: &Path) -> bool {
    let processes = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    processes
        .filter(|entry| entry.file_name().to_str().is_some_and(is_number))
        .filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok())
        .any(|name| name.starts_with(PROCESS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(files: &[(&str, &str)], pipe_folder: Option<&str>) -> bool {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        seems_active(root.path(), pipe_folder.map(Path::new))
    }

    #[test]
    fn its_process_or_its_pipe_gives_it_away() {
        assert!(!active(&[], None));
        assert!(!active(&[("proc/7/comm", "bash\n"), ("proc/self/comm", "nvidia-cuda-mps\n")], None));
        assert!(active(&[("proc/7/comm", "bash\n"), ("proc/12/comm", "nvidia-cuda-mps\n")], None));
        assert!(active(&[("tmp/nvidia-mps/control", "")], None));
        assert!(active(&[("run/mps/control", "")], Some("/run/mps")));
        assert!(!active(&[("tmp/nvidia-mps/control", "")], Some("/run/mps")), "the variable replaces the folder");
    }
}
