//! Tests whole pages: no script fails, every chart is drawn, nothing is wider than the window.
//!
//! If the address ends in `#selftest`, the page draws all charts and writes counts to attributes of its root element.

use std::slice::from_ref;

use syncscope_core::run::{IMPORTED, OwnComparison};
use syncscope_core::stats::Interval;
use syncscope_core::{
    Actor, Case, Cycles, Detail, Dtype, Form, Group, Layout, Nanoseconds, Population, Row, Space, Verdict,
};
use syncscope_fleet::gallery::{Entry, render};
use syncscope_fleet::nodes::{self, Fleet};
use syncscope_report::section::{Part, Section};
use syncscope_report::{Outcome, RunData, Truth, page};

use crate::chromium::{Counts, inaccessible, number, open, open_and, open_page, open_still, open_undrawn, plain};
use crate::synthetic;

/// The widths of the page.
const DESKTOP: u32 = 1280;
const PHONE: u32 = 360;

/// Checks what holds for every page.
fn assert_sound(counts: &Counts, runs: &[RunData]) {
    assert_eq!(counts.get("errors"), None, "{counts:?}");
    assert_eq!(counts.get("ready").map(String::as_str), Some("yes"), "{counts:?}");
    assert_eq!(number(counts, "broken"), 0, "attributes that are not numbers");
    assert_eq!(number(counts, "duplicates"), 0, "two elements of one id");
    assert!(number(counts, "overflow") <= 0, "the page is wider than the window: {counts:?}");
    let rows: usize = runs.iter().map(|data| data.rows.len()).sum();
    assert_eq!(number(counts, "rows"), i64::try_from(rows).unwrap());
    assert_eq!(number(counts, "table-rows"), i64::try_from(rows.min(100)).unwrap());
}

/// The number of charts besides those of the decisions, which `decisions.rs` compares with their data.
fn beside_decisions(counts: &Counts) -> i64 {
    assert!(number(counts, "decided") > 0, "{counts:?}");
    number(counts, "charts") - number(counts, "decided") - number(counts, "drawn-figures")
}

#[test]
fn one_machine_on_a_desktop_and_a_phone() {
    let runs = [synthetic::both()];
    for width in [DESKTOP, PHONE] {
        let Some((counts, _)) = open(&runs, width) else { return };
        assert_sound(&counts, &runs);
        // Five CPU families, seven GPU families, and additions, barriers and fences of both sides; barriers of several
        // devices have no figure.
        assert_eq!(number(&counts, "questions"), 5 + 7 + 3);
        // The ladder, the explorer, a chart for each family, and for each operation of both sides.
        assert_eq!(beside_decisions(&counts), 1 + 1 + 5 + 6 + 3);
        assert!(number(&counts, "lines") >= 30, "{counts:?}");
        assert_eq!(number(&counts, "bands"), number(&counts, "lines"), "{counts:?}");
        assert!(number(&counts, "hollow") > 0, "unresolved figures have hollow marks");
    }
}

#[test]
fn every_level_of_a_machine() {
    let runs = [synthetic::wide::complete()];
    for width in [DESKTOP, PHONE] {
        let Some((counts, dom)) = open(&runs, width) else { return };
        assert_sound(&counts, &runs);
        assert!(number(&counts, "rungs") >= 30, "{counts:?}");
        // Two cluster barriers, three grid barriers, three barriers of 1, 2 and 4 devices, and the maps of the fastest ones.
        assert_eq!(number(&counts, "maps"), 2 + 4 + 3 * 4, "{counts:?}");
        assert!(number(&counts, "cells") > 150 && number(&counts, "hatched") > 20, "{counts:?}");
        assert_eq!(number(&counts, "matrices"), 1);
        assert_eq!(
            number(&counts, "answering"),
            number(&counts, "charts"),
            "a chart shows no tooltip for the arrow keys"
        );
        assert!(number(&counts, "tails") >= 6, "{counts:?}");
        for text in [
            "Fairness of locks",
            "False sharing",
            "at strides of 8 elements (64 bytes) or more",
            "Block barriers by active warps",
        ] {
            assert!(dom.contains(text), "{text}");
        }
        assert!(dom.contains("CPUs 3 and 11 answer each other in 6.0 ns"), "a contradiction is shown");
    }
}

