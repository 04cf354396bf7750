//! Kernel launches as barriers.

use super::prelude::*;

/// The device's front end: two runs of one build on one H200 gave 1,454 and 1,554 ns for a cooperative launch.
const FACTS: Facts = Facts {
    at_once: OperationsAtOnce::One,
    run_effect: |_| RunEffect::of_both(0.05),
    ..Facts::of(Role::Launch).waiting(Waits::InHardware)
};

/// One more kernel in a graph has two costs. Runs of one build on one H200 gave 530 and 705 ns with one block, and 507 and
/// 671 ns with 132.
const IN_A_GRAPH: RunEffect = RunEffect::of_both(0.21);

/// The group of kernels that do nothing.
const EMPTY: &str = "empty";

/// The group of kernels that last so many microseconds.
const KERNEL_US: &str = "# us";

/// How long a kernel lasts, by its group. `None` for a group that is no length of a kernel.
pub(crate) fn kernel_ns(group: Option<&Group>) -> Option<u32> {
    let group = group?;
    // Longer kernels would make chains of seconds.
    let microseconds = group.number_of(KERNEL_US).filter(|microseconds| (1..=1000).contains(microseconds));
    if group.word() == EMPTY { Some(0) } else { microseconds.map(|microseconds| microseconds * 1000) }
}

/// In theory: empty kernels follow each other as fast as the slower of two: the host that launches them, and the front end
/// of the device that starts them. While longer kernels run, the host gets ahead; a launch then costs what the device needs
/// between the end of one grid and the start of the next.
const LAUNCH: Entry = Entry {
    operation: "one more kernel at the same work in all",
    definitions: |case| vec![format!("KIND={}", if is_empty(case) { "EMPTY" } else { "SPINNING" })],
    // Empty kernels must contain their end, longer ones the reading of the clock by which they last.
    expected: |case| ExpectedInstructions::of(if is_empty(case) { &["EXIT"] } else { &["CS2R", "S2UR", "CS2UR"] }),
    cases: |id, preset, limits| cases(id, preset, limits, &[5]),
    ..Entry::of(Kernel::of("launch.cu", ArgumentKind::LaunchChain), Proof::Trial, FACTS)
};

fn is_empty(case: &Case) -> bool {
    case.group.is_none() || case.in_group(EMPTY)
}

/// How long kernels last, from those that the host cannot launch in time to those during which it gets far ahead.
const LENGTHS_US: [u32; 7] = [1, 2, 5, 10, 20, 50, 100];

/// `lengths` are those of standard plans on one small block for each multiprocessor.
fn cases(id: &str, preset: Preset, limits: DeviceLimits, lengths: &[u32]) -> Vec<Case> {
    let all = limits.multiprocessors;
    let shapes: &[(u32, u32)] = match preset {
        Preset::Quick => &[(1, 32), (all, 32)],
        Preset::Standard => &[(1, 32), (all, 32), (all, 1024)],
        Preset::Paper => &[(1, 32), (all, 32), (all, 1024), (2 * all, 1024)],
    };
    let on = |&(blocks, threads): &(u32, u32)| {
        // One small block on each multiprocessor: the shape on which a launch is compared with a barrier of a grid.
        let lengths: &[u32] = match preset {
            Preset::Paper => &LENGTHS_US,
            Preset::Standard if (blocks, threads) == (all, 32) => lengths,
            Preset::Quick | Preset::Standard => &[5],
        };
        let mut groups = [vec![Group::named(EMPTY)], numbered(KERNEL_US, lengths)].concat();
        if preset == Preset::Quick {
            // The least that a launch costs, and what is compared with a barrier of a grid of this shape.
            groups.retain(|group| (group.word() == EMPTY) == (blocks == 1) || all == 1);
        }
        Sweep::of(id).blocks(&[blocks]).threads(&[threads.min(limits.max_threads)]).groups(&groups).cases()
    };
    // On small devices some shapes would occur twice.
    without_repetitions(shapes.iter().flat_map(on).collect())
}

/// A launch that depends on another one: in quick plans kernels of one length alone.
const DEPENDENT: Entry = Entry {
    cases: |id, preset, limits| {
        let mut cases = cases(id, preset, limits, &LENGTHS_US);
        cases.retain(|case| preset != Preset::Quick || case.group_number(KERNEL_US) == Some(5));
        cases
    },
    ..LAUNCH
};

/// A loop of a graph: its kernel calls a function of the driver, which decides whether it runs again. Empty kernels would be
/// bound by the same decision, so all kernels last.
const LOOPED: Entry = Entry {
    expected: |_| ExpectedInstructions { counts_in_memory: true, ..ExpectedInstructions::of(&["CALL.ABS"]) },
    cases: cases_of_loop,
    ..LAUNCH
};

/// One small block on each multiprocessor. Standard plans have the two lengths between which the cheaper one may change.
fn cases_of_loop(id: &str, preset: Preset, limits: DeviceLimits) -> Vec<Case> {
    let lengths: &[u32] = match preset {
        Preset::Quick => &[5],
        Preset::Standard => &[5, 100],
        Preset::Paper => &LENGTHS_US,
    };
    let sweep = Sweep::of(id).blocks(&[limits.multiprocessors]).threads(&[32.min(limits.max_threads)]);
    sweep.groups(&numbered(KERNEL_US, lengths)).cases()
}

