//! Judges whether the timed regions of baseline and test differ by the expected instructions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use syncscope_core::{Counted, Evidence, Receipt};
use syncscope_sass::{Cubin, Instruction, Region, unawaited_results};

use crate::catalogue::ExpectedInstructions;
use crate::evidence::TIMED;

/// Compares the timed regions of a baseline and its test with what they should contain. Their loops have `unroll` operations in
/// an iteration of the baseline.
pub fn judge(baseline: &Region, test: &Region, expected: &ExpectedInstructions, unroll: u32) -> Evidence {
    let listing = format!("baseline\n{}\ntest\n{}", baseline.listing(), test.listing());
    let counts = expected.counts(unroll);
    if let Some((pattern, summary)) = find(baseline, test, counts, expected.instructions) {
        return Evidence::Present { summary, listing, receipt: receipt(baseline, test, pattern, unroll) };
    }
    if let Some((pattern, found)) = find(baseline, test, counts, expected.substitutes) {
        let stall =
            nop_stall(test, pattern).map(|cycles| format!(", each with a stall count of {cycles}")).unwrap_or_default();
        let summary = format!("{found} for {}{stall}", expected.name());
        return Evidence::Substituted { summary, listing, receipt: receipt(baseline, test, pattern, unroll) };
    }
    Evidence::Elided { summary: missing(baseline, test, expected, counts), listing }
}

/// The evidence where nothing is known of the operation: what the test has more than the baseline, named by an instruction that
/// other threads or the memory take part in, or else by the most frequent one.
pub(super) fn difference(baseline: &Region, test: &Region, unroll: u32) -> Evidence {
    const FIRST: [&str; 18] = [
        "ATOM", "ATOMG", "ATOMS", "RED", "REDG", "SYNCS", "BAR", "MEMBAR", "WARPSYNC", "SHFL", "VOTE", "VOTEU",
        "MATCH", "REDUX", "LDG", "STG", "LDS", "STS",
    ];
    let listing = format!("baseline\n{}\ntest\n{}", baseline.listing(), test.listing());
    let rank = |name: &str| {
        let opcode = name.split('.').next().unwrap_or_default();
        FIRST.len() - FIRST.iter().position(|first| *first == opcode).unwrap_or(FIRST.len())
    };
    let most = increases(baseline, test).max_by_key(|(name, before, count)| (rank(name), count - before));
    let Some((name, in_baseline, in_test)) = most else {
        let summary = "the test has no more instructions than the baseline".to_owned();
        return Evidence::Elided { summary, listing };
    };
    let receipt = receipt(baseline, test, name, unroll);
    Evidence::Present { summary: format!("{name} {in_baseline}/{in_test}"), listing, receipt }
}

/// The first pattern with the expected counts in both regions, as `REDG.E.ADD.STRONG.GPU 32/64`, or several instructions that
/// match it, each with its own counts. Both loops must contain all instructions of their operations, and the test exactly the
/// added operations more. Both may contain others of the same kind, from a context.
fn find<'a>(baseline: &Region, test: &Region, counts: [usize; 2], patterns: &[&'a str]) -> Option<(&'a str, String)> {
    patterns.iter().find_map(|&pattern| {
        let (in_baseline, in_test) = (baseline.count(pattern), test.count(pattern));
        let others = (in_baseline.checked_sub(counts[0])?, in_test.checked_sub(counts[1])?);
        let fitting = |region: &'_ Region| {
            let fit = region.body().iter().filter(|instruction| instruction.matches(pattern));
            histogram(fit.map(|instruction| instruction.mnemonic.clone()))
        };
        let before = fitting(baseline);
        let pairs =
            fitting(test).into_iter().map(|(name, count)| (before.get(&name).copied().unwrap_or(0), count, name));
        let mut added: Vec<(usize, usize, String)> = pairs.filter(|(before, count, _)| count > before).collect();
        added.sort_by_key(|(before, count, _)| Reverse(count - before));
        let texts: Vec<String> = added.iter().map(|(before, count, name)| format!("{name} {before}/{count}")).collect();
        (others.0 == others.1 && !texts.is_empty()).then(|| (pattern, texts.join(", ")))
    })
}

/// The stall of the NOPs, which is their cost. The compiler encodes it in each NOP, and it differs between architectures; most
/// of the region's NOPs have this one.
fn nop_stall(region: &Region, pattern: &str) -> Option<u8> {
    let nops = region.body().iter().filter(|one| pattern == "NOP" && one.matches(pattern));
    most_frequent(nops.map(|nop| nop.control.stall))
}

/// Every instruction of an operation; `pattern` marks the expected ones.
pub(super) fn receipt(baseline: &Region, test: &Region, pattern: &str, unroll: u32) -> Option<Receipt> {
    let named = |found: &Instruction| (found.opcode, found.matches(pattern));
    let is_straight = [baseline, test].iter().all(|region| region.is_straight());
    let counted = if is_straight { Counted::Executed } else { Counted::Static };
    Receipt::of([baseline, test].map(|region| region.body().iter().map(named)), unroll, counted)
}

