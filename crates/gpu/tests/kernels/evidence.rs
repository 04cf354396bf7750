//! Every kernel of the catalogue compiles for every architecture, and exactly the expected instructions are between the two
//! readings of the clock. Needs NVRTC and nvdisasm, which `make nvrtc` installs, but no GPU.

use std::collections::HashSet;
use std::mem::discriminant;

use syncscope_core::{Case, Dtype, Evidence, Group, Layout, MemoryOrder, Mode, Preset, Space};
use syncscope_gpu::compile::Program;
use syncscope_gpu::discovery::Surroundings;
use syncscope_gpu::nvrtc::Source;
use syncscope_gpu::verify::{self, VERIFIED, Verifier, elided_by_nature};
use syncscope_gpu::{
    DeviceLimits, UNROLL, argument_bytes, cases, evidence_of, orderings, program_of, third_loop_of, weakened_program,
};
use syncscope_sass::{Cubin, Instruction, Region, timed_region as decoded_region};

use crate::common::{
    ARCHITECTURES, capability, compiled, compiler, compiler_in, is_thorough, nvdisasm, nvrtc, prepared, programs,
    programs_on, some_programs,
};

/// Limit on other instructions between the first expected one and the end of the timed region: those of the loop, and for 64
/// bits a register move. On Turing the compiler also tests once per run of the loop whether the warp is converged.
fn most_others(arch: &str) -> usize {
    if arch == "sm_75" { 10 } else { 8 }
}

/// The instructions of a kernel without predicates, such as `BAR.SYNC 0x0`.
fn instructions<'a>(listing: &'a str, kernel: &str) -> Vec<&'a str> {
    let start = format!(".text.{kernel}:");
    let body = listing.lines().skip_while(|line| *line != start).skip(1);
    let body = body.take_while(|line| !line.starts_with("//---") && !line.contains(".section"));
    let instruction = |line: &'a str| {
        let text = line.trim().strip_prefix("/*")?.split_once("*/")?.1.trim();
        Some(if text.starts_with('@') { text.split_once(' ')?.1.trim() } else { text })
    };
    body.filter_map(instruction).collect()
}

/// The instructions between the two readings of the full clock. There must be no third reading.
fn timed_region<'a>(instructions: &[&'a str]) -> Vec<&'a str> {
    let is_reading =
        |text: &&str| ["CS2R ", "CS2UR "].iter().any(|name| text.starts_with(name)) && text.contains("SR_CLOCKLO");
    let parts: Vec<_> = instructions.split(is_reading).collect();
    assert_eq!(parts.len(), 3, "the clock is read twice: {instructions:#?}");
    parts[1].to_vec()
}

/// Known substitutes of expected instructions: start of the id, architectures, start of the summary.
const SUBSTITUTES: [(&str, &[&str], &str); 5] = [
    ("gpu.warp.", &ARCHITECTURES, "MATCH.ANY "),
    ("gpu.vote.all", &["sm_75"], "VOTE.ANY "),
    ("gpu.match.all", &["sm_75"], "MATCH.ANY"),
    ("gpu.atomic.", &ARCHITECTURES, "ATOMS.CAST.SPIN "),
    ("gpu.atomic.", &ARCHITECTURES, "ATOMS.CAST.SPIN.64 "),
];

fn is_known_substitute(case: &Case, arch: &str, summary: &str) -> bool {
    let is_this = |(start, archs, found): &(&str, &[&str], &str)| {
        case.primitive.starts_with(start) && archs.contains(&arch) && summary.starts_with(found)
    };
    SUBSTITUTES.iter().any(is_this)
}

/// `verify` must compile the instructions of what is measured: the expected ones, equally often. How registers are moved and
/// when a NOP continues are the compiler's choice, and may differ.
#[test]
fn loops_alone_are_those_that_are_timed() {
    let mut seen = HashSet::new();
    let is_chosen = |(case, _): &(Case, Program)| is_thorough() || seen.insert(case.domain_and_family().1.to_owned());
    let programs: Vec<(Case, Program)> = some_programs("sm_90").into_iter().filter(is_chosen).collect();
    let alone: Vec<Program> = programs.iter().map(|(_, program)| verify::with_loops_alone(program)).collect();
    let mut compiler = prepared("sm_90", programs.iter().map(|(_, program)| program).chain(&alone));
    let differs = |((case, program), alone): (&(Case, Program), &Program)| {
        let [timed, alone] = [program, alone].map(|program| evidence_of(case, &compiler.cubin(program).unwrap()));
        let expected =
            |evidence: &Evidence| evidence.summary().and_then(|text| text.split([',', '+']).next().map(str::to_owned));
        let is_same = discriminant(&timed) == discriminant(&alone) && expected(&timed) == expected(&alone);
        (!is_same).then(|| format!("{case}: {timed:?}, alone {alone:?}"))
    };
    assert_eq!(programs.iter().zip(&alone).filter_map(differs).collect::<Vec<_>>(), [""; 0]);
}

