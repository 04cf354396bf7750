//! Evidence: which machine instructions a case executed.
//!
//! [`evidence_of`] knows which instructions the entry of a case expects, and where: in the timed region, out of line, or in
//! the whole kernel. [`judge()`] compares the timed regions of baseline and test. The decoder is the crate `syncscope-sass`.

mod judge;

use syncscope_core::{Case, Evidence};
use syncscope_sass::{Cubin, Instruction, Kernel, Region, timed_region};

pub use self::judge::{ClosingRead, Expectation, judge};
use crate::catalogue::{ExpectedInstructions, Method, entry_of};

/// The kernels that a case times.
const TIMED: [&str; 2] = ["baseline", "test"];

/// Why there is no evidence for primitives without a loop in a kernel.
pub(crate) const TIMED_BY_THE_HOST: &str =
    "timed by the host: no instruction of a kernel is between the clock readings";

/// The evidence in the compiled program of a case.
#[must_use]
pub fn evidence_of(case: &Case, cubin: &[u8]) -> Evidence {
    let Some(entry) = entry_of(case) else {
        return Evidence::NotAvailable(format!("there is no primitive {} in this version", case.primitive));
    };
    if entry.method == Method::HostBarrier {
        return Evidence::NotAvailable(TIMED_BY_THE_HOST.to_owned());
    }
    let expected = (entry.expected)(case);
    if let Method::Launch(_) = entry.method {
        return whole_kernels(cubin, &expected);
    }
    if let Method::Reduction(_) = entry.method {
        return in_first_kernel(cubin, &expected);
    }
    let mut evidence = judge::evidence(cubin, TIMED, &expectation(&expected, entry.unroll));
    if let (Evidence::Elided { .. }, true) = (&evidence, expected.may_be_on_two_paths) {
        let on_two_paths = expectation(&expected.times(2 * expected.times), entry.unroll);
        let found = judge::evidence(cubin, TIMED, &on_two_paths);
        if let Evidence::Present { .. } = found {
            evidence = found;
        }
    }
    let evidence = with_closing_read(named_aggregation(evidence, cubin, &expected), cubin);
    match (evidence, expected.out_of_line) {
        (Evidence::Elided { summary, listing }, Some(instruction)) => {
            match out_of_line(cubin, instruction, expected.times, entry.unroll) {
                Some(summary) => Evidence::Present { summary, listing },
                None => Evidence::Elided { summary, listing },
            }
        }
        (evidence, _) => evidence,
    }
}

fn expectation(expected: &ExpectedInstructions, unroll: u32) -> Expectation {
    let mut expectation = Expectation::new(expected.instructions.iter().copied(), unroll as usize)
        .or_instead(expected.substitutes.iter().copied())
        .times(expected.times);
    if expected.only_in_test {
        (expectation.baseline_repeats, expectation.test_repeats) = (0, 1);
    }
    expectation
}

/// The evidence with a line about the clock read at the end of the timed regions.
fn with_closing_read(mut evidence: Evidence, cubin: &[u8]) -> Evidence {
    if let Evidence::Present { listing, .. } | Evidence::Substituted { listing, .. } | Evidence::Elided { listing, .. } =
        &mut evidence
        && let Some(read) = ClosingRead::of(cubin)
    {
        listing.push_str(&read.summary());
        listing.push('\n');
    }
    evidence
}

/// The evidence with a summary that says whether the compiler aggregated the operations of a warp, and with which
/// instructions: 32/64 for each operation, 1/1 once for all operations of an iteration, or only before the loop.
fn named_aggregation(evidence: Evidence, cubin: &[u8], expected: &ExpectedInstructions) -> Evidence {
    let Evidence::Present { summary, listing } = evidence else { return evidence };
    let summary = match aggregation(cubin, expected.aggregation) {
        Some(how) => format!("{summary}, aggregated by the compiler: {how}"),
        None => summary,
    };
    Evidence::Present { summary, listing }
}

fn aggregation(cubin: &[u8], patterns: &[&str]) -> Option<String> {
    let cubin = Cubin::parse(cubin).ok()?;
    let [baseline, test] = TIMED.map(|name| timed_region(cubin.kernel(name)?).ok());
    let (baseline, test) = (baseline?, test?);
    patterns.iter().find_map(|pattern| {
        let found = test.instructions().iter().find(|instruction| instruction.matches(pattern))?;
        let counts = match (baseline.count(pattern), test.count(pattern)) {
            (_, 0) => "before the loop".to_owned(),
            (in_baseline, in_test) => format!("{in_baseline}/{in_test}"),
        };
        Some(format!("{} {counts}", found.mnemonic))
    })
}

