//! Writes the page of a synthetic run, or of stored runs, to develop the page without measuring:

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::slice::from_ref;

use syncscope_report::{RunData, page};

fn main() -> Result<(), String> {
    let usage = "demo_page both|complete|cpu|two|unresolved|empty|large|paper|matrix|crosscheck|RUN,.. FILE";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, path] = arguments.as_slice() else { return Err(usage.to_owned()) };
    let (experiment, section) = synthetic::published::experiment();
    let runs = match kind.as_str() {
        "both" => vec![synthetic::both()],
        "complete" => vec![synthetic::wide::complete()],
        "cpu" => vec![synthetic::cpu_only()],
        "two" => vec![synthetic::wide::complete(), synthetic::cpu_only()],
        "unresolved" => vec![synthetic::unresolved()],
        "crosscheck" => vec![experiment],
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
    let sections = if kind == "crosscheck" { from_ref(&section) } else { &[] };
    std::fs::write(path, page::with_sections(&runs, &vec![sections; runs.len()]))
        .map_err(|error| format!("{path}: {error}"))
}
