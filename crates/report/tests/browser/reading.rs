//! The page as a reader uses it: links land on their target, the explorer keeps its state, charts and rows become files.

use crate::chromium::{Counts, number, open_and, open_undrawn, plain};
use crate::synthetic;
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Group, Layout, Mode, Nanoseconds, Row, Space, Verdict};

const DESKTOP: u32 = 1280;

fn words<'a>(counts: &'a Counts, name: &str) -> Vec<&'a str> {
    counts[name].split('|').filter(|one| !one.is_empty()).collect()
}

/// Links from the top of a page whose charts are not drawn yet, and again when all of them are.
#[test]
fn navigation_lands_on_its_target_at_every_width() {
    let script = "
        const view = page.defaultView;
        const place = (id) => Math.round(page.getElementById(id).getBoundingClientRect().top);
        const atEnd = () => view.scrollY + view.innerHeight >= page.scrollingElement.scrollHeight - 2;
        const missed = [];
        let links = 0;
        const wide = [];
        for (const width of [390, 1280, 1920]) {
            frame.width = width;
            await wait(300);
            for (const link of page.querySelectorAll('#nav a')) {
                links += 1;
                view.scrollTo(0, 0);
                await wait(50);
                link.click();
                const id = link.getAttribute('href').slice(1);
                // What is drawn later must not move the target.
                for (const later of [0, 6000]) {
                    await wait(later);
                    if (Math.abs(place(id) - 64) > 40 && !(atEnd() && place(id) > 0)) missed.push([width, id, later, place(id)]);
                }
            }
            if (page.scrollingElement.scrollWidth > view.innerWidth) wide.push(width);
        }
        root.dataset.links = links;
        root.dataset.missed = missed.join('|');
        root.dataset.wide = wide.join('|');";
    let Some((counts, _)) = open_undrawn(&[synthetic::wide::complete()], 390, script, "") else { return };
    assert_eq!(counts.get("errors"), None, "{counts:?}");
    assert!(number(&counts, "links") >= 3 * 6, "{counts:?}");
    assert_eq!(words(&counts, "missed"), [""; 0], "width, target, milliseconds later, its place");
    assert_eq!(words(&counts, "wide"), [""; 0], "the page is wider than the window");
}

#[test]
fn the_state_of_the_explorer_is_in_the_address_and_survives_a_reload() {
    let script = "
        const state = () => ['x', 'y', 'scale', 'facet', 'variables']
            .map((key) => page.querySelector('#explore select[data-key=' + key + ']').value).join(' ');
        const charts = () => [...page.querySelectorAll('.explored svg.chart')].map((one) => one.getAttribute('aria-label')).join(';');
        const choose = (key, value) => {
            const select = page.querySelector('#explore select[data-key=' + key + ']');
            select.value = value;
            select.dispatchEvent(new Event('change'));
        };
        root.dataset.given = state();
        choose('facet', 'dtype');
        choose('variables', 'private, stride 1');
        const before = [page.defaultView.location.hash, state(), charts()];
        page.defaultView.location.reload();
        await new Promise((resolve) => (frame.onload = resolve));
        frame.onload = null;
        [page, root] = [frame.contentDocument, frame.contentDocument.documentElement];
        const waited = async (condition) => {
            for (let tries = 0; tries < 40 && !condition(); tries += 1) await wait(500);
        };
        await waited(() => page.querySelector('.explored svg.chart'));
        const after = [page.defaultView.location.hash, state(), charts()];
        const filter = page.getElementById('explore-filter');
        Object.assign(document.documentElement.dataset, { hash: before[0], state: before[1], drawn: before[2].split(';').length });
        document.documentElement.dataset.same = String(JSON.stringify(before) === JSON.stringify(after));
        filter.value = 'lock ticket';
        filter.dispatchEvent(new Event('input'));
        await waited(() => page.defaultView.location.hash.includes('lock'));
        document.documentElement.dataset.filtered = page.defaultView.location.hash;
        page.querySelector('[data-question=\"cpu.barrier\"]').click();
        document.documentElement.dataset.asked = page.defaultView.location.hash + ' ' + filter.value;";
    let hash = "#explore?q=domain:cpu%20family:atomic&y=total&scale=linear";
    let Some((counts, _)) = open_undrawn(&[synthetic::both()], DESKTOP, script, hash) else { return };
    assert_eq!(counts.get("errors"), None, "{counts:?}");
    assert_eq!(counts["state"], "threads total linear dtype private, stride 1");
    assert!(counts["hash"].contains("facet=dtype") && counts["hash"].contains("y=total"), "{counts:?}");
    assert!(number(&counts, "drawn") >= 3, "a chart for each type: {counts:?}");
    assert_eq!(counts["same"], "true", "{counts:?}");
    assert!(counts["filtered"].contains("q=lock%20ticket"), "{counts:?}");
    assert_eq!(counts["asked"], "#explore?q=domain:cpu%20family:barrier domain:cpu family:barrier");
}

