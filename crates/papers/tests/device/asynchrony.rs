//! The block-asynchronous experiment on a device.

use std::time::{Duration, Instant};

use syncscope_core::session::Limits;
use syncscope_papers::asynchrony::counted::PositionClass;
use syncscope_papers::asynchrony::{BLOCK_THREADS, Options, Variant, claims, gpu};

use super::open;

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn the_block_asynchronous_experiment_counts_every_execution() {
    let mut laboratory = open();
    let plan = Options { executions: 5000, components: 8192, draws: 12 };
    let mut heard = Vec::new();
    let found =
        gpu::measure(&mut laboratory, &plan, &Limits::default(), &mut |done, all| heard.push((done, all))).unwrap();
    let parts = BLOCK_THREADS.len() * Variant::ALL.len();
    assert_eq!(heard.last(), Some(&(parts, parts)));
    assert_eq!((found.positions.len(), found.classes.len()), (256 * parts, PositionClass::ALL.len() * parts));
    for row in &found.classes {
        assert_eq!(row.executions, plan.executions_of(row.variant), "{row:?}");
        assert!(row.inconsistencies <= row.executions * row.components, "{row:?}");
    }
    // A component keeps its one only if a neighbour lost its own: never more than two thirds of all.
    for rows in
        found.positions.chunk_by(|one, next| (one.variant, one.block_threads) == (next.variant, next.block_threads))
    {
        let ones: u64 = rows.iter().map(|row| row.inconsistencies).sum();
        let all: u64 = rows.iter().map(|row| row.components * row.executions).sum();
        assert!(3 * ones < 2 * all, "{ones} of {all} in {:?}", rows[0]);
    }
    for row in &claims::claims(&found, "") {
        println!("{:?} {:?} {:?}: {:?}, {}", row.claim, row.variant, row.block_threads, row.verdict, row.found);
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn every_block_arrives_once_and_on_a_multiprocessor_of_the_device() {
    let mut laboratory = open();
    let plan = Options { executions: 50, components: 8192, draws: 12 };
    let found = gpu::measure(&mut laboratory, &plan, &Limits::default(), &mut |_, _| {}).unwrap();
    let multiprocessors = laboratory.machine()[0].multiprocessors;
    assert_eq!(found.launches.len(), 64 + 11 * 4);
    assert_eq!(found.arrivals.len(), found.launches.len() * multiprocessors as usize);
    assert!(found.arrivals.iter().all(|row| row.multiprocessor < multiprocessors), "numbers of multiprocessors");
    assert_eq!(found.neighbours.len(), BLOCK_THREADS.len());
    for row in &found.neighbours {
        assert_eq!(row.pairs, u64::from(row.launches) * u64::from(row.blocks - 1), "{row:?}");
        println!("{row:?}");
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn a_short_time_leaves_every_kernel_and_block_size_some_executions() {
    let mut laboratory = open();
    let plan = Options { executions: 1_000_000_000, components: 65_536, draws: 12 };
    let measure = |laboratory: &mut _, seconds| {
        let started = Instant::now();
        let limits = Limits { deadline: Some(started + Duration::from_secs(seconds)), ..Limits::default() };
        let found = gpu::measure(laboratory, &plan, &limits, &mut |_, _| {}).unwrap();
        (found.positions.len() / 256, started.elapsed())
    };
    let (parts, took) = measure(&mut laboratory, 15);
    assert_eq!(parts, BLOCK_THREADS.len() * Variant::ALL.len());
    assert!(took < Duration::from_secs(18), "{took:?}");
    assert_eq!(measure(&mut laboratory, 0).0, 0);
}
