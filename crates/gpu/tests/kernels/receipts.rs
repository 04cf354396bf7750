//! The instructions that an operation consists of, by the machine code of both loops. Needs NVRTC, but no GPU.

use std::collections::BTreeSet;
use std::path::Path;

use syncscope_core::{Case, Counted, Evidence, MOST_OTHERS, Mode, Receipt};
use syncscope_gpu::compile::Program;
use syncscope_gpu::evidence_of;

use crate::common::{compiled, compiled_all, is_thorough, programs_on, some_programs};

/// The receipts of some programs for an architecture, with their names.
fn receipts(arch: &str, programs: Vec<(Case, Program)>) -> Vec<(Case, Receipt)> {
    let programs = programs.into_iter().map(|(case, program)| (Some(case), program));
    let found = compiled_all(arch, programs.collect()).into_iter().filter_map(|program| {
        let case = program.case?;
        let receipt = evidence_of(&case, &program.cubin).receipt()?.clone();
        Some((Case { threads: None, blocks: None, devices: None, ..case }, receipt))
    });
    found.collect()
}

/// If a primitive executes many other instructions, its figure includes their cost. Review this list: a primitive that comes
/// onto it is fixed, or its form is what people write. `make test-kernels` finds entries that should leave it.
#[test]
fn primitives_with_many_other_instructions_are_known() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/many_others.txt");
    let line = |arch: &str, (case, receipt): (Case, Receipt)| {
        let what = match receipt.counted() {
            Counted::Static => "several paths".to_owned(),
            _ => receipt.line(),
        };
        (receipt.others() > MOST_OTHERS).then(|| format!("{arch} {case}: {what}\n"))
    };
    let of_arch =
        |arch: &'static str| receipts(arch, some_programs(arch)).into_iter().filter_map(move |found| line(arch, found));
    let found: BTreeSet<String> = ["sm_75", "sm_90"].into_iter().flat_map(of_arch).collect();
    if is_thorough() && std::env::var_os("SYNCSCOPE_UPDATE").is_some() {
        std::fs::write(&path, found.iter().map(String::as_str).collect::<String>()).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let known: BTreeSet<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let is_right = if is_thorough() { found == known } else { found.is_subset(&known) };
    let new: Vec<&String> = found.difference(&known).collect();
    let how = "SYNCSCOPE_UPDATE=1 SYNCSCOPE_ALL_KERNELS=1 with this test writes it; read the diff";
    assert!(is_right && found.len() > 50, "{} differs: {how}\n{new:?}", path.display());
}

#[test]
fn receipts_count_every_instruction_of_an_operation() {
    // Instructions of an operation on both architectures.
    let expected = [
        ("gpu.vote.any", Some(Mode::Throughput), "VOTE", [2, 1]),
        ("gpu.vote.all", Some(Mode::Throughput), "VOTE", [3, 1]),
        ("gpu.vote.ballot", Some(Mode::Throughput), "VOTE", [2, 2]),
        ("gpu.match.any", Some(Mode::Throughput), "MATCH", [1, 1]),
        ("gpu.shuffle.idx", Some(Mode::Latency), "SHFL", [1, 1]),
        ("gpu.block.syncthreads", None, "BAR", [1, 1]),
        ("gpu.block.syncthreads_and", Some(Mode::Latency), "BAR", [2, 2]),
    ];
    for (index, arch) in ["sm_75", "sm_90"].into_iter().enumerate() {
        let lock = "gpu.lock.spin_cas";
        let is_one = |case: &Case| expected.iter().any(|one| (one.0, one.1) == (&case.primitive, case.mode));
        let mut programs = programs_on(arch);
        programs.retain(|(case, _)| is_one(case) || case.primitive == lock);
        let found = receipts(arch, programs);
        for (id, mode, name, all) in expected {
            let (case, receipt) = found.iter().find(|(case, _)| case.primitive == id && case.mode == mode).unwrap();
            let found = [receipt.all(), receipt.of_name(name)].map(|count| (count * 5.0).round() as i64);
            assert_eq!(found, [5 * all[index], 5], "{arch} {case}: {}", receipt.line());
            assert_eq!(receipt.counted(), Counted::Executed, "{arch} {case}");
        }
        let lock = found.iter().find(|(case, _)| case.primitive == lock).unwrap();
        assert_eq!(lock.1.counted(), Counted::Static, "{arch}: it repeats what it tries");
    }
}

#[test]
fn the_evidence_names_the_others() {
    let programs = compiled("sm_90");
    let wanted = |case: &Case| case.primitive == "gpu.vote.ballot" && case.mode == Some(Mode::Throughput);
    let program = programs.iter().find(|program| program.case.as_ref().is_some_and(wanted)).unwrap();
    let evidence = evidence_of(program.case.as_ref().unwrap(), &program.cubin);
    let Evidence::Present { summary, listing, .. } = &evidence else { panic!("{evidence:?}") };
    assert_eq!(summary, "VOTE.ANY 32/64 + LOP3 1");
    assert!(listing.contains("\n2 instructions per operation: VOTE 1, LOP3 1\n"), "{listing}");
}
