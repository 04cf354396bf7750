//! What the page says is so: each test holds a run of which an earlier page said something false.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that fails is a failed test")]

mod chromium;
mod synthetic;

use chromium::{open, open_and, plain};
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Detail, Group, MemoryOrder, Nanoseconds, Placement, Row, Scope, Verdict};
use syncscope_report::RunData;

const DESKTOP: u32 = 1280;

/// A row with an interval that serves both purposes.
fn row(case: Case, low: f64, ns: f64, high: f64) -> Row {
    let interval = Some(Interval { low, high });
    Row {
        ns: Some(Nanoseconds(ns)),
        ns_interval: interval,
        ns_within: interval,
        ..Row::unmeasured(case, Verdict::Resolved)
    }
}

fn exact(case: Case, ns: f64) -> Row {
    row(case, ns * 0.99, ns, ns * 1.01)
}

fn noisy(row: Row) -> Row {
    Row { verdict: Verdict::Noisy("the interval is wide".into()), ..row }
}

fn case(primitive: &str, threads: u32) -> Case {
    Case { threads: Some(threads), ..Case::new(primitive) }
}

fn grid(primitive: &str, blocks: u32, threads: u32) -> Case {
    Case { blocks: Some(blocks), ..case(primitive, threads) }
}

fn run(rows: Vec<Row>) -> RunData {
    synthetic::data("run", synthetic::run("CPU", Some("NVIDIA H200")), rows)
}

/// The page with every chart drawn, with plain spaces; `None` where there is no browser.
fn text(runs: &[RunData]) -> Option<String> {
    Some(plain(&open(runs, DESKTOP)?.1))
}

/// Whether a chart has a line of this name.
fn has_line(dom: &str, name: &str) -> bool {
    dom.contains(&format!("aria-label=\"{name}\""))
}

#[test]
fn the_ladder_names_the_best_and_marks_rough_figures() {
    let barrier = |name: &str| case(&format!("cpu.barrier.{name}"), 2);
    let rows = vec![
        noisy(row(barrier("std"), 30_000.0, 37_600.0, 45_000.0)),
        noisy(row(barrier("dissemination"), 40.0, 48.0, 56.0)),
        // Too wide for a figure.
        noisy(row(case("cpu.atomic.add", 1), 5_000.0, 16_800.0, 28_000.0)),
        exact(case("cpu.fence.seq_cst", 1), 6.0),
    ];
    let Some(dom) = text(&[run(rows)]) else { return };
    assert!(dom.contains(">Barrier, best: dissemination<"), "the cheapest is named");
    assert!(dom.contains(">~48.0 ns ±17 %<"), "a rough figure has its mark and its interval");
    assert!(!dom.contains(">37.6 µs") && !dom.contains(">16.8 µs"), "an expensive row, or a wide one, as a figure");
    assert!(dom.contains(">not resolved<"), "a wide interval on the ladder");
}

#[test]
fn a_wake_up_is_the_median_of_hand_offs_that_slept() {
    let rows = vec![
        noisy(row(case("cpu.handoff.park", 2), 125.0, 133.0, 142.0)),
        exact(case("cpu.atomic.add", 1), 2.0),
        exact(case("cpu.fence.seq_cst", 1), 6.0),
    ];
    let mut data = run(rows);
    data.details.insert(data.rows[0].case.id(), vec![Detail::of_case("p50_ns", 4540.0)]);
    let Some(dom) = text(&[data]) else { return };
    assert!(dom.contains(">Wake a sleeping thread: park<") && dom.contains(">4.54 µs<"));
}

