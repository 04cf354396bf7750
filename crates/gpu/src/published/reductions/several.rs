//! Reductions on several devices: each reduces its part of the vector, then all join their results.
//!
//! How they do that is in [`super::joining`]. With the host, the host waits for all devices, joins their results and begins
//! the next reduction. Results are in host memory that every device can access.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use syncscope_core::published::reductions::sampling::{Sampling, paired_times};
use syncscope_core::published::reductions::variants::of_class;
use syncscope_core::published::reductions::{Class, Operation, ReductionRow, Variant};
use syncscope_host::scheduling::AffinityGuard;

use super::joining::{ALONE, Joining, Round, programs};
use super::member::{MOST_MEMBERS, Member};
use super::plan::ReductionPlan;
use super::programs::THREADS;
use super::session::{LIMIT, MOST_RESULTS, RESULT_BYTES, missing};
use super::survived;
use super::vector::{self, PLANTED};
use crate::GpuLaboratory;
use crate::cuda::driver::{Device, DevicePointer, ExecutableGraph, HostBuffer};
use crate::cuda::error::CudaError;
use crate::launch::host_clock;
use crate::launch::outage::Outage;

impl GpuLaboratory {
    /// Measures reductions on 2, 4 and 8 of the opened devices, or on all of them. With one device the rows say what is missing.
    pub(super) fn reductions_of_several(
        &mut self,
        plan: &ReductionPlan,
        progress: &mut dyn FnMut(&str, u64),
    ) -> Vec<ReductionRow> {
        let there = self.machines.len();
        let mut counts: Vec<usize> = [2, 4, 8].into_iter().filter(|count| *count <= there).collect();
        if counts.is_empty() {
            let reason = "needs at least two GPUs that can access each other's memory";
            return refused(plan, None, reason);
        }
        if there < MOST_MEMBERS && !counts.contains(&there) {
            counts.push(there);
        }
        let variants = of_class(Class::Devices).count();
        let cells = counts.len() * plan.sizes.len() * variants * plan.operations.len();
        let each = plan.time / 2 / u32::try_from(cells.max(1)).unwrap_or(u32::MAX);
        let measured = |count| self.on_devices(count, each, plan, progress);
        counts.into_iter().flat_map(measured).collect()
    }

    fn on_devices(
        &mut self,
        count: usize,
        each: Duration,
        plan: &ReductionPlan,
        progress: &mut dyn FnMut(&str, u64),
    ) -> Vec<ReductionRow> {
        match self.measured_on_devices(count, each, plan, progress) {
            Ok(rows) => rows,
            Err(reason) => refused(plan, Some(count), &reason),
        }
    }

    fn measured_on_devices(
        &mut self,
        count: usize,
        each: Duration,
        plan: &ReductionPlan,
        progress: &mut dyn FnMut(&str, u64),
    ) -> Result<Vec<ReductionRow>, String> {
        let largest = plan.sizes.iter().copied().max().unwrap_or(1);
        let mut group = Group::open(self, count, largest)?;
        let mut rows = Vec::new();
        for operation in &plan.operations {
            let cubins = programs(*operation).map(|program| self.compiler.cubin(&program));
            let [alone, together] = cubins.map(|cubin| cubin.map_err(|error| error.to_string()));
            group.load(&alone?, &together?).map_err(|error| error.to_string())?;
            for elements in &plan.sizes {
                group.prepare(*operation, *elements).map_err(|error| error.to_string())?;
                for variant in of_class(Class::Devices) {
                    progress(variant.id, *elements);
                    let row = survived(group.cell(variant, *operation, *elements, (each, plan.seed)));
                    let refused = |reason| ReductionRow {
                        devices: Some(count as u32),
                        check: Some(false),
                        ..ReductionRow::unmeasured(variant, *operation, *elements, reason)
                    };
                    rows.push(row.map_err(|error| error.to_string())?.unwrap_or_else(refused));
                }
            }
        }
        Ok(rows)
    }

    /// The first `count` devices.
    fn member_devices(&self, count: usize) -> Result<Vec<Device>, CudaError> {
        self.machines.iter().take(count).map(|machine| self.driver.device(machine.index)).collect()
    }
}

fn refused(plan: &ReductionPlan, count: Option<usize>, reason: &str) -> Vec<ReductionRow> {
    let cell = |operation: &Operation, elements: &u64| {
        let (operation, elements) = (*operation, *elements);
        of_class(Class::Devices).map(move |variant| ReductionRow {
            devices: count.map(|count| count as u32),
            ..ReductionRow::unmeasured(variant, operation, elements, reason.to_owned())
        })
    };
    plan.operations.iter().flat_map(|operation| plan.sizes.iter().flat_map(move |size| cell(operation, size))).collect()
}

