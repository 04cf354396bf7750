//! A lock of one's own, by two threads: `cargo run --release -p syncscope-cpu --example own_lock`
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "an example")]
use std::sync::{Arc, Mutex};
use syncscope_core::{Cancel, Case, Engine, Placement, Settings, stopping::PrecisionRule};
use syncscope_cpu::{
    CpuLaboratory,
    primitives::{Executed, Operation, SLOTS, Workload},
};

struct Locks(Vec<Mutex<u64>>);

#[rustfmt::skip]
impl Operation for Locks {
    type Local<'a> = &'a Mutex<u64>;
    fn local(&self, slot: usize, _thread: usize) -> &Mutex<u64> { &self.0[slot] }
    fn execute(lock: &mut &Mutex<u64>) { *lock.lock().unwrap() += 1; }
    fn prepare(&self, slot: usize, thread: usize) { if thread == 0 { *self.0[slot].lock().unwrap() = 0; } }
    fn verify(&self, slot: usize, thread: usize, done: Executed) -> Result<(), String> {
        if thread != 0 || *self.0[slot].lock().unwrap() == done.by_all(2) { Ok(()) } else { Err("lost additions".to_owned()) }
    }
}

fn main() {
    let locks = Arc::new(Locks((0..SLOTS).map(|_| Mutex::default()).collect()));
    let case = Case { threads: Some(2), ..Case::new("cpu.own.lock") };
    let mut laboratory = CpuLaboratory::open().unwrap();
    let workload = Workload::contended(locks, &case).unwrap();
    let mut experiment = laboratory.experiment_of(workload, &Placement::Close, 2).unwrap();
    let rule =
        PrecisionRule { precision: 0.01, min_pairs: 40, max_pairs: 400, max_time: std::time::Duration::from_secs(2) };
    let settings = Settings { sample: std::time::Duration::from_micros(100), noisy_above: 0.05, rule };
    let found = Engine::new(settings, Cancel::new()).measure(experiment.as_mut(), 1).unwrap();
    println!("{:?} {:?}, check {:?}", found.verdict, found.estimate, found.check);
}