#[test]
fn noisy_rivals_take_part_and_a_primitive_is_no_rival_of_itself() {
    let flags = |group, low, ns, high| {
        move |blocks, threads| {
            row(Case { group, devices: Some(1), ..grid("gpu.multi.flags", blocks, threads) }, low, ns, high)
        }
    };
    let mut rows = Vec::new();
    for (blocks, threads) in [(132, 32), (132, 64), (264, 32), (264, 64)] {
        let counter = Case { devices: Some(1), ..grid("gpu.multi.counter", blocks, threads) };
        rows.push(row(counter, 4140.0, 4190.0, 4200.0));
        rows.push(noisy(flags(None, 3360.0, 3660.0, 3910.0)(blocks, threads)));
        rows.push(exact(Case { devices: Some(1), ..grid("gpu.multi.host_barrier", blocks, threads) }, 12_650.0));
        // The same barrier, launched otherwise, costs the same.
        rows.push(noisy(flags(Some(Group::DriverLaunch), 3360.0, 3670.0, 3920.0)(blocks, threads)));
    }
    let Some(dom) = text(&[run(rows)]) else { return };
    // The winner was "counter, 3.02 times".
    assert!(dom.contains(">~1.14×<") && !dom.contains(">3.02×<"), "flags win by their interval");
    assert!(!dom.contains(">≈<"), "a tie of flags with flags");
    // Without a catalogue the colours follow the names: counter, flags, host_barrier.
    assert_eq!(dom.matches("var(--s1) 45%").count(), 4, "the colour of flags");
}

#[test]
fn overlapping_intervals_are_no_winner() {
    let mut rows = Vec::new();
    for (blocks, threads) in [(132, 32), (132, 64), (264, 32), (264, 64)] {
        rows.push(row(grid("gpu.grid.counter", blocks, threads), 700.0, 800.0, 900.0));
        rows.push(row(grid("gpu.grid.lock_free", blocks, threads), 850.0, 950.0, 1050.0));
    }
    let Some(dom) = text(&[run(rows)]) else { return };
    assert_eq!(dom.matches(">≈<").count(), 4);
    assert!(dom.contains("≈ not distinguished"));
}

/// Rows whose usual values, parameter by parameter, are those of the least important primitives.
fn awkward() -> Vec<Row> {
    let mut rows = Vec::new();
    let grouped = |primitive: &str, threads, group| Case { group: Some(group), ..grid(primitive, 1, threads) };
    for threads in [32, 1024] {
        rows.push(exact(grid("gpu.block.syncthreads", 1, threads), 11.0));
        for name in ["and", "or", "count"] {
            for blocks in [1, 132] {
                let name = format!("gpu.block.syncthreads_{name}");
                let mode = Some(syncscope_core::Mode::Latency);
                rows.push(exact(Case { mode, ..grid(&name, blocks, threads) }, 27.0));
            }
        }
        for (scope, ns) in [(Scope::Block, 4.0), (Scope::Device, 215.0), (Scope::System, 514.0)] {
            rows.push(exact(Case { scope: Some(scope), ..grid(&format!("gpu.fence.{scope}"), 1, threads) }, ns));
        }
        rows.push(exact(grouped("gpu.warp.syncwarp", threads, Group::Converged), 0.5));
        rows.push(exact(grouped("gpu.warp.syncwarp", threads, Group::Divergent), 83.0));
        rows.push(exact(grouped("gpu.warp.coalesced", threads, Group::Coalesced(16)), 0.5));
        rows.push(exact(grouped("gpu.cluster.sync", threads, Group::Cluster(8)), 167.0));
        for mode in syncscope_core::Mode::ALL {
            let case = grouped("gpu.cluster.dsmem_atomic", threads, Group::Cluster(8));
            rows.push(exact(Case { mode: Some(*mode), ..case.clone() }, 120.0));
        }
        for devices in [1, 2, 4] {
            for name in ["gpu.multi.counter", "gpu.multi.flags"] {
                rows.push(exact(Case { devices: Some(devices), ..grid(name, 132, threads) }, 1800.0));
            }
        }
    }
    for threads in [1, 2, 4] {
        rows.push(exact(case("cpu.barrier.std", threads), 900.0));
        rows.push(exact(Case { group: Some(Group::Libgomp), ..case("cpu.barrier.openmp", threads) }, 500.0));
        rows.push(exact(case("cpu.fence.seq_cst", threads), 6.0));
        for stride in [1, 16] {
            let layout = Some(syncscope_core::Layout::Private { stride });
            rows.push(exact(Case { layout, ..case("cpu.fence.flush", threads) }, 7.0));
        }
    }
    // Hand-offs of classes that this machine does not have, and of one that it has.
    for group in [Group::SameCore, Group::SameL2, Group::SameNode, Group::Across] {
        for name in ["cas_pingpong", "channel"] {
            let case = Case { group: Some(group.clone()), ..case(&format!("cpu.handoff.{name}"), 2) };
            rows.push(Row::unmeasured(case, Verdict::Skipped("there is no such pair".into())));
        }
    }
    for pair in 0..40 {
        let placement = Some(Placement::List(vec![0, pair + 1]));
        let case = Case { group: Some(Group::SameL3), placement, ..case("cpu.handoff.cas_pingpong", 2) };
        rows.push(exact(case, 71.0));
    }
    rows
}

