//! Colour for a terminal, where it is wanted.

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Strong,
    Quiet,
    Doubt,
    Bad,
}

/// Paints, or leaves text as it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    pub(super) colour: bool,
}

impl Paint {
    /// The text in the colour of its tone (ECMA-48 SGR, the codes every terminal knows).
    pub(super) fn text(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Strong => 1,
            Tone::Quiet => 2,
            Tone::Doubt => 33,
            Tone::Bad => 31,
        };
        if self.colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
