//! `run.json`: what was read is written and read again as the same value.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_fuzz::FOLDER;

fuzz_target!(|bytes: &[u8]| {
    FOLDER.with(|folder| {
        folder.write("run.json", bytes);
        let directory = folder.directory();
        let Ok(run) = directory.read_run() else { return };
        directory.write_run(&run).expect("it can be written");
        let again = directory.read_run().expect("what was written is read");
        assert_eq!(format!("{again:?}"), format!("{run:?}"));
    });
});
