//! What a report says about foreign rows. The first byte chooses a part of it: `0` to `7` in [`PARTS`].

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use syncscope_core::{Catalogue, Run};
use syncscope_fleet::gallery::{self, Entry};
use syncscope_fleet::nodes::{self, Fleet};
use syncscope_fuzz::FOLDER;
use syncscope_report::{Asked, Need, RunData, advise, compare, export, findings, page, table};

thread_local! {
    /// `run.json`, which never changes.
    static RUN: Run = FOLDER.with(|folder| folder.directory().read_run().expect("it is in order"));
}

/// The catalogue by which sentences, charts and advice find their rows.
static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(|| {
    Arc::new([syncscope_cpu::catalogue(), syncscope_gpu::primitives()].concat().into_iter().collect())
});

const PARTS: [fn(RunData); 8] = [
    |data| assert!(page::render(&[data]).contains("</html>")),
    |data| {
        let _ =
            (table::summary(&data, 80, false), export::rows::as_markdown(&data), export::rows::as_json(&data, None));
    },
    |data| {
        let _ = (findings(&data, []), export::trackers::as_bmf(&data), export::trackers::as_github(&data));
    },
    |data| {
        let comparison = compare(&data, &data, 0.05);
        let _ = (export::comparison::for_terminal(&comparison, 60), export::comparison::as_json(&comparison));
    },
    |data| {
        for need in Need::ALL.iter().copied() {
            let answers = advise(&data, need, Asked { threads: None, on: None, wait: None });
            let _ = export::advice::for_terminal(&data, &answers, 60);
        }
    },
    |data| {
        let mut fleet = Fleet::default();
        (0..3).for_each(|_| fleet.add(&data));
        let _ = fleet.examine(0.05).map(|fleet| nodes::text::as_json(&fleet));
    },
    |data| {
        let _ = gallery::render(&[Entry { data, page: None, is_own: false }], None);
    },
    |data| assert!(page::render(&[data.clone(), data]).contains("</html>")),
];

fuzz_target!(|bytes: &[u8]| {
    let Some((part, bytes)) = bytes.split_first() else { return };
    FOLDER.with(|folder| {
        folder.write("measurements.csv", bytes);
        let Ok(rows) = folder.directory().read_rows() else { return };
        if !rows.is_empty() {
            let run = RUN.with(Run::clone);
            let name = "run".to_owned();
            PARTS[usize::from(*part) % PARTS.len()](RunData {
                name,
                run,
                rows,
                details: Default::default(),
                damage: Default::default(),
                catalogue: CATALOGUE.clone(),
            });
        }
    });
});
