//! Hints: what a waiting thread executes between two looks, and the calls that cost about as much. `wake/spinning.rs` measures
//! how long a waiter takes to go on with each of them.
//!
//! An instruction that this processor lacks has no cases; `list` says why.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use syncscope_core::ActorRule;
use syncscope_host::futex::{self, Scope};

use crate::primitives::prelude::*;

use super::fence::{IN_THE_KERNEL, bare};

/// The family, in the order of the catalogue.
pub(super) static ENTRIES: &[&Entry] =
    &[&PAUSE, &TPAUSE, &UMWAIT, &YIELD, &ISB, &SB, &WFE, &SCHED_YIELD, &FUTEX, &NANOSLEEP];

const FACTS: Facts = Facts {
    mode: Mode::Throughput,
    actor: ActorRule::Median,
    run_effect: facts::on_variables,
    orders_memory: false,
    ..Facts::of(Role::WaitHint)
};

kinds! {
    /// A hint, or a call that hands over the CPU.
    entry: "one spin hint or system call by a thread with nothing to wait for", FACTS;
}

const INTEL: &str = "Intel SDM volume 2, 4.3";
const ARM: &str = "Arm Architecture Reference Manual, C6.2";

/// Cases of one thread; the study of siblings shows what its sibling takes from it.
fn cases(primitive: &Primitive, axes: &Axes) -> Vec<Case> {
    axes.in_usual_places(primitive, &[1]).cases()
}

const ON_SIBLINGS: &[Participation] = &[Participation::plain(&Smt)];

/// An instruction, executed alone and on both hardware threads of a core.
const fn instruction(id: &'static str, summary: &'static str, source: &'static str, workload: MakeWorkload) -> Entry {
    entry(id, summary, source, cases, workload).in_studies(ON_SIBLINGS)
}

/// An assembler instruction as a function, which does nothing on other architectures: there it has no cases.
macro_rules! instruction_of {
    ($architecture:literal, $($assembly:tt)+) => {
        || {
            #[cfg(target_arch = $architecture)]
            // SAFETY: the instruction waits at most for a bounded time, and changes no memory and no register beyond those named.
            unsafe {
                std::arch::asm!($($assembly)+, options(nostack));
            }
        }
    };
}

/// In theory: 9 cycles until Broadwell, about 140 since Skylake, 10 to 65 on AMD's processors: no loop of a fixed number of them
/// lasts as long on the next machine. The core leaves its issue slots to the other hardware thread meanwhile.
static PAUSE: Entry =
    instruction("cpu.wait.pause", "PAUSE, which std::hint::spin_loop compiles to on x86-64", INTEL, |_| {
        Some(bare(std::hint::spin_loop, Expected::once(&["pause"], &["isb"])))
    })
    .only_on("x86_64");

/// In theory: the core would enter a light sleep state until a deadline; as the deadline has passed, this is what the instruction
/// costs beyond its wait.
static TPAUSE: Entry =
    instruction("cpu.wait.tpause", "TPAUSE into state C0.1 with a deadline in the past", INTEL, |_| {
        let tpause = instruction_of!("x86_64", "tpause {:e}", in(reg) 1_u32, in("eax") 0_u32, in("edx") 0_u32);
        Some(bare(tpause, Expected::once(&["tpause"], &[])))
    })
    .only_on("x86_64")
    .requiring(waits_in_user_mode)
    .beyond_quick();

/// In theory: as TPAUSE, and the monitor that would end the wait when another core writes the line.
static UMWAIT: Entry = instruction(
    "cpu.wait.umwait",
    "UMONITOR on a cache line, then UMWAIT into state C0.1 with a deadline in the past",
    INTEL,
    |_| {
        let umwait = instruction_of!(
            "x86_64", "umonitor {}", "umwait {:e}", in(reg) WORD.as_ptr(), in(reg) 1_u32, in("eax") 0_u32, in("edx") 0_u32
        );
        Some(bare(umwait, Expected::once(&["umwait"], &[])))
    },
)
.only_on("x86_64")
.requiring(waits_in_user_mode)
.beyond_quick();

