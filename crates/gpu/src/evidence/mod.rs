//! Finds out which machine instructions a case executed: its evidence.
//!
//! [`evidence_of`] knows which instructions the entry of a case expects, and where: in the timed region, out of line, or in the
//! whole kernel. [`judge()`] compares the timed regions of baseline and test. The crate `syncscope-sass` is the decoder.

mod judge;

use std::fmt;

use syncscope_core::sets::in_groups;
use syncscope_core::{Case, Evidence};
use syncscope_sass::{Cubin, Instruction, Kernel, Region, SassError, most_registers, timed_region};

use self::judge::difference;
pub use self::judge::{ClosingRead, judge};
pub use crate::catalogue::ExpectedInstructions;
use crate::catalogue::entry::Entry;
use crate::catalogue::{Entries, Method, own};

/// What evidence says if nothing is left to time.
const LOOP_GONE: &str = "the loop is gone: the compiler removed the operation, because nothing uses its result";

/// The kernels that a case times.
const TIMED: [&str; 2] = ["syncscope_baseline", "syncscope_test"];

/// Why primitives without a loop in a kernel have no evidence.
pub(crate) const TIMED_BY_THE_HOST: &str = "timed by the host: no kernel instruction lies between the clock reads";

/// The remark for costs where the compiler aggregates once for all operations of an iteration, in both loops.
pub(crate) const AGGREGATED_ONCE: &str = "cost of one more operation on the same variable; the compiler sums the warp's values once for all of them, and a \
     single operation also pays for that sum, see the form `varying`";

/// Properties of the loops that the evidence gives only in words, for the code that measures.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Loops {
    /// Whether the compiler aggregates once for all operations of an iteration, in both loops.
    pub(crate) aggregates_once: bool,
    /// Whether the closing clock reads leave more results outstanding in one loop than in the other.
    pub(crate) are_of_rate: bool,
}

/// The evidence in the compiled program of a case of the catalogue.
pub fn evidence_of(case: &Case, cubin: &[u8]) -> Evidence {
    Entries::default().evidence_of(case, cubin)
}

impl Entries {
    /// The evidence in the compiled program of a case.
    pub fn evidence_of(&self, case: &Case, cubin: &[u8]) -> Evidence {
        self.inspected(case, cubin).0
    }

    /// The evidence in the compiled program of a case, and what else its loops show.
    pub(crate) fn inspected(&self, case: &Case, cubin: &[u8]) -> (Evidence, Loops) {
        let mut loops = Loops::default();
        let entry =
            self.entry_of(case).ok_or_else(|| format!("there is no primitive {} in this version", case.primitive));
        let evidence = entry.and_then(|entry| found(entry, case, cubin, &mut loops));
        (evidence.unwrap_or_else(Evidence::NotAvailable), loops)
    }
}

