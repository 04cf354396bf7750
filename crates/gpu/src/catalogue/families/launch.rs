//! Kernel launches as barriers.

use super::prelude::*;

/// Runs differ by the device's front end: two runs of one build on one H200 gave 1,454 and 1,554 ns for a cooperative launch.
const FACTS: Facts = Facts {
    at_once: OperationsAtOnce::One,
    run_effect: |_| RunEffect::of_both(0.05),
    ..Facts::of(Role::Launch).waiting(Waits::InHardware)
};

/// One more kernel in a graph has two possible costs: runs of one build on one H200 gave 530 and 705 ns with one block, and 507
/// and 671 ns with 132.
const IN_A_GRAPH: RunEffect = RunEffect::of_both(0.21);

/// The group of kernels that do nothing.
const EMPTY: &str = "empty";

/// The groups of kernels that last this many microseconds, by what they read and write meanwhile.
const KERNEL_US: &str = "# us";
const LINE_US: &str = "# us line";
const SWEEP_US: &str = "# us sweep";

/// What a kernel reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// Nothing.
    Nothing,
    /// A line that another block wrote in the previous kernel, and a line of its own.
    Line,
    /// As many such lines as fit into its time, in arrays that stay in the L2 cache.
    Sweep,
}

/// What a kernel does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Work {
    /// How long it lasts.
    pub(crate) ns: u32,
    pub(crate) traffic: Traffic,
}

impl Work {
    /// The work that a group stands for; `None` if it stands for none.
    pub(crate) fn of(group: Option<&Group>) -> Option<Self> {
        let group = group?;
        let traffic = match group.word() {
            EMPTY => return Some(Self { ns: 0, traffic: Traffic::Nothing }),
            KERNEL_US => Traffic::Nothing,
            LINE_US => Traffic::Line,
            SWEEP_US => Traffic::Sweep,
            _ => return None,
        };
        // Longer kernels would make chains of seconds.
        let microseconds = group.number().filter(|microseconds| (1..=1000).contains(microseconds))?;
        Some(Self { ns: microseconds * 1000, traffic })
    }

    fn has_traffic(case: &Case) -> bool {
        Self::of(case.group.as_ref()).is_some_and(|work| work.traffic != Traffic::Nothing)
    }
}

/// The macros of the kernels of a case.
fn kind(case: &Case) -> String {
    let kind = match Work::of(case.group.as_ref()) {
        None | Some(Work { ns: 0, .. }) => "EMPTY",
        Some(Work { traffic: Traffic::Nothing, .. }) => "SPINNING",
        Some(Work { traffic: Traffic::Line, .. }) => "LINE",
        Some(Work { traffic: Traffic::Sweep, .. }) => "SWEEP",
    };
    format!("KIND={kind}")
}

/// In theory: empty kernels follow each other as fast as the slower of the host, which launches them, and the device's front
/// end, which starts them. While longer kernels run, the host gets ahead; a launch then costs what the device needs between the
/// end of one grid and the start of the next.
const LAUNCH: Entry = Entry {
    operation: "one additional kernel launch; the total work stays the same",
    definitions: |case| vec![kind(case)],
    // Empty kernels must contain their end, sweeping kernels their stores, others the clock read that ends them.
    expected: |case| {
        expected(
            case,
            match Work::of(case.group.as_ref()) {
                None | Some(Work { ns: 0, .. }) => &["EXIT"],
                Some(Work { traffic: Traffic::Sweep, .. }) => &["STG", "ST"],
                Some(_) => &["CS2R", "S2UR", "CS2UR"],
            },
        )
    },
    plan: IDLE,
    ..Entry::of(Kernel::of("launch.cu", ArgumentKind::LaunchChain), Proof::Trial, FACTS)
};

/// Expects these instructions, and memory accesses if the work of the kernels has traffic.
fn expected(case: &Case, instructions: &'static [&'static str]) -> ExpectedInstructions {
    ExpectedInstructions { uses_memory: Work::has_traffic(case), ..ExpectedInstructions::of(instructions) }
}

/// How long kernels last: from too short for the host to keep up to long enough for it to get far ahead.
const LENGTHS_US: &[u32] = &[1, 2, 5, 10, 20, 50, 100];

/// In one microsecond a thread reads and writes hardly more than once.
const SWEPT_US: &[u32] = &[2, 5, 10, 20, 50];

