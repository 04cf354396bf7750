//! Facts about a primitive besides its id. Each fact is in the catalogue entry and nowhere else.
//!
//! Questions find primitives by their [`Role`], never by a list of ids. The other facts say how a case is measured and what
//! its figure stands for.

use crate::words::words;
use crate::{Actor, Case, Group, Layout, MemoryOrder, Mode};

words! {
    /// The role of a primitive: what it is used for. Primitives of one role can replace each other.
    pub enum Role ("role") {
        /// An atomic read or write.
        Access = "access",
        /// An atomic read-modify-write operation.
        Update = "update",
        /// An atomic read-modify-write operation on 16-bit numbers.
        HalfUpdate = "half-precision update",
        /// A store that publishes what was stored before.
        Publication = "store that publishes",
        /// Orders memory accesses.
        Fence = "fence",
        /// Orders accesses of different kinds to one memory.
        ProxyFence = "proxy fence",
        /// A lock that one thread at a time holds.
        ThreadLock = "thread lock",
        /// A lock that many readers share, taken for reading.
        ReadLock = "read lock",
        /// The same lock, taken for writing.
        WriteLock = "write lock",
        /// All threads wait for all.
        ThreadBarrier = "thread barrier",
        /// A thread passes the turn to one that spins.
        SpinHandoff = "hand-off to a spinning thread",
        /// A thread passes the turn to one that may sleep.
        SleepHandoff = "hand-off to a sleeping thread",
        /// A thread sends a message to another.
        Channel = "channel",
        /// A thread wakes one that was seen asleep.
        Wake = "wake-up",
        /// A thread wakes all others, which were seen asleep.
        WakeAll = "wake-up of all",
        /// What a thread executes between two looks at what it waits for.
        WaitHint = "wait hint",
        /// A thread that waits awake sees that another one has stored.
        Reaction = "reaction",
        /// A construct of a parallel language, by how the threads of its runtime wait.
        RuntimeWait = "construct by wait policy",
        /// A thread that waits spins for a time before it sleeps.
        SpinBudget = "wait by the time spun",
        /// A lock that some threads take for reading and others for writing, by what one of the two roles pays.
        SharedLock = "lock of readers and writers",
        /// Work of known length, which shows how fast a core is.
        CoreSpeed = "work of known length",
        /// A lock of several processes.
        ProcessLock = "process lock",
        /// A barrier of several processes.
        ProcessBarrier = "process barrier",
        /// A process passes the turn or a message to another.
        ProcessHandoff = "hand-off between processes",
        /// The lanes of a warp exchange, compare or combine registers.
        WarpCollective = "warp collective",
        /// A barrier of the threads of a warp.
        WarpBarrier = "warp barrier",
        /// A barrier of the threads of a block.
        BlockBarrier = "block barrier",
        /// A barrier of a block that also combines a condition of its threads.
        BlockVote = "block vote",
        /// A barrier of a block that also waits for a copy.
        CopyBarrier = "copy barrier",
        /// A barrier of the blocks of a cluster.
        ClusterBarrier = "cluster barrier",
        /// A barrier of all blocks of a grid.
        GridBarrier = "grid barrier",
        /// A barrier of the grids of several devices.
        DeviceBarrier = "device barrier",
        /// Devices send each other a few bytes.
        DeviceExchange = "exchange between devices",
        /// An operation that combines values of several devices.
        DeviceCollective = "device collective",
        /// A lock of the threads of a device.
        GpuLock = "GPU lock",
        /// One more kernel, which begins when the one before has ended: a barrier of the device.
        Launch = "kernel launch",
        /// One more kernel, which begins when the blocks of the one before have ended, and may not see what they wrote.
        UnorderedLaunch = "unordered kernel launch",
        /// A barrier of the grid between parts of a kernel, timed as launches are.
        BarrierInKernel = "grid barrier between parts of a kernel",
        /// One more kernel, whose blocks all run at the same time.
        CooperativeLaunch = "cooperative launch",
        /// One more kernel, and the host waits for its end.
        LaunchAndWait = "kernel launch and wait",
        /// A whole vector becomes one value.
        Reduction = "reduction",
        /// A reduction as a paper's listing prints it, to show what its atomic operations cost.
        PrintedReduction = "reduction of a listing",
        /// An operation that a user wrote: nothing is known about it.
        Own = "own operation",
        /// A block of a grid passes the turn to another.
        BlockHandoff = "hand-off between blocks",
        /// A block of a grid sends lines to another.
        BlockStream = "stream between blocks",
        /// Host and device pass the turn to each other.
        HostDeviceHandoff = "hand-off between host and device",
    }

    /// What a thread does while it waits.
    pub enum Waits ("waits") {
        /// It never waits for another thread.
        NoWait = "does not wait",
        /// It keeps its CPU or its issue slots; after a while it may yield.
        Spins = "spins",
        /// It gives its CPU to others that are ready, again and again.
        Yields = "yields",
        /// It spins for a short time, then the system suspends it.
        SpinsThenSleeps = "spins, then sleeps",
        /// The system suspends it at once.
        Sleeps = "sleeps",
        /// A setting of a run-time library decides.
        AsConfigured = "as the library is configured",
        /// Hardware or a driver suspends it.
        InHardware = "in hardware",
    }

    /// What changes the costs of cases from run to run and in the course of a run.
    pub enum Class ("class") {
        /// The clock of the cores. Its rows are told by their cycles.
        NothingShared = "threads that share nothing",
        /// What connects the cores, and which cores the threads are on.
        Lines = "cache lines that move",
        /// The operating system as well.
        Sleeping = "threads that sleep",
        /// The clock of a device, and where its memory lies.
        Device = "device",
    }
}

