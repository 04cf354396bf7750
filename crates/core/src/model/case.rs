//! Cases and the types of their parameters. A case is one point of a sweep: what is measured, journalled, resumed and compared.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::Domain;
use crate::model::limits::{MOST_OF_ONE_KIND, count};
use crate::units::plural;
pub use crate::words::UnknownWord;
use crate::words::words;

words! {
    /// The type of the value an operation works on.
    pub enum Dtype ("dtype") {
        /// 32-bit signed integer.
        I32 = "i32",
        /// 32-bit unsigned integer.
        U32 = "u32",
        /// 64-bit unsigned integer.
        U64 = "u64",
        /// 32-bit floating point.
        F32 = "f32",
        /// 64-bit floating point.
        F64 = "f64",
    }

    /// How far an atomic operation or a fence reaches on a GPU.
    pub enum Scope ("scope") {
        /// The thread block.
        Block = "block",
        /// A cluster of thread blocks.
        Cluster = "cluster",
        /// The device.
        Device = "device",
        /// All devices and the CPU.
        System = "system",
    }

    /// The GPU memory an operation works on.
    pub enum Space ("space") {
        /// Device memory.
        Global = "global",
        /// Shared memory of a block.
        Shared = "shared",
    }

    /// The ordering an operation asks for, in the words of C++ and Rust.
    pub enum MemoryOrder ("order") {
        /// Atomicity alone.
        Relaxed = "relaxed",
        /// Later accesses stay later.
        Acquire = "acquire",
        /// Earlier accesses stay earlier.
        Release = "release",
        /// Both.
        AcqRel = "acq_rel",
        /// Both, in one order that all threads agree on.
        SeqCst = "seq_cst",
    }

    /// Whether consecutive operations depend on each other.
    pub enum Mode ("mode") {
        /// Independent operations: the papers' figure.
        Throughput = "throughput",
        /// Each operation depends on the one before.
        Latency = "latency",
    }

    /// How the primitive is written in the source that is measured. The default, no form at all, is the line that a programmer
    /// writes, with the constants they would write, compiled as their compiler does.
    pub enum Form ("form") {
        /// The operand changes each time, so that the compiler cannot aggregate once for many operations.
        Varying = "varying",
        /// The compiler cannot see that the threads of a warp use one address, and does not aggregate their operations.
        NotAggregated = "not_aggregated",
        /// The operand is the constant 1.
        Constant = "constant",
        /// The accesses around the primitive are volatile.
        Volatile = "volatile",
        /// An argument that is a constant by default is in a register.
        Opaque = "opaque",
        /// The primitive with everything that one use of it alone costs: nothing is moved out of the loop.
        Alone = "alone",
        /// The wait names its phase by the parity.
        Parity = "parity",
        /// Another fence comes after each access around the primitive.
        Fenced = "fenced",
        /// Written with the library of the language, such as `cuda::atomic_ref`.
        Library = "library",
        /// The process has one thread.
        OneThreadProcess = "one_thread_process",
        /// The loops of a paper's program, where ours differ.
        Published = "published",
    }

    /// Whose cost a figure is.
    pub enum Actor ("actor") {
        /// The slowest thread's: all meet or contend, and the last one ends the operation.
        Slowest = "slowest",
        /// The median thread's: nothing is shared.
        Median = "median",
        /// The mean over all threads, timed in a window in which all of them run: the length of the window times the number
        /// of threads, divided by their operations. Which threads are served more often does not matter.
        Mean = "mean",
    }

    /// Which samples a figure stands for. It is the same for all cases of a sweep.
    pub enum Population ("population") {
        /// The threads had their cores for themselves.
        Alone = "alone",
        /// All samples.
        All = "all",
    }
}

impl Dtype {
    /// Size of one value in bytes.
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::U64 | Self::F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub const fn is_floating(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// Where the variables of the threads lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layout {
    /// One variable for all threads.
    Shared,
    /// One element per thread, `stride` elements apart.
    Private {
        /// Distance between the elements of neighbouring threads, in elements.
        stride: u32,
    },
}

impl Layout {
    /// The word in the column `layout`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Private { .. } => "private",
        }
    }

    /// The number in the column `stride`.
    pub const fn stride(self) -> Option<u32> {
        match self {
            Self::Shared => None,
            Self::Private { stride } => Some(stride),
        }
    }
}

