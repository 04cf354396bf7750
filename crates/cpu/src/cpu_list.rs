//! Lists of CPUs as Linux writes them: `0-3,8`.

/// The numbers as text, runs of them as ranges. They may stand in any order.
///
/// ```
/// assert_eq!(syncscope_cpu::cpu_list::format(&[8, 0, 1, 3, 2]), "0-3,8");
/// ```
#[must_use]
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

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn ranges_are_joined() {
        assert_eq!(format(&[]), "");
        assert_eq!(format(&[5]), "5");
        assert_eq!(format(&[0, 1, 4, 6, 7, 8]), "0-1,4,6-8");
    }
}