/// What was expected, how much of it was found, and which instruction the test has more of instead.
fn missing(baseline: &Region, test: &Region, expected: &ExpectedInstructions, counts: [usize; 2]) -> String {
    let total = |region: &Region| expected.instructions.iter().map(|pattern| region.count(pattern)).sum::<usize>();
    let (name, in_baseline, in_test) = (expected.name(), total(baseline), total(test));
    let found = format!("{name} {in_baseline}/{in_test} instead of {}/{}", counts[0], counts[1]);
    match increases(baseline, test).max_by_key(|(_, before, count)| count - before) {
        Some((mnemonic, before, count)) => format!("{found}; the test has {} more {mnemonic}", count - before),
        None => found,
    }
}

/// The instructions that the test has more of, with their counts in baseline and test.
fn increases<'a>(baseline: &'a Region, test: &'a Region) -> impl Iterator<Item = (&'a str, usize, usize)> {
    let [before, after] =
        [baseline, test].map(|region| histogram(region.body().iter().map(|one| one.mnemonic.as_str())));
    let in_both = move |(name, count)| (name, before.get(name).copied().unwrap_or(0), count);
    after.into_iter().map(in_both).filter(|(_, before, count)| count > before)
}

fn most_frequent<T: Ord>(items: impl Iterator<Item = T>) -> Option<T> {
    histogram(items).into_iter().max_by_key(|(_, count)| *count).map(|(item, _)| item)
}

fn histogram<T: Ord>(items: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    items.for_each(|item| *counts.entry(item).or_default() += 1);
    counts
}

/// Loads of constants and special registers, which belong to the loop around an operation.
const CONSTANTS: [&str; 5] = ["LDC", "ULDC", "LDCU", "S2R", "S2UR"];

/// The results still outstanding at the closing clock read, by mnemonic: in the baseline and in the test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosingRead {
    unawaited: BTreeMap<String, [usize; 2]>,
}

impl ClosingRead {
    /// What the closing reads of a program do not wait for; `None` if the program has no timed regions.
    pub fn of(cubin: &[u8]) -> Option<Self> {
        let cubin = Cubin::parse(cubin).ok()?;
        let [baseline, test] = super::regions(&cubin).ok()?;
        Some(Self::between(&cubin, [&baseline, &test]))
    }

    /// What the closing reads of two regions do not wait for.
    pub(super) fn between(cubin: &Cubin, regions: [&Region; 2]) -> Self {
        let mut unawaited: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for (side, (name, region)) in TIMED.iter().zip(regions).enumerate() {
            for result in cubin.kernel(name).into_iter().flat_map(|kernel| unawaited_results(kernel, region)) {
                let is_constant = result.mnemonic.split('.').next().is_some_and(|bare| CONSTANTS.contains(&bare));
                if !is_constant {
                    unawaited.entry(result.mnemonic.clone()).or_default()[side] += 1;
                }
            }
        }
        Self { unawaited }
    }

    /// Whether the same results are outstanding in both loops, so that they drop out of the difference.
    pub fn drops_out(&self) -> bool {
        self.unawaited.values().all(|[baseline, test]| baseline == test)
    }

    /// The mnemonics of the outstanding results.
    pub fn mnemonics(&self) -> impl Iterator<Item = &str> {
        self.unawaited.keys().map(String::as_str)
    }