/// Whether the processor has TPAUSE and UMWAIT, and its host allows them.
fn waits_in_user_mode() -> Result<(), String> {
    #[cfg(target_arch = "x86_64")]
    #[allow(unused_unsafe, reason = "`__cpuid_count` became safe after the oldest supported compiler")]
    // SAFETY: every x86-64 processor has CPUID; a leaf beyond the last one is answered with other bits, so the number of the last
    // leaf is asked first.
    let has =
        unsafe { std::arch::x86_64::__cpuid(0).eax >= 7 && std::arch::x86_64::__cpuid_count(7, 0).ecx & (1 << 5) != 0 };
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    if has { Ok(()) } else { Err("the processor or its hypervisor offers no WAITPKG (TPAUSE, UMWAIT)".to_owned()) }
}

/// In theory: nothing on most cores, which have no other hardware thread to give their slots to.
static YIELD: Entry =
    instruction("cpu.wait.yield", "YIELD, AArch64's hint for cores with several hardware threads", ARM, |_| {
        Some(bare(instruction_of!("aarch64", "yield"), Expected::once(&[], &["yield"])))
    })
    .only_on("aarch64");

/// In theory: the pipeline is flushed, some 20 to 60 cycles: a delay, though not a hint, and runtimes use it in place of PAUSE.
static ISB: Entry = instruction(
    "cpu.wait.isb",
    "ISB, which std::hint::spin_loop compiles to on AArch64",
    "Arm Architecture Reference Manual, C6.2; rust-lang/rust #84725",
    |_| Some(bare(instruction_of!("aarch64", "isb"), Expected::once(&[], &["isb"]))),
)
.only_on("aarch64");

/// In theory: later instructions wait until earlier ones are no longer speculative, without the refetch of an ISB.
static SB: Entry = instruction(
    "cpu.wait.sb",
    "SB, the speculation barrier",
    ARM,
    // As a number: assemblers know the name only for processors that have it.
    |_| Some(bare(instruction_of!("aarch64", ".inst 0xd50330ff"), Expected::once(&[], &["sb"]))),
)
.only_on("aarch64")
.requiring(|| {
    #[cfg(target_arch = "aarch64")]
    let has = std::arch::is_aarch64_feature_detected!("sb");
    #[cfg(not(target_arch = "aarch64"))]
    let has = false;
    if has { Ok(()) } else { Err("the processor has no SB".to_owned()) }
});

/// In theory: a few cycles, because an event is there. Without one the core would sleep until a line that it monitors changes,
/// or until the kernel's event stream wakes it, every 100 us.
static WFE: Entry =
    instruction("cpu.wait.wfe", "SEVL, then WFE, which finds the event set and does not wait", ARM, |_| {
        Some(bare(instruction_of!("aarch64", "sevl", "wfe"), Expected::once(&[], &["wfe"])))
    })
    .only_on("aarch64");

/// In theory: a system call that asks the scheduler for another thread. Where none waits for this CPU, the caller goes on.
static SCHED_YIELD: Entry = entry(
    "cpu.wait.sched_yield",
    "std::thread::yield_now (sched_yield) with no other thread on the CPU",
    "POSIX.1-2017, sched_yield",
    cases,
    |_| Some(bare(std::thread::yield_now, IN_THE_KERNEL)),
);

/// A word that no thread writes.
static WORD: AtomicU32 = AtomicU32::new(0);

/// In theory: the way into the kernel and back, and a look at the word under the lock of a hash bucket. A thread that sleeps pays
/// at least this.
static FUTEX: Entry = entry(
    "cpu.wait.futex",
    "Futex wait that returns at once because the word does not have the expected value",
    "Linux, futex(2)",
    cases,
    |_| {
        let wait = || {
            // Cannot time out: it does not sleep.
            let _ = futex::wait(&WORD, 1, Duration::from_secs(1), Scope::Process);
        };
        Some(bare(wait, IN_THE_KERNEL))
    },
);

/// In theory: the timer's slack, 50 us by default, on top of what is asked for, and a wake-up.
static NANOSLEEP: Entry = entry(
    "cpu.wait.nanosleep",
    "std::thread::sleep for one nanosecond",
    "POSIX.1-2017, clock_nanosleep; Linux, prctl(2), PR_SET_TIMERSLACK",
    cases,
    |_| Some(bare(|| std::thread::sleep(Duration::from_nanos(1)), IN_THE_KERNEL)),
)
.waiting(Waits::Sleeps)
.beyond_quick();
