//! Burtchell and Burtscher, section V-A: OpenMP.

use syncscope_core::Placement;
use syncscope_core::machine::CpuMachine;

use super::super::phrases::enumerated;
use super::prelude::*;

const CPU_ADD: &str = "cpu.atomic.add";
const BARRIER: &str = "cpu.barrier.openmp";
/// "Only a few threads": the fewest that can synchronize.
const FEW: u32 = 2;
/// "Beyond about 8 threads" (figure 1).
const ABOUT: u32 = 8;
/// A team this large shows what happens beyond that.
const FAR_BEYOND: u32 = 4 * ABOUT;
/// Elements this far apart share no cache line of 64 bytes, whatever their type.
const APART: u32 = 16;
/// A core starts at least one load per cycle, so an operation of at most one cycle costs no more than a plain load.
const LOAD_CYCLES: f64 = 1.0;

pub(super) const CLAIMS: &[Claim] = claims! {
    "burtchell.openmp.barrier_threads", "section V-A5, recommendation 1",
        "Barriers are not much cheaper when only a few threads are used",
        needs "barriers of libgomp by two and by more threads" =>
        |data| ends("", &teams(data, BARRIER, |_| true), FEW, Test::AtMost(MUCH));
    "burtchell.openmp.barrier_stable", "figure 1",
        "Beyond about 8 threads, the throughput per thread of a barrier remains largely stable",
        needs "barriers of libgomp by 8 and by more threads" => |data| {
        let rows = teams(data, BARRIER, |_| true);
        let outcome = ends("", &rows, ABOUT, Test::AtMost(MUCH))?;
        if rows.last()?.row.case.threads >= Some(FAR_BEYOND) || outcome.verdict == Truth::Fails {
            return Some(outcome);
        }
        let sentence = format!("{}; the run has no team of {FAR_BEYOND} threads or more", outcome.sentence);
        Some(Outcome { verdict: Truth::Open, sentence, ..outcome })
    };
    "burtchell.openmp.critical", "section V-A5, recommendation 5; figure 5",
        "Critical sections are slower than atomics and should be avoided unless there is no other option",
        needs "critical sections and atomic updates of one variable by several threads" => |data| {
        generally(Test::AtLeast(1.0), "the critical section costs more", &critical(data))
    };
    "burtchell.openmp.critical_drop", "figure 5",
        "The throughput of a critical section drops faster than that of an atomic update as threads are added",
        needs "critical sections and atomic updates of one variable by two and by more threads" => |data| {
        let pairs = critical(data);
        let ((few_section, few_update), (section, update)) = (pairs.first()?, pairs.last()?);
        (few_section.row.case.threads < section.row.case.threads)
            .then(|| grows_more(("the cost of a critical section", section, few_section), ("that of an atomic update", update, few_update)))
    };
    "burtchell.openmp.flush_harmless", "section V-A5, recommendation 6; figure 6",
        "Flushes have no major performance impact; without false sharing, it is minimal",
        needs "flushes with padded elements and atomic updates of one variable by several threads" => |data| {
        let contended = teams(data, CPU_ADD, shared(Dtype::I32));
        let (flush, add) = last_pair(&flushes(data, APART), &contended)?;
        let flush = ("a flush between updates of padded elements", &flush);
        Some(two(Test::AtMost(1.0 / MUCH), flush, ("an atomic update of one variable", &add)))
    };
    "burtchell.openmp.flush_sharing", "figure 6",
        "With false sharing, a flush behaves like an atomic update: its throughput drops as threads are added",
        needs "flushes with adjacent and with padded elements by several threads" => |data| {
        let (neighbours, padded) = (flushes(data, 1), flushes(data, APART));
        let (near, far) = last_pair(&neighbours, &padded)?;
        all([
            two(
                Test::AtLeast(MUCH),
                ("a flush between updates of adjacent elements", &near),
                ("one between updates of padded elements", &far),
            ),
            ends("", &neighbours, FEW, Test::AtLeast(MUCH))?,
        ])
    };
    "burtchell.openmp.hyperthreads", "section V-A5, recommendation 7",
        "Hyperthreads can be used: they do not significantly slow down synchronization",
        needs "operations by as many threads as cores and as hardware threads, on CPUs whose cores have several of these" =>
        hyperthreads;
    "burtchell.openmp.placement", "sections V-A1, V-A2 and V-A4",
        "The affinities \"spread\" and \"close\" make no notable difference",
        needs "the same case in the placements close and spread" => |data| {
        let apart = private(Dtype::I32, APART);
        let of = |primitive| {
            let fits = |case: &Case| primitive == BARRIER || apart(case);
            let placed = |placement| teams_in(data, primitive, &placement, &fits);
            by_threads(&placed(Placement::Close), &placed(Placement::Spread))
        };
        alike("close and spread", &[BARRIER, CPU_ADD, FLUSH].map(of).concat())
    };
    "burtchell.openmp.same_location", "section V-A5, recommendation 2",
        "Atomic updates or writes by multiple threads to the same location should be avoided, as they are quite slow",
        needs "atomic updates of one variable and of padded elements by several threads" => |data| {
        let own = teams(data, CPU_ADD, private(Dtype::I32, APART));
        let (one, own) = last_pair(&teams(data, CPU_ADD, shared(Dtype::I32)), &own)?;
        Some(two(Test::AtLeast(MUCH), ("one variable", &one), ("padded elements", &own)))
    };
    "burtchell.openmp.false_sharing", "section V-A5, recommendation 3",
        "Atomic operations on different locations are much faster if the locations do not share a cache line",
        needs "atomic updates of neighbouring and of padded elements by several threads" => |data| {
        all(DTYPES.into_iter().filter_map(|dtype| {
            let (near, far) = at_strides(data, dtype, 1, APART)?;
            Some(two(Test::AtLeast(MUCH), (&format!("adjacent {dtype} elements"), &near), ("padded elements", &far)))
        }))
    };
    "burtchell.openmp.line_end", "figure 3",
        "The throughput shoots up at stride 8 for 64-bit types and at stride 16 for 32-bit types, where each element \
         has its own cache line",
        needs "atomic updates of elements at the strides 4, 8 and 16 by several threads" => |data| {
        let step = |dtype, before, after| {
            let (before, after) = at_strides(data, dtype, before, after)?;
            Some(two(
                Test::AtLeast(MUCH),
                (&format!("{dtype} elements that share a line"), &before),
                ("elements on separate lines", &after),
            ))
        };
        let [of_u64, of_f64] = [Dtype::U64, Dtype::F64].map(|dtype| step(dtype, 4, 8));
        let [of_i32, of_f32] = [Dtype::I32, Dtype::F32].map(|dtype| step(dtype, 8, 16));
        all([of_u64?, of_f64?, of_i32?, of_f32?])
    };
    "burtchell.openmp.narrow_slower", "figure 3a",
        "With adjacent elements, the 4-byte types perform slightly worse than the 8-byte types, as twice as many \
         words share a cache line",
        needs "updates of adjacent elements of two types by teams" => |data| {
        let types = [(Dtype::U64, Dtype::I32), (Dtype::F64, Dtype::F32)];
        let adjacent = |dtype| teams(data, CPU_ADD, private(dtype, 1));
        let pairs = types.map(|(wide, narrow)| by_threads(&adjacent(wide), &adjacent(narrow)));
        generally(Test::Below, "the 8-byte type costs less with adjacent elements", &pairs.concat())
    };
    "burtchell.openmp.stride_four", "figure 3b",
        "The throughput of all four types is higher at stride 4 than at stride 1",
        needs "updates of elements at strides 1 and 4 by teams" => |data| {
        let at = |dtype, stride| teams(data, CPU_ADD, private(dtype, stride));
        let pairs = DTYPES.map(|dtype| by_threads(&at(dtype, 4), &at(dtype, 1)));
        generally(Test::Below, "stride 4 costs less than stride 1", &pairs.concat())
    };
    "burtchell.openmp.integer_alone", "figure 3d",
        "Without false sharing, the integer types are faster than the floating-point types, regardless of word size",
        needs "updates of padded elements of integers and floats by teams" => |data| {
        let types = [(Dtype::I32, Dtype::F32), (Dtype::U64, Dtype::F64)];
        let padded = |dtype| teams(data, CPU_ADD, private(dtype, APART));
        let pairs = types.map(|(integer, float)| by_threads(&padded(integer), &padded(float)));
        generally(Test::Below, "the integer type costs less with padded elements", &pairs.concat())
    };
    "burtchell.openmp.own_lines", "figure 3d",
        "Without false sharing, the throughput per thread is largely constant: the operations are embarrassingly \
         parallel",
        needs "atomic updates of padded elements by two and by more threads" => |data| {
        let padded = |dtype| teams(data, CPU_ADD, private(dtype, APART));
        let of = |dtype: Dtype| ends(dtype.as_str(), &padded(dtype), 2, Test::AtMost(MUCH));
        all(DTYPES.into_iter().filter_map(of))
    };
    "burtchell.openmp.integer_faster", "figure 2",
        "Atomic updates are generally faster for integer types than for floating-point types",
        needs "atomic updates of one variable of integer and floating-point types" => |data| {
        let types = [(Dtype::I32, Dtype::F32), (Dtype::U64, Dtype::F64)];
        let pairs = types.map(|(integer, float)| between(data, CPU_ADD, integer, float));
        generally(Test::Below, "the integer type costs less", &pairs.concat())
    };
    "burtchell.openmp.word_size", "figure 2", "The word size (32 or 64 bits) does not affect the cost of an atomic update",
        needs "atomic updates of one variable of 32 and of 64 bits" => |data| {
        let types = [(Dtype::I32, Dtype::U64), (Dtype::F32, Dtype::F64)];
        alike("both sizes", &types.map(|(narrow, wide)| between(data, CPU_ADD, narrow, wide)).concat())
    };
    "burtchell.openmp.capture", "section V-A2",
        "The throughput of atomic capture is nearly identical to that of atomic update",
        needs "atomic captures and updates of one variable" => |data| {
        let of = |dtype| {
            by_threads(&teams(data, "cpu.atomic.add_capture", shared(dtype)), &teams(data, CPU_ADD, shared(dtype)))
        };
        alike("capture and update", &DTYPES.map(of).concat())
    };
    "burtchell.openmp.write_type", "figure 4", "Neither the type nor its size has an observable effect on the atomic \
     write",
        needs "atomic writes of several types" => |data| {
        let of = |other| between(data, "cpu.atomic.write", Dtype::I32, other);
        alike("i32 and each other type", &[Dtype::U64, Dtype::F32, Dtype::F64].map(of).concat())
    };
    "burtchell.openmp.write_like_update", "figure 4",
        "The atomic write behaves like the atomic update: its throughput decreases as threads are added",
        needs "atomic writes by two and by more threads" => |data| {
        ends("", &teams(data, "cpu.atomic.write", shared(Dtype::I32)), 2, Test::AtLeast(MUCH))
    };
    "burtchell.openmp.read_free", "section V-A5, recommendation 4",
        "Atomic reads do not incur any extra latency and can be used wherever prudent",
        needs "atomic reads with their cost in cycles" => read_free;
    "burtchell.openmp.read_threads", "section V-A2",
        "An atomic read has no performance penalty with any number of threads",
        needs "atomic reads of one variable by several threads" =>
        |data| flat(MUCH, &teams(data, "cpu.atomic.read", shared(Dtype::I32)));
};

