//! Tests the page as a reader uses it: links land on their target, the explorer keeps its state, and charts and rows can be
//! saved as files.

use crate::chromium::{Counts, number, open_and, open_undrawn, plain};
use crate::decisions::stored;
use crate::synthetic;
use syncscope_core::stats::Interval;
use syncscope_core::{Case, Group, Layout, Mode, Nanoseconds, Row, Space, Verdict};

const DESKTOP: u32 = 1280;

fn words<'a>(counts: &'a Counts, name: &str) -> Vec<&'a str> {
    counts[name].split('|').filter(|one| !one.is_empty()).collect()
}

/// Follows links from the top of a page whose charts are not drawn yet, and again when all of them are.
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

/// The table follows the address, and each column is sorted by its content.
#[test]
fn the_table_follows_its_address_and_sorts_what_it_shows() {
    let script = "
        const view = page.defaultView;
        const all = page.querySelector('#rows [role=status]').textContent;
        const shown = () => page.querySelector('#rows [role=status]').textContent === all ? 'all' : 'some';
        page.querySelector('.evidence a[href^=\"#rows\"]').click();
        const some = shown();
        view.history.replaceState(null, '', '#rows');
        view.dispatchEvent(new view.PopStateEvent('popstate'));
        root.dataset.shown = `${some} ${shown()}`;
        const filter = page.querySelector('#rows input[type=search]');
        filter.value = 'mutex';
        filter.dispatchEvent(new view.Event('input'));
        page.querySelector('#nav a[href=\"#rows\"]').click();
        root.dataset.kept = `${view.location.hash} ${shown()}`;
        view.history.replaceState(null, '', '#rows');
        view.dispatchEvent(new view.PopStateEvent('popstate'));
        const head = (name) => page.querySelector(`#rows th[data-column=\"${name}\"]`);
        const texts = (name) => {
            const at = [...head(name).parentNode.children].indexOf(head(name));
            return [...page.querySelectorAll('#rows tbody tr')].map((row) => row.children[at].textContent);
        };
        const naturally = new Intl.Collator('en', { numeric: true }).compare;
        const unsorted = ['variables', 'more', 'verdict'].filter((name) => {
            head(name).querySelector('button').click();
            const found = texts(name);
            const said = found.filter(Boolean);
            const isLast = found.slice(0, said.length).every(Boolean);
            return new Set(said).size < 2 || !isLast || String(said) !== String([...said].sort(naturally));
        });
        root.dataset.unsorted = unsorted.join(' ');
        const rates = texts('ops_per_s_total');
        const costs = texts('ns').map((text) => text.startsWith('~'));
        root.dataset.rough = costs.filter((isRough, at) => isRough && rates[at]).length;
        root.dataset.exact = rates.filter((text, at) => text && text.startsWith('~') !== costs[at]).length;
        const cells = [...page.querySelectorAll('#rows tbody td')].map((cell) => cell.firstChild?.textContent || '');
        const roughly = cells.filter((text) => text.startsWith('~')).map((text) => text.match(/[\\d.]+/)[0]);
        const long = (text) => text.includes('.') && text.replace('.', '').replace(/^0+/, '').length > 2;
        root.dataset.digits = `${roughly.length > 100} ${roughly.filter(long)}`;
        root.dataset.files = texts('more').some((text) => /\\d us\\b/.test(text));";
    let run = stored("epyc-zen5-2cpu-vm");
    let Some((counts, _)) = open_undrawn(&[run], DESKTOP, script, "") else { return };
    assert_eq!(counts.get("errors"), None, "{counts:?}");
    assert_eq!(counts["shown"], "some all");
    assert_eq!(counts["kept"], "#rows?q=mutex some");
    assert_eq!(counts["unsorted"], "");
    assert!(number(&counts, "rough") > 0 && number(&counts, "exact") == 0, "{counts:?}");
    assert_eq!(counts["digits"], "true ", "a rough number of any column has two digits");
    assert_eq!(counts["files"], "false", "a unit of the files");
}

