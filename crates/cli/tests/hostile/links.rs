//! Links in a run directory, and names in tables that lead out of their folder: their targets are neither read nor written.

use std::fs;
use std::os::unix::fs::symlink;

use crate::Sandbox;
use crate::common::{copy, stderr};

#[test]
fn nothing_is_written_or_read_through_a_link_of_a_run() {
    let sandbox = Sandbox::new();
    let names = [
        "report.html",
        "run.json",
        "measurements.csv",
        "samples.csv",
        "details.csv",
        "evidence",
        "evidence.csv",
        "crosscheck.csv",
        "report.html.new",
        "run.json.new",
    ];
    for name in names {
        for target in ["victim", "made", "folder"] {
            let run = sandbox.path(&format!("{name}-{target}"));
            copy(&sandbox.path("run"), &run);
            let _ = fs::remove_file(run.join(name)).or_else(|_| fs::remove_dir_all(run.join(name)));
            fs::create_dir_all(sandbox.path("folder")).unwrap();
            symlink(sandbox.path(target), run.join(name)).unwrap();
            let run = run.to_str().unwrap();
            for words in
                [&["report", run][..], &["show", run], &["submit", run, "-o", "bundle"], &["run", "--resume", run]]
            {
                let output = sandbox.command(words);
                let text = stderr(&output);
                assert!(!output.status.success(), "{words:?} with {name} -> {target}: {text}");
                assert!(
                    text.contains("is a link") || text.contains("has no run.json"),
                    "{words:?} with {name} -> {target}: {text}"
                );
                sandbox.assert_untouched();
            }
            assert_eq!(fs::read_dir(sandbox.path("folder")).unwrap().count(), 0);
        }
    }
    // A file that the user names may be a link.
    symlink(sandbox.path("page"), sandbox.path("named")).unwrap();
    fs::write(sandbox.path("page"), "old").unwrap();
    assert!(sandbox.command(&["report", "run", "-o", "named"]).status.success());
    assert!(fs::read_to_string(sandbox.path("page")).unwrap().contains("<html"));
    assert!(fs::symlink_metadata(sandbox.path("named")).unwrap().is_symlink());
}

#[test]
fn a_table_of_matrices_names_no_file_outside_its_folder() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("escaped.csv"), ",\n25.5,\n").unwrap();
    let absolute = sandbox.path("escaped").display().to_string();
    for (at, name) in ["../escaped", &absolute, "..", ".", "", "a/b"].into_iter().enumerate() {
        let folder = sandbox.path(&format!("in-{at}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("good.csv"), ",\n25.5,\n").unwrap();
        let header = "file,model,generation,packages,cores,siblings,second_package,year,note";
        fs::write(folder.join("machines.csv"), format!("{header}\ngood,C,G,1,2,,,2026,n\n{name},C,G,1,2,,,2026,n\n"))
            .unwrap();
        let output = sandbox.command(&["import", "core-to-core-latency", folder.to_str().unwrap(), "-o", "out"]);
        let text = stderr(&output);
        assert!(!output.status.success() && text.contains("machines.csv"), "{name}: {text}");
        assert!(!sandbox.path("escaped").exists() && !sandbox.path("out").exists(), "{name}");
    }
}

#[test]
fn a_licence_is_a_small_file() {
    let sandbox = Sandbox::new();
    let licence = |name: &str| {
        let folder = sandbox.path(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("m.csv"), ",\n25.5,\n").unwrap();
        folder.join("LICENSE")
    };
    symlink(sandbox.path("victim"), licence("linked")).unwrap();
    fs::File::create(licence("large")).unwrap().set_len(65 * 1024).unwrap();
    fs::write(licence("small"), "BSD").unwrap();
    for (name, is_kept) in [("linked", false), ("large", false), ("small", true)] {
        let (matrix, out) = (format!("{name}/m.csv"), format!("out-{name}"));
        let output = sandbox.command(&["import", "core-to-core-latency", &matrix, "-o", &out]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(sandbox.path(&out).join("LICENSE").exists(), is_kept, "{name}");
    }
}
