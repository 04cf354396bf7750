//! A spin lock against the standard library's mutex: `cargo bench -p syncscope-cpu --bench own -- --threads 1,2`
#![allow(missing_docs, reason = "a bench")]
use std::process::ExitCode;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::{hint::spin_loop, sync::Mutex};
use syncscope_cpu::bench;

#[rustfmt::skip]
fn main() -> ExitCode {
    let spin = bench::lock("spin", |_| AtomicBool::new(false), |lock, me| {
        while lock.swap(true, Acquire) { spin_loop() }
        me.count();
        lock.store(false, Release);
    });
    spin.against(bench::lock("std", |_| Mutex::new(()), |lock, me| { let _held = lock.lock(); me.count(); })).run()
}
