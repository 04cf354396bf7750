//! The group of a case: a variant of a primitive, or a class of a machine-level study. Its words stand in files.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// Stands for the number in the word of a group.
const PLACE: &str = "#";

/// What the column `group` says: a word that the crate of the primitive chooses, with at most one number in it, such as `near`,
/// `tile 16` and `spin 10 us`. Ordered by the word, then by the number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Group {
    word: Cow<'static, str>,
    number: Option<u32>,
}

impl Group {
    /// A group without a number: `near`.
    pub const fn named(word: &'static str) -> Self {
        Self { word: Cow::Borrowed(word), number: None }
    }

    /// A group with a number, which stands at the `#` of the word: `tile #`, `spin # us`.
    pub const fn numbered(word: &'static str, number: u32) -> Self {
        Self { word: Cow::Borrowed(word), number: Some(number) }
    }

    /// The group that a file calls so. Every text is one, and is written as it was read.
    pub fn of_word(text: &str) -> Self {
        let parts: Vec<&str> = text.split(' ').collect();
        let number = |part: &&str| part.parse().ok().filter(|number: &u32| number.to_string() == **part);
        let found = parts.iter().enumerate().find_map(|(place, part)| Some((place, number(part)?)));
        let numbered = found.map(|(place, number)| {
            let mut parts = parts.clone();
            parts[place] = PLACE;
            Self { word: parts.join(" ").into(), number: Some(number) }
        });
        let as_read = numbered.filter(|group| group.to_string() == text);
        as_read.unwrap_or_else(|| Self { word: text.to_owned().into(), number: None })
    }

    /// The word, with `#` where its number stands.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// The number.
    pub const fn number(&self) -> Option<u32> {
        self.number
    }

    /// The number of a group of this word.
    pub fn number_of(&self, word: &str) -> Option<u32> {
        self.number.filter(|_| self.word == word)
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => f.pad(&self.word.replacen(PLACE, &number.to_string(), 1)),
            None => f.pad(&self.word),
        }
    }
}

impl FromStr for Group {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::of_word(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_in_the_words() {
        let groups = [
            ("near", Group::named("near")),
            ("node 0", Group::numbered("node #", 0)),
            ("tile 16", Group::numbered("tile #", 16)),
            ("5 us", Group::numbered("# us", 5)),
            ("spin 10 us", Group::numbered("spin # us", 10)),
            ("7", Group::numbered("#", 7)),
            ("two words", Group::named("two words")),
        ];
        for (text, group) in groups {
            assert_eq!((Group::of_word(text), group.to_string().as_str()), (group.clone(), text));
        }
        let tile = Group::of_word("tile 16");
        assert_eq!((tile.word(), tile.number(), tile.number_of("tile #")), ("tile #", Some(16), Some(16)));
        assert_eq!(tile.number_of("cluster #"), None);
    }

    #[test]
    fn every_text_is_written_as_it_was_read() {
        for text in ["tile 04", "tile -1", " us", "+5 us", "cluster 99999999999", "spin 010 us", "", " ", "tile  "] {
            assert_eq!((Group::of_word(text).word(), Group::of_word(text).number()), (text, None));
        }
        for text in ["# 5", "5 #", "# #", "a#b 5 #", "1 2", "tile 4 "] {
            assert_eq!(Group::of_word(text).to_string(), text);
        }
    }

    #[test]
    fn groups_of_one_word_are_ordered_by_number() {
        assert!(Group::of_word("5 us") < Group::of_word("10 us"));
    }
}
