//! Escapes text for HTML.

use crate::harmless::steers;

/// Units that no line break separates from their number; `dom.js` has the same list for the page's script.
const UNITS: [&str; 18] = [
    "ns", "µs", "ms", "s", "%", "times", "cycles", "bytes", "threads", "million", "billion", "B", "KiB", "MiB", "GiB",
    "TiB", "MHz", "GHz",
];

/// Escapes every character that has a meaning in an element or in a quoted attribute, and puts no-break spaces between
/// numbers and units.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        match character {
            ' ' if is_before_unit(text, at) => escaped.push('\u{a0}'),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            other => escaped.push(if steers(other) { '\u{fffd}' } else { other }),
        }
    }
    escaped
}

/// Whether the space at this place separates a number from its unit.
fn is_before_unit(text: &str, at: usize) -> bool {
    let word = text[at + 1..].split(|next: char| !next.is_alphabetic() && next != '%').next();
    text[..at].ends_with(|before: char| before.is_ascii_digit()) && word.is_some_and(|word| UNITS.contains(&word))
}

/// Escapes every character that could end or disturb the `script` element around the JSON, and replaces those that hide or
/// reorder text. In JSON these characters occur only inside strings, where the escape has the same meaning.
pub(crate) fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => escaped.extend([format!("\\u{:04x}", u32::from(letter))]),
            other => escaped.push(if steers(other) { '\u{fffd}' } else { other }),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_does_not_become_markup() {
        assert_eq!(escape("<a href='x' b=\"&\">"), "&lt;a href=&#39;x&#39; b=&quot;&amp;&quot;&gt;");
    }

    #[test]
    fn numbers_stay_beside_their_units() {
        assert_eq!(escape("1.5 ns, 2 warps of 4 µs (±3 %)"), "1.5\u{a0}ns, 2 warps of 4\u{a0}µs (±3\u{a0}%)");
        assert_eq!(escape("a 5 sets s"), "a 5 sets s");
    }

    #[test]
    fn json_is_unchanged_by_the_script_element() {
        let text = "</script><!-- & \u{2028}";
        let json = escape_json(&serde_json::to_string(text).unwrap());
        assert!(!json.contains(['<', '>', '&', '\u{2028}']));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
