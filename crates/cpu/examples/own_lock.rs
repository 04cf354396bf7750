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
    for line in measure(&[1, 2], Duration::from_secs(2)) {
        println!("{line}");
    }
}

#[rustfmt::skip]
pub(crate) fn measure(teams: &[u32], time: Duration) -> Vec<String> {
    let mut laboratory = CpuLaboratory::open().unwrap();
    let locks = |&n: &u32| [("std", n, Workload::of_lock::<Mutex<u64>>(n)), ("spin", n, Workload::of_lock::<Spin>(n))];
    teams.iter().flat_map(locks).map(|(name, threads, lock)| {
        let found = laboratory.measure(lock.unwrap(), threads, time).unwrap();
        let cost = found.estimate.map_or("no figure".into(), |estimate| format!("{:.1} ns", estimate.ns.value()));
        format!("{name}, {threads} threads: {cost}, {:?}, check {:?}", found.verdict, found.check)
    }).collect()
}
