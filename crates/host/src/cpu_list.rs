//! Lists of CPUs as Linux writes them: `0-3,8`.

/// The numbers as text, with runs written as ranges. They may be in any order.
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

/// The numbers of a list such as `0-3,8`; `0-31:2` takes every second one (`taskset`), `0-31:2/8` two of every eight (Linux's
/// `bitmap_parselist`). `None` where the text is something else, names no CPU, or names more than there
/// can be.
pub fn parse(text: &str) -> Option<Vec<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let run = |part: &str| {
        let (range, step) = part.split_once(':').map_or((part, None), |(range, step)| (range, Some(step)));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number(first)?, number(last)?);
        let (used, group) = match step.map(|step| step.split_once('/').unwrap_or(("1", step))) {
            None => (1, 1),
            Some((used, group)) => (number(used)?, number(group)?),
        };
        let is_list = first <= last && last < MAX_CPUS && (1..=group).contains(&used);
        is_list.then(|| (first..=last).filter(move |cpu| (cpu - first) % group < used))
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

/// The limit on CPU numbers: Linux is built for fewer CPUs.
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
        assert_eq!(parse("0-7:2,9-11:3"), Some(vec![0, 2, 4, 6, 9]));
        assert_eq!(parse("1-9:2/4"), Some(vec![1, 2, 5, 6, 9]));
        for wrong in ["0-7:", "0-7:0", "0-7:3/2", "0-7:0/4", "0-7:x", "0-7:1/0", ":2"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        for wrong in ["", "3-1", "a", "0-", "0-99999999", "1,,2"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        // Each part is valid, but together the parts take gigabytes.
        let many = vec!["0-16383"; 10_000].join(",");
        assert_eq!(parse(&many), None);
    }
}
