//! Maps words that people search for to the study that answers them: where it is on the page, or why this machine has none
//! and which stored run of another machine shows it.

use serde::Serialize;

use crate::RunData;

/// Words of a search, and where they lead.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Topic {
    /// Beginnings of the words that match.
    words: &'static [&'static str],
    text: String,
    /// The part of the page with the study.
    figure: Option<&'static str>,
}

/// A study: its words, its card, whether the machine has the parts, and the text if not.
type Study = (&'static [&'static str], &'static str, fn(&RunData) -> bool, &'static str);

const SMT: &[&str] = &["hyperthread", "hyper-thread", "smt", "sibling"];
const PLACES: &[&str] = &["numa", "socket", "package", "ccx", "chiplet"];

const STUDIES: [Study; 2] = [
    (
        SMT,
        "decide-smt",
        |data| data.run.machine.cpu.hardware_threads > data.run.machine.cpu.cores,
        "every core appears to have one hardware thread (a virtual machine may hide others). On machines with several hardware threads per core, \
         the page compares one thread per core with all hardware threads, and a hand-off within a core with one \
         between cores; see \
         results/core-to-core (Ryzen 5950X) and results/published-system1",
    ),
    (
        PLACES,
        "decide-levels",
        |data| data.run.machine.cpu.numa_nodes.max(data.run.machine.cpu.packages) > 1,
        "the machine has one NUMA node and one socket. On machines with several NUMA nodes or sockets, the page compares hand-offs, \
         teams and memory lines within and across them; see results/core-to-core (EPYC 7742, two sockets)",
    ),
];

/// The topics of a run. `decided` are the cards of its page.
pub(crate) fn topics(data: &RunData, decided: &[&'static str]) -> Vec<Topic> {
    let of = |(words, card, has_parts, without): Study| {
        let has_matrix = || data.rows.iter().any(|row| row.case.primitive == super::matrix::PRIMITIVE);
        let figure = decided.iter().copied().find(|id| *id == card);
        let figure = figure.or_else(|| (has_parts(data) && has_matrix()).then_some("core-to-core"));
        let text = match figure {
            Some(_) => "The study is here:".to_owned(),
            None if has_parts(data) => {
                "The machine allows this comparison, but the run did not measure it; `syncscope run` does.".to_owned()
            }
            None => format!("There is nothing to compare here: {without}."),
        };
        Topic { words, text, figure }
    };
    // A run that describes no machine is not told what it lacks.
    if data.run.machine.cpu.cores == 0 { Vec::new() } else { STUDIES.into_iter().map(of).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_to_a_study_or_say_what_one_would_show() {
        let mut data = crate::testing::data(Vec::new());
        assert_eq!(topics(&data, &[]), [], "nothing is known of the machine");
        (data.run.machine.cpu.cores, data.run.machine.cpu.hardware_threads) = (16, 16);
        let found = topics(&data, &[]);
        assert!(found.iter().all(|one| one.figure.is_none() && one.text.contains("see results/")), "{found:?}");
        data.run.machine.cpu.hardware_threads = 32;
        let [smt, _] = &topics(&data, &["decide-smt"])[..] else { panic!("two studies") };
        assert_eq!(smt.figure, Some("decide-smt"));
        assert!(topics(&data, &[])[0].text.contains("the run did not measure it"));
    }
}
