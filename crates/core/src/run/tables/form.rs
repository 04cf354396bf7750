//! Tables in another form than this version writes: of an older version, which had fewer columns, or written by another
//! program, with columns in another order, quoted cells or other line ends.
//!
//! Readers find columns by their names. A run that goes on adds lines to a table, and finds the lines of a case by their
//! first bytes. So the table is written in this version's form before.

use csv::{ByteRecord, ReaderBuilder, StringRecord};

use super::journal::tables;
use super::lines;
use crate::run::directory::RunDirectory;
use crate::run::files::{RunDirectoryError, complete_lines, packed_table};

impl RunDirectory {
    /// Writes the tables in this version's form, where they have another one.
    ///
    /// # Errors
    /// When a table has a column that this version does not have, none with ids, or a line that is longer than its header;
    /// or when a file cannot be read or written.
    pub(crate) fn renew_tables(&self) -> Result<(), RunDirectoryError> {
        for (path, columns) in tables(self) {
            let Some((found, bytes)) = packed_table::read(&path)? else { continue };
            match renewed(complete_lines(&bytes), &columns) {
                Ok(None) => {}
                Ok(Some(renewed)) => packed_table::write_plain(&path, &renewed)?,
                Err(Obstacle::Reason(reason)) => return Err(RunDirectoryError::Table { path: found, reason }),
                Err(Obstacle::Csv(source)) => return Err(RunDirectoryError::Csv { path: found, source }),
            }
        }
        Ok(())
    }
}

/// Why a table cannot be written in this version's form.
#[derive(Debug)]
enum Obstacle {
    Reason(String),
    Csv(csv::Error),
}

impl From<csv::Error> for Obstacle {
    fn from(error: csv::Error) -> Self {
        Self::Csv(error)
    }
}

/// The table with these columns; `None` if that is what it is.
fn renewed(bytes: &[u8], columns: &[&'static str]) -> Result<Option<Vec<u8>>, Obstacle> {
    let header = format!("{}\n", columns.join(","));
    let has_foreign_lines = || bytes.contains(&b'\r') || bytes.windows(2).any(|pair| pair == b"\n\"");
    if bytes.is_empty() || (bytes.starts_with(header.as_bytes()) && !has_foreign_lines()) {
        return Ok(None);
    }
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(bytes);
    let names = reader.headers()?.clone();
    if let Some(unknown) = names.iter().find(|name| !columns.contains(name)) {
        return Err(Obstacle::Reason(format!("this version does not know its column `{unknown}`")));
    }
    let places: Vec<Option<usize>> =
        columns.iter().map(|column| names.iter().position(|name| name == *column)).collect();
    if places.first() == Some(&None) {
        return Err(Obstacle::Reason(format!("it has no column `{}`", columns[0])));
    }
    let mut records = vec![StringRecord::from(columns)];
    for record in reader.records() {
        let record = record?;
        if record.len() > names.len() {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(Obstacle::Reason(format!("line {line} has more cells than the header")));
        }
        records.push(places.iter().map(|place| place.and_then(|at| record.get(at)).unwrap_or_default()).collect());
    }
    Ok(Some(lines(&records)?))
}

/// Lines, each with the id of its case.
type LinesWithIds<'a> = Vec<(Vec<u8>, &'a [u8])>;

/// The lines of a table in any form, its header first, each with the id of its case; `None` if there is no column with ids.
pub(crate) fn lines_with_ids(bytes: &[u8]) -> Result<Option<LinesWithIds<'_>>, csv::Error> {
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.byte_headers()?.clone();
    let Some(place) = header.iter().position(|name| name == b"case_id") else { return Ok(None) };
    let end = |position: &csv::Position| {
        let end = usize::try_from(position.byte()).unwrap_or(usize::MAX).min(bytes.len());
        // The reader stops between the two characters of a line end.
        if bytes[..end].ends_with(b"\r") && bytes[end..].starts_with(b"\n") { end + 1 } else { end }
    };
    let mut begin = end(reader.position());
    let mut found = vec![(b"case_id".to_vec(), &bytes[..begin])];
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record)? {
        let next = end(reader.position());
        found.push((record.get(place).unwrap_or_default().to_vec(), &bytes[begin..next]));
        begin = next;
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [&str; 3] = ["case_id", "ns", "reason"];

    fn text(table: &str) -> Option<String> {
        renewed(table.as_bytes(), &COLUMNS).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn obstacle(table: &str) -> String {
        match renewed(table.as_bytes(), &COLUMNS) {
            Err(Obstacle::Reason(reason)) => reason,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_table_in_another_form_is_read_by_names() {
        assert_eq!(text(""), None);
        assert_eq!(text("case_id,ns,reason\n0a,1,\"a, \"\"b\"\"\"\n"), None, "that is how it is written");
        let wanted = "case_id,ns,reason\n0a,1,\"x, y\"\n0b,2,\n";
        for table in [
            "ns,reason,case_id\n1,\"x, y\",0a\n2,,0b\n",
            "\"case_id\",\"ns\",\"reason\"\n\"0a\",\"1\",\"x, y\"\n\"0b\",\"2\",\"\"\n",
            "case_id,ns,reason\n\"0a\",1,\"x, y\"\n0b,2,\n",
            "case_id,ns,reason\r\n0a,1,\"x, y\"\r\n0b,2,\r\n",
            "\u{feff}case_id,ns,reason\n0a,1,\"x, y\"\n0b,2,\n",
        ] {
            assert_eq!(text(table).as_deref(), Some(wanted), "{table}");
        }
        assert_eq!(text("case_id,ns\n0a,1\n").as_deref(), Some("case_id,ns,reason\n0a,1,\n"), "an older version");
        let broken = text("case_id,reason,ns\n0a,\"two\nlines\",1\n");
        assert_eq!(broken.as_deref(), Some("case_id,ns,reason\n0a,1,two lines\n"), "a cell is one line");
    }

    #[test]
    fn what_would_be_lost_is_refused() {
        assert_eq!(obstacle("case_id,ns,reason,later\n0a,1,,7\n"), "this version does not know its column `later`");
        assert_eq!(obstacle("ns,reason\n1,\n"), "it has no column `case_id`");
        assert_eq!(obstacle("case_id,ns\n0a,1\n0b,1,2\n"), "line 3 has more cells than the header");
    }

    #[test]
    fn lines_are_found_in_any_form() {
        let ids = |table: &'static str| {
            let lines = lines_with_ids(table.as_bytes()).unwrap()?;
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            assert_eq!(lines.iter().map(|(_, line)| text(line)).collect::<String>(), table, "nothing is left out");
            Some(lines.iter().map(|(id, _)| text(id)).collect::<Vec<_>>().join(" "))
        };
        for table in [
            "case_id,ns\n0a,1\n0b,2\n",
            "ns,case_id\r\n1,0a\r\n2,0b\r\n",
            "\"reason\",\"case_id\"\n\"two\nlines\",\"0a\"\n\"\",\"0b\"\n",
        ] {
            assert_eq!(ids(table).as_deref(), Some("case_id 0a 0b"), "{table}");
        }
        assert_eq!(ids("ns\n1\n"), None);
    }
}
