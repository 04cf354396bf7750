//! `details.csv` next to a table of rows: read, made compact, and read again as the same details.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_core::CaseId;
use syncscope_fuzz::FOLDER;

/// The rows of two cases of the CPU and one of the GPU.
const ROWS: &[u8] = include_bytes!("../src/rows.csv");

thread_local! {
    /// The cases whose rows have pairs.
    static MEASURED: Vec<CaseId> = FOLDER.with(|folder| {
        folder.write("measurements.csv", ROWS);
        let rows = folder.directory().read_rows().expect("the rows are in order");
        rows.iter().filter(|row| row.pairs.is_some_and(|pairs| pairs > 0)).map(|row| row.case.id()).collect()
    });
}

fuzz_target!(|bytes: &[u8]| {
    FOLDER.with(|folder| {
        MEASURED.with(|measured| {
            folder.write("details.csv", bytes);
            let directory = folder.directory();
            let Ok(details) = directory.read_details() else { return };
            if directory.tidy().is_ok() {
                let again = directory.read_details().expect("what was written is read");
                for id in measured {
                    let of = |table: &std::collections::HashMap<_, Vec<_>>| table.get(id).map_or(0, Vec::len);
                    assert_eq!(of(&again), of(&details), "{}", id.0);
                }
            }
        });
    });
});
