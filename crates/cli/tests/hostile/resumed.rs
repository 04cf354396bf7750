//! A run of `syncscope measure` holds code, options of a compiler and a command. They count as data until the user who resumes
//! the run has written or read them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::common::{program, stderr};

/// An interrupted run of own code, the state folder of the user who began it, and a compiler that leaves a mark.
struct Begun {
    root: tempfile::TempDir,
}

impl Begun {
    /// Begins the run. `None` without a C compiler.
    fn new() -> Option<Self> {
        let begun = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir(begun.root.path().join("bin")).unwrap();
        for name in ["cc", "c++"] {
            let (file, script) = (
                begun.root.path().join("bin").join(name),
                "#!/bin/sh\necho compiled >>\"$MARK\"\nexec /usr/bin/env PATH=\"$REAL\" cc \"$@\"\n",
            );
            fs::write(&file, script).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        if Command::new("cc").arg("--version").output().is_err() {
            eprintln!("skipped: there is no C compiler");
            return None;
        }
        let words = ["measure", "--cpu", "x++", "--threads", "1", "-DNAME=1", "--out", "run"];
        let output = begun.command(&words, "state").output().unwrap();
        assert!(begun.is_compiled(), "{}", stderr(&output));
        // The table has no row, so that a process that resumes the run has to compile.
        let table = begun.path("run/measurements.csv");
        let header = fs::read_to_string(&table).unwrap().lines().next().map(|line| format!("{line}\n"));
        fs::write(table, header.unwrap()).unwrap();
        begun.change("run", |run| run["status"] = json!("interrupted"));
        fs::write(begun.root.path().join("victim"), "precious").unwrap();
        Some(begun)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn command(&self, words: &[&str], state: &str) -> Command {
        let real = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program());
        command.args(words).current_dir(self.root.path()).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.path(state)).env("HOME", self.root.path());
        command
            .env("MARK", self.path("mark"))
            .env("PATH", format!("{}:{real}", self.path("bin").display()))
            .env("REAL", real);
        command
    }

    fn change(&self, run: &str, change: impl FnOnce(&mut Value)) {
        let path = self.path(run).join("run.json");
        let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut value);
        fs::write(&path, value.to_string()).unwrap();
    }

    /// Makes a changed copy of the run.
    fn copy(&self, name: &str, change: impl FnOnce(&mut Value)) {
        fs::create_dir(self.path(name)).unwrap();
        for file in ["run.json", "measurements.csv"] {
            fs::copy(self.path("run").join(file), self.path(name).join(file)).unwrap();
        }
        self.change(name, change);
    }

    /// Whether a compiler was started since the last call.
    fn is_compiled(&self) -> bool {
        fs::remove_file(self.path("mark")).is_ok()
    }

    fn resume(&self, run: &str, state: &str, options: &[&str]) -> Output {
        self.command(&[&["run", "--resume", run], options].concat(), state).output().unwrap()
    }
}

#[test]
fn own_code_is_resumed_by_the_user_who_began_it_or_who_trusts_it() {
    let Some(begun) = Begun::new() else { return };
    let mode = fs::metadata(begun.path("state/syncscope")).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o700);
    begun.copy("mine", |_| {});
    let mine = begun.resume("mine", "state", &[]);
    assert!(begun.is_compiled() && !stderr(&mine).contains("--trust-code"), "{}", stderr(&mine));
    begun.copy("theirs", |_| {});
    let theirs = begun.resume("theirs", "another-state", &[]);
    let text = stderr(&theirs);
    assert_eq!((theirs.status.code(), begun.is_compiled()), (Some(1), false), "{text}");
    for part in ["options: -DNAME=1", "x++", "none of it ran", "theirs --trust-code"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let trusted = begun.resume("theirs", "another-state", &["--trust-code"]);
    assert!(begun.is_compiled() && matches!(trusted.status.code(), Some(0 | 3)), "{}", stderr(&trusted));
}

