//! Checks whether the page of a stored run answers what a reader asks, and tests the charts of the decisions in a browser.

use std::path::PathBuf;

use serde_json::Value;
use syncscope_report::{RunData, compare, page};

use crate::chromium::{number, open_and, open_undrawn};
use crate::synthetic;

pub(crate) fn stored(name: &str) -> RunData {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "results", name].iter().collect();
    RunData::load(&path, synthetic::catalogue()).unwrap()
}

/// The page of a run: its text without data and scripts, and its data.
fn page_of(data: &RunData) -> (String, Value) {
    let html = page::render(std::slice::from_ref(data));
    let (before, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    (before.to_owned(), serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap())
}

fn decision<'a>(page: &'a Value, id: &str) -> &'a Value {
    let decisions = page["runs"][0]["decisions"].as_array().unwrap();
    decisions.iter().find(|decision| decision["id"] == id).unwrap_or_else(|| panic!("no decision {id}"))
}

/// Everything that the page says about a question.
fn sentence(page: &Value, id: &str) -> String {
    decision(page, id)["claim"].as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

/// The series of one chart of a decision.
fn series<'a>(page: &'a Value, id: &str, chart: usize) -> &'a [Value] {
    let charts = decision(page, id)["charts"].as_array().unwrap();
    let panels =
        charts.iter().flat_map(|one| one["panels"].as_array().map_or(std::slice::from_ref(one), Vec::as_slice));
    let chart = panels.collect::<Vec<_>>()[chart];
    let name = if chart["kind"] == "dots" { "rows" } else { "series" };
    chart[name].as_array().unwrap()
}

#[test]
fn only_kernels_of_the_barriers_grid_decide() {
    let answers = |run: &str| page_of(&stored(run)).1["runs"][0]["answers"]["certain"].to_string();
    assert!(answers("h200").contains("decide-relaunch"), "{}", answers("h200"));
    // This run also has kernels of other grids, and of 1,024 threads.
    let standard = answers("h200-standard");
    assert!(standard.contains("the cheapest way to synchronize a grid of 132×32"), "{standard}");
}

