//! Runs that are killed at any moment lose nothing that was finished. `SYNCSCOPE_KILLS=200` tries more moments, on a fake
//! with thousands of cases and on this machine's CPUs, or on what `SYNCSCOPE_KILL_OPTIONS` selects, such as `--only gpu.*`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{command, stderr};
use fastrand::Rng;
use syncscope_core::run_directory::RunDirectory;
use syncscope_core::{Case, Row};

/// The options of a run of fakes.
const OF_FAKES: &str = "--seed 3 --only cpu.atomic.add --only cpu.[fl]*.*";

/// A run that is killed again and again.
struct Victim {
    /// The script of the fake hardware; `None` for the real hardware.
    fake: Option<&'static str>,
    /// The options that begin the run.
    options: Vec<String>,
    /// The time within which a process is killed.
    within: Duration,
}

impl Victim {
    fn new(fake: Option<&'static str>, options: &str, seconds: u64) -> Self {
        let options = options.split(' ').map(str::to_owned).collect();
        Self { fake, options, within: Duration::from_secs(seconds) }
    }

    /// 80 cases, which take some seconds.
    fn few() -> Self {
        Self::new(Some("threads=20"), OF_FAKES, 1)
    }

    /// 4,000 cases, which take a minute.
    fn many() -> Self {
        Self::new(Some("threads=1000"), OF_FAKES, 2)
    }

    /// A run on this machine. Cases of the CPU are finished at the end of a run, so some kills have to come there.
    fn real() -> Self {
        let asked = std::env::var("SYNCSCOPE_KILL_OPTIONS");
        let few_of_the_cpus = "--seed 3 --only cpu.atomic.[arw]* --threads 1 --dtype i32";
        Self::new(None, asked.as_deref().unwrap_or(few_of_the_cpus), 5)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = command(words);
        match self.fake {
            Some(fake) => command.env("SYNCSCOPE_FAKE", fake),
            None => command.env_remove("SYNCSCOPE_FAKE"),
        };
        command
    }

    /// Resumes the run in `path`, or begins it. A process that was killed before it wrote `run.json` left a folder for it.
    fn next(&self, path: &Path) -> Command {
        let out = path.to_str().unwrap();
        if path.join("run.json").is_file() {
            return self.command(&["run", "--resume", out]);
        }
        self.begin(out)
    }

    /// Begins a run in `out`.
    fn begin(&self, out: &str) -> Command {
        let mut command = self.command(&["run", "--out", out]);
        command.args(&self.options);
        command
    }

    fn start(&self, path: &Path) -> Child {
        self.next(path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// The cases that have a row, even a provisional one.
fn known(folder: &Path) -> BTreeSet<Case> {
    let rows = RunDirectory::open(folder).and_then(|directory| directory.read_rows());
    rows.map(|rows| rows.into_iter().map(|row| row.case).collect()).unwrap_or_default()
}

/// The rows of the finished cases. If a cut-off line were read, [`assert_kept`] would show it.
fn finished(folder: &Path) -> BTreeMap<Case, Row> {
    // The run may not have begun to write.
    let Ok(directory) = RunDirectory::open(folder) else { return BTreeMap::new() };
    let rows = directory.read_rows().unwrap_or_else(|error| panic!("after a kill: {error}"));
    rows.into_iter().filter(|row| !row.provisional).map(|row| (row.case.clone(), row)).collect()
}

fn assert_kept(before: &BTreeMap<Case, Row>, after: &BTreeMap<Case, Row>, when: &str) {
    for (case, row) in before {
        assert_eq!(after.get(case), Some(row), "{when}: a finished row is lost or changed");
    }
}

fn survives(victim: &Victim, kills: u32) {
    let mut rng = Rng::with_seed(7);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let (mut before, mut known_before) = (BTreeMap::new(), BTreeSet::new());
    let (mut completed, mut kept, mut provisional) = (0, 0, 0);
    for kill in 0..kills {
        let mut child = victim.start(&path);
        sleep(Duration::from_micros(rng.u64(0..victim.within.as_micros() as u64)));
        child.kill().unwrap();
        child.wait().unwrap();
        let after = finished(&path);
        assert_kept(&before, &after, &format!("kill {kill}"));
        let known_after = known(&path);
        assert!(known_before.is_subset(&known_after), "kill {kill}: a provisional row is lost");
        kept += before.len();
        provisional += known_before.len() - before.len();
        (before, known_before) = (after, known_after);
        if RunDirectory::open(&path).is_ok_and(|run| run.read_run().unwrap().ended.is_some()) {
            // Everything is measured: begin again.
            std::fs::remove_dir_all(&path).unwrap();
            before.clear();
            known_before.clear();
            completed += 1;
        }
    }
    let last = victim.next(&path).output().unwrap();
    assert!(last.status.success(), "{}", stderr(&last));
    let whole = folder.path().join("whole");
    let uninterrupted = victim.next(&whole).output().unwrap();
    assert!(uninterrupted.status.success(), "{}", stderr(&uninterrupted));
    let resumed = finished(&path);
    let cases = |rows: &BTreeMap<Case, Row>| rows.keys().cloned().collect::<Vec<Case>>();
    assert_eq!(cases(&resumed), cases(&finished(&whole)), "the cases of an uninterrupted run");
    assert_kept(&before, &resumed, "at the end");
    eprintln!(
        "{kills} kills: {kept} finished and {provisional} provisional rows found again, {completed} runs completed \
         meanwhile, {} cases at the end",
        resumed.len()
    );
}

/// The number of kills in the long form of the test.
fn kills() -> Option<u32> {
    std::env::var("SYNCSCOPE_KILLS").ok().map(|count| count.parse().unwrap())
}

#[test]
fn what_was_finished_survives_kills_and_the_rest_is_resumed() {
    match kills() {
        Some(kills) => survives(&Victim::many(), kills),
        None => survives(&Victim::few(), 8),
    }
}

#[test]
fn a_run_of_this_machine_survives_kills() {
    match kills() {
        Some(kills) => survives(&Victim::real(), kills),
        None => eprintln!("skipped: SYNCSCOPE_KILLS=200 kills runs of this machine"),
    }
}

/// The second process ends at once, and the first one's run stays whole.
#[cfg(unix)]
#[test]
fn two_processes_do_not_write_into_one_directory() {
    use std::os::unix::process::CommandExt as _;

    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let victim = Victim::few();
    let mut first = victim.begin(out).process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Stop the first process, so that it does not end before the second one starts.
    let signal = |name: &str| {
        let group = format!("-{}", first.id());
        assert!(Command::new("kill").args([name, "--", &group]).status().unwrap().success());
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while RunDirectory::open(folder.path()).is_err() {
        assert!(Instant::now() < deadline, "the first run does not begin");
        sleep(Duration::from_millis(5));
    }
    signal("-STOP");
    for mut second in [victim.command(&["run", "--resume", out]), victim.begin(out)] {
        let second = second.output().unwrap();
        assert!(!second.status.success());
        let text = stderr(&second);
        assert!(text.contains("in use by another syncscope") || text.contains("is not empty"), "{text}");
    }
    signal("-CONT");
    assert!(first.wait().unwrap().success());
    assert_eq!(finished(folder.path()).len(), 80);
}