#[test]
fn every_level_of_several_machines() {
    let runs = [synthetic::wide::complete(), synthetic::cpu_only()];
    let Some((counts, _)) = open(&runs, DESKTOP) else { return };
    assert_sound(&counts, &runs);
    assert!(number(&counts, "rungs") >= 30, "{counts:?}");
}

#[test]
fn the_matrix_of_many_cpus_has_few_elements() {
    let mut large = synthetic::wide::complete();
    large.rows = synthetic::wide::matrix(256);
    large.details.clear();
    let runs = [large];
    let Some((counts, _)) = open(&runs, DESKTOP) else { return };
    assert_sound(&counts, &runs);
    assert_eq!(number(&counts, "matrices"), 1);
    assert!(
        number(&counts, "nodes") < 10_000,
        "one path for each colour, not one for each of 32,640 pairs: {counts:?}"
    );
}

#[test]
fn several_machines() {
    let runs = [synthetic::both(), synthetic::cpu_only()];
    let Some((counts, dom)) = open(&runs, DESKTOP) else { return };
    assert_sound(&counts, &runs);
    assert!(beside_decisions(&counts) >= 1 + 1 + 5 + 6 + 2, "{counts:?}");
    assert!(dom.contains("data-name=\"ticket · B\""), "a name for the line of each run");
    assert!(dom.contains("interrupted: "));
}

#[test]
fn a_machine_without_a_gpu() {
    let runs = [synthetic::cpu_only()];
    let Some((counts, dom)) = open(&runs, PHONE) else { return };
    assert_sound(&counts, &runs);
    assert_eq!(beside_decisions(&counts), 1 + 1 + 5, "the ladder, the explorer and a chart for each family");
    assert!(dom.contains("No NVIDIA GPU was found"));
}

#[test]
fn nothing_resolved_and_nothing_measured() {
    let unresolved = [synthetic::unresolved()];
    let Some((counts, dom)) = open(&unresolved, DESKTOP) else { return };
    assert_sound(&counts, &unresolved);
    assert_eq!(number(&counts, "bands"), 0);
    assert!(dom.contains("check failed: the counter is 3, not 4"));
    let empty = [RunData { rows: vec![], ..synthetic::both() }];
    let Some((counts, dom)) = open(&empty, PHONE) else { return };
    assert_sound(&counts, &empty);
    assert_eq!(number(&counts, "charts"), 0);
    assert!(dom.contains("No case was finished in this run."));
}

/// Each figure of a paper has its rows on the page of one of the paper's own systems.
#[test]
fn every_figure_of_a_paper_is_drawn() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/published-system3");
    let run = RunData::load(&path, synthetic::catalogue()).unwrap();
    let script = "const empty = [...page.querySelectorAll('.explored.paper')].filter((one) => !one.querySelector('svg.chart :is(.mark, .line) path'));
        root.dataset.empty = empty.map((one) => one.dataset.drawn).join(' ');
        const chips = [...page.querySelectorAll('.strip .chip')];
        root.dataset.absent = chips.filter((one) => one.classList.contains('absent')).length;
        root.dataset.chips = chips.length;
        const chip = chips.find((one) => one.textContent.startsWith('9 atomicAdd'));
        chip.click();
        const titles = [...page.querySelectorAll('#explore .explored:not(.paper) figcaption')].map((one) => one.textContent);
        root.dataset.shown = titles.slice(0, 2).join('|') + ' ' + page.defaultView.location.hash.includes('scale=logx');";
    let Some((counts, _)) = open_and(&[run], DESKTOP, script) else { return };
    assert_eq!((counts.get("errors"), counts["empty"].as_str()), (None, ""), "{counts:?}");
    let known = number(&counts, "chips") - number(&counts, "absent");
    assert!(number(&counts, "figures") >= 15 && known >= number(&counts, "figures"), "{counts:?}");
    assert_eq!(plain(&counts["shown"]), "2 blocks|SMs × 0.5 true", "as in the paper");
}

