//! Splits a C-like source into tokens, skipping comments and the text between `#if 0` and its end.

use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Number,
    /// A text or a character between quotes.
    Text,
    /// One sign, or `::` or `->`.
    Sign,
    /// The `#` of a directive.
    Directive,
}

/// A token, by its place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// All tokens of a source, in their order.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let (mut at, mut begins_line) = (0, true);
    while let Some(&byte) = source.as_bytes().get(at) {
        let rest = &source[at..];
        if byte == b'\n' {
            begins_line = true;
        }
        let length = blank(rest);
        if length > 0 {
            at += length;
            continue;
        }
        if byte == b'#' && begins_line {
            let skipped = never_compiled(rest);
            if skipped > 0 {
                at += skipped;
                continue;
            }
        }
        let (kind, length) = token(rest, begins_line);
        begins_line = false;
        found.push(Token { kind, range: at..at + length });
        at += length;
    }
    found
}

/// The length of the space, comment or continued line that begins a text; 0 where a token begins.
fn blank(rest: &str) -> usize {
    let first = rest.as_bytes()[0];
    if first.is_ascii_whitespace() {
        1
    } else if rest.starts_with("//") {
        // A line that ends with a backslash continues.
        let mut end = 0;
        for line in rest.split_inclusive('\n') {
            end += line.len();
            if !line.trim_end_matches(['\n', '\r']).ends_with('\\') {
                end -= usize::from(line.ends_with('\n'));
                break;
            }
        }
        end
    } else if let Some(comment) = rest.strip_prefix("/*") {
        comment.find("*/").map_or(rest.len(), |end| end + 4)
    } else {
        usize::from(first == b'\\')
    }
}

/// The kind and length of the token that begins a text.
fn token(rest: &str, begins_line: bool) -> (Kind, usize) {
    let bytes = rest.as_bytes();
    let word = bytes.iter().take_while(|byte| is_word(**byte)).count();
    let after = &rest[word..];
    let is_prefix = ["", "L", "u", "U", "u8", "R", "LR", "uR", "UR", "u8R"].contains(&&rest[..word]);
    if is_prefix && after.starts_with('"') && rest[..word].ends_with('R') {
        return (Kind::Text, word + raw_text(after));
    }
    if is_prefix && after.starts_with(['"', '\'']) {
        return (Kind::Text, word + text(after));
    }
    match bytes[0] {
        byte if byte.is_ascii_digit() => (Kind::Number, number(bytes)),
        byte if is_word(byte) => (Kind::Word, word),
        b'#' if begins_line => (Kind::Directive, 1),
        _ if rest.starts_with("::") || rest.starts_with("->") => (Kind::Sign, 2),
        _ => (Kind::Sign, rest.chars().next().map_or(1, char::len_utf8)),
    }
}

/// The length of a quoted text, which ends at the end of the line if no quote closes it.
fn text(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return at,
            _ if byte == bytes[0] => return at + 1,
            _ => at += 1,
        }
    }
    // The last byte may be the backslash of an escape.
    rest.len()
}

/// The length of `"delimiter(...)delimiter"`.
fn raw_text(rest: &str) -> usize {
    let Some((delimiter, _)) = rest[1..].split_once('(') else { return rest.len() };
    let end = format!("){delimiter}\"");
    rest.find(&end).map_or(rest.len(), |at| at + end.len())
}

/// The length of a number, which may have `'` between digits and a sign behind its exponent.
fn number(bytes: &[u8]) -> usize {
    let goes_on = |at: usize| {
        let follows = |byte: &u8| is_word(*byte);
        match bytes.get(at) {
            Some(b'\'') => bytes.get(at + 1).is_some_and(follows),
            Some(b'+' | b'-') => matches!(bytes[at - 1], b'e' | b'E' | b'p' | b'P') && !bytes.starts_with(b"0x"),
            Some(byte) => is_word(*byte) || *byte == b'.',
            None => false,
        }
    };
    (1..bytes.len()).find(|at| !goes_on(*at)).unwrap_or(bytes.len())
}

/// The length of `#if 0` up to the line of its `#else`, `#elif` or `#endif`; 0 for other directives.
fn never_compiled(rest: &str) -> usize {
    fn directive(line: &str) -> Option<&str> {
        Some(line.trim_start().strip_prefix('#')?.trim_start())
    }
    let condition = directive(rest.lines().next().unwrap_or_default()).and_then(|words| words.strip_prefix("if"));
    if condition.is_none_or(|condition| !condition.starts_with([' ', '\t']) || condition.trim() != "0") {
        return 0;
    }
    let (mut depth, mut end) = (0, 0);
    for line in rest.split_inclusive('\n') {
        let words = directive(line).unwrap_or_default();
        if words.starts_with("if") {
            depth += 1;
        } else if (words.starts_with("endif") || (words.starts_with("el") && depth == 1)) && end > 0 {
            depth -= 1;
            if depth == 0 {
                return end;
            }
        }
        end += line.len();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        tokens(source).into_iter().map(|token| &source[token.range]).collect()
    }

    #[test]
    fn comments_have_no_tokens_and_texts_are_one() {
        assert_eq!(words("a // b \\\n c\nd /* e\n f */ g"), ["a", "d", "g"]);
        assert_eq!(
            words(r#"f("a // \" b", 'c', L"d", R"x(y)" z)x")"#),
            ["f", "(", r#""a // \" b""#, ",", "'c'", ",", "L\"d\"", ",", r#"R"x(y)" z)x""#, ")"]
        );
        assert_eq!(
            words("1'000 0x1p-2 1e+5f a->b::c 'x' "),
            ["1'000", "0x1p", "-", "2", "1e+5f", "a", "->", "b", "::", "c", "'x'"]
        );
    }

    #[test]
    fn what_is_never_compiled_has_no_tokens() {
        assert_eq!(words("#if 0\na\n#if b\nc\n#endif\nd\n#else\ne\n#endif\nf"), ["#", "else", "e", "#", "endif", "f"]);
        assert_eq!(words("#if 0x\na\n#endif"), ["#", "if", "0x", "a", "#", "endif"]);
        assert_eq!(words("x\n# if 0\na"), ["x"]);
    }

    /// Every byte that is not blank belongs to exactly one token, in any text.
    #[test]
    fn no_text_is_too_strange() {
        for source in ["\"", "'\\", "R\"(", "/*", "#if 0", "1'", "\\", "é→", "a\"\\\n\"b", "R\"x", "//\\"] {
            let mut at = 0;
            for token in tokens(source) {
                assert!(token.range.start >= at && token.range.end > token.range.start, "{source}");
                at = token.range.end;
                assert!(source.get(token.range).is_some(), "{source}");
            }
            assert!(at <= source.len());
        }
    }
}
