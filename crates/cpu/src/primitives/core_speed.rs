//! Measures how fast each core is, by the time of a chain of additions, each of which takes one cycle: firmware may not name the
//! kinds of cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use syncscope_core::ActorRule;

use crate::primitives::prelude::*;
use crate::timing::chains::{self, LONG_STEP};
use syncscope_machine::studies::EachCore;

/// The entries, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] = &[&ADDITION];

/// The longest loop of a sample: some milliseconds.
const MOST_ITERATIONS: u64 = 1 << 16;

/// In theory: one cycle of the core, at its frequency at that moment.
static ADDITION: Entry = Entry::of(
    Primitive {
        id: "cpu.core.addition",
        summary: "Chain of dependent additions on each core",
        operation: "one link of a dependent chain: a single-cycle addition of two registers",
        source: "uops.info, ADD_R64_R64; Arm Software Optimization Guides, arithmetic, basic",
        facts: Facts {
            run_effect: facts::on_variables,
            actor: ActorRule::Median,
            orders_memory: false,
            ..Facts::of(Role::CoreSpeed)
        },
    },
    |_, _| Vec::new(),
    |_| {
        let chain: extern "C" fn(u64) -> u64 = chains::long_steps_of_additions;
        let workload = Workload::of_chain(Arc::new(Chain::default()), chain as usize, MOST_ITERATIONS);
        let workload = Workload { per_execution: LONG_STEP, ..workload };
        Some(workload.expecting(Expected::Uncounted("one loop, executed as often and twice as often")))
    },
)
.in_studies(&[Participation::plain(&EachCore)])
.beyond_quick()
.requiring(|| if chains::ARE_WRITTEN { Ok(()) } else { Err("no chain is written for this architecture".to_owned()) });

/// The sum of the last chain.
#[derive(Default)]
struct Chain(AtomicU64);

fn iterations(shot: &Shot) -> u64 {
    shot.iterations * (1 + shot.side.copies())
}

impl Body for Chain {
    fn prepare(&self, _: &Shot, _: usize) {}

    fn run(&self, shot: &Shot, _: usize) {
        self.0.store(chains::long_steps_of_additions(iterations(shot)), Ordering::Relaxed);
    }

    fn verify(&self, shot: &Shot, _: usize) -> Result<(), String> {
        let (expected, found) = (iterations(shot) * LONG_STEP, self.0.load(Ordering::Relaxed));
        if found == expected { Ok(()) } else { Err(format!("{expected} additions of one made {found}")) }
    }
}