/// The CPUs that the threads of a team run on; the words are OpenMP's (`OMP_PROC_BIND`, OpenMP 5.2, 6.4).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Placement {
    /// One thread on each core, all cores of a socket before the next socket (`OMP_PLACES=cores`, close). More threads than
    /// cores also take the cores' further hardware threads.
    Cores,
    /// Neighbouring threads on neighbouring hardware threads.
    Close,
    /// Threads as far apart as the machine allows.
    Spread,
    /// Left to the operating system.
    None,
    /// Thread `i` on the `i`th CPU of the list, by the operating system's numbers.
    List(Vec<u32>),
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cores => f.pad("cores"),
            Self::Close => f.pad("close"),
            Self::Spread => f.pad("spread"),
            Self::None => f.pad("none"),
            Self::List(cpus) => f.pad(&cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

impl FromStr for Placement {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "cores" => Ok(Self::Cores),
            "close" => Ok(Self::Close),
            "spread" => Ok(Self::Spread),
            "none" => Ok(Self::None),
            list => {
                let cpus: Option<Vec<u32>> = list.split(',').map(|cpu| count(cpu, MOST_OF_ONE_KIND)).collect();
                let expected = "cores, close, spread, none, a list of CPUs such as 0,2,4";
                cpus.map(Self::List).ok_or_else(|| UnknownWord::new("placement", text, expected))
            }
        }
    }
}

/// The identity of a case: a hash of its parameter columns, the same in every run, on every machine and in
/// every version.
///
/// It is the 64-bit FNV-1a hash (Fowler, Noll, Vo; IETF draft-eastlake-fnv) of the line
/// `primitive=cpu.atomic.add;dtype=i32;...` over [`crate::model::parameter::PARAMETERS`] in their order, written as 16 lower-case hexadecimal
/// digits. The parameters of the first version are in the line even where they are empty; later ones only where they
/// apply, so that the identities of older cases stay.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct CaseId(pub String);

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl CaseId {
    pub(super) fn of(line: &str) -> Self {
        const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let hash = line.bytes().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
        Self(format!("{hash:016x}"))
    }

    /// The hash as a number, for seeding what must differ from case to case.
    pub fn number(&self) -> u64 {
        u64::from_str_radix(&self.0, 16).unwrap_or_default()
    }
}

/// One point of a sweep. `None` means that the parameter does not apply.
///
/// ```
/// use syncscope_core::Case;
///
/// let case = Case { threads: Some(4), ..Case::new("cpu.barrier.std") };
/// assert_eq!(case.domain_and_family(), ("cpu", "barrier"));
/// // The identity is the same on every machine.
/// assert_eq!(case.id(), case.clone().id());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Case {
    /// The full id of the primitive.
    pub primitive: String,
    /// Type of the value.
    pub dtype: Option<Dtype>,
    /// Columns `layout` and `stride`.
    pub layout: Option<Layout>,
    /// Threads of the team (CPU) or of each block (GPU).
    pub threads: Option<u32>,
    /// Blocks of the grid, per device.
    pub blocks: Option<u32>,
    /// Number of devices.
    pub devices: Option<u32>,
    /// Placement of CPU threads.
    pub placement: Option<Placement>,
    /// Scope of the operation.
    pub scope: Option<Scope>,
    /// Memory the operation works on.
    pub space: Option<Space>,
    /// Memory ordering.
    pub order: Option<MemoryOrder>,
    /// Throughput or latency.
    pub mode: Option<Mode>,
    /// A variant, or a class of a machine-level study.
    pub group: Option<Group>,
    /// The form of the primitive in the source; `None` for the one that people write.
    pub form: Option<Form>,
    /// Elements of a vector that is reduced as a whole.
    pub elements: Option<u64>,
    /// Work in each critical section; `None` for one addition alone.
    pub inside: Option<Work>,
    /// Work between a release and the next acquisition.
    pub outside: Option<Work>,
}