/// Messages about wrong evidence of some programs on an architecture.
fn wrong_evidence(arch: &str, programs: &[(Case, Program)]) -> Vec<String> {
    let mut compiler = prepared(arch, programs.iter().map(|(_, program)| program));
    let wrong = |(case, program): &(Case, Program)| {
        // Everything declared as elided must not become an instruction, and nothing else may be elided.
        let is_elided = elided_by_nature(case, capability(arch)).is_some();
        match compiler.cubin(program).map(|cubin| evidence_of(case, &cubin)) {
            Ok(Evidence::Substituted { summary, .. }) if is_elided && summary.starts_with("NOP ") => None,
            Ok(Evidence::Present { .. }) if !is_elided => None,
            Ok(Evidence::NotAvailable(_)) if case.primitive == "gpu.multi.host_barrier" => None,
            Ok(Evidence::Substituted { summary, .. }) if !is_elided && is_known_substitute(case, arch, &summary) => {
                None
            }
            Ok(evidence) => Some(format!("{arch} {case}: {:?} {:?}", evidence.summary(), program.definitions)),
            Err(error) => Some(format!("{arch} {case}: {error}")),
        }
    };
    programs.iter().filter_map(wrong).collect()
}

#[test]
fn architectures_lack_what_came_later() {
    // Ampere brought reductions and the barrier object, Hopper clusters, and only data-centre Blackwell tensor memory.
    let generation = |arch: &str| {
        let at_least = [(8, 0), (9, 0), (10, 0)].iter().filter(|since| capability(arch) >= **since).count();
        if capability(arch) >= (12, 0) { 2 } else { at_least }
    };
    let mut all: Vec<(usize, usize)> =
        ARCHITECTURES.into_iter().map(|arch| (generation(arch), programs_on(arch).len())).collect();
    all.sort_unstable();
    assert!(all.windows(2).all(|two| (two[0].0 < two[1].0) <= (two[0].1 < two[1].1)), "{all:?}");
    assert!(all.iter().all(|(generation, count)| (*generation == 3) <= (*count == programs().len())), "{all:?}");
}

