//! The arguments of `measure`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use syncscope_core::{Domain, OwnCheck};
use syncscope_gpu::own::launched::waits;
use syncscope_papers::folder;

use super::{Percentage, one_of, run, sides};
use crate::axes::AxisArguments;

#[derive(Debug, Clone, Args)]
#[group(id = "code", required = true, multiple = true, args = ["cpu", "gpu", "header"])]
#[command(
    after_help = "It compiles and runs the code you give it with your permissions: measure only code you trust.\n  \
                  syncscope measure --cpu 'atomic_fetch_add(&x, 1)' --threads 1,2\n  \
                  syncscope measure --gpu 'atomicAdd(&x, 1)' --threads 32,1024 --blocks 1,132\n  \
                  syncscope measure --cpu lock.c --against other.c cpu.lock.ticket --fail-if-slower 2%\n\n\
                  --orderings weakens each memory ordering, narrows its scope or drops it, and says what that saves\n\
                  ([...]: the instructions that differ) and whether the ordering is needed. Ours by id: --cpu cpu.lock.mcs,\n\
                  --gpu gpu.grid.hierarchical:spread. Without a GPU: --sass ARCH; for ARM64: CC=aarch64-linux-gnu-gcc.\n  \
                  same instructions      free here: the variant without it compiles to the same machine code\n  \
                  yes: seen to fail      the check failed or a thread waited for ever, with the first failure\n  \
                  memory model requires  a few threads break it in C11's or PTX's memory model; on this machine\n  \
                  \u{20}                      they did not\n  \
                  not refuted            neither, within the bound (interrupted threads, old values, stores that\n  \
                  \u{20}                      overtake others); that does not make it needless"
)]
pub(crate) struct MeasureArguments {
    /// Statements or files in C11 or C++20 ($CC, $CXX); FILE:NAME is one operation
    #[arg(long, value_name = "CODE", num_args = 1..)]
    pub(crate) cpu: Vec<String>,
    /// Statements or files in CUDA C++, compiled with NVRTC
    #[arg(long, value_name = "CODE", num_args = 1..)]
    pub(crate) gpu: Vec<String>,
    /// Compare with code for the same side, or with primitives by id
    #[arg(long, value_name = "CODE", num_args = 1..)]
    pub(crate) against: Vec<String>,
    /// Print what the code may use, the names in scope and the functions of a file, and exit
    #[arg(long, value_parser = sides(), value_name = "SIDE", exclusive = true)]
    pub(crate) header: Option<Domain>,
    /// Print the timed machine code with its control codes for ARCH (sm_90), and exit
    #[arg(long, value_name = "ARCH", num_args = 0..=1, default_missing_value = "sm_90", requires = "gpu")]
    pub(crate) sass: Option<String>,
    /// Cluster sizes for GPU code, in blocks, such as 2,16 [default: clusters of up to 8 for code that needs them]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) cluster: Vec<u32>,
    /// Dynamic shared memory of a block, for `extern __shared__`
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(crate) shared_bytes: Option<u32>,
    /// Whole kernel of a .cu or .ptx file; again for --against
    #[arg(long, value_name = "NAME", requires = "gpu")]
    pub(crate) kernel: Vec<String>,
    /// Blocks of its grid, likewise
    #[arg(long, value_name = "X[,Y[,Z]]", requires = "gpu", value_parser = extent)]
    pub(crate) grid: Vec<[u32; 3]>,
    /// Threads of a block, likewise
    #[arg(long, value_name = "X[,Y[,Z]]", requires = "gpu", value_parser = extent)]
    pub(crate) block: Vec<[u32; 3]>,
    /// Its next argument: buf:64M (zeros), i32:7; + joins fields
    #[arg(long, value_name = "TYPE:VALUE", requires = "gpu")]
    pub(crate) arg: Vec<String>,
    /// Waits after each `launch(stream)` of a file: end, sync_block...
    #[arg(long = "wait", value_name = "LIST", requires = "gpu", value_delimiter = ',', hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(waits()))]
    pub(crate) waits: Vec<String>,
    /// Name of the operation [default: the file's, or line]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Statement to run once before the operations of each sample
    #[arg(long, value_name = "CODE")]
    pub(crate) setup: Option<String>,
    /// Statement in both loops, before the operation [default: itself]
    #[arg(long, value_name = "CODE", conflicts_with = "check")]
    pub(crate) baseline: Option<String>,
    /// Check the operation: counter, lock, barrier or message, see --header
    #[arg(long, value_name = "KIND", value_parser = one_of(checks()), hide_possible_values = true)]
    pub(crate) check: Option<OwnCheck>,
    /// Include this header before the code (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) include: Vec<String>,
    /// Search this directory for headers (repeatable)
    #[arg(short = 'I', value_name = "DIR")]
    pub(crate) folders: Vec<String>,
    /// Define a macro (repeatable)
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub(crate) definitions: Vec<String>,
    /// Optimization level of the C compiler, such as 3 [default: 2]
    #[arg(short = 'O', value_name = "LEVEL")]
    pub(crate) optimization: Option<String>,
    /// Language, such as c11; `std::` and `x.` choose C++
    #[arg(long, value_name = "STANDARD")]
    pub(crate) std: Option<String>,
    /// For each memory ordering in the code: what it costs here, and whether a test or the memory model requires it
    #[arg(long, conflicts_with_all = ["fail_if_slower", "baseline", "header"])]
    pub(crate) orderings: bool,
    /// Compile only: exit code 3 if the machine code differs from --against's
    #[arg(long, requires = "against", conflicts_with_all = ["orderings", "fail_if_slower", "export_json", "export_markdown"])]
    pub(crate) instructions: bool,
    /// Exit with code 3 if an operation is slower, by more than this, than the one it is compared with
    #[arg(long, value_name = "PERCENT")]
    pub(crate) fail_if_slower: Option<Percentage>,
    /// Also write the rows, or the comparison, as JSON, - for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Option<PathBuf>,
    /// The same as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) export_markdown: Option<PathBuf>,
    /// Directory for the results, new or empty [default: syncscope-runs/TIME-measure]
    #[arg(short, long, value_name = "DIR", value_parser = folder())]
    pub(crate) out: Option<PathBuf>,
    /// Stop after this time, such as 90s or 10m
    #[arg(long, value_name = "TIME", value_parser = run::budget)]
    pub(crate) budget: Option<Duration>,
    /// GPUs to measure, by CUDA device number [default: the first]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) device: Option<Vec<u32>>,
    /// Seed of all random orders [default: random, recorded in run.json]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// The check alone, under stress for so long; 0: the cost alone
    #[arg(long, hide = true)]
    pub(crate) trial_ms: Option<u32>,
    #[command(flatten)]
    pub(crate) axes: AxisArguments,
}

