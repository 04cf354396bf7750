//! Operations that a user wrote, as entries beside those of the catalogue: their text becomes that of a kernel of the harness.

use std::path::Path;

use syncscope_core::{
    ActorRule, Case, Domain, Dtype, Facts, Group, Mode, OperationsAtOnce, OwnAxes, OwnCheck, OwnOperation, Role,
    RunEffect, own,
};

use crate::catalogue::entry::{Entry, Kernel, Method, Proof};
use crate::catalogue::families::{CLUSTER_OF, value_of};
use crate::catalogue::limits::DeviceLimits;
use crate::catalogue::{entry_of, grid, registry};
use crate::launch::arguments::{ArgumentKind, UNROLL};

/// What the source may use: printed by `syncscope measure --header gpu`.
pub const HEADER: &str = include_str!("own.cuh");

const KERNELS: &str = include_str!("own_kernels.cuh");

/// The name of a statement in the compiler's messages.
const STATEMENT: &str = "statement";

/// Makes primitives of those operations that are for GPUs. One of the same id is replaced.
pub fn define(operations: &[OwnOperation], axes: &OwnAxes) {
    own::define(Domain::Gpu, operations, axes, |source| {
        let entry = Box::leak(Box::new(entry(source)));
        registry::add(entry);
        entry.primitive()
    });
}

/// Which threads may wait for each other in an operation. `SYNCSCOPE_SPAN` is its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Block,
    Cluster,
    Grid,
}

/// By the function of a file; of a statement, by what it names.
fn span_of(source: &OwnOperation) -> Span {
    let is = |kind, words: &[&str]| {
        let is_named = || source.file.is_none() && words.iter().any(|word| source.text.contains(word));
        source.is(kind) || is_named()
    };
    match () {
        () if is("grid_wait", &["this_grid"]) || check_of(source) == Some(OwnCheck::Message) => Span::Grid,
        () if is("cluster_wait", &["this_cluster", "barrier.cluster"]) => Span::Cluster,
        () => Span::Block,
    }
}

/// Blocks of a cluster that every device with clusters has.
const CLUSTER: u32 = 8;

/// The cases of all of them.
pub fn cases(limits: DeviceLimits) -> Vec<Case> {
    let usual = |blocks| OwnAxes {
        threads: limits.at_most(&[32, 1024]),
        blocks,
        dtypes: vec![Dtype::I32],
        strides: vec![1, 32],
        ..OwnAxes::default()
    };
    // The largest cluster of which the grid is made.
    let in_clusters = |case: Case| {
        let blocks = case.blocks.unwrap_or(1).max(1);
        let size = CLUSTER.min(1 << blocks.trailing_zeros());
        Case { group: Some(Group::numbered(CLUSTER_OF, size)), ..case }
    };
    let of = |own: &&own::DefinedOwn| -> Vec<Case> {
        let cases = |blocks| own.axes.cases(&own.source, &usual(blocks));
        match span_of(&own.source) {
            Span::Block => cases(vec![1, limits.multiprocessors]),
            Span::Cluster => cases(vec![CLUSTER]).into_iter().map(in_clusters).collect(),
            Span::Grid => cases(vec![limits.multiprocessors]),
        }
    };
    own::defined(Domain::Gpu).iter().flat_map(of).collect()
}

fn entry(source: &OwnOperation) -> Entry {
    let is_lock = source.is("acquire");
    let (method, needs, arguments) = match span_of(source) {
        Span::Block => (Method::Kernel, (7, 5), ArgumentKind::Variable),
        Span::Cluster => (Method::Cluster, (9, 0), ArgumentKind::Variable),
        Span::Grid => (Method::GridBarrier, (7, 5), ArgumentKind::GridBarrier),
    };
    let kernel = Kernel { file: source.id.clone().leak(), text: Some(text(source).leak()), arguments };
    let is_counted = matches!(check_of(source), Some(OwnCheck::Counter | OwnCheck::Lock));
    let actor = if waits(source) || source.names("x") { ActorRule::Slowest } else { ActorRule::Median };
    let facts = Facts {
        actor,
        orders_memory: waits(source),
        mode: if waits(source) { Mode::Latency } else { Mode::Throughput },
        // As the catalogue assumes of barriers of grids: a kernel's place in memory changes its cost by as much.
        run_effect: |_| RunEffect::of_both(0.004),
        at_once: if is_lock { OperationsAtOnce::OfOneIn(32) } else { OperationsAtOnce::OfEach },
        ..Facts::of(Role::Own)
    };
    Entry {
        id: kernel.file,
        summary: "An operation that a user wrote; run.json has its source",
        operation: if is_lock {
            "one addition to a counter under the lock by a thread of each warp"
        } else {
            "one execution by each thread"
        },
        source: "the user",
        definitions: |case| {
            let options = own::find(&case.primitive).map(|own| options(&own.source)).unwrap_or_default();
            std::iter::once(value_of(case)).chain(options).collect()
        },
        arrays: if source.names("mine") { 2 } else { 1 },
        // As few as the catalogue has where operations take long.
        unroll: |case| match entry_of(case).map(|entry| entry.method) {
            Some(Method::GridBarrier) => grid::UNROLL,
            _ if case.actors() >= 4096 => 8,
            _ => UNROLL,
        },
        method,
        needs,
        has_third_loop: source.baseline.is_none(),
        ..Entry::of(kernel, if is_counted { Proof::Sum } else { Proof::Trial }, facts)
    }
}