/// Devices that reduce together.
#[derive(Debug)]
struct Group {
    /// A line for each result of each device; declared first, because it is freed in the context of the first device.
    results: Option<HostBuffer<u64>>,
    /// Where the devices see them.
    results_at: DevicePointer,
    /// By number of reductions, of the part that is reduced now.
    graphs: HashMap<u64, ExecutableGraph>,
    members: Vec<Member>,
    /// Of the first device.
    multiprocessors: u32,
    cpu: Option<u32>,
    /// Reductions with flags so far.
    epoch: u32,
}

/// Reductions of the longest chain, whose results all have a line.
const LONGEST: usize = MOST_RESULTS / 2;

impl Group {
    fn open(laboratory: &GpuLaboratory, count: usize, elements: u64) -> Result<Self, String> {
        let text = |error: CudaError| error.to_string();
        let devices = laboratory.member_devices(count).map_err(text)?;
        for (index, one) in devices.iter().enumerate() {
            for other in &devices[index + 1..] {
                if !(one.can_reach(*other).map_err(text)? && other.can_reach(*one).map_err(text)?) {
                    return Err("the GPUs have no peer access to each other's memory".to_owned());
                }
            }
        }
        let part = elements.div_ceil(count as u64).next_multiple_of(4);
        let member = |device: &Device| Member::new(*device, part).map_err(text);
        let members = devices.iter().map(member).collect::<Result<Vec<_>, _>>()?;
        for (index, one) in members.iter().enumerate() {
            for other in members.iter().skip(index + 1) {
                let (here, there) = (one.device.context().map_err(text)?, other.device.context().map_err(text)?);
                here.reach(there).and_then(|()| there.reach(here)).map_err(text)?;
            }
        }
        let first = members.first().ok_or("there is no device")?.device.context().map_err(text)?;
        first.make_current().map_err(text)?;
        let words = count * LONGEST * RESULT_BYTES / size_of::<u64>();
        let results = HostBuffer::for_all(first, words).map_err(text)?;
        let (results_at, results) = (results.device_pointer().map_err(text)?, Some(results));
        let (multiprocessors, cpu) = (laboratory.limits().multiprocessors, laboratory.launching_cpu());
        Ok(Self { results, results_at, graphs: HashMap::new(), members, multiprocessors, cpu, epoch: 0 })
    }

    fn load(&mut self, alone: &Arc<[u8]>, together: &Arc<[u8]>) -> Result<(), Outage> {
        for member in &mut self.members {
            member.load(alone, together)?;
            member.fill()?;
        }
        self.wait()
    }

    /// Divides the first `elements` of a vector among the devices, and plants the largest element at the end of the last
    /// part.
    fn prepare(&mut self, operation: Operation, elements: u64) -> Result<(), Outage> {
        // They hold the kernels and the sizes of before.
        self.graphs.clear();
        let count = self.members.len() as u64;
        for (index, member) in (0..).zip(&mut self.members) {
            let at = |index: u64| elements * index / count;
            let part = at(index + 1) - at(index);
            member.plant(operation, part, index + 1 == count)?;
        }
        self.wait()
    }

    /// The answer for the parts of all devices. A sum is that of each part, which begins anew on each device.
    fn answer(&self, operation: Operation) -> u32 {
        match operation {
            Operation::Max => PLANTED,
            Operation::Sum => {
                let parts = self.members.iter().map(|member| vector::answer(operation, member.elements));
                parts.fold(0, u32::wrapping_add)
            }
        }
    }

    fn blocks(&self) -> u32 {
        let largest = self.members.iter().map(|member| member.elements).max().unwrap_or(1);
        ALONE.blocks(largest, self.multiprocessors, 1, 0)
    }

    fn cell(
        &mut self,
        variant: &Variant,
        operation: Operation,
        elements: u64,
        (time, seed): (Duration, u64),
    ) -> Result<ReductionRow, Outage> {
        let Some(joining) = Joining::of(variant) else { return Err(missing("the variant").into()) };
        let _here = self.cpu.map(AffinityGuard::bind_to);
        let (answer, mut wrong) = (self.answer(operation), 0);
        let sampling = Sampling { time, longest: LONGEST as u64, seed };
        let times = paired_times(sampling, |count| {
            let (ns, wrong_here) = self.sample(joining, operation, count, answer)?;
            wrong += wrong_here;
            Ok::<f64, Outage>(ns)
        })?;
        let row = ReductionRow::unmeasured(variant, operation, elements, String::new());
        let reason = (wrong > 0).then(|| format!("{wrong} results were wrong"));
        let row = row.with_times(&times.ns, times.chain);
        let (devices, blocks, threads) = (Some(self.members.len() as u32), Some(self.blocks()), Some(THREADS));
        Ok(ReductionRow { devices, blocks, threads, check: Some(wrong == 0), reason, ..row })
    }