/// The cost of the largest team against the cost of a team of `few` threads, or of the next larger team of up to twice as
/// many.
fn ends(name: &str, teams: &[Known<'_>], few: u32, test: Test) -> Option<Outcome> {
    let is_few = |row: &&Known<'_>| (Some(few)..=Some(2 * few)).contains(&row.row.case.threads);
    let first = teams.iter().find(is_few)?;
    let last = teams.last().filter(|last| last.row.case.threads > first.row.case.threads)?;
    Some(two(test, (name, last), ("", first)))
}

/// The pair of the largest team that both have.
fn last_pair<'a>(a: &[Known<'a>], b: &[Known<'a>]) -> Option<Pair<'a>> {
    by_threads(a, b).pop()
}

/// Flushes among elements at this stride, as the slowest thread sees them: the others may run with their line to themselves.
fn flushes(data: &RunData, stride: u32) -> Vec<Known<'_>> {
    teams(data, FLUSH, private(Dtype::I32, stride)).into_iter().map(Known::of_slowest).collect()
}

/// Critical sections around an addition, whose type is the first that the run has, and atomic additions.
fn critical(data: &RunData) -> Vec<Pair<'_>> {
    let of = |dtype| teams(data, "cpu.lock.openmp_critical", shared(dtype));
    let sections = DTYPES.into_iter().map(of).find(|rows| !rows.is_empty()).unwrap_or_default();
    by_threads(&sections, &teams(data, CPU_ADD, shared(Dtype::I32)))
}

