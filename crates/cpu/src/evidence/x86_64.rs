//! Decoding a function of the running program, and finding its loop.

use std::fmt::Write as _;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Formatter, Instruction, IntelFormatter};

use super::{Line, TimedLoop};

/// No timed loop is longer. Decoding ends here.
const MAX_BYTES: usize = 64 * 1024;

/// Disassembles the timed loop of the function at `entry`.
///
/// # Errors
/// When `entry` is not in the program's code or the function has no loop; the text says which.
pub fn timed_loop(entry: usize) -> Result<TimedLoop, String> {
    let code = code_at(entry).ok_or("the function is not in the program's code")?;
    let function = function(code, entry as u64);
    let graph = Graph::of(&function);
    let Loop { indices, head } = outermost_loop(&graph).ok_or("the function has no loop")?;
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_space_after_operand_separator(false);
    let start = indices.first().map_or(0, |index| function[*index].ip());
    let line_of = |index: usize| indices.binary_search(&index).ok();
    let lines = indices.iter().map(|index| {
        let instruction = &function[*index];
        let mut text = String::new();
        if stays_in(&function, instruction) {
            formatter.format_mnemonic(instruction, &mut text);
            let target = instruction.near_branch_target().wrapping_sub(start);
            let _ = write!(text, " {target:x}");
        } else {
            formatter.format(instruction, &mut text);
        }
        let next = graph.next[*index].iter().filter_map(|next| line_of(*next)).collect();
        Line { offset: instruction.ip() - start, text, next }
    });
    Ok(TimedLoop { lines: lines.collect(), head: line_of(head).unwrap_or_default() })
}

/// The bytes from `entry` to the end of the executable mapping that holds it, or [`MAX_BYTES`] of them.
fn code_at(entry: usize) -> Option<&'static [u8]> {
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

/// The instructions of one function: up to the first instruction that ends a path and that no earlier branch jumps
/// over.
fn function(code: &[u8], entry: u64) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    let mut furthest = entry;
    for instruction in &mut Decoder::with_ip(64, code, entry, DecoderOptions::NONE) {
        let next = instruction.next_ip();
        let target = instruction.near_branch_target();
        // A jump beyond the code that was read is a tail call.
        if is_branch(&instruction) && target < entry + code.len() as u64 {
            furthest = furthest.max(target);
        }
        // A call that never returns is followed by padding: breakpoint instructions.
        let ends = matches!(
            instruction.flow_control(),
            FlowControl::Return
                | FlowControl::UnconditionalBranch
                | FlowControl::IndirectBranch
                | FlowControl::Exception
                | FlowControl::Interrupt
        );
        instructions.push(instruction);
        if ends && next > furthest {
            break;
        }
    }
    instructions
}

/// Whether an instruction is a branch within its function.
fn stays_in(function: &[Instruction], instruction: &Instruction) -> bool {
    is_branch(instruction) && function.binary_search_by_key(&instruction.near_branch_target(), Instruction::ip).is_ok()
}

fn is_branch(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
}

/// A loop, by the indices of its instructions in the function.
#[derive(Debug, PartialEq, Eq)]
struct Loop {
    /// In ascending order.
    indices: Vec<usize>,
    /// Where it is entered.
    head: usize,
}

/// The outermost loop: the largest set of instructions on cycles through the target of a backward branch. Rare paths
/// that the compiler put behind the function's end and that return to the loop are part of it.
fn outermost_loop(graph: &Graph) -> Option<Loop> {
    let mut indices: Vec<usize> = Vec::new();
    let mut seen = vec![false; graph.next.len()];
    for target in graph.backward_targets() {
        // All targets on one cycle have the same loop.
        if !seen[target] {
            let cycle = graph.cycle_through(target);
            for index in &cycle {
                seen[*index] = true;
            }
            indices = if cycle.len() > indices.len() { cycle } else { indices };
        }
    }
    let inside = |index: &usize| indices.binary_search(index).is_ok();
    let is_entered = |index: &usize| *index == 0 || !graph.previous[*index].iter().all(inside);
    // Without a loop there is none.
    let head = indices.iter().copied().find(is_entered)?;
    Some(Loop { indices, head })
}

