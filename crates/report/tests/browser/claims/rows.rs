//! The table of rows and its filter.

use syncscope_core::{Case, Dtype, Layout, Row, Verdict};
use syncscope_report::RunData;

use super::{DESKTOP, case, exact, grid, noisy, row, run, synthetic};
use crate::chromium::{number, open_and};

/// The number of rows that each query finds.
fn found(data: RunData, queries: &[&str]) -> Option<Vec<i64>> {
    let script = format!(
        "const input = page.querySelector('#rows input[type=search]');
        root.dataset.found = {queries:?}.map((query) => {{
            input.value = query;
            input.dispatchEvent(new Event('input'));
            return page.querySelectorAll('#rows tbody tr').length;
        }}).join(',');"
    );
    let (counts, _) = open_and(&[data], DESKTOP, &script)?;
    Some(counts["found"].split(',').map(|count| count.parse().unwrap()).collect())
}

#[test]
fn the_filter_finds_what_programmers_call_things() {
    let dtype = |dtype, row: Row| Row { case: Case { dtype: Some(dtype), ..row.case.clone() }, ..row };
    let stride = |stride, row: Row| {
        let layout = Some(Layout::Private { stride });
        Row { case: Case { layout, ..row.case.clone() }, ..row }
    };
    let add = |threads| exact(case("cpu.atomic.add", threads), 2.0);
    let rows = vec![
        dtype(Dtype::U64, add(16)),
        dtype(Dtype::I32, add(16)),
        stride(16, dtype(Dtype::I32, add(64))),
        exact(case("cpu.lock.ticket", 16), 100.0),
        exact(grid("gpu.block.syncthreads", 1, 32), 7.0),
        exact(grid("gpu.block.syncthreads_count", 1, 32), 20.0),
        exact(grid("gpu.atomic.add", 1, 32), 3.0),
        exact(grid("gpu.grid.cooperative", 132, 32), 1000.0),
        noisy(exact(grid("gpu.grid.counter", 132, 32), 800.0)),
    ];
    let queries = [
        ("threads:16 type:u64", 1),
        ("type:u64 threads:16", 1),
        ("atomic add i32 16 threads", 1),
        ("cpu lock 16 threads", 1),
        ("lock", 1),
        ("atomicAdd", 1),
        ("__syncthreads", 2),
        ("grid sync", 2),
        ("verdict:noisy", 1),
        ("stride:16", 1),
        ("cpu.atomic", 3),
        ("THREADS:16", 3),
        // No row has this size, so the nearest ones are found.
        ("threads:1", 9),
        ("", 9),
    ];
    let Some(counts) = found(run(rows), &queries.map(|(query, _)| query)) else { return };
    let expected: Vec<i64> = queries.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, expected, "{queries:?}");
}

/// On a run without a GPU, a CUDA query finds no unrelated row.
#[test]
fn the_filter_of_a_run_without_a_gpu_says_so() {
    let rows = [1, 2].map(|threads| exact(case("cpu.atomic.add", threads), 2.0)).to_vec();
    let script = "const input = page.querySelector('#rows input[type=search]');
        root.dataset.said = ['__syncthreads 256', 'atomicAdd', 'xyzzy 256'].map((query) => {
            input.value = query;
            input.dispatchEvent(new Event('input'));
            return page.querySelector('#rows p[role=status]').textContent;
        }).join('|');";
    let Some((counts, _)) = open_and(&[run(rows)], DESKTOP, script) else { return };
    let said: Vec<&str> = counts["said"].split('|').collect();
    assert!(said[0].starts_with("This run has no GPU rows."), "{said:?}");
    assert!(said[1] == "2&nbsp;rows", "{said:?}");
    assert!(said[2].contains("“xyzzy”") && !said[2].contains("To measure it"), "{said:?}");
}

#[test]
fn a_part_of_a_large_table_is_in_the_document_and_every_row_is_reached() {
    let rows: Vec<Row> = (1..=700).map(|threads| exact(case("cpu.atomic.add", threads), 2.0)).collect();
    let script = "
        const box = page.querySelector('#rows .scroll');
        const threads = (at) => page.querySelector(`#rows tbody tr:${at}-child`).textContent.match(/(\\d+).threads?/)[1];
        for (let tries = 0; tries < 30; tries += 1) {
            box.scrollTop = box.scrollHeight;
            box.dispatchEvent(new Event('scroll'));
        }
        const ends = [page.querySelectorAll('#rows tbody tr').length, threads('first'), threads('last')];
        box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home' }));
        ends.push(threads('first'));
        box.dispatchEvent(new KeyboardEvent('keydown', { key: 'End' }));
        root.dataset.ends = [...ends, threads('last')].join(' ');";
    let Some((counts, _)) = open_and(&[run(rows)], DESKTOP, script) else { return };
    assert_eq!(counts["ends"], "300 401 700 1 700");
}

#[test]
fn a_row_of_the_table_is_as_high_as_its_text_and_readable_on_a_phone() {
    let data = synthetic::both();
    let script = "
        const rows = [...page.querySelectorAll('#rows tbody tr')];
        const heights = rows.map((row) => row.getBoundingClientRect().height).sort((a, b) => a - b);
        root.dataset.height = Math.round(heights[Math.floor(heights.length / 2)]);
        root.dataset.name = Math.round(rows[0].querySelector('th').getBoundingClientRect().width);
        root.dataset.nav = page.getElementById('nav').getBoundingClientRect().height > 0;";
    for width in [360, DESKTOP] {
        let Some((counts, _)) = open_and(std::slice::from_ref(&data), width, script) else { return };
        assert!(number(&counts, "height") < 60, "{width}: {counts:?}");
        assert!(number(&counts, "name") >= 80, "{width}: {counts:?}");
        assert_eq!(counts["nav"], "true", "{width}: a page without navigation");
    }
}

#[test]
fn a_primitive_says_what_it_is() {
    let rows = [1, 2].map(|threads| exact(case("cpu.atomic.add", threads), 2.0)).to_vec();
    let script = "
        page.querySelector('#rows .primitive').click();
        const tooltip = page.getElementById('tooltip');
        root.dataset.shown = !tooltip.hidden && tooltip.textContent;
        root.dataset.listed = page.getElementById('is:cpu.atomic.add').nextSibling.textContent;";
    let Some((counts, _)) = open_and(&[run(rows)], DESKTOP, script) else { return };
    for text in [&counts["shown"], &counts["listed"]] {
        for part in ["Atomic addition", "one increment per thread", "C++20 [atomics.types.int], fetch_add"] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
    }
}

#[test]
fn reasons_that_differ_in_their_numbers_only_are_one_reason() {
    let wide = |threads| Row {
        verdict: Verdict::Noisy(format!("the 95 % interval is still ±{threads}1 % after 10{threads} pairs")),
        ..row(case("cpu.atomic.add", threads), 8.0, 10.0, 12.0)
    };
    let rows = (1..9).map(wide).collect();
    let script = "
        const reasons = page.querySelectorAll('[data-drawn=\"cpu.atomic\"] .unresolved li');
        root.dataset.reasons = reasons.length;
        root.dataset.words = reasons[0].textContent;";
    let Some((counts, _)) = open_and(&[run(rows)], DESKTOP, script) else { return };
    assert_eq!(counts["reasons"], "1");
    for words in ["cases, for example: the 95", "after 101 pairs"] {
        assert!(counts["words"].contains(words), "{}", counts["words"]);
    }
}