impl Class {
    /// As sentences name it; files keep the stored name.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Lines => "moving cache lines",
            Self::Sleeping => "sleeping threads",
            Self::Device => "operations of a device",
            Self::NothingShared => "threads that share nothing",
        }
    }
}

/// Whose cost the figures of a primitive are. The rule is about several threads: a single thread shares nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorRule {
    /// The slowest thread's: all meet or contend.
    Slowest,
    /// The median thread's: nothing is shared.
    Median,
    /// The median thread's, unless all threads use one variable or their elements are fewer than this many bytes apart and
    /// contend for the line that holds them.
    MedianUnlessWithin(usize),
}

/// How many operations all threads of a case do at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationsAtOnce {
    /// One for each thread.
    OfEach,
    /// One for every set of this many threads of a block.
    OfOneIn(u32),
    /// One for each block of threads, or for each of its parts, whose number is in a group of this word.
    OfEachBlock(&'static str),
    /// One for every set of blocks as large as the number in a group of this word.
    OfBlocks(&'static str),
    /// One for every set of threads of a warp as large as the number in a group of this word, or for the whole warp without
    /// such a group.
    OfEachWarp(&'static str),
    /// One for each of the threads that the case's group counts: the others do something else.
    OfGroup,
    /// One for each thread but one, which holds what the others operate on.
    OfAllButOne,
    /// One, whatever the number of threads.
    One,
}

/// How much runs on one machine in one state are assumed to differ where a run does not show it: the standard deviation of a
/// run's cost, relative to the cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunEffect {
    /// The deviation of the cost in nanoseconds.
    pub ns: f64,
    /// The deviation of the cost in cycles.
    pub cycles: f64,
}

impl RunEffect {
    /// All runs agree.
    pub const NONE: Self = Self::of_both(0.0);

    /// This deviation in both units.
    pub const fn of_both(deviation: f64) -> Self {
        Self { ns: deviation, cycles: deviation }
    }
}

/// GPU cases whose runs are assumed to differ by at least this much are measured in more contexts: the differences between
/// contexts are part of the cost.
const VARIES: f64 = 0.05;

/// Facts about a primitive. A family states its facts once, with [`Self::of`]; an entry states only what differs.
///
/// ```
/// use syncscope_core::{Case, Facts, Mode, Role};
///
/// let facts = Facts { mode: Mode::Throughput, ..Facts::of(Role::Update) };
/// assert_eq!(facts.mode_of(&Case::new("cpu.atomic.add")), Mode::Throughput);
/// // A case says otherwise.
/// let chain = Case { mode: Some(Mode::Latency), ..Case::new("cpu.atomic.add") };
/// assert_eq!(facts.mode_of(&chain), Mode::Latency);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The role of the primitive.
    pub role: Role,
    /// What a thread does while it waits.
    pub waits: Waits,
    /// Whether it orders the memory accesses before and after it. A case with [`MemoryOrder::Relaxed`] does not.
    pub orders_memory: bool,
    /// How its operations follow each other where the case leaves no choice.
    pub mode: Mode,
    /// Whose cost its figures are.
    pub actor: ActorRule,
    /// How many operations all threads do at once.
    pub at_once: OperationsAtOnce,
    /// By how much runs are assumed to differ in the cost of a case.
    pub run_effect: fn(&Case) -> RunEffect,
    /// Whether the words in the column `group` name designs of the primitive, of which a program takes one.
    pub has_designs: bool,
    /// Whether it is an algorithm that a program has to implement itself, while others come with a library or a
    /// language.
    pub is_algorithm: bool,
    /// Whether the threads of a case can work inside and outside of its critical section.
    pub can_have_work: fn(&Case) -> bool,
}