    /// Runs a chain. Returns its time in nanoseconds and how many results are wrong.
    fn sample(
        &mut self,
        joining: Joining,
        operation: Operation,
        count: u64,
        answer: u32,
    ) -> Result<(f64, u64), Outage> {
        if joining == Joining::Graph {
            self.capture(count)?;
            self.wait()?;
        }
        let started = host_clock::now_ns();
        let mut wrong = 0;
        if joining == Joining::Graph {
            self.replay(count)?;
        } else {
            for number in 0..count {
                self.epoch += u32::from(joining == Joining::Flags);
                self.round(number).queue(joining)?;
                if joining == Joining::Host {
                    self.wait()?;
                    let parts = (0..self.members.len()).map(|index| self.result(index, number));
                    let joined = parts.fold(None, |joined, part| Some(join(operation, joined, part)));
                    wrong += u64::from(joined != Some(answer));
                }
            }
        }
        self.wait()?;
        let elapsed = host_clock::now_ns().saturating_sub(started);
        let results = (0..joining.knowing(self.members.len())).flat_map(|index| (0..count).map(move |at| (index, at)));
        wrong += results.filter(|(index, number)| self.result(*index, *number) != answer).count() as u64;
        self.clear();
        Ok((elapsed as f64, wrong))
    }

    /// One reduction of a chain.
    fn round(&self, number: u64) -> Round<'_> {
        let (blocks, results_at, lines, epoch) = (self.blocks(), self.results_at, LONGEST, self.epoch);
        Round { members: &self.members, blocks, results_at, lines, number, epoch }
    }

    /// Makes the graph of so many reductions over all devices, unless it exists.
    fn capture(&mut self, count: u64) -> Result<(), CudaError> {
        if self.graphs.contains_key(&count) {
            return Ok(());
        }
        let first = &self.members.first().ok_or_else(|| missing("the devices"))?.device;
        first.context()?.make_current()?;
        let stream = first.stream()?;
        // The streams of the other devices take part from the moment on when they wait for an event of this one.
        let graph = stream.capture(|_| (0..count).try_for_each(|number| self.round(number).queue(Joining::Graph)))?;
        first.context()?.make_current()?;
        stream.upload(&graph)?;
        self.graphs.insert(count, graph);
        Ok(())
    }

    fn replay(&self, count: u64) -> Result<(), CudaError> {
        let first = &self.members.first().ok_or_else(|| missing("the devices"))?.device;
        first.context()?.make_current()?;
        let graph = self.graphs.get(&count).ok_or_else(|| missing("the graph"))?;
        first.stream()?.replay(graph)
    }

    fn result(&self, member: usize, number: u64) -> u32 {
        let word = (member * LONGEST + number as usize % LONGEST) * RESULT_BYTES / size_of::<u64>();
        self.results.as_ref().and_then(|results| results.values().get(word).copied()).unwrap_or(0) as u32
    }

    /// Sets all results to 0, so that none is taken for one of a later chain.
    fn clear(&mut self) {
        let Some(results) = self.results.as_mut() else { return };
        for line in 0..self.members.len() * LONGEST {
            results.write_volatile(line * RESULT_BYTES / size_of::<u64>(), 0);
        }
    }

    /// Waits for all devices, together no longer than one may take.
    fn wait(&mut self) -> Result<(), Outage> {
        let started = Instant::now();
        self.members.iter_mut().try_for_each(|member| {
            member.device.context()?.make_current()?;
            member.device.wait(LIMIT.saturating_sub(started.elapsed()))
        })
    }
}

fn join(operation: Operation, joined: Option<u32>, part: u32) -> u32 {
    match (operation, joined) {
        (_, None) => part,
        (Operation::Max, Some(joined)) => joined.cast_signed().max(part.cast_signed()).cast_unsigned(),
        (Operation::Sum, Some(joined)) => joined.wrapping_add(part),
    }
}

impl Drop for Group {
    /// What a kernel may still use is leaked.
    fn drop(&mut self) {
        if self.members.iter().any(|member| member.device.is_occupied()) {
            std::mem::forget(self.results.take());
            std::mem::forget(std::mem::take(&mut self.graphs));
            std::mem::forget(std::mem::take(&mut self.members));
            return;
        }
        for member in &self.members {
            // Its buffers are freed in its context: see below.
            let _ = member.device.context().and_then(crate::cuda::driver::Context::make_current);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_joined_as_signed_numbers_and_modulo() {
        let joined =
            |operation, parts: &[u32]| parts.iter().fold(None, |joined, part| Some(join(operation, joined, *part)));
        assert_eq!(joined(Operation::Max, &[5, u32::MAX, 7]), Some(7), "the second is -1");
        assert_eq!(joined(Operation::Sum, &[u32::MAX, 3]), Some(2));
        assert_eq!(joined(Operation::Sum, &[]), None);
    }

    #[test]
    fn with_one_device_every_cell_says_what_is_missing() {
        let plan = ReductionPlan {
            sizes: vec![1024, 4096],
            operations: vec![Operation::Max, Operation::Sum],
            time: Duration::ZERO,
            seed: 0,
        };
        let rows = refused(&plan, None, "needs at least two GPUs");
        assert_eq!(rows.len(), 2 * 2 * of_class(Class::Devices).count());
        assert!(rows.iter().all(|row| row.check.is_none() && row.ns.is_none() && row.reason.is_some()));
    }
}