entries! {
    "gpu.launch.stream" like LAUNCH: "Launch of one more kernel into a stream",
    source: "CUDA Driver API, cuLaunchKernel; Zhang et al., IPDPS 2020, implicit barriers",
    method: Method::Launch(Launching::Stream),
    cases: |id, preset, limits| cases(id, preset, limits, &LENGTHS_US);

    "gpu.launch.cooperative" like LAUNCH:
    "Launch of one more kernel whose blocks are guaranteed to run at the same time",
    source: "CUDA Driver API, cuLaunchCooperativeKernel; Zhang et al., IPDPS 2020, implicit barriers",
    facts: Facts { role: Role::CooperativeLaunch, ..FACTS },
    method: Method::Launch(Launching::Cooperative);

    /// In theory: one launch by the host starts all kernels, so they follow each other as fast as the device can start them.
    "gpu.launch.graph" like LAUNCH: "One more kernel in a chain that is replayed as a graph",
    source: "CUDA Driver API, cuGraphLaunch",
    facts: Facts { run_effect: |_| IN_A_GRAPH, ..FACTS },
    method: Method::Launch(Launching::Graph),
    cases: |id, preset, limits| cases(id, preset, limits, &LENGTHS_US);

    /// In theory: the way to the device and back, and the call that waits. Nothing overlaps.
    "gpu.launch.stream_sync" like LAUNCH: "Launch of one more kernel and a wait for its stream",
    operation: "one more kernel and one more wait at the same work in all",
    source: "CUDA Driver API, cuStreamSynchronize; Zhang et al., IPDPS 2020, barriers on the CPU's side",
    facts: Facts { role: Role::LaunchAndWait, ..FACTS },
    method: Method::Launch(Launching::StreamSync);

    "gpu.launch.event_sync" like LAUNCH: "Launch of one more kernel, an event behind it and a wait for the event",
    operation: "one more kernel, event and wait at the same work in all",
    source: "CUDA Driver API, cuEventSynchronize",
    facts: Facts { role: Role::LaunchAndWait, ..FACTS },
    method: Method::Launch(Launching::EventSync);

    /// In theory: the next grid is on the device when the one before ends, so what remains is the way of its end to the waiting
    /// blocks. The kernels let the next one start at once and wait before they do anything.
    "gpu.launch.programmatic" like DEPENDENT:
    "Launch of one more kernel that may start early and waits on the device for the end of the one before",
    source: "CUDA C++ Programming Guide, Programmatic Dependent Launch; PTX ISA, griddepcontrol",
    method: Method::Launch(Launching::Programmatic),
    definitions: |case| [(LAUNCH.definitions)(case), vec!["PROGRAMMATIC=1".to_owned()]].concat(),
    // The wait for the kernel before.
    expected: |_| ExpectedInstructions::of(&["ACQBULK"]),
    needs: (9, 0);

    /// In theory: the front end of the device writes a word behind one kernel and reads it before the next one, in another
    /// queue: two ways to memory more than a launch, and whatever it costs to look at a queue again.
    "gpu.launch.wait_value" like DEPENDENT:
    "Launch of one more kernel in the other of two streams, behind a value that the first writes to memory",
    operation: "one more kernel, written value and wait for it at the same work in all",
    source: "CUDA Driver API, cuStreamWriteValue32 and cuStreamWaitValue32",
    method: Method::Launch(Launching::WaitValue);

    /// In theory: as with a value in memory; the driver chooses what an event is.
    "gpu.launch.event_wait" like DEPENDENT:
    "Launch of one more kernel in the other of two streams, behind an event of the first",
    operation: "one more kernel, recorded event and wait for it at the same work in all",
    source: "CUDA Driver API, cuEventRecord and cuStreamWaitEvent",
    method: Method::Launch(Launching::EventWait);

    /// In theory: the body of the loop is launched by the device, so a turn costs what a graph's node costs and the decision.
    "gpu.launch.conditional" like LOOPED:
    "One more turn of a loop in a graph (conditional node), whose kernel decides whether there is another",
    operation: "one more kernel and decision at the same work in all",
    source: "CUDA Driver API, cuGraphConditionalHandleCreate; CUDA Runtime API, cudaGraphSetConditional",
    method: Method::Launch(Launching::Conditional),
    definitions: |_| ["KIND=SPINNING", "LOOP=CONDITIONAL"].map(str::to_owned).to_vec();

    /// In theory: as with a node of a graph, and what the device needs to launch a graph. It launches itself when it has ended
    /// (tail launch).
    "gpu.launch.device_graph" like LOOPED: "Launch of a graph by its kernel on the device, after the graph has ended",
    operation: "one more kernel in a graph that the kernel before launches, at the same work in all",
    source: "CUDA C++ Programming Guide, Device Graph Launch; PTX ISA, %current_graph_exec",
    method: Method::Launch(Launching::DeviceGraph),
    definitions: |_| ["KIND=SPINNING", "LOOP=SELF_LAUNCHING"].map(str::to_owned).to_vec();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_say_how_long_a_kernel_lasts() {
        let of = |word: &str| kernel_ns(Some(&Group::of_word(word)));
        assert_eq!(["empty", "5 us", "20 us"].map(of), [Some(0), Some(5000), Some(20_000)]);
        assert_eq!(["", "5", "0 us", "x us", "9999999 us", "tile 4"].map(of), [None; 6]);
        let planned =
            cases("gpu.launch.stream", Preset::Paper, DeviceLimits { multiprocessors: 132, max_threads: 1024 }, &[5]);
        assert!(planned.iter().all(|case| kernel_ns(case.group.as_ref()).is_some()));
    }

    #[test]
    fn a_device_of_one_multiprocessor_has_no_shape_twice() {
        let of = |multiprocessors, max_threads| {
            cases("gpu.launch.graph", Preset::Standard, DeviceLimits { multiprocessors, max_threads }, &LENGTHS_US)
                .len()
        };
        // The shape of one small block on each multiprocessor has all lengths.
        assert_eq!([of(132, 1024), of(1, 1024), of(1, 32)], [8 + 2 * 2, 8 + 2, 8]);
    }
}
