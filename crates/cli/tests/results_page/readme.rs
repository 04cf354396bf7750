//! The figures of `README.md`: its excerpt stands in what `show` prints of the stored run, and each sentence or line of a table
//! with figures is one of [`PHRASES`], filled from the stored runs.

use std::fs;
use std::process::Command;

use crate::tables::Runs;
use crate::{fill, root};

/// What the README says with figures of stored runs, whatever its line breaks are.
const PHRASES: [&str; 10] = [
    "From a virtual machine with 16 CPUs and one NVIDIA H200: {{h200 run : seconds.0}} seconds for {{h200 * form=? : count}} cases",
    "| `gpu.multi.counter` | {{h200-x2 gpu.multi.counter devices=1 threads=1024 : us.2}} µs ±{{h200-x2 gpu.multi.counter devices=1 threads=1024 : half.1}} % \
     | {{h200-x2 gpu.multi.counter devices=2 threads=1024 : us.2}} µs ±{{h200-x2 gpu.multi.counter devices=2 threads=1024 : half.1}} % |",
    "| `gpu.multi.flags` | {{h200-x2 gpu.multi.flags devices=1 threads=1024 order=- : us.2}} µs ±{{h200-x2 gpu.multi.flags devices=1 threads=1024 order=- : half.1}} % \
     | {{h200-x2 gpu.multi.flags devices=2 threads=1024 order=- : us.2}} µs ±{{h200-x2 gpu.multi.flags devices=2 threads=1024 order=- : half.1}} % |",
    "`__syncthreads()` takes {{h200 gpu.block.syncthreads blocks=1 threads=32 : ns.2}} ns ({{h200 gpu.block.syncthreads blocks=1 threads=32 : cycles.0}} cycles) \
     in a block of one warp, and {{h200 gpu.block.syncthreads blocks=1 threads=1024 : ns.1}} ns in a full block.",
    "`atomicAdd(&x, v)` in a loop: one lane adds for the warp, the sum is made once | \
     {{h200 gpu.atomic.add layout=shared mode=throughput dtype=i32 blocks=1 threads=32 : cycles.1}} cycles | \
     {{h200 gpu.atomic.add layout=shared mode=throughput dtype=i32 blocks=132 threads=1024 : cycles.0}} |",
    "`v` changes each time (`varying`): the sum is made each time | \
     {{h200 gpu.atomic.add form=varying layout=shared mode=throughput blocks=1 threads=32 : cycles.1}} | \
     {{h200 gpu.atomic.add form=varying layout=shared mode=throughput blocks=132 threads=1024 : cycles.0}} |",
    "the compiler cannot see that it is one variable (`not_aggregated`) | \
     {{h200 gpu.atomic.add form=not_aggregated layout=shared mode=throughput blocks=1 threads=32 : cycles.1}} | \
     {{h200 gpu.atomic.add form=not_aggregated layout=shared mode=throughput blocks=132 threads=1024 : cycles.0}} |",
    "Two halves of a warp that really diverge pay {{h200 gpu.warp.syncwarp group=divergent blocks=1 threads=32 : cycles.0}} cycles.",
    "differ by {{h100 cpu.* fits=true verdict=Resolved / h200 cpu.* verdict=Resolved : median difference.1}} % in nanoseconds (median) \
     and by {{h100 cpu.* fits=true verdict=Resolved / h200 cpu.* verdict=Resolved : median difference(cycles).1}} % in cycles",
    "two H200 differ by {{h200 gpu.* verdict=Resolved / h200-x2 gpu.* verdict=Resolved : median difference.1}} % (median; \
     {{h200 gpu.* verdict=Resolved / h200-x2 gpu.* verdict=Resolved : p95 difference.1}} % at the 95th percentile",
];

/// One line, with one space between two words.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_readme_has_the_figures_of_the_stored_runs() {
    let readme = in_one_line(&fs::read_to_string(root().join("README.md")).unwrap());
    let runs = Runs::new(root().join("results"));
    let differ: Vec<String> = PHRASES
        .iter()
        .map(|phrase| fill(&in_one_line(phrase), &runs).unwrap_or_else(|errors| panic!("{}", errors.join("\n"))))
        .filter(|phrase| !readme.contains(phrase))
        .collect();
    assert!(differ.is_empty(), "README.md does not have these:\n{}", differ.join("\n"));
}

#[test]
fn the_excerpt_of_the_readme_is_what_show_prints() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```text\n").unwrap();
    let (excerpt, _) = rest.split_once("```").unwrap();
    let mut show = Command::new(env!("CARGO_BIN_EXE_syncscope"));
    show.args(["show", "results/h200"]).env("NO_COLOR", "1").env("COLUMNS", "100").current_dir(root());
    let output = show.output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let shown: Vec<&str> = shown.lines().collect();
    let differ: Vec<&str> = excerpt.lines().filter(|line| !shown.contains(line)).collect();
    assert!(differ.is_empty(), "`syncscope show results/h200` does not print these:\n{}", differ.join("\n"));
    assert!(excerpt.lines().count() > 15);
}
