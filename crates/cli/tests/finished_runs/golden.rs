//! What users see of every stored run, the sentences, decisions, advice, rungs and figures of `results/`, compared with the files
//! in `tests/golden`.
//!
//! `SYNCSCOPE_UPDATE=1 cargo test -p syncscope golden` writes the files. Read each difference: it is meant, or it is a bug.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use syncscope_core::{Case, Catalogue, Domain, Group, Nanoseconds, Role, Row, Settings, Verdict};
use syncscope_report::{Asked, Need, RunData, advise, export, page};

fn catalogue() -> Arc<Catalogue> {
    let parts = [syncscope_cpu::catalogue(), syncscope_gpu::primitives(), syncscope_mpi::primitives()];
    Arc::new(parts.into_iter().flatten().copied().collect())
}

/// The stored runs that have rows, by name.
fn stored() -> Vec<RunData> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let folders = fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path());
    let mut runs: Vec<RunData> = folders
        .filter(|folder| folder.join("run.json").is_file())
        .map(|folder| RunData::load(&folder, catalogue()).unwrap())
        .collect();
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    runs
}

/// The stored run of this name.
fn named(name: &str) -> RunData {
    RunData::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results").join(name), catalogue()).unwrap()
}

/// The data of the page of a run, and the page's drawing of the machine.
fn page_of(data: &RunData) -> (Value, String) {
    let html = page::render(std::slice::from_ref(data));
    let (_, rest) = html.split_once("id=\"data\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    let drawing =
        html.split_once("<section id=\"machine\"").map_or("", |(_, rest)| rest.split_once("</section>").unwrap().0);
    (serde_json::from_str(json).unwrap(), drawing.replace('\u{a0}', " "))
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The charts of a question, with the panels of a picture one after the other.
fn charts(decision: &Value) -> impl Iterator<Item = &Value> {
    items(&decision["charts"]).flat_map(|chart| {
        let panels = chart["panels"].as_array().map_or(&[][..], Vec::as_slice);
        if panels.is_empty() { std::slice::from_ref(chart) } else { panels }
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

/// The labels in a chart, with the number of points or cells.
fn chart(spec: &Value) -> String {
    let count = |value: &Value| items(value).filter(|one| !one.is_null()).count();
    let label = |one: &Value, points: &str| format!("{} ({})", text(&one["label"]), count(&one[points]));
    let labels: Vec<String> = match text(&spec["kind"]) {
        "lines" => items(&spec["series"]).map(|one| label(one, "points")).collect(),
        "dots" => items(&spec["rows"]).map(|one| label(one, "points")).collect(),
        _ => items(&spec["lines"]).map(|one| label(one, "cells")).collect(),
    };
    let rules: Vec<&str> = items(&spec["rules"]).map(|rule| text(&rule["label"])).collect();
    let rules = if rules.is_empty() { String::new() } else { format!(" | {}", rules.join(", ")) };
    format!("{} {}: {}{rules}", text(&spec["kind"]), text(&spec["title"]), labels.join(", "))
}

/// The claim of a card.
fn claim(decision: &Value) -> String {
    items(&decision["claim"]).map(text).collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

fn of_page(out: &mut String, data: &RunData, (page, drawing): &(Value, String)) {
    let run = &page["runs"][0];
    out.push_str("answers\n");
    for answer in items(&run["answers"]["certain"]) {
        let rows = items(&answer["rows"]).count();
        writeln!(out, "  {} [{}, {rows} rows]", text(&answer["text"]), text(&answer["figure"])).unwrap();
    }
    writeln!(out, "  open: {}\n  {}", text(&run["answers"]["open"]), text(&run["answers"]["trust"])).unwrap();
    for decision in items(&run["decisions"]) {
        writeln!(out, "{}: {}", text(&decision["id"]), claim(decision)).unwrap();
        for spec in charts(decision) {
            writeln!(out, "  {}", chart(spec)).unwrap();
        }
        writeln!(out, "  note: {}", text(&decision["note"])).unwrap();
    }
    out.push_str("drawing\n");
    for item in drawing.split("<li><b>").skip(1) {
        writeln!(out, "  {}", item.split("</li>").next().unwrap_or_default().replace("</b>", "")).unwrap();
    }
    out.push_str("ladder\n");
    let rows = data.in_order().rows;
    for rung in items(&page["ladder"]) {
        let row = rung["rows"][0].as_u64().map(|row| &rows[usize::try_from(row).unwrap()]);
        let of_row = row.map(|row| {
            let ns = row.ns.map(|ns| format!(" = {:.4e} ns", ns.value())).unwrap_or_default();
            format!("{}{ns} {}", row.case, row.verdict.name())
        });
        let anchors = items(&rung["anchors"]).count();
        let median = rung["medians"][0].as_f64().map(|ns| format!(", median {ns} ns")).unwrap_or_default();
        let title = text(if rung["all"].is_null() { &rung["title"] } else { &rung["all"] });
        let place = format!("{}, {title}", text(&rung["heading"]));
        writeln!(out, "  {place}: {}{median}, {anchors} anchors", of_row.unwrap_or_default()).unwrap();
    }
}

/// The advice on every need, as `advise --need NEED --format json` gives it.
fn of_advice(out: &mut String, data: &RunData) {
    for need in Need::ALL.iter().copied() {
        let answers = advise(data, need, Asked::default());
        let json = export::advice::as_json(data, &answers);
        for advice in items(&json["advice"]) {
            let [need, on, situation] = ["need", "on", "situation"].map(|key| text(&advice[key]));
            let choice = &advice["choice"];
            if choice.is_null() {
                writeln!(out, "{need} {on}, {situation}: {} {}", text(&advice["decision"]), text(&advice["reason"]))
                    .unwrap();
                continue;
            }
            let figure = |cost: &Value| format!("{:.4e} ns", cost["ns"].as_f64().unwrap_or(f64::NAN));
            let (case, next) = (text(&choice["case"]), &choice["next"]);
            let (own, other) = (figure(&choice["cost"]), figure(&next["cost"]));
            let [name, next_name] = [choice, next].map(|one| text(&one["name"]));
            writeln!(out, "{need} {on}, {situation}: {name} ({case}) {own}; next {next_name} {other}").unwrap();
            for remark in items(&choice["warnings"]) {
                writeln!(out, "  (!) {}", text(remark)).unwrap();
            }
            for remark in items(&choice["notes"]) {
                writeln!(out, "  {}", text(remark)).unwrap();
            }
        }
    }
}

/// Runs all checks on the same data: the runs are read and their pages made only once.
#[test]
fn what_users_see_of_the_stored_runs() {
    let shown: Vec<_> = stored().into_iter().map(|data| (page_of(&data), data)).collect();
    no_resolved_cost_is_wider_than_the_rule(&shown);
    what_ends_a_phase_of_a_gpu_is_the_cheapest_row_of_its_kernels(&shown);
    golden_files_are_current(&shown);
    top_chart_ladder_and_advice_name_the_same_rows(&shown);
    what_advice_takes_is_drawn_and_named(&shown);
}

/// A run with its page.
type Shown = ((Value, String), RunData);

/// The interval next to a cost decides its verdict and whether it is written as a number.
fn no_resolved_cost_is_wider_than_the_rule(shown: &[Shown]) {
    for (_, data) in shown {
        for row in data.rows.iter().filter(|row| row.verdict == Verdict::Resolved) {
            let (width, within) = (row.shown_width().unwrap_or(0.0), row.ns_within.map_or(0.0, |one| one.half_width()));
            assert!(width <= Settings::NOISY_ABOVE, "{} {}: {width}", data.name, row.case);
            let shown = row.shown_interval().map_or(0.0, |one| one.half_width());
            assert!(shown >= within, "{} {}: {shown} shown, {within} within the run", data.name, row.case);
        }
    }
}

/// Among kernels of one length that access memory alike, no row is cheaper than the advised one; also with traffic, in stored
/// runs that have such kernels.
fn what_ends_a_phase_of_a_gpu_is_the_cheapest_row_of_its_kernels(shown: &[Shown]) {
    let mut compared = 0;
    for (_, data) in shown {
        for answer in advise(data, Need::EndGpuPhase, Asked::default()) {
            let decision = &answer.decision;
            let situation = answer.situation.replace('\u{a0}', " ");
            let costs = decision.candidates.iter().filter_map(|one| one.cost).map(|cost| cost.ns);
            let costs = costs.chain(decision.choice.as_ref().map(|choice| choice.cost.ns));
            let Some(least) = costs.reduce(f64::min) else { continue };
            let is_rival = |row: &&Row| {
                let (Some(group), Some(blocks), Some(threads)) = (&row.case.group, row.case.blocks, row.case.threads)
                else {
                    return false;
                };
                let traffic = if group.word().ends_with("sweep") { "with" } else { "without" };
                let of = |length| format!("{length} µs kernels {traffic} memory traffic, grid of {blocks}×{threads}");
                let role = data.catalogue.facts(&row.case.primitive).map(|facts| facts.role);
                role == Some(Role::Launch)
                    && row.case.form.is_none()
                    && row.has_figure()
                    && group.number().is_some_and(|length| situation == of(length))
            };
            for row in data.rows.iter().filter(is_rival) {
                let ns = row.ns.unwrap().value();
                assert!(least <= ns, "{}: {situation}: {least} and {ns} of {}", data.name, row.case);
                compared += 1;
            }
        }
    }
    assert!(compared > 10, "{compared}");
}

fn golden_files_are_current(shown: &[Shown]) {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let is_update = std::env::var_os("SYNCSCOPE_UPDATE").is_some();
    // The files that remain belong to runs that are gone.
    let written = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut left: BTreeSet<String> =
        written.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let mut differ = Vec::new();
    for (page, data) in shown.iter().filter(|(_, data)| !data.rows.is_empty()) {
        let mut found = String::new();
        of_page(&mut found, data, page);
        of_advice(&mut found, data);
        left.remove(&data.name);
        let path = folder.join(format!("{}.txt", data.name));
        if is_update {
            fs::write(&path, &found).unwrap();
        } else if fs::read_to_string(&path).ok().as_ref() != Some(&found) {
            differ.push(data.name.clone());
        }
    }
    assert!(left.is_empty(), "tests/golden has files of no stored run: {left:?}");
    assert!(
        differ.is_empty(),
        "tests/golden differs for {differ:?}; run this test with SYNCSCOPE_UPDATE=1 and read the diff"
    );
}

/// All texts about a run, for a search.
fn all_of(data: &RunData) -> String {
    let mut out = String::new();
    of_page(&mut out, data, &page_of(data));
    of_advice(&mut out, data);
    out
}

fn resolved(case: Case, ns: f64) -> Row {
    let around =
        |share: f64| Some(syncscope_core::stats::Interval { low: ns * (1.0 - share), high: ns * (1.0 + share) });
    let row = Row::unmeasured(case, Verdict::Resolved);
    Row { ns: Some(Nanoseconds(ns)), ns_within: around(0.01), ns_interval: around(0.02), pairs: Some(60), ..row }
}

/// A lock is ranked because of its role: nothing names it.
#[test]
fn a_lock_that_was_never_measured_before_wins_everywhere() {
    let mut data = named("h200");
    let like = data.rows.iter().map(|row| &row.case);
    let like =
        like.filter(|case| case.primitive == "cpu.lock.pthread_mutex" && case.threads == Some(16)).min().unwrap();
    let group = Some(Group::of_word("spin 10 us"));
    data.rows.push(resolved(Case { primitive: "cpu.lock.spin_park".to_owned(), group, ..like.clone() }, 110.0));
    let all = all_of(&data);
    for part in [
        "At 16 threads, spin_park spin 10 µs (110 ns) is the cheapest of the 12 measured locks. The next cheapest, pthread_mutex,",
        "spin_park spin 10 µs with 16 threads (110 ns).",
        ", spin_park spin 10 µs (1)",
        "Lock, contended, best: spin_park spin 10 µs: cpu.lock.spin_park",
        "protect cpu, 16 threads: spin_park spin 10 µs (cpu.lock.spin_park u64 shared 16 threads close spin 10 us)",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

/// Brings a case to the size that a question compares.
type Shape<'a> = &'a dyn Fn(Case) -> Case;

/// Each primitive of a role that people choose from is named by an answer if it is cheaper than another one of its role.
#[test]
fn every_primitive_of_a_choice_is_reachable_from_a_question() {
    let template = named("h200-x4");
    let multiprocessors = template.run.machine.gpus.first().map(|gpu| gpu.multiprocessors);
    let by_two_threads =
        |case: Case| Case { threads: Some(2), placement: Some(syncscope_core::Placement::Close), ..case };
    let on_all_blocks = |case: Case| Case { threads: Some(32), blocks: multiprocessors, ..case };
    let choices: [(Role, Shape<'_>); 14] = [
        (Role::ThreadLock, &by_two_threads),
        (Role::ThreadBarrier, &by_two_threads),
        (Role::SpinHandoff, &by_two_threads),
        (Role::SleepHandoff, &by_two_threads),
        (Role::Channel, &by_two_threads),
        (Role::Wake, &by_two_threads),
        (Role::WakeAll, &by_two_threads),
        (Role::WaitHint, &|case| Case { threads: Some(1), ..by_two_threads(case) }),
        (Role::Reaction, &|case| Case { group: Some(Group::of_word("after 5 us")), ..by_two_threads(case) }),
        (Role::GpuLock, &on_all_blocks),
        (Role::BlockBarrier, &|case| Case { threads: Some(1024), blocks: Some(1), ..case }),
        (Role::GridBarrier, &on_all_blocks),
        (Role::DeviceBarrier, &|case| Case { devices: Some(2), ..on_all_blocks(case) }),
        (Role::Launch, &|case| Case { group: Some(Group::of_word("5 us")), ..on_all_blocks(case) }),
    ];
    for (role, shape) in choices {
        let members: Vec<_> = catalogue().with_role(role).copied().collect();
        for primitive in &members {
            let other = members.iter().find(|other| other.id != primitive.id).unwrap_or_else(|| panic!("{role:?}"));
            let mut rows =
                vec![resolved(shape(Case::new(other.id)), 1000.0), resolved(shape(Case::new(primitive.id)), 10.0)];
            if role == Role::Launch {
                rows.push(resolved(on_all_blocks(Case::new("gpu.grid.counter")), 500.0));
            }
            let data = RunData { rows, ..template.clone() };
            assert!(all_of(&data).contains(primitive.name()), "{}", primitive.id);
        }
    }
}

/// One statement has one figure and one reason: top of the page, chart, ladder and advice name the same rows.
fn top_chart_ladder_and_advice_name_the_same_rows(shown: &[Shown]) {
    let mut compared = 0;
    for ((page, _), data) in shown {
        let run = &page["runs"][0];
        let rows = data.in_order().rows;
        for (need, question, rung) in
            [(Need::Protect, "decide-lock", "lock.threads"), (Need::Phases, "decide-barrier", "barrier.threads")]
        {
            let on_cpu = Asked { on: Some(Domain::Cpu), ..Asked::default() };
            let advice = advise(data, need, on_cpu).remove(0);
            let of = |values: &Value, key: &str, id: &str| {
                items(values).find(|one| one[key] == *id).cloned().unwrap_or_default()
            };
            let decision = of(&run["decisions"], "id", question);
            let said = claim(&decision);
            match (&advice.decision.choice, &advice.decision.outcome.sentence) {
                (Some(choice), _) => {
                    let mut top = items(&run["answers"]["certain"]).map(|answer| text(&answer["text"]));
                    let figure = format!("{} (", choice.name);
                    assert!(top.any(|top| top.contains(&figure)), "{}: {figure}", data.name);
                    assert!(said.contains(&choice.name), "{}: {said}", data.name);
                    let row = of(&page["ladder"], "id", rung)["rows"][0].as_u64().unwrap();
                    assert_eq!(rows[usize::try_from(row).unwrap()].case.to_string(), choice.case, "{}", data.name);
                    compared += 1;
                }
                // Without a certain answer, the chart has no sentence.
                (None, why) if advice.decision.measured && !decision.is_null() => {
                    let open = text(&run["answers"]["open"]);
                    assert!(open.contains(why), "{}: {why}; {open}", data.name);
                    assert!(decision["is_decided"] == true || said.contains(why), "{}: {why}; {said}", data.name);
                    compared += 1;
                }
                _ => {}
            }
        }
    }
    assert_eq!(compared, 2 * runs_of_teams(shown), "both questions of each such run");
}

/// The number of stored runs that measured teams of CPU threads at a lock.
fn runs_of_teams(shown: &[Shown]) -> usize {
    let is_of_team = |row: &Row| row.case.primitive == "cpu.lock.ticket" && row.case.threads > Some(1);
    shown.iter().filter(|(_, data)| data.rows.iter().any(is_of_team)).count()
}

/// The cases in the charts of a question.
fn drawn(decision: &Value, rows: &[Row]) -> BTreeSet<String> {
    let series = charts(decision).flat_map(|chart| items(&chart["series"]).chain(items(&chart["rows"])));
    let points = series.flat_map(|series| items(&series["points"])).filter_map(|point| point["row"].as_u64());
    points.map(|row| rows[usize::try_from(row).unwrap()].case.to_string()).collect()
}

/// The choice of the advice is a mark in the question's charts, and the sentences of the question name it.
fn what_advice_takes_is_drawn_and_named(shown: &[Shown]) {
    let questions = [
        (Need::Protect, "decide-lock"),
        (Need::Phases, "decide-barrier"),
        (Need::HandOver, "decide-handoff"),
        (Need::HandOver, "decide-gpu-handoff"),
        (Need::CountEvents, "decide-atomics"),
        (Need::EndGpuPhase, "decide-relaunch"),
    ];
    let mut taken = BTreeMap::new();
    for ((page, _), data) in shown {
        let run = &page["runs"][0];
        let rows = data.in_order().rows;
        // Figures without intervals have advice, but no sentence.
        if data.rows.iter().all(|row| row.ns_interval.is_none()) {
            continue;
        }
        for (need, question) in questions {
            let decision = items(&run["decisions"]).find(|one| one["id"] == question).cloned().unwrap_or_default();
            // The same rows say how far apart the elements of threads should be.
            let lines = (need == Need::CountEvents).then_some("decide-false-sharing");
            let is_about = |answer: &&Value| [Some(question), lines].contains(&answer["figure"].as_str());
            let top = items(&run["answers"]["certain"]).filter(is_about).map(|answer| text(&answer["text"]).to_owned());
            let cards = items(&run["decisions"]).filter(|one| [Some(question), lines].contains(&one["id"].as_str()));
            let said: Vec<String> = top.chain(cards.map(claim)).collect();
            let drawn = drawn(&decision, &rows);
            for advice in advise(data, need, Asked::default()) {
                let Some(choice) = &advice.decision.choice else { continue };
                let is_on_gpu = advice.on == Domain::Gpu;
                // The blocks of a GPU have a question of their own.
                if need == Need::HandOver && is_on_gpu != (question == "decide-gpu-handoff") {
                    continue;
                }
                // No chart has the locks of a GPU. Of two grids with equally many threads, the chart of additions shows one.
                let has_chart = !is_on_gpu || !matches!(need, Need::Protect | Need::CountEvents);
                assert!(!has_chart || drawn.contains(&choice.case), "{}: {} of {drawn:?}", data.name, choice.case);
                let name = match need {
                    Need::Protect | Need::Phases if !is_on_gpu => choice.name.clone(),
                    Need::Phases if advice.situation.ends_with("whole grid") => choice.name.clone(),
                    Need::CountEvents if !is_on_gpu && choice.name.starts_with("padded") => " bytes".into(),
                    Need::EndGpuPhase => {
                        let barrier =
                            choice.name.strip_prefix("a grid barrier (").and_then(|name| name.strip_suffix(')'));
                        barrier.unwrap_or(choice.name.as_str()).to_owned()
                    }
                    _ => continue,
                };
                assert!(said.iter().any(|text| text.contains(&name)), "{}: {name}: {said:?}", data.name);
                if advice.situation.ends_with("whole grid") {
                    let rung = items(&page["ladder"]).find(|rung| rung["id"] == "grid").unwrap();
                    let winners = items(&run["winners"]).filter(|winner| !winner["times"].is_null());
                    let selected = std::iter::once(&rung["rows"][0]).chain(winners.map(|winner| &winner["row"]));
                    let same = selected.filter_map(Value::as_u64).map(|row| &rows[usize::try_from(row).unwrap()].case);
                    assert_eq!(same.filter(|case| case.to_string() == choice.case).count(), 2, "{}", data.name);
                }
                *taken.entry(format!("{need:?} {:?}", advice.on)).or_insert(0) += 1;
            }
        }
    }
    assert!(taken.len() >= 4 && taken.values().sum::<usize>() >= 2 * runs_of_teams(shown), "{taken:?}");
}
