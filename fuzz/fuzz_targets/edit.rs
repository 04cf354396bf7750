//! The editor: a CUBIN, the number of its first byte of edits, each of three bytes at the end of the input.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_sass::{CubinFile, correct_clock_reads};

fuzz_target!(|bytes: &[u8]| {
    let Some((count, rest)) = bytes.split_first() else { return };
    let edits = rest.len().min(3 * usize::from(count % 16));
    let (cubin, edits) = rest.split_at(rest.len() - edits);
    let Ok(file) = CubinFile::parse(cubin) else { return };
    let names: Vec<String> = file.cubin().kernels().map(str::to_owned).take(8).collect();
    for name in names {
        let mut edit = file.edit(&name).expect("the kernel is there");
        for chosen in edits.chunks_exact(3) {
            let (what, at, value) = (chosen[0], u64::from(chosen[1]) * 16, chosen[2]);
            let _ = match what % 4 {
                0 => edit.set_wait(at, value),
                1 => edit.clear_wait(at, value),
                2 => edit.set_stall(at, value),
                _ => edit.move_instruction(at, u64::from(value) * 16),
            };
        }
        let _ = (correct_clock_reads(&mut edit), edit.changed_bits(), edit.instructions().len());
        // Two sections may have one name: then the code of the other section is in the way.
        if let Ok(written) = file.with(&edit) {
            assert_eq!(written.bytes().len(), cubin.len());
        }
    }
});
