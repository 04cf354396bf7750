//! What was executed: the seam between a case and the decoder of machine code.

mod judge;

use syncscope_core::{Case, Evidence};
use syncscope_sass::{Cubin, Instruction, Kernel, Region, timed_region};

pub use self::judge::{Expectation, judge};
use crate::catalogue::{Meant, Method, entry_of};

/// The kernels that a case times.
const TIMED: [&str; 2] = ["baseline", "test"];

/// Why there is no evidence of what has no loop in a kernel.
pub(crate) const TIMED_BY_THE_HOST: &str =
    "timed by the host: no instruction of a kernel stands between the clock readings";

/// The evidence in the compiled program of a case.
#[must_use]
pub fn evidence_of(case: &Case, cubin: &[u8]) -> Evidence {
    let Some(entry) = entry_of(case) else {
        return Evidence::NotAvailable(format!("this version knows no primitive {}", case.primitive));
    };
    if entry.method == Method::Visits {
        return Evidence::NotAvailable(TIMED_BY_THE_HOST.to_owned());
    }
    let meant = (entry.meant)(case);
    if let Method::Launch(_) = entry.method {
        return whole_kernels(cubin, &meant);
    }
    let evidence = judge::evidence(cubin, TIMED, &expectation(&meant, entry.unroll));
    match (evidence, meant.out_of_line) {
        (Evidence::Elided { summary, listing }, Some(instruction)) => {
            match out_of_line(cubin, instruction, meant.times, entry.unroll) {
                Some(summary) => Evidence::Present { summary, listing },
                None => Evidence::Elided { summary, listing },
            }
        }
        (evidence, _) => evidence,
    }
}

fn expectation(meant: &Meant, unroll: u32) -> Expectation {
    let mut expectation = Expectation::new(meant.instructions.iter().copied(), unroll as usize)
        .or_instead(meant.substitutes.iter().copied())
        .times(meant.times);
    if meant.only_in_test {
        (expectation.baseline_repeats, expectation.test_repeats) = (0, 1);
    }
    expectation
}

/// That the slow paths of both kernels have the instruction once for each operation, if they do.
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

/// Where a launch is timed there is no region between two clock readings: the whole kernel counts, which has to do
/// nothing but what it is meant to last by.
fn whole_kernels(cubin: &[u8], meant: &Meant) -> Evidence {
    let cubin = match Cubin::parse(cubin) {
        Ok(cubin) => cubin,
        Err(error) => return Evidence::NotAvailable(error.to_string()),
    };
    let [Some(baseline), Some(test)] = TIMED.map(|name| cubin.kernel(name)) else {
        return Evidence::NotAvailable("the kernels are not in the program".to_owned());
    };
    let listing = [baseline, test].map(|kernel| format!("{}\n{}", kernel.name(), listing_of(kernel))).join("\n");
    let is_meant = |found: &&Instruction| meant.instructions.iter().any(|pattern| found.matches(pattern));
    let [in_baseline, in_test] = [baseline, test].map(|kernel| executed(kernel).filter(is_meant).count());
    let others = executed(test).find(|found| touches_memory(found));
    let name = meant.instructions.first().copied().unwrap_or_default();
    match others {
        None if in_baseline > 0 && in_test > 0 => {
            let all = executed(test).count();
            Evidence::Present { summary: format!("{name} {in_baseline}/{in_test} of {all} in the kernel"), listing }
        }
        None => Evidence::Elided { summary: format!("{name} {in_baseline}/{in_test} in the kernel"), listing },
        Some(other) => Evidence::Elided { summary: format!("{} in a kernel without memory", other.mnemonic), listing },
    }
}

/// What stands before the padding: a branch to itself and NOPs behind the last way out.
fn executed(kernel: &Kernel) -> impl Iterator<Item = &Instruction> {
    let instructions = kernel.instructions();
    let end = instructions.iter().rposition(|found| found.matches("EXIT")).map_or(0, |last| last + 1);
    instructions[..end].iter()
}

/// Loads from the bank of constants, where parameters are, are none.
fn touches_memory(instruction: &Instruction) -> bool {
    const MEMORY: [&str; 12] = ["LD", "LDG", "LDL", "LDS", "ST", "STG", "STL", "STS", "ATOM", "ATOMG", "RED", "REDG"];
    MEMORY.contains(&instruction.opcode)
}

fn listing_of(kernel: &Kernel) -> String {
    executed(kernel).map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
