//! Writes the page of a synthetic run, or of stored ones, to develop the page without a measurement:
//! `cargo run -p syncscope-report --example demo_page -- both demo.html`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use syncscope_report::{RunData, page};

fn main() -> Result<(), String> {
    let usage = "demo_page both|complete|cpu|two|unresolved|empty|large|paper|matrix|crosscheck|RUN,.. FILE";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, path] = arguments.as_slice() else { return Err(usage.to_owned()) };
    let runs = match kind.as_str() {
        "both" => vec![synthetic::both()],
        "complete" => vec![synthetic::wide::complete()],
        "cpu" => vec![synthetic::cpu_only()],
        "two" => vec![synthetic::wide::complete(), synthetic::cpu_only()],
        "unresolved" => vec![synthetic::unresolved()],
        "crosscheck" => vec![synthetic::published::experiment()],
        "empty" => vec![RunData { rows: vec![], ..synthetic::both() }],
        "paper" => vec![synthetic::wide::paper()],
        "matrix" => vec![RunData { rows: synthetic::wide::matrix(64), ..synthetic::wide::complete() }],
        "large" => vec![synthetic::large(20_000)],
        folders if !folders.is_empty() => {
            let load = |folder: &str| {
                RunData::load(folder.as_ref(), synthetic::catalogue()).map_err(|error| format!("{error}; {usage}"))
            };
            folders.split(',').map(load).collect::<Result<_, _>>()?
        }
        _ => return Err(usage.to_owned()),
    };
    std::fs::write(path, page::render(&runs)).map_err(|error| format!("{path}: {error}"))
}
