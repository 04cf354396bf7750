//! Opens a page in headless Chromium and reads what its scripts made of it.
//!
//! `SYNCSCOPE_CHROMIUM` names the browser. `SYNCSCOPE_NO_BROWSER=1` skips these tests.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use std::{env, fs, thread};

use serde_json::{Value, json};
use syncscope_report::{RunData, page};

/// The space around a frame.
const FRAME_MARGIN: u32 = 40;

/// Far more time than a page needs on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

fn browser() -> Option<PathBuf> {
    if env::var_os("SYNCSCOPE_NO_BROWSER").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED: SYNCSCOPE_NO_BROWSER=1, so the page was not tested in a browser");
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

/// One browser for all tests of a process, driven over a pipe by the DevTools protocol, because starting a browser takes
/// longer than most pages. It ends with the pipe, which closes when this process ends.
struct Browser {
    input: Mutex<ChildStdin>,
    numbers: AtomicU64,
    /// The senders that wait for the answer to a call, by its number, or for the end of a tab's time, by its session.
    waiting: Arc<Mutex<HashMap<String, Sender<Value>>>>,
}

impl Browser {
    fn of_process(program: &Path) -> &'static Self {
        static BROWSER: OnceLock<Browser> = OnceLock::new();
        BROWSER.get_or_init(|| Self::start(program))
    }

    fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap().keep();
        // The browser takes commands from descriptor 3 and answers on 4; the shell removes the profile when it has ended.
        let mut child = Command::new("sh")
            .args(["-c", "\"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1; rm -rf \"$0\""])
            .arg(&profile)
            .arg(program)
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--allow-file-access-from-files", &format!("--user-data-dir={}", profile.display())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (Mutex::new(child.stdin.take().unwrap()), child.stdout.take().unwrap());
        let waiting = Arc::<Mutex<HashMap<String, Sender<Value>>>>::default();
        let receivers = Arc::clone(&waiting);
        thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                let message: Value = serde_json::from_slice(&message).unwrap();
                let key = match (&message["id"], &message["method"]) {
                    (Value::Number(id), _) => id.to_string(),
                    (_, method) if method == "Emulation.virtualTimeBudgetExpired" => message["sessionId"].to_string(),
                    _ => continue,
                };
                let receiver = receivers.lock().unwrap().remove(&key);
                receiver.map(|receiver| receiver.send(message));
            }
            // Wake everyone who waits for a browser that has ended.
            receivers.lock().unwrap().clear();
            child.wait().unwrap();
        });
        Self { input, numbers: AtomicU64::new(1), waiting }
    }

    fn expect(&self, key: String) -> Receiver<Value> {
        let (sender, receiver) = mpsc::channel();
        self.waiting.lock().unwrap().insert(key, sender);
        receiver
    }

    /// Calls a method in a tab or in the browser and returns its result.
    fn call(&self, session: Option<&Value>, method: &str, parameters: &Value) -> Value {
        let id = self.numbers.fetch_add(1, Relaxed);
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = session.clone();
        }
        let answer = self.expect(id.to_string());
        self.input.lock().unwrap().write_all(format!("{message}\0").as_bytes()).unwrap();
        let mut answer = answer.recv_timeout(LIMIT).unwrap_or_else(|error| panic!("{method}: {error}"));
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].take()
    }

    /// Returns the document at `address` as text after its scripts have run for five minutes of virtual time.
    fn dump(&self, address: &str, width: u32) -> String {
        let target = self.call(None, "Target.createTarget", &json!({ "url": "about:blank" }))["targetId"].take();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = self.call(None, "Target.attachToTarget", &attach)["sessionId"].take();
        let call = |method, parameters: Value| self.call(Some(&session), method, &parameters);
        let window = json!({ "width": width, "height": 1600, "deviceScaleFactor": 1, "mobile": false });
        call("Emulation.setDeviceMetricsOverride", window);
        call("Page.enable", json!({}));
        let expired = self.expect(session.to_string());
        call("Emulation.setVirtualTimePolicy", json!({ "policy": "pause" }));
        call("Page.navigate", json!({ "url": address }));
        call("Emulation.setVirtualTimePolicy", json!({ "policy": "pauseIfNetworkFetchesPending", "budget": 300_000 }));
        expired.recv_timeout(LIMIT).unwrap_or_else(|error| panic!("{address}: {error}"));
        let text = json!({ "expression": "document.documentElement.outerHTML" });
        let found = call("Runtime.evaluate", text);
        self.call(None, "Target.closeTarget", &json!({ "targetId": target }));
        found["result"]["value"].as_str().unwrap().to_owned()
    }
}

/// The counts that the page writes, by attribute.
pub(crate) type Counts = BTreeMap<String, String>;