/// The page of these runs and, after them, an experiment.
fn with_experiment(mut runs: Vec<RunData>) -> (Vec<RunData>, String) {
    let (run, section) = synthetic::published::experiment();
    runs.push(run);
    let sections: Vec<&[Section]> =
        runs.iter().map(|run| if run.rows.is_empty() { from_ref(&section) } else { &[] }).collect();
    let html = page::with_sections(&runs, &sections);
    (runs, html)
}

/// The page of a single experiment has its charts, its facts and its link, and no empty table of rows.
#[test]
fn a_published_experiment_is_drawn_without_rows() {
    let (runs, html) = with_experiment(Vec::new());
    for width in [DESKTOP, PHONE] {
        let Some((counts, dom)) = open_page(&html, width, "", "#selftest") else { return };
        assert_sound(&counts, &runs);
        assert_eq!(number(&counts, "charts"), 3);
        assert!(dom.contains("Machine and environment") && !dom.contains("class=\"empty\""));
        assert!(plain(&dom).contains("id=\"all-rows\" hidden"), "{width}");
    }
    let (both, html) = with_experiment(vec![synthetic::cpu_only()]);
    let Some((counts, dom)) = open_page(&html, DESKTOP, "", "#selftest") else { return };
    assert_sound(&counts, &both);
    assert!(number(&counts, "charts") > 3);
    assert!(dom.contains("id=\"crosscheck\""));
}

/// Pictures that are to be compared are side by side where there is room.
#[test]
fn pictures_of_an_experiment_stand_side_by_side() {
    let script = "const [one, other] = page.querySelectorAll('#crosscheck .grid > .panel');
        const [left, right] = [one, other].map((card) => card.getBoundingClientRect());
        root.dataset.beside = Number(left.top === right.top && left.right < right.left);
        root.dataset.below = Number(left.left === right.left && left.bottom < right.top);";
    for (width, beside) in [(DESKTOP, 1), (PHONE, 0)] {
        let (_, html) = with_experiment(Vec::new());
        let Some((counts, _)) = open_page(&html, width, script, "") else { return };
        assert_eq!((number(&counts, "beside"), number(&counts, "below")), (beside, 1 - beside), "{width}: {counts:?}");
    }
}

/// The link of a claim shows the rows that decide it, and no others.
#[test]
fn a_claim_leads_to_its_rows() {
    let run = synthetic::both();
    let script = "const link = page.querySelector('a[data-rows]');
        root.dataset.claimed = link.dataset.rows.split(' ').length;
        link.click();
        root.dataset.listed = page.querySelectorAll('#rows tbody tr').length;";
    let Some((counts, dom)) = open_undrawn(&[run], DESKTOP, script, "") else { return };
    assert!(number(&counts, "claimed") > 0, "{counts:?}");
    assert_eq!(number(&counts, "listed"), number(&counts, "claimed"), "{counts:?}");
    assert!(dom.contains("Findings: published claims"));
}

#[test]
fn the_tooltip_shows_measurement_blocks_and_interference() {
    let mut run = synthetic::both();
    let details = vec![Detail::of_case("measurement_blocks", 5.0), Detail::of_case("smt_interference", 0.25)];
    run.details = run.rows.iter().map(|row| (row.case.id(), details.clone())).collect();
    let Some((_, dom)) = open(&[run], DESKTOP) else { return };
    let text = dom.replace("&nbsp;", " ").replace('\u{a0}', " ");
    for expected in ["5 measurement blocks", "25 % of pairs"] {
        assert!(text.contains(expected), "no `{expected}`");
    }
}

