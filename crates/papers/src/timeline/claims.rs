//! Tests the source's statements on the figures of this device.

use syncscope_report::naming::enumeration;
use syncscope_report::{Finding, Paper, Truth};

use super::{Snippet, Timeline, Version};
use crate::Claim;

/// The figures of the source, on a Turing GPU.
const SOURCE: &str = "378 to 384 cycles naive and 56 to 58 corrected";

/// "Something else": the corrected figure is below this fraction of the naive one. The source has 15 %.
const SOMETHING_ELSE: f64 = 0.5;

/// All claims; none for a user's region. The second claim needs figures of some snippet.
pub(super) fn claims(timeline: &Timeline) -> Vec<Finding> {
    if timeline.figures.iter().any(|figure| figure.snippet == Snippet::Own) {
        return Vec::new();
    }
    let claims = std::iter::once(shared_memory(timeline)).chain(waits(timeline));
    Claim::findings(Paper::Assembler, "assembler.timeline", claims)
}

fn shared_memory(timeline: &Timeline) -> Claim {
    let claim = |truth, figures| Claim {
        statement: "For the shared-memory snippet, naive clock reads time more than the snippet; corrected reads \
                    give less than half as many cycles.",
        place: "the post's figures",
        truth,
        figures,
    };
    let figure = |version| timeline.figure(Snippet::SharedMemory, version);
    match (figure(Version::Naive), figure(Version::Corrected), timeline.corrected_to_naive(Snippet::SharedMemory)) {
        (Some(naive), Some(corrected), Some(fraction)) => {
            let holds = fraction < SOMETHING_ELSE;
            // The naive figure includes the way to global memory only if the compiler left the wait for it between the
            // reads.
            let why =
                if holds { "" } else { "; the machine code below shows where the compiler waits for the addresses" };
            let figures = format!(
                "in the last round, naive reads give {:.0} to {:.0} cycles and corrected ones {:.0} to {:.0} ({:.0} %); the post has \
                 {SOURCE}{why}",
                naive.shortest_cycles,
                naive.longest_cycles,
                corrected.shortest_cycles,
                corrected.longest_cycles,
                100.0 * fraction
            );
            claim(Some(holds).into(), figures)
        }
        _ => claim(Truth::Open, format!("not measured here; the post has {SOURCE}")),
    }
}

/// Tests in which snippets the naive figure is smaller than the corrected one: the clock was read before the result was
/// there.
fn waits(timeline: &Timeline) -> Option<Claim> {
    let ratios: Vec<(Snippet, f64)> =
        Snippet::ALL.iter().filter_map(|&snippet| Some((snippet, timeline.corrected_to_naive(snippet)?))).collect();
    let early: Vec<String> = ratios
        .iter()
        .filter(|(_, ratio)| *ratio > 1.0)
        .enumerate()
        .map(|(at, (snippet, ratio))| format!("{ratio:.2} times {}{snippet}", if at == 0 { "the naive one for " } else { "for " }))
        .collect();
    (!ratios.is_empty()).then(|| Claim {
        statement: "Loads have a variable latency: if the closing clock read does not wait for them, it times only \
                    their issue.",
        place: "the post's explanation of barriers in machine code",
        truth: Some(!early.is_empty()).into(),
        figures: if early.is_empty() { String::new() } else { format!("the corrected figure is {}", enumeration(&early)) },
    })
}

#[cfg(test)]
mod tests {
    use syncscope_report::Truth::{Fails, Holds, Open};

    use super::super::Figure;
    use super::*;

    fn figure(snippet: Snippet, version: Version, median_cycles: f64) -> Figure {
        Figure {
            snippet,
            version,
            round: 1,
            warps: 4,
            launches: 1,
            shortest_cycles: median_cycles - 2.0,
            median_cycles,
            longest_cycles: median_cycles + 2.0,
            resolution_cycles: 1.0,
            clock_hz: None,
        }
    }

    fn timeline(naive: f64, corrected: f64) -> Timeline {
        let of = |version, cycles| figure(Snippet::SharedMemory, version, cycles);
        let figures = vec![of(Version::Naive, naive), of(Version::Corrected, corrected)];
        Timeline { figures, spans: vec![], edits: vec![], code: vec![], clocks: vec![] }
    }

    #[test]
    fn the_source_s_figures_hold_and_others_do_not() {
        let holds =
            |timeline: &Timeline| claims(timeline).iter().map(|claim| claim.outcome.verdict).collect::<Vec<_>>();
        assert_eq!(holds(&timeline(381.0, 57.0)), [Holds, Fails]);
        assert_eq!(holds(&timeline(24.0, 467.0)), [Fails, Holds]);
        let empty = Timeline { figures: vec![], ..timeline(1.0, 1.0) };
        assert_eq!(holds(&empty), [Open]);
        assert!(
            claims(&timeline(381.0, 57.0))[0]
                .outcome
                .sentence
                .starts_with("in the last round, naive reads give 379 to 383 cycles and corrected ones 55 to 59 (15 %)")
        );
    }
}