/// The evidence of an entry, or why there is none.
fn found(entry: &Entry, case: &Case, cubin: &[u8], loops: &mut Loops) -> Result<Evidence, String> {
    if entry.method == Method::HostBarrier {
        return Err(TIMED_BY_THE_HOST.to_owned());
    }
    let registers = most_registers(cubin);
    let cubin = Cubin::parse(cubin).map_err(|error| error.to_string())?;
    let (expected, unroll) = ((entry.expected)(case), (entry.unroll)(case));
    match entry.method {
        Method::Launch(_) => return whole_kernels(&cubin, &expected),
        Method::Reduction(_) => return in_first_kernel(&cubin, &expected),
        _ => {}
    }
    let is_own = entry.own.is_some();
    let [baseline, test] = &match regions(&cubin) {
        // Both clock reads are there, with nothing between them.
        Err(SassError::NoTimedLoop(_, 2)) => {
            let summary = LOOP_GONE.to_owned();
            return Ok(Evidence::Elided { summary, listing: String::new() });
        }
        Err(error) if is_own => {
            let (summary, listing) = (format!("machine code not found: {error}"), String::new());
            return Ok(Evidence::Present { summary, listing, receipt: None });
        }
        regions => regions.map_err(|error| error.to_string())?,
    };
    let mut evidence =
        if is_own { difference(baseline, test, unroll) } else { judge(baseline, test, &expected, unroll) };
    if let (Evidence::Elided { .. }, false) = (&evidence, expected.aggregation.is_empty())
        && let present @ Evidence::Present { .. } = judge(baseline, test, &expected.times(2 * expected.times), unroll)
    {
        evidence = present;
    }
    if let Evidence::Present { summary, .. } = &mut evidence
        && let Some(how) = aggregation(baseline, test, expected.aggregation)
    {
        *summary += ", aggregated by the compiler: ";
        *summary += &how.to_string();
        loops.aggregates_once = how.is_once();
    }
    let summary =
        expected.out_of_line.and_then(|instruction| out_of_line(baseline, test, instruction, expected.times, unroll));
    if let (Evidence::Elided { listing, .. }, Some(summary)) = (&mut evidence, summary) {
        evidence = Evidence::Present { summary, listing: std::mem::take(listing), receipt: None };
    }
    if let Evidence::Present { summary, listing, receipt: Some(receipt) }
    | Evidence::Substituted { summary, listing, receipt: Some(receipt) } = &mut evidence
    {
        *summary += &receipt.others_in_brief();
        *listing += &(receipt.line() + "\n");
    }
    if let (Some(own), Evidence::Present { summary, .. }) = (entry.own, &mut evidence) {
        *summary += &spills(own.most_registers(case), test, registers).unwrap_or_default();
    }
    if let Evidence::Present { listing, .. }
    | Evidence::Substituted { listing, .. }
    | Evidence::Elided { listing, .. } = &mut evidence
    {
        let closing = ClosingRead::between(&cubin, [baseline, test]);
        *listing += &(closing.summary() + "\n");
        loops.are_of_rate = !closing.drops_out();
    }
    Ok(evidence)
}

/// The registers that the loop of a user's operation spills to memory because they ran out. Nothing if registers are left: a
/// source may also have arrays in such memory.
fn spills(most: u32, test: &Region, registers: Option<u32>) -> Option<String> {
    let registers = registers?;
    let [loads, stores] = ["LDL", "STL"].map(|opcode| test.count(opcode));
    let ran_out = loads + stores > 0 && registers + own::REGISTERS_TOGETHER > most;
    ran_out.then(|| format!(", {} {loads} LDL and {stores} STL: all {registers} registers are taken", own::SPILLS))
}

/// The timed regions of baseline and test.
fn regions(cubin: &Cubin) -> Result<[Region; 2], SassError> {
    let region = |name: &str| timed_region(cubin.kernel(name).ok_or_else(|| SassError::NoKernel(name.to_owned()))?);
    Ok([region(TIMED[0])?, region(TIMED[1])?])
}

/// The instruction with which a compiler aggregated the operations of a warp: 32/64 for each operation, 1/1 once for all
/// operations of an iteration; or only before the loop.
struct Aggregation<'a> {
    mnemonic: &'a str,
    /// How often the instruction is in the baseline and in the test.
    counts: [usize; 2],
}

impl Aggregation<'_> {
    const fn is_once(&self) -> bool {
        self.counts[1] == 0 || self.counts[0] == self.counts[1]
    }
}

impl fmt::Display for Aggregation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.counts {
            [_, 0] => write!(f, "{} before the loop", self.mnemonic),
            [baseline, test] => write!(f, "{} {baseline}/{test}", self.mnemonic),
        }
    }
}

/// How a compiler aggregated the operations of a warp; `None` if it did not.
fn aggregation<'a>(baseline: &Region, test: &'a Region, patterns: &[&str]) -> Option<Aggregation<'a>> {
    patterns.iter().find_map(|pattern| {
        let found = test.instructions().iter().find(|instruction| instruction.matches(pattern))?;
        Some(Aggregation { mnemonic: &found.mnemonic, counts: [baseline.count(pattern), test.count(pattern)] })
    })
}

/// A summary if the slow paths of both kernels have the instruction once for each operation.
fn out_of_line(baseline: &Region, test: &Region, instruction: &str, times: usize, unroll: u32) -> Option<String> {
    let count =
        |region: &Region| region.out_of_line().iter().flatten().filter(|found| found.matches(instruction)).count();
    let (in_baseline, in_test, expected) = (count(baseline), count(test), unroll as usize * times);
    (in_baseline == expected && in_test == 2 * expected)
        .then(|| format!("{instruction} {in_baseline}/{in_test} out of line"))
}

