//! Every text of a run that its reader accepts is hostile: no command obeys it or passes it on, in any format.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use syncscope_core::Run;
use syncscope_core::machine::GpuMachine;
use syncscope_core::run_directory::{ORDERINGS, RunDirectory};

use crate::common::{output, path, stderr};

/// A formula behind characters that some readers skip, a title and colours for a terminal, a C1 control, and text that runs
/// backwards.
const HOSTILE: &str = "\r =1+1\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2066}\u{200f}\t<b>|\n+x";

/// Fields that decide how a run is read.
const KEPT: [&str; 5] = ["schema", "preset", "status", "started", "ended"];

/// Makes every text hostile whose change leaves the description readable.
fn spoil(run: &mut Value, at: &str) {
    let inner: Vec<String> = match run.pointer(at) {
        Some(Value::Object(fields)) => fields.keys().filter(|name| !KEPT.contains(&name.as_str())).cloned().collect(),
        Some(Value::Array(items)) => (0..items.len()).map(|item| item.to_string()).collect(),
        Some(Value::String(_)) => {
            let mut spoilt = run.clone();
            *spoilt.pointer_mut(at).unwrap() = HOSTILE.into();
            if serde_json::from_value::<Run>(spoilt.clone()).is_ok() {
                *run = spoilt;
            }
            return;
        }
        _ => return,
    };
    for name in inner {
        spoil(run, &format!("{at}/{name}"));
    }
}

/// Makes one cell hostile in each column that accepts it. The other rows keep their values.
fn spoil_table(directory: &RunDirectory) {
    let file = directory.measurements();
    let mut reader = csv::Reader::from_path(&file).unwrap();
    let header = reader.headers().unwrap().clone();
    let mut rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let write = |rows: &[csv::StringRecord]| {
        let mut writer = csv::Writer::from_path(&file).unwrap();
        writer.write_record(&header).unwrap();
        for row in rows {
            writer.write_record(row).unwrap();
        }
        writer.flush().unwrap();
    };
    let mut spoilt = 0;
    for column in 0..header.len() {
        let at = column % rows.len();
        let before = rows[at].clone();
        rows[at] =
            before.iter().enumerate().map(|(other, cell)| if other == column { HOSTILE } else { cell }).collect();
        write(&rows);
        if directory.read_rows().is_ok_and(|read| read.len() == rows.len()) {
            spoilt += 1;
        } else {
            rows[at] = before;
        }
    }
    write(&rows);
    assert!(spoilt > 3, "only {spoilt} columns take any text");
    let details = directory.path().join("details.csv");
    let text = fs::read_to_string(&details).unwrap();
    fs::write(details, format!("{text}0123456789abcdef,\"{HOSTILE}\",,1\n")).unwrap();
}

/// A run with a hostile name and hostile texts.
fn hostile_run(folder: &Path, seed: &str) -> String {
    let out = path(folder, &format!("run {seed}\u{1b}[2J\u{202e}=x"));
    let done = output(&["run", "--seed", seed, "--out", &out]);
    assert!(done.status.success(), "{}", stderr(&done));
    let directory = RunDirectory::open(Path::new(&out)).unwrap();
    spoil_table(&directory);
    let mut run = directory.read_run().unwrap();
    run.warnings.push(HOSTILE.to_owned());
    run.machine.gpus.push(GpuMachine { name: HOSTILE.to_owned(), ..GpuMachine::default() });
    let mut run = serde_json::to_value(run).unwrap();
    spoil(&mut run, "");
    directory.write_run(&serde_json::from_value(run).unwrap()).unwrap();
    fs::write(directory.path().join(ORDERINGS), hostile_orderings().to_string()).unwrap();
    out
}

/// A table of memory orderings with hostile text in each place that accepts any text.
fn hostile_orderings() -> Value {
    let price = json!({ "not_measured": HOSTILE });
    let together = json!({ "changes": [HOSTILE], "price": price, "sum_ns": [0.0], "code": [HOSTILE] });
    json!([{
        "operation": HOSTILE, "subject": HOSTILE, "model": { "cannot": HOSTILE }, "test": null,
        "rows": [{
            "line": u32::MAX, "file": HOSTILE, "ordering": HOSTILE, "variant": "<i>relaxed</i>", "step": "weaker", "price": price,
            "instructions": HOSTILE, "model": null, "test": { "failed": HOSTILE },
        }],
        "not_tried": [{ "line": 0, "file": HOSTILE, "name": HOSTILE, "reason": HOSTILE }],
        "cheapest": together, "without_any": together, "against": { "operation": HOSTILE, "price": price },
    }])
}

fn steers(letter: char) -> bool {
    let directions = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
    letter.is_control() && letter != '\n' || directions.contains(letter)
}

/// Whether a spreadsheet takes a cell for a formula.
fn is_formula(cell: &str) -> bool {
    let signs = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    cell.trim_start().starts_with(signs) && cell.parse::<f64>().is_err()
}

#[test]
fn no_command_passes_on_what_a_file_says_to_a_terminal_or_spreadsheet() {
    let folder = tempfile::tempdir().unwrap();
    let runs = ["1", "2", "3"].map(|seed| hostile_run(folder.path(), seed));
    let [page, bundle] = ["page.html", "bundle.gz"].map(|name| path(folder.path(), name));
    let (page, bundle) = (page.as_str(), bundle.as_str());
    let runs = runs.each_ref().map(String::as_str);
    let mut commands: Vec<Vec<&str>> = Vec::new();
    for (command, count, formats) in [
        ("show", 1, "table markdown csv json bmf github google-benchmark reframe"),
        ("compare", 2, "table markdown csv json"),
        ("findings", 1, "table markdown json"),
        ("advise", 1, "table markdown json"),
        ("fleet", 3, "table markdown csv json"),
    ] {
        commands.extend(formats.split(' ').map(|format| [&[command, "--format", format][..], &runs[..count]].concat()));
    }
    commands.extend(["report", "gallery", "fleet"].map(|command| [&[command, "-o", page][..], &runs[..]].concat()));
    commands.push(vec!["show", "--sort", "cost", runs[0]]);
    commands.push(vec!["submit", runs[0], "-o", bundle]);
    commands.push(vec!["submit", "--check", bundle]);
    commands.push(vec!["run", "--resume", runs[0]]);
    for words in commands {
        let _ = fs::remove_file(page);
        let done = output(&words);
        let texts = [String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap()];
        for text in &texts {
            assert_eq!(text.chars().find(|letter| steers(*letter)), None, "{words:?}: {text:?}");
        }
        assert!(texts.iter().any(|text| !text.is_empty()), "{words:?} says nothing");
        if words.contains(&"csv") {
            for record in csv::ReaderBuilder::new().flexible(true).from_reader(texts[0].as_bytes()).records() {
                let record = record.unwrap();
                assert_eq!(record.iter().find(|cell| is_formula(cell)), None, "{words:?}");
            }
        }
        if words.contains(&"json") {
            assert!(serde_json::from_str::<Value>(&texts[0]).is_ok(), "{words:?}: {texts:?}");
        }
        if words.contains(&page) {
            let text = fs::read_to_string(page).unwrap_or_else(|_| panic!("{words:?}: {}", texts[1]));
            assert_eq!(text.chars().find(|letter| steers(*letter) && *letter != '\t'), None, "{words:?}");
            let is_drawn = text.contains("yes: seen to fail") && text.contains("&lt;i&gt;relaxed&lt;/i&gt;");
            assert_eq!((is_drawn, text.contains("<i>relaxed")), (words[0] == "report", false), "{words:?}");
        }
    }
}
