//! Claims of Zhang, Wahib, Zhang and Matsuoka.

use super::super::{Truth, findings};
use super::{Example, example, found, rows};
use crate::testing;

pub(super) const EXAMPLES: &[Example] = &[
    example(
        "zhang.tile_size",
        "gpu.warp.tile b1 t32 tile1 =54; tile4 =54; tile32 =55",
        "gpu.warp.tile b1 t32 tile1 =54; tile4 =54; tile32 =155",
        "gpu.warp.tile b1 t32 tile1 =40; tile4 =40; tile32 =50",
    ),
    example(
        "zhang.coalesced_size",
        "gpu.warp.coalesced b1 t32 group16 =108; group32 =14",
        "gpu.warp.coalesced b1 t32 group16 =1; group32 =1",
        "gpu.warp.coalesced b1 t32 group16 =28; group32 =14",
    ),
    example(
        "zhang.coalesced_constant",
        "gpu.warp.coalesced b1 t32 group16 =1; group32 =1",
        "gpu.warp.coalesced b1 t32 group16 =108; group32 =14",
        "gpu.warp.coalesced b1 t32 group16 =20; group32 =25",
    ),
    example(
        "zhang.one_cycle",
        "gpu.warp.coalesced b1 t32 group16 =108; group32 =14",
        "gpu.warp.coalesced b1 t32 group16 =1; group32 =14",
        "gpu.warp.coalesced b1 t32 group16 =2; group32 =14",
    ),
    example(
        "zhang.block_size",
        "gpu.block.syncthreads b1 t32 =22; t64 =24; t1024 =84",
        "gpu.block.syncthreads b1 t32 =22; t64 =24; t1024 =20",
        "gpu.block.syncthreads b1 t32 =22; t64 =22; t1024 =22",
    ),
    example(
        "zhang.block_warps",
        "gpu.block.syncthreads b10 t64 =24; t128 =28; b20 t32 =25; t64 =29",
        "gpu.block.syncthreads b10 t64 =24; t128 =28; b20 t32 =25; t64 =99",
        "gpu.block.syncthreads b10 t64 =20; t128 =20; b20 t32 =30; t64 =30",
    ),
    example(
        "zhang.block_lesson",
        "gpu.block.syncthreads b1 t32 =22; t1024 =84",
        "gpu.block.syncthreads b1 t32 =22; t1024 =23",
        "gpu.block.syncthreads b1 t32 =22; t1024 =44",
    ),
    example(
        "zhang.block_saturation",
        "gpu.block.syncthreads b20 t1024 =84; b40 t512 =85",
        "gpu.block.syncthreads b20 t1024 =84; b40 t512 =45",
        "gpu.block.syncthreads b20 t1024 =100; b40 t512 =80",
    ),
    example(
        "zhang.levels",
        "gpu.block.syncthreads b1 t32 =22; gpu.warp.syncwarp b1 t32 converged =14; divergent =54",
        "gpu.block.syncthreads b1 t32 =14; gpu.warp.syncwarp b1 t32 converged =1; divergent =54",
        "gpu.block.syncthreads b1 t32 =20; gpu.warp.syncwarp b1 t32 converged =2",
    ),
    example(
        "zhang.block_before_warp",
        "gpu.block.syncthreads b1 t32 =22; gpu.warp.tile b1 t32 tile4 =54",
        "gpu.block.syncthreads b1 t32 =14; gpu.warp.syncwarp b1 t32 converged =1",
        "gpu.block.syncthreads b1 t32 =22; gpu.warp.tile b1 t32 tile4 =22",
    ),
    example(
        "zhang.full_block",
        "gpu.block.syncthreads b1 t32 =22; t1024 =84",
        "gpu.block.syncthreads b1 t32 =22; t1024 =23",
        "gpu.block.syncthreads b1 t32 =20; t1024 =25",
    ),
    example(
        "zhang.full_block_grid",
        "gpu.grid.cooperative b10 t32 =1430; t1024 =2200",
        "gpu.grid.cooperative b10 t32 =1990; t1024 =2010",
        "gpu.grid.cooperative b10 t32 =1600; t1024 =2000",
    ),
    example(
        "zhang.grid_dimensions",
        "gpu.grid.cooperative b10 t32 =1430; t1024 =2200; b320 t32 =21060",
        "gpu.grid.cooperative b10 t32 =1430; t1024 =2200; b320 t32 =1700",
        "gpu.grid.cooperative b10 t32 =1430; t1024 =2200; b320 t32 =2210",
    ),
    example(
        "zhang.grid_lesson",
        "gpu.grid.cooperative b10 t32 =1430; b320 t32 =21060",
        "gpu.grid.cooperative b10 t32 =1430; b320 t32 =1700",
        "gpu.grid.cooperative b10 t32 =1430; b320 t32 =2860",
    ),
    example(
        "zhang.multi_lesson_blocks",
        "gpu.multi.flags d2 b10 t32 =6; b320 t32 =58",
        "gpu.multi.flags d2 b10 t32 =6; b320 t32 =58; gpu.multi.counter d2 b10 t32 =6; b320 t32 =6",
        "gpu.multi.flags d2 b10 t32 =8; b320 t32 =10",
    ),
    example(
        "zhang.multi_lesson_warps",
        "gpu.multi.flags d1 b10 t32 =1; t1024 =1; d2 b10 t32 =6; t1024 =9; relaxed =2",
        "gpu.multi.flags d1 b10 t32 =1; t1024 =9; d2 b10 t32 =6; t1024 =6",
        "gpu.multi.flags d2 b10 t32 =8; t1024 =10",
    ),
    example(
        "zhang.multi_first_gap",
        "gpu.grid.counter b10 t32 =2; gpu.multi.flags b10 t32 d2 =6",
        "gpu.grid.counter b10 t32 =2; gpu.multi.flags b10 t32 d2 =2",
        "gpu.grid.counter b10 t32 =8; gpu.multi.flags b10 t32 d2 =10",
    ),
    example(
        "zhang.multi_like_grid",
        "gpu.grid.cooperative b10 t32 =10; gpu.multi.flags b10 t32 d1 =10.5",
        "gpu.grid.cooperative b10 t32 =10; gpu.multi.flags b10 t32 d1 =30",
        "gpu.grid.cooperative b10 t32 =8; gpu.multi.flags b10 t32 d1 =10",
    ),
    example(
        "zhang.multi_alike",
        "gpu.multi.flags b10 t32 d2 =6; d3 =6; d4 =7",
        "gpu.multi.flags b10 t32 d2 =6; d3 =6; d4 =17",
        "gpu.multi.flags b10 t32 d2 =6; d3 =6; d4 =7.5",
    ),
    example(
        "zhang.multi_second_gap",
        "gpu.multi.flags b10 t32 d5 =6; d6 =12",
        "gpu.multi.flags b10 t32 d5 =6; d6 =6",
        "gpu.multi.flags b10 t32 d5 =8; d6 =10",
    ),
    example(
        "zhang.multi_acceptable",
        "gpu.multi.flags d2 b10 t32 =6; b40 t256 =9",
        "gpu.multi.flags d2 b10 t32 =6; b40 t256 =19",
        "gpu.multi.flags d2 b10 t32 =6; b40 t256 =12",
    ),
    example(
        "zhang.multi_ranges",
        "gpu.multi.flags d2 b10 t32 =6; b40 t128 =9; b20 t1024 =22; b320 t32 =58",
        "gpu.multi.flags d2 b10 t32 =6; b40 t128 =9; b20 t1024 =10; b320 t32 =58",
        "gpu.multi.flags d2 b10 t32 =6; b40 t128 =9; b20 t1024 =18; b320 t32 =58",
    ),
];

