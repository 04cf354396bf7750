//! The table of `measure --orderings` in the directory of its run, and on the page.

use std::fmt::Display;
use std::path::Path;

use syncscope_core::data_file;
use syncscope_core::run_directory::ORDERINGS;
use syncscope_orderings::{HEADS, Table};
use syncscope_report::section::{Part, Section};
use syncscope_report::{Outcome, Truth};

/// The most bytes that are read. The table of a lock has some kilobytes.
const MOST_BYTES: u64 = 16 << 20;

/// The table in a directory; `Err` says how it is damaged.
pub(crate) fn read(directory: &Path) -> Result<Option<Section>, String> {
    let file = directory.join(ORDERINGS);
    if !file.exists() {
        return Ok(None);
    }
    let damaged = |error: &dyn Display| format!("damaged: {}: {error}", file.display());
    let bytes = data_file::read_at_most(&file, MOST_BYTES).map_err(|error| damaged(&error))?;
    let tables: Vec<Table> = serde_json::from_slice(&bytes).map_err(|error| damaged(&error))?;
    Ok((!tables.is_empty()).then(|| section(&tables)))
}

fn section(tables: &[Table]) -> Section {
    Section {
        name: "orderings",
        title: "Memory orderings",
        lead: "What each memory ordering costs here, and whether a test or the memory model requires it. Not refuted does not mean \
               needless.",
        answers: tables.iter().filter_map(answer).collect(),
        parts: tables.iter().map(card).collect(),
        claims: Vec::new(),
    }
}

fn answer(table: &Table) -> Option<Outcome> {
    let headline = table.cheapest.as_ref()?.price.headline();
    Some(Outcome::of(Truth::Holds, format!("{}.", table.answer()?)).headed(headline))
}

fn card(table: &Table) -> Part {
    let rows = table.rows.iter().map(|row| table.cells(row).to_vec()).collect();
    let mut parts = vec![Part::table(&HEADS, rows)];
    parts.extend(table.remarks().into_iter().map(Part::paragraph));
    let code = table.cheapest.iter().filter(|cheapest| !cheapest.code.is_empty());
    parts.extend(table.answer().map(Part::paragraph));
    parts.extend(code.map(|cheapest| Part::Code(cheapest.code.join("\n"))));
    Part::card(&table.operation, "", parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_table_is_named_and_one_that_is_missing_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), Ok(None));
        for text in ["", "{", "[1]", "{}"] {
            std::fs::write(folder.path().join(ORDERINGS), text).unwrap();
            assert!(read(folder.path()).unwrap_err().contains(ORDERINGS), "{text}");
        }
        std::fs::File::create(folder.path().join(ORDERINGS)).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert!(read(folder.path()).unwrap_err().contains("the limit"));
        std::fs::write(folder.path().join(ORDERINGS), "[]").unwrap();
        assert_eq!(read(folder.path()), Ok(None));
    }
}
