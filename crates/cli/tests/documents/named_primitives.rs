//! The reports select rows by the ids of primitives. The ids are plain strings there, so a renamed primitive would
//! disappear from the reports without an error. These tests compare them with the catalogues.

use std::collections::BTreeSet;

use syncscope_report::{named_primitives, page};

fn catalogues() -> BTreeSet<&'static str> {
    syncscope_cpu::catalogue()
        .iter()
        .chain(syncscope_gpu::primitives())
        .chain(syncscope_cpu::mpi::primitives())
        .map(|primitive| primitive.id)
        .collect()
}

#[test]
fn the_reports_name_primitives_of_the_catalogues() {
    let named: BTreeSet<&str> = named_primitives().into_iter().collect();
    assert!(named.len() > 30, "{named:?}");
    let unknown: Vec<_> = named.difference(&catalogues()).copied().collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

#[test]
fn the_highlights_and_the_ladder_know_all_barriers_of_cpu_threads() {
    let named = named_primitives();
    for id in catalogues().into_iter().filter(|id| id.starts_with("cpu.barrier.")) {
        assert!(named.contains(&id), "{id}");
    }
}

/// Whether a text has the form of an id: `domain.family.name`.
fn is_id(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_word =
        |part: &str| !part.is_empty() && part.chars().all(|letter| letter == '_' || letter.is_ascii_alphanumeric());
    parts.len() == 3 && ["cpu", "gpu", "hybrid", "mpi"].contains(&parts[0]) && parts.into_iter().all(is_word)
}

#[test]
fn the_scripts_of_the_page_name_primitives_of_the_catalogues() {
    // The page of no run holds the scripts, but no rows.
    let page = page::render(&[], &[]);
    let named: BTreeSet<&str> = page.split('"').filter(|text| is_id(text)).collect();
    assert!(named.contains("cpu.atomic.add") && named.contains("gpu.atomic.add"), "{named:?}");
    let unknown: Vec<_> = named.difference(&catalogues()).copied().collect();
    assert_eq!(unknown, Vec::<&str>::new());
}
