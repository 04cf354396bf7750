//! Decoding a function of the running program, and its timed loop.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::fmt::Write as _;

use super::{Architecture, CodeLine, TimedLoop};

/// The most bytes that are decoded: no timed loop is longer.
const MAX_BYTES: usize = 64 * 1024;

/// Disassembles the timed loop of the function at `entry`.
///
/// # Errors
/// When there is no disassembler for this processor, `entry` is not in the program's code or no loop is found; the text says
/// which.
pub fn timed_loop(entry: usize) -> Result<TimedLoop, String> {
    let code = code_at(entry).ok_or("the function is not in the program's code")?;
    #[cfg(target_arch = "x86_64")]
    let found = loop_of(&function(super::x86_64::instructions(code, entry as u64), code), Architecture::X86_64);
    #[cfg(target_arch = "aarch64")]
    let found = {
        let called = |address| code_at(usize::try_from(address).ok()?);
        loop_of(&function(super::aarch64::instructions(code, entry as u64, &called), code), Architecture::Aarch64)
    };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let found: Option<TimedLoop> = {
        let _ = code;
        return Err(format!("no disassembler for {}", std::env::consts::ARCH));
    };
    found.ok_or_else(|| "the function has no loop".to_owned())
}

/// The bytes from `entry` to the end of the executable mapping that holds it, or [`MAX_BYTES`] of them.
pub(super) fn code_at(entry: usize) -> Option<&'static [u8]> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let end = maps.lines().find_map(|line| executable_end(line, entry))?;
    let length = (end - entry).min(MAX_BYTES);
    // SAFETY: the kernel reports [entry, end) as mapped, readable and executable. It is the program's own code, which
    // is never unmapped or written to.
    Some(unsafe { std::slice::from_raw_parts(entry as *const u8, length) })
}

/// The end of the mapping that a line of `/proc/self/maps` describes, if code at `entry` is in it.
fn executable_end(line: &str, entry: usize) -> Option<usize> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    (words.next()?.starts_with("r-x") && (start..end).contains(&entry)).then_some(end)
}

/// The instructions of the first function in `code`: up to the first one that ends a path and that no earlier branch jumps over.
pub(super) fn function(instructions: impl Iterator<Item = Decoded>, code: &[u8]) -> Vec<Decoded> {
    let mut function: Vec<Decoded> = Vec::new();
    let mut furthest = 0;
    for instruction in instructions {
        let entry = function.first().unwrap_or(&instruction).address;
        if let Flow::Branch(target) | Flow::Jump(target) = instruction.flow {
            // A jump to another function, or beyond the code that was read, is a tail call.
            if target < entry + code.len() as u64 && is_same_function(entry, target) {
                furthest = furthest.max(target);
            }
        }
        // A call that never returns is followed by padding, or immediately by the next function.
        let ends = match instruction.flow {
            Flow::Jump(_) | Flow::End => instruction.end > furthest,
            Flow::Call(_) => !is_same_function(entry, instruction.end),
            Flow::Next | Flow::Branch(_) => false,
        };
        function.push(instruction);
        if ends {
            break;
        }
    }
    function
}

/// Whether two addresses are in one function, by the tables for unwinding. Addresses outside all functions count as equal.
fn is_same_function(one: u64, other: u64) -> bool {
    unsafe extern "C" {
        /// The unwinder's function, in every Rust program: returns the entry of the function with the code at this address, or
        /// null.
        fn _Unwind_FindEnclosingFunction(address: *mut c_void) -> *mut c_void;
    }
    // SAFETY: the call looks the address up and does not read what is there.
    let found = |address: usize| unsafe { _Unwind_FindEnclosingFunction(address as *mut c_void) } as usize;
    // GCC's unwinder looks at the byte before the address, LLVM's at the address itself.
    let known = timed_loop as *const () as usize;
    let behind = usize::from(found(known) != known);
    found(one as usize + behind) == found(other as usize + behind)
}

/// The outermost loop of a function; `None` if none is found. It has no lines if the compiler has removed it: a function that only
/// returns had a loop that did nothing.
pub(super) fn loop_of(function: &[Decoded], architecture: Architecture) -> Option<TimedLoop> {
    if let Some((last, before)) = function.split_last()
        && last.text.starts_with("ret")
        && before.iter().all(|instruction| instruction.flow == Flow::Next)
    {
        return Some(TimedLoop { architecture, lines: Vec::new(), head: 0 });
    }
    let graph = Graph::of(function);
    let Loop { indices, head } = outermost_loop(&graph)?;
    let start = indices.first().map_or(0, |index| function[*index].address);
    let line_of = |index: usize| indices.binary_search(&index).ok();
    let line = |index: &usize| {
        let instruction = &function[*index];
        let mut text = instruction.text.clone();
        if let Flow::Branch(target) | Flow::Jump(target) = instruction.flow {
            let is_inside = index_of(function, target).is_some();
            // Writing to a String cannot fail.
            let _ = write!(text, " {:x}", if is_inside { target.wrapping_sub(start) } else { target });
        }
        let next = graph.next[*index].iter().filter_map(|next| line_of(*next)).collect();
        CodeLine { offset: instruction.address - start, text, next }
    };
    Some(TimedLoop { architecture, lines: indices.iter().map(line).collect(), head: line_of(head).unwrap_or_default() })
}

