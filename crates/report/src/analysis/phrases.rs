//! Joins words, and returns nothing where there are none.

use crate::naming::enumeration;

/// Joins the parts that exist, with `between` between them; `None` if there are none.
pub(super) fn joined<T: Into<String>>(parts: impl IntoIterator<Item = Option<T>>, between: &str) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().map(Into::into).collect();
    (!parts.is_empty()).then(|| parts.join(between))
}

/// `a, b and c`; `None` if there are no words.
pub(super) fn enumerated(words: impl IntoIterator<Item = String>) -> Option<String> {
    let words: Vec<String> = words.into_iter().collect();
    (!words.is_empty()).then(|| enumeration(&words))
}
