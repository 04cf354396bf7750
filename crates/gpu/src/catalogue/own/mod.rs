//! The user's operations, as entries like those of the catalogue: their text becomes the text of a harness kernel.
//!
//! | file | contents |
//! |---|---|
//! | this one | an operation as an entry, its cases, and the definitions of its kernels |
//! | `text` | the program around the source |
//! | `inspection` | what a compiler reveals about the source: its functions and what they use |
//! | [`launched`] | whole kernels and sequences of launches, which run outside the harness |

use std::path::Path;

use syncscope_core::{
    ActorRule, Axes, Case, Domain, Dtype, Facts, Group, Mode, OperationsAtOnce, OwnCheck, OwnCode, OwnOperation,
    OwnUse, Primitive, Role, RunEffect,
};

use crate::catalogue::entry::{Entry, Kernel, Method, OwnEntry, Proof};
use crate::catalogue::families::{CLUSTER_OF, type_of};
use crate::catalogue::grid;
use crate::catalogue::limits::DeviceLimits;
use crate::cuda::compile::{LAUNCH_MEMORY, OF_USER};
use crate::launch::arguments::{ArgumentKind, UNROLL};

pub use self::inspection::Inspector;
pub use self::text::HEADER;

mod inspection;
pub mod launched;
mod text;

/// Locks and barriers of the catalogue by id, as a user would write them.
pub const FORMS: [(&str, &str); 9] = [
    ("gpu.lock.spin_cas", include_str!("forms/spin_cas.cuh")),
    ("gpu.lock.spin_exchange", include_str!("forms/spin_exchange.cuh")),
    ("gpu.lock.ticket", include_str!("forms/ticket.cuh")),
    ("gpu.grid.cooperative", include_str!("forms/cooperative.cuh")),
    ("gpu.grid.counter", include_str!("forms/counter.cuh")),
    ("gpu.grid.lock_free", include_str!("forms/lock_free.cuh")),
    ("gpu.grid.hierarchical", include_str!("forms/hierarchical.cuh")),
    ("gpu.multi.counter", include_str!("forms/multi_counter.cuh")),
    ("gpu.multi.flags", include_str!("forms/flags.cuh")),
];

/// The entries of the operations for GPUs. Like the catalogue's entries, they live as long as the process.
pub(super) fn entries(code: &OwnCode, limits: DeviceLimits) -> Vec<&'static Entry> {
    let (is_in_clusters, multiprocessors) = (!code.axes.clusters.is_empty(), limits.multiprocessors.max(1));
    let own = |source: &OwnOperation| OwnEntry { source: source.clone(), is_in_clusters, multiprocessors };
    let in_harness = code.on(Domain::Gpu).filter(|source| source.launch.is_none());
    in_harness.map(|source| &*Box::leak(Box::new(entry(Box::leak(Box::new(own(source))))))).collect()
}

/// The primitives of all the user's operations for GPUs.
pub fn primitives(code: &OwnCode) -> &'static [Primitive] {
    let none = DeviceLimits { multiprocessors: 1, max_threads: 1 };
    let launched = code.on(Domain::Gpu).filter_map(|own| Some(launched::primitive(own, own.launch.as_ref()?)));
    entries(code, none).into_iter().map(Entry::primitive).chain(launched).collect::<Vec<_>>().leak()
}

/// Which threads may wait for each other in an operation; its number is `SYNCSCOPE_SPAN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Block,
    Cluster,
    Grid,
}

/// The span of an operation, from the file's function and the check; clusters if requested or if the code has cluster
/// instructions.
fn span_of(source: &OwnOperation, in_clusters: bool) -> Span {
    match () {
        () if is_of_grid(source) => Span::Grid,
        () if in_clusters || source.is("cluster_wait") || source.uses(OwnUse::Clusters) => Span::Cluster,
        () => Span::Block,
    }
}

/// Whether the threads of the whole grid wait for each other, so that no clusters can be requested.
pub fn is_of_grid(source: &OwnOperation) -> bool {
    source.is("grid_wait") || source.checked() == Some(OwnCheck::Message) || source.uses(OwnUse::Grids)
}

/// A cluster size that every device with clusters supports.
const CLUSTER: u32 = 8;