impl Case {
    /// A case of `primitive` to which no parameter applies yet.
    pub fn new(primitive: &str) -> Self {
        Self { primitive: primitive.to_owned(), ..Self::default() }
    }

    /// Whether the threads of the case work between the operations, as a program's threads do.
    pub const fn has_work(&self) -> bool {
        self.inside.is_some() || self.outside.is_some()
    }

    /// Whether its actors are threads or processes of the operating system.
    pub fn is_on_cpus(&self) -> bool {
        [Domain::Cpu, Domain::Mpi].iter().any(|domain| self.domain_and_family().0 == domain.as_str())
    }

    /// The word of its group, with `#` in place of its number; empty without a group.
    pub fn group_word(&self) -> &str {
        self.group.as_ref().map_or("", Group::word)
    }

    /// Whether its group has this word.
    pub fn in_group(&self, word: &str) -> bool {
        self.group.as_ref().is_some_and(|group| group.word() == word)
    }

    /// The number of its group, if the group has this word.
    pub fn group_number(&self, word: &str) -> Option<u32> {
        self.group.as_ref()?.number_of(word)
    }

    /// `domain` and `family`, the first two parts of the primitive's id.
    pub fn domain_and_family(&self) -> (&str, &str) {
        let mut parts = self.primitive.split('.');
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    }

    /// The number of threads that take part on all devices together; 1 by default.
    pub fn actors(&self) -> u64 {
        [self.threads, self.blocks, self.devices].into_iter().flatten().map(u64::from).product()
    }

    /// Whether a single thread takes part.
    pub fn has_one_thread(&self) -> bool {
        self.threads == Some(1) && self.actors() == 1
    }

    /// The distance between the elements of two threads, in bytes; `None` where threads have no elements of their own.
    pub fn bytes_apart(&self) -> Option<usize> {
        let Some(Layout::Private { stride }) = self.layout else { return None };
        Some(stride as usize * self.dtype.map_or(8, Dtype::size_bytes))
    }

    /// Its work inside and outside of critical sections, in words: `100ns inside`.
    pub fn work_in_words(&self) -> Option<String> {
        let of = |work: Option<Work>, place: &str| work.map(|work| format!("{work} {place}"));
        let words: Vec<String> =
            [of(self.inside, "inside"), of(self.outside, "outside")].into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Removes a mode that the primitive implies. A file gives the mode of every row, but an implied mode is not a parameter
    /// of the case, and its identity `id` was made without it.
    pub(crate) fn without_implied_mode(self, id: &str) -> Self {
        if self.mode.is_none() {
            return self;
        }
        let implied = Self { mode: None, ..self.clone() };
        if implied.id().0 == id { implied } else { self }
    }

    /// All parameters but the primitive: `i32 private/8 4 threads close`; empty where there are none.
    pub fn parameters(&self) -> String {
        let mut words: Vec<String> = self.dtype.map(|dtype| dtype.to_string()).into_iter().collect();
        words.extend(self.layout.map(|layout| match layout {
            Layout::Shared => "shared".to_owned(),
            Layout::Private { stride } => format!("private/{stride}"),
        }));
        words.extend(self.threads.map(|count| plural(count, "thread")));
        words.extend(self.blocks.map(|count| plural(count, "block")));
        words.extend(self.devices.map(|count| plural(count, "device")));
        words.extend(self.placement.as_ref().map(Placement::to_string));
        words.extend(self.scope.map(|scope| scope.to_string()));
        words.extend(self.space.map(|space| format!("{space} memory")));
        words.extend(self.order.map(|order| order.to_string()));
        words.extend(self.mode.map(|mode| mode.to_string()));
        words.extend(self.group.as_ref().map(Group::to_string));
        words.extend(self.form.map(|form| form.to_string()));
        words.extend(self.elements.map(|count| format!("{count} elements")));
        words.extend(self.work_in_words());
        words.join(" ")
    }
}

impl fmt::Display for Case {
    /// One line for people: `cpu.atomic.add i32 private/8 4 threads close`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(format!("{} {}", self.primitive, self.parameters()).trim_end())
    }
}

