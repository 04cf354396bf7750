//! The page in a real browser: nothing fails, everything is drawn, nothing sticks out.
//!
//! The page draws everything and writes what came of it on its root element when its address ends in `#selftest`.
//! `SYNCSCOPE_CHROMIUM` names the browser; `SYNCSCOPE_NO_BROWSER=1` leaves these tests out.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what a test needs and does not get fails the test")]

mod synthetic;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use syncscope_core::{Case, Row, Verdict};
use syncscope_report::{RunData, page};

/// Widths of the page.
const DESKTOP: u32 = 1280;
const PHONE: u32 = 360;

/// Chromium makes no window narrower than this; a narrower page stands in a frame.
const NARROWEST_WINDOW: u32 = 500;

/// Far more than a page takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(90);

fn browser() -> Option<PathBuf> {
    if env::var_os("SYNCSCOPE_NO_BROWSER").is_some_and(|value| value == "1") {
        eprintln!("LEFT OUT: SYNCSCOPE_NO_BROWSER=1, so the page was not tested in a browser");
        return None;
    }
    if let Some(named) = env::var_os("SYNCSCOPE_CHROMIUM") {
        return Some(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let found =
        env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|file| file.is_file());
    assert!(
        found.is_some(),
        "no browser found: install chromium, name one with SYNCSCOPE_CHROMIUM, or set SYNCSCOPE_NO_BROWSER=1"
    );
    found
}

/// Ends the browser, whatever happens to the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The text of the document at `address` after its scripts have run.
fn dump(browser: &Path, address: &str, width: u32, folder: &Path) -> String {
    let output = folder.join("dom.html");
    let mut child = Running(
        Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(format!("--window-size={},1600", width.max(NARROWEST_WINDOW)))
            .args(["--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom"])
            .arg(address)
            .stdout(fs::File::create(&output).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let started = Instant::now();
    while child.0.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < LIMIT, "the browser did not end within {LIMIT:?}");
        thread::sleep(Duration::from_millis(50));
    }
    fs::read_to_string(output).unwrap()
}

/// What the page says about itself.
type Findings = BTreeMap<String, String>;

fn findings(dom: &str) -> Findings {
    let start = dom.find("<html").expect("a document");
    let tag = &dom[start..start + dom[start..].find('>').unwrap()];
    tag.split("data-")
        .skip(1)
        .filter_map(|part| {
            let (name, rest) = part.split_once("=\"")?;
            Some((name.to_owned(), rest.split('"').next()?.to_owned()))
        })
        .collect()
}

/// A page that shows `report.html` in a narrow frame and takes over what it says about itself, and its text.
fn framed(width: u32) -> String {
    format!(
        "<!DOCTYPE html><html><body><pre id=\"text\"></pre>
        <iframe src=\"report.html#selftest\" width=\"{width}\" height=\"780\" style=\"border:0\"></iframe><script>
        document.querySelector('iframe').onload = (event) => {{
            const root = event.target.contentDocument.documentElement;
            Object.assign(document.documentElement.dataset, root.dataset);
            document.getElementById('text').textContent = root.outerHTML;
        }};</script></body></html>"
    )
}

/// Opens the page of these runs at this width. `None` where browsers are left out.
fn open(runs: &[RunData], width: u32) -> Option<(Findings, String)> {
    let browser = browser()?;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("report.html"), page::render(runs)).unwrap();
    fs::write(file("frame.html"), framed(width)).unwrap();
    let name = if width < NARROWEST_WINDOW { "frame.html" } else { "report.html" };
    let address = format!("file://{}#selftest", file(name).display());
    let dom = dump(&browser, &address, width, folder.path());
    let findings = findings(&dom);
    assert_eq!(number(&findings, "width"), i64::from(width));
    Some((findings, dom))
}

fn number(findings: &Findings, name: &str) -> i64 {
    let text = findings.get(name).unwrap_or_else(|| panic!("no data-{name}: {findings:?}"));
    text.parse().unwrap()
}

/// What holds for every page.
fn sound(findings: &Findings, runs: &[RunData]) {
    assert_eq!(findings.get("errors"), None, "{findings:?}");
    assert_eq!(findings.get("ready").map(String::as_str), Some("yes"), "{findings:?}");
    assert_eq!(number(findings, "broken"), 0, "attributes that are no numbers");
    assert!(number(findings, "overflow") <= 0, "the page is wider than the window: {findings:?}");
    let rows: usize = runs.iter().map(|data| data.rows.len()).sum();
    assert_eq!(number(findings, "rows"), i64::try_from(rows).unwrap());
    assert_eq!(number(findings, "table-rows"), i64::try_from(rows.min(100)).unwrap());
}

#[test]
fn one_machine_on_a_desktop_and_a_phone() {
    let runs = [synthetic::both()];
    for width in [DESKTOP, PHONE] {
        let Some((findings, _)) = open(&runs, width) else { return };
        sound(&findings, &runs);
        // The ladder, two pairs, five CPU families and seven GPU families.
        assert_eq!(number(&findings, "charts"), 1 + 4 + 5 + 7);
        assert_eq!(number(&findings, "cards"), 12);
        assert!(number(&findings, "lines") >= 30, "{findings:?}");
        assert!(
            number(&findings, "bands") >= number(&findings, "lines") - number(&findings, "legends"),
            "{findings:?}"
        );
        assert!(number(&findings, "hollow") > 0, "what is not resolved is drawn, and drawn apart");
    }
}

