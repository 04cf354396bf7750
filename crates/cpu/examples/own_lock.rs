//! A lock of one's own against std's: `cargo run --release -p syncscope-cpu --example own_lock`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example")]
use std::{hint::spin_loop, sync::Mutex, time::Duration};
use syncscope_cpu::{CpuLaboratory, primitives::OwnLock, primitives::Workload};

#[derive(Default)]
struct Spin(Mutex<u64>);

#[rustfmt::skip]
impl OwnLock for Spin {
    fn with(&self, critical: impl FnOnce(&mut u64)) {
        loop { match self.0.try_lock() { Ok(mut held) => return critical(&mut held), Err(_) => spin_loop() } }
    }
}

fn main() {
    let mut laboratory = CpuLaboratory::open().unwrap();
    for threads in [1, 2] {
        for (name, lock) in
            [("std", Workload::of_lock::<Mutex<u64>>(threads)), ("spin", Workload::of_lock::<Spin>(threads))]
        {
            let found = laboratory.measure(lock.unwrap(), threads, Duration::from_secs(2)).unwrap();
            println!("{name}, {threads} threads: {:?} {:?}, check {:?}", found.verdict, found.estimate, found.check);
        }
    }
}
