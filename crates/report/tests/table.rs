//! The closing table, read as a person reads it.

mod synthetic;

use syncscope_core::run::Status;
use syncscope_core::{Case, Dtype, Layout, Row, Verdict};
use syncscope_report::{RunData, table};

fn small() -> RunData {
    let add = |dtype, layout, threads, ns| {
        let case = Case { dtype: Some(dtype), layout: Some(layout), threads: Some(threads), ..Case::new("cpu.atomic.add") };
        exact(case, ns)
    };
    let private = Layout::Private { stride: 16 };
    let fence = Case { threads: Some(1), ..Case::new("cpu.fence.acquire") };
    let lock = Case { threads: Some(2), ..Case::new("cpu.lock.std_mutex") };
    let rows = vec![
        add(Dtype::I32, Layout::Shared, 1, 2.0),
        add(Dtype::I32, Layout::Shared, 4, 40.0),
        add(Dtype::I32, Layout::Shared, 16, 200.0),
        add(Dtype::U64, Layout::Shared, 1, 2.01),
        add(Dtype::U64, Layout::Shared, 4, 40.1),
        add(Dtype::U64, Layout::Shared, 16, 201.0),
        add(Dtype::I32, private, 1, 2.0),
        add(Dtype::I32, private, 16, 2.2),
        Row {
            ns_interval: Some(syncscope_core::stats::Interval { low: -0.01, high: 0.05 }),
            ..Row::unmeasured(fence, Verdict::BelowResolution("at most 0.050 ns".into()))
        },
        Row::unmeasured(lock, Verdict::Failed("check failed: the counter is 3, not 4".into())),
    ];
    synthetic::data("small", synthetic::run("AMD EPYC 9274F 24-Core Processor", None), rows)
}

/// A figure that does not depend on the hash of its case.
fn exact(case: Case, ns: f64) -> Row {
    use syncscope_core::stats::Interval;
    use syncscope_core::{Cycles, Nanoseconds};
    Row {
        ns: Some(Nanoseconds(ns)),
        ns_interval: Some(Interval { low: ns * 0.99, high: ns * 1.01 }),
        cycles: Some(Cycles(ns * 4.0)),
        cycles_interval: Some(Interval { low: ns * 3.96, high: ns * 4.04 }),
        ..Row::unmeasured(case, Verdict::Resolved)
    }
}

#[test]
fn probe() {
    for width in [40, 80, 120] {
        println!("{}\n", table::summary(&small(), width, false));
    }
    println!("{}", table::summary(&small(), 60, true).replace('\u{1b}', "^"));
}
