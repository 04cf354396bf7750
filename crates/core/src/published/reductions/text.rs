//! Variants as text, for the page and the terminal.

use super::variants::variant;

/// The name of the variant with this id; the id where there is none.
#[must_use]
pub fn name(id: &str) -> String {
    variant(id).map_or_else(|| id.to_owned(), |variant| variant.name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_have_their_names() {
        assert_eq!((name("device.graph").as_str(), name("unknown").as_str()), ("graph of two kernels", "unknown"));
    }
}
