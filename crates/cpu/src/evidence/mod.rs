//! The machine code of both timed loops: the functions of the running program, disassembled.
//!
//! A loop is in a function of its own that is never inlined. `function.rs` decodes that function, with `x86_64.rs` or
//! `aarch64.rs`, and finds its outermost loop in the graph of its branches. This module counts the
//! instructions of an operation in both loops and compares the counts with what the primitive expects. Start with
//! [`examine`].

#[cfg(any(target_arch = "aarch64", test))]
mod aarch64;
mod function;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::{Arc, Mutex, PoisonError};

use syncscope_core::{Counted, Evidence, Receipt};

/// Where the machine code of the two loops of a case begins, and how often each iteration repeats its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopFunctions {
    /// Address of the baseline.
    pub baseline: usize,
    /// Address of the test.
    pub test: usize,
    /// Steps of one iteration.
    pub unroll: u32,
}

/// The beginnings of the disassembled lines that count: `lock add`, `lock inc`. A call begins with `call` or `bl`.
pub type Beginnings = &'static [&'static str];

/// What the two loops of a case must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Instructions that can be counted.
    ///
    /// On AArch64 an operation has three forms: the instructions of the Large System Extensions (`ldadd`), calls of functions
    /// that choose at run time (`outline ldadd`), and loops around an exclusive load and store (`ldxr`, `stxr`), of which one
    /// counts.
    Instructions {
        /// How they are recognized on x86-64.
        x86_64: Beginnings,
        /// How they are recognized on 64-bit ARM.
        aarch64: Beginnings,
        /// The least number of them in a step of the baseline, and in a step of the test.
        in_step: [u32; 2],
    },
    /// Both loops are the same, because the operation is no instruction; the reason.
    NoInstruction(&'static str),
    /// No instruction is named: what the test has more than the baseline is the operation.
    Difference,
    /// Counting proves nothing about this operation; the reason.
    Uncounted(&'static str),
}

impl Expected {
    /// One of these instructions in each operation: once in a step of the baseline, twice in a step of the test.
    pub const fn once(x86_64: Beginnings, aarch64: Beginnings) -> Self {
        Self::times(1, x86_64, aarch64)
    }

    /// `each` of these instructions per operation, which runs once in a step of the baseline and twice in a step of the test.
    pub const fn times(each: u32, x86_64: Beginnings, aarch64: Beginnings) -> Self {
        Self::Instructions { x86_64, aarch64, in_step: [each, 2 * each] }
    }

    /// One of these instructions in the test, none in the baseline.
    pub const fn added(x86_64: Beginnings, aarch64: Beginnings) -> Self {
        Self::Instructions { x86_64, aarch64, in_step: [0, 1] }
    }
}

/// The architecture of a loop's machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(any(target_arch = "aarch64", test)), expect(dead_code, reason = "only this machine's code is decoded"))]
enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    /// Whether an instruction usually costs more than others: an atomic one, a fence, a call.
    fn is_costly(self, name: &str) -> bool {
        match self {
            Self::X86_64 => ["lock", "xchg", "mfence", "call", "syscall", "pause"]
                .iter()
                .any(|first| begins_with_words(name, first)),
            Self::Aarch64 => {
                ["bl", "svc", "isb", "sb", "yield", "wfe"].contains(&name)
                    || [
                        "outline", "dmb", "dsb", "cas", "swp", "ldadd", "ldset", "ldclr", "ldeor", "ldsm", "ldum",
                        "stx", "stlx",
                    ]
                    .iter()
                    .any(|first| name.starts_with(first))
            }
        }
    }

    /// Whether an instruction may write memory, as far as its text shows. The destination is the first operand of x86-64.
    fn may_write(self, line: &CodeLine) -> bool {
        let name = line.name();
        let writes = match self {
            Self::X86_64 => {
                let destination = line.text[name.len()..].split(',').next();
                destination.is_some_and(|operand| operand.contains('[')) && !["cmp", "test", "nop"].contains(&name)
            }
            Self::Aarch64 => name.starts_with("st"),
        };
        writes || line.is_call() || self.is_costly(name)
    }
}

