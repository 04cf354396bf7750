//! The numerals of the template outside queries, each with the word after it: they are no figures of runs.

/// Numeral and the word after it, by what they are.
const ALLOWED: [(&str, &[&str]); 5] = [
    ("years and names", &[]),
    ("machine facts", &[]),
    ("parameters", &[]),
    ("the papers' own figures", &[]),
    ("counting in the text", &[]),
];

/// What stands in the template and not on the list.
pub(crate) fn unknown(template: &str) -> Vec<String> {
    let allowed: Vec<&str> = ALLOWED.iter().flat_map(|(_, words)| words.iter().copied()).collect();
    let mut unknown: Vec<String> =
        numerals(template).into_iter().filter(|found| !allowed.contains(&found.as_str())).collect();
    unknown.dedup();
    unknown
}

/// What stands on the list and not in the template.
pub(crate) fn unused(template: &str) -> Vec<&'static str> {
    let found = numerals(template);
    ALLOWED
        .iter()
        .flat_map(|(_, words)| words.iter().copied())
        .filter(|word| !found.iter().any(|one| one == word))
        .collect()
}

/// `16 threads`, `2024`: every numeral, and the word after it unless a sentence, a clause or a cell ends before it.
fn numerals(template: &str) -> Vec<String> {
    let text = prose(template);
    let mut found = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let word =
            word.trim_matches(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '%' | '^' | '.' | ','));
        if !word.chars().any(|letter| letter.is_ascii_digit()) {
            continue;
        }
        let ends = word.ends_with([',', '.', ';', ':', ')']);
        let word = word.trim_end_matches([',', '.', ';', ':', ')']);
        let next =
            words.peek().filter(|_| !ends).map(|next| next.trim_matches(|letter: char| !letter.is_alphanumeric()));
        match next.filter(|next| !next.is_empty() && next.chars().all(char::is_alphabetic)) {
            Some(next) => found.push(format!("{word} {next}")),
            None => found.push(word.to_owned()),
        }
    }
    found
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
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerals_stand_with_the_word_after_them() {
        let text = "With 16 threads it takes {{a b : ns.1}} us, 1.40 us. In (IISWC 2024), `x2` and [results/h200](../results/h200) 3.";
        assert_eq!(numerals(text), ["16 threads", "1.40 us", "2024", "3"]);
        assert_eq!(unknown("It takes 77.7 us."), ["77.7 us"]);
    }
}