/// `X`, `X,Y` or `X,Y,Z`.
fn extent(text: &str) -> Result<[u32; 3], String> {
    let numbers: Vec<u32> = text.split(',').filter_map(|number| number.parse().ok().filter(|n| *n > 0)).collect();
    match numbers[..] {
        _ if numbers.len() != text.split(',').count() => Err("expected X, X,Y or X,Y,Z".to_owned()),
        [x] => Ok([x, 1, 1]),
        [x, y] => Ok([x, y, 1]),
        [x, y, z] => Ok([x, y, z]),
        _ => Err("expected at most three dimensions".to_owned()),
    }
}

fn checks() -> impl Iterator<Item = (OwnCheck, &'static str, &'static str)> {
    OwnCheck::ALL.iter().map(|check| {
        let about = match check {
            OwnCheck::Counter => "Each operation incremented the shared variable, or its private element, once",
            OwnCheck::Lock => "A plain counter under the lock has all additions (always, where a file has `acquire`)",
            OwnCheck::Barrier => "No thread leaves before the last one has arrived (always, where a file has `wait`)",
            OwnCheck::Message => "Plain data behind a flag arrive (always, where a file has `send` and `receive`)",
        };
        (*check, check.as_str(), about)
    })
}

impl MeasureArguments {
    /// The options that go to the compiler as they are.
    pub(crate) fn compiler_options(&self) -> Vec<String> {
        let folders = self.folders.iter().map(|folder| format!("-I{folder}"));
        let definitions = self.definitions.iter().map(|definition| format!("-D{definition}"));
        let optimization = self.optimization.iter().map(|level| format!("-O{level}"));
        let standard = self.std.iter().map(|standard| format!("-std={standard}"));
        folders.chain(definitions).chain(optimization).chain(standard).collect()
    }
}