impl Facts {
    /// The facts of most primitives of a role: each thread takes part, the next operation begins when the one before is
    /// complete, and the slowest thread ends it.
    pub const fn of(role: Role) -> Self {
        Self {
            role,
            waits: Waits::NoWait,
            orders_memory: true,
            mode: Mode::Latency,
            actor: ActorRule::Slowest,
            at_once: OperationsAtOnce::OfEach,
            run_effect: |_| RunEffect::NONE,
            has_designs: false,
            is_algorithm: false,
            can_have_work: |_| false,
        }
    }

    /// These facts for primitives that wait in another way.
    pub const fn waiting(self, waits: Waits) -> Self {
        Self { waits, ..self }
    }

    /// How the operations of a case follow each other: as the case says, or as its primitive implies.
    pub fn mode_of(&self, case: &Case) -> Mode {
        case.mode.unwrap_or(self.mode)
    }

    /// Whether a case orders memory accesses.
    pub fn orders_memory_in(&self, case: &Case) -> bool {
        self.orders_memory && case.order != Some(MemoryOrder::Relaxed)
    }

    /// Whose cost the figure of a case is. It is the same for all numbers of threads from two on.
    pub fn actor_of(&self, case: &Case) -> Actor {
        let contends = match self.actor {
            ActorRule::Slowest => true,
            ActorRule::Median => false,
            ActorRule::MedianUnlessWithin(bytes) => {
                case.layout == Some(Layout::Shared) || case.bytes_apart().is_some_and(|apart| apart < bytes)
            }
        };
        if contends && !case.has_one_thread() { Actor::Slowest } else { Actor::Median }
    }

    /// How many operations all threads of a case do at once.
    pub fn operations_at_once(&self, case: &Case) -> u64 {
        let of_blocks = |each: u32| Case { threads: Some(each), ..case.clone() }.actors();
        let of_threads = |of: u32| of_blocks(case.threads.unwrap_or(1).div_ceil(of.max(1)));
        let number = |word: &str| case.group_number(word).unwrap_or(1).max(1);
        match self.at_once {
            OperationsAtOnce::OfEach => case.actors(),
            OperationsAtOnce::OfOneIn(threads) => of_threads(threads),
            OperationsAtOnce::OfEachBlock(parts) => of_blocks(number(parts)),
            OperationsAtOnce::OfBlocks(group) => of_blocks(1).div_ceil(u64::from(number(group))),
            OperationsAtOnce::OfEachWarp(group) => of_threads(case.group_number(group).unwrap_or(32)),
            OperationsAtOnce::OfGroup => case.group.as_ref().and_then(Group::number).unwrap_or(1).into(),
            OperationsAtOnce::OfAllButOne => case.actors().saturating_sub(1).max(1),
            OperationsAtOnce::One => 1,
        }
    }

    /// Whether the cost of a case may have a level of its own in each measurement block: on a GPU, each block has its own
    /// context.
    pub fn has_levels(&self, case: &Case) -> bool {
        !case.is_on_cpus() && (self.run_effect)(case).ns >= VARIES
    }

