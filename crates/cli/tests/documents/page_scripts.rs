//! The scripts of the page name only primitives of the catalogue.

use std::collections::BTreeSet;

use syncscope_report::page;

/// Whether a text has the form of an id: `domain.family.name`.
fn is_id(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_word =
        |part: &str| !part.is_empty() && part.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric());
    parts.len() == 3 && ["cpu", "gpu", "hybrid", "mpi"].contains(&parts[0]) && parts.into_iter().all(is_word)
}

fn catalogue() -> BTreeSet<&'static str> {
    let parts = [syncscope_cpu::catalogue(), syncscope_gpu::primitives(), syncscope_mpi::primitives()];
    parts.into_iter().flatten().map(|primitive| primitive.id).collect()
}

#[test]
fn the_scripts_of_the_page_name_primitives_of_the_catalogue() {
    // The page without a run holds the scripts, but no rows.
    let page = page::render(&[]);
    let named: BTreeSet<&str> = page.split(['"', ':', ',', ' ']).filter(|text| is_id(text)).collect();
    assert!(named.contains("cpu.atomic.add") && named.contains("gpu.atomic.add"), "{named:?}");
    let unknown: Vec<_> = named.difference(&catalogue()).copied().collect();
    assert_eq!(unknown, Vec::<&str>::new());
}