/// The instructions of one timed loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedLoop {
    architecture: Architecture,
    lines: Vec<CodeLine>,
    /// The line where the loop is entered.
    head: usize,
}

/// One instruction. Addresses count from the loop's first byte, so that equal loops at different addresses are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CodeLine {
    offset: u64,
    text: String,
    /// The lines that may follow within the loop.
    next: Vec<usize>,
}

impl TimedLoop {
    /// The number of instructions beginning with one of the texts that every iteration executes.
    ///
    /// A compiler may add retries, slow paths and second copies of a path. They do not count: the result is that of
    /// the shortest path.
    pub fn count(&self, any_of: &[&str]) -> u32 {
        self.shortest_path(any_of).filter(|line| line.is_one_of(any_of)).count() as u32
    }

    /// The path through the loop with the fewest instructions that begin with one of the texts, and of these paths the shortest
    /// (Dijkstra's algorithm).
    fn shortest_path(&self, any_of: &[&str]) -> impl Iterator<Item = &CodeLine> {
        let weight = |line: &CodeLine| (u32::from(line.is_one_of(any_of)), 1u32);
        let mut open = BinaryHeap::new();
        open.extend(self.lines.get(self.head).map(|line| Reverse((weight(line), self.head, self.head))));
        let mut before: Vec<Option<usize>> = vec![None; self.lines.len()];
        let mut end = None;
        while let Some(Reverse(((counted, length), index, from))) = open.pop() {
            if before[index].is_some() {
                continue;
            }
            before[index] = Some(from);
            let next = &self.lines[index].next;
            if next.contains(&self.head) {
                end = Some(index);
                break;
            }
            open.extend(next.iter().map(|&next| {
                let (more, one) = weight(&self.lines[next]);
                Reverse(((counted + more, length + one), next, index))
            }));
        }
        let step = move |&index: &usize| before[index].filter(|_| index != self.head);
        std::iter::successors(end, step).map(|index| &self.lines[index])
    }

    /// Whether every iteration executes each instruction once.
    fn is_straight(&self) -> bool {
        self.lines.iter().all(|line| line.next.len() == 1)
    }

    /// Whether the loop calls another function.
    fn calls(&self) -> bool {
        self.lines.iter().any(CodeLine::is_call)
    }

    /// All instructions, one in a line.
    pub fn listing(&self) -> String {
        self.lines.iter().fold(String::new(), |listing, line| listing + &format!("{:6x}  {}\n", line.offset, line.text))
    }
}

impl CodeLine {
    fn is_one_of(&self, any_of: &[&str]) -> bool {
        any_of.iter().any(|start| begins_with_words(&self.text, start))
    }

    fn is_call(&self) -> bool {
        self.is_one_of(&["call", "bl", "blr"])
    }

    /// The mnemonic, with its prefix or the kind of barrier.
    fn name(&self) -> &str {
        let mut ends = self.text.match_indices(' ').map(|(end, _)| end);
        let first = ends.next().unwrap_or(self.text.len());
        let end = if matches!(&self.text[..first], "lock" | "rep" | "outline" | "dmb" | "dsb") {
            ends.next()
        } else {
            Some(first)
        };
        &self.text[..end.unwrap_or(self.text.len())]
    }
}

/// All instructions of an operation on the shortest paths; `None` if a part of the operation is in a called function.
fn receipt(loops: [&TimedLoop; 2], any_of: &[&str], unroll: u32) -> Option<Receipt> {
    let calls = |timed: &&TimedLoop| timed.shortest_path(any_of).any(CodeLine::is_call);
    if loops.iter().any(calls) {
        return None;
    }
    let is_straight = loops.iter().all(|timed| timed.is_straight());
    let counted = if is_straight { Counted::Executed } else { Counted::ShortestPath };
    let named = |line| (CodeLine::name(line), CodeLine::is_one_of(line, any_of));
    Receipt::of(loops.map(|timed| timed.shortest_path(any_of).map(named)), unroll, counted)
}

