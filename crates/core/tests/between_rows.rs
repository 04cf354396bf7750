//! What the rows of a stored run say together: a rate is no worse than a latency, more blocks are no faster than a full device, and
//! a lock changes hands no faster than a line moves between the two nearest CPUs.
//!
//! The list of exceptions is reviewed. `SYNCSCOPE_UPDATE=1 cargo test -p syncscope-core --test between_rows` writes it anew.

#![allow(clippy::unwrap_used, reason = "what a test needs and does not get fails the test")]

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use syncscope_core::run::between_rows::locks_beyond_handoffs;
use syncscope_core::{Case, Layout, Mode, Role, Row, Space, Verdict, stored_run};

/// The certain bounds of a cost, in nanoseconds.
fn bounds(row: &Row) -> Option<(f64, f64)> {
    let within = row.ns_within.filter(|_| row.verdict == Verdict::Resolved)?;
    Some((within.low, within.high))
}

/// Rows of throughput that certainly cost more than the same operation in a chain, where each operation waits for the one
/// before. There are some where 1,024 threads fill each multiprocessor. An independent kernel shows them, too (the device
/// test `together`): on an H100 a failed `atomicCAS` of a thread of 132 blocks took 320 ns in a chain, 333 with two of a
/// thread under way, 431 with four and 468 without waiting; an exchange 212, 166, 186 and 281. Rows of memory in
/// multiprocessors were not compared in this way.
fn rates_above_latencies(rows: &[Row]) -> Vec<String> {
    let of: HashMap<&Case, &Row> = rows.iter().map(|row| (&row.case, row)).collect();
    let rate = |row: &&Row| row.case.mode == Some(Mode::Throughput);
    let broken = rows.iter().filter(rate).filter_map(|row| {
        let latency = of.get(&Case { mode: Some(Mode::Latency), ..row.case.clone() })?;
        let ((least, _), (_, most)) = (bounds(row)?, bounds(latency)?);
        (least > 1.03 * most).then(|| format!("{}: {least:.1} ns, latency {most:.1} ns", row.case))
    });
    broken.collect()
}

/// More blocks cannot exceed the rate of a device that is full by half again.
const MOST_GAIN: f64 = 1.5;

/// How many rows of private variables certainly exceed the rate of the same operation on fewer blocks, though these fill
/// every multiprocessor with half its threads, by primitive.
fn rates_above_saturation(rows: &[Row], multiprocessors: u32) -> Vec<String> {
    let is_private = |row: &&Row| {
        let Case { layout, mode, space, threads, blocks, .. } = &row.case;
        let (is_rate, is_global) = (*mode == Some(Mode::Throughput), *space == Some(Space::Global));
        let fills = *blocks >= Some(multiprocessors) && *threads >= Some(1024);
        matches!(layout, Some(Layout::Private { .. })) && is_rate && is_global && fills
    };
    let private: Vec<&Row> = rows.iter().filter(is_private).collect();
    let rate = |row: &Row, ns: f64| f64::from(row.case.blocks.unwrap_or(0)) / ns;
    let mut gains: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in &private {
        let is_like = |other: &&&Row| Case { blocks: row.case.blocks, ..other.case.clone() } == row.case;
        let fewer = private.iter().filter(is_like).filter(|other| other.case.blocks < row.case.blocks);
        let gain = |other: &&Row| Some(rate(row, bounds(row)?.1) / rate(other, bounds(other)?.0));
        let most = fewer.filter_map(gain).fold(0.0, f64::max);
        if most > MOST_GAIN {
            gains.entry(&row.case.primitive).or_default().push(most);
        }
    }
    let line = |(primitive, gains): (&str, Vec<f64>)| {
        let most = gains.iter().copied().fold(0.0, f64::max);
        format!("{primitive}: {} rows exceed the rate of fewer blocks, one by {most:.1} times", gains.len())
    };
    gains.into_iter().map(line).collect()
}

#[test]
fn rows_of_stored_runs_agree_with_each_other() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for run in stored_run::stored_runs(&folder.join("../../results")).unwrap() {
        let rows = run.read_rows().unwrap();
        let name = run.path().file_name().unwrap().to_string_lossy();
        let multiprocessors = run.read_run().unwrap().machine.gpus.first().map_or(u32::MAX, |gpu| gpu.multiprocessors);
        let on_devices = rates_above_latencies(&rows).into_iter().chain(rates_above_saturation(&rows, multiprocessors));
        let role = |case: &Case| match case.domain_and_family().1 {
            "lock" => Some(Role::ThreadLock),
            "handoff" => Some(Role::SpinHandoff),
            _ => None,
        };
        let locks = locks_beyond_handoffs(&rows, &run.read_details().unwrap(), role).into_iter();
        for line in on_devices.chain(locks.map(|(row, reason)| format!("{}: {reason}", rows[row].case))) {
            found.push(format!("{name}: {line}\n"));
        }
    }
    let (path, found) = (folder.join("tests/between_rows.txt"), found.concat());
    if std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == known, "{} differs; run this test with SYNCSCOPE_UPDATE=1 and read the diff", path.display());
}