/// The cases of all the user's operations for GPUs.
pub fn cases(code: &OwnCode, limits: DeviceLimits) -> Vec<Case> {
    let usual = |blocks| Axes {
        threads: limits.at_most(&[32, 1024]),
        blocks,
        dtypes: vec![Dtype::I32],
        strides: vec![1, 32],
        ..Axes::default()
    };
    let axes = &code.axes;
    let of = |source: &OwnOperation| -> Vec<Case> {
        if let Some(launch) = &source.launch {
            return launched::cases(source, launch);
        }
        let cases = |blocks| source.cases(axes, &usual(blocks));
        match span_of(source, !axes.clusters.is_empty()) {
            Span::Block => cases(vec![1, limits.multiprocessors]),
            Span::Cluster if axes.clusters.is_empty() => cases(vec![CLUSTER]).into_iter().map(in_clusters).collect(),
            Span::Cluster => {
                let of_size = |size: &u32| {
                    let group = Some(Group::numbered(CLUSTER_OF, *size));
                    cases(vec![*size]).into_iter().map(move |case| Case { group: group.clone(), ..case })
                };
                axes.clusters.iter().flat_map(of_size).collect()
            }
            Span::Grid => cases(vec![limits.multiprocessors]),
        }
    };
    code.on(Domain::Gpu).flat_map(of).collect()
}

/// The case in the largest usual cluster size that divides its grid.
fn in_clusters(case: Case) -> Case {
    let blocks = case.blocks.unwrap_or(1).max(1);
    let size = CLUSTER.min(1 << blocks.trailing_zeros().min(CLUSTER.ilog2()));
    Case { group: Some(Group::numbered(CLUSTER_OF, size)), ..case }
}

fn entry(own: &'static OwnEntry) -> Entry {
    let OwnEntry { source, is_in_clusters, .. } = own;
    let is_lock = source.is("acquire");
    let (method, needs, arguments) = match span_of(source, *is_in_clusters) {
        Span::Block => (Method::Kernel, (7, 5), ArgumentKind::Variable),
        Span::Cluster => (Method::Cluster, (9, 0), ArgumentKind::Variable),
        Span::Grid => (Method::GridBarrier, (7, 5), ArgumentKind::GridBarrier),
    };
    let kernel = Kernel { file: source.id.clone().leak(), text: Some(text::program(source).leak()), arguments };
    let is_counted = matches!(source.checked(), Some(OwnCheck::Counter | OwnCheck::Lock));
    let actor = if waits(source) || source.uses(OwnUse::Variable) { ActorRule::Slowest } else { ActorRule::Median };
    let facts = Facts {
        actor,
        orders_memory: waits(source),
        mode: if waits(source) { Mode::Latency } else { Mode::Throughput },
        // As for the catalogue's grid barriers: a kernel's place in memory changes its cost by as much.
        run_effect: |_| RunEffect::of_both(0.004),
        at_once: if is_lock { OperationsAtOnce::OfOneIn(32) } else { OperationsAtOnce::OfEach },
        ..Facts::of(Role::Own)
    };
    Entry {
        id: kernel.file,
        summary: "An operation that a user wrote; run.json has its source",
        operation: if is_lock {
            "one thread of every warp adds to a counter under the lock"
        } else {
            "one execution per thread"
        },
        source: "the user",
        arrays: if source.uses(OwnUse::Element) { 2 } else { 1 },
        // As few copies as in the catalogue for operations that take long.
        unroll: match method {
            Method::GridBarrier => |_| grid::UNROLL,
            // With 64 copies of 32 exchanges in a loop, a warp took 2.6 times as long as in a program's own loop (H200).
            _ if source.uses(OwnUse::Long) => |_| 4,
            _ => |case| if case.actors() >= 4096 { 8 } else { UNROLL },
        },
        method,
        needs,
        has_third_loop: source.baseline.is_none(),
        own: Some(own),
        ..Entry::of(kernel, if is_counted { Proof::Sum } else { Proof::Trial }, facts)
    }
}

/// Whether threads of a block may wait for each other, in instructions at which they meet or in a loop, so that all of them
/// must execute the operation equally often.
fn waits(source: &OwnOperation) -> bool {
    source.is_barrier() || source.is("acquire") || source.uses(OwnUse::Loops) || source.uses(OwnUse::Meeting)
}

impl OwnEntry {
    /// The compiler's options and definitions.
    pub(super) fn definitions(&self, case: &Case) -> Vec<String> {
        let source = &self.source;
        // As `own_kernels.cuh` numbers them.
        let check = match source.checked() {
            None => 0,
            Some(OwnCheck::Counter) => 1,
            Some(OwnCheck::Lock) => 2,
            Some(OwnCheck::Barrier) => 3,
            Some(OwnCheck::Message) => 4,
        };
        let span = span_of(source, self.is_in_clusters);
        let (threads, blocks) = self.launch_bounds(case.threads.unwrap_or(1), case.blocks.unwrap_or(1));
        let mut definitions = options(source, type_of(case.dtype), span);
        definitions.extend([
            format!("SYNCSCOPE_CHECK={check}"),
            format!("SYNCSCOPE_PRIVATE={}", u32::from(source.uses(OwnUse::Element))),
            format!("SYNCSCOPE_SHARED={}", u32::from(source.uses(OwnUse::BlockMemory))),
            format!("SYNCSCOPE_MEETS={}", u32::from(waits(source))),
            format!("SYNCSCOPE_CONTEXT={}", u32::from(source.baseline.is_some())),
            format!("SYNCSCOPE_MOST_THREADS={threads}"),
            format!("SYNCSCOPE_LEAST_BLOCKS={blocks}"),
        ]);
        definitions.extend(source.launch_memory.map(|bytes| format!("{LAUNCH_MEMORY}{bytes}")));
        definitions
    }