#[test]
fn charts_show_what_they_are_named_after() {
    let Some(dom) = text(&[run(awkward())]) else { return };
    for name in
        ["syncthreads", "block", "device", "system", "seq_cst", "flush · private, stride 1", "std", "openmp · libgomp"]
    {
        assert!(has_line(&dom, name), "no line `{name}`");
    }
    for name in
        ["syncwarp · converged", "syncwarp · divergent", "coalesced · coalesced 16", "sync", "dsmem_atomic · latency"]
    {
        assert!(has_line(&dom, name), "no line `{name}`");
    }
    for name in ["flags · 1 device", "flags · 2 devices", "flags · 4 devices"] {
        assert!(has_line(&dom, name), "no line `{name}`");
    }
    let handoffs = &dom[dom.find("Handoff:").unwrap()..];
    let handoffs = &handoffs[..handoffs.find("</svg>").unwrap()];
    assert!(
        handoffs.contains(">71.0 ns<") && !handoffs.contains(">skipped<"),
        "cases that do not exist are no figures"
    );
}

#[test]
fn a_primitive_has_one_colour_on_the_whole_page() {
    let names = ["std_mutex", "ticket", "mcs", "parking_lot_mutex"];
    let script = format!(
        "root.dataset.colours = {names:?}.map((name) => {{
            const marks = [...page.querySelectorAll('.drawn [aria-label=\"' + name + '\"]')];
            const painted = marks.flatMap(({{ parentNode: group }}) => [group.getAttribute('fill'), group.getAttribute('stroke')]);
            const colours = new Set(painted.filter((colour) => /--s\\d/.test(colour)));
            return new Set(marks.map((mark) => mark.closest('.explored'))).size + ':' + [...colours].join('+');
        }}).join('|');"
    );
    let Some((counts, _)) = open_and(&[synthetic::wide::complete()], DESKTOP, &script) else { return };
    let found: Vec<(usize, &str)> = counts["colours"]
        .split('|')
        .map(|one| one.split_once(':').unwrap())
        .map(|(charts, colours)| (charts.parse().unwrap(), colours))
        .collect();
    for (name, (charts, colours)) in names.iter().zip(&found) {
        assert!(*charts >= 2, "{name}: cost and fairness");
        assert_eq!(colours.matches("var(").count(), 1, "{name}: {colours}");
    }
    assert_eq!(found.iter().map(|(_, colours)| colours).collect::<std::collections::BTreeSet<_>>().len(), names.len());
}

#[test]
fn only_locks_are_fair_or_unfair() {
    let add = exact(case("cpu.atomic.add", 4), 40.0);
    let locks = [2, 4].map(|threads| exact(case("cpu.lock.ticket", threads), 100.0));
    let mut data = run([&[add], &locks[..]].concat());
    for row in &data.rows {
        data.details.insert(row.case.id(), vec![Detail::of_case("jain_index", 0.9)]);
    }
    let script = "const drawn = page.querySelector('[data-drawn=explore-fairness]');
        root.dataset.fair = [...new Set([...drawn.querySelectorAll('.line path')].map((line) => line.getAttribute('aria-label')))].join('|');";
    let Some((counts, _)) = open_and(&[data], DESKTOP, script) else { return };
    assert_eq!(counts["fair"], "ticket");
}

#[test]
fn noise_between_pairs_of_cpus_is_not_drawn_as_structure() {
    let pair = |a: u32, b: u32| {
        let placement = Some(Placement::List(vec![a, b]));
        let ns = 72.3 + f64::from((a * 7 + b * 13) % 10) * 0.6;
        exact(Case { placement, ..case("cpu.handoff.cas_pingpong", 2) }, ns)
    };
    let mut data = run((1..12).flat_map(|b| [pair(0, b), pair(b, b + 1)]).collect());
    data.run.measured_topology = Some(syncscope_core::machine::MeasuredTopology {
        groups: vec![syncscope_core::machine::MeasuredGroup {
            shares: "machine".into(),
            cpus: "0-12".into(),
            handoff_ns: 75.0,
        }],
        contradictions: vec![],
    });
    let script = "const cells = [...page.querySelectorAll('.matrix .cell rect')];
        root.dataset.pairs = cells.length;
        root.dataset.shades = new Set(cells.map((cell) => cell.getAttribute('fill'))).size;";
    let Some((counts, dom)) = open_and(&[data], DESKTOP, script) else { return };
    assert!(dom.contains("measured pairs cost about the same"));
    assert!(dom.contains("do not contradict the reported topology. The other"), "a sample shows what it met");
    assert!(chromium::number(&counts, "pairs") > 40, "{counts:?}");
    let shades = chromium::number(&counts, "shades");
    assert!((1..=4).contains(&shades), "{shades} of 24 colours for differences of 7 %");
}

