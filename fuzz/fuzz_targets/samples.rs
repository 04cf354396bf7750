//! `samples.csv` and, where the first byte is odd, `samples.csv.gz`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_core::stored_samples::cost_of;
use syncscope_fuzz::FOLDER;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let (there, gone) =
        if kind % 2 == 1 { ("samples.csv.gz", "samples.csv") } else { ("samples.csv", "samples.csv.gz") };
    FOLDER.with(|folder| {
        folder.remove(gone);
        folder.write(there, bytes);
        if let Ok(samples) = folder.directory().read_samples() {
            let _ = samples.values().filter_map(|pairs| cost_of(pairs, &[[1, 2]], kind % 4 < 2)).count();
        }
    });
});
