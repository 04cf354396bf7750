//! The languages that `syncscope measure` takes, by the endings of their files.

use std::path::Path;

/// A language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C, and headers, which may be in any of these languages.
    C,
    /// C++.
    Cpp,
    /// CUDA C++.
    Cuda,
}

const ENDINGS: [(Language, &[&str]); 3] = [
    (Language::C, &["c", "h", "inc"]),
    (Language::Cpp, &["cc", "cpp", "cxx", "c++", "C", "hh", "hpp", "hxx", "h++", "H", "ipp", "tpp"]),
    (Language::Cuda, &["cu", "cuh"]),
];

impl Language {
    /// Returns the language by the ending of a file's name; `None` for any other ending, or for none.
    pub fn of(file: &str) -> Option<Self> {
        let ending = ending(file)?;
        ENDINGS.into_iter().find(|(_, endings)| endings.contains(&ending)).map(|(language, _)| language)
    }
}

/// The ending of a file's name.
pub fn ending(file: &str) -> Option<&str> {
    Path::new(file).extension()?.to_str()
}
