//! The commands that the documents show: `syncscope` accepts their arguments, those about stored runs work, and what stands
//! below a command is what it prints.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::pages::{documents, root};

/// Runs a line of shell in the project, with the command that was built first in the path.
fn shell(line: &str) -> Output {
    let folder = Path::new(env!("CARGO_BIN_EXE_syncscope")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("PATH", path).env("NO_COLOR", "1").env("COLUMNS", "100").current_dir(root());
    command.output().unwrap()
}

/// The lines of shell blocks, continued lines joined, and what stands in the text block right below, if there is one.
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

/// The command of syncscope in a line, without what starts it, its comment, and what follows it.
fn command_in(line: &str) -> Option<&str> {
    let begins = |at: &usize| *at == 0 || " /(".contains(&line[at - 1..*at]);
    let (at, name) = line.match_indices("syncscope ").find(|(at, _)| begins(at))?;
    // A subcommand follows, not another command or a word that stands for one.
    line[at + name.len()..].starts_with(|letter: char| letter.is_ascii_lowercase()).then_some(())?;
    let from = &line[at..];
    let mut quoted = false;
    let end = from.char_indices().find(|(at, letter)| {
        quoted ^= *letter == '\'';
        !quoted && (from[*at..].starts_with(" #") || ";|&)>".contains(*letter))
    });
    Some(from[..end.map_or(from.len(), |(at, _)| at)].trim())
}

/// Every command of syncscope in a document: in shell blocks, and in prose between backticks.
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
            // Labels do not break within a number and its unit.
            let printed = String::from_utf8(output.stdout).unwrap().replace('\u{a0}', " ");
            let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
            count += 1;
            differ.extend(below.lines().filter(|line| !printed.contains(line)).map(|line| format!("{name}: {line}")));
        }
    }
    assert!(differ.is_empty(), "no command above them prints these:\n{}", differ.join("\n"));
    assert!(count > 5, "{count}");
}

#[test]
fn commands_about_stored_runs_work() {
    let reads = ["show", "compare", "findings", "advise", "fleet"];
    for (name, text) in documents() {
        let commands = commands(&text).into_iter();
        let reads = |command: &String| command.split(' ').nth(1).is_some_and(|verb| reads.contains(&verb));
        let of_runs = commands.filter(|command| command.contains(" results/") && !command.contains("results/NAME"));
        for command in of_runs.filter(reads).filter(|command| !command.contains(" -o ")) {
            let output = shell(&command);
            assert!(output.status.success(), "{name}: {command}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
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
