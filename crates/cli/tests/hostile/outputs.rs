//! Outputs: one that is an input is refused under any name, `-` is stdout, and a full disk is an error.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use crate::Sandbox;
use crate::common::{command, copy, stderr};

/// Commands that read `run`, `code.c` or `matrix.csv`, each without its output.
const WRITERS: [(&str, &str); 7] = [
    ("report run -o", "run"),
    ("report other run -o", "run"),
    ("gallery other run -o", "run"),
    ("fleet other third run -o", "run"),
    ("submit run -o", "run"),
    ("measure --cpu code.c --include included.h -I . --export-json", "code"),
    ("measure --cpu x++ --include code.c -I . --export-markdown", "code"),
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["other", "third"] {
        copy(&sandbox.path("run"), &sandbox.path(name));
    }
    fs::create_dir_all(sandbox.path("run/evidence")).unwrap();
    fs::write(sandbox.path("run/evidence/listing.txt"), "nop").unwrap();
    fs::write(sandbox.path("code.c"), "#include \"included.h\"\nvoid operation(struct thread *me) { me->value++; }\n")
        .unwrap();
    fs::write(sandbox.path("included.h"), "/* mine */\n").unwrap();
    fs::write(sandbox.path("matrix.csv"), ",\n25.5,\n").unwrap();
    sandbox
}

fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(content(&path));
        } else {
            found.push((path.display().to_string(), fs::read(path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let sandbox = sandbox();
    for (name, target) in [("by-link", "run/run.json"), ("by-link.c", "code.c"), ("dangling", "run/samples.csv.gz")] {
        symlink(sandbox.path(target), sandbox.path(name)).unwrap();
    }
    symlink(sandbox.path("run"), sandbox.path("also")).unwrap();
    fs::hard_link(sandbox.path("run/measurements.csv"), sandbox.path("hard")).unwrap();
    fs::hard_link(sandbox.path("included.h"), sandbox.path("hard.h")).unwrap();
    let of_run = [
        "run/run.json",
        "also/measurements.csv",
        "run/../run/details.csv",
        "run/evidence/listing.txt",
        "run/crosscheck.csv",
        "by-link",
        "dangling",
        "hard",
    ];
    let of_code = ["code.c", "./code.c", "also/../code.c", "included.h", "by-link.c", "hard.h"];
    let before = content(sandbox.0.path());
    let refused = |words: &str| {
        let output = sandbox.command(&words.split(' ').collect::<Vec<_>>());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {text}");
        assert!(text.contains("error: ") && text.contains("name another file"), "{words}: {text}");
        assert!(output.stdout.is_empty() && content(sandbox.0.path()) == before, "{words}: something changed");
    };
    for (command, kind) in WRITERS {
        let outputs = if kind == "run" { &of_run[..] } else { &of_code };
        // The code of the statement includes `code.c`, which includes the other file.
        for output in outputs {
            refused(&format!("{command} {output}"));
        }
    }
    for words in [
        "import core-to-core-latency matrix.csv -o matrix.csv",
        "import core-to-core-latency matrix.csv --machine code.c -o code.c",
        "submit --check code.c -o hard.h -o code.c",
        "measure --cpu x++ --export-json new --export-markdown ./new",
        "measure --cpu x++ --out new --export-json new/measurements.csv",
    ] {
        refused(&words.replace("-o hard.h ", ""));
    }
    // The page of a run is not a part of it, nor are other files in its directory.
    for words in ["report run -o run/report.html", "report run -o run/mine.html", "submit run -o run/bundle.json.gz"] {
        let output = sandbox.command(&words.split(' ').collect::<Vec<_>>());
        assert!(!stderr(&output).contains("name another file"), "{words}: {}", stderr(&output));
    }
}

#[test]
fn a_dash_is_stdout_and_nothing_else_goes_there() {
    let sandbox = sandbox();
    for words in ["report run -o -", "gallery run other -o -"] {
        let output = sandbox.command(&words.split(' ').collect::<Vec<_>>());
        assert!(output.stdout.starts_with(b"<!DOCTYPE html>"), "{words}: {}", stderr(&output));
        assert!(!sandbox.path("-").exists(), "{words}");
    }
    let words = ["measure", "--cpu", "x++", "--threads", "1", "--budget", "5s", "--out", "new", "--export-json", "-"];
    let measured = command(&words).current_dir(sandbox.0.path()).env_remove("SYNCSCOPE_FAKE").output().unwrap();
    if measured.status.success() {
        assert!(serde_json::from_slice::<serde_json::Value>(&measured.stdout).is_ok(), "{}", stderr(&measured));
        assert!(stderr(&measured).contains("cpu.own"), "what is shown else is on stderr: {}", stderr(&measured));
    }
    for words in [
        "run --out -",
        "measure --cpu x++ --out -",
        "paper timeline --out -",
        "man --out -",
        "submit --check code.c -o -",
        "import core-to-core-latency matrix.csv -o -",
        "import syncperformance run -o -",
    ] {
        let output = sandbox.command(&words.split(' ').collect::<Vec<_>>());
        assert!(
            output.status.code() == Some(2) && stderr(&output).contains("`-` is stdout"),
            "{words}: {}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty() && !sandbox.path("-").exists(), "{words}");
    }
}

#[test]
fn a_full_disk_is_an_error_of_every_command() {
    let sandbox = sandbox();
    let of = |words: &str, full: bool| {
        let mut command = command(&words.split(' ').collect::<Vec<_>>());
        command.current_dir(sandbox.0.path()).env("HOME", sandbox.path("home")).stderr(Stdio::piped());
        let device = fs::File::create(if full { "/dev/full" } else { "/dev/null" }).unwrap();
        command.stdout(device).output().unwrap()
    };
    for words in [
        "--help",
        "--version",
        "run --help",
        "list",
        "list --format json",
        "system",
        "show run",
        "show run --format csv",
        "findings run",
        "advise run",
        "compare run other",
        "report run -o -",
        "gallery run -o -",
        "completions bash",
        "man",
        "measure --header cpu",
        "run --dry-run",
    ] {
        let (output, usual) = (of(words, true), of(words, false).status.code());
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{words} (else {usual:?}): {text}");
        assert!(text.contains("error: ") && !text.contains("panicked"), "{words}: {text}");
        if usual == Some(0) {
            assert!(text.contains("No space left"), "{words}: {text}");
        }
    }
    for words in ["report run -o /dev/full", "gallery run -o /dev/full"] {
        let output = of(words, false);
        assert!(
            output.status.code() == Some(1) && stderr(&output).contains("No space left"),
            "{words}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_path_that_is_too_long_is_one_error_before_anything_is_done() {
    let sandbox = Sandbox::new();
    for out in
        ["a".repeat(256), format!("x/{}", "b".repeat(300)), vec!["c".repeat(200); 20].join("/"), "d/".repeat(3000)]
    {
        let output = sandbox.command(&["run", "--out", &out]);
        let text = stderr(&output);
        let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!((output.status.code(), errors.len()), (Some(1), 1), "{text}");
        assert!(errors[0].contains("name a shorter one"), "{text}");
    }
}
