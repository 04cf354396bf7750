//! Read-modify-write operations: `cpu.atomic.add`, `add_capture`, `exchange`, `cas_pass`, `cas_fail` and `max`.

use std::sync::atomic::Ordering;

use crate::primitives::atomic::{self, Growth, Instructions, Update};
use crate::primitives::number::Number;
use crate::primitives::orders::Access;
use crate::primitives::prelude::*;

/// In theory: the core holds the line in exclusive state while it adds. One thread: 5 to 20 cycles, most of them for
/// draining the store buffer. A variable shared by n threads: one transfer of the line per operation, so the cost of
/// each thread grows at least like n transfers. Private elements on one line cost the same (false sharing). With a
/// stride that puts them on lines of their own they cost what one thread pays.
pub(super) static ADD: Entry = atomic::entry(
    "cpu.atomic.add",
    "Atomic addition with an unused result; floating point uses compare-and-swap",
    "one increment per thread",
    "OpenMP 5.2, 15.8.4 (atomic update); C++20 [atomics.types.int], fetch_add",
    |primitive, axes| axes.cases_on_variables(primitive, &axes.addition, axes.orders(Access::ReadModifyWrite)),
    atomic::workload::<Add>,
)
.in_studies(&[
    Participation { study: &CpuPairs, templates: shared_and_private, reports_missing: true },
    Participation { study: &Smt, templates: private, reports_missing: true },
    Participation { study: &CoreKinds, templates: shared_and_alone, reports_missing: true },
    Participation { study: &Numa, templates: shared, reports_missing: true },
]);

const PRIVATE: Layout = Layout::Private { stride: 16 };

/// A variable that all threads share.
fn shared(primitive: &Primitive, _: Preset) -> Vec<Case> {
    Sweep::of(primitive.id).dtypes(&[Dtype::U64]).layouts(&[Layout::Shared]).orders(&[MemoryOrder::Relaxed]).cases()
}

/// A variable that all threads share and, beyond the quick preset, variables on lines of their own.
fn shared_and_private(primitive: &Primitive, preset: Preset) -> Vec<Case> {
    let layouts: &[Layout] = if preset == Preset::Quick { &[Layout::Shared] } else { &[Layout::Shared, PRIVATE] };
    Sweep::of(primitive.id).dtypes(&[Dtype::U64]).layouts(layouts).orders(&[MemoryOrder::Relaxed]).cases()
}

/// A variable that two threads share, and one of one thread.
fn shared_and_alone(primitive: &Primitive, preset: Preset) -> Vec<Case> {
    let alone = private_integer(primitive, preset).into_iter().map(|case| Case { threads: Some(1), ..case });
    shared(primitive, preset).into_iter().chain(alone).collect()
}

/// Variables on lines of their own, for one locked instruction and for a loop around one.
fn private(primitive: &Primitive, _: Preset) -> Vec<Case> {
    let dtypes = [Dtype::U64, Dtype::F64];
    Sweep::of(primitive.id).dtypes(&dtypes).layouts(&[PRIVATE]).orders(&[MemoryOrder::Relaxed]).cases()
}

/// The locked instruction alone.
fn private_integer(primitive: &Primitive, preset: Preset) -> Vec<Case> {
    private(primitive, preset).into_iter().filter(|case| case.dtype == Some(Dtype::U64)).collect()
}

/// Relaxed: only the atomicity of the addition is under study, no other memory is passed on.
pub(super) struct Add;

impl Update for Add {
    const INSTRUCTIONS: Instructions = Instructions {
        x86_64: &["lock add", "lock inc"],
        relaxed_aarch64: &["ldadd", "stadd", "outline ldadd", "stxr"],
        acquiring_and_releasing_aarch64: &["ldaddal", "outline ldaddal", "stlxr"],
    };
    const GROWTH: Growth = Growth::ByAll;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::fetch_increment(variable, order);
    }
}

/// In theory: as `cpu.atomic.add`, and the old value comes back from the cache. That is 1 to 3 cycles more for one
/// thread, and nothing more where the line is transferred. Floating point costs nothing more: the compare-and-swap has
/// the old value.
///
/// As a chain (mode `latency`), each operation adds one that is computed from the old value of the one before, in two
/// cycles. A locked instruction of x86-64 waits for the one before it anyway. AArch64 may overlap independent ones.
pub(super) static ADD_CAPTURE: Entry = atomic::entry(
    "cpu.atomic.add_capture",
    "Atomic addition that returns the old value; floating point uses compare-and-swap",
    "every thread adds 1 and gets the old value back",
    "OpenMP 5.2, 15.8.4 (atomic capture); C++20 [atomics.types.int], fetch_add",
    atomic::cases_and_chains,
    atomic::workload_and_chains::<AddCapture>,
);

