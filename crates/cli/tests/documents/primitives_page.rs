//! `docs/PRIMITIVES.md` is generated from the catalogues, by
//! `SYNCSCOPE_UPDATE=1 cargo test -p syncscope --test documents primitives_page`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use syncscope_core::Primitive;

const HEAD: &str = "# Primitives

All primitives, generated from the catalogues. `syncscope list` shows which of them a machine can measure, and why it
cannot measure the others. The column *operation* names the operation whose cost is the column `ns` of a run: the cost
for the slowest thread where threads meet or contend, for the median thread where they share nothing, and the mean of
all threads of a GPU that ran in a common window.
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut section = String::new();
    let all = [syncscope_cpu::catalogue(), syncscope_gpu::primitives(), syncscope_cpu::mpi::primitives()].concat();
    for primitive in &all {
        let id = primitive.id.rsplit_once('.').unwrap().0.to_owned();
        if id != section {
            write!(page, "\n## {id}\n\n| id | description | operation | source |\n|---|---|---|---|\n").unwrap();
            section = id;
        }
        let Primitive { id, summary, operation, source, facts: _ } = primitive;
        writeln!(page, "| `{id}` | {summary} | {operation} | {source} |").unwrap();
    }
    page
}

#[test]
fn the_page_of_primitives_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/PRIMITIVES.md");
    if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page(), "docs/PRIMITIVES.md is out of date; run this test with SYNCSCOPE_UPDATE=1");
}

#[test]
fn the_readme_says_how_many_primitives_there_are() {
    let count = page().lines().filter(|line| line.starts_with("| `")).count();
    let about = format!("about {} primitives", (count + 25) / 50 * 50);
    assert!(crate::pages::documents()["README.md"].contains(&about), "{count}");
}
