//! Lists of CPUs as the kernel writes them: `0-3,8`.

/// The first and last CPUs in a list such as `0-3,8`; `None` for other texts.
fn ranges(list: &str) -> Option<Vec<(u32, u32)>> {
    let part = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let ends: (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        (ends.0 <= ends.1).then_some(ends)
    };
    list.trim().split(',').map(part).collect()
}

/// The number of CPUs in a list.
pub(crate) fn list_length(list: &str) -> Option<usize> {
    ranges(list).map(|ranges| ranges.iter().map(|(from, to)| (to - from) as usize + 1).sum())
}

/// Whether one of these CPUs is in a list.
pub(crate) fn list_has_any(list: &str, cpus: &[u32]) -> bool {
    let is_in = |cpu: &u32| ranges(list).unwrap_or_default().iter().any(|(from, to)| (from..=to).contains(&cpu));
    cpus.iter().any(is_in)
}