#[test]
fn contended_figures_have_their_total_rate() {
    let total = |row: Row, rate| Row { ops_per_s_total: Some(rate), ..row };
    let rows = vec![
        total(exact(case("cpu.atomic.add", 16), 2310.0), 27.7e6),
        total(exact(grid("gpu.atomic.add", 132, 1024), 98_800.0), 1.37e9),
        exact(case("cpu.fence.seq_cst", 1), 6.0),
    ];
    let Some(dom) = text(&[run(rows)]) else { return };
    assert!(dom.contains(
        "16 CPU threads add 27.7 million times a second to one variable, 135,168 GPU threads 1.37 billion times"
    ));
}

#[test]
fn the_numbers_of_the_ladder_stand_in_the_columns_of_their_runs() {
    let first = run(vec![
        exact(case("cpu.atomic.add", 1), 2.0),
        exact(case("cpu.fence.seq_cst", 1), 6.0),
        exact(case("cpu.lock.ticket", 1), 8.0),
    ]);
    let second = RunData { name: "second".into(), rows: first.rows[1..].to_vec(), ..first.clone() };
    let ladder = "root.dataset.numbers = [...page.querySelectorAll('.ladder .value')].map((one) => one.textContent + '@' + one.getAttribute('x')).join('|');";
    let Some((counts, _)) = open_and(&[first.clone(), second.clone()], DESKTOP, ladder) else { return };
    let numbers: Vec<(String, String)> = counts["numbers"]
        .split('|')
        .map(|one| one.split_once('@').unwrap())
        .map(|(text, at)| (plain(text), at.to_owned()))
        .collect();
    assert_eq!(numbers[0].0, "2.00 ns");
    assert_eq!(numbers[1].0, "–", "a run without the row");
    assert_eq!((&numbers[0].1, &numbers[1].1), (&numbers[2].1, &numbers[3].1), "one column for each run");
    // Thirteen runs have no room for numbers, but an axis.
    let many: Vec<RunData> = (0..13).map(|at| RunData { name: format!("run {at}"), ..first.clone() }).collect();
    let ticks = "root.dataset.ticks = page.querySelectorAll('.ladder .axes text').length;";
    let Some((counts, _)) = open_and(&many, DESKTOP, &[ladder, ticks].concat()) else { return };
    assert_eq!(counts["numbers"], "");
    assert!(chromium::number(&counts, "ticks") >= 4, "{counts:?}");
}

#[test]
fn a_bound_has_a_mark_of_its_own() {
    let bound = Row {
        ns_interval: Some(Interval { low: -0.02, high: 0.05 }),
        ..Row::unmeasured(case("cpu.fence.seq_cst", 1), Verdict::BelowResolution("at most 0.05 ns".into()))
    };
    let locks = ["std_mutex", "parking_lot_mutex", "pthread_mutex", "ticket", "mcs", "ttas"];
    let noise = locks
        .iter()
        .flat_map(|name| [1, 2].map(|threads| noisy(row(case(&format!("cpu.lock.{name}"), threads), 8.0, 10.0, 12.0))));
    let rows = std::iter::once(bound).chain(noise).collect();
    let shapes = "const shape = (mark) => mark.getAttribute('d').replace(/[-\\d.,]+/g, '');
        const of = (kind) => new Set([...page.querySelectorAll('.chart .mark.' + kind + ' path')].map(shape));
        const bounds = of('bound');
        root.dataset.bounds = bounds.size;
        root.dataset.shared = [...of('open')].filter((one) => bounds.has(one)).length;";
    let Some((counts, _)) = open_and(&[run(rows)], DESKTOP, shapes) else { return };
    assert_eq!((counts["bounds"].as_str(), counts["shared"].as_str()), ("1", "0"), "{counts:?}");
}