/// A kind of operation: its name in the claim on hyperthreads, its primitive, and the variables of its rows.
type Kind = (&'static str, &'static str, fn(&Case) -> bool);

/// The operations of the paper that several threads execute.
const KINDS: [Kind; 7] = [
    ("a barrier", BARRIER, |_| true),
    ("a critical section", "cpu.lock.openmp_critical", |_| true),
    ("an update of one variable", CPU_ADD, |case| shared(Dtype::I32)(case)),
    ("a capture of one variable", "cpu.atomic.add_capture", |case| shared(Dtype::I32)(case)),
    ("a write to one variable", "cpu.atomic.write", |case| shared(Dtype::I32)(case)),
    ("an update of padded elements", CPU_ADD, |case| private(Dtype::I32, APART)(case)),
    ("a flush between updates of padded elements", FLUSH, |case| private(Dtype::I32, APART)(case)),
];

/// The same cores with all their hardware threads and with one thread per core: each operation costs at most [`MUCH`] as
/// much. The paper's "not significantly" is read off charts on which the costs of contended operations grow with the threads
/// anyway. Teams that are placed close fill the hardware threads of a core first, so only the team of all hardware threads
/// counts.
fn hyperthreads(data: &RunData) -> Option<Outcome> {
    let CpuMachine { cores, hardware_threads: threads, .. } = data.run.machine.cpu;
    if cores == 0 || threads <= cores {
        return None;
    }
    let at = |(name, primitive, fits): Kind| {
        let of = |placements: &[Placement], count: u32| -> Vec<Known<'_>> {
            let rows = placements.iter().flat_map(|placement| teams_in(data, primitive, placement, &fits));
            rows.filter(|row| row.row.case.threads == Some(count)).collect()
        };
        let bound = of_one_type(
            &of(&[Placement::Cores, Placement::Spread], cores),
            &of(&[Placement::Cores, Placement::Close, Placement::Spread], threads),
        );
        let unbound = || of_one_type(&of(&[Placement::None], cores), &of(&[Placement::None], threads));
        let (one_each, all) = bound.or_else(unbound)?;
        Some((name.to_owned(), two(Test::AtMost(MUCH), (name, &all), ("", &one_each))))
    };
    let (names, parts): (Vec<String>, Vec<Outcome>) = KINDS.into_iter().filter_map(at).unzip();
    let of_parts = names.into_iter().zip(&parts);
    let slowed = of_parts.filter(|(_, part)| part.verdict == Truth::Fails).map(|(name, _)| name);
    let slowed = enumerated(slowed).map(|names| format!("the claim fails for {names}; ")).unwrap_or_default();
    let outcome = all(parts)?;
    Some(Outcome { sentence: slowed + &outcome.sentence, ..outcome })
}

