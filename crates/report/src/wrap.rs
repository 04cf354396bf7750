//! Breaks and colours text for the terminal, and removes anything the terminal would obey.

use crate::harmless::plain;

/// Cuts a line to `width` characters. Every line of the table passes through here before it is coloured, so that the
/// terminal obeys nothing from a file.
pub(crate) fn clip(line: &str, width: usize) -> String {
    let line = plain(line);
    if line.chars().count() <= width {
        return line;
    }
    let start: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{start}…")
}

/// Breaks text between words into lines of at most `width` columns; a longer word is cut. Lines after the first begin with
/// `indent`.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let words = text.split([' ', '\n', '\t']).filter(|word| !word.is_empty());
    filled(words.map(str::to_owned), width, indent).iter().map(|line| clip(line, width)).collect()
}

/// Breaks text at spaces into lines of at most `width` characters; a longer word is broken anywhere.
pub(crate) fn wrap_all(text: &str, width: usize) -> Vec<String> {
    let pieces = |word: &str| -> Vec<String> {
        word.chars().collect::<Vec<_>>().chunks(width.max(1)).map(String::from_iter).collect()
    };
    filled(text.split_whitespace().flat_map(pieces), width, "")
}

/// Fills lines with as many words as each has room for.
fn filled(mut words: impl Iterator<Item = String>, width: usize, indent: &str) -> Vec<String> {
    let mut lines = vec![words.next().unwrap_or_default()];
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => line.extend([" ", &word]),
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines
}

/// The meaning of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Quiet,
    Good,
    Doubt,
    Bad,
}

impl Tone {
    /// Returns the text in its colour (ECMA-48, select graphic rendition), or unchanged.
    pub(crate) fn paint(self, text: &str, in_colour: bool) -> String {
        let code = match self {
            Self::Plain => return text.to_owned(),
            Self::Strong => 1,
            Self::Quiet => 2,
            Self::Good => 32,
            Self::Doubt => 33,
            Self::Bad => 31,
        };
        if in_colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three four", 9, "  "), ["one two", "  three", "  four"]);
        assert_eq!(wrap("incomprehensible", 8, ""), ["incompr…"]);
        assert_eq!(wrap("", 8, ""), [""]);
    }

    #[test]
    fn words_are_broken_only_where_they_must_be() {
        assert_eq!(wrap_all("a bb ccc dddddd", 5), ["a bb", "ccc", "ddddd", "d"]);
        assert_eq!(wrap_all("", 5), [""]);
    }
}