#[test]
fn ten_questions_of_a_reader() {
    let data = stored("h200");
    let (text, page) = page_of(&data);
    let answers = page["runs"][0]["answers"]["certain"].as_array().unwrap();

    // 1. What is expensive here, and what should I do? Sentences at the top, each with its figure.
    assert!((3..=5).contains(&answers.len()), "{answers:?}");
    let figures: Vec<&str> = answers.iter().map(|answer| answer["figure"].as_str().unwrap()).collect();
    assert!(figures.iter().filter(|id| id.starts_with("decide-")).count() >= 5, "{figures:?}");

    // 2. How does atomicAdd scale with threads? A line from one warp to all threads of the device, and one of CPU threads.
    let on_device = &series(&page, "decide-atomics", 1)[0]["points"];
    assert!(on_device.as_array().unwrap().len() >= 4, "{on_device}");
    assert!(
        sentence(&page, "decide-atomics").contains("135,168 GPU threads perform 43.7 billion additions per second")
    );

    // 3. Which lock at 16 threads? A sentence, a line for each lock, and the fairness of each.
    assert!(
        sentence(&page, "decide-lock").contains("pthread_mutex with 16 threads"),
        "{}",
        sentence(&page, "decide-lock")
    );
    assert_eq!((series(&page, "decide-lock", 0).len(), series(&page, "decide-lock", 1).len()), (11, 11));

    // 4. Grid sync or relaunch? Both costs on one grid, in a graph and in a stream.
    let relaunch = sentence(&page, "decide-relaunch");
    for part in ["programmatic launch", "a launch into a plain stream (", "a grid of 132×32"] {
        assert!(relaunch.contains(part), "{relaunch}");
    }

    // 5. Do hyperthreads, NUMA and pinning matter? The note says what this machine cannot tell.
    assert!(decision(&page, "decide-placement")["note"].as_str().unwrap().contains("says nothing about SMT"));

    // 6. CPU and GPU side by side? Barriers and additions on both, with the same axes.
    for id in ["decide-atomics", "decide-barrier"] {
        let charts = decision(&page, id)["charts"][0]["panels"].as_array().unwrap();
        assert_eq!([&charts[0]["title"], &charts[1]["title"]], ["CPU", "GPU"]);
        assert!(charts[0]["y"]["domain"].is_array());
        assert_eq!(charts[0]["y"], charts[1]["y"]);
    }

    // 7. What changed since another run? Below the ladder, if a stored run has the same hardware. A page of two runs has its
    // own section, and the foot of the page names `syncscope compare`.
    let changed = page["changed"].as_str().unwrap();
    assert!(
        changed.contains("matching hardware: Intel Xeon (Emerald Rapids), 16 CPUs (KVM);")
            && changed.contains("None of them is more than 5 % slower or faster here."),
        "{changed}"
    );
    let two = page::render(&[data.clone(), stored("h100")]).replace('\u{a0}', " ");
    let (_, section) = two.split_once("id=\"changes\"").unwrap();
    assert!(section.contains(" slower, ") && section.contains("gpu.cluster.sync 32 threads 8 blocks cluster 8"));
    assert!(page::render(std::slice::from_ref(&data)).contains("syncscope compare"));
    assert!(compare(&data, &stored("h100"), 0.05).cases.len() > 100);

    // 8. What is cas_fail? The list of primitives.
    let known = page["primitives"].as_array().unwrap();
    let one = known.iter().find(|one| one["id"] == "cpu.atomic.cas_fail").unwrap();
    assert_eq!(one["summary"], "Atomic compare-and-swap that always fails");

    // 9. Is this figure good, and for my machine? What disturbed the run is below the answers; the ladder shows the figures
    // of other machines behind its own, each with its reliability.
    let trust = page["runs"][0]["answers"]["trust"].as_str().unwrap();
    assert!(trust.contains("of 563 costs are resolved"), "{trust}");
    let rungs = page["ladder"].as_array().unwrap();
    let compared = rungs.iter().filter(|rung| rung["anchors"].as_array().is_some_and(|anchors| !anchors.is_empty()));
    assert!(2 * compared.count() > rungs.len(), "most rungs have the figure of another machine");
    let cluster = rungs.iter().find(|rung| rung["title"] == "Barrier, 8 blocks").unwrap();
    let tips: Vec<&str> =
        cluster["anchors"].as_array().unwrap().iter().map(|anchor| anchor["tip"].as_str().unwrap()).collect();
    assert!(tips.iter().any(|tip| tip.starts_with("NVIDIA H100 80GB HBM3\n376 ns")), "{tips:?}");

    // 10. What would a thousand of these cost? The rule is next to the figures of the machine.
    assert!(text.contains("At 1 ns each, a thousand operations take 1 µs"));
    assert!(
        text.contains("<b>737\u{a0}ns</b> barrier across the grid (hierarchical near_counters)"),
        "0.7 ms for a thousand"
    );
}

