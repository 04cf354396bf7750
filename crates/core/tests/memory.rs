//! How much memory a run takes while it keeps the pairs of every unfinished case: the grid of the paper on a machine with many
//! CPUs, on fakes. Alone in its program, because a program has one peak.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a helper of a test that fails is a failed test")]

mod common;

use std::fs;
use std::time::Duration;

use syncscope_core::fake::{FakeExperiment, Noise};
use syncscope_core::run::Status;
use syncscope_core::run::directory::RunDirectory;
use syncscope_core::session::observer::{Done, Observer, Work};
use syncscope_core::session::{Limits, Session};
use syncscope_core::{Case, Experiment, Laboratory, Listing, Preset, Refusal};

/// The cases of the test: as many as take a few seconds.
const CASES: u64 = 500;

/// The blocks of a case in a plan of this size, and the pairs of a block.
const BLOCKS: u64 = 20;
const PAIRS: u64 = 6;

/// The cases of the paper's grid on a guest with 16 CPUs, and their blocks in a plan of that size.
const LARGEST_GRID: u64 = 4_612;
const MOST_BLOCKS: u64 = 40;

/// The most memory that the largest grid may take.
const MOST_BYTES: u64 = 300_000_000;

/// Cases that are never precise, so that each keeps as many pairs as it can.
struct Noisy;

impl Laboratory for Noisy {
    fn listing(&self) -> Vec<Listing> {
        Vec::new()
    }

    fn plan(&self, _: Preset) -> Vec<Case> {
        (1..=CASES as u32).map(|threads| Case { threads: Some(threads), ..Case::new("cpu.barrier.std") }).collect()
    }

    fn experiment(&mut self, case: &Case) -> Result<Box<dyn Experiment + '_>, Refusal> {
        Ok(Box::new(FakeExperiment::new(100.0, case.id().number()).with_noise(Noise::Proportional(1.0))))
    }
}

/// Counts the blocks.
#[derive(Default)]
struct Blocks(u64);

impl Observer for Blocks {
    fn planned(&mut self, _: &[Work]) {}
    fn measuring(&mut self, _: &Case) {}
    fn measured(&mut self, _: usize, done: Done, _: Duration) {
        self.0 += done.blocks;
    }
    fn warning(&mut self, _: &str) {}
}

fn peak_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

#[test]
fn the_grid_of_the_paper_stays_within_its_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut laboratory = Noisy;
    let plan = common::plan(&[&mut laboratory as &mut dyn Laboratory], Preset::Paper, 1);
    let run = common::run(Preset::Paper, CASES);
    let before = peak_bytes();
    let directory = RunDirectory::create(&folder.path().join("run")).unwrap();
    let mut session = Session::start(directory, run, Preset::Paper, plan).unwrap();
    let mut blocks = Blocks::default();
    let measured = session.measure(&mut [&mut laboratory], &Limits::default(), &mut blocks);
    assert_eq!(session.finish(measured, &[&mut laboratory]).unwrap().status, Status::Done);
    let peak = peak_bytes();
    assert_eq!(blocks.0, BLOCKS * CASES, "every case took all of its blocks");
    let of_a_pair = (peak - before) / (CASES * BLOCKS * PAIRS);
    let whole = before + of_a_pair * LARGEST_GRID * MOST_BLOCKS * PAIRS;
    println!("{of_a_pair} B for each pair, {} MB for the largest grid", whole / 1_000_000);
    assert!(whole < MOST_BYTES, "{of_a_pair} B for each pair, {whole} B for {LARGEST_GRID} cases");
}