/// One addition by four threads, in a form, with every column.
fn one_addition() -> Row {
    let case = Case {
        threads: Some(4),
        layout: Some(Layout::Private { stride: 16 }),
        form: Some(Form::Varying),
        ..Case::new("cpu.atomic.add")
    };
    let interval = |low, high| Some(Interval { low, high });
    Row {
        ns: Some(Nanoseconds(10.0)),
        ns_interval: interval(9.6, 10.4),
        ns_within: interval(9.97, 10.03),
        ns_spread: interval(9.25, 18.0),
        cycles: Some(Cycles(40.0)),
        cycles_interval: interval(38.0, 42.0),
        fastest_ns: Some(Nanoseconds(9.0)),
        median_ns: Some(Nanoseconds(10.0)),
        slowest_ns: Some(Nanoseconds(11.0)),
        ops_per_s_total: Some(5e8),
        actor: Some(Actor::Median),
        population: Some(Population::Alone),
        beside_share: Some(0.63),
        runs: Some(5),
        ..Row::unmeasured(case, Verdict::Resolved)
    }
}

#[test]
fn the_tooltip_says_whose_cost_the_figure_is_and_how_far_it_holds() {
    let run = |row| RunData { rows: vec![row], ..synthetic::both() };
    let Some((_, dom)) = open(&[run(one_addition())], DESKTOP) else { return };
    let text = plain(&dom);
    for expected in [
        "cpu.atomic.add, value changes each time",
        "run to run ±4.0 % (9.60 ns to 10.4 ns), within this run ±0.3 %",
        "between 37.0 and 72.0 cycles over addresses, execution orders and points in time",
        "median thread; threads alone on their cores; 63 % of the samples had SMT interference",
        "threads, medians of all pairs",
        "slowest 11.0 ns, median 10.0 ns, fastest 9.00 ns",
        "500 Mops/s",
        "5 runs",
    ] {
        assert!(text.contains(expected), "no `{expected}`");
    }
    let published =
        Row { ns: Some(Nanoseconds(10.0)), actor: None, ..Row::unmeasured(one_addition().case, Verdict::Resolved) };
    let Some((counts, dom)) = open(&[run(published)], DESKTOP) else { return };
    let text = plain(&dom);
    for absent in ["run to run ±", "median thread;", "slowest 1", " cycles by address"] {
        assert!(!text.contains(absent), "`{absent}` in the page of published figures");
    }
    assert_eq!((number(&counts, "spreads"), number(&counts, "keys")), (0, 0));
}

#[test]
fn the_total_is_what_the_row_holds() {
    let runs = [RunData { rows: vec![one_addition()], ..synthetic::both() }];
    let total = "const measure = page.querySelector('#explore select[data-key=y]');
        measure.value = 'total';
        measure.dispatchEvent(new Event('change'));
        root.dataset.total = page.querySelector('.explored .value').textContent;";
    let Some((counts, _)) = open_and(&runs, PHONE, total) else { return };
    // Four threads at 10 ns each would be 400 M.
    assert_eq!(plain(&counts["total"]), "500 Mops/s");
}

#[test]
fn spreads_and_new_verdicts_have_marks_and_a_legend() {
    let runs = [synthetic::both()];
    let Some((counts, dom)) = open(&runs, DESKTOP) else { return };
    assert_sound(&counts, &runs);
    assert!(number(&counts, "spreads") > 40, "{counts:?}");
    let explored = number(&counts, "explored");
    assert!(explored > 12, "{counts:?}");
    assert_eq!(number(&counts, "keys"), 1 + explored, "the ladder has a legend, and what is explored has one");
    assert!(number(&counts, "overlapped") > 0 && number(&counts, "nonadditive") > 0, "{counts:?}");
    for text in [">95 % interval within this run<", "</svg>overlapped<", "</svg>not additive<"] {
        assert!(plain(&dom).contains(text), "no `{text}`");
    }
    let several = [synthetic::both(), synthetic::both()];
    let Some((_, dom)) = open(&several, DESKTOP) else { return };
    assert!(
        plain(&dom).contains("</svg>95 % interval from run to run<"),
        "runs are compared by the interval for another run"
    );
}