/// One small block on each multiprocessor: the shape on which launches are compared with grid barriers.
const COMPARED: Grids = Grids::Shapes(&[(Blocks::Each(1), 32)]);
const FULL: Grids = Grids::Shapes(&[(Blocks::Each(1), 1024)]);
const WIDE: Grids = Grids::Shapes(&[(Blocks::Each(1), 1024), (Blocks::Each(2), 1024)]);
const SOME: Grids = Grids::Shapes(&[(Blocks::Of(1), 32), (Blocks::Each(1), 32), (Blocks::Each(1), 1024)]);
const ALL: Grids =
    Grids::Shapes(&[(Blocks::Of(1), 32), (Blocks::Each(1), 32), (Blocks::Each(1), 1024), (Blocks::Each(2), 1024)]);

/// A single block has no other block whose line it could read.
fn is_alone(case: &Case, _: DeviceLimits) -> bool {
    case.blocks == Some(1) && Work::has_traffic(case)
}

const fn row(presets: &'static [Preset], grids: Grids, works: &'static [(&'static str, &'static [u32])]) -> PlanRow {
    on(presets, grids).groups(works).except(is_alone)
}

/// For launches that separate no two kernels of a program, or whose host waits: no traffic.
const IDLE: &[PlanRow] = &[
    row(QUICK, COMPARED, &[(KERNEL_US, &[5])]),
    row(STANDARD, SOME, &[(EMPTY, &[]), (KERNEL_US, &[5])]),
    row(PAPER, ALL, &[(EMPTY, &[]), (KERNEL_US, LENGTHS_US)]),
];

/// Every length of kernels without traffic, and some with traffic. Quick plans have the host's launch rate in one row.
const LENGTHS: &[PlanRow] = &[
    row(QUICK, Grids::Shapes(&[(Blocks::Of(1), 32)]), &[(EMPTY, &[])]).only(&["stream"]),
    row(QUICK, COMPARED, &[(KERNEL_US, &[5])]),
    row(QUICK, COMPARED, &[(SWEEP_US, &[5])]).only(&["stream", "graph", "programmatic"]),
    row(STANDARD, SOME, &[(EMPTY, &[]), (KERNEL_US, &[5])]),
    row(STANDARD, COMPARED, &[(KERNEL_US, LENGTHS_US), (SWEEP_US, &[5, 20]), (LINE_US, &[5])]),
    row(STANDARD, FULL, &[(SWEEP_US, &[5])]),
    WHOLE[0],
    WHOLE[1],
    WHOLE[2],
];

/// The cheapest forms of a programmatic launch, which represent all forms in quick plans.
const IN_QUICK: &[&str] = &["programmatic_wait", "programmatic_graph_wait", "grid_sync"];

/// One length of kernels without traffic, and some with traffic.
const FORMS: &[PlanRow] = &[
    row(QUICK, COMPARED, &[(SWEEP_US, &[5])]).only(IN_QUICK),
    // A single block has no traffic.
    on(QUICK, COMPARED).groups(&[(KERNEL_US, &[5])]).only(IN_QUICK).except(|_, limits| limits.multiprocessors > 1),
    row(STANDARD, COMPARED, &[(KERNEL_US, &[5]), (SWEEP_US, &[5, 20]), (LINE_US, &[5])]),
    row(STANDARD, FULL, &[(KERNEL_US, &[5]), (SWEEP_US, &[5])]),
    WHOLE[0],
    WHOLE[1],
    WHOLE[2],
];

/// The paper plans of `LENGTHS` and `FORMS`.
const WHOLE: [PlanRow; 3] = [
    row(PAPER, ALL, &[(EMPTY, &[]), (KERNEL_US, LENGTHS_US)]),
    row(PAPER, COMPARED, &[(SWEEP_US, SWEPT_US), (LINE_US, &[5])]),
    row(PAPER, WIDE, &[(SWEEP_US, &[5])]),
];

/// How the host waits for a kernel, by the kernel's length; for sleeping waits, the details have the CPU time left to others.
const HOST_WAIT: Entry = Entry {
    operation: "one additional kernel launch and the wait for it; the total work stays the same",
    source: "CUDA Driver API, cuStreamSynchronize and CU_CTX_SCHED_SPIN, YIELD, BLOCKING_SYNC",
    facts: Facts { role: Role::LaunchAndWait, ..FACTS },
    plan: &[row(STANDARD, COMPARED, &[(KERNEL_US, &[5, 50])]), row(PAPER, COMPARED, &[(KERNEL_US, &[5, 50, 500])])],
    ..LAUNCH
};

/// A launch that depends on another one.
const DEPENDENT: Entry = Entry { plan: LENGTHS, ..LAUNCH };

