//! The commands in the documents: `syncscope` accepts their arguments, commands about stored runs work, and the text below a
//! command is its output.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::pages::{documents, root};

/// Runs a shell line in the project, with the built command first in the path.
fn shell(line: &str) -> Output {
    let folder = Path::new(env!("CARGO_BIN_EXE_syncscope")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("PATH", path).env("NO_COLOR", "1").env("COLUMNS", "100").current_dir(root());
    command.output().unwrap()
}

/// The lines of shell blocks, with continued lines joined, and the text block directly below, if there is one.
fn shell_blocks(text: &str) -> Vec<(Vec<String>, Option<String>)> {
    let mut found = Vec::new();
    for part in text.split("```sh\n").skip(1) {
        let (block, rest) = part.split_once("\n```").unwrap();
        let lines = block.replace("\\\n", " ").lines().map(str::to_owned).collect();
        let below = rest.strip_prefix("\n\n```text\n").and_then(|rest| rest.split_once("```"));
        found.push((lines, below.map(|(below, _)| below.to_owned())));
    }
    found
}

/// The command of syncscope in a line, without its prefix, its comment, and what follows it.
fn command_in(line: &str) -> Option<&str> {
    let begins = |at: &usize| *at == 0 || " /(".contains(&line[at - 1..*at]);
    let (at, name) = line.match_indices("syncscope ").find(|(at, _)| begins(at))?;
    // A subcommand must follow, not another command or a placeholder.
    line[at + name.len()..].starts_with(|letter: char| letter.is_ascii_lowercase()).then_some(())?;
    let from = &line[at..];
    let mut quoted = false;
    let end = from.char_indices().find(|(at, letter)| {
        quoted ^= *letter == '\'';
        !quoted && (from[*at..].starts_with(" #") || ";|&)>".contains(*letter))
    });
    Some(from[..end.map_or(from.len(), |(at, _)| at)].trim())
}

/// Every command of syncscope in a document: in shell blocks, and in backticks in prose.
fn commands(text: &str) -> Vec<String> {
    let blocks = shell_blocks(text).into_iter().flat_map(|(lines, _)| lines).collect::<Vec<_>>();
    let in_blocks = blocks.iter().filter_map(|line| command_in(line));
    let spans =
        text.split('`').skip(1).step_by(2).filter(|span| span.starts_with("syncscope ") && !span.contains('\n'));
    in_blocks.chain(spans.filter_map(command_in)).map(str::to_owned).collect()
}

#[test]
fn the_command_accepts_what_the_documents_show() {
    let mut refused = Vec::new();
    let mut count = 0;
    for (name, text) in documents() {
        for command in commands(&text) {
            // With `--help` at the end all arguments before it are parsed, and nothing is done.
            let output = shell(&format!("{command} --help"));
            count += 1;
            if !output.status.success() {
                refused.push(format!("{name}: {command}: {}", String::from_utf8_lossy(&output.stderr)));
            }
        }
    }
    assert_eq!(refused, [] as [String; 0]);
    assert!(count > 60, "{count}");
}

#[test]
fn what_stands_below_a_command_is_what_it_prints() {
    let mut differ = Vec::new();
    let mut count = 0;
    for (name, text) in documents() {
        for (lines, below) in shell_blocks(&text) {
            let Some(below) = below else { continue };
            let output = shell(&format!("set -e\n{}", lines.join("\n")));
            assert!(output.status.success(), "{name}: {lines:?}: {}", String::from_utf8_lossy(&output.stderr));
            // Labels have no line break between a number and its unit.
            let printed = String::from_utf8(output.stdout).unwrap().replace('\u{a0}', " ");
            let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
            count += 1;
            differ.extend(below.lines().filter(|line| !printed.contains(line)).map(|line| format!("{name}: {line}")));
        }
    }
    assert!(differ.is_empty(), "no command above them prints these:\n{}", differ.join("\n"));
    assert!(count > 5, "{count}");
}

/// Commands of syncscope that no test of documents runs, and the reasons. Only their arguments are parsed above.
const NOT_RUN: [(&str, &str); 10] = [
    ("syncscope run", "measures; tests/running runs fakes"),
    ("syncscope measure", "measures; tests/running measures statements and files"),
    ("syncscope verify", "takes minutes for all architectures; `make test-kernels`"),
    ("syncscope paper", "needs a GPU; tests/papers draws stored experiments"),
    ("syncscope report", "writes a file; tests/finished_runs draws all stored runs"),
    ("syncscope show --history", "needs several runs; tests/finished_runs makes some"),
    ("syncscope submit", "writes a file; tests/finished_runs makes bundles"),
    ("syncscope import", "needs the files of the publication; tests/finished_runs imports some of them"),
    ("syncscope fleet runs/", "needs the runs of a cluster; `make test-cluster`"),
    ("syncscope", "a command named without its arguments"),
];

/// Other shell lines, and why no test runs them.
const OF_OTHER_PROGRAMS: [(&str, &str); 6] = [
    ("pip install", "a registry"),
    ("git clone", "the network"),
    ("sha256sum --check", "a download"),
    ("gh attestation", "a release"),
    ("NCCL_NVLS_ENABLE=0 nccl-tests/", "another tool, two GPUs"),
    ("build.relax_pause/lh_", "another tool"),
];

/// Stored runs that stand for a reader's runs.
const STAND_FOR: [(&str, &[&str]); 2] = [
    ("results/h200", &["a", "before", "siblings", "OLD", "RUN", "DIR"]),
    ("results/h100", &["b", "after", "cores", "NEW"]),
];

/// The command with stored runs in place of the reader's.
fn with_stored_runs(command: &str) -> String {
    let stored = |word: &str| STAND_FOR.iter().find(|(_, words)| words.contains(&word)).map(|(run, _)| *run);
    command.split(' ').map(|word| stored(word).unwrap_or(word)).collect::<Vec<_>>().join(" ")
}

fn is_run(command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').collect();
    match words[1] {
        "list" | "system" => true,
        "show" | "compare" | "findings" | "advise" | "fleet" => {
            words.iter().any(|word| word.starts_with("results/")) && !command.contains(" -o ")
        }
        "run" => words.contains(&"--dry-run"),
        "measure" => words.contains(&"--header"),
        _ => false,
    }
}

#[test]
fn every_command_is_run_or_listed_with_the_reason() {
    let mut unknown = Vec::new();
    for (name, text) in documents() {
        for command in commands(&text) {
            let command = with_stored_runs(&command);
            let says_why = |(begins, _): &(&str, &str)| match *begins {
                "syncscope" => command.split(' ').count() == 2,
                begins => command.starts_with(begins),
            };
            if is_run(&command) {
                let output = shell(&command);
                // 3 and 4: slower, or in another state.
                let is_expected = matches!(output.status.code(), Some(0 | 3 | 4));
                assert!(is_expected, "{name}: {command}: {}", String::from_utf8_lossy(&output.stderr));
            } else if !NOT_RUN.iter().any(says_why) {
                unknown.push(format!("{name}: {command}"));
            }
        }
        let lines = shell_blocks(&text).into_iter().flat_map(|(lines, _)| lines);
        let others = lines.filter(|line| command_in(line).is_none() && !is_of_the_project(line));
        let is_listed = |line: &String| OF_OTHER_PROGRAMS.iter().any(|(begins, _)| line.starts_with(begins));
        unknown.extend(others.filter(|line| !is_listed(line)).map(|line| format!("{name}: {line}")));
    }
    assert_eq!(unknown, [] as [String; 0]);
}

/// Whether a line calls make, cargo or a script of the project; its targets and files are checked.
fn is_of_the_project(line: &str) -> bool {
    line.starts_with("make ") || line.starts_with("scripts/") || line.contains("cargo ")
}

#[test]
fn tests_and_scripts_that_the_documents_name_are_there() {
    let mut missing = Vec::new();
    let mut count = 0;
    for (name, text) in documents() {
        let spans = text.split('`').skip(1).step_by(2).map(str::to_owned);
        let lines = shell_blocks(&text).into_iter().flat_map(|(lines, _)| lines);
        for line in spans.chain(lines).filter(|line| is_of_the_project(line)) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let after = |option: &str| words.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1]).collect();
            let (packages, tests): (Vec<&str>, Vec<&str>) = (after("-p"), after("--test"));
            let package = packages.first().map_or("", |package| package.trim_start_matches("syncscope-"));
            let folder = root().join("crates").join(if package == "syncscope" { "cli" } else { package }).join("tests");
            let is_there = |test: &&str| folder.join(test).is_dir() || folder.join(format!("{test}.rs")).is_file();
            let script = words.first().filter(|word| word.starts_with("scripts/"));
            count += tests.len() + usize::from(script.is_some());
            let is_complete = tests.iter().all(is_there) && script.is_none_or(|script| root().join(script).exists());
            missing.extend((!is_complete).then(|| format!("{name}: {line}")));
        }
    }
    assert_eq!(missing, [] as [String; 0]);
    assert!(count > 10, "{count}");
}

#[test]
fn the_makefile_has_the_targets_that_the_documents_name() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    for (name, text) in documents() {
        let spans = text.split('`').skip(1).step_by(2).map(str::to_owned);
        let lines = shell_blocks(&text).into_iter().flat_map(|(lines, _)| lines);
        let targets =
            spans.chain(lines).filter_map(|line| Some(line.strip_prefix("make ")?.split(' ').next()?.to_owned()));
        for target in targets.filter(|target| !target.starts_with('-')) {
            assert!(makefile.contains(&format!("\n{target}:")), "{name}: make {target}");
        }
    }
}

#[test]
fn a_command_is_found_in_its_line() {
    assert_eq!(command_in("mpirun -n 4 syncscope run --only 'mpi.*' &  # all"), Some("syncscope run --only 'mpi.*'"));
    assert_eq!(command_in("target/release/syncscope show a"), Some("syncscope show a"));
    assert_eq!(command_in("git clone https://github.com/a/syncscope && cd syncscope"), None);
    assert_eq!(command_in("syncscope measure --cpu 'a; b' # c"), Some("syncscope measure --cpu 'a; b'"));
}