#[test]
fn every_level_of_a_machine() {
    let runs = [synthetic::wide::complete()];
    for width in [DESKTOP, PHONE] {
        let Some((findings, dom)) = open(&runs, width) else { return };
        sound(&findings, &runs);
        assert!(number(&findings, "rungs") >= 30, "{findings:?}");
        // Two kinds of cluster barriers; three grid barriers and the best of them; three barriers of 1, 2 and 4 devices and
        // the best of each.
        assert_eq!(number(&findings, "maps"), 2 + 4 + 3 * 4, "{findings:?}");
        assert!(number(&findings, "cells") > 150 && number(&findings, "hatched") > 20, "{findings:?}");
        assert_eq!(number(&findings, "matrices"), 1);
        assert_eq!(
            number(&findings, "answering"),
            number(&findings, "charts"),
            "a chart does not answer the arrow keys"
        );
        assert!(number(&findings, "tails") >= 6, "{findings:?}");
        for text in
            ["Fairness of locks", "False sharing", "from stride 8 (64 bytes) on", "Block barriers by active warps"]
        {
            assert!(dom.contains(text), "{text}");
        }
        assert!(dom.contains("CPUs 3 and 11 answer each other in 6.0 ns"), "a contradiction is a notice");
    }
}

#[test]
fn every_level_of_several_machines() {
    let runs = [synthetic::wide::complete(), synthetic::cpu_only()];
    let Some((findings, _)) = open(&runs, DESKTOP) else { return };
    sound(&findings, &runs);
    assert!(number(&findings, "rungs") >= 30, "{findings:?}");
}

#[test]
fn the_matrix_of_many_cpus_stays_light() {
    let mut large = synthetic::wide::complete();
    large.rows = synthetic::wide::matrix(256);
    large.details.clear();
    let runs = [large];
    let Some((findings, _)) = open(&runs, DESKTOP) else { return };
    sound(&findings, &runs);
    assert_eq!(number(&findings, "matrices"), 1);
    assert!(
        number(&findings, "nodes") < 10_000,
        "one path for each shade, not one for each of 32,640 pairs: {findings:?}"
    );
}

#[test]
fn several_machines() {
    let runs = [synthetic::both(), synthetic::cpu_only()];
    let Some((findings, dom)) = open(&runs, DESKTOP) else { return };
    sound(&findings, &runs);
    assert_eq!(number(&findings, "charts"), 1 + 4 + 5 + 7);
    assert!(dom.contains("data-label=\"Intel Xeon Platinum 8375C\""), "a line per run, named in the legend");
    assert!(dom.contains("interrupted: "));
}

#[test]
fn a_machine_without_a_gpu() {
    let runs = [synthetic::cpu_only()];
    let Some((findings, dom)) = open(&runs, PHONE) else { return };
    sound(&findings, &runs);
    assert_eq!(number(&findings, "charts"), 1 + 5);
    assert!(dom.contains("No NVIDIA GPU was found"));
}

#[test]
fn nothing_resolved_and_nothing_measured() {
    let unresolved = [synthetic::unresolved()];
    let Some((findings, dom)) = open(&unresolved, DESKTOP) else { return };
    sound(&findings, &unresolved);
    assert_eq!(number(&findings, "bands"), 0);
    assert!(dom.contains("check failed: the counter is 3, not 4"));
    let empty = [RunData { rows: vec![], ..synthetic::both() }];
    let Some((findings, dom)) = open(&empty, PHONE) else { return };
    sound(&findings, &empty);
    assert_eq!(number(&findings, "charts"), 0);
    assert!(dom.contains("No case was finished in this run."));
}

#[test]
fn hostile_text_runs_nothing() {
    const HOSTILE: &str = "</script><img src=x onerror=\"document.documentElement.dataset.errors='owned'\">";
    let case = Case { group: Some(HOSTILE.into()), ..Case::new("cpu.handoff.futex") };
    let rows = vec![Row::unmeasured(case, Verdict::Failed(HOSTILE.into()))];
    let runs = [synthetic::data(HOSTILE, synthetic::run(HOSTILE, None), rows)];
    for width in [DESKTOP, PHONE] {
        let Some((findings, dom)) = open(&runs, width) else { return };
        sound(&findings, &runs);
        assert!(!dom.contains("<img"));
    }
}

#[test]
fn ten_thousand_rows() {
    for run in [synthetic::large(10_000), synthetic::wide::paper()] {
        let runs = [run];
        let Some((findings, _)) = open(&runs, DESKTOP) else { return };
        sound(&findings, &runs);
        // The times are told, not judged: the machine that tests may be busy.
        let [opened, drawn] = ["opened", "milliseconds"].map(|name| number(&findings, name));
        eprintln!("{} rows: open after {opened} ms, every chart drawn after {drawn} ms", runs[0].rows.len());
    }
}
