//! hwloc's XML. The parser is hwloc's own, in C; what is under test is what becomes of the objects: the topology, its text,
//! and the plan.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_core::{Laboratory, Preset};
use syncscope_cpu::CpuLaboratory;
use syncscope_fuzz::FOLDER;

fuzz_target!(|bytes: &[u8]| {
    FOLDER.with(|folder| {
        folder.write("topology.xml", bytes);
        // SAFETY: nothing else in this process reads the environment at the same time.
        unsafe { std::env::set_var("HWLOC_XMLFILE", folder.path().join("topology.xml")) };
        let Ok(laboratory) = CpuLaboratory::open() else { return };
        let topology = laboratory.topology();
        let _ = (topology.to_string(), laboratory.machine());
        if topology.threads.len() <= 64 {
            let _ = laboratory.plan(Preset::Quick);
        }
    });
});
