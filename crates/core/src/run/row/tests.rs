//! Rows as lines and back.

use csv::StringRecord;

use super::*;
use crate::Facts;
use crate::fake::CATALOGUE;
use crate::model::case::{Dtype, Layout, Placement, Population};
use crate::model::facts::{Role, RunEffect};
use crate::run::columns::Header;

fn read(record: &StringRecord) -> Result<Row, String> {
    Header::default().row(record)
}

/// Runs of this primitive differ by 2 %.
fn facts() -> Facts {
    Facts { run_effect: |_| RunEffect::of_both(0.02), ..Facts::of(Role::Update) }
}

pub(in crate::run) fn full() -> Row {
    Row {
        ns: Some(Nanoseconds(2.0331)),
        ns_interval: Some(Interval { low: 2.031, high: 2.035 }),
        cycles: Some(Cycles(7.48)),
        cycles_interval: Some(Interval { low: 7.47, high: 7.49 }),
        cycles_within: Some(Interval { low: 7.475, high: 7.485 }),
        allowance: Some(0.01),
        ns_within: Some(Interval { low: 2.032, high: 2.034 }),
        ns_spread: Some(Interval { low: 1.99, high: 2.2 }),
        fastest_ns: Some(Nanoseconds(2.0)),
        median_ns: Some(Nanoseconds(2.0331)),
        slowest_ns: Some(Nanoseconds(2.1)),
        rate_ns: Some(Nanoseconds(2.5)),
        equal_work_ns: Some(Nanoseconds(2.9)),
        equal_work_within: Some(Interval { low: 2.8, high: 3.0 }),
        equal_work_cycles: Some(Cycles(10.7)),
        ops_per_s_total: Some(8e8),
        actor: Some(Actor::Slowest),
        mode: Some(Mode::Throughput),
        population: Some(Population::Alone),
        beside_share: Some(0.25),
        noise: Some(0.001),
        pairs: Some(40),
        excluded: Some(1),
        iterations: Some(1000),
        unroll: Some(16),
        check: Some(true),
        evidence: Some("lock add 16/32".into()),
        clock: Some(Hertz(3.68e9)),
        ..Row::unmeasured(
            Case {
                dtype: Some(Dtype::I32),
                layout: Some(Layout::Private { stride: 8 }),
                threads: Some(2),
                placement: Some(Placement::List(vec![0, 1])),
                ..Case::new(CATALOGUE[0].id)
            },
            Verdict::Resolved,
        )
    }
}

#[test]
fn a_cost_that_may_not_be_written_has_no_throughput() {
    let row = |high| {
        let ns_interval = Some(Interval { low: 1.9, high });
        Row { ns_interval, verdict: Verdict::Noisy("wide".into()), ..full() }.ops_per_s_thread()
    };
    assert!(row(2.2).is_some() && row(9.0).is_none());
}

#[test]
fn a_row_survives_the_way_to_a_file_and_back() {
    let skipped = Row::unmeasured(Case::new(CATALOGUE[2].id), Verdict::Skipped("one CPU".into()));
    let remarked = Row { remark: Some("4 threads on 2 CPUs".into()), ..full() };
    let noisy = Row { verdict: Verdict::Noisy("wide".into()), ..full() };
    let remark = Some("4 threads on 2 CPUs; served unequally".to_owned());
    let below = Row { verdict: Verdict::BelowResolution("at most 2 ns".into()), remark, ..full() };
    let provisional = [&full(), &remarked, &noisy].map(|row| Row { provisional: true, ..row.clone() });
    let imported = Row { actor: None, ..full() };
    let joined = Row { runs: Some(3), allowance: None, ..full() };
    for row in [full(), skipped, remarked, below, imported, joined].into_iter().chain(provisional) {
        let row = row.with_facts(Some(&facts()));
        let record = row.to_record();
        assert_eq!(record.len(), COLUMNS.len());
        assert_eq!(read(&record).unwrap().with_facts(Some(&facts())), row);
    }
}

#[test]
fn what_is_assumed_of_another_run_stands_beside_the_interval() {
    let row = full().with_facts(Some(&facts()));
    assert_eq!((row.ns_interval, row.cycles_interval), (full().ns_within, full().cycles_within));
    assert!((row.allowance.unwrap() - 0.02 * 1.96 * 2_f64.sqrt()).abs() < 1e-9, "two runs are off");
    let both = row.ns_with_allowance().unwrap().half_width() / 2.0331;
    assert!((both - row.allowance.unwrap()).abs() < 1e-4, "{both}");
    let joined = Row { runs: Some(3), allowance: None, ..full() }.with_facts(Some(&facts()));
    assert_eq!((joined.ns_interval, joined.allowance), (full().ns_interval, None), "what several runs measured stays");
}

/// The rate of a thread follows from the cost: from the seven digits that a reader has, not from the ones before.
#[test]
fn a_row_that_was_read_is_written_as_it_was() {
    let ns_within = Some(Interval { low: 10.28, high: 10.3 });
    let row = Row { ns: Some(Nanoseconds(10.292_099_091)), ns_within, ..full() }.with_facts(Some(&facts()));
    let record = row.to_record();
    assert_eq!(read(&record).unwrap().with_facts(Some(&facts())).to_record(), record);
}

#[test]
fn the_columns_hold_what_the_contract_says() {
    let record = full().to_record();
    let cell = |name: &str| record.get(COLUMNS.iter().position(|column| column.name == name).unwrap()).unwrap();
    assert_eq!(cell("domain"), "cpu");
    assert_eq!(cell("family"), "atomic");
    assert_eq!(cell("stride"), "8");
    assert_eq!(cell("placement"), "0,1");
    assert_eq!(cell("check"), "ok");
    assert_eq!(cell("verdict"), "Resolved");
    assert_eq!(cell("clock_hz"), "3680000000");
    assert_eq!(cell("devices"), "");
    assert_eq!(cell("ops_per_s_total"), "800000000");
    assert_eq!((cell("mode"), cell("actor"), cell("population")), ("throughput", "slowest", "alone"));
}

#[test]
fn bad_cells_are_named() {
    let spoil = |column: &str, text: &str| {
        let index = COLUMNS.iter().position(|known| known.name == column).unwrap();
        let cells: Vec<String> = full()
            .to_record()
            .iter()
            .enumerate()
            .map(|(at, cell)| if at == index { text } else { cell }.to_owned())
            .collect();
        read(&StringRecord::from(cells)).unwrap_err()
    };
    assert_eq!(spoil("ns", "NaN"), "column `ns` holds `NaN`");
    assert_eq!(spoil("verdict", "fine"), "column `verdict` holds `fine`");
    assert_eq!(spoil("stride", ""), "column `layout` holds `private`");
    assert_eq!(spoil("within_high", ""), "column `within_high` holds ``");
    assert_eq!(spoil("within_low", ""), "column `within_low` holds ``");
    assert_eq!(spoil("verdict", ""), "column `verdict` holds ``");
    let short = StringRecord::from(vec!["0123", "cpu"]);
    assert!(read(&short).is_err_and(|error| error.contains("2 cells")));
    assert_eq!(spoil("provisional", "no"), "column `provisional` holds `no`");
}
