//! Known costs, measured by two clocks.

use syncscope_papers::crosscheck::findings::{most_certain, objections};
use syncscope_papers::crosscheck::{Crosscheck, CrosscheckRow, Executor, Form, Operation, chain_check, gpu};

use super::open;

/// The known truth of a GPU: a dependent float addition takes 4 cycles, from inside and from outside, within 1 %.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_float_addition_costs_four_cycles_by_both_clocks() {
    let mut laboratory = open();
    let series = gpu::measure_check(&mut laboratory, 1).unwrap().unwrap();
    let check = chain_check(&series);
    println!("{check:?}");
    assert_eq!(check.warning(), None);
    for cycles in [check.outside_cycles, check.inside_cycles] {
        assert!((cycles.unwrap() / 4.0 - 1.0).abs() < 0.01, "{check:?}");
    }
    assert_eq!(series.case.evidence.as_deref().map(|text| text.starts_with("FADD 1536 of ")), Some(true), "{series:?}");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn both_clocks_agree_on_barriers() {
    let mut laboratory = open();
    let mut shown = |next: &str| {
        println!("{next}");
        true
    };
    let (series, missing) = gpu::measure(&mut laboratory, 1, &mut shown).unwrap();
    assert!(missing.is_empty(), "{missing:?}");
    let rows = Crosscheck::of(&series).rows;
    let wrong = |row: &&CrosscheckRow| row.check.as_deref() != Some("ok");
    assert!(!rows.iter().any(|row| wrong(&row)), "{:?}", rows.iter().find(wrong));
    let addition = most_certain(&rows, Executor::Gpu, Operation::FloatAddition, Form::Looped, Some(32)).unwrap();
    for cycles in [addition.inferred_cycles, addition.inside_cycles] {
        assert!((cycles.unwrap() / 4.0 - 1.0).abs() < 0.01, "{addition:?}");
    }
    for (operation, threads) in
        [(Operation::BlockBarrier, 32), (Operation::BlockBarrier, 1024), (Operation::GridBarrier, 32)]
    {
        let row = most_certain(&rows, Executor::Gpu, operation, Form::Looped, Some(threads)).unwrap();
        println!("{row:?}");
        assert!(row.disagreement().unwrap().abs() < 0.02, "{:?}", objections(row));
    }
}
