//! Operations that a user wrote: what a run was asked to measure besides the catalogue, as stored in `run.json`.

use crate::records::records;

use crate::model::sweep::Sweep;
use crate::words::words;
use crate::{Axes, Case, Domain, Family, Layout};

words! {
    /// What proves that an operation did its work.
    pub enum OwnCheck ("check") {
        /// The shared variable equals the number of operations done, or each private element the number that its thread did.
        Counter = "counter",
        /// Additions to a plain counter under the lock are all there.
        Lock = "lock",
        /// No thread leaves before the last one has arrived.
        Barrier = "barrier",
        /// What a thread wrote before it sent a message is seen by those that received it.
        Message = "message",
    }
}

impl OwnCheck {
    /// The remark about an operation that does nothing.
    pub const fn without_operation(self) -> &'static str {
        match self {
            Self::Counter => "it counts nothing",
            Self::Lock => "it protects nothing",
            Self::Barrier => "no thread waits in it",
            Self::Message => "it sends nothing",
        }
    }
}

words! {
    /// What an operation uses, as its compiler finds in the generated code, not in the text.
    pub enum OwnUse ("use") {
        /// The variable that all threads share.
        Variable = "x",
        /// The element of each thread.
        Element = "mine",
        /// The value of each thread.
        Value = "value",
        /// The elements in the shared memory of a block.
        BlockMemory = "shared",
        /// Instructions in which threads wait for each other.
        Meeting = "meeting",
        /// Loops, in which threads may wait for each other, or calls.
        Loops = "loops",
        /// Instructions that exist in clusters of blocks alone.
        Clusters = "clusters",
        /// What tells a thread which grid it is in; whole grids synchronize with it.
        Grids = "grids",
        /// What the devices write for each other.
        Devices = "devices",
        /// Shared memory whose size the launch gives.
        LaunchMemory = "launch_memory",
        /// So many instructions that many copies in a loop do not fit into an instruction cache.
        Long = "long",
        /// A declaration that ours would contradict: `extern "C"`, `noexcept`, `noinline`.
        OwnDeclaration = "own_declaration",
        /// Calls that start threads or processes.
        Starts = "starts",
    }
}

/// The functions of a file that make an operation. `operation_fast` is another operation, named `fast`.
const FUNCTIONS: [&str; 8] = ["operation", SHARED, "acquire", WAIT_FOR, "wait", "cluster_wait", "grid_wait", "send"];

/// The functions that belong to an operation, if the file has them.
const HELPERS: [&str; 6] = ["release_shared", "release", "receive", "wake", "setup", "check"];

/// The function of a lock that admits several threads at a time: readers, a semaphore.
const SHARED: &str = "acquire_shared";

/// The function of a thread that sleeps until another one wakes it.
const WAIT_FOR: &str = "wait_for";

/// The functions that are barriers: of a team, of a cluster or of a grid.
const BARRIERS: [&str; 3] = ["wait", "cluster_wait", "grid_wait"];

records! {
    /// An operation in the source that a user wrote.
    #[derive(Eq, Hash)]
    pub struct OwnOperation {
        /// The id of its primitive: domain, family `own`, and a name.
        pub id: String,
        /// The statement, or the whole file.
        pub text: String,
        /// The file, as it was named; `None` for a statement.
        pub file?: Option<String>,
        /// The function of the file that is the operation, or `acquire` of a lock.
        pub function?: Option<String>,
        /// A statement that is executed once before the operations.
        pub setup?: Option<String>,
        /// A statement that stands alone in the baseline and before the operation in the test; the operation itself if there
        /// is none.
        pub baseline?: Option<String>,
        /// What proves that it did its work; `None` where nothing does.
        pub check?: Option<OwnCheck>,
        /// Lines that come before the source: `#include "..."`.
        pub includes?: String,
        /// Further options of the compiler.
        pub options?: Vec<String>,
        /// What the operation uses, as the compiler found.
        pub uses?: Vec<OwnUse>,
        /// The functions of the file that belong to operations: `release`, `setup_fast`.
        pub helpers?: Vec<String>,
        /// Names that the source defines itself, so that it does not get ours.
        pub defines?: Vec<String>,
        /// Bytes of the shared memory whose size the launch gives.
        pub launch_memory?: Option<u32>,
        /// How it is launched, if it is a whole kernel or a sequence of launches.
        pub launch?: Option<OwnLaunch>,
        /// For a variant: runs its check alone, under stress for this many milliseconds; with 0, measures its cost alone,
        /// whatever a check would say.
        pub trial_ms?: Option<u32>,
    }

    /// A kernel of a file, or its host function `launch`. One launch is one operation.
    #[derive(Eq, Hash)]
    pub struct OwnLaunch {
        /// The name of the kernel in the PTX; `None` for a host function.
        pub kernel?: Option<String>,
        /// Blocks of the grid in each of three dimensions.
        pub grid?: [u32; 3],
        /// Threads of a block in each of three dimensions.
        pub block?: [u32; 3],
        /// The arguments: `buf:4096`, `i32:7`.
        pub arguments?: Vec<String>,
        /// The region of the kernel that is timed instead of the whole.
        pub region?: Option<String>,
        /// How the host waits after each call: words of the column `group`.
        pub waits?: Vec<String>,
    }
}

