//! Finds the orderings in the text of an `asm` statement: PTX, and the fences of x86-64 and AArch64.

use std::ops::Range;

use crate::{Change, Step};

/// The place of an ordering in a text, or why it is not tried.
pub(crate) type Found = (Range<usize>, Result<Vec<Change>, &'static str>);

/// The orderings in a text, which is given with its quotes, as in the source.
pub(crate) fn find(text: &str, is_gpu: bool) -> Vec<Found> {
    instructions(text).filter_map(|(at, end)| if is_gpu { ptx(text, at, end) } else { fence(text, at, end) }).collect()
}

/// The instructions of a text: the range of each one's first word, and the end of the instruction with its semicolon.
fn instructions(text: &str) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:".contains(&byte);
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = &text.as_bytes()[at..];
            let first = *rest.first()?;
            if first == b'\\' {
                at = (at + 2).min(text.len());
            } else if first == b'@' || first == b'%' {
                // A predicate, or an operand.
                at +=
                    1 + rest[1..].iter().take_while(|byte| is_part(**byte) || **byte == b'!' || **byte == b'%').count();
            } else if is_part(first) {
                let word = at..at + rest.iter().take_while(|byte| is_part(**byte)).count();
                let line = &text[word.end..];
                let end = [";", "\\n", "\""].iter().filter_map(|end| Some((line.find(end)?, *end))).min();
                let end =
                    end.map_or(text.len(), |(end, sign)| word.end + end + if sign == "\"" { 0 } else { sign.len() });
                at = end.max(word.end);
                return Some((word, end));
            } else {
                at += 1;
            }
        }
    })
}

const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// An instruction of PTX that orders memory or lets threads wait for each other.
fn ptx(text: &str, word: Range<usize>, end: usize) -> Option<Found> {
    let name = &text[word.clone()];
    let parts: Vec<&str> = name.split('.').collect();
    let has = |part: &str| parts.contains(&part);
    let with = |from: &str, to: &str| {
        let replaced: Vec<&str> = parts.iter().map(|part| if *part == from { to } else { *part }).collect();
        replaced.join(".")
    };
    let change = |step, to: String| Change { step, words: to.clone(), edits: vec![(word.clone(), to)] };
    let left_out =
        || Change { step: Step::LeftOut, words: "left out".to_owned(), edits: vec![(word.start..end, String::new())] };
    let mut changes = Vec::new();
    match parts[0] {
        "fence" if has("sc") => changes.extend([change(Step::Weaker, with("sc", "acq_rel")), left_out()]),
        "fence" => changes.push(left_out()),
        "membar" => {
            let narrower = [("sys", "gl"), ("gl", "cta")].into_iter().find(|(scope, _)| has(scope));
            changes.extend(narrower.map(|(scope, to)| change(Step::Narrower, with(scope, to))));
            changes.push(left_out());
        }
        "barrier" if has("cluster") && has("arrive") && !has("relaxed") => {
            let to = if has("release") { with("release", "relaxed") } else { with("arrive", "arrive.relaxed") };
            changes.push(change(Step::Weaker, to));
        }
        "barrier" if has("cluster") && has("wait") => return Some((word, Err("no wait is weaker"))),
        "bar" | "barrier" if has("red") => return Some((word, Err("its result is used"))),
        "bar" | "barrier" if !has("cluster") => changes.push(left_out()),
        "ld" | "st" | "red" | "atom" | "multimem" | "mbarrier" | "cp" | "tcgen05" => {
            if has("volatile") {
                return Some((word, Err("`volatile` names no ordering")));
            }
            changes.extend(weaker_access(&parts).into_iter().map(|(step, from, to)| change(step, with(from, to))));
        }
        _ => return None,
    }
    let orders = !changes.is_empty();
    if !["membar", "barrier", "bar"].contains(&parts[0]) && orders {
        let narrower = SCOPES.windows(2).find(|pair| has(pair[1]));
        changes.extend(narrower.map(|pair| change(Step::Narrower, with(pair[1], pair[0]))));
    }
    orders.then_some((word, Ok(changes)))
}

/// The weaker forms of an access: the modifier to replace, and its replacement.
fn weaker_access(parts: &[&str]) -> Vec<(Step, &'static str, &'static str)> {
    let has = |part: &str| parts.contains(&part);
    if has("acq_rel") {
        let weaker = |to| (Step::Weaker, "acq_rel", to);
        vec![weaker("acquire"), weaker("release"), (Step::LeftOut, "acq_rel", "relaxed")]
    } else {
        let order = ["acquire", "release"].into_iter().find(|order| has(order));
        order.map(|order| (Step::Weaker, order, "relaxed")).into_iter().collect()
    }
}

/// A fence of an x86-64 or AArch64 processor.
fn fence(text: &str, word: Range<usize>, end: usize) -> Option<Found> {
    let all = || {
        vec![Change {
            step: Step::LeftOut,
            words: "left out".to_owned(),
            edits: vec![(word.start..end, String::new())],
        }]
    };
    match text[word.clone()].to_ascii_lowercase().as_str() {
        "mfence" | "lfence" | "sfence" | "dmb" | "dsb" => Some((word.clone(), Ok(all()))),
        "pause" | "yield" | "nop" | "rep" | "isb" | "wfe" | "sev" | "sevl" => None,
        _ => Some((word, Err("assembly"))),
    }
}
