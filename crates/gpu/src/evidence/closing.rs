//! Does the clock read at the end of a timed region wait for what is timed?

use std::collections::BTreeMap;

use syncscope_sass::{Cubin, timed_region, unawaited_results};

use super::TIMED;

/// Loads of constants and of special registers: they belong to the loop around an operation.
const CONSTANTS: [&str; 5] = ["LDC", "ULDC", "LDCU", "S2R", "S2UR"];

/// Results that are outstanding when the clock is read at the end, by mnemonic: in the baseline and in the test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosingRead {
    unawaited: BTreeMap<String, [usize; 2]>,
}

impl ClosingRead {
    /// What the closing reads of a program do not wait for; `None` if the program has no timed regions.
    #[must_use]
    pub fn of(cubin: &[u8]) -> Option<Self> {
        let cubin = Cubin::parse(cubin).ok()?;
        let mut unawaited: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for (side, name) in TIMED.iter().enumerate() {
            let kernel = cubin.kernel(name)?;
            for result in unawaited_results(kernel, &timed_region(kernel).ok()?) {
                let is_constant = result.mnemonic.split('.').next().is_some_and(|bare| CONSTANTS.contains(&bare));
                if !is_constant {
                    unawaited.entry(result.mnemonic).or_default()[side] += 1;
                }
            }
        }
        Some(Self { unawaited })
    }

    /// Whether the same results are outstanding in both loops, so that they drop out of the difference.
    #[must_use]
    pub fn drops_out(&self) -> bool {
        self.unawaited.values().all(|[baseline, test]| baseline == test)
    }

    /// The mnemonics of the results that are outstanding.
    pub fn mnemonics(&self) -> impl Iterator<Item = &str> {
        self.unawaited.keys().map(String::as_str)
    }

    /// A line for the evidence.
    #[must_use]
    pub fn summary(&self) -> String {
        let counts: Vec<String> =
            self.unawaited.iter().map(|(name, [baseline, test])| format!("{name} {baseline}/{test}")).collect();
        let counts = counts.join(", ");
        if counts.is_empty() {
            "the closing clock read waits for every result, or there is none to wait for".to_owned()
        } else if self.drops_out() {
            format!(
                "the closing clock read does not wait for {counts}: the same in both loops, so the difference has none of it"
            )
        } else {
            format!(
                "the closing clock read does not wait for {counts}: nothing reads these results, so the cost is that of a rate"
            )
        }
    }
}