impl OwnOperation {
    /// Returns the words of a text that may be functions of an operation: those that begin with the name of a kind. A
    /// compiler decides which ones are.
    pub fn candidates(text: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for word in text.split(|c| !is_word(c)) {
            if kind_of(word).is_some() && !found.iter().any(|known| known == word) {
                found.push(word.to_owned());
            }
        }
        found
    }

    /// Splits the functions of a file, in their order, into operations and helpers of operations. An operation is
    /// `(function, name)`; the name is what follows the kind.
    pub fn of_functions(functions: &[String]) -> (Vec<(String, String)>, Vec<String>) {
        let (operations, helpers): (Vec<&String>, Vec<&String>) =
            functions.iter().partition(|name| kind_of(name).is_some_and(|kind| FUNCTIONS.contains(&kind)));
        // A file may have both kinds of a lock: `acquire` and `acquire_shared`, which is named `shared`.
        let begin = |kind: &'static str| if kind == SHARED { "acquire" } else { kind };
        let name_of = |function: &String| {
            let kind = kind_of(function).map_or(0, |kind| begin(kind).len());
            (function.clone(), function[kind..].trim_start_matches('_').to_owned())
        };
        (operations.into_iter().map(name_of).collect(), helpers.into_iter().cloned().collect())
    }

    /// Adds what a compiler found: for this function of a file, or for a whole statement.
    pub fn known(self, found: &Inspected, function: Option<&str>) -> Self {
        let own = Self { function: function.map(str::to_owned), defines: found.defines.clone(), ..self };
        let names: Vec<String> = found.functions.iter().map(|(name, _)| name.clone()).collect();
        let mut own = Self { helpers: Self::of_functions(&names).1, ..own };
        if own.admits_several() {
            let is_exclusive = |name: &&String| kind_of(name) == Some("acquire");
            own.helpers.extend(names.iter().filter(is_exclusive).cloned());
        }
        let helpers: Vec<String> = HELPERS.iter().filter_map(|name| own.helper(name)).collect();
        let is_part = |name: &String| {
            kind_of(name).is_none() || Some(name.as_str()) == own.function.as_deref() || helpers.contains(name)
        };
        let parts = || found.functions.iter().filter(|(name, _)| is_part(name));
        let is_used = |what: &OwnUse| parts().any(|(_, uses)| uses.contains(what));
        Self { uses: OwnUse::ALL.iter().copied().filter(is_used).collect(), ..own }
    }

    /// What follows the kind of its function, such as `_fast`; empty for a statement.
    pub fn suffix(&self) -> &str {
        let function = self.function.as_deref().unwrap_or_default();
        kind_of(function).and_then(|kind| function.strip_prefix(kind)).unwrap_or_default()
    }

    /// Whether its function is of this kind: `acquire`, `wait`.
    pub fn is(&self, kind: &str) -> bool {
        self.function.as_deref().and_then(kind_of) == Some(kind)
    }

    /// Whether it is a lock, exclusive or shared.
    pub fn is_lock(&self) -> bool {
        self.is("acquire") || self.admits_several()
    }

    /// The check that its function implies, whatever was asked for.
    pub fn check_of_function(&self) -> Option<OwnCheck> {
        let of = |kinds: &[&str], check| kinds.iter().any(|kind| self.is(kind)).then_some(check);
        of(&["acquire", SHARED], OwnCheck::Lock)
            .or(of(&BARRIERS, OwnCheck::Barrier))
            .or(of(&["send"], OwnCheck::Message))
    }

    /// The check of the operation: by its function, or as asked.
    pub fn checked(&self) -> Option<OwnCheck> {
        self.check_of_function().or(self.check)
    }

    /// The function of the file with this name and the operation's suffix, or with the name alone.
    pub fn helper(&self, name: &str) -> Option<String> {
        [format!("{name}{}", self.suffix()), name.to_owned()].into_iter().find(|name| self.helpers.contains(name))
    }