/// Which instruction may follow which, by their indices in the function.
struct Graph {
    next: Vec<Vec<usize>>,
    previous: Vec<Vec<usize>>,
}

impl Graph {
    fn of(function: &[Instruction]) -> Self {
        let next: Vec<Vec<usize>> = function.iter().enumerate().map(|(index, _)| successors(function, index)).collect();
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
fn successors(function: &[Instruction], index: usize) -> Vec<usize> {
    let instruction = &function[index];
    let target = || {
        let target = instruction.near_branch_target();
        function.binary_search_by_key(&target, Instruction::ip).ok()
    };
    let next = || Some(index + 1).filter(|next| *next < function.len());
    match instruction.flow_control() {
        FlowControl::ConditionalBranch => next().into_iter().chain(target()).collect(),
        FlowControl::UnconditionalBranch => target().into_iter().collect(),
        FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception | FlowControl::Interrupt => {
            Vec::new()
        }
        _ => next().into_iter().collect(),
    }
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
    use std::sync::atomic::{AtomicU64, Ordering};

    #[inline(never)]
    fn adds<const COUNT: usize>(counter: &AtomicU64, iterations: u64) {
        for _ in 0..std::hint::black_box(iterations) {
            for _ in 0..COUNT {
                // SAFETY: the counter is a valid, aligned u64 that only this thread uses.
                unsafe { std::arch::asm!("lock add qword ptr [{}], 1", in(reg) counter.as_ptr()) };
            }
            counter.store(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn mappings_are_read() {
        let line = "55d0-55e0 r-xp 00000000 08:01 1 /bin/x";
        assert_eq!(executable_end(line, 0x55d8), Some(0x55e0));
        assert_eq!(executable_end(line, 0x55e0), None);
        assert_eq!(executable_end("55d0-55e0 rw-p 0 0 0", 0x55d8), None);
        assert_eq!(executable_end("nonsense", 0x55d8), None);
        assert!(timed_loop(8).is_err());
    }

    #[test]
    fn a_function_ends_where_no_path_continues() {
        // cmp edi,1; jne +1; ret; inc eax; jmp -4 (to inc eax); int3
        let code = [0x83, 0xff, 0x01, 0x75, 0x01, 0xc3, 0xff, 0xc0, 0xeb, 0xfc, 0xcc];
        let function = function(&code, 0x1000);
        assert_eq!(function.len(), 5);
        assert_eq!(outermost_loop(&Graph::of(&function)), Some(Loop { indices: vec![3, 4], head: 3 }));
    }

    #[test]
    fn the_next_function_is_not_decoded() {
        // je +1; ret; call [rax]; int3; int3; then: dec eax; jne -4
        let code = [0x74, 0x01, 0xc3, 0xff, 0x10, 0xcc, 0xcc, 0xff, 0xc8, 0x75, 0xfc];
        let function = function(&code, 0x1000);
        assert_eq!(function.len(), 4);
        assert_eq!(outermost_loop(&Graph::of(&function)), None);
    }

    #[test]
    fn a_rare_path_behind_the_end_belongs_to_the_loop() {
        // 0: dec edi; 2: js 9; 4: inc eax; 6: jne 0; 8: ret; 9: inc ecx; b: jmp 4
        let code = [0xff, 0xcf, 0x78, 0x05, 0xff, 0xc0, 0x75, 0xf8, 0xc3, 0xff, 0xc1, 0xeb, 0xf7];
        let function = function(&code, 0x1000);
        let found = outermost_loop(&Graph::of(&function));
        assert_eq!(found, Some(Loop { indices: vec![0, 1, 2, 3, 5, 6], head: 0 }));
    }

    #[test]
    fn instructions_of_the_running_binary_are_counted() {
        // Small enough that the compiler unrolls the inner loop at the optimization level of tests.
        let counter = AtomicU64::new(0);
        adds::<1>(&counter, 3);
        let found = timed_loop(adds::<1> as *const () as usize).unwrap();
        assert_eq!(found.count(&["lock add"]), 1, "{}", found.listing());
        assert_eq!(found.count(&["lock ad"]), 0, "whole words");
    }
}