    /// The class of a case: what changes its cost.
    pub fn class_of(&self, case: &Case) -> Class {
        if !case.is_on_cpus() {
            Class::Device
        } else if self.actor_of(case) == Actor::Median {
            Class::NothingShared
        } else if matches!(self.waits, Waits::Sleeps | Waits::SpinsThenSleeps) {
            Class::Sleeping
        } else {
            Class::Lines
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::case::{Dtype, Group};

    fn with(actor: ActorRule) -> Facts {
        Facts { actor, ..Facts::of(Role::Update) }
    }

    #[test]
    fn the_slowest_counts_where_threads_meet_or_contend() {
        let private = |stride| Some(Layout::Private { stride });
        let case = |layout| Case { layout, dtype: Some(Dtype::I32), threads: Some(4), ..Case::new("cpu.atomic.add") };
        let of = |rule, layout| with(rule).actor_of(&case(layout));
        assert_eq!(of(ActorRule::Slowest, private(64)), Actor::Slowest);
        assert_eq!(of(ActorRule::Median, Some(Layout::Shared)), Actor::Median);
        let line = ActorRule::MedianUnlessWithin(64);
        let seen = [Some(Layout::Shared), private(1), private(15), private(16), None].map(|layout| of(line, layout));
        assert_eq!(seen, [Actor::Slowest, Actor::Slowest, Actor::Slowest, Actor::Median, Actor::Median]);
        let wide = Case { dtype: Some(Dtype::U64), ..case(private(8)) };
        assert_eq!(with(line).actor_of(&wide), Actor::Median, "bytes count, not elements");
        assert_eq!(of(ActorRule::MedianUnlessWithin(0), private(1)), Actor::Median, "no line moves");
        let alone = Case { threads: Some(1), ..case(Some(Layout::Shared)) };
        assert_eq!(with(line).actor_of(&alone), Actor::Median, "one thread is alone with its variable");
        assert_eq!(with(line).actor_of(&Case { blocks: Some(2), ..alone }), Actor::Slowest);
    }

    #[test]
    fn operations_at_once_are_counted_by_rule() {
        let grid = Case { threads: Some(33), blocks: Some(132), ..Case::new("gpu.lock.spin_cas") };
        let of = |at_once| Facts { at_once, ..Facts::of(Role::GpuLock) }.operations_at_once(&grid);
        assert_eq!((of(OperationsAtOnce::OfOneIn(32)), of(OperationsAtOnce::One)), (2 * 132, 1));
        assert_eq!((of(OperationsAtOnce::OfEach), of(OperationsAtOnce::OfAllButOne)), (33 * 132, 33 * 132 - 1));
    }

    /// A barrier that many threads pass is one operation.
    #[test]
    fn barriers_are_counted_and_not_their_threads() {
        let of = |at_once, group: Option<&str>, devices| {
            let group = group.map(Group::of_word);
            let case = Case { threads: Some(64), blocks: Some(16), devices, group, ..Case::new("gpu.a.b") };
            Facts { at_once, ..Facts::of(Role::BlockBarrier) }.operations_at_once(&case)
        };
        let block = OperationsAtOnce::OfEachBlock("parts #");
        assert_eq!([None, Some("parts 2"), Some("cluster 2")].map(|group| of(block, group, None)), [16, 32, 16]);
        let cluster = OperationsAtOnce::OfBlocks("cluster #");
        assert_eq!([None, Some("cluster 8"), Some("cluster 16")].map(|group| of(cluster, group, None)), [16, 2, 1]);
        let warp = OperationsAtOnce::OfEachWarp("tile #");
        assert_eq!([None, Some("tile 4")].map(|group| of(warp, group, None)), [32, 256]);
        assert_eq!([block, cluster, OperationsAtOnce::One].map(|at_once| of(at_once, None, Some(2))), [32, 32, 1]);
    }

    #[test]
    fn a_case_can_choose_its_mode_and_give_up_ordering() {
        let facts = Facts::of(Role::GridBarrier);
        let case = Case::new("gpu.grid.counter");
        let relaxed = Case { order: Some(MemoryOrder::Relaxed), mode: Some(Mode::Throughput), ..case.clone() };
        assert_eq!((facts.mode_of(&case), facts.mode_of(&relaxed)), (Mode::Latency, Mode::Throughput));
        assert_eq!([&case, &relaxed].map(|case| facts.orders_memory_in(case)), [true, false]);
        assert!(!Facts { orders_memory: false, ..facts }.orders_memory_in(&case));
    }
}
