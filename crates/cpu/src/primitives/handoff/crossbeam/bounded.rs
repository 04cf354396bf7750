//! `cpu.handoff.crossbeam_bounded`: a message through a channel of crossbeam, by the channel's capacity.

use syncscope_core::{Case, Group, Primitive};

use crate::axes::Axes;
use crate::evidence::Expected;
use crate::primitives::entry::Entry;
use crate::primitives::handoff::channel::Channels;
use crate::primitives::handoff::{self, Handoff};
use crate::primitives::workload::Workload;

/// In theory: as `cpu.handoff.channel`, which has room for one message. Of a larger buffer a token uses one place after
/// the other, on several lines, but no sender ever waits for room: what more room costs where it is not needed.
pub(in crate::primitives::handoff) static ENTRY: Entry = Entry::of(
    Primitive {
        id: "cpu.handoff.crossbeam_bounded",
        summary: "Two threads send a number to each other through crossbeam's channels of the capacity in the column group",
        operation: handoff::OPERATION,
        source: "crossbeam-channel, bounded(1) and bounded(64)",
        facts: handoff::CHANNEL,
    },
    cases,
    |case| match case.group {
        Some(Group::Capacity(1)) => workload::<Channels<1>>(case),
        Some(Group::Capacity(64)) => workload::<Channels<64>>(case),
        _ => None,
    },
)
.beyond_quick();

fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    let of = |case: Case| [1, 64].map(|room| Case { group: Some(Group::Capacity(room)), ..case.clone() });
    handoff::cases(primitive, axes).into_iter().flat_map(of).collect()
}

fn workload<H: Handoff>(case: &Case) -> Option<Workload> {
    let expected = Expected::Uncounted("a channel is a library, not an instruction");
    handoff::workload::<H>(case, expected).map(Workload::long_blocking)
}
