//! Instructions without a file around them. The first byte chooses the architecture.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_sass::{Arch, Effects, Kernel, timed_region};

const ARCHITECTURES: [u32; 8] = [75, 80, 86, 89, 90, 100, 103, 120];

fuzz_target!(|bytes: &[u8]| {
    let Some((arch, code)) = bytes.split_first() else { return };
    let Some(arch) = Arch::new(ARCHITECTURES[usize::from(*arch) % ARCHITECTURES.len()]) else { return };
    let whole = &code[..code.len() / 16 * 16];
    let kernel = Kernel::decode("k", whole, arch).expect("a whole number of instructions");
    for instruction in kernel.instructions() {
        let _ = (instruction.to_string(), instruction.matches("ATOM*.ADD"), Effects::of(instruction, arch));
    }
    if let Ok(region) = timed_region(&kernel) {
        let _ = (region.listing(), region.unknown());
    }
});