/// Draws everything, and compares each chart with the data.
const COMPARE: &str = "
    page.defaultView.dispatchEvent(new Event('beforeprint'));
    const data = JSON.parse(page.getElementById('data').textContent);
    const wrong = [];
    let drawn = 0;
    for (const decision of data.runs[0].decisions) {
        const card = page.getElementById(decision.id);
        const charts = [...card.querySelectorAll('svg.chart, table')];
        if (charts.length !== decision.charts.length) wrong.push(decision.id + ': ' + charts.length + ' charts');
        const parts = (spec, at) => {
            const inner = spec.panels && charts[at].querySelectorAll(':scope > svg');
            return spec.panels ? spec.panels.map((panel, one) => [panel, inner[one]]) : [[spec, charts[at]]];
        };
        decision.charts.flatMap(parts).forEach(([spec, chart]) => {
            drawn += 1;
            if (spec.kind === 'table') {
                const cells = spec.lines.flatMap((line) => line.cells).filter(Boolean).length;
                if (chart.querySelectorAll('td button').length !== cells) wrong.push(decision.id + ': cells');
                return;
            }
            // One figure is no line, nor is none: the card names them.
            const figures = (one) => one.points.filter((point) => typeof point.y === 'number').length;
            const isLone = (one) => spec.kind === 'lines' && figures(one) < 2;
            const all = spec.series || spec.rows;
            all.forEach((one, line) => {
                const isNamed = card.textContent.replace(/\\u00a0/g, ' ').includes(one.label);
                const isThere = isLone(one) ? isNamed : chart.querySelector('.line-' + line);
                if (!isThere) wrong.push(decision.id + ': ' + one.label);
            });
            if (!all.some((one) => !isLone(one))) return;
            if (chart.querySelectorAll('.rule').length !== (spec.rules || []).length) wrong.push(decision.id + ': rules');
        });
        if (!card.textContent.replace(/\\u00a0/g, ' ').includes(decision.claim.join(' ').trim())) wrong.push(decision.id + ': sentence');
    }
    root.dataset.wrong = wrong.join('|');
    root.dataset.drawn = drawn;
    root.dataset.boxes = page.querySelectorAll('#machine .box').length;
    root.dataset.wide = page.scrollingElement.scrollWidth - page.defaultView.innerWidth;";

#[test]
fn every_chart_has_the_series_of_its_data() {
    let Some((counts, _)) = open_undrawn(&[stored("h200-x4")], 390, COMPARE, "") else { return };
    assert_eq!((counts.get("errors"), counts["wrong"].as_str()), (None, ""), "{counts:?}");
    assert_eq!(number(&counts, "drawn"), 17);
    // One package with its cache, and four devices.
    assert_eq!(number(&counts, "boxes"), 2 + 4);
    assert!(number(&counts, "wide") <= 0, "the drawing is wider than a phone: {counts:?}");
}

/// Each cost in the table of both sides leads to its row, and each ratio to the rows of both sides.
#[test]
fn a_cell_of_both_sides_leads_to_its_rows() {
    let script = "const cells = [...page.querySelectorAll('#sides td button')];
        const wrong = cells.filter((cell) => {
            const said = cell.querySelector('b').textContent;
            cell.click();
            const rows = [...page.querySelectorAll('#rows tbody tr')].map(({ textContent }) => textContent);
            const isRatio = /times$|^undecided$/.test(said);
            const sides = ['cpu.', 'gpu.'].map((side) => rows.find((row) => row.startsWith(side)));
            return isRatio ? rows.length !== 2 || !sides.every(Boolean) : rows.length !== 1 || !rows[0].includes(said);
        });
        root.dataset.cells = cells.length;
        root.dataset.wrong = wrong.map(({ textContent }) => textContent).join('|');";
    let Some((counts, _)) = open_undrawn(&[stored("h200")], 1280, script, "") else { return };
    assert_eq!((number(&counts, "cells"), counts["wrong"].as_str()), (49, ""), "{counts:?}");
}

