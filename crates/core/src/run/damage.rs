//! Reads a table line by line. No cell that we write holds a line break, so a damaged line (a block of zeros after a power
//! cut, a line cut off, bytes of another file) costs its own row and no other.

use std::fmt;
use std::path::Path;

use csv::StringRecord;

use crate::RunDirectoryError;

/// The most lines of a table of rows: all pairs of 1,024 CPUs, and whatever else a run measures.
pub(crate) const MOST_ROWS: usize = 600_000;

/// The first line of a table below its header.
pub(crate) const FIRST_LINE: u64 = 2;

/// Lines of one table whose rows are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DamagedLines {
    count: usize,
    /// The numbers of the first damaged lines, from 1.
    first: Vec<u64>,
    reason: String,
    /// Columns of the table that this version does not know, which are left out.
    pub(crate) unknown: Vec<String>,
}

/// The most lines that are named.
const MOST_NAMED: usize = 5;

impl DamagedLines {
    /// Counts a line, and keeps why the first one is damaged.
    pub(crate) fn add(&mut self, line: u64, reason: impl FnOnce() -> String) {
        if self.count == 0 {
            self.reason = reason();
        }
        if self.count < MOST_NAMED {
            self.first.push(line);
        }
        self.count += 1;
    }

    /// What is wrong with the table of this name; `None` if nothing is.
    pub fn warning(&self, table: &str) -> Option<String> {
        // What a later version wrote is no damage of the file.
        let remedy = if self.unknown.is_empty() {
            "restore the file from a copy"
        } else {
            "read it with the version of syncscope that wrote it, or restore the file from a copy"
        };
        (self.count > 0).then(|| format!("damaged: {self} of {table} left out; {remedy}"))
    }

    /// Which columns of the table of this name are left out; `None` if none are.
    pub fn note(&self, table: &str) -> Option<String> {
        let names = self.unknown.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let (are, them) = if self.unknown.len() == 1 { ("column", "it") } else { ("columns", "them") };
        (!names.is_empty())
            .then(|| format!("{are} {names} of {table} left out: this version of syncscope does not know {them}"))
    }
}

/// `3 lines (7, 9 and 12; line 7: it has 3 cells and not 54)`.
impl fmt::Display for DamagedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.first.first() else { return f.write_str("no line") };
        if self.count == 1 {
            return write!(f, "line {first} ({})", self.reason);
        }
        let named: Vec<String> = self.first.iter().map(u64::to_string).collect();
        let more = if self.count > named.len() { ", ..." } else { "" };
        write!(f, "{} lines ({}{more}; line {first}: {})", self.count, named.join(", "), self.reason)
    }
}

/// A line of a table, or several where another program broke a cell: its number, its bytes, and its record or why it has none.
pub(crate) type NumberedRecord<'a> = (u64, &'a [u8], Result<StringRecord, String>);

/// The most lines over which another program breaks a cell.
const MOST_BREAKS: u64 = 16;

/// The records of these lines, each with this many cells; the first line has this `number`. A line that is no record
/// is an error with the reason. Empty lines are skipped.
pub(crate) fn records(table: &[u8], number: u64, cells: usize) -> impl Iterator<Item = NumberedRecord<'_>> {
    let (mut start, mut number) = (0, number);
    std::iter::from_fn(move || {
        while table.get(start) == Some(&b'\n') {
            (start, number) = (start + 1, number + 1);
        }
        let mut bytes = first_line(&table[start..])?;
        let (mut count, mut found) = (1, record(bytes));
        if matches!(found, Err(Unreadable::OpenQuote)) {
            // The quote may close further down. A record that it closes has as many cells as any other.
            let mut length = bytes.len();
            for further in 2..=MOST_BREAKS {
                // A line that is a record by itself ends the search.
                let is_part = |line: &&[u8]| !record(line).is_ok_and(|record| record.len() == cells);
                let Some(line) = first_line(&table[start + length..]).filter(is_part) else { break };
                length += line.len();
                let joined = &table[start..start + length];
                if let Some(record) = record(joined).ok().filter(|record| record.len() == cells) {
                    (count, bytes, found) = (further, joined, Ok(record));
                    break;
                }
            }
        }
        let line = number;
        (start, number) = (start + bytes.len(), number + count);
        Some((line, bytes, found.map_err(|why| why.to_string())))
    })
}

/// The first line with its break, if it has one; `None` at the end.
fn first_line(rest: &[u8]) -> Option<&[u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
    (end > 0).then(|| &rest[..end])
}

