//! Operations that a user wrote: what a run was asked to measure besides the catalogue, as it stands in `run.json`.

use std::sync::{PoisonError, RwLock};

use crate::records::records;

use crate::model::sweep::Sweep;
use crate::words::words;
use crate::{Case, Domain, Dtype, Family, Layout, Placement, Primitive};

words! {
    /// What proves that an operation did its work.
    pub enum OwnCheck ("check") {
        /// The shared variable holds as many as operations were done, or each private element as many as its thread did.
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
    /// What is true of an operation that does nothing.
    pub const fn without_operation(self) -> &'static str {
        match self {
            Self::Counter => "it counts nothing",
            Self::Lock => "it protects nothing",
            Self::Barrier => "no thread waits in it",
            Self::Message => "it sends nothing",
        }
    }
}

/// The functions of a file that make an operation. `operation_fast` is another operation, named `fast`.
const FUNCTIONS: [&str; 6] = ["operation", "acquire", "wait", "cluster_wait", "grid_wait", "send"];

/// Those that are barriers: of a team, or of what is named.
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
        /// A statement around nothing in the baseline, and before the operation in the test; the operation itself if there is none.
        pub baseline?: Option<String>,
        /// What proves that it did its work; `None` where nothing does.
        pub check?: Option<OwnCheck>,
        /// Lines that stand before the source: `#include "..."`.
        pub includes?: String,
        /// Further options of the compiler.
        pub options?: Vec<String>,
    }
}

impl OwnOperation {
    /// The operations of a file, by their functions: `(function, name)`; the name is that of the function behind its kind.
    pub fn functions(text: &str) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for (at, _) in text.match_indices("void ") {
            let rest = text[at + "void ".len()..].trim_start();
            let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
            let is_function = rest[name.len()..].trim_start().starts_with('(');
            let kind = FUNCTIONS.into_iter().find(|kind| {
                name.strip_prefix(kind).is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('_'))
            });
            if let Some(kind) = kind.filter(|_| is_function && !found.iter().any(|(known, _)| *known == name)) {
                let suffix = name[kind.len()..].trim_start_matches('_').to_owned();
                found.push((name, suffix));
            }
        }
        found
    }

    /// What follows the kind of its function, such as `_fast`; empty for a statement.
    pub fn suffix(&self) -> &str {
        let function = self.function.as_deref().unwrap_or_default();
        FUNCTIONS.iter().find_map(|kind| function.strip_prefix(kind)).unwrap_or_default()
    }

    /// Whether its function is of this kind: `acquire`, `wait`.
    pub fn is(&self, kind: &str) -> bool {
        self.function.as_deref().is_some_and(|function| function.starts_with(kind))
    }

    /// What is checked of it whatever was asked for.
    pub fn check_of_function(&self) -> Option<OwnCheck> {
        let of = |kinds: &[&str], check| kinds.iter().any(|kind| self.is(kind)).then_some(check);
        of(&["acquire"], OwnCheck::Lock).or(of(&BARRIERS, OwnCheck::Barrier)).or(of(&["send"], OwnCheck::Message))
    }

    /// What is checked of it: by its function, or as asked.
    pub fn checked(&self) -> Option<OwnCheck> {
        self.check_of_function().or(self.check)
    }

    /// Whether the source has a function of this name and of the operation's suffix, or of the name alone: that function.
    pub fn helper(&self, name: &str) -> Option<String> {
        let named =
            |name: &String| self.text.contains(&format!(" {name}(")) || self.text.contains(&format!("*{name}("));
        [format!("{name}{}", self.suffix()), name.to_owned()].into_iter().find(named).filter(|_| self.file.is_some())
    }

    /// Whether the source names a word. In a statement a member of something else, such as `threadIdx.x`, does not count.
    pub fn names(&self, word: &str) -> bool {
        self.text.match_indices(word).any(|(at, _)| {
            let (before, after) = (&self.text[..at], &self.text[at + word.len()..]);
            let is_member = before.ends_with('.') || before.ends_with("->");
            let of_thread =
                ["me.", "me->"].iter().any(|me| before.strip_suffix(me).is_some_and(|rest| !rest.ends_with(is_word)));
            let is_whole = !before.ends_with(is_word) && !after.starts_with(is_word);
            is_whole && (of_thread || (!is_member && self.file.is_none()))
        })
    }

    /// Whether its threads wait for each other in it, all of them equally often.
    pub fn is_barrier(&self) -> bool {
        let has_barrier =
            ["meet(", "barrier", "__syncthreads", "bar.", ".sync("].iter().any(|word| self.text.contains(word));
        matches!(self.checked(), Some(OwnCheck::Barrier | OwnCheck::Message)) || (!self.is("acquire") && has_barrier)
    }

    /// Whether each thread works on an element of its own and on nothing else.
    pub fn is_private(&self) -> bool {
        self.names("mine") && !self.names("x") && !self.is_barrier()
    }

    fn uses_variables(&self) -> bool {
        self.is("acquire") || ["x", "mine", "value"].iter().any(|name| self.names(name))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The values to measure own operations with; an empty list stands for the usual ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnAxes {
    /// Threads of a team or of a block.
    pub threads: Vec<u32>,
    /// Blocks of a grid.
    pub blocks: Vec<u32>,
    /// Placements of threads on CPUs.
    pub placements: Vec<Placement>,
    /// Types of the variables.
    pub dtypes: Vec<Dtype>,
    /// Distances of private elements.
    pub strides: Vec<u32>,
}

/// The values asked for, each once, or else the usual ones.
fn or<T: Clone + PartialEq>(asked: &[T], usual: &[T]) -> Vec<T> {
    let mut values: Vec<T> = Vec::new();
    for value in if asked.is_empty() { usual } else { asked } {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    values
}

impl OwnAxes {
    /// The cases of an operation, with these values where none were asked for.
    pub fn cases(&self, own: &OwnOperation, usual: &Self) -> Vec<Case> {
        let mut sweep = Sweep::of(&own.id).threads(&or(&self.threads, &usual.threads));
        if !usual.blocks.is_empty() {
            sweep = sweep.blocks(&or(&self.blocks, &usual.blocks));
        }
        if !usual.placements.is_empty() {
            sweep = sweep.placements(&or(&self.placements, &usual.placements));
        }
        if own.uses_variables() {
            sweep = sweep.dtypes(&or(&self.dtypes, &usual.dtypes));
            let strides = or(&self.strides, &usual.strides);
            let private: Vec<Layout> = strides.into_iter().map(|stride| Layout::Private { stride }).collect();
            sweep = sweep.layouts(if own.names("mine") { &private } else { &[Layout::Shared] });
        }
        sweep.cases()
    }
}

/// An operation of the user, as a primitive of this process.
#[derive(Debug)]
pub struct DefinedOwn {
    /// What the user wrote.
    pub source: OwnOperation,
    /// The values to measure it with.
    pub axes: OwnAxes,
    /// What is known of it.
    pub primitive: Primitive,
}

/// Primitives are static everywhere else, and these live as long as the process, too.
static DEFINED: RwLock<Vec<&'static DefinedOwn>> = RwLock::new(Vec::new());

/// Makes primitives of those operations that are for a side of the machine, with what its crate knows of one. An operation of the
/// same id is replaced.
pub fn define(
    domain: Domain,
    operations: &[OwnOperation],
    axes: &OwnAxes,
    primitive: impl Fn(&OwnOperation) -> Primitive,
) {
    let mut defined = DEFINED.write().unwrap_or_else(PoisonError::into_inner);
    let prefix = format!("{domain}.");
    for source in operations.iter().filter(|source| source.id.starts_with(&prefix)) {
        defined.retain(|own| own.source.id != source.id);
        let own = DefinedOwn { source: source.clone(), axes: axes.clone(), primitive: primitive(source) };
        defined.push(Box::leak(Box::new(own)));
    }
}

/// Those of a side of the machine.
pub fn defined(domain: Domain) -> Vec<&'static DefinedOwn> {
    let mut defined = DEFINED.read().unwrap_or_else(PoisonError::into_inner).clone();
    defined.retain(|own| own.primitive.domain() == Some(domain));
    defined
}

/// The operation of this id.
pub fn find(id: &str) -> Option<&'static DefinedOwn> {
    DEFINED.read().unwrap_or_else(PoisonError::into_inner).iter().copied().find(|own| own.source.id == id)
}