    /// Whether it is a lock that admits several threads at a time: a readers' lock, a semaphore.
    pub fn admits_several(&self) -> bool {
        self.is(SHARED)
    }

    /// The functions that take and release a shared lock exclusively, if the file has them: `acquire_fast` and
    /// `release_fast` for `acquire_shared_fast`.
    pub fn exclusive_half(&self) -> Option<[String; 2]> {
        self.admits_several().then(|| Some([self.helper("acquire")?, self.helper("release")?]))?
    }

    /// Whether a thread sleeps in it until another one wakes it.
    pub fn is_wait_for(&self) -> bool {
        self.is(WAIT_FOR)
    }

    /// Whether it uses something.
    pub fn uses(&self, what: OwnUse) -> bool {
        self.uses.contains(&what)
    }

    /// Whether all its threads wait for each other in it, equally often.
    pub fn is_barrier(&self) -> bool {
        matches!(self.checked(), Some(OwnCheck::Barrier | OwnCheck::Message))
            || (!self.is_lock() && self.uses(OwnUse::Meeting))
    }

    /// Whether each thread works on an element of its own and on nothing else.
    pub fn is_private(&self) -> bool {
        self.uses(OwnUse::Element) && !self.uses(OwnUse::Variable) && !self.is_barrier()
    }

    /// Whether the type of the variables is known to matter.
    pub(crate) fn is_typed(&self) -> bool {
        let typed = [OwnUse::Variable, OwnUse::Element, OwnUse::Value, OwnUse::BlockMemory];
        self.is_lock() || typed.into_iter().any(|what| self.uses(what))
    }
}

/// The kind that the name of a function begins with: `cluster_wait` of `cluster_wait_fast`.
fn kind_of(name: &str) -> Option<&'static str> {
    let is_of =
        |kind: &&str| name.strip_prefix(kind).is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('_'));
    FUNCTIONS.into_iter().chain(HELPERS).find(is_of)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// What a compiler found in a source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspected {
    /// The functions that can be called with a thread, and what each uses. Statements have other names than functions.
    pub functions: Vec<(String, Vec<OwnUse>)>,
    /// Names that the source defines itself.
    pub defines: Vec<String>,
}

impl OwnOperation {
    /// The cases of this operation, with the values asked for, else the usual ones.
    pub fn cases(&self, axes: &Axes, usual: &Axes) -> Vec<Case> {
        let mut sweep = Sweep::of(&self.id).threads(&usual.threads);
        if !usual.blocks.is_empty() {
            sweep = sweep.blocks(&usual.blocks);
        }
        if !usual.placements.is_empty() {
            sweep = sweep.placements(&usual.placements);
        }
        if self.is_typed() || !axes.dtypes.is_empty() {
            sweep = sweep.dtypes(&usual.dtypes);
        }
        if self.uses(OwnUse::Element) {
            let private = |stride: &u32| Layout::Private { stride: *stride };
            sweep = sweep.layouts(&usual.strides.iter().map(private).collect::<Vec<_>>());
        } else if self.is_lock() || self.uses(OwnUse::Variable) {
            sweep = sweep.layouts(&[Layout::Shared]);
        }
        // An operation without elements has no stride; blocks or placements may belong to the other side of the machine.
        let mut asked = Axes { inside: Vec::new(), outside: Vec::new(), ..axes.clone() };
        if !self.uses(OwnUse::Element) {
            asked.strides.clear();
        }
        if usual.blocks.is_empty() {
            asked.blocks.clear();
        }
        if usual.placements.is_empty() {
            asked.placements.clear();
        }
        asked.replace(sweep.cases(), |_| true)
    }
}

/// The operations that a user wrote, and the values to measure them with.
#[derive(Debug, Clone, Default)]
pub struct OwnCode {
    /// The operations for all sides of the machine.
    pub operations: Vec<OwnOperation>,
    /// The values asked for; the usual ones apply where there are none.
    pub axes: Axes,
}

impl OwnCode {
    /// The operations for one side of the machine.
    pub fn on(&self, domain: Domain) -> impl Iterator<Item = &OwnOperation> {
        self.operations.iter().filter(move |own| own.id.split('.').next() == Some(domain.as_str()))
    }

    /// The operation of this id.
    pub fn find(&self, id: &str) -> Option<&OwnOperation> {
        self.operations.iter().find(|own| own.id == id)
    }
}

