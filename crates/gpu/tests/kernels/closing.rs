//! Tests whether the closing clock read of every timed region waits for what is timed. Needs NVRTC, but no GPU.

use crate::common::{ARCHITECTURES, compiled};
use syncscope_core::Mode;
use syncscope_gpu::evidence::ClosingRead;
use syncscope_gpu::evidence_of;

/// Operations whose results are not read in the form that measures a rate: the last ones of both loops are outstanding when the
/// clock is read. The compiler drops the result of an addition, but not of these. (Of comparisons, several are in flight.)
const UNREAD: [&str; 3] = ["ATOMG.E.CAS", "ATOMG.E.EXCH", "MATCH"];

/// In a latency, each operation needs the result of the previous one. Only the last result of a loop may be outstanding, in
/// both loops, so that it drops out of their difference.
#[test]
fn results_that_the_closing_read_does_not_wait_for_drop_out_or_are_of_a_rate() {
    let (mut waiting, mut last_only, mut rates) = (0, 0, 0);
    for arch in ARCHITECTURES {
        for program in compiled(arch) {
            let Some(case) = &program.case else { continue };
            let Some(read) = ClosingRead::of(&program.cubin) else { continue };
            let names: Vec<&str> = read.mnemonics().collect();
            if names.is_empty() {
                waiting += 1;
            } else if read.drops_out() {
                last_only += 1;
                assert_eq!(names.len(), 1, "{}: {}", program.name, read.summary());
                // A 64-bit value takes two.
                let is_one = [" 1/1:", " 2/2:"].iter().any(|last| read.summary().contains(last));
                let is_last = is_one || case.mode == Some(Mode::Throughput);
                assert!(is_last, "{}: {}", program.name, read.summary());
            } else if names.len() == 1 && read.summary().contains(" 0/1:") {
                // On sm_120 the last result of the loop with the operation is outstanding: one of thousands.
                assert_eq!(arch, "sm_120", "{}: {}", program.name, read.summary());
            } else {
                rates += 1;
                let is_unread = names.iter().all(|name| UNREAD.iter().any(|unread| name.starts_with(unread)));
                assert!(is_unread && case.mode == Some(Mode::Throughput), "{}: {}", program.name, read.summary());
            }
        }
    }
    assert!(waiting > 100 && last_only > 80 && rates > 10, "{waiting} {last_only} {rates}");
}

#[test]
fn the_evidence_says_what_the_closing_read_does_not_wait_for() {
    let programs = compiled("sm_90");
    let listing = |id: &str, mode| {
        let wanted = |case: &syncscope_core::Case| case.primitive == id && case.mode == mode;
        let program = programs.iter().find(|program| program.case.as_ref().is_some_and(wanted)).unwrap();
        evidence_of(program.case.as_ref().unwrap(), &program.cubin).listing().unwrap().to_owned()
    };
    assert!(
        listing("gpu.shuffle.idx", Some(Mode::Latency)).contains("does not wait for SHFL.IDX 1/1: the same in both"),
        "{}",
        listing("gpu.shuffle.idx", Some(Mode::Latency))
    );
    assert!(listing("gpu.atomic.add", Some(Mode::Throughput)).contains("waits for every result, or there is none"));
    assert!(listing("gpu.atomic.exchange", Some(Mode::Throughput)).contains("128/256: nothing reads these results"));
}
