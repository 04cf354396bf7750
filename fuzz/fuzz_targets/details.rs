//! `details.csv` beside a table of rows: read, made compact, and read as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_fuzz::FOLDER;

fuzz_target!(|bytes: &[u8]| {
    FOLDER.with(|folder| {
        folder.write("measurements.csv", include_bytes!("../seeds/measurements/cpu.csv"));
        folder.write("details.csv", bytes);
        let directory = folder.directory();
        let Ok(details) = directory.read_details() else { return };
        if directory.tidy().is_ok() {
            let again = directory.read_details().expect("what was written is read");
            let known = directory.read_rows().expect("the rows are in order");
            for row in known.iter().filter(|row| row.pairs.is_some_and(|pairs| pairs > 0)) {
                let of = |table: &std::collections::HashMap<_, Vec<_>>| table.get(&row.case.id()).map_or(0, Vec::len);
                assert_eq!(of(&again), of(&details), "{}", row.case);
            }
        }
    });
});