    /// A line for the evidence.
    pub fn summary(&self) -> String {
        let counts: Vec<String> =
            self.unawaited.iter().map(|(name, [baseline, test])| format!("{name} {baseline}/{test}")).collect();
        let counts = counts.join(", ");
        if counts.is_empty() {
            return "the closing clock read waits for every result, or there is none to wait for".to_owned();
        }
        let so = if self.drops_out() {
            "the same in both loops, so it cancels in the difference"
        } else {
            "nothing reads these results, so the cost is a rate"
        };
        format!("the closing clock read does not wait for {counts}: {so}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_sass::{Arch, Kernel, timed_region};

    // Instructions of sm_90.
    /// `CS2R R2, SR_CLOCKLO`, 64 bits.
    const CLOCK: u128 = 0x000f_cc00_0001_5000_0000_0000_0002_7805;
    /// `REDG.E.ADD.STRONG.GPU desc[UR4][R4.64], R7`.
    const RED: u128 = 0x0005_e200_0c10_e184_0000_0007_0400_798e;
    /// `@P2 REDG.E.MAX.S32.STRONG.SYS desc[UR12][R10.64], R9`.
    const MAX: u128 = 0x0003_e800_0d11_438c_0000_0009_0a00_298e;
    /// `NOP`.
    const NOP: u128 = 0x000f_e200_0000_0000_0000_0000_0000_7918;
    /// `EXIT`.
    const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;
    /// `VOTEU.ANY UR6, UPT, PT`.
    const VOTEU: u128 = 0x000f_e400_038e_0100_0000_0000_0006_7886;

    /// `BRA` to the instruction `distance` before it. The target is counted in words of four bytes from the end of the
    /// branch; its lowest 8 bits and its upper 48 bits are two fields.
    const fn back(distance: i64) -> u128 {
        let words = (-4 * (distance + 1)).cast_unsigned() as u128;
        0x000f_ea00_0380_0000_0000_0000_0000_7947 | (words & 0xff) << 16 | (words >> 8 & 0xffff_ffff_ffff) << 34
    }

    fn kernel(words: &[u128]) -> Kernel {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Kernel::decode("sample", &code, Arch::new(90).unwrap()).unwrap()
    }

    /// The region of a loop over `body`.
    fn region(body: &[u128]) -> Region {
        let mut words = vec![CLOCK];
        words.extend(body);
        words.extend([back(i64::try_from(body.len()).unwrap()), CLOCK, EXIT]);
        timed_region(&kernel(&words)).unwrap()
    }

    fn verdict(
        baseline: &[u128],
        test: &[u128],
        expected: &ExpectedInstructions,
        unroll: u32,
    ) -> (&'static str, String) {
        let evidence = judge(&region(baseline), &region(test), expected, unroll);
        let kind = match &evidence {
            Evidence::Present { .. } => "present",
            Evidence::Substituted { .. } => "substituted",
            Evidence::Elided { .. } => "elided",
            Evidence::NotAvailable(_) => "not available",
        };
        assert!(evidence.listing().unwrap().contains("baseline\nkernel sample"));
        (kind, evidence.summary().unwrap().to_owned())
    }

    #[test]
    fn the_expected_instruction_is_named_with_its_counts() {
        let expected = ExpectedInstructions::of(&["RED.ADD", "REDG.ADD"]);
        let found = verdict(&[RED; 2], &[RED; 4], &expected, 2);
        assert_eq!(found, ("present", "REDG.E.ADD.STRONG.GPU 2/4".to_owned()));
        let with_context = verdict(&[RED, RED, RED, NOP], &[RED, RED, RED, RED, RED, NOP], &expected, 2);
        assert_eq!(with_context, ("present", "REDG.E.ADD.STRONG.GPU 3/5".to_owned()));
    }

    #[test]
    fn an_operation_may_take_several_instructions() {
        let expected = ExpectedInstructions::of(&["REDG.ADD"]).times(2);
        assert_eq!(verdict(&[RED; 2], &[RED; 4], &expected, 1).0, "present");
        assert_eq!(verdict(&[RED; 1], &[RED; 2], &expected, 1).0, "elided");
    }

    #[test]
    fn each_instruction_has_its_own_count() {
        let expected = ExpectedInstructions::of(&["REDG"]).times(2);
        let found = verdict(&[RED, MAX], &[RED, MAX, RED, MAX], &expected, 1);
        assert_eq!(found.1, "REDG.E.ADD.STRONG.GPU 1/2, REDG.E.MAX.S32.STRONG.SYS 1/2");
        let with_context = verdict(&[MAX, RED, RED], &[MAX, RED, RED, RED, RED], &expected, 1);
        assert_eq!(with_context.1, "REDG.E.ADD.STRONG.GPU 2/4", "the other one is of both loops");
    }

    #[test]
    fn functions_after_the_last_exit_are_of_the_kernel() {
        let executed = |words: &[u128]| super::super::executed(&kernel(words)).count();
        assert_eq!(executed(&[RED, EXIT, back(0), NOP, NOP]), 2);
        assert_eq!(executed(&[RED, EXIT, RED, back(1), back(0), NOP]), 4);
        assert_eq!(executed(&[NOP]), 0);
    }

    #[test]
    fn a_substitute_is_named() {
        let expected = ExpectedInstructions::of(&["WARPSYNC"]).or_substitutes(&["NOP"]);
        let found = verdict(&[NOP; 2], &[NOP; 4], &expected, 2);
        assert_eq!(found, ("substituted", "NOP 2/4 for WARPSYNC, each with a stall count of 1".to_owned()));
        let vote = ExpectedInstructions::of(&["VOTE.ANY"]).or_substitutes(&["VOTEU.ANY"]);
        assert_eq!(verdict(&[VOTEU], &[VOTEU; 2], &vote, 1).1, "VOTEU.ANY 1/2 for VOTE.ANY");
    }

    #[test]
    fn missing_instructions_are_reported() {
        let expected = ExpectedInstructions::of(&["RED.ADD", "REDG.ADD"]);
        assert_eq!(
            verdict(&[RED], &[RED, NOP, NOP, NOP], &expected, 2),
            ("elided", "RED.ADD 1/1 instead of 2/4; the test has 3 more NOP".to_owned())
        );
        // The same count in both: the compiler moved the addition out of the loop.
        assert_eq!(verdict(&[RED; 4], &[RED; 4], &expected, 2).1, "RED.ADD 4/4 instead of 2/4");
        // The count grows, but not as expected.
        assert_eq!(verdict(&[RED; 2], &[RED; 5], &expected, 2).0, "elided");
    }
}