/// The evidence of launches. They have no region between two clock readings, so the whole kernel counts: it must contain the
/// expected instructions and access no memory, unless its entry says that it does.
fn whole_kernels(cubin: &Cubin, expected: &ExpectedInstructions) -> Result<Evidence, String> {
    let [Some(baseline), Some(test)] = TIMED.map(|name| cubin.kernel(name)) else {
        return Err("the kernels are not in the program".to_owned());
    };
    let listing = [baseline, test].map(listing_of).join("\n");
    let [in_baseline, in_test] = [baseline, test].map(|kernel| expected_in(kernel, expected).count());
    let others = executed(test).find(|found| touches_memory(found) && !expected.uses_memory);
    let found = format!("{} {in_baseline}/{in_test}", expected.name());
    Ok(match others {
        Some(other) => Evidence::Elided { summary: format!("{} in a kernel without memory", other.mnemonic), listing },
        None if in_baseline > 0 && in_test > 0 => {
            let summary = format!("{found} of {} in the kernel", executed(test).count());
            Evidence::Present { summary, listing, receipt: None }
        }
        None => Evidence::Elided { summary: format!("{found} in the kernel"), listing },
    })
}

/// The evidence of reductions: the kernel that reads the vector must contain one of the expected instructions.
fn in_first_kernel(cubin: &Cubin, expected: &ExpectedInstructions) -> Result<Evidence, String> {
    let kernel = cubin.kernel("reduce").ok_or_else(|| "the kernel is not in the program".to_owned())?;
    let found = in_groups(expected_in(kernel, expected).map(|found| (&found.mnemonic, found)));
    let counts: Vec<String> = found.iter().map(|(name, all)| format!("{name} {}", all.len())).collect();
    let (all, listing) = (executed(kernel).count(), listing_of(kernel));
    Ok(if counts.is_empty() {
        Evidence::Elided { summary: format!("{} 0 of {all} in the kernel", expected.name()), listing }
    } else {
        let summary = format!("{} of {all} in the kernel", counts.join(", "));
        Evidence::Present { summary, listing, receipt: None }
    })
}

/// The expected instructions of a kernel.
fn expected_in<'a>(kernel: &'a Kernel, expected: &ExpectedInstructions) -> impl Iterator<Item = &'a Instruction> {
    executed(kernel).filter(|found| expected.instructions.iter().any(|pattern| found.matches(pattern)))
}

/// The instructions before the padding, which is a branch to itself and NOPs. After the last exit there may be functions.
fn executed(kernel: &Kernel) -> impl Iterator<Item = &Instruction> {
    let instructions = kernel.instructions();
    let is_padding = |found: &Instruction| found.matches("NOP") || found.target == Some(found.offset);
    let end = instructions.iter().rposition(|found| !is_padding(found)).map_or(0, |last| last + 1);
    instructions[..end].iter()
}

/// Whether an instruction accesses memory. Loads of constants and parameters do not count.
fn touches_memory(instruction: &Instruction) -> bool {
    const MEMORY: [&str; 12] = ["LD", "LDG", "LDL", "LDS", "ST", "STG", "STL", "STS", "ATOM", "ATOMG", "RED", "REDG"];
    MEMORY.contains(&instruction.opcode)
}

/// The name of a kernel, and its instructions.
fn listing_of(kernel: &Kernel) -> String {
    let instructions = executed(kernel).map(ToString::to_string);
    std::iter::once(kernel.name().to_owned()).chain(instructions).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_compiler_does_once_for_many_operations_is_said() {
        let of = |counts| Aggregation { mnemonic: "REDUX.SUM", counts };
        let all = [[1, 1], [0, 0], [32, 64]].map(of);
        assert_eq!(all.each_ref().map(Aggregation::is_once), [true, true, false]);
        let texts = ["REDUX.SUM 1/1", "REDUX.SUM before the loop", "REDUX.SUM 32/64"];
        assert_eq!(all.map(|one| one.to_string()), texts);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_no_evidence() {
        let found = evidence_of(&Case::new("gpu.block.syncthreads"), b"no ELF");
        assert!(matches!(&found, Evidence::NotAvailable(reason) if reason.contains("not an intact")), "{found:?}");
    }
}
