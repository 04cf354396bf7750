//! Published experiments of plausible numbers.

use syncscope_core::published::crosscheck::{
    BASIC_REPEATS, BothClocks, Crosscheck, CrosscheckCase, CrosscheckPair, CrosscheckSeries, Executor, Form, Operation,
    REPEAT_DIFFERENCES,
};
use syncscope_core::{Published, Run};
use syncscope_report::RunData;

/// Both clocks on an H200: additions with and without a loop, growing bodies, barriers.
pub(crate) fn crosscheck() -> RunData {
    let addition = Operation::FloatAddition;
    let mut series = Vec::new();
    for difference in REPEAT_DIFFERENCES {
        let straight = if difference > 8192 { 6.9 } else { 4.0 };
        series.push(of((addition, Form::Straight), 512 + difference, (1, 32), difference, straight));
        series.push(of((addition, Form::Looped), 512, (1, 32), difference, 4.0));
        series.push(of((Operation::BlockBarrier, Form::Looped), 512, (1, 256), difference, 27.0));
        series.push(of((Operation::GridBarrier, Form::Looped), 4, (132, 32), difference, 1970.0));
    }
    for (body, cycles) in [(512, 4.0), (2048, 4.0), (6144, 4.0), (8192, 4.3), (10_240, 6.2), (32_768, 6.9)] {
        series.push(of((addition, Form::Body), body, (1, 32), 4 * body, cycles));
    }
    let published = Published { crosscheck: Some(Crosscheck::of(&series)), ..Published::default() };
    let both = super::both();
    let run = Run { preset: "crosscheck".into(), planned: 0, ..both.run };
    RunData { run, rows: Vec::new(), details: std::collections::HashMap::new(), published, ..both }
}

fn of(
    (operation, form): (Operation, Form),
    body: u64,
    (blocks, threads): (u32, u32),
    difference: u64,
    cycles: f64,
) -> CrosscheckSeries {
    let many = BASIC_REPEATS + difference;
    let case = CrosscheckCase {
        executor: Executor::Gpu,
        operation,
        form,
        body,
        blocks: Some(blocks),
        threads: Some(threads),
        few: BASIC_REPEATS,
        many,
    };
    let side = |repeats: u64, noise_ns: f64| BothClocks {
        outside_ns: 8900.0 + cycles / 1.98 * repeats as f64 + noise_ns,
        inside_cycles: 14.0 + cycles * repeats as f64,
    };
    let pair = |number: u64| CrosscheckPair {
        many_first: number.is_multiple_of(2),
        few: side(BASIC_REPEATS, 90.0 * ((number * 7) % 5) as f64),
        many: side(many, 90.0 * ((number * 11) % 7) as f64),
        cycles_per_ns: 1.98,
    };
    let evidence = Some(format!("FADD {body} of {}", body + 4));
    let known_cycles = (form == Form::Looped && operation == Operation::FloatAddition).then_some(4.0);
    CrosscheckSeries { case, pairs: (0..35).map(pair).collect(), check: Some("ok".into()), evidence, known_cycles }
}