/// Whether an id is that of an operation that a user wrote.
pub fn is_own(id: &str) -> bool {
    id.split('.').nth(1) == Some(Family::Own.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &str) -> OwnOperation {
        OwnOperation { id: "cpu.own.line".to_owned(), text: text.to_owned(), ..OwnOperation::default() }
    }

    fn file(text: &str, function: &str) -> OwnOperation {
        let function = Some(function.to_owned());
        OwnOperation { file: Some("mine.c".to_owned()), function, ..statement(text) }
    }

    #[test]
    fn the_functions_of_a_file_are_its_operations() {
        let text = "void operation_cas(struct thread *me) {}\nstatic void acquire (struct thread *me);\n\
                    void operational(void) {}\nvoid wait_tree(struct thread *me) {}\nvoid wait_tree(struct thread *me);";
        let found = OwnOperation::functions(text);
        let names: Vec<(&str, &str)> = found.iter().map(|(function, name)| (&**function, &**name)).collect();
        assert_eq!(names, [("operation_cas", "cas"), ("acquire", ""), ("wait_tree", "tree")]);
        let lock = file("void setup(struct thread *me) {} void release_a(struct thread *me) {}", "acquire_a");
        assert_eq!(
            (lock.helper("setup"), lock.helper("release")),
            (Some("setup".to_owned()), Some("release_a".to_owned()))
        );
        assert_eq!(lock.helper("check"), None);
    }

    #[test]
    fn a_variable_is_a_whole_word_and_no_member_of_another() {
        assert!(statement("atomic_fetch_add(&x, 1)").names("x") && !statement("y = threadIdx.x").names("x"));
        assert!(!statement("max(1, 2)").names("x") && !statement("pixel->x = 1").names("x"));
        assert!(statement("me->x++").names("x") && !statement("time.x = frame->x").names("x"));
        let text = "void operation(struct thread *me) { int x = 1; (*me->mine)++; }";
        assert!(!file(text, "operation").names("x") && file(text, "operation").names("mine"));
    }

    #[test]
    fn cases_have_the_parameters_that_the_source_uses() {
        let usual = OwnAxes {
            threads: vec![1, 2],
            placements: vec![Placement::Close],
            dtypes: vec![Dtype::I32],
            strides: vec![1],
            ..OwnAxes::default()
        };
        let words = |text: &str| -> Vec<String> {
            let asked = OwnAxes { threads: vec![4], strides: vec![1, 16], ..OwnAxes::default() };
            asked.cases(&statement(text), &usual).iter().map(ToString::to_string).collect()
        };
        assert_eq!(words("__asm__ volatile(\"pause\")"), ["cpu.own.line 4 threads close"]);
        assert_eq!(words("x = 1"), ["cpu.own.line i32 shared 4 threads close"]);
        assert_eq!(words("mine++").len(), 2);
        assert!(statement("mine++").is_private() && !statement("x += mine").is_private());
        assert!(statement("meet(me)").is_barrier() && !statement("__syncwarp()").is_barrier());
    }
}
