//! Enums stored as words in files: one list gives `as_str`, `Display`, `FromStr`, serde and all values.

/// The error about a word in a file that is none of the words that may be there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {kind} `{found}`; expected one of {expected}")]
pub struct UnknownWord {
    /// The kind of thing that the word should have named.
    pub kind: &'static str,
    /// The word found.
    pub found: String,
    /// The words that may be there.
    pub expected: String,
}

impl UnknownWord {
    /// The error about a word for `kind`, where one of `expected` would be right.
    pub fn new(kind: &'static str, found: &str, expected: &str) -> Self {
        Self { kind, found: found.to_owned(), expected: expected.to_owned() }
    }
}

/// Declares fieldless enums together with their words.
#[macro_export]
macro_rules! words {
    ($($(#[$meta:meta])* $vis:vis enum $name:ident ($kind:literal) {
        $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+
    })+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        $vis enum $name { $($(#[$vmeta])* #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// Every value, in the order of declaration.
            $vis const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word that stands for this value in files and on the command line.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::words::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                let expected = || Self::ALL.iter().map(|value| value.as_str()).collect::<Vec<_>>().join(", ");
                let unknown = || $crate::words::UnknownWord::new($kind, word, &expected());
                Self::ALL.iter().copied().find(|value| value.as_str() == word).ok_or_else(unknown)
            }
        }
    )+};
}
pub use words;