/// A launch with the attribute that lets the kernel start before the previous one has ended.
const PROGRAMMATIC: Entry = Entry {
    operation: "one additional kernel launch; the total work stays the same, and the cost includes delays to other work",
    source: "CUDA C++ Programming Guide, Programmatic Dependent Launch; PTX ISA, griddepcontrol",
    method: Method::Launch(Launching::Programmatic),
    // The wait for the previous kernel.
    expected: |case| expected(case, &["ACQBULK"]),
    needs: (9, 0),
    plan: FORMS,
    ..LAUNCH
};

/// The macros of a kernel that waits for the previous one and lets the next one start at `trigger`.
fn waiting(case: &Case, trigger: &str) -> Vec<String> {
    vec![kind(case), "WAITS=1".to_owned(), format!("TRIGGER={trigger}")]
}

/// A loop in a graph: its kernel calls a driver function that decides whether to run again. The same decision would bound empty
/// kernels, so all kernels last.
const LOOPED: Entry = Entry {
    expected: |_| ExpectedInstructions { uses_memory: true, ..ExpectedInstructions::of(&["CALL.ABS"]) },
    // Standard plans have the two lengths between which the cheaper one may change.
    plan: &[
        row(QUICK, COMPARED, &[(KERNEL_US, &[5])]),
        row(STANDARD, COMPARED, &[(KERNEL_US, &[5, 100])]),
        row(PAPER, COMPARED, &[(KERNEL_US, LENGTHS_US)]),
    ],
    ..LAUNCH
};