/// Why a line is no record.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error("it contains zero bytes")]
    ZeroBytes,
    #[error("a quote is not closed")]
    OpenQuote,
}

fn record(line: &[u8]) -> Result<StringRecord, Unreadable> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let text = std::str::from_utf8(line).map_err(|_| Unreadable::NotUtf8)?;
    if text.contains('\0') {
        return Err(Unreadable::ZeroBytes);
    }
    let quotes = text.matches('"').count();
    if quotes == 0 {
        return Ok(text.split(',').collect());
    }
    if quotes % 2 == 1 {
        return Err(Unreadable::OpenQuote);
    }
    Ok(cells(text))
}

/// The cells of a line with quotes (RFC 4180). A reader of the csv crate for each line would take most of the time.
fn cells(line: &str) -> StringRecord {
    let (mut record, mut cell, mut is_quoted) = (StringRecord::new(), String::new(), false);
    let (mut letters, mut is_begin) = (line.chars().peekable(), true);
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_begin => is_quoted = true,
            '"' if is_quoted && letters.next_if_eq(&'"').is_none() => is_quoted = false,
            ',' if !is_quoted => record.push_field(&std::mem::take(&mut cell)),
            _ => cell.push(letter),
        }
        is_begin = letter == ',' && !is_quoted;
    }
    record.push_field(&cell);
    record
}

/// Refuses a table that has more lines than any run writes: they would not fit into memory.
pub(crate) fn at_most(count: usize, most: usize, path: &Path) -> Result<(), RunDirectoryError> {
    if count <= most {
        return Ok(());
    }
    Err(RunDirectoryError::content(path, format!("it has more than {most} lines, the limit")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_line_leaves_its_neighbours() {
        let table = b"a,1\n\0\0\0\0\nb,\"x, \"\"y\"\"\"\n\xff,2\nc,\"open\nd,2\n\ne,\"3\n4\"\nf,5";
        let read: Vec<_> = records(table, 2, 2).collect();
        let cells = |at: usize| {
            let (.., record) = &read[at];
            record.as_ref().map(|record| record.iter().collect::<Vec<_>>()).map_err(Clone::clone)
        };
        assert_eq!(read.iter().map(|(number, ..)| *number).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 9, 11]);
        assert_eq!((cells(0), cells(2), cells(5)), (Ok(vec!["a", "1"]), Ok(vec!["b", "x, \"y\""]), Ok(vec!["d", "2"])));
        assert_eq!(
            (cells(6), cells(7)),
            (Ok(vec!["e", "3\n4"]), Ok(vec!["f", "5"])),
            "a cell that another program broke"
        );
        for (at, reason) in [(1, "zero bytes"), (3, "UTF-8"), (4, "quote")] {
            assert!(cells(at).unwrap_err().contains(reason), "{at}: {:?}", cells(at));
        }
    }

    #[test]
    fn damaged_lines_are_counted_and_the_first_ones_named() {
        let mut damaged = DamagedLines::default();
        assert_eq!(damaged.warning("details.csv"), None);
        damaged.add(3, || "it is not UTF-8".to_owned());
        assert!(damaged.warning("details.csv").unwrap().contains("line 3 (it is not UTF-8) of details.csv"));
        (4..12).for_each(|line| damaged.add(line, || unreachable!("the first reason is told")));
        let text = damaged.warning("details.csv").unwrap();
        assert!(text.contains("9 lines (3, 4, 5, 6, 7, ...; line 3: it is not UTF-8) of details.csv"), "{text}");
    }
    /// A copy of the table has the same columns.
    #[test]
    fn a_later_version_s_lines_are_not_said_to_need_a_copy_alone() {
        let of = |unknown: &[&str]| {
            let unknown = unknown.iter().map(ToString::to_string).collect();
            let mut damaged = DamagedLines { unknown, ..DamagedLines::default() };
            damaged.add(3, || "it belongs to another case".to_owned());
            (damaged.warning("measurements.csv").unwrap(), damaged.note("measurements.csv").unwrap_or_default())
        };
        assert!(of(&[]).0.ends_with("left out; restore the file from a copy"), "{}", of(&[]).0);
        let (warning, note) = of(&["backoff"]);
        assert!(warning.contains("with the version of syncscope that wrote it"), "{warning}");
        assert!(note.ends_with("does not know it"), "{note}");
        assert!(of(&["backoff", "yield"]).1.ends_with("does not know them"));
    }
}
