//! What the processor executes between the two clock readings: the loops of this very binary, disassembled.
//!
//! A loop stands in a function of its own that is never inlined. It is decoded from its first byte to its end, its
//! outermost loop is found by its backward branch, and the instructions in it are counted.

use syncscope_core::Evidence;

/// How the instruction of a primitive is recognized, and how often one operation executes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expectation {
    /// The beginnings of the disassembled lines that count: `lock add`, `lock inc`. Calls are written `call`.
    pub any_of: &'static [&'static str],
    /// How many of them one operation executes.
    pub per_operation: u32,
}

/// The instructions of one timed loop, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedLoop {
    lines: Vec<String>,
}

impl TimedLoop {
    /// How many instructions begin with one of the expected texts.
    #[must_use]
    pub fn count(&self, any_of: &[&str]) -> u32 {
        let meant = |line: &&String| any_of.iter().any(|start| begins_with_words(line, start));
        self.lines.iter().filter(meant).count() as u32
    }

    /// All of them, a line each.
    #[must_use]
    pub fn listing(&self) -> String {
        self.lines.iter().map(|line| format!("    {line}\n")).collect()
    }
}

/// `lock add` begins `lock add [rax],1` and not `lock addsomething`.
fn begins_with_words(line: &str, start: &str) -> bool {
    line.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Holds what was found in both loops against what was meant.
///
/// `unroll` operations stand in the baseline and twice as many in the test.
#[must_use]
pub fn judge(baseline: &TimedLoop, test: &TimedLoop, expected: Expectation, unroll: u32) -> Evidence {
    let found = (baseline.count(expected.any_of), test.count(expected.any_of));
    let meant = (unroll * expected.per_operation, 2 * unroll * expected.per_operation);
    let instruction = expected.any_of.join("|");
    let listing = format!("baseline:\n{}test:\n{}", baseline.listing(), test.listing());
    if found == meant {
        Evidence::Present { summary: format!("{instruction} {}/{}", found.0, found.1), listing }
    } else {
        let summary = format!("{instruction} {}/{}, expected {}/{}", found.0, found.1, meant.0, meant.1);
        Evidence::Elided { summary, listing }
    }
}

/// Disassembles the timed loop of the function at `entry`.
///
/// # Errors
/// When this is not an x86-64 processor, or the function has no loop; the text says which.
#[cfg(not(target_arch = "x86_64"))]
pub fn timed_loop(_entry: usize) -> Result<TimedLoop, String> {
    Err(format!("no disassembler for {}", std::env::consts::ARCH))
}

#[cfg(target_arch = "x86_64")]
pub use x86_64::timed_loop;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use iced_x86::{Decoder, DecoderOptions, FlowControl, Formatter, Instruction, IntelFormatter};

    use super::TimedLoop;

    /// No loop of ours is longer; a function that is was not understood.
    const MOST_BYTES: usize = 64 * 1024;

    /// Disassembles the timed loop of the function at `entry`.
    ///
    /// # Errors
    /// When `entry` is not in the program's code or the function has no loop; the text says which.
    pub fn timed_loop(entry: usize) -> Result<TimedLoop, String> {
        let code = code_at(entry).ok_or("the function is not in the program's code")?;
        let function = function(code, entry as u64);
        let range = outermost_loop(&function).ok_or("the function has no loop")?;
        let inside = function.iter().filter(|instruction| range.contains(&instruction.ip()));
        let mut formatter = IntelFormatter::new();
        formatter.options_mut().set_space_after_operand_separator(false);
        let lines = inside.map(|instruction| {
            let mut line = String::new();
            formatter.format(instruction, &mut line);
            line
        });
        Ok(TimedLoop { lines: lines.collect() })
    }

    /// The bytes from `entry` to the end of the executable mapping that holds it, or [`MOST_BYTES`] of them.
    fn code_at(entry: usize) -> Option<&'static [u8]> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let end = maps.lines().find_map(|line| executable_end(line, entry))?;
        let length = (end - entry).min(MOST_BYTES);
        // SAFETY: the kernel says that [entry, end) is mapped readable and executable; it is the program's own code, which is
        // never unmapped or written to.
        Some(unsafe { std::slice::from_raw_parts(entry as *const u8, length) })
    }

    /// The end of the mapping that a line of `/proc/self/maps` describes, if code at `entry` is in it.
    fn executable_end(line: &str, entry: usize) -> Option<usize> {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        (words.next()?.starts_with("r-x") && (start..end).contains(&entry)).then_some(end)
    }

    /// The instructions of one function: up to the first end of a path that no branch seen so far passes.
    fn function(code: &[u8], entry: u64) -> Vec<Instruction> {
        let mut instructions = Vec::new();
        let mut furthest = entry;
        for instruction in &mut Decoder::with_ip(64, code, entry, DecoderOptions::NONE) {
            let next = instruction.next_ip();
            match instruction.flow_control() {
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                    let target = instruction.near_branch_target();
                    // A jump out of the code that was read is a tail call.
                    if target < entry + code.len() as u64 {
                        furthest = furthest.max(target);
                    }
                }
                _ => {}
            }
            let ends = matches!(
                instruction.flow_control(),
                FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Exception
            );
            instructions.push(instruction);
            if ends && next > furthest {
                break;
            }
        }
        instructions
    }

    /// The addresses of the longest stretch that a backward branch closes.
    fn outermost_loop(function: &[Instruction]) -> Option<std::ops::RangeInclusive<u64>> {
        let entry = function.first()?.ip();
        let branches = function.iter().filter(|instruction| {
            matches!(instruction.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
        });
        let backward = branches.filter(|branch| (entry..=branch.ip()).contains(&branch.near_branch_target()));
        backward.map(|branch| branch.near_branch_target()..=branch.ip()).max_by_key(|range| range.end() - range.start())
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::evidence::{Expectation, judge};
        use std::sync::atomic::{AtomicU64, Ordering};
        use syncscope_core::Evidence;

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
        fn a_function_ends_where_no_path_goes_on() {
            // cmp edi,1; jne +1; ret; inc eax; jmp -4 (to inc eax); int3
            let code = [0x83, 0xff, 0x01, 0x75, 0x01, 0xc3, 0xff, 0xc0, 0xeb, 0xfc, 0xcc];
            let function = function(&code, 0x1000);
            assert_eq!(function.len(), 5);
            assert_eq!(outermost_loop(&function), Some(0x1006..=0x1008));
        }

        #[test]
        fn instructions_of_the_running_binary_are_counted() {
            // Small enough that the compiler unrolls the inner loop at any level of optimization that it has in tests.
            let counter = AtomicU64::new(0);
            adds::<1>(&counter, 3);
            let found = timed_loop(adds::<1> as *const () as usize).unwrap();
            assert_eq!(found.count(&["lock add"]), 1, "{}", found.listing());
            assert_eq!(found.count(&["lock ad"]), 0, "words, not letters");
        }

        #[test]
        fn what_is_missing_is_elided() {
            let lines = |count: usize| TimedLoop { lines: vec!["lock inc qword ptr [rax]".to_owned(); count] };
            let expected = Expectation { any_of: &["lock add", "lock inc"], per_operation: 1 };
            let present = judge(&lines(16), &lines(32), expected, 16);
            assert_eq!(present.summary(), Some("lock add|lock inc 16/32"));
            let elided = judge(&lines(16), &lines(16), expected, 16);
            assert!(matches!(&elided, Evidence::Elided { summary, .. } if summary.ends_with("16/16, expected 16/32")), "{elided:?}");
        }
    }
}