#[test]
fn forms_are_lines_of_their_own() {
    let mut run = synthetic::both();
    run.rows.retain(|row| {
        let case = &row.case;
        let (shared, global) = (case.layout == Some(Layout::Shared), case.space == Some(Space::Global));
        case.primitive == "gpu.atomic.add" && shared && global && case.dtype == Some(Dtype::I32)
    });
    let Some((_, dom)) = open(&[run], DESKTOP) else { return };
    for label in ["add", "add, not aggregated by the compiler", "add, value changes each time"] {
        assert!(dom.contains(&format!("data-name=\"{label}\"")), "no line `{label}`");
    }
}

#[test]
fn the_fastest_barrier_is_found_by_the_intervals_within_the_run() {
    let barrier = |name: &str, form, ns: f64, blocks, threads| {
        let case = Case { blocks: Some(blocks), threads: Some(threads), form, ..Case::new(name) };
        let around = |share: f64| Some(Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
        Row {
            ns: Some(Nanoseconds(ns)),
            ns_interval: around(0.1),
            ns_within: around(0.001),
            ..Row::unmeasured(case, Verdict::Resolved)
        }
    };
    let sizes = [(132, 32), (132, 64), (264, 32), (264, 64)];
    let both = |(blocks, threads)| {
        [
            ("gpu.grid.counter", None, 2000.0),
            ("gpu.grid.lock_free", None, 2140.0),
            // A non-default form is cheaper, but no candidate.
            ("gpu.grid.counter", Some(Form::Opaque), 500.0),
        ]
        .map(|(name, form, ns)| barrier(name, form, ns, blocks, threads))
    };
    let rows: Vec<Row> = sizes.into_iter().flat_map(both).collect();
    let wide = rows.iter().cloned().map(|row| Row { ns_within: row.ns_interval, ..row }).collect();
    let run = |rows| RunData { rows, ..synthetic::both() };
    let Some((_, dom)) = open(&[run(rows)], DESKTOP) else { return };
    assert!(dom.contains(">1.07<") && !dom.contains(">≈<"));
    let Some((_, dom)) = open(&[run(wide)], DESKTOP) else { return };
    assert!(dom.contains(">≈<") && !dom.contains(">1.07<"));
}

#[test]
fn hostile_text_does_not_run() {
    const HOSTILE: &str = "</script><img src=x onerror=\"document.documentElement.dataset.errors='owned'\">";
    let case = Case { group: Some(Group::of_word(HOSTILE)), ..Case::new("cpu.handoff.futex") };
    let rows = vec![Row::unmeasured(case, Verdict::Failed(HOSTILE.into()))];
    let runs = [synthetic::data(HOSTILE, synthetic::run(HOSTILE, None), rows)];
    for width in [DESKTOP, PHONE] {
        let Some((counts, dom)) = open(&runs, width) else { return };
        assert_sound(&counts, &runs);
        assert!(!dom.contains("<img"));
    }
}

#[test]
fn twenty_thousand_rows() {
    for run in [synthetic::large(20_000), synthetic::wide::paper()] {
        let runs = [run];
        let Some((counts, _)) = open(&runs, DESKTOP) else { return };
        assert_sound(&counts, &runs);
        // The times are only printed, because the machine may be busy.
        let [opened, drawn] = ["opened", "milliseconds"].map(|name| number(&counts, name));
        eprintln!("{} rows: open after {opened} ms, every chart drawn after {drawn} ms", runs[0].rows.len());
    }
}

/// A page of each kind, with its name.
fn pages_of_every_kind() -> Vec<(&'static str, String)> {
    let runs = [synthetic::wide::complete(), synthetic::cpu_only()];
    let entries: Vec<Entry> = runs.iter().map(|data| Entry { data: data.clone(), page: None, is_own: false }).collect();
    let mut fleet = Fleet::default();
    for (name, factor) in [("one", 1.0), ("two", 1.01), ("three", 1.5)] {
        let run = synthetic::run("processor", None);
        fleet.add(&synthetic::data(name, run, synthetic::cpu_rows(factor)));
    }
    let mut measured = synthetic::both();
    let compared = |threads: u32, ratio: f64| OwnComparison {
        first: "cpu.lock.ticket".to_owned(),
        other: "cpu.lock.mcs".to_owned(),
        parameters: format!("u64 shared {threads} threads"),
        threads: Some(threads),
        blocks: None,
        ratio: Some(ratio),
        low: Some(0.9 * ratio),
        high: Some(1.1 * ratio),
        is_faster: Some(false),
        words: format!("{ratio} times as expensive"),
    };
    measured.run.compared = vec![compared(2, 1.5), compared(4, 0.8)];
    let cells = ["12", "atomic_store acquire → relaxed", "0.9 times", "the memory model requires it"];
    let table = Part::table(&["line", "ordering", "if weakened", "needed?"], vec![cells.map(str::to_owned).to_vec()]);
    let code = Part::Code("void release(struct thread *me)\n{\n}".to_owned());
    let orderings = Section {
        name: "orderings",
        title: "Memory orderings",
        lead: "What each costs.",
        answers: vec![Outcome::of(Truth::Holds, "Line 12 may be relaxed.".to_owned())],
        parts: vec![Part::card("cpu.lock.ticket", "", vec![table, Part::paragraph("Not refuted."), code])],
        claims: Vec::new(),
    };
    let mut imported = synthetic::data("imported", synthetic::run("processor", None), synthetic::wide::matrix(24));
    IMPORTED.clone_into(&mut imported.run.preset);
    imported.rows.retain(|row| row.case.primitive == "cpu.handoff.cas_pingpong");
    vec![
        ("run", page::render(&runs[..1])),
        ("two runs", page::render(&runs)),
        ("experiment", with_experiment(Vec::new()).1),
        ("gallery", render(&entries, None)),
        ("nodes", nodes::page::render(&fleet.examine(0.05).unwrap(), &[None, None, Some("three.html".to_owned())])),
        ("measure", page::render(from_ref(&measured))),
        ("orderings", page::with_sections(from_ref(&measured), &[from_ref(&orderings)])),
        ("imported", page::render(&[imported])),
    ]
}

#[test]
fn axe_finds_nothing_on_pages_of_every_kind() {
    for (kind, html) in pages_of_every_kind() {
        let Some(broken) = inaccessible(&html, DESKTOP) else { return };
        assert_eq!(broken, "", "{kind}");
    }
}

#[test]
fn the_gallery_of_many_machines_fits_a_phone() {
    let names = ["a-folder-with-a-long-name-that-has-no-space-anywhere-in-it", "machine", "other", "third"];
    let entries: Vec<Entry> = names
        .into_iter()
        .cycle()
        .take(13)
        .enumerate()
        .map(|(at, name)| {
            let mut data = if at % 2 == 0 { synthetic::wide::complete() } else { synthetic::both() };
            data.name = format!("{name}{at}");
            data.run.machine.cpu.model = format!("processor {at}");
            Entry { data, page: (at == 0).then(|| "x/report.html".to_owned()), is_own: at == 0 }
        })
        .collect();
    let html = render(&entries, Some("A-title-without-a-space-that-is-wider-than-any-phone"));
    let selectors =
        [("dots", "i.dot"), ("runs", ".runs-table tbody tr"), ("links", ".runs-table a[href='x/report.html']")];
    for width in [PHONE, DESKTOP] {
        let Some(counts) = open_still(&html, width, &selectors) else { return };
        assert!(number(&counts, "overflow") <= 0, "{width}: {counts:?}");
        assert_eq!((number(&counts, "runs"), number(&counts, "links")), (13, 1));
        assert!(number(&counts, "dots") > 100, "{counts:?}");
    }
}

/// A query in the address is answered, even if no machine has that name; a picture has a line for each machine shown.
#[test]
fn the_gallery_answers_and_filters() {
    let entries: Vec<Entry> = ["AWS Graviton2", "AWS Graviton3", "Intel Core i9-9900K (Coffee Lake)"]
        .into_iter()
        .map(|model| {
            let mut data = synthetic::cpu_only();
            data.run.machine.cpu.model = model.to_owned();
            Entry { data, page: None, is_own: false }
        })
        .collect();
    let script = "const found = () => page.getElementById('found').textContent;
        root.dataset.asked = found();
        const form = page.getElementById('find');
        const ask = (name, value) => {
            form.elements[name].value = value;
            form.dispatchEvent(new Event('input', { bubbles: true }));
        };
        ask('query', 'cheapest uncontended spinlock i9 9900k');
        root.dataset.lock = found();
        ask('vendor', 'AWS');
        const operation = page.querySelector('details.operation');
        root.dataset.shown = operation.querySelectorAll('tbody tr:not([hidden])').length;
        operation.querySelector('button').click();";
    let html = render(&entries, None);
    let Some((counts, _)) = open_page(&html, DESKTOP, script, "#find=hand-off%20Graviton%204") else { return };
    assert!(counts["asked"].contains("“graviton4”"), "{counts:?}");
    for (found, expected) in [("asked", "Graviton2"), ("asked", "Graviton3"), ("asked", "Hand-off"), ("lock", "9900K")]
    {
        assert!(counts[found].contains(expected), "{found}: {counts:?}");
    }
    assert!(!counts["asked"].contains("9900K") && !counts["lock"].contains("Graviton"), "{counts:?}");
    assert_eq!(number(&counts, "shown"), 2);
}

/// The texts of the figure in the tooltips of a page's first marks.
fn figure_in_tooltip(row: Row) -> Option<String> {
    let usual = Row { case: Case { threads: Some(2), ..row.case.clone() }, ..one_addition() };
    let data = RunData { rows: vec![usual, row], ..synthetic::both() };
    let script = "
        const chart = page.querySelector('#explore svg.chart');
        const shown = new Set();
        for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight']) {
            chart.dispatchEvent(new frame.contentWindow.KeyboardEvent('keydown', { key, cancelable: true }));
            shown.add(page.querySelector('.tip-figure').textContent);
        }
        root.dataset.figures = [...shown].join('|');";
    open_and(&[data], DESKTOP, script).map(|(counts, _)| plain(&counts["figures"]).replace("&lt;", "<"))
}

#[test]
fn the_tooltip_begins_with_the_figure_as_cards_and_marks_write_it() {
    let with = |verdict, half_width: f64| {
        let around = Some(Interval { low: 10.0 * (1.0 - half_width), high: 10.0 * (1.0 + half_width) });
        Row { verdict, ns_within: around, ns_interval: around, ..one_addition() }
    };
    let noisy = || Verdict::Noisy("disturbed".into());
    for (row, figure) in [
        (one_addition(), "10.0 ns ±4.0 %"),
        (with(noisy(), 0.18), "~10 ns ±18 %"),
        (with(noisy(), 0.9), "no figure"),
        (with(Verdict::BelowResolution("small".into()), 0.5), "< 15 ns"),
        (with(Verdict::Resolved, 0.9), "10.0 ns ±90 %"),
        (with(Verdict::NonAdditive("copies".into()), 0.1), "not additive"),
    ] {
        let verdict = row.verdict.clone();
        let Some(found) = figure_in_tooltip(row) else { return };
        assert!(found.split('|').any(|one| one == figure), "{verdict:?}: {found}");
    }
}
