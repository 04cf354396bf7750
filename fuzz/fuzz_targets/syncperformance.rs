//! The result files of SyncPerformance: each figure is a row that can be stored.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_core::Case;
use syncscope_core::run::columns::Header;
use syncscope_import::syncperformance::ResultFile;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = ResultFile::parse(&String::from_utf8_lossy(bytes)) else { return };
    for figure in file.figures.iter().take(100) {
        let case = Case { threads: Some(figure.threads), blocks: figure.blocks, ..Case::new("gpu.atomic.add") };
        let record = figure.row(case, None, file.iterations).to_record();
        let again = Header::default().row(&record).expect("an imported row is read");
        assert_eq!(again.to_record(), record);
    }
});
