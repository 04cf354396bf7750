//! The Python module and its notebook, where Python is there.

use std::path::Path;
use std::process::Command;

#[test]
fn the_python_module_reads_runs_and_measures() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/tests.py");
    let Ok(output) = Command::new("python3").arg(tests).env("SYNCSCOPE", env!("CARGO_BIN_EXE_syncscope")).output()
    else {
        eprintln!("skipped: there is no python3, so python/syncscope was not tried");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