// The group of a case: a variant of a primitive, or a class of a machine-level study. Its words are in files.

/// Stands for the number in the word of a group.
const NUMBER_PLACE: &str = "#";

/// The value of the column `group`: a word that the crate of the primitive chooses, with at most one number in it, such as
/// `near`, `tile 16` and `spin 10 us`. Groups are ordered by the word, then by the number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Group {
    word: Cow<'static, str>,
    number: Option<u32>,
}

impl Group {
    /// A group without a number: `near`.
    pub const fn named(word: &'static str) -> Self {
        Self { word: Cow::Borrowed(word), number: None }
    }

    /// A group with a number, which is at the `#` of the word: `tile #`, `spin # us`.
    pub const fn numbered(word: &'static str, number: u32) -> Self {
        Self { word: Cow::Borrowed(word), number: Some(number) }
    }

    /// Parses a group from a file. Every text is a group and is written back as it was read.
    pub fn of_word(text: &str) -> Self {
        let parts: Vec<&str> = text.split(' ').collect();
        let number = |part: &&str| count(part, MOST_OF_ONE_KIND).filter(|number| number.to_string() == **part);
        let found = parts.iter().enumerate().find_map(|(place, part)| Some((place, number(part)?)));
        let numbered = found.map(|(place, number)| {
            let mut parts = parts.clone();
            parts[place] = NUMBER_PLACE;
            Self { word: parts.join(" ").into(), number: Some(number) }
        });
        let as_read = numbered.filter(|group| group.to_string() == text);
        as_read.unwrap_or_else(|| Self { word: text.to_owned().into(), number: None })
    }

    /// The word, with `#` in place of its number.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// The number, if the group has one.
    pub const fn number(&self) -> Option<u32> {
        self.number
    }

    /// The number of the group, if this is its word.
    pub fn number_of(&self, word: &str) -> Option<u32> {
        self.number.filter(|_| self.word == word)
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => f.pad(&self.word.replacen(NUMBER_PLACE, &number.to_string(), 1)),
            None => f.pad(&self.word),
        }
    }
}

impl FromStr for Group {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::of_word(text))
    }
}

// Work: what threads do inside and outside of a critical section, as in a program.

/// The work of one thread in one place, written `100ns`, `1us`, `4KiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    /// This many nanoseconds without memory accesses.
    Time(u32),
    /// A walk over this many bytes of data, one cache line after the other.
    Memory(u32),
}

/// The bounds of a time: long against the steps of a loop, and short against a time slice.
const WORK_NS: RangeInclusive<u32> = 10..=100_000;

/// The bounds of a walk: from one cache line to what fits into most second-level caches.
const WORK_BYTES: RangeInclusive<u32> = 64..=1 << 20;

/// A unit: its word, its kind of work, and its size in the smallest unit.
type WorkUnit = (&'static str, fn(u32) -> Work, u32);

/// The larger units of each kind come first: `Display` takes the first that divides the amount.
const WORK_UNITS: [WorkUnit; 5] = [
    ("us", Work::Time, 1_000),
    ("ns", Work::Time, 1),
    ("MiB", Work::Memory, 1 << 20),
    ("KiB", Work::Memory, 1 << 10),
    ("B", Work::Memory, 1),
];

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Time(amount) | Self::Memory(amount)) = *self;
        let fits = |(_, of, size): &&WorkUnit| of(amount) == *self && amount % size == 0;
        let (unit, _, size) = WORK_UNITS.iter().find(fits).unwrap_or(&("", Self::Time, 1));
        write!(f, "{}{unit}", amount / size)
    }
}

