//! What is queued for one reduction on several devices, by how they join their results.
//!
//! With flags, the last block of each device writes its result to all devices and waits for theirs. With the host, nothing
//! more is queued. With events, or in a graph, the end of a kernel is the barrier of all devices: a second kernel of the
//! first device waits for the ends of all first ones, and those of the next reduction wait for it.

use syncscope_core::published::reductions::{Operation, Variant};

use super::arguments::ReductionArguments;
use super::member::{Kernels, MOST_MEMBERS, Member};
use super::programs::{Grid, Launching, Recipe, THREADS};
use super::session::{RESULT_BYTES, missing};
use crate::cuda::compile::Program;
use crate::cuda::driver::{DevicePointer, KernelArguments, Stream};
use crate::cuda::error::CudaError;

/// `SeveralArguments` in `kernels/published_reductions.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct SeveralArguments {
    common: ReductionArguments,
    words: [DevicePointer; MOST_MEMBERS],
    device: u32,
    devices: u32,
    epoch: u32,
    reserved: u32,
}

// SAFETY: it holds numbers and device addresses.
unsafe impl KernelArguments for SeveralArguments {}

const _: () = assert!(size_of::<SeveralArguments>() == 144);

/// The kernels: those of one device, and those that wait for each other.
pub(super) const ALONE: Recipe = recipe(&["VARIANT=LAST_BLOCK"]);
const TOGETHER: Recipe = recipe(&["VARIANT=LAST_BLOCK", "SEVERAL"]);

const fn recipe(definitions: &'static [&'static str]) -> Recipe {
    Recipe {
        id: "devices",
        definitions,
        launching: Launching::Stream,
        grid: Grid::Shared,
        has_second: false,
        needs: (7, 5),
    }
}

/// The programs of reductions on several devices.
pub(super) fn programs(operation: Operation) -> [Program; 2] {
    [ALONE.program(operation), TOGETHER.program(operation)]
}

/// How the devices join their results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joining {
    Flags,
    Host,
    /// By kernels in streams, which wait for events.
    Events,
    /// The same kernels, those of a whole chain in one graph.
    Graph,
}

impl Joining {
    pub(super) fn of(variant: &Variant) -> Option<Self> {
        match variant.id {
            "devices.flags" => Some(Self::Flags),
            "devices.host" => Some(Self::Host),
            "devices.events" => Some(Self::Events),
            "devices.graph_chain" => Some(Self::Graph),
            _ => None,
        }
    }

    /// Devices that have the result of all.
    pub(super) const fn knowing(self, devices: usize) -> usize {
        match self {
            Self::Flags => devices,
            Self::Events | Self::Graph => 1,
            // The host has it.
            Self::Host => 0,
        }
    }
}

/// One reduction of a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round<'a> {
    pub(super) members: &'a [Member],
    /// Blocks of the kernel of each device.
    pub(super) blocks: u32,
    /// Lines for results: so many of the first device, then so many of the next one.
    pub(super) results_at: DevicePointer,
    pub(super) lines: usize,
    /// Its number in the chain.
    pub(super) number: u64,
    /// Reductions with flags so far, with this one.
    pub(super) epoch: u32,
}

impl Round<'_> {
    /// Queues it on every device.
    pub(super) fn queue(&self, joining: Joining) -> Result<(), CudaError> {
        match joining {
            Joining::Flags => self.queue_with_flags(),
            Joining::Host => self.on_each(|index| self.line(index)),
            Joining::Events | Joining::Graph => self.queue_by_kernels(),
        }
    }

    /// Where the result of a device goes.
    fn line(&self, index: usize) -> DevicePointer {
        let line = index * self.lines + self.number as usize % self.lines;
        self.results_at + (line * RESULT_BYTES) as DevicePointer
    }

    /// Launches the kernel of one device on each. `result` says where its result goes.
    fn on_each(&self, result: impl Fn(usize) -> DevicePointer) -> Result<(), CudaError> {
        for (index, member) in self.members.iter().enumerate() {
            let arguments = ReductionArguments { result: result(index), ..member.arguments() };
            stream_of(member)?.launch(kernels(member)?.alone, self.blocks, THREADS, &arguments)?;
        }
        Ok(())
    }

    fn queue_with_flags(&self) -> Result<(), CudaError> {
        let mut words = [0; MOST_MEMBERS];
        for (word, member) in words.iter_mut().zip(self.members) {
            *word = member.words.pointer();
        }
        for (index, member) in self.members.iter().enumerate() {
            let common = ReductionArguments { result: self.line(index), ..member.arguments() };
            let (device, devices) = (index as u32, self.members.len() as u32);
            let arguments = SeveralArguments { common, words, device, devices, epoch: self.epoch, reserved: 0 };
            stream_of(member)?.launch(kernels(member)?.together, self.blocks, THREADS, &arguments)?;
        }
        Ok(())
    }

    /// The first device begins: its event says that the reduction before is done. The events of the others say that
    /// their part is.
    fn queue_by_kernels(&self) -> Result<(), CudaError> {
        let (first, others) = self.members.split_first().ok_or_else(|| missing("the devices"))?;
        let parts = first.parts();
        stream_of(first)?.record(&first.event)?;
        for other in others {
            stream_of(other)?.wait_for(&first.event)?;
        }
        self.on_each(|index| parts + (index * size_of::<u32>()) as DevicePointer)?;
        for other in others {
            stream_of(other)?.record(&other.event)?;
        }
        let stream = stream_of(first)?;
        for other in others {
            stream.wait_for(&other.event)?;
        }
        let count = self.members.len() as u32;
        let arguments = ReductionArguments { partials: parts, result: self.line(0), count, ..first.arguments() };
        stream.launch(kernels(first)?.combine, 1, THREADS, &arguments)
    }
}

/// Its stream. Its context is current afterwards.
fn stream_of(member: &Member) -> Result<&Stream, CudaError> {
    member.device.context()?.make_current()?;
    member.device.stream()
}

fn kernels(member: &Member) -> Result<Kernels, CudaError> {
    member.kernels.ok_or_else(|| missing("the kernels"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::published::reductions::Class;
    use syncscope_core::published::reductions::variants::of_class;

    #[test]
    fn every_variant_of_several_devices_is_queued_in_its_own_way() {
        let found: Vec<Joining> = of_class(Class::Devices).filter_map(Joining::of).collect();
        assert_eq!(found, [Joining::Flags, Joining::Host, Joining::Events, Joining::Graph]);
        assert_eq!(found.len(), of_class(Class::Devices).count());
        assert_eq!(found.iter().map(|joining| joining.knowing(4)).collect::<Vec<_>>(), [4, 0, 1, 1]);
    }

    #[test]
    fn results_of_devices_have_lines_of_their_own() {
        let round = |number| Round { members: &[], blocks: 1, results_at: 1 << 20, lines: 240, number, epoch: 0 };
        let (first, second) = (round(0).line(0), round(239).line(0));
        assert_eq!((first, second - first), (1 << 20, 239 * RESULT_BYTES as DevicePointer));
        assert_eq!(round(0).line(1) - second, RESULT_BYTES as DevicePointer);
        assert_eq!(round(240).line(0), first);
    }
}