#[test]
fn the_expected_instructions_are_between_the_clock_readings() {
    let programs = if is_thorough() { programs_on } else { some_programs };
    let wrong: Vec<String> = ARCHITECTURES.into_iter().flat_map(|arch| wrong_evidence(arch, &programs(arch))).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The arguments that the host passes must be those that the kernel takes. (The compiler compares the fields; see `headers`.)
#[test]
fn every_kernel_takes_the_arguments_that_the_host_passes() {
    for arch in ARCHITECTURES {
        let programs = some_programs(arch);
        let mut compiler = prepared(arch, programs.iter().map(|(_, program)| program));
        for (case, program) in programs {
            let taken = syncscope_sass::parameter_bytes(&compiler.cubin(&program).unwrap()).unwrap();
            for kernel in ["syncscope_baseline", "syncscope_test", "syncscope_check"] {
                assert_eq!(taken.get(kernel).copied(), argument_bytes(&case), "{kernel} of {case} on {arch}");
            }
            assert_eq!(taken.get("syncscope_idle").copied().unwrap_or(0), 0, "{case} on {arch}");
        }
    }
}

/// The compiler must know the two functions of the CUDA device runtime as driver functions, because nothing is linked;
/// otherwise the programs would not compile. Each program has one of them.
#[test]
fn loops_of_a_graph_call_a_function_of_the_driver() {
    let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
    let plan = cases(Preset::Quick, &limits);
    let calls = [
        ("gpu.launch.conditional", "cudaGraphSetConditional", "cudaGraphLaunch"),
        ("gpu.launch.device_graph", "cudaGraphLaunch", "cudaGraphSetConditional"),
    ];
    for (id, function, other) in calls {
        let case = plan.iter().find(|case| case.primitive == id).unwrap();
        let program = program_of(case).unwrap();
        for arch in ARCHITECTURES {
            let mut compiler = prepared(arch, [&program]);
            let cubin = compiler.cubin(&program).unwrap_or_else(|error| panic!("{arch}: {error}"));
            let names = |name: &str| cubin.windows(name.len()).any(|bytes| bytes == name.as_bytes());
            assert!(names(function) && !names(other), "{id} on {arch}");
            let taken = syncscope_sass::parameter_bytes(&cubin).unwrap();
            for kernel in ["syncscope_baseline", "syncscope_test", "syncscope_check"] {
                assert_eq!(taken.get(kernel).copied(), argument_bytes(case), "{kernel} on {arch}");
            }
            let Evidence::Present { summary, .. } = evidence_of(case, &cubin) else { panic!("{arch}: no evidence") };
            assert!(summary.starts_with("CALL.ABS 1/1"), "{arch}: {summary}");
        }
    }
}

/// The trigger and the wait of each form of programmatic launch in machine code, in this order: `PREEXIT` is
/// `griddepcontrol.launch_dependents`, `ACQBULK` is `griddepcontrol.wait`.
#[test]
fn forms_of_programmatic_launch_differ_in_trigger_and_wait() {
    let forms = [
        ("gpu.launch.stream", vec![]),
        ("gpu.launch.programmatic", vec!["PREEXIT", "ACQBULK"]),
        ("gpu.launch.programmatic_graph", vec!["PREEXIT", "ACQBULK"]),
        ("gpu.launch.programmatic_end", vec!["ACQBULK", "PREEXIT"]),
        ("gpu.launch.programmatic_wait", vec!["ACQBULK"]),
        ("gpu.launch.programmatic_graph_wait", vec!["ACQBULK"]),
        ("gpu.launch.programmatic_attribute", vec![]),
    ];
    let plan = cases(Preset::Standard, &DeviceLimits { multiprocessors: 132, max_threads: 1024 });
    for (id, expected) in forms {
        for group in ["5 us", "5 us line", "5 us sweep"].map(|word| Some(Group::of_word(word))) {
            let case = plan.iter().find(|case| case.primitive == id && case.group == group).unwrap();
            let program = program_of(case).unwrap();
            for arch in ["sm_90", "sm_100", "sm_120"] {
                let cubin = prepared(arch, [&program]).cubin(&program).unwrap();
                let cubin = Cubin::parse(&cubin).unwrap();
                for kernel in ["syncscope_baseline", "syncscope_test", "syncscope_check"] {
                    let all = cubin.kernel(kernel).unwrap().instructions();
                    let found: Vec<&str> =
                        all.iter().map(|one| one.opcode).filter(|name| ["PREEXIT", "ACQBULK"].contains(name)).collect();
                    assert_eq!(found, expected, "{kernel} of {case} on {arch}");
                }
            }
        }
    }
}

/// For some primitives: the start of the only expected instruction, and how many such instructions make one operation.
fn only_instruction(case: &Case) -> Option<(&'static str, usize)> {
    let words = case.dtype.map_or(4, Dtype::size_bytes) / 4;
    match case.primitive.as_str() {
        "gpu.block.syncthreads" => Some(("BAR.SYNC", 1)),
        // A shared variable adds an aggregation of its values, an order adds fences; the library asks for the old value.
        "gpu.atomic.add" if case.space == Some(Space::Global) && case.mode == Some(Mode::Throughput) => {
            let is_plain = case.form.is_none() && matches!(case.order, None | Some(MemoryOrder::Relaxed));
            (is_plain && matches!(case.layout, Some(Layout::Private { .. }))).then_some(("RED", 1))
        }
        "gpu.shuffle.idx" => Some(("SHFL.IDX", words)),
        _ => None,
    }
}

/// Uses the vendor's disassembler instead of the project's decoder.
#[test]
fn the_loop_of_an_operation_of_one_instruction_has_few_others() {
    for arch in ["sm_75", "sm_90", "sm_120"] {
        let mut compiler = compiler(arch);
        for one in compiled(arch) {
            let Some(case) = one.case else { continue };
            let Some((name, each)) = only_instruction(&case) else { continue };
            let program = third_loop_of(&case).unwrap_or(one.program);
            let unroll = program.definitions.iter().find_map(|text| text.strip_prefix("SYNCSCOPE_UNROLL="));
            let unroll = unroll.map_or(UNROLL as usize, |number| number.parse().unwrap());
            let listing = nvdisasm(&compiler.cubin(&program).unwrap(), &["-c"]);
            for (kernel, repeat) in [("syncscope_baseline", 1), ("syncscope_test", 2), ("syncscope_third", 3)] {
                let region = timed_region(&instructions(&listing, kernel));
                let found = region.iter().filter(|text| text.starts_with(name)).count();
                assert_eq!(found, unroll * repeat * each, "{name} in {kernel} of {case} on {arch}: {region:#?}");
                let looped = region.iter().skip_while(|text| !text.starts_with(name)).count();
                let others = looped - found;
                assert!(others <= most_others(arch), "{others} others in {kernel} of {case} on {arch}: {region:#?}");
            }
        }
    }
}

/// The compiler knows addresses in shared memory and the rank of a block as sums of special registers, and once recomputed them
/// in each poll: a third of a round trip.
#[test]
fn polls_within_a_cluster_make_no_addresses() {
    let mut compiler = compiler("sm_90");
    let is_handoff = |case: &Case| case.primitive.starts_with("gpu.handoff.cluster");
    let found: Vec<_> = programs_on("sm_90").into_iter().filter(|(case, _)| is_handoff(case)).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    for (case, program) in found {
        let listing = nvdisasm(&compiler.cubin(&program).unwrap(), &["-c"]);
        for kernel in ["syncscope_baseline", "syncscope_test"] {
            let region = timed_region(&instructions(&listing, kernel));
            let made = region.iter().find(|text| text.contains("SR_CgaCtaId"));
            assert_eq!(made, None, "in {kernel} of {case}: {region:#?}");
        }
    }
}

/// One case of each primitive with the program of its third loop, on an architecture that has it; on architectures other than
/// Hopper one of each family.
fn third_loops(arch: &str) -> Vec<(Case, Program)> {
    let mut seen = HashSet::new();
    let mut is_new = |case: &Case| {
        let (domain, family) = case.domain_and_family();
        seen.insert(if arch == "sm_90" { case.primitive.clone() } else { format!("{domain}.{family}") })
    };
    let third = programs_on(arch).into_iter().filter_map(|(case, _)| Some((third_loop_of(&case)?, case)));
    third.filter(|(_, case)| is_new(case)).map(|(program, case)| (case, program)).collect()
}

/// The raw instructions of the timed kernels.
fn timed_kernels(cubin: &[u8]) -> [Vec<u128>; 2] {
    let cubin = Cubin::parse(cubin).unwrap();
    ["syncscope_baseline", "syncscope_test"]
        .map(|name| cubin.kernel(name).unwrap().instructions().iter().map(|found| found.raw).collect())
}

/// Cases of unsigned integers are measured with the programs of signed ones, except for minima and maxima.
#[test]
fn unsigned_atomics_have_the_instructions_of_signed_ones() {
    let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
    let mut seen = HashSet::new();
    let of_u32 = cases(Preset::Paper, &limits).into_iter().filter(|case| {
        let code = (case.primitive.clone(), is_thorough().then_some((case.space, case.mode, case.layout)));
        case.dtype == Some(Dtype::U32) && case.primitive.starts_with("gpu.atomic.") && seen.insert(code)
    });
    let signed: Vec<Program> = of_u32.filter_map(|case| program_of(&case)).collect();
    let signed: Vec<Program> = signed.into_iter().filter(|one| one.definitions[0] == "VALUE=int").collect();
    let unsigned = |program: &Program| {
        let mut program = program.clone();
        program.definitions[0] = "VALUE=unsigned int".to_owned();
        program
    };
    assert!(signed.len() >= 8);
    for arch in ["sm_75", "sm_90"] {
        let both: Vec<Program> = signed.iter().map(unsigned).chain(signed.clone()).collect();
        let mut compiler = prepared(arch, &both);
        for program in &signed {
            let [one, other] =
                [program.clone(), unsigned(program)].map(|program| timed_kernels(&compiler.cubin(&program).unwrap()));
            assert!(one == other, "{arch}: {:?}", program.definitions);
        }
    }
}

/// How often the instruction of a summary such as `BAR.SYNC 32/64` is in a region.
fn count_of(region: &Region, name: &str, is_out_of_line: bool) -> usize {
    let is_one = |found: &&Instruction| found.matches(name);
    if is_out_of_line { region.out_of_line().iter().flatten().filter(is_one).count() } else { region.count(name) }
}

#[test]
fn the_third_loop_has_one_more_copy_than_the_test_and_changes_nothing_else() {
    for arch in if is_thorough() { &["sm_80", "sm_90"][..] } else { &["sm_90"] } {
        let mut compiler = compiler(arch);
        let third = third_loops(arch);
        assert!(third.len() > 8, "{arch}: {}", third.len());
        let both = third.iter().flat_map(|(case, third)| [third.clone(), program_of(case).unwrap()]);
        compiler.prepare(&both.collect::<Vec<_>>(), &mut |_, _| {});
        for (case, third) in third {
            let (without, with) =
                (compiler.cubin(&program_of(&case).unwrap()).unwrap(), compiler.cubin(&third).unwrap());
            let [without, cubin] = [&without, &with].map(|cubin| Cubin::parse(cubin).unwrap());
            for kernel in ["syncscope_baseline", "syncscope_test", "syncscope_check", "syncscope_idle"] {
                let [without, with] = [&without, &cubin].map(|cubin| {
                    cubin.kernel(kernel).unwrap().instructions().iter().map(|found| found.raw).collect::<Vec<_>>()
                });
                assert!(without == with, "{kernel} of {case} on {arch}: {} and {}", without.len(), with.len());
            }
            assert!(without.kernel("syncscope_third").is_none(), "{case} on {arch}: only when it is asked for");
            let taken = syncscope_sass::parameter_bytes(&with).unwrap();
            assert_eq!(taken.get("syncscope_third").copied(), argument_bytes(&case), "{case} on {arch}");

            let evidence = evidence_of(&case, &with);
            let summary = evidence.summary().unwrap_or_else(|| panic!("{case} on {arch}: {evidence:?}"));
            let name = summary.split(' ').next().unwrap();
            let [baseline, test, third] = ["syncscope_baseline", "syncscope_test", "syncscope_third"].map(|kernel| {
                let region = decoded_region(cubin.kernel(kernel).unwrap()).unwrap();
                count_of(&region, name, summary.contains(" out of line"))
            });
            assert!(test > baseline, "{case} on {arch}: {summary}");
            assert_eq!(third - test, test - baseline, "{case} on {arch}: {summary}, {baseline} {test} {third}");
        }
    }
}

/// No Blackwell device was at hand: only the machine code is known.
#[test]
fn what_blackwell_added_is_there_in_machine_code() {
    for (id, instruction) in [
        ("gpu.block.tensor_commit", "UTCBAR"),
        ("gpu.block.tensor_fences", "BAR.SYNC"),
        ("gpu.block.try_cancel", "UGETNEXTWORKID"),
    ] {
        let programs = verify::programs(|case| case.primitive == id);
        for arch in VERIFIED.into_iter().filter(|arch| capability(arch) >= (9, 0)) {
            let is_there = (10, 0) <= capability(arch) && (id.ends_with("cancel") || capability(arch) < (12, 0));
            let found = Verifier::new(arch).unwrap().verify(&programs, &mut |_, _| {});
            assert!(!found.is_empty());
            for one in found {
                let text = format!("{arch} {id}: {:?}", one.evidence);
                match one.evidence.unwrap() {
                    Evidence::NotAvailable(reason) => {
                        assert!(!is_there && reason.contains("compute capability"), "{text}");
                    }
                    evidence => assert!(is_there && evidence.summary().unwrap().contains(instruction), "{text}"),
                }
            }
        }
    }
}

#[test]
fn kernels_come_from_the_cache_the_second_time() {
    let folder = tempfile::tempdir().unwrap();
    let (_, program) = programs().remove(0);
    let first = compiler_in("sm_90", folder.path()).cubin(&program).unwrap();
    let kept: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let written = std::fs::metadata(&kept[0]).unwrap().modified().unwrap();
    assert_eq!(compiler_in("sm_90", folder.path()).cubin(&program).unwrap(), first);
    assert_eq!(std::fs::metadata(&kept[0]).unwrap().modified().unwrap(), written);

    std::fs::write(&kept[0], "damaged").unwrap();
    assert_eq!(compiler_in("sm_90", folder.path()).cubin(&program).unwrap(), first, "compiled again");
    compiler_in("sm_80", folder.path()).cubin(&program).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "another architecture is another kernel");
}

