//! The example that reads a run with pandas, where Python and pandas are there.

use std::path::Path;
use std::process::{Command, Output};

use syncscope_report::RunData;

/// Python with these arguments; `None` where there is no Python.
fn python(arguments: &[&str]) -> Option<Output> {
    Command::new("python3").args(arguments).output().ok()
}

#[test]
fn the_python_example_prints_the_most_expensive_rows() {
    if !python(&["-c", "import pandas"]).is_some_and(|output| output.status.success()) {
        eprintln!("skipped: python3 with pandas is not there, so examples/read_run.py was not tried");
        return;
    }
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = project.join("examples/read_run.py");
    for name in ["h200", "published-system3", "h100-paper"] {
        let run = project.join("results").join(name);
        let output = python(&[script.to_str().unwrap(), run.to_str().unwrap()]).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let data = RunData::load(&run, std::sync::Arc::default()).unwrap();
        let mut resolved: Vec<_> = data.rows.iter().filter(|row| row.verdict.name() == "Resolved").collect();
        resolved.sort_by(|a, b| b.ns.unwrap().value().total_cmp(&a.ns.unwrap().value()));
        assert!(text.contains(&format!("{} of {} rows are resolved", resolved.len(), data.rows.len())), "{text}");
        // A line on the machine, one on the rows, the header, ten rows.
        let printed: Vec<&str> = text.lines().skip(3).map(|line| line.split_whitespace().next().unwrap()).collect();
        let expected: Vec<&str> = resolved[..10].iter().map(|row| row.case.primitive.as_str()).collect();
        assert_eq!(printed, expected, "{name}");
    }
}