/// One instruction, of any architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) address: u64,
    /// The address of the next instruction.
    pub(super) end: u64,
    /// The text, without the target of a branch.
    pub(super) text: String,
    pub(super) flow: Flow,
}

/// What may be executed after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// The next instruction once the called function has returned, and the address of that function, if it is known.
    Call(Option<u64>),
    /// The next instruction or the one at this address.
    Branch(u64),
    /// The instruction at this address.
    Jump(u64),
    /// Nothing in this function.
    End,
}

/// A loop, by the indices of its instructions in the function.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Loop {
    /// In ascending order.
    pub(super) indices: Vec<usize>,
    /// The instruction where the loop is entered.
    pub(super) head: usize,
}

/// The outermost loop: the largest set of instructions on cycles through the target of a backward branch. Rare paths
/// that the compiler put behind the function's end and that return to the loop are part of it.
pub(super) fn outermost_loop(graph: &Graph) -> Option<Loop> {
    let targets: BTreeSet<usize> = graph.backward_targets().collect();
    // The first of equally large cycles.
    let cycles = targets.into_iter().rev().map(|target| graph.cycle_through(target));
    let indices = cycles.max_by_key(Vec::len)?;
    let inside = |index: &usize| indices.binary_search(index).is_ok();
    let is_entered = |index: &usize| *index == 0 || !graph.previous[*index].iter().all(inside);
    let head = indices.iter().copied().find(is_entered)?;
    Some(Loop { indices, head })
}

/// The graph of a function: which instruction may follow which, by index.
pub(super) struct Graph {
    pub(super) next: Vec<Vec<usize>>,
    previous: Vec<Vec<usize>>,
}

impl Graph {
    pub(super) fn of(function: &[Decoded]) -> Self {
        let next: Vec<_> = (0..function.len()).map(|index| successors(function, index)).collect();
        let mut previous = vec![Vec::new(); next.len()];
        for (index, followers) in next.iter().enumerate() {
            for follower in followers {
                previous[*follower].push(index);
            }
        }
        Self { next, previous }
    }

    fn backward_targets(&self) -> impl Iterator<Item = usize> {
        let backward = |(index, next): (usize, &Vec<usize>)| next.iter().copied().find(|target| *target <= index);
        self.next.iter().enumerate().filter_map(backward)
    }

    /// All instructions on a path from `head` to `head`.
    fn cycle_through(&self, head: usize) -> Vec<usize> {
        let (after, before) = (reached(&self.next, head), reached(&self.previous, head));
        (0..self.next.len()).filter(|index| after[*index] && before[*index]).collect()
    }
}

/// The instructions of the function that may follow the one at `index`.
fn successors(function: &[Decoded], index: usize) -> Vec<usize> {
    let next = Some(index + 1).filter(|next| *next < function.len());
    match function[index].flow {
        Flow::Next | Flow::Call(_) => next.into_iter().collect(),
        Flow::Branch(target) => next.into_iter().chain(index_of(function, target)).collect(),
        Flow::Jump(target) => index_of(function, target).into_iter().collect(),
        Flow::End => Vec::new(),
    }
}

/// The instruction at an address.
pub(super) fn index_of(function: &[Decoded], address: u64) -> Option<usize> {
    function.binary_search_by_key(&address, |instruction| instruction.address).ok()
}

/// Whether each instruction can be reached from `start`.
fn reached(edges: &[Vec<usize>], start: usize) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    let mut open = vec![start];
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut reached[index], true) {
            open.extend(&edges[index]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read() {
        let line = "55d0-55e0 r-xp 00000000 08:01 1 /bin/x";
        assert_eq!(executable_end(line, 0x55d8), Some(0x55e0));
        assert_eq!(executable_end(line, 0x55e0), None);
        assert_eq!(executable_end("55d0-55e0 rw-p 0 0 0", 0x55d8), None);
        assert_eq!(executable_end("nonsense", 0x55d8), None);
        assert!(timed_loop(8).is_err());
    }

    /// A compiler removes a loop that does nothing; a function that calls or branches may have the loop elsewhere.
    #[test]
    fn a_removed_loop_has_no_instructions() {
        let at = |address: u64, text: &str, flow| Decoded { address, end: address + 4, text: text.to_owned(), flow };
        let loop_with = |flow| loop_of(&[at(0, "mov", flow), at(4, "ret", Flow::End)], Architecture::X86_64);
        assert!(loop_with(Flow::Next).is_some_and(|removed| removed.lines.is_empty()));
        assert_eq!([Flow::Call(None), Flow::Jump(64)].map(loop_with), [None, None]);
        assert_eq!(loop_of(&[at(0, "jmp rax", Flow::End)], Architecture::X86_64), None);
    }

    #[test]
    fn a_function_ends_where_the_next_one_begins() {
        let [one, other] = [timed_loop as *const () as u64, executable_end as *const () as u64];
        assert!(is_same_function(one, one + 1) && is_same_function(8, 16));
        assert!(!is_same_function(one, other) && !is_same_function(one, one - 1) && !is_same_function(one, 8));
    }
}