#[test]
fn charts_and_rows_become_files() {
    let script = "
        const view = page.defaultView;
        const saved = [];
        view.URL.createObjectURL = (blob) => (saved.push(blob), '#');
        view.HTMLAnchorElement.prototype.click = function () {};
        // The browser encodes images when it is idle, which it never is on a busy machine.
        view.HTMLCanvasElement.prototype.toBlob = function (done) {
            const bytes = atob(this.toDataURL().split(',')[1]);
            done(new view.Blob([Uint8Array.from(bytes, (one) => one.charCodeAt(0))], { type: 'image/png' }));
        };
        const figure = page.querySelector('.explored figure');
        const [svg, png, csv] = figure.querySelectorAll('.exports button');
        for (const button of [svg, csv, png]) button.click();
        await until(() => saved.length === 3);
        const text = await read(saved[0]);
        const file = new DOMParser().parseFromString(text, 'image/svg+xml');
        root.dataset.broken = file.querySelectorAll('parsererror').length;
        root.dataset.lines = file.querySelectorAll('path').length;
        root.dataset.named = [...file.querySelectorAll('text')].some((one) => one.textContent.startsWith('ticket'));
        root.dataset.variables = /var\\(|color-mix|oklab|light-dark/.test(text);
        const lines = (await read(saved[1])).trim().split('\\n');
        root.dataset.header = lines[0];
        root.dataset.points = lines.length - 1;
        root.dataset.marks = figure.querySelectorAll('.mark path').length;
        root.dataset.ragged = lines.filter((line) => line.replace(/\"[^\"]*\"/g, '').split(',').length !== 18).length;
        root.dataset.image = saved[2] ? saved[2].type + ' ' + (saved[2].size > 2000) : 'none';
        const button = (name) => [...page.querySelectorAll('#rows .controls button')].find((one) => one.textContent === name);
        button('Save as CSV').click();
        const rows = (await read(saved[3])).trim().split('\\n');
        root.dataset.rows = rows.length - 1;
        root.dataset.first = rows[0];
        let copied = '';
        Object.defineProperty(view.navigator, 'clipboard', { value: { writeText: async (all) => (copied = all) } });
        button('Copy as Markdown').click();
        await until(() => copied !== '');
        root.dataset.markdown = copied.split('\\n').slice(0, 2).join(' ');
        root.dataset.copied = copied.trim().split('\\n').length - 2;";
    let data = synthetic::cpu_only();
    let count = i64::try_from(data.rows.len()).unwrap();
    let Some((counts, _)) = open_undrawn(&[data], DESKTOP, script, "#explore?q=domain:cpu%20family:lock") else {
        return;
    };
    assert_eq!(counts.get("errors"), None, "{counts:?}");
    assert_eq!((number(&counts, "broken"), counts["named"].as_str()), (0, "true"), "{counts:?}");
    assert!(number(&counts, "lines") > 20, "{counts:?}");
    assert_eq!(counts["variables"], "false", "a file has no style sheet of the page");
    assert!(
        counts["header"].ends_with("machine,primitive,parameters,verdict,case_id,run,started,version"),
        "{counts:?}"
    );
    assert_eq!((number(&counts, "points"), number(&counts, "ragged")), (number(&counts, "marks"), 0), "{counts:?}");
    assert_eq!(counts["image"], "image/png true");
    assert_eq!((number(&counts, "rows"), number(&counts, "copied")), (count, count));
    assert!(counts["first"].starts_with("title,dtype,variables,threads"), "{counts:?}");
    assert!(plain(&counts["markdown"]).starts_with("| Primitive | Type | Variables | Threads |"), "{counts:?}");
}

#[test]
fn everything_that_can_be_opened_fits_a_phone() {
    let mut data = synthetic::both();
    let lock = Case { threads: Some(2), ..Case::new("cpu.lock.parking_lot_rwlock_write") };
    data.rows.push(Row { ns: Some(Nanoseconds(90.0)), ..Row::unmeasured(lock, Verdict::Resolved) });
    let script = "
        for (const one of page.querySelectorAll('details')) one.open = true;
        root.dataset.opened = page.querySelectorAll('details[open]').length;
        root.dataset.wider = root.scrollWidth - root.clientWidth;";
    for question in ["", "#is:cpu.lock.parking_lot_rwlock_write"] {
        let Some((counts, _)) = open_undrawn(std::slice::from_ref(&data), 390, script, question) else { return };
        assert!(number(&counts, "opened") > 3, "{counts:?}");
        assert!(number(&counts, "wider") <= 0, "{question}: {counts:?}");
    }
}

#[test]
fn names_that_differ_at_their_ends_are_not_cut() {
    let row = |mode, threads, ns| {
        let layout = Some(Layout::Private { stride: 1 });
        let case = Case { layout, mode: Some(mode), threads: Some(threads), ..Case::new("gpu.cluster.dsmem_atomic") };
        Row { ns: Some(Nanoseconds(ns)), ..Row::unmeasured(case, Verdict::Resolved) }
    };
    let of = |mode, ns| [row(mode, 32, ns), row(mode, 1024, 2.0 * ns)];
    let rows = [of(Mode::Throughput, 12.0), of(Mode::Latency, 122.0)].concat();
    let data = synthetic::data("run", synthetic::run("CPU", Some("NVIDIA H200")), rows);
    let script = "
        const names = [...page.querySelectorAll('#explore .end-label, #explore .line-keys .key')].map((one) => one.lastChild.textContent);
        root.dataset.names = names.join('|');
        root.dataset.cut = [...page.querySelectorAll('#explore .end-label')].filter((one) => one.textContent.includes('…')).length;";
    let Some((counts, _)) = open_and(&[data], 1280, script) else { return };
    assert_eq!(number(&counts, "cut"), 0, "{counts:?}");
    assert!(counts["names"].contains("throughput") && counts["names"].contains("latency"), "{counts:?}");
}

#[test]
fn the_ladder_names_the_best_on_a_phone_too() {
    let barrier = |name: &str, ns| {
        let case = Case { blocks: Some(132), threads: Some(32), ..Case::new(&format!("gpu.grid.{name}")) };
        let group = (name == "hierarchical").then_some(Group::named("near_counters"));
        let interval = Some(Interval { low: ns * 0.99, high: ns * 1.01 });
        let resolved = Row::unmeasured(Case { group, ..case }, Verdict::Resolved);
        Row { ns: Some(Nanoseconds(ns)), ns_within: interval, ns_interval: interval, ..resolved }
    };
    let rows = ["counter", "cooperative", "lock_free", "hierarchical"]
        .map(|name| barrier(name, if name == "hierarchical" { 750.0 } else { 808.0 }));
    let data = synthetic::data("run", synthetic::run("CPU", Some("NVIDIA H200")), rows.to_vec());
    // The lines of a label, from the top; the numbers beside it must stay clear of it.
    let script = "
        const labels = [...page.querySelectorAll('.ladder .label')];
        const best = labels.find((one) => one.textContent.startsWith('Grid barrier, best'));
        root.dataset.lines = [...best.querySelectorAll('tspan')].map((one) => one.textContent).join('|');
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 3 && b.top < a.bottom - 3;
        const boxes = (kind) => [...page.querySelectorAll('.ladder ' + kind)].map((one) => one.getBoundingClientRect());
        root.dataset.covered = boxes('.label').filter((a) => boxes('.value, .mark path').some((b) => meet(a, b))).length;";
    let Some((counts, _)) = open_and(&[data], 390, script) else { return };
    assert_eq!(
        words(&counts, "lines").join(" "),
        "Grid barrier, best, 132×32: hierarchical near_counters",
        "{counts:?}"
    );
    assert_eq!(number(&counts, "covered"), 0, "{counts:?}");
}

#[test]
fn parameters_keep_their_values_beside_phrases() {
    let row = |layout, space, threads| {
        let case =
            Case { layout: Some(layout), space: Some(space), threads: Some(threads), ..Case::new("gpu.atomic.add") };
        Row { ns: Some(Nanoseconds(10.0)), ..Row::unmeasured(case, Verdict::Resolved) }
    };
    let layouts = [Layout::Shared, Layout::Private { stride: 16 }];
    let mut rows = Vec::new();
    for layout in layouts {
        for space in [Space::Shared, Space::Global] {
            rows.extend([16, 32].map(|threads| row(layout, space, threads)));
        }
    }
    rows.push(Row::unmeasured(Case::new("gpu.fence.block"), Verdict::BelowResolution("small".into())));
    let data = synthetic::data("run", synthetic::run("CPU", Some("NVIDIA H200")), rows);
    let queries = [
        ("layout:shared memory:global", 2),
        ("memory:global layout:shared", 2),
        ("LAYOUT:shared memory:shared threads:16", 1),
        ("layout:shared, memory:global threads=16", 1),
        ("stride:16 threads:16 memory:shared", 1),
        ("stride:16 thread memory:shared", 2),
        ("shared memory", 4),
        ("shared-memory layout:shared", 2),
        ("layout:shared shared memory", 2),
        ("false sharing", 0),
        ("verdict:\"below resolution\"", 1),
    ];
    let script = format!(
        "const field = page.querySelector('#rows input[type=search]');
        const found = (query) => {{
            field.value = query;
            field.dispatchEvent(new frame.contentWindow.Event('input'));
            return page.querySelector('#rows [role=status]').textContent;
        }};
        root.dataset.found = {:?}.map(found).join('|');",
        queries.map(|(query, _)| query)
    );
    let Some((counts, _)) = open_undrawn(&[data], DESKTOP, &script, "") else { return };
    let found = plain(&counts["found"]);
    for ((query, rows), text) in queries.iter().zip(found.split('|')) {
        let is_found = text.starts_with(&format!("{rows} of 9 rows"));
        assert_eq!(is_found, *rows > 0, "{query}: {text}");
    }
}
