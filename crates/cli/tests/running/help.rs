//! What the command says about itself: help, completions, manual pages.

use std::process::{Command, Output, Stdio};

fn output(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    command.args(words).env("SYNCSCOPE_FAKE", "").env_remove("COLUMNS").stdin(Stdio::null()).output().unwrap()
}

fn stdout(words: &[&str]) -> String {
    let output = output(words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const COMMANDS: [&str; 16] = [
    "run",
    "list",
    "system",
    "verify",
    "report",
    "gallery",
    "submit",
    "compare",
    "fleet",
    "show",
    "advise",
    "findings",
    "import",
    "paper",
    "completions",
    "man",
];

#[test]
fn without_a_command_there_is_help_and_exit_code_2() {
    let bare = output(&[]);
    let text = String::from_utf8(bare.stderr).unwrap();
    assert_eq!(bare.status.code(), Some(2), "{text}");
    assert!(bare.stdout.is_empty() && text.contains("Usage: syncscope <COMMAND>"), "{text}");
    assert_eq!(text, String::from_utf8(output(&["--help"]).stdout).unwrap(), "the same that --help prints");
}

#[test]
fn help_is_a_command_too() {
    assert_eq!(stdout(&["help"]), stdout(&["--help"]));
    assert_eq!(stdout(&["help", "run"]), stdout(&["run", "--help"]));
    assert_eq!(stdout(&["help", "import", "core-to-core-latency"]), stdout(&["import", "core-to-core-latency", "-h"]));
    let unknown = output(&["help", "rum"]);
    let text = String::from_utf8(unknown.stderr).unwrap();
    assert!(unknown.status.code() == Some(2) && text.contains("'rum'"), "{text}");
}

#[test]
fn completions_name_every_command_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(script.contains("threshold"), "{shell}: options of subcommands");
    }
    assert_eq!(output(&["completions", "dos"]).status.code(), Some(2));
}

#[test]
fn shells_offer_files_only_for_what_may_be_one() {
    let script = stdout(&["completions", "zsh"]);
    let offers_files = |option: &str| {
        let line = script.lines().find(|line| line.contains(option)).unwrap_or_else(|| panic!("no {option}"));
        line.contains("_files") || line.contains("_default")
    };
    for option in ["--only=", "--budget=", "--threads=", "--seed=", "--threshold="] {
        assert!(!offers_files(option), "{option}");
    }
    for option in ["--out=", "--resume=", "--cpu=", "--export-json="] {
        assert!(offers_files(option), "{option}");
    }
}

#[test]
fn a_user_decides_whether_there_are_colours() {
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/h200");
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_syncscope"));
        command.args(["show", run, "--only", "cpu.lock.mcs"]).env_remove("NO_COLOR").envs(variables.iter().copied());
        command.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!coloured(&[]), "stdout is no terminal");
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "0")]) && !coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn every_command_has_its_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = stdout(&["man"]);
    assert!(page.contains(".TH syncscope 1") && page.contains(".SH SYNOPSIS"), "{page}");
    assert_eq!(output(&["man", "-o", folder.path().to_str().unwrap()]).status.code(), Some(0));
    for command in COMMANDS {
        let text = std::fs::read_to_string(folder.path().join(format!("syncscope-{command}.1"))).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{command}");
        let version = env!("CARGO_PKG_VERSION");
        let end = format!("\"syncscope {version}\" syncscope\n");
        assert!(text.lines().any(|line| line.starts_with(".TH ") && format!("{line}\n").ends_with(&end)), "{text}");
    }
    let nowhere = output(&["man", "--out", "/proc/pages"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("--out"));
}

#[test]
fn every_output_is_named_by_the_same_option() {
    for words in [&["run"][..], &["report"], &["import", "syncperformance"], &["man"], &["paper", "crosscheck"]] {
        let help = stdout(&[words, &["--help"]].concat());
        assert!(help.contains("-o, --out <"), "{words:?}: {help}");
        assert!(!help.contains("--output"), "{words:?}: {help}");
    }
}

#[test]
fn every_help_fits_a_screen_and_names_few_commands() {
    let all = stdout(&["--help"]);
    let listed = COMMANDS.iter().filter(|name| all.contains(&format!("\n  {name} "))).count();
    assert!(listed <= 12, "{listed} commands: {all}");
    for command in COMMANDS.iter().copied().chain(["measure"]) {
        assert!(all.contains(command), "{command} in {all}");
        let help = stdout(&[command, "--help"]);
        // `measure` has many options for compilers.
        let most = if command == "measure" { 70 } else { 40 };
        assert!(help.lines().count() <= most, "{command}: {help}");
    }
}

#[test]
fn the_help_of_run_tells_how_long_presets_take() {
    let help = stdout(&["run", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["quick (30 s on 2 CPUs", "--threads", "--cpus", "--placement", "--dtype", "--stride", "--blocks"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}