#[test]
fn sentences_lead_to_their_figure_and_to_their_rows() {
    let data = synthetic::wide::complete();
    let script = "
        const items = [...page.querySelectorAll('.answers li')];
        root.dataset.sentences = items.length;
        root.dataset.dead = items.filter((item) => {
            const link = item.querySelector('a');
            const id = link && link.getAttribute('href').slice(1);
            return !link || !(page.getElementById(id) || page.querySelector('[data-question=\"' + id + '\"]'));
        }).length;
        const lock = items.find((item) => item.textContent.includes('cheapest lock'));
        lock.querySelector('button').click();
        const cells = [...page.querySelectorAll('#rows tbody tr')].map((row) => row.textContent);
        root.dataset.shown = cells.length;
        root.dataset.others = cells.filter((text) => !text.includes('cpu.lock.')).length;
        root.dataset.landed = Math.round(page.getElementById('rows').getBoundingClientRect().top);";
    let Some((counts, dom)) = open_and(&[data], DESKTOP, script) else { return };
    let number = |name| chromium::number(&counts, name);
    assert!((5..=8).contains(&number("sentences")), "{counts:?}");
    assert_eq!(number("dead"), 0, "a link without a figure");
    assert_eq!((number("shown"), number("others")), (4, 0), "the rows of four locks");
    assert!((-40..=100).contains(&number("landed")), "{counts:?}");
    assert!(plain(&dom).contains("How far to trust it: "));
}

#[test]
fn a_run_without_rows_has_no_answers() {
    let Some(dom) = text(&[run(vec![])]) else { return };
    assert!(!dom.contains("id=\"answers\""));
}

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
        let layout = Some(syncscope_core::Layout::Private { stride });
        Row { case: Case { layout, ..row.case.clone() }, ..row }
    };
    let add = |threads| exact(case("cpu.atomic.add", threads), 2.0);
    let rows = vec![
        dtype(syncscope_core::Dtype::U64, add(16)),
        dtype(syncscope_core::Dtype::I32, add(16)),
        stride(16, dtype(syncscope_core::Dtype::I32, add(64))),
        exact(case("cpu.lock.ticket", 16), 100.0),
        exact(grid("gpu.block.syncthreads", 1, 32), 7.0),
        exact(grid("gpu.block.syncthreads_count", 1, 32), 20.0),
        exact(grid("gpu.atomic.add", 1, 32), 3.0),
        exact(grid("gpu.grid.cooperative", 132, 32), 1000.0),
        noisy(exact(grid("gpu.grid.counter", 132, 32), 800.0)),
    ];
    let queries = [
        ("threads:16 type:u64", 1),
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
        ("threads:1", 0),
        ("", 9),
    ];
    let Some(counts) = found(run(rows), &queries.map(|(query, _)| query)) else { return };
    let expected: Vec<i64> = queries.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, expected, "{queries:?}");
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
        assert!(chromium::number(&counts, "height") < 60, "{width}: {counts:?}");
        assert!(chromium::number(&counts, "name") >= 80, "{width}: {counts:?}");
        assert_eq!(counts["nav"], "true", "{width}: a page without navigation");
    }
}

#[test]
fn words_beside_marks_do_not_cover_names() {
    let rows = ["park", "futex", "condvar", "channel", "cas_pingpong"].map(|name| {
        let wide = row(case(&format!("cpu.handoff.{name}"), 2), 60.0, 400.0, 5000.0);
        Row { ns_spread: Some(Interval { low: 60.0, high: 5000.0 }), ..wide }
    });
    let script = "
        const boxes = (kind) => [...page.querySelectorAll('.dots ' + kind)].map((one) => one.getBoundingClientRect());
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 3 && b.top < a.bottom - 3;
        root.dataset.covered = boxes('.value').filter((value) => boxes('.label').some((label) => meet(value, label))).length;
        root.dataset.values = boxes('.value').length;";
    for width in [360, DESKTOP] {
        let Some((counts, _)) = open_and(&[run(rows.to_vec())], width, script) else { return };
        assert!(chromium::number(&counts, "values") >= 5, "{counts:?}");
        assert_eq!(chromium::number(&counts, "covered"), 0, "{width}: text over text");
    }
}