fn counts(dom: &str) -> Counts {
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

/// A page that shows `report.html` in a frame, runs `script` on its `page`, and copies its counts and its text. The script
/// may `await wait(milliseconds)`, which takes no real time, and change the width of the `frame`. Work of the browser
/// outside its scripts, such as encoding an image, takes real time: use `await until(condition)`, which gives up after some
/// seconds, or `await read(blob)`.
fn framed(width: u32, script: &str, hash: &str) -> String {
    format!(
        "<!DOCTYPE html><html><body><pre id=\"text\"></pre>
        <iframe src=\"report.html{hash}\" width=\"{width}\" height=\"780\" style=\"border:0\"></iframe><script>
        const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
        const request = () => new Promise((resolve) => {{
            const asked = new XMLHttpRequest();
            asked.onloadend = resolve;
            asked.open('GET', location.href);
            asked.send();
        }});
        // The browser's virtual time stands still during a request.
        const until = async (condition) => {{
            for (let tries = 0; tries < 5000 && !condition(); tries += 1) await request();
        }};
        const read = async (blob) => {{
            let found = null;
            blob.text().then((text) => (found = text));
            await until(() => found !== null);
            return found;
        }};
        const frame = document.querySelector('iframe');
        frame.onload = async () => {{
            frame.onload = null;
            let page = frame.contentDocument;
            let root = page.documentElement;
            {script}
            Object.assign(document.documentElement.dataset, root.dataset);
            document.getElementById('text').textContent = root.outerHTML;
        }};</script></body></html>"
    )
}

/// Opens the page of these runs at this width. `None` if the browser tests are skipped.
pub(crate) fn open(runs: &[RunData], width: u32) -> Option<(Counts, String)> {
    open_and(runs, width, "")
}

/// Opens the page and runs a script on it, with the elements `page` and `root`.
pub(crate) fn open_and(runs: &[RunData], width: u32, script: &str) -> Option<(Counts, String)> {
    let (counts, dom) = open_at(runs, width, script, "#selftest")?;
    assert_eq!(number(&counts, "width"), i64::from(width));
    Some((counts, dom))
}

/// Opens the page at a place in it, as a reader does, without drawing every chart, and runs a script on it.
pub(crate) fn open_undrawn(runs: &[RunData], width: u32, script: &str, hash: &str) -> Option<(Counts, String)> {
    open_at(runs, width, script, hash)
}

/// Opens a page without scripts at this width and counts by how much it is wider than its window (`overflow`) and how many
/// elements match each selector. `None` if the browser tests are skipped.
pub(crate) fn open_still(html: &str, width: u32, selectors: &[(&str, &str)]) -> Option<Counts> {
    let mut script = "root.dataset.overflow = root.scrollWidth - root.clientWidth;".to_owned();
    for (name, selector) in selectors {
        write!(script, "root.dataset.{name} = page.querySelectorAll({selector:?}).length;").unwrap();
    }
    open_page(html, width, &script, "").map(|(counts, _)| counts)
}

/// The rules of axe-core that a page breaks in the light and in the dark theme, each with its first element. `None` if the
/// browser tests are skipped.
pub(crate) fn inaccessible(html: &str, width: u32) -> Option<String> {
    browser()?;
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.syncscope/tools");
    let is_axe =
        |folder: &PathBuf| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("axe-core-"));
    let folder = fs::read_dir(tools).into_iter().flatten().flatten().map(|one| one.path()).find(is_axe);
    let folder = folder.expect("no axe-core found: run `scripts/setup browser`, or set SYNCSCOPE_NO_BROWSER=1");
    let axe = fs::read_to_string(folder.join("node_modules/axe-core/axe.min.js")).unwrap();
    let script = format!(
        "const script = page.createElement('script');
        script.textContent = {};
        page.head.append(script);
        page.querySelectorAll('details').forEach((details) => (details.open = true));
        root.dataset.inaccessible = '';
        for (root.dataset.theme of ['light', 'dark']) {{
            // The themes differ in colours alone.
            const rules = root.dataset.theme === 'dark' && {{ runOnly: ['color-contrast', 'link-in-text-block'] }};
            const {{ violations }} = await page.defaultView.axe.run(page, {{ resultTypes: ['violations'], ...rules }});
            root.dataset.inaccessible += violations.map((rule) => `${{rule.id}} at ${{rule.nodes[0].target}}; `).join('');
        }}",
        serde_json::to_string(&axe).unwrap().replace('<', "\\u003c")
    );
    // The policy of pages without scripts would block this one.
    let html = html.replace("http-equiv=\"Content-Security-Policy\"", "name=\"policy\"");
    open_page(&html, width, &script, "#selftest").map(|(counts, _)| counts["inaccessible"].clone())
}

fn open_at(runs: &[RunData], width: u32, script: &str, hash: &str) -> Option<(Counts, String)> {
    open_page(&page::render(runs), width, script, hash)
}

/// Opens a page at a place in it and runs a script on it. `None` if the browser tests are skipped.
pub(crate) fn open_page(html: &str, width: u32, script: &str, hash: &str) -> Option<(Counts, String)> {
    let browser = browser()?;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("report.html"), html).unwrap();
    fs::write(file("frame.html"), framed(width, script, hash)).unwrap();
    let is_framed = !script.is_empty();
    let name = if is_framed { "frame.html" } else { "report.html" };
    let address = format!("file://{}{hash}", file(name).display());
    let window = if is_framed { width + FRAME_MARGIN } else { width };
    let dom = Browser::of_process(&browser).dump(&address, window);
    let counts = counts(&dom);
    Some((counts, dom))
}

pub(crate) fn number(counts: &Counts, name: &str) -> i64 {
    let text = counts.get(name).unwrap_or_else(|| panic!("no data-{name}: {counts:?}"));
    text.parse().unwrap()
}

/// The text with plain spaces.
pub(crate) fn plain(dom: &str) -> String {
    ["&nbsp;", "&amp;nbsp;", "\u{a0}"].iter().fold(dom.to_owned(), |text, space| text.replace(space, " "))
}