impl FromStr for Work {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let read =
            |(unit, of, size): &WorkUnit| Some(of(word.strip_suffix(unit)?.parse::<u32>().ok()?.checked_mul(*size)?));
        let is_possible = |work: &Self| match work {
            Self::Time(ns) => WORK_NS.contains(ns),
            Self::Memory(bytes) => WORK_BYTES.contains(bytes),
        };
        let unknown = || UnknownWord::new("work", word, "0, 10ns to 100us, 64B to 1MiB");
        WORK_UNITS.iter().find_map(read).filter(is_possible).ok_or_else(unknown)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::model) fn example() -> Case {
        Case {
            dtype: Some(Dtype::I32),
            layout: Some(Layout::Private { stride: 8 }),
            threads: Some(4),
            placement: Some(Placement::Close),
            ..Case::new("cpu.atomic.add")
        }
    }

    #[test]
    fn a_mode_that_is_implied_is_no_parameter() {
        let barrier = Case::new("cpu.barrier.std");
        let read = Case { mode: Some(Mode::Latency), ..barrier.clone() };
        assert_ne!(read.id(), barrier.id());
        assert_eq!(read.clone().without_implied_mode(&barrier.id().0), barrier);
        assert_eq!(read.clone().without_implied_mode(&read.id().0), read);
    }

    #[test]
    fn words_survive_the_way_to_a_file_and_back() {
        for dtype in Dtype::ALL {
            assert_eq!(dtype.to_string().parse(), Ok(*dtype));
        }
        for placement in
            [Placement::Cores, Placement::Close, Placement::Spread, Placement::None, Placement::List(vec![3, 0, 17])]
        {
            assert_eq!(placement.to_string().parse(), Ok(placement));
        }
        assert!("i16".parse::<Dtype>().is_err());
        assert!("0,x".parse::<Placement>().is_err());
    }

    #[test]
    fn people_read_a_case_as_one_line() {
        assert_eq!(example().to_string(), "cpu.atomic.add i32 private/8 4 threads close");
        assert_eq!(example().actors(), 4);
        assert_eq!(Case::new("cpu.barrier.std").actors(), 1);
    }

    #[test]
    fn a_number_is_found_in_the_words() {
        let groups = [
            ("near", Group::named("near")),
            ("node 0", Group::numbered("node #", 0)),
            ("tile 16", Group::numbered("tile #", 16)),
            ("5 us", Group::numbered("# us", 5)),
            ("spin 10 us", Group::numbered("spin # us", 10)),
            ("7", Group::numbered("#", 7)),
            ("two words", Group::named("two words")),
        ];
        for (text, group) in groups {
            assert_eq!((Group::of_word(text), group.to_string().as_str()), (group.clone(), text));
        }
        let tile = Group::of_word("tile 16");
        assert_eq!((tile.word(), tile.number(), tile.number_of("tile #")), ("tile #", Some(16), Some(16)));
        assert_eq!(tile.number_of("cluster #"), None);
    }

    #[test]
    fn every_text_is_written_as_it_was_read() {
        for text in ["tile 04", "tile -1", " us", "+5 us", "cluster 99999999999", "spin 010 us", "", " ", "tile  "] {
            assert_eq!((Group::of_word(text).word(), Group::of_word(text).number()), (text, None));
        }
        for text in ["# 5", "5 #", "# #", "a#b 5 #", "1 2", "tile 4 "] {
            assert_eq!(Group::of_word(text).to_string(), text);
        }
    }

    #[test]
    fn groups_of_one_word_are_ordered_by_number() {
        assert!(Group::of_word("5 us") < Group::of_word("10 us"));
    }

    #[test]
    fn work_is_written_in_its_largest_whole_unit() {
        let written = |word: &str| word.parse::<Work>().map(|work| work.to_string()).ok();
        for word in ["10ns", "1500ns", "1us", "100us", "64B", "4KiB", "1MiB"] {
            assert_eq!(written(word).as_deref(), Some(word));
        }
        assert_eq!(written("2048B").as_deref(), Some("2KiB"));
        for word in ["0", "9ns", "101us", "63B", "2MiB", "4294967295KiB", "4kb", "-64B", "64", ""] {
            assert_eq!(written(word), None, "{word}");
        }
    }
}