#[test]
fn operations_of_one_name_have_tails_of_their_own() {
    let flag =
        |order| Case { order: Some(order), group: Some(Group::of_word("near")), ..case("hybrid.flag.round_trip", 1) };
    let rows = vec![
        exact(case("cpu.handoff.futex", 2), 700.0),
        exact(case("cpu.wake.futex", 2), 4540.0),
        exact(flag(MemoryOrder::Relaxed), 2470.0),
        exact(flag(MemoryOrder::AcqRel), 3020.0),
    ];
    let mut data = run(rows);
    let of_row = |row: &Row| (row.case.id(), vec![Detail::of_case("p50_ns", row.ns.unwrap().value())]);
    data.details = data.rows.iter().map(of_row).collect();
    let Some(dom) = text(&[data]) else { return };
    for label in ["futex", "wake-up by futex", "flag round trip · near · 1 thread · relaxed"] {
        assert!(dom.contains(&format!(">{label}<")), "{label}");
    }
    assert!(dom.contains("1 thread · acq_rel<") && !dom.contains("2 pairs"), "two orders are no two pairs of CPUs");
}

#[test]
fn words_of_a_cost_table_are_whole() {
    let fence = |id: &str, evidence: &str| Row { evidence: Some(evidence.into()), ..exact(grid(id, 1, 32), 500.0) };
    let mut rows =
        ["block", "device", "system"].map(|scope| fence(&format!("gpu.fence.{scope}"), "MEMBAR.SC.GPU 0/32")).to_vec();
    rows.extend(
        ["acquire", "release", "acq_rel", "seq_cst"].map(|order| exact(case(&format!("cpu.fence.{order}"), 1), 6.0)),
    );
    // A text on two lines has two boxes.
    let script = "
        const words = [...page.querySelectorAll('.cost-table th[scope=row], .cost-table b, .cost-table button span')];
        const inner = (node) => { const range = page.createRange(); range.selectNodeContents(node); return range.getClientRects().length; };
        root.dataset.words = words.length;
        root.dataset.cut = words.filter((node) => inner(node) > 1).length;";
    for width in [360, DESKTOP] {
        let Some((counts, _)) = open_and(&[run(rows.clone())], width, script) else { return };
        assert_eq!(chromium::number(&counts, "words"), 4 + 4 + 3 + 3, "{counts:?}");
        assert_eq!(chromium::number(&counts, "cut"), 0, "{width}: a word on two lines");
        assert!(chromium::number(&counts, "overflow") <= 0, "{counts:?}");
    }
}

#[test]
fn a_line_that_ends_early_does_not_seem_to_go_on() {
    let block = |threads| exact(Case { mode: None, ..grid("gpu.block.syncthreads", 1, threads) }, 10.0);
    let rows = vec![
        block(32),
        block(1024),
        exact(grid("gpu.grid.counter", 132, 32), 800.0),
        exact(grid("gpu.grid.counter", 132, 1024), 830.0),
    ];
    let script = "root.dataset.far = page.querySelectorAll('#decide-barrier .leader.far').length;
        const line = page.querySelector('#decide-barrier .leader.far');
        root.dataset.dashes = line ? frame.contentWindow.getComputedStyle(line).strokeDasharray : '';";
    let Some((counts, _)) = open_and(&[run(rows)], DESKTOP, script) else { return };
    assert_eq!(chromium::number(&counts, "far"), 1, "the block's: {counts:?}");
    assert_ne!(counts["dashes"], "none");
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
        for part in ["Atomic addition", "one addition by each thread", "C11, atomic_fetch_add"] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
    }
}

#[test]
fn reasons_that_differ_in_their_numbers_only_are_one_reason() {
    let wide = |threads| Row {
        verdict: Verdict::Noisy(format!("the interval is +/- {threads}1 % wide after 10{threads} pairs")),
        ..row(case("cpu.atomic.add", threads), 8.0, 10.0, 12.0)
    };
    let rows = (1..9).map(wide).collect();
    let script = "root.dataset.reasons = page.querySelectorAll('[data-drawn=\"cpu.atomic\"] .unresolved li').length;";
    let Some((counts, _)) = open_and(&[run(rows)], DESKTOP, script) else { return };
    assert_eq!(counts["reasons"], "1");
}