/// Relaxed: only the atomicity of the addition is under study, no other memory is passed on.
pub(super) struct AddCapture;

impl Update for AddCapture {
    const INSTRUCTIONS: Instructions = Instructions {
        x86_64: &["lock xadd"],
        relaxed_aarch64: &["ldadd", "outline ldadd", "stxr"],
        acquiring_and_releasing_aarch64: &["ldaddal", "outline ldaddal", "stlxr"],
    };
    const GROWTH: Growth = Growth::ByAll;
    const CHECKS_RETURNED_VALUES: bool = true;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::fetch_increment(variable, order).keep();
    }

    #[inline(always)]
    fn execute_dependent<N: Number>(variable: &N::Atomic, order: Ordering, memory: &mut N) {
        *memory = N::fetch_add(variable, memory.one_after(), order);
    }

    fn returned_value<N: Number>(variable: &N::Atomic, _ticket: u64) -> u64 {
        N::fetch_increment(variable, Ordering::Relaxed).count()
    }

    /// Every value from 0 to `all` - 1 was returned once.
    fn expected_sum(all: u64, _last: u64) -> u64 {
        all * (all - 1) / 2
    }
}

/// In theory: as `cpu.atomic.add_capture` without the addition. Floating point costs the same as integers, because
/// nothing is calculated. As a chain (mode `latency`), each operation writes a one that is computed from the old value
/// of the one before, in two cycles.
pub(super) static EXCHANGE: Entry = atomic::entry(
    "cpu.atomic.exchange",
    "Atomic exchange of a value",
    "one exchange per thread",
    "C++20 [atomics.types.operations], exchange; OpenMP 5.2, 15.8.4 (v = x; x = expr)",
    atomic::cases_and_chains,
    atomic::workload_and_chains::<Exchange>,
);

/// Relaxed: only the atomicity of the exchange is under study, no other memory is passed on.
pub(super) struct Exchange;

impl Update for Exchange {
    const INSTRUCTIONS: Instructions = Instructions {
        x86_64: &["xchg"],
        relaxed_aarch64: &["swp", "outline swp", "stxr"],
        acquiring_and_releasing_aarch64: &["swpal", "outline swpal", "stlxr"],
    };
    const FLOATING_INSTRUCTIONS: Instructions = Self::INSTRUCTIONS;
    const CHECKS_RETURNED_VALUES: bool = true;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::swap(variable, N::of(1), order).keep();
    }

    #[inline(always)]
    fn execute_dependent<N: Number>(variable: &N::Atomic, order: Ordering, memory: &mut N) {
        *memory = N::swap(variable, memory.one_after(), order);
    }

    fn result(_sharers: u32, _executed: Executed) -> u64 {
        1
    }

    /// Each operation writes its ticket and returns that of another.
    fn returned_value<N: Number>(variable: &N::Atomic, ticket: u64) -> u64 {
        N::swap(variable, N::of(ticket), Ordering::Relaxed).count()
    }

    /// All tickets were returned except the last one written.
    fn expected_sum(all: u64, last: u64) -> u64 {
        all * (all + 1) / 2 - last
    }
}

/// In theory: a few cycles more than an addition, for the comparison. The new value equals the old one, so that every
/// comparison succeeds with any number of threads. What a retry costs depends on the algorithm around it. As a chain
/// (mode `latency`), each operation expects what the one before found, as a retry does.
pub(super) static CAS_PASS: Entry = atomic::entry(
    "cpu.atomic.cas_pass",
    "Atomic compare-and-swap that always succeeds",
    "one successful compare-and-swap per thread",
    "C++20 [atomics.types.operations], compare_exchange_strong; Burtchell and Burtscher, IISWC 2024, V.B.2",
    |primitive, axes| integers(atomic::cases_and_chains(primitive, axes)),
    atomic::workload_and_chains::<Pass>,
)
.in_studies(&[Participation { study: &Smt, templates: private_integer, reports_missing: false }]);