/// A summary, if the slow paths of both kernels have the instruction once for each operation.
fn out_of_line(cubin: &[u8], instruction: &str, times: usize, unroll: u32) -> Option<String> {
    let cubin = Cubin::parse(cubin).ok()?;
    let [baseline, test] = TIMED.map(|name| timed_region(cubin.kernel(name)?).ok());
    let count =
        |region: Region| region.out_of_line().iter().flatten().filter(|found| found.matches(instruction)).count();
    let (in_baseline, in_test) = (count(baseline?), count(test?));
    let expected = unroll as usize * times;
    (in_baseline == expected && in_test == 2 * expected)
        .then(|| format!("{instruction} {in_baseline}/{in_test} out of line"))
}

/// The evidence of launches. They have no region between two clock readings, so the whole kernel counts: it must contain
/// the expected instructions and access no memory, unless it counts there how often it runs.
fn whole_kernels(cubin: &[u8], expected: &ExpectedInstructions) -> Evidence {
    let cubin = match Cubin::parse(cubin) {
        Ok(cubin) => cubin,
        Err(error) => return Evidence::NotAvailable(error.to_string()),
    };
    let [Some(baseline), Some(test)] = TIMED.map(|name| cubin.kernel(name)) else {
        return Evidence::NotAvailable("the kernels are not in the program".to_owned());
    };
    let listing = [baseline, test].map(|kernel| format!("{}\n{}", kernel.name(), listing_of(kernel))).join("\n");
    let is_expected = |found: &&Instruction| expected.instructions.iter().any(|pattern| found.matches(pattern));
    let [in_baseline, in_test] = [baseline, test].map(|kernel| executed(kernel).filter(is_expected).count());
    let others = executed(test).find(|found| touches_memory(found) && !expected.counts_in_memory);
    let name = expected.instructions.first().copied().unwrap_or_default();
    match others {
        None if in_baseline > 0 && in_test > 0 => {
            let all = executed(test).count();
            Evidence::Present { summary: format!("{name} {in_baseline}/{in_test} of {all} in the kernel"), listing }
        }
        None => Evidence::Elided { summary: format!("{name} {in_baseline}/{in_test} in the kernel"), listing },
        Some(other) => Evidence::Elided { summary: format!("{} in a kernel without memory", other.mnemonic), listing },
    }
}

/// The evidence of reductions: the kernel that reads the vector must contain one of the expected instructions.
fn in_first_kernel(cubin: &[u8], expected: &ExpectedInstructions) -> Evidence {
    let cubin = match Cubin::parse(cubin) {
        Ok(cubin) => cubin,
        Err(error) => return Evidence::NotAvailable(error.to_string()),
    };
    let Some(kernel) = cubin.kernel("reduce") else {
        return Evidence::NotAvailable("the kernel is not in the program".to_owned());
    };
    let is_expected = |found: &&Instruction| expected.instructions.iter().any(|pattern| found.matches(pattern));
    let found: Vec<&Instruction> = executed(kernel).filter(is_expected).collect();
    let name = found.first().map_or(expected.instructions.first().copied().unwrap_or_default(), |it| &it.mnemonic);
    let summary = format!("{name} {} of {} in the kernel", found.len(), executed(kernel).count());
    let listing = format!("{}\n{}", kernel.name(), listing_of(kernel));
    if found.is_empty() { Evidence::Elided { summary, listing } } else { Evidence::Present { summary, listing } }
}

/// The instructions before the padding, which is a branch to itself and NOPs after the last exit.
fn executed(kernel: &Kernel) -> impl Iterator<Item = &Instruction> {
    let instructions = kernel.instructions();
    let end = instructions.iter().rposition(|found| found.matches("EXIT")).map_or(0, |last| last + 1);
    instructions[..end].iter()
}

/// Whether an instruction accesses memory. Loads of constants and parameters do not count.
fn touches_memory(instruction: &Instruction) -> bool {
    const MEMORY: [&str; 12] = ["LD", "LDG", "LDL", "LDS", "ST", "STG", "STL", "STS", "ATOM", "ATOMG", "RED", "REDG"];
    MEMORY.contains(&instruction.opcode)
}

fn listing_of(kernel: &Kernel) -> String {
    executed(kernel).map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
