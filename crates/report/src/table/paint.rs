//! Colour for the terminal.

/// The meaning of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Strong,
    Quiet,
    Good,
    Doubt,
    Bad,
}

/// Colours text, or leaves it unchanged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Painter {
    pub(crate) colour: bool,
}

impl Painter {
    /// The text in the colour of its tone (ECMA-48, select graphic rendition).
    pub(crate) fn text(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Strong => 1,
            Tone::Quiet => 2,
            Tone::Good => 32,
            Tone::Doubt => 33,
            Tone::Bad => 31,
        };
        if self.colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