/// In theory: as `cpu.atomic.cas_pass`. x86 takes the line in exclusive state and writes the old value back. An architecture with
/// load-linked and store-conditional does not write, and the threads can share the line.
pub(super) static CAS_FAIL: Entry = atomic::entry(
    "cpu.atomic.cas_fail",
    "Atomic compare-and-swap that always fails",
    "one failing compare-and-swap per thread",
    "C++20 [atomics.types.operations], compare_exchange_strong; Burtchell and Burtscher, IISWC 2024, V.B.2",
    |primitive, axes| integers(atomic::cases(primitive, axes)),
    atomic::workload::<Fail>,
);

/// The instruction compares bits: floating-point types would be the same.
fn integers(mut cases: Vec<Case>) -> Vec<Case> {
    cases.retain(|case| matches!(case.dtype, Some(Dtype::I32 | Dtype::U64)));
    cases
}

/// The value of the variable at all times.
const PRESENT: u64 = 7;

/// A value that the variable never has.
const ABSENT: u64 = 8;

/// Relaxed: only the atomicity is under study, no other memory is passed on.
pub(super) struct Pass;

impl Update for Pass {
    const INSTRUCTIONS: Instructions = atomic::COMPARE_AND_SWAP;
    const INITIAL: u64 = PRESENT;
    const CHECKS_RETURNED_VALUES: bool = true;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::compare_exchange(variable, N::of(PRESENT), N::of(PRESENT), order);
    }

    #[inline(always)]
    fn execute_dependent<N: Number>(variable: &N::Atomic, order: Ordering, memory: &mut N) {
        *memory = N::compare_exchange(variable, *memory, N::of(PRESENT), order);
    }

    fn returned_value<N: Number>(variable: &N::Atomic, _ticket: u64) -> u64 {
        (N::compare_exchange(variable, N::of(PRESENT), N::of(PRESENT), Ordering::Relaxed) == N::of(PRESENT)).into()
    }

    fn expected_sum(all: u64, _last: u64) -> u64 {
        all
    }
}

/// Relaxed: as above.
struct Fail;

impl Update for Fail {
    const INSTRUCTIONS: Instructions = atomic::COMPARE_AND_SWAP;
    const INITIAL: u64 = PRESENT;
    const CHECKS_RETURNED_VALUES: bool = true;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, _: &mut N) {
        N::compare_exchange(variable, N::of(ABSENT), N::of(ABSENT), order);
    }

    fn returned_value<N: Number>(variable: &N::Atomic, _ticket: u64) -> u64 {
        (N::compare_exchange(variable, N::of(ABSENT), N::of(ABSENT), Ordering::Relaxed) != N::of(ABSENT)).into()
    }

    fn expected_sum(all: u64, _last: u64) -> u64 {
        all
    }
}

/// In theory: x86 has no such instruction. It takes a load, a comparison and a compare-and-swap that is retried while
/// other threads change the variable. One thread pays little more than a compare-and-swap, several pay for their
/// retries. AArch64 has one instruction for integers, which costs as much as an addition. The operands of each thread
/// are 1, 2, 3, ..., so that every operation of one thread writes.
pub(super) static MAX: Entry = atomic::entry(
    "cpu.atomic.max",
    "Atomic maximum; a compare-and-swap loop on x86 and, for floating point, on every architecture",
    "every thread sets the variable to the maximum of its old value and an operand that grows with each operation",
    "OpenMP 5.2, 15.8.4 (atomic compare); Rust AtomicI32::fetch_max",
    atomic::cases,
    atomic::workload::<Max>,
);

/// Relaxed: only the atomicity of the maximum is under study, no other memory is passed on.
pub(super) struct Max;

impl Update for Max {
    const INSTRUCTIONS: Instructions = Instructions {
        x86_64: &["lock cmpxchg"],
        relaxed_aarch64: &["ldsmax", "ldumax", "outline cas", "stxr"],
        acquiring_and_releasing_aarch64: &["ldsmaxal", "ldumaxal", "outline casal", "stlxr"],
    };
    const GROWTH: Growth = Growth::ByThread;

    #[inline(always)]
    fn execute<N: Number>(variable: &N::Atomic, order: Ordering, operand: &mut N) {
        *operand = operand.successor();
        N::raise(variable, *operand, order);
    }
}