/// Links open closed parts, and a button that was pressed twice gets its own words back.
#[test]
fn links_open_their_target_and_buttons_keep_their_words() {
    let script = "
        page.querySelector('.meanings').open = true;
        page.querySelector('.meanings a').click();
        root.dataset.opened = page.querySelector('.glossary').open;
        Object.defineProperty(page.defaultView.navigator, 'clipboard', { value: { writeText: async () => {} } });
        const button = [...page.querySelectorAll('#explore button')].find((one) => one.textContent === 'Copy link');
        button.click();
        await wait(100);
        const first = button.textContent;
        button.click();
        await wait(5000);
        root.dataset.words = `${first}, ${button.textContent}`;";
    let Some((counts, _)) = open_undrawn(&[synthetic::both()], DESKTOP, script, "") else { return };
    assert_eq!((counts["opened"].as_str(), counts["words"].as_str()), ("true", "Copied, Copy link"), "{counts:?}");
}

/// Lines with a single figure become rows of dots: their file has the figures under the names of their axes, and their texts
/// have the unit of the axis.
#[test]
fn figures_without_a_line_keep_their_unit() {
    let script = "
        const view = page.defaultView;
        const saved = [];
        view.URL.createObjectURL = (blob) => (saved.push(blob), '#');
        view.HTMLAnchorElement.prototype.click = function () {};
        const figure = () => page.querySelector('.explored figure');
        await until(() => figure().querySelector('svg.chart.dots'));
        figure().querySelectorAll('.exports button')[2].click();
        const [header, ...lines] = (await read(saved[0])).trim().split('\\n');
        root.dataset.header = header.replaceAll('\"', '').split(',').slice(3, 6).join(',');
        const quoted = (line) => line.split(/,(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)/);
        root.dataset.figures = lines.filter((line) => Number(quoted(line)[3]) > 5 && quoted(line)[4] === '').length;
        root.dataset.lines = lines.length;
        page.querySelector('[data-question=\"cpu.openmp\"]').click();
        const show = page.querySelector('#explore select[data-key=y]');
        show.value = 'thread';
        show.dispatchEvent(new view.Event('change'));
        await until(() => figure().querySelector('svg.chart.dots'));
        root.dataset.texts = [...figure().querySelectorAll('.value')].map((one) => one.textContent).join('|');";
    let mut run = stored("epyc-zen4-2cpu-vm");
    run.rows.retain(|row| ["cpu.openmp.", "cpu.wait."].iter().any(|family| row.case.primitive.starts_with(family)));
    let Some((counts, _)) = open_undrawn(&[run], DESKTOP, script, "#explore?q=family:wait") else { return };
    assert_eq!(counts.get("errors"), None, "{counts:?}");
    assert_eq!(counts["header"], "time per operation, ns,y", "{counts:?}");
    assert!(number(&counts, "lines") > 0 && counts["figures"] == counts["lines"], "{counts:?}");
    let texts = words(&counts, "texts");
    assert!(!texts.is_empty() && texts.iter().all(|text| text.ends_with("ops/s")), "{texts:?}");
}

/// Long names do not squeeze the columns of figures, and a long heading is next to its sentence.
#[test]
fn no_text_is_squeezed() {
    let run = stored("h200-standard");
    let script = "
        const narrow = [];
        const over = [];
        const [number, sentence] = page.querySelector('.answers li').children;
        number.textContent = '1,242–9,933\u{a0}ns';
        const cells = () => [...page.querySelectorAll('.decision:not(.wide) .cost-table td button')];
        for (const width of [820, 1024, 1280, 1920]) {
            frame.width = width;
            await wait(500);
            narrow.push(Math.min(...cells().map((one) => one.clientWidth)));
            const room = page.createRange();
            room.selectNodeContents(number);
            over.push(room.getBoundingClientRect().right > sentence.getBoundingClientRect().left);
        }
        frame.width = 1280;
        await wait(500);
        page.defaultView.dispatchEvent(new Event('beforeprint'));
        const count = (selector) => page.querySelectorAll(`.map ${selector}`).length;
        root.dataset.silent = count('.cell rect') - count('.cell-text') + count('.hatch');
        root.dataset.maps = count('svg.chart');
        root.dataset.narrow = narrow.join('|');
        root.dataset.over = over.join('|');";
    let Some((counts, _)) = open_undrawn(&[run], DESKTOP, script, "") else { return };
    assert_eq!(counts.get("errors"), None, "{counts:?}");
    assert!(words(&counts, "narrow").iter().all(|width| width.parse::<i64>().unwrap() > 40), "{counts:?}");
    assert_eq!(counts["over"], "false|false|false|false");
    assert!(number(&counts, "maps") > 10 && number(&counts, "silent") == 0, "cells without a number: {counts:?}");
}
