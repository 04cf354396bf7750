//! Charts: their names, marks and words.

use syncscope_core::machine::{MeasuredGroup, MeasuredTopology};
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Cycles, Detail, Group, Layout, MemoryOrder, Mode, Placement, Row, Scope, Verdict};

use super::{DESKTOP, case, exact, grid, noisy, row, run, synthetic, text};
use crate::chromium::{number, open_and};

/// Whether a chart has a line of this name.
fn has_line(dom: &str, name: &str) -> bool {
    dom.contains(&format!("data-name=\"{name}\""))
}

/// Rows in which the least important primitives have the usual values, parameter by parameter.
fn awkward() -> Vec<Row> {
    let mut rows = Vec::new();
    let grouped = |primitive: &str, threads, group| Case { group: Some(group), ..grid(primitive, 1, threads) };
    for threads in [32, 1024] {
        rows.push(exact(grid("gpu.block.syncthreads", 1, threads), 11.0));
        for name in ["and", "or", "count"] {
            for blocks in [1, 132] {
                let name = format!("gpu.block.syncthreads_{name}");
                let mode = Some(Mode::Latency);
                rows.push(exact(Case { mode, ..grid(&name, blocks, threads) }, 27.0));
            }
        }
        for (scope, ns) in [(Scope::Block, 4.0), (Scope::Device, 215.0), (Scope::System, 514.0)] {
            rows.push(exact(Case { scope: Some(scope), ..grid(&format!("gpu.fence.{scope}"), 1, threads) }, ns));
        }
        rows.push(exact(grouped("gpu.warp.syncwarp", threads, Group::named("converged")), 0.5));
        rows.push(exact(grouped("gpu.warp.syncwarp", threads, Group::named("divergent")), 83.0));
        rows.push(exact(grouped("gpu.warp.coalesced", threads, Group::of_word("coalesced 16")), 0.5));
        rows.push(exact(grouped("gpu.cluster.sync", threads, Group::of_word("cluster 8")), 167.0));
        for mode in Mode::ALL {
            let case = grouped("gpu.cluster.dsmem_atomic", threads, Group::of_word("cluster 8"));
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
        rows.push(exact(Case { group: Some(Group::named("libgomp")), ..case("cpu.barrier.openmp", threads) }, 500.0));
        rows.push(exact(case("cpu.fence.seq_cst", threads), 6.0));
        for stride in [1, 16] {
            let layout = Some(Layout::Private { stride });
            rows.push(exact(Case { layout, ..case("cpu.fence.flush", threads) }, 7.0));
        }
    }
    // Hand-offs of classes that this machine lacks, and of one that it has.
    for group in [Group::named("same_core"), Group::named("same_l2"), Group::named("same_node"), Group::named("across")]
    {
        for name in ["cas_pingpong", "channel"] {
            let case = Case { group: Some(group.clone()), ..case(&format!("cpu.handoff.{name}"), 2) };
            rows.push(Row::unmeasured(case, Verdict::Skipped("there is no such pair".into())));
        }
    }
    for pair in 0..40 {
        let placement = Some(Placement::List(vec![0, pair + 1]));
        let case = Case { group: Some(Group::named("same_l3")), placement, ..case("cpu.handoff.cas_pingpong", 2) };
        rows.push(exact(case, 71.0));
    }
    rows
}

#[test]
fn one_figure_is_no_line() {
    let barrier = |name: &str, threads| exact(case(&format!("cpu.barrier.{name}"), threads), 900.0);
    let mut rows: Vec<Row> = [1, 2, 4].map(|threads| barrier("std", threads)).to_vec();
    rows.extend([barrier("tree", 2), barrier("sense", 4)]);
    let Some(dom) = text(&[run(rows)]) else { return };
    assert!(dom.contains("Only one size measured: tree (900 ns at 2 threads)."), "said below the lines");
    assert!(has_line(&dom, "sense"), "at the end its name stands beside it");
    let Some(dom) = text(&[run(vec![barrier("tree", 2), barrier("sense", 4)])]) else { return };
    assert!(dom.contains("tree, 2 threads") && dom.contains("sense, 4 threads"), "rows of dots");
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
    // The page has eight colours, so the first and the ninth lock share one.
    let names = ["std_mutex", "ticket", "parking_lot_mutex"];
    let script = format!(
        "root.dataset.colours = {names:?}.map((name) => {{
            const marks = [...page.querySelectorAll('.drawn [data-name=\"' + name + '\"]')];
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
        root.dataset.fair = [...new Set([...drawn.querySelectorAll('.line path')].map((line) => line.dataset.name))].join('|');";
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
    data.run.measured_topology = Some(MeasuredTopology {
        groups: vec![MeasuredGroup { shares: "machine".into(), cpus: "0-12".into(), handoff_ns: 75.0 }],
        contradictions: vec![],
    });
    let script = "const cells = [...page.querySelectorAll('.matrix .cell rect')];
        root.dataset.pairs = cells.length;
        root.dataset.shades = new Set(cells.map((cell) => cell.getAttribute('fill'))).size;";
    let Some((counts, dom)) = open_and(&[data], DESKTOP, script) else { return };
    assert!(dom.contains("measured CPU pairs have about the same hand-off cost"));
    assert!(dom.contains("are consistent with the reported topology. The other"), "a sample shows what it met");
    assert!(number(&counts, "pairs") > 40, "{counts:?}");
    let shades = number(&counts, "shades");
    assert!((1..=4).contains(&shades), "{shades} of 24 colours for differences of 7 %");
}

#[test]
fn a_row_without_a_figure_has_no_colour_in_the_matrix_and_no_cycles_in_the_table() {
    let pair = |b: u32, low, ns, high| {
        let case = Case { placement: Some(Placement::List(vec![0, b])), ..case("cpu.handoff.cas_pingpong", 2) };
        Row { cycles: Some(Cycles(3.0 * ns)), ..row(case, low, ns, high) }
    };
    let rough = noisy(pair(2, 190.0, 200.0, 210.0));
    let rows = vec![pair(1, 99.0, 100.0, 101.0), rough, noisy(pair(3, 10.0, 400.0, 900.0))];
    let script = "root.dataset.coloured = page.querySelectorAll('.matrix .cell rect').length;
        root.dataset.texts = [...page.querySelectorAll('.matrix .cell-text')].map((cell) => cell.textContent).join(' ');
        const head = [...page.querySelectorAll('#rows thead th')].findIndex((cell) => cell.textContent.startsWith('Cycles'));
        root.dataset.cycles = [...page.querySelectorAll('#rows tbody tr')].map((line) => line.cells[head]?.textContent).join(' ');";
    let Some((counts, _)) = open_and(&[run(rows)], DESKTOP, script) else { return };
    assert_eq!(counts["coloured"], "4", "two pairs in both directions: {counts:?}");
    assert_eq!(counts["texts"], "100 100 ~200 ~200 × ×", "{counts:?}");
    assert_eq!(counts["cycles"], "300 ~600 ", "{counts:?}");
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
        assert!(number(&counts, "values") >= 5, "{counts:?}");
        assert_eq!(number(&counts, "covered"), 0, "{width}: text over text");
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
    for family in ["Handoff on the CPU", "Wake-ups on the CPU", "Flags across CPU and GPU"] {
        assert!(dom.contains(&format!("<figcaption>{family}: tail latency<")), "{family}");
    }
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
        const words = [...page.querySelectorAll('#decide-fences table :is(th[scope=row], b, td span)')];
        const inner = (node) => { const range = page.createRange(); range.selectNodeContents(node); return range.getClientRects().length; };
        root.dataset.words = words.length;
        root.dataset.cut = words.filter((node) => inner(node) > 1).length;";
    for width in [360, DESKTOP] {
        let Some((counts, _)) = open_and(&[run(rows.clone())], width, script) else { return };
        assert_eq!(number(&counts, "words"), 4 + 4 + 3 + 3, "{counts:?}");
        assert_eq!(number(&counts, "cut"), 0, "{width}: a word on two lines");
        assert!(number(&counts, "overflow") <= 0, "{counts:?}");
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
    assert_eq!(number(&counts, "far"), 1, "the block's: {counts:?}");
    assert_ne!(counts["dashes"], "none");
}

/// An interval cut at the edge of a chart would look shorter.
#[test]
fn an_interval_too_wide_for_a_figure_is_drawn_whole() {
    let rows = vec![
        exact(case("cpu.lock.mcs", 1), 10.0),
        noisy(row(case("cpu.lock.mcs", 2), 3.0, 10.0, 35.0)),
        exact(case("cpu.lock.mcs", 4), 10.0),
    ];
    let script = "
        const chart = page.querySelector('.explored svg.chart');
        const ticks = [...chart.querySelectorAll('.axes text')].flatMap((text) => {
            const place = /,([-\\d.]+)\\)/.exec(text.getAttribute('transform') || '');
            const [, size] = /^(\\d+)\\sns$/.exec(text.textContent) || [];
            return place && size ? [[Math.log10(Number(size)), Number(place[1])]] : [];
        });
        const [first, last] = [ticks[0], ticks[ticks.length - 1]];
        const decade = Math.abs((last[1] - first[1]) / (last[0] - first[0]));
        const lines = [...chart.querySelectorAll('.whisker path')].map((path) => path.getAttribute('d').match(/[\\d.]+/g));
        const long = Math.max(...lines.map(([, from, , to]) => Math.abs(to - from)));
        root.dataset.percent = Math.round((100 * long) / (decade * Math.log10(35 / 3)));";
    let Some((counts, _)) = open_and(&[run(rows)], DESKTOP, script) else { return };
    assert!((98..=102).contains(&number(&counts, "percent")), "{counts:?}");
}
