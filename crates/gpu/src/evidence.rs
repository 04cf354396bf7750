//! What was executed: the seam between a case and the decoder of machine code.

use syncscope_core::{Case, Evidence};

use crate::catalogue::{Meant, Method, entry_of};
use crate::sass::{self, Cubin, Expectation, Region, timed_region};

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
    let evidence = sass::evidence(cubin, TIMED, &expectation(&meant, entry.unroll));
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
