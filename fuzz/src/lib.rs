//! What the fuzz targets share: a run directory in memory whose files hold the bytes under test.

use std::fs;
use std::path::Path;

use syncscope_core::run_directory::RunDirectory;
use tempfile::TempDir;

/// A run directory with a valid `run.json`. It is in memory where the system has a file system there.
pub struct Folder {
    folder: TempDir,
}

impl Default for Folder {
    fn default() -> Self {
        let memory = Path::new("/dev/shm");
        // libFuzzer ends a process without cleaning up, so scripts remove these folders by their names.
        let mut named = tempfile::Builder::new();
        let named = named.prefix("syncscope-fuzz-");
        let folder = if memory.is_dir() { named.tempdir_in(memory) } else { named.tempdir() };
        let folder = Self { folder: folder.expect("a folder for files") };
        folder.write("run.json", include_bytes!("../seeds/run_json/run.json"));
        folder
    }
}

impl Folder {
    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Replaces a file.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path().join(name), bytes).expect("room for a file");
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) {
        let _ = fs::remove_file(self.path().join(name));
    }

    /// Opens the folder as a run.
    pub fn directory(&self) -> RunDirectory {
        RunDirectory::open(self.path()).expect("run.json is there")
    }
}

thread_local! {
    /// The folder of this thread, shared by all executions.
    pub static FOLDER: Folder = Folder::default();
}
