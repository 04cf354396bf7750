//! Sentences and their links.

use syncscope_core::{Case, Dtype, Layout, Row};

use super::{DESKTOP, case, exact, grid, run, synthetic, text};
use crate::chromium::{number, open_and, plain};

#[test]
fn contended_figures_have_their_total_rate() {
    let total = |row: Row, rate| {
        let case = Case { layout: Some(Layout::Shared), dtype: Some(Dtype::I32), ..row.case.clone() };
        Row { case, ops_per_s_total: Some(rate), ..row }
    };
    let rows = vec![
        total(exact(case("cpu.atomic.add", 16), 2310.0), 27.7e6),
        total(exact(grid("gpu.atomic.add", 132, 1024), 98_800.0), 1.37e9),
        exact(case("cpu.fence.seq_cst", 1), 6.0),
    ];
    let Some(dom) = text(&[run(rows)]) else { return };
    let rates = "135,168 GPU threads perform 1.37 billion; 16 CPU threads perform 27.7 million";
    assert!(plain(&dom).contains(rates), "{}", plain(&dom));
}

#[test]
fn sentences_lead_to_their_figure_and_to_their_rows() {
    let data = synthetic::wide::complete();
    let script = "
        const items = [...page.querySelectorAll('.answers li')];
        root.dataset.sentences = items.length;
        root.dataset.dead = items.filter((item) => {
            const link = item.querySelector('[data-figure]');
            const id = link && link.getAttribute('href').slice(1);
            return !link || !(page.getElementById(id) || page.querySelector('[data-question=\"' + id + '\"]'));
        }).length;
        const lock = items.find((item) => item.textContent.includes('measured locks'));
        const link = lock.querySelector('.evidence a:last-child');
        link.click();
        const cells = [...page.querySelectorAll('#rows tbody tr')].map((row) => row.textContent);
        root.dataset.shown = cells.length;
        root.dataset.others = cells.filter((text) => !text.includes('cpu.lock.')).length;
        root.dataset.address = page.defaultView.location.hash === link.getAttribute('href');
        root.dataset.number = lock.querySelector('.number').textContent;
        root.dataset.landed = Math.round(page.getElementById('rows').getBoundingClientRect().top);";
    let Some((counts, dom)) = open_and(&[data], DESKTOP, script) else { return };
    let number = |name| number(&counts, name);
    assert!((3..=5).contains(&number("sentences")), "{counts:?}");
    assert_eq!(number("dead"), 0, "a link without a figure");
    assert_eq!((number("shown"), number("others")), (4, 0), "the rows of four locks");
    assert!((-40..=100).contains(&number("landed")), "{counts:?}");
    assert_eq!(counts["address"], "true", "rows have an address");
    assert!(counts["number"].ends_with('s'), "a time stands first: {counts:?}");
    assert!(plain(&dom).contains("costs are resolved."));
}

#[test]
fn a_run_without_rows_has_no_answers() {
    let Some(dom) = text(&[run(vec![])]) else { return };
    assert!(!dom.contains("id=\"answers\""));
}