entries! {
    "gpu.launch.stream" like LAUNCH: "Launch of an additional kernel into a stream",
    source: "CUDA Driver API, cuLaunchKernel; Zhang et al., IPDPS 2020, implicit barriers",
    method: Method::Launch(Launching::Stream),
    plan: LENGTHS;

    "gpu.launch.cooperative" like LAUNCH:
    "Cooperative launch of an additional kernel, whose blocks are guaranteed to be co-resident",
    source: "CUDA Driver API, cuLaunchCooperativeKernel; Zhang et al., IPDPS 2020, implicit barriers",
    facts: Facts { role: Role::CooperativeLaunch, ..FACTS },
    method: Method::Launch(Launching::Cooperative);

    /// In theory: one launch by the host starts all kernels, so they follow each other as fast as the device can start them.
    "gpu.launch.graph" like LAUNCH: "An additional kernel in a chain replayed as a graph",
    source: "CUDA Driver API, cuGraphLaunch",
    facts: Facts { run_effect: |_| IN_A_GRAPH, ..FACTS },
    method: Method::Launch(Launching::Graph),
    plan: LENGTHS;

    /// In theory: the way to the device and back, and the waiting call. Nothing overlaps.
    "gpu.launch.stream_sync" like LAUNCH: "Launch of an additional kernel, then a wait for its stream",
    operation: "one additional kernel launch and the wait for it; the total work stays the same",
    source: "CUDA Driver API, cuStreamSynchronize; Zhang et al., IPDPS 2020, CPU-side barriers",
    facts: Facts { role: Role::LaunchAndWait, ..FACTS },
    method: Method::Launch(Launching::StreamSync);

    "gpu.launch.event_sync" like LAUNCH: "Launch of an additional kernel, then a wait for an event recorded after it",
    operation: "one additional kernel launch, one event recorded after it and the wait for that event; the total work stays the same",
    source: "CUDA Driver API, cuEventSynchronize",
    facts: Facts { role: Role::LaunchAndWait, ..FACTS },
    method: Method::Launch(Launching::EventSync);

    "gpu.launch.sync_spin" like HOST_WAIT: "Launch of an additional kernel; the driver spins until the stream is idle",
    method: Method::Launch(Launching::Waiting(HostWait::Stream(Waits::Spins)));

    "gpu.launch.sync_yield" like HOST_WAIT:
    "Launch of an additional kernel; the driver polls until the stream is idle and yields the CPU between polls",
    facts: Facts { waits: Waits::Yields, ..HOST_WAIT.facts },
    method: Method::Launch(Launching::Waiting(HostWait::Stream(Waits::Yields)));

    /// In theory: an interrupt from the device and the wake-up of a thread.
    "gpu.launch.sync_block" like HOST_WAIT: "Launch of an additional kernel; the host thread sleeps until the stream \
     is idle",
    method: Method::Launch(Launching::Waiting(HostWait::Stream(Waits::Sleeps)));

    "gpu.launch.event_block" like HOST_WAIT:
    "Launch of an additional kernel with an event recorded after it; the host thread sleeps until the event completes",
    source: "CUDA Driver API, CU_EVENT_BLOCKING_SYNC",
    method: Method::Launch(Launching::Waiting(HostWait::BlockingEvent));

    "gpu.launch.ask_stream" like HOST_WAIT: "Launch of an additional kernel; the host polls with cuStreamQuery until the stream is idle",
    source: "CUDA Driver API, cuStreamQuery",
    method: Method::Launch(Launching::Waiting(HostWait::AskingStream));

    "gpu.launch.ask_event" like HOST_WAIT:
    "Launch of an additional kernel with an event recorded after it; the host polls with cuEventQuery until the event \
     completes",
    source: "CUDA Driver API, cuEventQuery",
    method: Method::Launch(Launching::Waiting(HostWait::AskingEvent));

    /// In theory: the host makes no driver call while it waits; the word comes over the link.
    "gpu.launch.ask_word" like HOST_WAIT:
    "Launch of an additional kernel; the stream then writes a word of host memory, which the host polls",
    source: "CUDA Driver API, cuStreamWriteValue32",
    method: Method::Launch(Launching::Waiting(HostWait::Word));

    /// In theory: an interrupt, the wake-up of the driver's thread, and its answer.
    "gpu.launch.host_function" like HOST_WAIT:
    "Launch of an additional kernel, then a host function; the host spins until the function has run",
    source: "CUDA Driver API, cuLaunchHostFunc",
    method: Method::Launch(Launching::Waiting(HostWait::Function));

    /// In theory: the next grid is on the device when the previous one ends, so what remains is the way of its end to the
    /// waiting blocks. But these blocks run on other multiprocessors than the previous kernel's blocks, away from the data they
    /// read, and a kernel launched behind them empties the constant cache while they wait (docs/notes/kernel-boundaries.md).
    "gpu.launch.programmatic" like PROGRAMMATIC:
    "Programmatic dependent launch of an additional kernel: each kernel first triggers the next \
     (cudaTriggerProgrammaticLaunchCompletion), then waits for the previous one (cudaGridDependencySynchronize)",
    definitions: |case| waiting(case, "AT_START"),
    plan: LENGTHS;

    /// In theory: like a trigger at the start, with less time for the next grid to arrive. If the blocks of this grid end at
    /// different times, two blocks of the next one share a multiprocessor.
    "gpu.launch.programmatic_end" like PROGRAMMATIC:
    "Programmatic dependent launch of an additional kernel: each kernel waits for the previous one and triggers the \
     next \
     at its end",
    definitions: |case| waiting(case, "AT_END");

    /// In theory: the next grid starts when the blocks of this one have ended; the wait for their writes is in the kernel
    /// instead of before it.
    "gpu.launch.programmatic_wait" like PROGRAMMATIC:
    "Programmatic dependent launch of an additional kernel: each kernel waits for the previous one, and none triggers \
     programmatic launch completion",
    definitions: |case| waiting(case, "NEVER");

    /// In theory: like the launch with a wait, but the kernel may begin before the previous kernel's writes are visible.
    "gpu.launch.programmatic_attribute" like PROGRAMMATIC:
    "Programmatic dependent launch of an additional kernel without trigger or wait: the programming guide does not \
     guarantee that the kernel sees the previous kernel's writes",
    facts: Facts { role: Role::UnorderedLaunch, orders_memory: false, ..FACTS },
    expected: LAUNCH.expected;

    /// In theory: like `gpu.launch.programmatic` in a stream, without the host's launches.
    "gpu.launch.programmatic_graph" like PROGRAMMATIC:
    "An additional kernel in a graph with programmatic edges: each kernel first triggers the next, then waits for \
     the previous one",
    facts: Facts { run_effect: |_| IN_A_GRAPH, ..FACTS },
    method: Method::Launch(Launching::ProgrammaticGraph),
    definitions: |case| waiting(case, "AT_START");

    "gpu.launch.programmatic_graph_wait" like PROGRAMMATIC:
    "An additional kernel in a graph with programmatic edges: each kernel waits for the previous one, and none triggers \
     programmatic launch completion",
    facts: Facts { run_effect: |_| IN_A_GRAPH, ..FACTS },
    method: Method::Launch(Launching::ProgrammaticGraph),
    definitions: |case| waiting(case, "NEVER");

    /// In theory: the barrier of `gpu.grid.cooperative`, plus the time that blocks wait for the slowest one.
    "gpu.launch.grid_sync" like PROGRAMMATIC:
    "An additional grid_group::sync() between parts of one kernel, timed like an additional kernel",
    operation: "one additional barrier instead of one additional kernel launch; the total work stays the same",
    source: "CUDA C++ Programming Guide, Cooperative Groups, grid_group::sync",
    facts: Facts { role: Role::BarrierInKernel, ..FACTS },
    method: Method::Launch(Launching::Within),
    definitions: |case| vec![kind(case), "LOOP=WITHIN".to_owned()],
    expected: |_| {
        ExpectedInstructions { uses_memory: true, ..ExpectedInstructions::of(&["ATOM.ADD", "ATOMG.ADD"]) }
    },
    needs: (7, 5);

    /// In theory: the device's front end writes a word behind one kernel and, in another queue, reads it before the next
    /// kernel: two trips to memory more than a launch, plus the cost of looking at a queue again.
    "gpu.launch.wait_value" like DEPENDENT:
    "Launch of an additional kernel in the second of two streams, which waits until the first has written a value to \
     memory",
    operation: "one additional kernel launch, one write of a value and the wait for that value; the total work stays the same",
    source: "CUDA Driver API, cuStreamWriteValue32 and cuStreamWaitValue32",
    method: Method::Launch(Launching::WaitValue);

    /// In theory: like waiting for a value in memory; the driver chooses how to implement the event.
    "gpu.launch.event_wait" like DEPENDENT:
    "Launch of an additional kernel in the second of two streams, which waits for an event in the first",
    operation: "one additional kernel launch, one event recorded after it and the wait for that event; the total work stays the same",
    source: "CUDA Driver API, cuEventRecord and cuStreamWaitEvent",
    method: Method::Launch(Launching::EventWait);

    /// In theory: the device launches the body of the loop, so an iteration costs a graph node and the decision.
    "gpu.launch.conditional" like LOOPED:
    "An additional iteration of a graph's WHILE node, whose kernel decides whether to continue",
    operation: "one additional kernel launch plus deciding whether to continue; the total work stays the same",
    source: "CUDA Driver API, cuGraphConditionalHandleCreate; CUDA Runtime API, cudaGraphSetConditional",
    method: Method::Launch(Launching::Conditional),
    definitions: |_| ["KIND=SPINNING", "LOOP=CONDITIONAL"].map(str::to_owned).to_vec();

    /// In theory: the cost of a graph node, plus what the device needs to launch a graph. The graph launches itself when it has
    /// ended (tail launch).
    "gpu.launch.device_graph" like LOOPED: "Device graph launch: the graph's kernel requests a tail launch of the same graph; the new launch starts once the current one ends",
    operation: "one device launch of a graph with one additional kernel, requested by the previous kernel; the total work stays the \
                same",
    source: "CUDA C++ Programming Guide, Device Graph Launch; PTX ISA, %current_graph_exec",
    method: Method::Launch(Launching::DeviceGraph),
    definitions: |_| ["KIND=SPINNING", "LOOP=SELF_LAUNCHING"].map(str::to_owned).to_vec();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_say_what_a_kernel_does() {
        let of = |word: &str| Work::of(Some(&Group::of_word(word))).map(|work| (work.ns, work.traffic));
        assert_eq!(of("empty"), Some((0, Traffic::Nothing)));
        assert_eq!(of("20 us"), Some((20_000, Traffic::Nothing)));
        assert_eq!(of("5 us line"), Some((5000, Traffic::Line)));
        assert_eq!(of("5 us sweep"), Some((5000, Traffic::Sweep)));
        assert_eq!(["", "5", "0 us", "x us", "9999999 us", "sweep", "tile 4"].map(of), [None; 7]);
    }

    /// Every primitive that can be between two kernels of a program is measured between kernels that access memory.
    #[test]
    fn what_stands_between_kernels_has_traffic() {
        let limits = DeviceLimits { multiprocessors: 132, max_threads: 1024 };
        for entry in ENTRIES {
            let is_between = matches!(entry.facts.role, Role::Launch | Role::UnorderedLaunch | Role::BarrierInKernel);
            let is_loop = matches!(entry.method, Method::Launch(launching) if launching.is_loop());
            for preset in [Preset::Quick, Preset::Standard, Preset::Paper] {
                let cases = entry.planned(preset, limits);
                assert!(cases.iter().all(|case| Work::of(case.group.as_ref()).is_some()), "{}", entry.id);
                let has_traffic = cases.iter().any(Work::has_traffic);
                assert!(has_traffic == (is_between && !is_loop) || preset == Preset::Quick, "{}", entry.id);
            }
        }
    }

    #[test]
    fn a_device_of_one_multiprocessor_has_no_shape_twice() {
        let of = |multiprocessors, max_threads| {
            ENTRIES[2].planned(Preset::Standard, DeviceLimits { multiprocessors, max_threads }).len()
        };
        // The shape with one small block per multiprocessor has all lengths.
        assert_eq!([of(132, 1024), of(1, 1024), of(1, 32)], [8 + 3 + 2 + 3, 8 + 2, 8]);
    }
}
