//! `syncscope reductions` on a device.

use std::time::Duration;

use syncscope_core::published::reductions::{Operation, ReductionRow};
use syncscope_gpu::ReductionPlan;

use super::open;

fn plan(sizes: Vec<u64>) -> ReductionPlan {
    let operations = vec![Operation::Max, Operation::Sum];
    ReductionPlan { sizes, operations, time: Duration::from_secs(2), seed: 7 }
}

/// Whether a variant was not run, because the device or the headers lack something.
fn is_left_out(row: &ReductionRow) -> bool {
    let reasons = ["needs compute capability", "CUB's headers", "at least two GPUs", "peer"];
    row.reason.as_ref().is_some_and(|reason| reasons.iter().any(|text| reason.contains(text)))
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn every_reduction_gives_the_known_answer_at_every_size() {
    let rows = open().reductions(&plan(vec![777, 65_537, 1 << 20]), &mut |_, _| {}).unwrap();
    assert!(rows.len() > 60, "{}", rows.len());
    for row in rows.iter().filter(|row| !is_left_out(row)) {
        assert_eq!(row.check, Some(true), "{row:?}");
        assert!(row.ns.is_some_and(|ns| ns > 0.0), "{row:?}");
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn chains_behind_a_gate_are_queued_in_time_and_give_every_result() {
    let sizes = vec![1, 1000, 1 << 16];
    let rows = open().reductions(&plan(sizes.clone()), &mut |_, _| {}).unwrap();
    for id in ["device.atomic_queued", "device.grid_queued", "device.kernel_boundary_queued"] {
        let of_variant: Vec<&ReductionRow> = rows.iter().filter(|row| row.variant == id).collect();
        assert_eq!(of_variant.len(), 2 * sizes.len(), "{id}");
        for row in of_variant {
            println!("{id} {:?} {}: {:?} ns", row.operation, row.elements, row.ns);
            assert_eq!((row.check, &row.reason), (Some(true), &None), "{row:?}");
            // The longer chain of a pair must not fill the queue of the stream.
            assert!(row.pairs >= 7 && (1..=120).contains(&row.chain), "{row:?}");
        }
    }
}

#[test]
#[ignore = "needs two CUDA devices: make test-gpu"]
fn kernels_join_the_results_of_several_devices_in_streams_and_in_one_graph() {
    // Neither a number of elements that the devices divide evenly, nor one part that is empty.
    let rows = open().reductions(&plan(vec![1, 4099, 1 << 20]), &mut |_, _| {}).unwrap();
    let several = |id: &str| rows.iter().filter(|row| row.variant == id).collect::<Vec<_>>();
    if several("devices.flags").iter().all(|row| is_left_out(row)) {
        println!("one device, or devices without access to each other: {:?}", several("devices.flags")[0].reason);
        return;
    }
    for id in ["devices.events", "devices.graph_chain"] {
        for row in several(id) {
            println!("{id} on {:?} {:?} {}: {:?} ns", row.devices, row.operation, row.elements, row.ns);
            assert!(row.devices >= Some(2), "{row:?}");
            assert_eq!((row.check, &row.reason), (Some(true), &None), "{row:?}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_large_reduction_is_as_fast_as_memory_and_the_listing_is_bound_by_its_atomics() {
    let rows = open().reductions(&plan(vec![1 << 26]), &mut |_, _| {}).unwrap();
    let ns = |id: &str| {
        let is_this = |row: &&ReductionRow| row.variant == id && row.operation == Operation::Max;
        rows.iter().find(is_this).and_then(|row| row.ns).unwrap_or_else(|| panic!("{id}: {rows:?}"))
    };
    let (atomic, barrier, every_warp) = (ns("device.atomic"), ns("device.grid_cooperative"), ns("listing.2"));
    println!(
        "atomic {atomic:.0} ns, grid barrier {barrier:.0} ns, an atomic operation of every warp {every_warp:.0} ns"
    );
    assert!((barrier - atomic).abs() < 0.2 * atomic, "both read the same vector: {barrier} and {atomic} ns");
    assert!(every_warp > 3.0 * atomic, "{every_warp} and {atomic} ns");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn sums_of_a_warp_are_right_and_one_instruction_is_the_fastest() {
    let rows = open().warp_reductions(7);
    assert_eq!(rows.len(), 8);
    for row in &rows {
        println!("{row:?}");
        assert!(row.check == Some(true) || row.reason.is_some(), "{row:?}");
    }
    let cycles: Vec<f64> = rows.iter().filter(|row| row.threads == 32).filter_map(|row| row.cycles).collect();
    assert!(cycles.last() < cycles.first(), "{cycles:?}");
}