#[test]
fn a_cache_that_cannot_be_written_to_causes_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut compiler = compiler_in("sm_90", &file);
    let (_, program) = programs().remove(0);
    compiler.cubin(&program).unwrap();
    assert!(compiler.warning().is_some_and(|warning| warning.contains("cannot be kept")));
}

#[test]
fn headers_for_cooperative_groups_are_found() {
    let folders = Surroundings::of_process().include_folders();
    assert!(folders.iter().any(|folder| folder.join("nv/target").is_file()), "{folders:?}; run `make nvrtc`");
}

/// The vendor's grid barrier and ours must have the same barriers, fences, atomic operations, loads and votes in the same
/// order. Registers and the time limit are not compared.
#[test]
fn the_cooperative_barrier_is_that_of_the_vendor() {
    const THEIRS: &str = "#include <cooperative_groups.h>\n\
        extern \"C\" __global__ void __launch_bounds__(1024, 2) theirs() { cooperative_groups::this_grid().sync(); }";
    // Leaves out the arithmetic between them. POPC is counted, because its position differs between programs.
    const KEPT: [&str; 9] = ["BAR.", "MEMBAR", "ERRBAR", "ATOM", "LD.", "LDG.E.STRONG", "CCTL", "VOTE", "SHFL"];
    let folders = Surroundings::of_process().include_folders();
    let mut options: Vec<String> = folders.iter().map(|folder| format!("-I{}", folder.display())).collect();
    options.push("--std=c++17".to_owned());
    let is_ours = |(case, _): &(Case, Program)| case.primitive == "gpu.grid.cooperative";
    let (_, program) = programs().into_iter().find(is_ours).unwrap();
    for arch in ["sm_80", "sm_90", "sm_100"] {
        let source = Source { file: "theirs.cu", text: THEIRS, headers: &[] };
        let theirs = nvdisasm(&nvrtc().compile(source, arch, &options).unwrap(), &["-c"]);
        let ours = nvdisasm(&compiler(arch).cubin(&program).unwrap(), &["-c"]);
        let essence = |all: &[&str]| {
            let name = |text: &&str| text.split([' ', ';']).next().unwrap_or_default().to_owned();
            let names = all.iter().map(name).map(|name| name.replace("VOTEU", "VOTE"));
            names.filter(|name| KEPT.iter().any(|kept| name.starts_with(kept))).collect::<Vec<_>>()
        };
        let counts =
            |all: &[&str]| all.iter().filter(|text| text.starts_with("POPC") || text.starts_with("UPOPC")).count();
        let (theirs, ours) = (instructions(&theirs, "theirs"), instructions(&ours, "syncscope_baseline"));
        let ours = timed_region(&ours);
        assert_eq!(counts(&ours), 4 * counts(&theirs), "{arch}");
        let (theirs, ours) = (essence(&theirs), essence(&ours));
        assert!(!ours.is_empty() && ours.len().is_multiple_of(4), "{arch}: four barriers are in the loop: {ours:#?}");
        // The path of a divergent warp may follow the end of the vendor's barrier.
        for barrier in ours.chunks(ours.len() / 4) {
            assert_eq!(Some(barrier), theirs.get(..barrier.len()), "{arch}");
        }
    }
}

