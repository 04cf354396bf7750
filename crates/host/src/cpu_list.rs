//! Lists of CPUs as Linux writes them: `0-3,8`.

/// The numbers as text, runs of them as ranges. They may stand in any order.
///
/// ```
/// assert_eq!(syncscope_host::cpu_list::format(&[8, 0, 1, 3, 2]), "0-3,8");
/// ```
pub fn format(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b);
    let texts = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(u32::to_string).collect(),
    });
    texts.collect::<Vec<_>>().join(",")
}

/// The numbers of a list such as `0-3,8`. `None` where the text is something else, names no CPU, or names more than there
/// can be.
pub fn parse(text: &str) -> Option<Vec<u32>> {
    let run = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && last < MAX_CPUS).then_some(first..=last)
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        cpus.extend(run(part)?);
        if cpus.len() > MAX_CPUS as usize {
            return None;
        }
    }
    Some(cpus)
}

/// Linux is built for fewer CPUs than this.
pub(crate) const MAX_CPUS: u32 = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined() {
        assert_eq!(format(&[]), "");
        assert_eq!(format(&[5]), "5");
        assert_eq!(format(&[0, 1, 4, 6, 7, 8]), "0-1,4,6-8");
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(parse("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse("5"), Some(vec![5]));
        for wrong in ["", "3-1", "a", "0-", "0-99999999", "1,,2"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        // Each part is fine, and together they are gigabytes.
        let many = vec!["0-16383"; 10_000].join(",");
        assert_eq!(parse(&many), None);
    }
}