/// Whether `line` begins with the whole words `start`: `lock add [rax],1` begins with `lock add`, `lock addx` does not.
fn begins_with_words(line: &str, start: &str) -> bool {
    line.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Disassembles both loops and judges them.
pub fn examine(functions: LoopFunctions, expected: Expected) -> Evidence {
    if let Expected::Uncounted(reason) = expected {
        return Evidence::NotAvailable(reason.to_owned());
    }
    match (cached_loop(functions.baseline), cached_loop(functions.test)) {
        (Ok(baseline), Ok(test)) => judge(&baseline, &test, functions.unroll, expected),
        (Err(reason), _) | (_, Err(reason)) => Evidence::NotAvailable(reason),
    }
}

/// Whether no instruction of a function's timed loop may write memory or calls a function.
pub(crate) fn only_reads(entry: usize) -> bool {
    let may_write = |timed: &TimedLoop| timed.lines.iter().any(|line| timed.architecture.may_write(line));
    cached_loop(entry).is_ok_and(|timed| !may_write(&timed))
}

/// [`timed_loop`], disassembled once for each function: many cases share one, and code does not change.
fn cached_loop(entry: usize) -> Result<Arc<TimedLoop>, String> {
    type Found = Result<Arc<TimedLoop>, String>;
    static LOOPS: Mutex<BTreeMap<usize, Found>> = Mutex::new(BTreeMap::new());
    let mut loops = LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
    loops.entry(entry).or_insert_with(|| timed_loop(entry).map(Arc::new)).clone()
}

/// Compares the instructions in both loops, of `unroll` steps each, with those expected in one step.
pub fn judge(baseline: &TimedLoop, test: &TimedLoop, unroll: u32, expected: Expected) -> Evidence {
    let listing = || listing_of([baseline, test]);
    match expected {
        Expected::Uncounted(reason) => Evidence::NotAvailable(reason.to_owned()),
        Expected::Difference => difference([baseline, test], unroll),
        Expected::NoInstruction(reason) if baseline == test => {
            Evidence::Elided { summary: reason.to_owned(), listing: listing() }
        }
        Expected::NoInstruction(_) => Evidence::Substituted {
            summary: "instructions where none was expected".to_owned(),
            listing: listing(),
            receipt: None,
        },
        Expected::Instructions { x86_64, aarch64, in_step } => {
            let any_of = if test.architecture == Architecture::X86_64 { x86_64 } else { aarch64 };
            let found = [baseline, test].map(|timed| timed.count(any_of));
            let meant = in_step.map(|count| unroll * count);
            let counts = format!("{} {}/{}", names(test, any_of), found[0], found[1]);
            let difference = format!("{counts}, expected {}/{}", meant[0], meant[1]);
            if found == meant {
                present(counts, listing(), receipt([baseline, test], any_of, unroll))
            } else if found[1] >= meant[1] || test.calls() {
                // More than expected, or partly in a called function: unknown, which is not the same as missing.
                Evidence::NotAvailable(difference)
            } else {
                Evidence::Elided { summary: difference, listing: listing() }
            }
        }
    }
}

fn listing_of([baseline, test]: [&TimedLoop; 2]) -> String {
    format!("baseline:\n{}test:\n{}", baseline.listing(), test.listing())
}

/// What the test has more than the baseline, named by the instruction that usually costs most: a locked one, a fence or a call,
/// or else the most frequent one. All instructions of the loops count, on any path, because nothing is known of foreign code.
fn difference(loops: [&TimedLoop; 2], unroll: u32) -> Evidence {
    let listing = listing_of(loops);
    let count = |timed: &TimedLoop, name: &str| timed.lines.iter().filter(|line| line.name() == name).count();
    let is_first = |name: &str| loops[1].architecture.is_costly(name);
    let names: BTreeSet<&str> = loops[1].lines.iter().map(CodeLine::name).collect();
    let more = names.into_iter().map(|name| (name, count(loops[0], name), count(loops[1], name)));
    let more = more.filter(|(_, baseline, test)| test > baseline);
    let Some((name, baseline, test)) = more.max_by_key(|(name, baseline, test)| (is_first(name), test - baseline))
    else {
        let summary = "the test has no more instructions than the baseline".to_owned();
        return Evidence::Elided { summary, listing };
    };
    let counted = if loops.iter().all(|timed| timed.is_straight()) { Counted::Executed } else { Counted::Static };
    let receipt = Receipt::of(
        loops.map(|timed| timed.lines.iter().map(|line| (line.name(), line.name() == name))),
        unroll,
        counted,
    );
    present(format!("{name} {baseline}/{test}"), listing, receipt)
}

/// The evidence for an operation that was found, with all its instructions where they were counted.
fn present(counts: String, listing: String, receipt: Option<Receipt>) -> Evidence {
    let [others, line] =
        receipt.as_ref().map_or_else(Default::default, |found| [found.others_in_brief(), found.line() + "\n"]);
    Evidence::Present { summary: counts + &others, listing: listing + &line, receipt }
}

/// The instructions that were found; if none was found, all that were looked for.
fn names(found: &TimedLoop, any_of: &[&str]) -> String {
    let present: Vec<&str> = any_of.iter().copied().filter(|text| found.count(&[text]) > 0).collect();
    if present.is_empty() { any_of.join("|") } else { present.join("|") }
}

pub use function::timed_loop;

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(baseline: &TimedLoop, test: &TimedLoop, expected: Expected) -> Evidence {
        super::judge(baseline, test, 16, expected)
    }

    fn lines(count: u32, line: &str) -> TimedLoop {
        let step = |index| CodeLine { offset: 0, text: line.to_owned(), next: vec![(index + 1) % count as usize] };
        TimedLoop { architecture: Architecture::X86_64, lines: (0..count as usize).map(step).collect(), head: 0 }
    }

    #[test]
    fn the_path_with_the_fewest_counts() {
        let line = |text: &str, next: &[usize]| CodeLine { offset: 0, text: text.to_owned(), next: next.to_vec() };
        // A retried compare-and-swap, then two branches with one compare-and-swap each, one of them with a second one.
        let lines = vec![
            line("mov eax,[rdi]", &[1]),
            line("lock cmpxchg [rdi],ecx", &[2]),
            line("jne 1", &[1, 3, 4]),
            line("lock cmpxchg [rdi],ecx", &[0]),
            line("lock cmpxchg [rdi],ecx", &[5]),
            line("lock cmpxchg [rdi],ecx", &[0]),
        ];
        let timed = TimedLoop { architecture: Architecture::X86_64, lines, head: 0 };
        assert_eq!((timed.count(&["lock cmpxchg"]), timed.count(&["mov"]), timed.count(&["call"])), (2, 1, 0));
    }

    fn increments(baseline: u32, test: u32) -> Evidence {
        let line = "lock inc dword ptr [rax]";
        judge(&lines(baseline, line), &lines(test, line), Expected::once(&["lock add", "lock inc"], &[]))
    }

    #[test]
    fn receipts_are_of_the_shortest_path() {
        let line = |text: &str, next: &[usize]| CodeLine { offset: 0, text: text.to_owned(), next: next.to_vec() };
        let timed = |operations: usize| {
            let step = |index: usize| {
                let (next, retry) = ((3 * index + 4) % (3 * operations + 1), 3 * index + 1);
                [
                    line("lock cmpxchg [rdi],ecx", &[retry + 1]),
                    line("jne 4", &[next, retry + 2]),
                    line("pause", &[retry]),
                ]
            };
            let lines = std::iter::once(line("dec rax", &[1])).chain((0..operations).flat_map(step));
            TimedLoop { architecture: Architecture::X86_64, lines: lines.collect(), head: 0 }
        };
        let evidence = super::judge(&timed(2), &timed(4), 2, Expected::once(&["lock cmpxchg"], &[]));
        assert_eq!(evidence.summary(), Some("lock cmpxchg 2/4 + jne 1"));
        let receipt = evidence.receipt().unwrap();
        assert_eq!(receipt.line(), "2 instructions per operation on the shortest path: lock cmpxchg 1, jne 1");
        assert_eq!(increments(16, 32).receipt().unwrap().counted(), Counted::Executed);
    }

    #[test]
    fn what_may_write_is_told_by_its_destination() {
        let writes = |text: &str| Architecture::X86_64.may_write(&lines(1, text).lines[0]);
        let reading =
            ["mov eax,[rdi]", "lea rax,[rdi+8]", "cmp dword ptr [rdi],1", "nop word ptr [rax+rax]", "dec rax", "ret"];
        let writing =
            ["mov [rdi],eax", "add qword ptr [rbp],1", "lock dec dword ptr [rdi]", "xchg eax,[rdi]", "call rax"];
        assert_eq!((reading.map(writes), writing.map(writes)), ([false; 6], [true; 5]));
        let writes = |text: &str| Architecture::Aarch64.may_write(&lines(1, text).lines[0]);
        assert_eq!(
            ["ldr w0,[x1]", "blr x2", "stlr w0,[x1]", "ldadd w0,w2,[x1]"].map(writes),
            [false, true, true, true]
        );
    }

    #[test]
    fn what_a_called_function_executes_is_not_known() {
        let with_call = |count| {
            let mut timed = lines(count, "mfence");
            timed.lines[1].text = "call rax".to_owned();
            timed
        };
        let evidence = super::judge(&with_call(3), &with_call(5), 2, Expected::once(&["mfence"], &[]));
        assert_eq!((evidence.summary(), evidence.receipt()), (Some("mfence 2/4"), None));
    }

    #[test]
    fn present_instructions_are_named() {
        assert_eq!(increments(16, 32).summary(), Some("lock inc 16/32"));
        let (empty, fences) = (lines(0, ""), lines(16, "mfence"));
        assert_eq!(judge(&empty, &fences, Expected::added(&["mfence"], &[])).summary(), Some("mfence 0/16"));
    }

    #[test]
    fn missing_instructions_are_elided() {
        let elided = increments(16, 16);
        assert!(matches!(&elided, Evidence::Elided { .. }));
        assert_eq!(elided.summary(), Some("lock inc 16/16, expected 16/32"));
    }

    #[test]
    fn more_instructions_or_a_call_are_not_called_missing() {
        assert!(matches!(increments(32, 64), Evidence::NotAvailable(reason) if reason.ends_with("expected 16/32")));
        let calls = judge(&lines(16, "call rax"), &lines(32, "call rax"), Expected::once(&["lock add"], &[]));
        assert!(matches!(calls, Evidence::NotAvailable(reason) if reason.starts_with("lock add 0/0")));
    }

    #[test]
    fn equal_loops_prove_that_an_operation_is_no_instruction() {
        let expected = Expected::NoInstruction("a fence for the compiler alone");
        let same = judge(&lines(1, "dec rax"), &lines(1, "dec rax"), expected);
        assert!(matches!(same, Evidence::Elided { summary, .. } if summary == "a fence for the compiler alone"));
        let other = judge(&lines(1, "dec rax"), &lines(2, "dec rax"), expected);
        assert!(matches!(other, Evidence::Substituted { .. }));
    }
}