    /// Threads of a block and blocks of a multiprocessor that the registers must suffice for. Up to 256 threads get the maximum
    /// per thread. Only a few different numbers occur, so that cases share programs.
    fn launch_bounds(&self, threads: u32, blocks: u32) -> (u32, u32) {
        const OF_ALL: u32 = 256;
        let together = blocks.div_ceil(self.multiprocessors);
        let threads = threads.next_multiple_of(OF_ALL);
        // A multiprocessor has registers for 2,048 threads with 32 each on every device, or for half of that.
        (threads, together.min(2048 / threads).max(1))
    }

    /// The maximum number of registers per thread of a case.
    pub(crate) fn most_registers(&self, case: &Case) -> u32 {
        const OF_MULTIPROCESSOR: u32 = 65_536;
        const OF_THREAD: u32 = 255;
        let (threads, blocks) = self.launch_bounds(case.threads.unwrap_or(1), case.blocks.unwrap_or(1));
        (OF_MULTIPROCESSOR / (threads * blocks)).min(OF_THREAD)
    }
}

/// How evidence begins that says that registers ran out.
pub const SPILLS: &str = "spills in the loop:";

/// Granularity in which registers are allocated.
pub(crate) const REGISTERS_TOGETHER: u32 = 8;

/// The options of every program that contains the source.
fn options(source: &OwnOperation, dtype: &str, span: Span) -> Vec<String> {
    let mut options =
        vec![OF_USER.to_owned(), format!("SYNCSCOPE_TYPE={dtype}"), format!("SYNCSCOPE_SPAN={}", span as u32)];
    options.extend(source.defines.iter().map(|name| format!("SYNCSCOPE_WITHOUT_{}=1", name.to_uppercase())));
    options.extend(options_of_user(source));
    options
}

/// The options for the folder of the source's headers, and the user's compiler options.
fn options_of_user(source: &OwnOperation) -> Vec<String> {
    let mut options = Vec::new();
    if let Some(folder) = source.file.as_ref().and_then(|file| Path::new(file).parent()) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        options.push(format!("-I{}", folder.display()));
    } else if !source.includes.is_empty() {
        options.push("-I.".to_owned());
    }
    // NVRTC has no optimization level for device code; macros come before the source, where the harness does not see them.
    let is_ours = |option: &&String| option.starts_with("-O") || option.starts_with("-D");
    options.extend(source.options.iter().filter(|option| !is_ours(option)).cloned());
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::families::FAMILIES;

    #[test]
    fn every_lock_and_barrier_can_be_asked_about() {
        const FILES: [&str; 4] = ["lock.cu", "grid.cu", "grid_hierarchical.cu", "multi.cu"];
        let entries = FAMILIES.iter().flat_map(|family| family.iter()).filter(|one| FILES.contains(&one.kernel.file));
        let ids: Vec<&str> = entries.map(|entry| entry.id).collect();
        assert!(ids.len() >= 9, "{ids:?}");
        assert!(ids.iter().all(|id| FORMS.iter().any(|(known, _)| known == id)), "{ids:?}");
    }

    #[test]
    fn registers_are_enough_for_the_threads_of_the_launch() {
        let own = OwnEntry { source: OwnOperation::default(), is_in_clusters: false, multiprocessors: 132 };
        assert_eq!(own.launch_bounds(32, 1), (256, 1));
        assert_eq!(own.launch_bounds(1024, 132), (1024, 1));
        assert_eq!(own.launch_bounds(1024, 264), (1024, 2));
        assert_eq!(own.launch_bounds(32, 132 * 16), (256, 8), "more blocks than registers would be enough for");
        let most = |threads, blocks| {
            own.most_registers(&Case { threads: Some(threads), blocks: Some(blocks), ..Case::new("gpu.own.line") })
        };
        assert_eq!([most(32, 1), most(1024, 1), most(1024, 264)], [255, 64, 32]);
    }
}