/// Whether the id belongs to an operation that a user wrote.
pub fn is_own(id: &str) -> bool {
    id.split('.').nth(1) == Some(Family::Own.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dtype, Placement};

    fn using(uses: &[OwnUse]) -> OwnOperation {
        OwnOperation { id: "cpu.own.line".to_owned(), uses: uses.to_vec(), ..OwnOperation::default() }
    }

    fn file(function: &str) -> OwnOperation {
        let function = Some(function.to_owned());
        OwnOperation { file: Some("mine.c".to_owned()), function, ..using(&[]) }
    }

    #[test]
    fn the_functions_of_a_file_are_its_operations() {
        let text = "void operation_cas(struct thread *me) {}\nstatic inline\nvoid\nacquire (struct thread *me);\n\
                    int operational, wait_;\nauto wait_tree(Thread &t) -> void; /* operation_cas */ void release_a();";
        let candidates = OwnOperation::candidates(text);
        assert_eq!(candidates, ["operation_cas", "acquire", "wait_", "wait_tree", "release_a"]);
        let (operations, helpers) = OwnOperation::of_functions(&candidates);
        let names: Vec<(&str, &str)> = operations.iter().map(|(function, name)| (&**function, &**name)).collect();
        assert_eq!(names, [("operation_cas", "cas"), ("acquire", ""), ("wait_", ""), ("wait_tree", "tree")]);
        let lock = OwnOperation { helpers, ..file("acquire_a") };
        assert_eq!((lock.helper("release"), lock.helper("setup")), (Some("release_a".to_owned()), None));
    }

    #[test]
    fn a_lock_that_admits_several_finds_its_halves() {
        let (operations, helpers) = OwnOperation::of_functions(
            &["acquire", "acquire_shared", "acquire_shared_a", "acquire_sharedly", "release_shared"].map(str::to_owned),
        );
        let names: Vec<&str> = operations.iter().map(|(_, name)| &**name).collect();
        assert_eq!(
            (&names[..], &helpers[..]),
            (&["", "shared", "shared_a", "sharedly"][..], &["release_shared".to_owned()][..])
        );
        let functions = ["acquire", "release", "acquire_shared_a", "release_shared_a", "setup_a"].map(str::to_owned);
        let inspected =
            Inspected { functions: functions.map(|name| (name, Vec::new())).to_vec(), ..Inspected::default() };
        let shared = file("acquire_shared_a").known(&inspected, Some("acquire_shared_a"));
        assert!(shared.admits_several() && shared.checked() == Some(OwnCheck::Lock));
        assert_eq!(shared.helper("release_shared").as_deref(), Some("release_shared_a"));
        assert_eq!(shared.helper("setup").as_deref(), Some("setup_a"));
        assert_eq!(shared.exclusive_half(), Some(["acquire", "release"].map(str::to_owned)));
        let alone = file("acquire").known(&inspected, Some("acquire"));
        assert!(!alone.admits_several() && alone.exclusive_half().is_none());
    }

    #[test]
    fn cases_have_the_parameters_that_the_source_uses_and_those_asked_for() {
        let usual = Axes {
            threads: vec![1, 2],
            placements: vec![Placement::Close],
            dtypes: vec![Dtype::I32],
            strides: vec![1],
            ..Axes::default()
        };
        let words = |uses: &[OwnUse], dtypes: &[Dtype]| -> Vec<String> {
            let (threads, strides, dtypes) = (vec![4], vec![1, 16], dtypes.to_vec());
            let asked = Axes { threads, dtypes, strides, ..Axes::default() };
            using(uses).cases(&asked, &usual).iter().map(ToString::to_string).collect()
        };
        assert_eq!(words(&[], &[]), ["cpu.own.line 4 threads close"]);
        assert_eq!(words(&[], &[Dtype::F32, Dtype::F64]).len(), 2, "a type that is asked for is compiled in");
        assert_eq!(words(&[OwnUse::Variable], &[]), ["cpu.own.line i32 shared 4 threads close"]);
        assert_eq!(words(&[OwnUse::BlockMemory], &[]), ["cpu.own.line i32 4 threads close"]);
        assert_eq!(words(&[OwnUse::Element], &[]).len(), 2);
        assert!(using(&[OwnUse::Element]).is_private() && !using(&[OwnUse::Element, OwnUse::Variable]).is_private());
        assert!(using(&[OwnUse::Meeting]).is_barrier() && !using(&[OwnUse::Loops]).is_barrier());
        assert!(
            file("wait_fast").is_barrier()
                && !OwnOperation { uses: vec![OwnUse::Meeting], ..file("acquire") }.is_barrier()
        );
    }
}