/// A pair of rows of one type, from rows of several.
fn of_one_type<'a>(one: &[Known<'a>], other: &[Known<'a>]) -> Option<Pair<'a>> {
    pairs_by(one, other, |case| case.dtype).first().copied()
}

/// Pairs of two types at each number of threads, one variable for all.
fn between<'a>(data: &'a RunData, primitive: &str, one: Dtype, other: Dtype) -> Vec<Pair<'a>> {
    by_threads(&teams(data, primitive, shared(one)), &teams(data, primitive, shared(other)))
}

/// Updates of elements at two strides, by the largest team that has both.
fn at_strides(data: &RunData, dtype: Dtype, one: u32, other: u32) -> Option<Pair<'_>> {
    let of = |stride| teams(data, CPU_ADD, private(dtype, stride));
    last_pair(&of(one), &of(other))
}

/// Atomic reads cost as much as a load, within [`ALIKE`] of [`LOAD_CYCLES`], by their interval in cycles. Noisy rows decide
/// with their intervals, and have no figure.
fn read_free(data: &RunData) -> Option<Outcome> {
    let reads = teams(data, "cpu.atomic.read", |case| !matches!(case.mode, Some(Mode::Latency)));
    let known: Vec<_> = reads.iter().filter_map(|row| Some((row, row.row.cycles_interval?))).collect();
    let (highest, highest_bounds) = known.iter().max_by(|a, b| a.1.high.total_cmp(&b.1.high))?;
    let verdict = Truth::of(
        highest_bounds.high <= ALIKE * LOAD_CYCLES,
        known.iter().any(|(_, bounds)| bounds.low > ALIKE * LOAD_CYCLES),
    );
    let mut figures: Vec<(f64, usize)> =
        known.iter().filter_map(|(row, _)| Some((row.cycles_figure()?.value(), row.index))).collect();
    figures.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of_all = if figures.len() < known.len() { format!(" of {}", known.len()) } else { String::new() };
    let measured = match (figures.first(), figures.last()) {
        (Some((least, _)), Some((most, _))) => {
            let range = figure::range(&figure::ratio(*least), &figure::ratio(*most));
            format!("{range} cycles in {}{of_all} cases", figures.len())
        }
        _ => "no case has a figure in cycles".to_owned(),
    };
    let most = figure::ratio(highest_bounds.high);
    let sentence =
        format!("{measured}; the highest interval ends at {most} cycles, and a plain load takes up to {LOAD_CYCLES}");
    let ends = figures.first().into_iter().chain(figures.last()).map(|(_, index)| *index);
    let rows = ends.chain([highest.index]).chain(known.iter().map(|(row, _)| row.index));
    Some(Outcome::of(verdict, sentence).on(unique(rows)))
}