#[test]
fn a_single_coalesced_group_is_not_the_cheapest_of_one() {
    let sentence = |text: &str| found("zhang.one_cycle", &testing::data(rows(text))).outcome.sentence;
    let one = sentence("gpu.warp.coalesced b1 t32 group8 =1");
    assert!(one.contains("group of 8, the only one measured, costs"), "{one}");
    let two = sentence("gpu.warp.coalesced b1 t32 group8 =1; group16 =2");
    assert!(two.contains("group of 8, the cheapest of 2 coalesced groups, costs"), "{two}");
}

#[test]
fn a_claim_about_what_is_compiled_to_nothing_cannot_be_tested() {
    let found = |nops: &[bool]| {
        let mut data = testing::data(rows("gpu.warp.coalesced b1 t32 group8 =1; group16 =14"));
        for (row, is_nop) in data.rows.iter_mut().zip(nops) {
            row.evidence = is_nop.then(|| "NOP 32/64 for WARPSYNC".into());
        }
        findings(&data, []).into_iter().find(|finding| finding.id == "zhang.one_cycle").unwrap().outcome
    };
    let all = found(&[true, true]);
    assert_eq!(all.verdict, Truth::Open);
    assert!(
        all.sentence.starts_with("the claim cannot be tested because the primitive compiled to NOPs (NOP 32/64"),
        "{}",
        all.sentence
    );
    let rest = found(&[true, false]);
    assert_eq!((rest.verdict, rest.rows.len()), (Truth::Holds, 1), "{}", rest.sentence);
}

/// The farthest cost is written in the unit of the fitted line.
#[test]
fn the_farthest_cost_and_the_line_have_one_unit() {
    let example = EXAMPLES.iter().find(|example| example.claim == "zhang.block_warps").unwrap();
    let sentence = found(example.claim, &super::run(example.does_not_hold)).outcome.sentence;
    assert!(sentence.ends_with("; the worst fit is 28.0 ns with 10×128, where the line gives 63.5 ns"), "{sentence}");
    assert!(!sentence.contains("cycles"), "{sentence}");
}
