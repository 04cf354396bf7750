//! How modifiers are described: bit fields and their words. The tables are in `layouts.rs`.

use std::fmt::Write as _;

use crate::arch::Generation;
use crate::bits::Bits;

/// One bit field and its words, by value. An empty word prints nothing; a value without a word prints `INVALID<value>`,
/// as `nvdisasm` does.
pub(crate) struct Field {
    low: u32,
    width: u32,
    words: &'static [&'static str],
    /// Whether the field is used in this instruction.
    applies: fn(u128) -> bool,
}

impl Field {
    /// A field of `width` bits from bit `low` upwards.
    pub(crate) const fn new(low: u32, width: u32, words: &'static [&'static str]) -> Self {
        Self { low, width, words, applies: |_| true }
    }

    /// A bit that prints a word when it is set.
    pub(crate) const fn flag(low: u32, words: &'static [&'static str; 2]) -> Self {
        Self::new(low, 1, words)
    }

    /// A word that is always printed.
    pub(crate) const fn fixed(words: &'static [&'static str; 1]) -> Self {
        Self::new(0, 0, words)
    }

    /// The field, only in instructions for which `applies` holds.
    pub(crate) const fn when(self, applies: fn(u128) -> bool) -> Self {
        Self { applies, ..self }
    }

    fn print(&self, raw: u128, text: &mut String) {
        if !(self.applies)(raw) {
            return;
        }
        let value = raw.field(self.low, self.width);
        match self.words.get(value as usize) {
            Some(&"") => {}
            Some(word) => {
                text.push('.');
                text.push_str(word);
            }
            None => {
                // Writing to a String cannot fail.
                let _ = write!(text, ".INVALID{value}");
            }
        }
    }
}

/// The modifiers of the instructions that share a layout, in the order in which they are printed.
pub(crate) struct Layout {
    /// The lowest 12 bits of these instructions.
    pub(crate) opcodes: &'static [u16],
    /// The generations with this layout.
    pub(crate) first: Generation,
    /// The last of them.
    pub(crate) last: Generation,
    /// The fields.
    pub(crate) fields: &'static [Field],
}

impl Layout {
    fn covers(&self, opcode: u16, generation: Generation) -> bool {
        (self.first..=self.last).contains(&generation) && self.opcodes.contains(&opcode)
    }
}

/// Appends the modifiers of an instruction to its bare mnemonic.
pub(crate) fn print(layouts: &[Layout], opcode: u16, generation: Generation, raw: u128, text: &mut String) {
    let layout = layouts.iter().find(|layout| layout.covers(opcode, generation));
    for field in layout.map_or(&[][..], |layout| layout.fields) {
        field.print(raw, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        Field::fixed(&["E"]),
        Field::new(4, 2, &["CTA", "", "GPU"]),
        Field::flag(8, &["", "SPIN"]).when(|raw| raw.field(4, 2) == 0),
    ];

    fn printed(raw: u128) -> String {
        let mut text = String::new();
        for field in FIELDS {
            field.print(raw, &mut text);
        }
        text
    }

    #[test]
    fn fields_print_words_nothing_or_what_is_wrong() {
        assert_eq!(printed(0x000), ".E.CTA");
        assert_eq!(printed(0x100), ".E.CTA.SPIN");
        assert_eq!(printed(0x110), ".E");
        assert_eq!(printed(0x020), ".E.GPU");
        assert_eq!(printed(0x030), ".E.INVALID3");
    }
}
