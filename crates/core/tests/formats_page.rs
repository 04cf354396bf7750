//! The table of columns in `docs/FORMATS.md` is made of the code.
//! `SYNCSCOPE_UPDATE=1 cargo test -p syncscope-core --test formats_page` writes it anew.

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use syncscope_core::run::columns::COLUMNS;

const BEGIN: &str = "<!-- columns -->\n";
const END: &str = "<!-- /columns -->\n";

fn table() -> String {
    let mut table = "| column | unit | meaning |\n|---|---|---|\n".to_owned();
    for column in &COLUMNS {
        writeln!(table, "| `{}` | {} | {} |", column.name, column.unit, column.meaning).unwrap();
    }
    table
}

#[test]
fn the_table_of_columns_is_the_codes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FORMATS.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
        fs::write(&path, [before, BEGIN, &table(), END, after].concat()).unwrap();
        return;
    }
    assert!(found == table(), "docs/FORMATS.md is out of date; run this test with SYNCSCOPE_UPDATE=1");
}