/// One case for each design of a barrier with orderings.
fn designs() -> Vec<Case> {
    let mut seen = HashSet::new();
    let with_orderings = programs().into_iter().map(|(case, _)| case).filter(|case| !orderings(case).is_empty());
    // Clusters of all sizes share one barrier.
    let group = |case: &Case| case.group.clone().filter(|group| group.word() != "cluster #");
    let design = |case: &Case| (case.primitive.clone(), orderings(case), group(case));
    with_orderings.filter(|case| seen.insert(design(case))).collect()
}

/// A name without an instruction, or an instruction without a name, would be a mutation that tests nothing.
#[test]
fn the_orderings_of_a_barrier_are_those_that_can_be_left_out() {
    let designs = designs();
    assert!(designs.len() >= 9, "{designs:?}");
    let weakened = |case: &Case| -> Vec<Program> {
        let numbers = 0..=u32::try_from(orderings(case).len()).unwrap() + 1;
        numbers.map(|number| weakened_program(case, number).unwrap()).collect()
    };
    let programs: Vec<(Case, Vec<Program>)> = designs.into_iter().map(|case| (case.clone(), weakened(&case))).collect();
    let mut compiler = prepared("sm_90", programs.iter().flat_map(|(_, programs)| programs));
    for (case, programs) in &programs {
        let mut code = programs.iter().map(|program| {
            let cubin = Cubin::parse(&compiler.cubin(program).unwrap()).unwrap();
            cubin.kernel("syncscope_check").unwrap().instructions().iter().map(|found| found.raw).collect::<Vec<_>>()
        });
        let whole = code.next().unwrap();
        assert!(!whole.is_empty());
        let changed: Vec<bool> = code.map(|code| code != whole).collect();
        let mut expected = vec![true; orderings(case).len()];
        expected.push(false);
        assert_eq!(changed, expected, "{case}: {:?}", orderings(case));
    }
}
