//! `measurements.csv`: rows are read, or an error names the line. A row that was read is written and read again as the same row.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_core::run::columns::Header;
use syncscope_fuzz::FOLDER;

fuzz_target!(|bytes: &[u8]| {
    FOLDER.with(|folder| {
        folder.write("measurements.csv", bytes);
        let Ok(rows) = folder.directory().read_rows() else { return };
        for row in rows {
            let record = row.to_record();
            let again = Header::default().row(&record).expect("a row that was written is read");
            assert_eq!(again.to_record(), record, "it is the same row");
            let _ = (row.case.id(), row.case.to_string(), row.case.actors());
        }
        let _ = folder.directory().tidy();
    });
});
