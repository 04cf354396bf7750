//! Makes text from other people's files harmless: it cannot control the terminal, hide or reorder anything, or act as a
//! formula in a spreadsheet.

use serde_json::Value;

/// Whether a character acts on the text around it: control characters, line and paragraph separators, zero-width characters,
/// and those that change the direction (Unicode Standard Annex 9; Boucher and Anderson, *Trojan Source*).
pub(crate) fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the text on one line, with U+FFFD in place of each character that steers a terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if steers(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Applies [`plain`] to each line of a text.
pub fn plain_lines(text: &str) -> String {
    text.split('\n').map(plain).collect::<Vec<_>>().join("\n")
}

/// Writes indented JSON and escapes each character that steers a terminal, as JSON itself does with the first 32.
pub fn json(value: &Value) -> String {
    let mut text = String::new();
    for letter in format!("{value:#}").chars() {
        if letter == '\n' || !steers(letter) {
            text.push(letter);
            continue;
        }
        text.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
    }
    text
}

/// A text as a cell of CSV: on one line, and with a leading apostrophe where a spreadsheet would take it for a formula (OWASP, *CSV
/// injection*). Spreadsheets pass over space in front of a formula and read full-width and small forms of its signs.
pub(crate) fn cell(text: &str) -> String {
    let text = plain(text);
    let begins = text.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '\u{fffd}');
    let is_formula = begins.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫']);
    if is_formula { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_and_all_else_stays() {
        let usual = "µs ±4 % 时间 א \u{a0}| … 🙂 =1";
        assert_eq!(plain(usual), usual);
        for letter in
            "\0\t\n\r\u{1b}\u{7f}\u{85}\u{9b}\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\u{feff}\u{e0041}"
                .chars()
        {
            let text = format!("a{letter}b");
            assert_eq!(plain(&text), "a\u{fffd}b", "{letter:?}");
            let value = Value::String(text.clone());
            let written = json(&value);
            assert!(!written.contains(letter), "{written}");
            assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value, "{letter:?}");
        }
        assert_eq!(plain_lines("a\u{1b}\nb\r\n"), "a\u{fffd}\nb\u{fffd}\n");
        assert_eq!(json(&serde_json::json!({ "a": [1] })), "{\n  \"a\": [\n    1\n  ]\n}");
    }

    #[test]
    fn no_cell_is_a_formula() {
        for sign in "=+-@＝＋－＠﹦".chars() {
            for before in ["", " ", "\u{a0}\u{3000}", "\t", "\r\n", "\u{feff}", "\0 "] {
                let found = cell(&format!("{before}{sign}1+1"));
                assert!(found.starts_with('\'') && found.ends_with("1+1"), "{found:?}");
            }
        }
        assert_eq!(cell("cpu.atomic.add =1"), "cpu.atomic.add =1");
    }
}