#[test]
fn labels_of_close_rules_touch_nothing_on_a_phone() {
    let script = "const boxes = (nodes) => [...nodes].map((node) => node.getBoundingClientRect());
        const touch = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        let touching = 0;
        let labels = 0;
        for (const chart of page.querySelectorAll('#decisions svg.lines')) {
            const own = boxes(chart.querySelectorAll('.rules text'));
            const others = boxes(chart.querySelectorAll('.mark path, .mark circle, .axis-title, .end-label'));
            labels += own.length;
            touching += own.filter((a, at) => [...own.slice(at + 1), ...others].some((b) => touch(a, b))).length;
        }
        root.dataset.touching = touching;
        root.dataset.labels = labels;
        root.dataset.text = page.querySelector('#decide-lock .rules').textContent;";
    let mut data = stored("h200");
    data.run.machine.cpu.cores = 15;
    for row in &mut data.rows {
        row.case.placement = row.case.placement.take().map(|_| syncscope_core::Placement::None);
    }
    let Some((counts, _)) = open_and(&[data.clone()], 390, script) else { return };
    assert_eq!((counts.get("errors"), number(&counts, "touching")), (None, 0), "{counts:?}");
    assert!(number(&counts, "labels") >= 4 && counts["text"] == "cores: 15, CPUs: 16", "{counts:?}");
    data.run.machine.cpu.cores = 2;
    let Some((counts, _)) = open_and(&[data], 1280, script) else { return };
    assert_eq!((number(&counts, "touching"), counts["text"].as_str()), (0, "cores: 2CPUs: 16"), "two labels");
}

#[test]
fn the_ladder_has_a_tick_for_each_figure_of_another_machine() {
    let script = "const data = JSON.parse(page.getElementById('data').textContent);
        const ladder = page.getElementById('ladder');
        const anchors = data.ladder.flatMap((rung) => rung.anchors || []);
        const ticks = [...ladder.querySelectorAll('.anchors .anchor')];
        root.dataset.anchors = anchors.length;
        root.dataset.ticks = ticks.length;
        root.dataset.bare = anchors.filter((anchor) => !anchor.certain).length;
        root.dataset.dotted = ticks.filter((tick) => tick.classList.contains('bare')).length;
        const chart = ladder.querySelector('svg.chart').getBoundingClientRect();
        root.dataset.outside = ticks.filter((tick) => {
            const { left, right } = tick.getBoundingClientRect();
            return left < chart.left || right > chart.right;
        }).length;
        const named = (machine) => ladder.textContent.includes(machine);
        root.dataset.unnamed = anchors.filter(({ machine }) => !machine.includes(',') && !named(machine)).length;
        const place = ticks[0].getBoundingClientRect();
        const over = { clientX: place.left, clientY: place.top, pointerType: 'mouse', bubbles: true };
        ladder.querySelector('svg.chart').dispatchEvent(new page.defaultView.PointerEvent('pointermove', over));
        root.dataset.tip = page.getElementById('tooltip').textContent;";
    let Some((counts, _)) = open_and(&[stored("h200")], 390, script) else { return };
    assert_eq!(counts.get("errors"), None, "{counts:?}");
    assert!(number(&counts, "anchors") > 40 && number(&counts, "bare") > 5, "{counts:?}");
    assert_eq!(number(&counts, "ticks"), number(&counts, "anchors"));
    assert_eq!(number(&counts, "dotted"), number(&counts, "bare"));
    assert_eq!((number(&counts, "outside"), number(&counts, "unnamed")), (0, 0), "{counts:?}");
    assert!(counts["tip"].contains("stored run"), "{counts:?}");
    // A second run on the page is the comparison, so there are no ticks.
    let script = "root.dataset.ticks = page.querySelectorAll('.anchor').length;";
    let Some((counts, _)) = open_and(&[stored("h200"), stored("h100")], 1280, script) else { return };
    assert_eq!(number(&counts, "ticks"), 0);
}

#[test]
fn the_decisions_of_several_runs_stand_together() {
    let script = "root.dataset.groups = page.querySelectorAll('.decision-group').length;
        root.dataset.locks = page.getElementById('decide-lock').querySelectorAll('article').length;
        root.dataset.machines = page.querySelectorAll('.machine').length;";
    let Some((counts, _)) = open_and(&[stored("h200"), stored("h100")], 1280, script) else { return };
    assert_eq!(counts.get("errors"), None, "{counts:?}");
    assert_eq!((number(&counts, "groups"), number(&counts, "locks"), number(&counts, "machines")), (11, 2, 2));
}