#[test]
fn code_that_was_changed_is_never_compiled() {
    let Some(begun) = Begun::new() else { return };
    let attack = "x++; } __attribute__((constructor)) static void p(void) { *(int *)0 = 1; } static void q(void) {";
    let changes: [(&'static str, Value); 12] = [
        ("text", json!(attack)),
        ("includes", json!("#include \"/etc/passwd\"\n")),
        ("setup", json!(attack)),
        ("baseline", json!(attack)),
        ("file", json!("a\"\nint x;")),
        ("function", json!("operation; int y;")),
        ("id", json!("cpu.own.../../../victim")),
        ("options", json!(["-Wp,-MD,victim"])),
        ("options", json!(["-fplugin=./plugin.so"])),
        ("options", json!(["@options"])),
        ("options", json!(["-o", "victim"])),
        ("options", json!(["-DNAME=1", "-Iother"])),
    ];
    for (at, (field, value)) in changes.into_iter().enumerate() {
        let name = format!("changed-{at}");
        begun.copy(&name, |run| run["own"][0][field] = value.clone());
        // The user's state folder has the unchanged code.
        let refused = begun.resume(&name, "state", &[]);
        assert_eq!(
            (refused.status.code(), begun.is_compiled()),
            (Some(1), false),
            "{field} {value}: {}",
            stderr(&refused)
        );
        let is_code =
            matches!(field, "text" | "includes" | "setup" | "baseline") || value == json!(["-DNAME=1", "-Iother"]);
        if !is_code {
            let refused = begun.resume(&name, "state", &["--trust-code"]);
            assert_eq!(
                (refused.status.code(), begun.is_compiled()),
                (Some(1), false),
                "{field} {value}: {}",
                stderr(&refused)
            );
        }
    }
    assert_eq!(fs::read(begun.path("victim")).unwrap(), b"precious");
}

#[test]
fn a_command_in_a_file_writes_nothing_and_counts_for_no_billions() {
    let Some(begun) = Begun::new() else { return };
    let victim = begun.path("victim");
    let words = ["syncscope", "measure", "--cpu", "x++", "--threads", "1", "-DNAME=1", "--export-json"];
    begun.copy("export", |run| {
        run["command"] = json!([&words[..], &[victim.to_str().unwrap(), "--export-markdown", "victim"]].concat());
    });
    let exported = begun.resume("export", "state", &[]);
    assert!(begun.is_compiled() && matches!(exported.status.code(), Some(0 | 3)), "{}", stderr(&exported));
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    for count in [101_u32, u32::MAX] {
        let name = format!("repeat-{count}");
        begun.copy(&name, |run| {
            run["repeat"] = json!(count);
            run["command"] = json!(["syncscope", "run"]);
        });
        let refused = begun.resume(&name, "state", &["--trust-code"]);
        assert_eq!((refused.status.code(), begun.is_compiled()), (Some(1), false), "{}", stderr(&refused));
        assert!(!stderr(&refused).contains("panicked"), "{}", stderr(&refused));
    }
}

#[test]
fn no_reader_starts_a_program() {
    let Some(begun) = Begun::new() else { return };
    begun.copy("hostile", |run| {
        let attack = "$(touch victim) `touch victim` ; touch victim #";
        run["own"][0]["text"] = json!("__attribute__((constructor)) void p(void);");
        run["own"][0]["options"] = json!(["-wrapper", "sh,-c,touch victim", attack]);
        run["command"] = json!(["syncscope", attack, "--export-json", "victim"]);
        run["preset"] = json!(attack);
        run["only"] = json!([attack]);
    });
    let out = |name: &str| begun.path(name).display().to_string();
    let (page, bundle) = (out("page.html"), out("bundle.json.gz"));
    let commands: [&[&str]; 9] = [
        &["show", "hostile"],
        &["report", "hostile", "-o", &page],
        &["advise", "hostile"],
        &["findings", "hostile"],
        &["compare", "hostile", "run"],
        &["gallery", "hostile", "-o", &page],
        &["fleet", "hostile", "run"],
        &["submit", "hostile", "-o", &bundle],
        &["run", "--resume", "hostile"],
    ];
    for words in commands {
        let (others, failed) = started_by(&begun, words);
        assert_eq!(others, [""; 0], "{words:?}");
        assert!(!begun.is_compiled() && !failed.contains("panicked"), "{words:?}: {failed}");
    }
    assert_eq!(fs::read(begun.path("victim")).unwrap(), b"precious");
}

/// The programs that a command starts besides itself, by strace where it is available, and the command's messages.
fn started_by(begun: &Begun, words: &[&str]) -> (Vec<String>, String) {
    let log = begun.path("log");
    let mut command = begun.command(words, "state");
    let is_traced = Command::new("strace").arg("-V").output().is_ok();
    if is_traced {
        let plain = command;
        command = Command::new("strace");
        command
            .args(["-f", "-qq", "-e", "trace=execve", "-o"])
            .arg(&log)
            .arg(plain.get_program())
            .args(plain.get_args());
        command.current_dir(begun.root.path()).stdin(Stdio::null());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    }
    let output = command.output().unwrap();
    let text = fs::read_to_string(&log).unwrap_or_default();
    let started = text.lines().filter_map(|line| line.split_once("execve(\"")?.1.split('"').next());
    let own = Path::new(&program()).canonicalize().unwrap();
    let is_own = |file: &str| Path::new(file).canonicalize().is_ok_and(|file| file == own) || file == "/proc/self/exe";
    (started.filter(|file| !is_own(file)).map(str::to_owned).collect(), stderr(&output))
}