fn check_of(source: &OwnOperation) -> Option<OwnCheck> {
    source.check_of_function().or(source.check)
}

/// Whether the threads of a block may wait for each other, so that all of them must execute the operation equally often. Not if it
/// calls nothing but what is known to be for a thread or a warp.
fn waits(source: &OwnOperation) -> bool {
    const FREE: &str = "atomic __shfl __ballot __any __all __match __reduce __syncwarp __threadfence __nanosleep \
                        __activemask __popc __ffs __ld __st";
    let text = &source.text;
    let calls = text.match_indices('(').filter_map(|(at, _)| {
        let before = text[..at].trim_end();
        let start = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(0, |last| last + 1);
        Some(&before[start..]).filter(|name| !name.is_empty())
    });
    let is_free = |name: &str| FREE.split(' ').any(|free| name.starts_with(free));
    source.file.is_some() || source.is_barrier() || !calls.into_iter().all(is_free)
}

/// Options and definitions of the compiler, besides the type.
fn options(source: &OwnOperation) -> Vec<String> {
    // As `own_kernels.cuh` numbers them.
    let check = match check_of(source) {
        None => 0,
        Some(OwnCheck::Counter) => 1,
        Some(OwnCheck::Lock) => 2,
        Some(OwnCheck::Barrier) => 3,
        Some(OwnCheck::Message) => 4,
    };
    let mut options = vec![
        format!("SYNCSCOPE_CHECK={check}"),
        format!("SYNCSCOPE_PRIVATE={}", u32::from(source.names("mine"))),
        format!("SYNCSCOPE_SHARED={}", u32::from(source.names("shared"))),
        format!("SYNCSCOPE_MEETS={}", u32::from(waits(source))),
        format!("SYNCSCOPE_SPAN={}", span_of(source) as u32),
        format!("SYNCSCOPE_CONTEXT={}", u32::from(source.baseline.is_some())),
    ];
    if let Some(folder) = source.file.as_ref().and_then(|file| Path::new(file).parent()) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        options.push(format!("-I{}", folder.display()));
    } else if !source.includes.is_empty() {
        options.push("-I.".to_owned());
    }
    // NVRTC has no level for the code of the device.
    options.extend(source.options.iter().filter(|option| !option.starts_with("-O")).cloned());
    options
}

/// The whole program. Messages about the user's lines have the user's line numbers.
fn text(source: &OwnOperation) -> String {
    const FUNCTION: &str = "__device__ __forceinline__ void";
    // In angle brackets, for which the folders of the toolkit are searched, too.
    let includes = source.includes.replace("#include \"", "#include <").replace("\"\n", ">\n");
    let in_scope = |function: &str, statement: &str| {
        format!(
            "{FUNCTION} {function}(Thread &me) {{ [[maybe_unused]] T &x = me.x, &mine = me.mine, &value = me.value, \
             *const shared = me.shared;\n#line 1 \"{STATEMENT}\"\n{statement}\n;\n}}\n"
        )
    };
    let (once, set_up) = match (&source.file, &source.function) {
        (Some(file), Some(function)) => {
            let body = if source.is("acquire") {
                let release = source.helper("release").unwrap_or_else(|| "release".to_owned());
                format!(
                    "if (threadIdx.x % 32 == 0) {{ {function}(me); *me.counter = *me.counter + 1; {release}(me); }}"
                )
            } else {
                format!("{function}(me);")
            };
            let receive = source.helper("receive").filter(|_| source.is("send"));
            let receive = receive.map_or_else(String::new, |name| {
                format!("{FUNCTION} syncscope_receive(Thread &me) {{ {name}(me); }}\n")
            });
            let once = format!("{}\n{FUNCTION} syncscope_once(Thread &me) {{ {body} }}\n{receive}", source.text);
            let set_up = source.helper("setup").map(|setup| format!("{setup}(me);"));
            (format!("#line 1 \"{file}\"\n{once}"), set_up)
        }
        _ => (in_scope("syncscope_once", &source.text), None),
    };
    let set_up = match (&source.setup, set_up) {
        (Some(statement), _) => in_scope("syncscope_set_up", statement),
        (None, set_up) => format!("{FUNCTION} syncscope_set_up(Thread &me) {{ {} }}\n", set_up.unwrap_or_default()),
    };
    let context = source.baseline.as_ref().map(|statement| in_scope("syncscope_context", statement));
    let context = context.unwrap_or_else(|| format!("{FUNCTION} syncscope_context(Thread &) {{}}\n"));
    format!("{HEADER}\n{includes}{once}{set_up}{context}#line 1 \"own_kernels.cuh\"\n{KERNELS}")
}
