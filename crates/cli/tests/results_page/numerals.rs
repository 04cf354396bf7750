//! The numerals of the template outside queries: phrases that are no figures of runs. Words such as `H200` are names.

/// Phrases, by what they are.
const ALLOWED: [(&str, &[&str]); 4] = [
    (
        "years and numbers in the text",
        &[
            "IPDPS 2020)",
            "IISWC 2024)",
            "**Table 1, one",
            "**Table 4, barriers",
            "**Table 5, blocks",
            "formula 2 gives",
            "**Listing 1, five",
            "figures 9 and 10,",
            "with reduction 5, figure with 3, figure with 4, figure with 2 and figure with 1.",
            "\"5 is 2.5 times faster than 2\"",
            "1 and 2 are the same",
            "makes 2 of 1.",
            "95th percentile",
        ],
    ),
    (
        "facts of the machines and of the instruction set",
        &[
            "driver 580, CUDA 13.0,",
            "at 1.98 GHz",
            "clock 1.98 GHz",
            "two machines with 16 CPUs",
            "preset on 16 CPUs",
            "machine with 64 CPUs",
            "128 KiB fit",
            "64-bit integers",
            "32-bit ones",
        ],
    ),
    (
        "parameters of cases",
        &[
            "barrier of 64 threads",
            "figure cycles with 32 threads in a block and figure with 1,024,",
            "With 32 blocks on each multiprocessor eight counters",
            "132 blocks of 32 threads.) The cheapest",
            "for kernels of 5, 20 and 100 us:",
            "| launch | 5 us | 20 us | 100 us |",
            "figure for eight, figure for 32.",
            "32 warps of one block",
            "32 blocks of one warp",
            "cycles at 1 block per multiprocessor, figure at 4, figure at 16, figure at 32. At 1 block, 32 and 1,024 threads",
            "At 32 threads one counter",
            "With 32 blocks of 64 threads",
            "At 8 blocks the counter",
            "for 32, 256 and 1,024 threads on four",
            "for 32 blocks of 32 threads on each",
            "one block of 32 threads on each",
            "kernels that last 5 us",
            "eight blocks of 32 threads",
            "with 32, 256 and 1,024 threads outside",
            "grid barrier of 32 threads",
            "difference of 512 repetitions",
            "one of 8,192)",
            "from 8,704 additions on",
            "and 32 blocks of 32 threads",
            "with 40 threads of the first",
            "tiles of 1 to 32 threads and coalesced groups of 1 to 32,",
            "a tile of 4 takes",
            "one kernel of 132 blocks more",
            "With 132 blocks of 32 threads on both sides",
            "with 6 to 16 blocks.",
            "With 17 to 19 blocks it",
            "with 21 to 24 only",
            "With 25 to 32 blocks it",
            "and figure of 1,024 threads V100",
            "64 blocks run in waves",
            "With 32 threads in a block a barrier",
            "with 1,024 figure % more",
            "Blocks of 1,024 threads take",
            "| 132 warps | 132 x 1,024 threads |",
            "figure for 132 of them",
            "| 2 threads | 16 threads |",
            "With 16 threads takes",
            "64 bytes apart",
            "additions of 16 threads",
            "With 16 threads: |",
            "Jain's index 1 is fair",
            "2^28 elements",
            "us at 2^10 elements, two",
            "us at 2^10 elements, by",
            "barrier 8 blocks)",
            "with 32 threads, and figure instead of figure with 1,024. Its",
        ],
    ),
    (
        "the papers' own figures",
        &[
            "6.0 us for two.",
            "V100: 4)",
            "V100: 7)",
            ": 219, 201 and 19)",
            "about 5.6 hours",
            "378 to 384 cycles are really 56 to 58.",
        ],
    ),
];

/// The words with digits that are no part of a phrase on the list, each with its neighbours.
pub(crate) fn unknown(template: &str) -> Vec<String> {
    let mut text = prose(template);
    let mut phrases: Vec<&str> = phrases().collect();
    // A phrase may be a part of a longer one.
    phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
    for phrase in phrases {
        text = text.replace(phrase, " ");
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_figure = |word: &str| {
        let word = word.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        word.starts_with(|letter: char| letter.is_ascii_digit())
    };
    let around = |at: usize| words[at.saturating_sub(3)..words.len().min(at + 4)].join(" ");
    (0..words.len()).filter(|at| is_figure(words[*at])).map(around).collect()
}

/// What stands on the list and not in the template.
pub(crate) fn unused(template: &str) -> Vec<&'static str> {
    let text = prose(template);
    phrases().filter(|phrase| !text.contains(phrase)).collect()
}

fn phrases() -> impl Iterator<Item = &'static str> {
    ALLOWED.iter().flat_map(|(_, phrases)| phrases.iter().copied())
}

/// The text without queries, code, and addresses of links.
fn prose(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        text.push_str(" figure ");
        rest = after.split_once("}}").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['`', '(']) {
        plain.push_str(&rest[..at]);
        let is_link = rest[..at].ends_with(']');
        let (open, close) = if rest[at..].starts_with('`') { ('`', '`') } else { ('(', ')') };
        let inside = &rest[at + 1..];
        match inside.find(close) {
            Some(end) if open == '`' || is_link => rest = &inside[end + 1..],
            _ => {
                plain.push(' ');
                rest = inside;
            }
        }
    }
    plain.push_str(rest);
    // The text of a link to a run is its name.
    let mut words = String::new();
    let mut rest = plain.as_str();
    while let Some((before, after)) = rest.split_once("[results/") {
        words.push_str(before);
        rest = after.split_once(']').map_or("", |(_, after)| after);
    }
    words.push_str(rest);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerals_outside_queries_and_phrases_are_found() {
        let text =
            "An H200 takes {{a b : ns.1}} us, but\nhere 77.7 us ([results/h200-x4](../results/h200-x4), `x2`) (3).";
        assert_eq!(unknown(text), ["us, but here 77.7 us , )", "us , ) 3)."]);
    }
}
