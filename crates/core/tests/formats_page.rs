//! `docs/COLUMNS.md`, the table of columns, is generated from the code.
//! `SYNCSCOPE_UPDATE=1 cargo test -p syncscope-core --test formats_page` writes it anew.

#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use syncscope_core::run::columns::COLUMNS;

const HEAD: &str = "# Columns of `measurements.csv`

Generated from `crates/core/src/run/row.rs`. [FORMATS.md](FORMATS.md) describes the other files, [METHOD.md](METHOD.md) explains the values.

| column | unit | meaning |
|---|---|---|
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for column in COLUMNS {
        writeln!(page, "| `{}` | {} | {} |", column.name, column.unit, column.meaning).unwrap();
    }
    page
}

#[test]
fn the_page_of_columns_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/COLUMNS.md");
    if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page(), "docs/COLUMNS.md is out of date; run this test with SYNCSCOPE_UPDATE=1");
}
