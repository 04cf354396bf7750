//! The OpenMP runtimes of this system, loaded as libraries, and batches of shots on their threads. GCC compiles `#pragma omp
//! parallel`, `barrier` and `critical` to calls of their functions.
//!
//! GCC's libgomp defines these functions, and LLVM's libomp exports the same names. Both read their environment
//! (`OMP_WAIT_POLICY`, `GOMP_SPINCOUNT`, `KMP_BLOCKTIME`, ...) once, when they are loaded. The environment decides how their
//! threads wait, and so what their primitives cost.

#![allow(clippy::inline_always, reason = "these calls are themselves measured and must be in the timed loop")]

use std::ffi::{c_int, c_uint, c_void};
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;

use libloading::Library;
use syncscope_core::machine::LoadedLibrary;
use syncscope_core::units::plural;
use syncscope_core::{Case, Group};
use syncscope_host::loading::undisturbed;
use syncscope_host::scheduling::{AffinityGuard, CpuSet};
use syncscope_machine::system::{System, loaded_library};

use super::reports::{Batch, Shared, Stopped};
use super::team_thread::{TeamThread, bind};
use crate::sync::{Barrier, RawLock, WaitTimeout};

/// The function of a parallel region.
pub(crate) type Region = unsafe extern "C" fn(*mut c_void);

syncscope_host::functions! {
    /// The functions of a runtime, from GCC's libgomp/libgomp_g.h and omp.h, which are their binary interface.
    Functions {
        required parallel: unsafe extern "C" fn(Region, *mut c_void, c_uint, c_uint) = "GOMP_parallel",
        required set_dynamic: unsafe extern "C" fn(c_int) = "omp_set_dynamic",
        required thread_number: unsafe extern "C" fn() -> c_int = "omp_get_thread_num",
        required thread_count: unsafe extern "C" fn() -> c_int = "omp_get_num_threads",
        required barrier: unsafe extern "C" fn() = "GOMP_barrier",
        required critical_start: unsafe extern "C" fn() = "GOMP_critical_start",
        required critical_end: unsafe extern "C" fn() = "GOMP_critical_end",
        /// Of libomp only: how long the threads of the caller's later regions spin for work before they sleep.
        optional set_blocktime: unsafe extern "C" fn(c_int) = "kmp_set_blocktime",
    }
}

/// A loaded runtime.
#[derive(Debug)]
pub struct Runtime {
    /// Its name in the column `group`.
    pub name: &'static str,
    file: &'static str,
    functions: Functions,
}

/// The runtimes: the name in the column `group`, and the file names that the library may have. Intel's is LLVM's.
const KNOWN: [(&str, &[&str]); 2] =
    [("libgomp", &["libgomp.so.1"]), ("libomp", &["libomp.so.5", "libomp.so", "libiomp5.so"])];

/// The runtime of every system with GCC.
pub(crate) const USUAL: &str = KNOWN[0].0;

/// The runtimes that are installed. The first call loads them; they stay loaded, because their threads outlive a
/// region.
pub fn runtimes() -> &'static [Runtime] {
    static RUNTIMES: LazyLock<Vec<Runtime>> = LazyLock::new(|| {
        KNOWN.iter().filter_map(|(name, files)| files.iter().find_map(|file| Runtime::load(name, file))).collect()
    });
    &RUNTIMES
}

/// Whether a runtime is installed.
///
/// # Errors
/// What to install.
pub(crate) fn installed() -> Result<(), String> {
    if runtimes().is_empty() { runtime(USUAL).map(drop) } else { Ok(()) }
}

/// The runtime that the first word of a case's group names, if it is installed.
pub(crate) fn of_case(case: &Case) -> Option<&'static Runtime> {
    runtime(case.group_word().split(' ').next()?).ok()
}

/// A setting for how the threads of a runtime wait. A runtime reads it when it is loaded, so its threads run in a process of
/// their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    /// The second word of the group.
    word: &'static str,
    /// The variable that sets the policy, and its value; `None` for the default.
    set: Option<(&'static str, &'static str)>,
}

/// All variables that decide how threads wait.
const DECIDING: [&str; 4] = ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"];

/// The policies of each runtime. The last one spins for less time than the default: 10,000 rounds are some 0.1 to 0.4 ms, libomp
/// counts milliseconds.
const POLICIES: [[Policy; 4]; 2] = {
    const fn of(brief: (&'static str, &'static str)) -> [Policy; 4] {
        [
            Policy { word: "default", set: None },
            Policy { word: "active", set: Some((DECIDING[0], "active")) },
            Policy { word: "passive", set: Some((DECIDING[0], "passive")) },
            Policy { word: "brief", set: Some(brief) },
        ]
    }
    [of((DECIDING[1], "10000")), of((DECIDING[2], "1"))]
};

/// The policies of a runtime.
fn policies(runtime: &str) -> &'static [Policy] {
    &POLICIES[usize::from(runtime != USUAL)]
}

/// The policy that the second word of a case's group names.
pub(crate) fn policy_of(case: &Case) -> Option<&'static Policy> {
    let mut words = case.group_word().split(' ');
    let of_runtime = policies(words.next()?);
    let word = words.next()?;
    of_runtime.iter().find(|policy| policy.word == word)
}

impl Policy {
    /// Sets the policy for a process to be started, whatever is set for this process.
    pub(crate) fn set_for(&self, command: &mut Command) {
        for name in DECIDING {
            command.env_remove(name);
        }
        self.set.map(|(name, value)| command.env(name, value));
    }

    /// Whether its threads sleep when they wait for more than an instant.
    pub(crate) fn sleeps(&self) -> bool {
        self.word == "passive"
    }
}

/// Each case with each policy of each installed runtime; `more` follows the policy in the group.
pub(crate) fn with_every_policy(cases: &[Case], more: &str) -> Vec<Case> {
    let all = runtimes().iter().flat_map(|runtime| policies(runtime.name).iter().map(|policy| (runtime.name, policy)));
    let named = |(name, policy): (&str, &Policy)| Some(Group::of_word(&format!("{name} {}{more}", policy.word)));
    all.map(named)
        .flat_map(|group| cases.iter().map(move |case| Case { group: group.clone(), ..case.clone() }))
        .collect()
}

/// Says which runtimes are not installed, for the reader of a run that measures others.
pub(crate) fn not_found() -> Vec<String> {
    KNOWN.iter().filter_map(|(name, _)| runtime(name).err()).collect()
}

/// The runtime of this name.
///
/// # Errors
/// What to install if it is missing.
pub fn runtime(name: &str) -> Result<&'static Runtime, String> {
    runtimes().iter().find(|runtime| runtime.name == name).ok_or_else(|| not_installed(name))
}

fn not_installed(name: &str) -> String {
    let package = if name == USUAL { "libgomp1 on Debian and Ubuntu, libgomp on Fedora" } else { "libomp5" };
    format!(
        "the OpenMP runtime {name} is not installed; install it (package {package}) or add its folder to LD_LIBRARY_PATH"
    )
}

impl Runtime {
    /// Loads a runtime and never unloads it. `None` if there is no such library or it lacks a function.
    fn load(name: &'static str, file: &'static str) -> Option<Self> {
        // SAFETY: the initializers of an OpenMP runtime read the environment and the number of CPUs; both libraries are
        // made to be loaded into any program.
        let library = undisturbed(|| unsafe { Library::new(file) }).ok()?;
        let functions = Functions::of(&library).ok()?;
        // Its threads live on after the last region and need its code.
        std::mem::forget(library);
        Some(Self { name, file, functions })
    }

    /// The file that was loaded, with its version.
    pub(crate) fn library(&self, system: &System) -> Option<LoadedLibrary> {
        library(system, self.name, self.file)
    }

    /// How the runtime's threads wait, by the policy or the environment.
    pub(crate) fn waiting(&self, policy: Option<&Policy>) -> String {
        waiting(self.name, |name| match policy {
            Some(policy) => policy.set.filter(|(set, _)| *set == name).map(|(_, value)| value.to_owned()),
            None => std::env::var(name).ok(),
        })
    }

    /// `#pragma omp parallel num_threads(threads)`: runs `region(data)` on a team, the caller among it.
    ///
    /// # Safety
    /// `region` may be called with `data` on several threads at a time, and does not unwind.
    pub(crate) unsafe fn parallel(&self, region: Region, data: *mut c_void, threads: u32) {
        // SAFETY: the function takes any number of threads; 0 asks for no particular binding. The caller ensures the rest.
        unsafe {
            // As many threads as asked for, not fewer as the load suggests.
            (self.functions.set_dynamic)(0);
            (self.functions.parallel)(region, data, threads, 0);
        }
    }

    /// Sends the `threads` threads of the caller's last region to sleep. libomp's threads would spin for another 200 ms
    /// (`KMP_BLOCKTIME`), on CPUs where something else is measured by then. libgomp's threads end with the caller.
    ///
    /// The setting takes effect at the end of a region, so one more region runs, which does nothing.
    /// (`omp_pause_resource_all` is made for this, but with libomp 14 the process crashed at a later region.)
    pub(crate) fn end_spinning(&self, threads: u32) {
        unsafe extern "C" fn nothing(_data: *mut c_void) {}
        if let Some(set_blocktime) = self.functions.set_blocktime {
            // SAFETY: may be called anywhere; the region does nothing with its data.
            unsafe {
                set_blocktime(0);
                self.parallel(nothing, std::ptr::null_mut(), threads);
            }
        }
    }

    /// `#pragma omp barrier`.
    #[inline(always)]
    pub(crate) fn barrier(&self) {
        // SAFETY: may be called anywhere; outside a region the caller is a team of one.
        unsafe { (self.functions.barrier)() };
    }
}

/// The library of a runtime, whose file may have another name (`libiomp5.so` is Intel's `libomp`).
fn library(system: &System, runtime: &str, file: &str) -> Option<LoadedLibrary> {
    let (name, _) = file.split_once(".so")?;
    Some(LoadedLibrary { name: runtime.to_owned(), ..loaded_library(system, name)? })
}

/// How the threads of a runtime wait, by the variables that it reads: its own variables before the standard one, which leaves the
/// default to the runtime (libgomp 12: 300,000 rounds; libomp: 200 ms).
fn waiting(runtime: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let own: &[&str] = if runtime == USUAL { &["GOMP_SPINCOUNT"] } else { &["KMP_BLOCKTIME", "KMP_LIBRARY"] };
    let set = |name: &str| {
        Some((name.to_owned(), variable(name)?.trim().to_lowercase())).filter(|(_, value)| !value.is_empty())
    };
    match own.iter().find_map(|name| set(name)).or_else(|| set("OMP_WAIT_POLICY")) {
        Some((name, value)) => match value.as_str() {
            "passive" | "throughput" | "multiuser" | "0" => format!("waiting threads sleep at once ({name}={value})"),
            "active" | "infinite" | "infinity" => format!("waiting threads spin for ever ({name}={value})"),
            "turnaround" | "dedicated" | "serial" => format!("waiting threads spin, then sleep ({name}={value})"),
            number
                if number.len() < 20 && number.trim_end_matches(['k', 'm', 'g', 't', 's']).parse::<u64>().is_ok() =>
            {
                format!("waiting threads spin, then sleep ({name}={number})")
            }
            _ => format!("waiting threads spin, then sleep (default: {name} has no known value)"),
        },
        None => "waiting threads spin, then sleep (default)".to_owned(),
    }
}

/// Whether `threads` threads have room for stacks of the size that a variable asks for. A runtime that gets no stack ends the
/// process.
///
/// # Errors
/// Which variable asks for too much.
pub(super) fn is_room_for_stacks(threads: usize, variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let set = |name: &'static str| Some((name, variable(name)?));
    let Some((name, text)) = set("OMP_STACKSIZE").or_else(|| set("GOMP_STACKSIZE")) else { return Ok(()) };
    // A runtime ignores what is no size.
    let Some(bytes) = stack_size(&text) else { return Ok(()) };
    let gate = Mutex::new(());
    let started = thread::scope(|scope| {
        let closed = gate.lock();
        let wait = || drop(gate.lock());
        let all =
            (0..threads).try_for_each(|_| thread::Builder::new().stack_size(bytes).spawn_scoped(scope, wait).map(drop));
        drop(closed);
        all
    });
    started.map_err(|error| {
        format!("{name} is {text}, and {threads} threads with such stacks cannot be started ({error}); set it to 8M")
    })
}

/// The bytes of a size as OpenMP writes it (5.2, 21.2.2): in kilobytes where no unit is given.
fn stack_size(text: &str) -> Option<usize> {
    let text = text.trim().to_uppercase();
    let number = text.trim_end_matches(['B', 'K', 'M', 'G']);
    let shift = match text[number.len()..].trim() {
        "B" => 0,
        "" | "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    number.trim().parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// The lock of all unnamed critical sections.
#[derive(Debug)]
pub(crate) struct Critical(pub(crate) &'static Runtime);

// SAFETY: one thread at a time is in a critical section, and entering and leaving it flush (OpenMP 5.2, 15.2, 15.8.6).
unsafe impl RawLock for Critical {
    /// Each thread holds the functions itself: reading them next to the protected value would fetch the holder's line.
    type ThreadState = &'static Runtime;

    #[inline(always)]
    fn thread_state(&self, _thread: usize) -> &'static Runtime {
        self.0
    }

    #[inline(always)]
    unsafe fn lock(&self, runtime: &mut &'static Runtime) -> Result<(), WaitTimeout> {
        // SAFETY: may be called anywhere but in a critical section, where this thread is not.
        unsafe { (runtime.functions.critical_start)() };
        Ok(())
    }

    #[inline(always)]
    unsafe fn unlock(&self, runtime: &mut &'static Runtime) -> Result<(), WaitTimeout> {
        // SAFETY: the caller ensures that this thread is in a critical section.
        unsafe { (runtime.functions.critical_end)() };
        Ok(())
    }
}

/// Each case with each installed runtime; with libgomp where none is installed.
pub(crate) fn with_every_runtime(cases: &[Case]) -> Vec<Case> {
    let installed = runtimes().iter().map(|runtime| runtime.name);
    let fallback = Some(USUAL).filter(|_| runtimes().is_empty());
    let on = |name: &str| {
        let group = Some(Group::of_word(name));
        cases.iter().map(|case| Case { group: group.clone(), ..case.clone() }).collect::<Vec<_>>()
    };
    installed.chain(fallback).flat_map(on).collect()
}

// A batch of shots on the threads of a runtime. What they do in a parallel region is timed like everything else.

/// What a region's threads share.
struct Job<'a> {
    runtime: &'static Runtime,
    cpus: &'a [Option<u32>],
    /// The CPUs that unbound threads get, in place of those that the runtime's binding variables give them.
    all: Option<&'a CpuSet>,
    shared: &'a Shared,
    batch: &'a Batch,
}

/// The life of the thread that enters the regions, thread 0 of the team. Each batch of shots is one region, in which thread `i`
/// of the runtime is bound to the CPU of the team's thread `i`. If the runtime hangs, the main thread goes on.
pub(super) fn serve(runtime: &'static Runtime, cpus: &[Option<u32>], shared: &Shared, batches: &Receiver<Arc<Batch>>) {
    let mut is_first = true;
    // Read before the runtime binds this thread.
    let all = CpuSet::of_this_thread();
    for batch in batches {
        let job = Job { runtime, cpus, all: all.as_ref(), shared, batch: &batch };
        let data = (&raw const job).cast_mut().cast::<c_void>();
        // SAFETY: `region` reads the job, which is `Sync` and outlives the region, and lets no panic out.
        let run = || unsafe { runtime.parallel(region, data, cpus.len() as u32) };
        // A runtime may do in its first region what it did not when it was loaded.
        if std::mem::take(&mut is_first) { undisturbed(run) } else { run() }
    }
    runtime.end_spinning(cpus.len() as u32);
}

/// The parallel region.
///
/// # Safety
/// `data` is a [`Job`].
unsafe extern "C" fn region(data: *mut c_void) {
    // SAFETY: the caller ensures that `data` is a [`Job`].
    let job = unsafe { &*data.cast::<Job>() };
    job.take_part();
}

impl Job<'_> {
    /// One thread's part of the region.
    fn take_part(&self) {
        let Self { runtime, cpus, all, shared, batch } = self;
        let Functions { thread_number, thread_count, .. } = runtime.functions;
        // SAFETY: both may be called anywhere.
        let (number, count) = unsafe { (thread_number(), thread_count()) };
        let [thread, threads] = [number, count].map(|number| usize::try_from(number).unwrap_or_default());
        if threads != cpus.len() {
            let (name, asked) = (runtime.name, cpus.len());
            let cause = format!(
                "{name} started {} instead of {asked}; check OMP_THREAD_LIMIT, OMP_MAX_ACTIVE_LEVELS and `ulimit -u`",
                plural(threads, "thread")
            );
            shared.report(thread.min(asked - 1), Err(Stopped::Failed(cause)));
            return;
        }
        // The runtime may use its threads in another region afterwards: they get their old CPUs back.
        let _restored_at_the_end = AffinityGuard::save();
        let unbind = || all.map_or(Ok(()), CpuSet::restore).map_err(|error| Stopped::Failed(error.to_string()));
        let bound = cpus[thread].map_or_else(unbind, |cpu| bind(thread, cpu));
        let team_thread = TeamThread::here(thread, cpus[thread]);
        let report = bound.and_then(|()| team_thread.run_batch(shared, batch, &mut shared.barrier.join(thread)));
        shared.report(thread, report);
    }
}

const _: () = {
    const fn is_sync<T: Sync>() {}
    is_sync::<Job>();
};

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use syncscope_core::{Shot, Side};
    use syncscope_host::scheduling;

    use super::*;
    use crate::team::{Body, Executor, Team, TeamError, openmp};
    use crate::timing::clock::Clock;

    #[test]
    fn a_missing_runtime_is_explained() {
        assert!(runtime("libopenmp-not-installed").unwrap_err().contains("libopenmp-not-installed is not installed"));
        let packages = [("libgomp", "package libgomp1"), ("libomp", "package libomp5")];
        assert_eq!(packages.map(|(name, _)| name), KNOWN.map(|(name, _)| name));
        for (name, package) in packages {
            assert!(not_installed(name).contains(package), "{name}");
        }
        assert!(Runtime::load("libc", "libc.so.6").is_none(), "a library without the functions is no runtime");
        assert!(Runtime::load("nothing", "libopenmp-not-installed.so").is_none());
    }

    #[test]
    fn stacks_for_which_there_is_no_room_are_named() {
        let with = |text: &str| is_room_for_stacks(2, |name| (name == "OMP_STACKSIZE").then(|| text.to_owned()));
        assert_eq!([with("1M"), with("nonsense"), is_room_for_stacks(2, |_| None)], [Ok(()), Ok(()), Ok(())]);
        let error = with("100000G").unwrap_err();
        assert!(error.starts_with("OMP_STACKSIZE is 100000G, and 2 threads with such stacks"), "{error}");
        let sizes =
            [("8", Some(8 << 10)), (" 2 m", Some(2 << 20)), ("7B", Some(7)), ("1G", Some(1 << 30)), ("1T", None)];
        for (text, bytes) in sizes {
            assert_eq!(stack_size(text), bytes, "{text}");
        }
        assert_eq!(stack_size("99999999999999999999G"), None);
    }

    #[test]
    fn the_wait_policy_is_named_by_the_variable_that_decides() {
        let with = |runtime, all: &'static [(&str, &str)]| {
            waiting(runtime, |name| all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(with("libgomp", &[]), "waiting threads spin, then sleep (default)");
        assert_eq!(with("libgomp", &[("KMP_BLOCKTIME", "0")]), with("libgomp", &[]), "another runtime's");
        let passive: &[_] = &[("OMP_WAIT_POLICY", " PASSIVE ")];
        assert_eq!(with("libgomp", passive), "waiting threads sleep at once (OMP_WAIT_POLICY=passive)");
        assert_eq!(with("libomp", passive), with("libgomp", passive));
        let both: &[_] = &[("OMP_WAIT_POLICY", "passive"), ("GOMP_SPINCOUNT", "infinity"), ("KMP_BLOCKTIME", "30")];
        assert_eq!(with("libgomp", both), "waiting threads spin for ever (GOMP_SPINCOUNT=infinity)");
        assert_eq!(with("libomp", both), "waiting threads spin, then sleep (KMP_BLOCKTIME=30)");
        let library: &[_] = &[("OMP_WAIT_POLICY", "active"), ("KMP_LIBRARY", "throughput")];
        assert_eq!(with("libomp", library), "waiting threads sleep at once (KMP_LIBRARY=throughput)");
        assert_eq!(with("libgomp", library), "waiting threads spin for ever (OMP_WAIT_POLICY=active)");
        assert!(!with("libgomp", &[("OMP_WAIT_POLICY", "alice")]).contains("alice"), "rows are passed on");
    }

    /// A run says which library was measured, under whatever name it was found.
    #[test]
    fn every_known_runtime_is_described() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        for (runtime, files) in KNOWN {
            for file in files {
                let maps = format!("7f00-7f01 r-xp 0 fe:00 1 /usr/lib/{file}.0\n");
                std::fs::write(root.path().join("proc/self/maps"), maps).unwrap();
                let found = library(&System::at(root.path()), runtime, file).map(|found| (found.name, found.file));
                assert_eq!(found, Some((runtime.to_owned(), format!("/usr/lib/{file}.0"))));
            }
        }
    }

    /// Otherwise a row that names a policy would be measured with what a site has set, and not say so.
    #[test]
    fn a_policy_takes_the_place_of_every_variable_that_decides() {
        let passive = &policies(USUAL)[2];
        for (runtime, _) in KNOWN {
            let read = std::cell::RefCell::new(Vec::new());
            waiting(runtime, |name| {
                read.borrow_mut().push(name.to_owned());
                None
            });
            let mut command = Command::new("nothing");
            for name in read.borrow().iter() {
                command.env(name, "7");
            }
            passive.set_for(&mut command);
            for (name, value) in command.get_envs() {
                let of_policy = (name == "OMP_WAIT_POLICY").then_some(std::ffi::OsStr::new("passive"));
                assert_eq!(value, of_policy, "{name:?}");
            }
        }
    }

    #[test]
    fn the_group_names_the_runtime_and_its_policy() {
        let of =
            |group: &str| policy_of(&Case { group: Some(Group::of_word(group)), ..Case::new("cpu.openmp.barrier") });
        assert_eq!(of("libgomp"), None, "that of this process");
        let passive = of("libgomp passive gap 20 us").unwrap();
        assert!(passive.sleeps() && !of("libomp active").unwrap().sleeps());
        let cases = with_every_policy(&[Case::new("cpu.openmp.barrier")], "");
        assert_eq!(cases.len(), 4 * runtimes().len());
        assert!(cases.iter().all(|case| of_case(case).is_some() && policy_of(case).is_some()));
        for runtime in runtimes() {
            assert_eq!(runtime.waiting(Some(passive)), "waiting threads sleep at once (OMP_WAIT_POLICY=passive)");
        }
    }

    const LIMIT: Duration = Duration::from_secs(20);

    /// Checks the CPU of each thread and that all arrive at the runtime's barrier.
    struct Arrivals {
        runtime: &'static Runtime,
        arrived: AtomicU64,
        cpu: Option<u32>,
    }

    impl Body for Arrivals {
        fn prepare(&self, _: &Shot, _: usize) {}
        fn run(&self, _: &Shot, _: usize) {
            self.arrived.fetch_add(1, Ordering::Relaxed);
            self.runtime.barrier();
        }
        fn verify(&self, shot: &Shot, thread: usize) -> Result<(), String> {
            let arrived = self.arrived.load(Ordering::Relaxed);
            let there = arrived >= 3 * (shot.pair + 1) && scheduling::current_cpu() == self.cpu;
            if there { Ok(()) } else { Err(format!("{thread} found {arrived} on {:?}", scheduling::current_cpu())) }
        }
    }

    #[test]
    fn the_threads_of_every_runtime_are_bound() {
        let clock = Clock::calibrate();
        for runtime in openmp::runtimes() {
            for cpu in syncscope_host::scheduling::allowed_cpus() {
                let mut team = Team::of_runtime(runtime, &[Some(cpu); 3], &clock).unwrap();
                for _ in 0..2 {
                    let body: Arc<dyn Body> =
                        Arc::new(Arrivals { runtime, arrived: AtomicU64::new(0), cpu: Some(cpu) });
                    let shots = [0, 1].map(|pair| Shot { side: Side::Test, iterations: 1, pair });
                    let records = team.run(&body, &shots, LIMIT).unwrap();
                    assert_eq!(records.iter().map(Vec::len).collect::<Vec<_>>(), [2; 3]);
                    assert_eq!(records.iter().flatten().find_map(|record| record.defect.clone()), None);
                }
            }
        }
    }

    #[test]
    fn a_thread_that_cannot_be_bound_is_an_error() {
        for runtime in openmp::runtimes() {
            let mut team = Team::of_runtime(runtime, &[None, Some(16_000)], &Clock::calibrate()).unwrap();
            let body: Arc<dyn Body> = Arc::new(Arrivals { runtime, arrived: AtomicU64::new(0), cpu: None });
            let error = team.run(&body, &[], LIMIT).unwrap_err();
            assert!(error.to_string().contains("thread 1 to CPU 16000"), "{error}");
            assert!(!team.is_fit());
        }
    }

    /// One thread never reaches the runtime's barrier.
    struct Missing(&'static Runtime);

    impl Body for Missing {
        fn prepare(&self, _: &Shot, _: usize) {}
        fn run(&self, _: &Shot, thread: usize) {
            if thread == 0 {
                std::thread::sleep(Duration::from_secs(1));
            }
            self.0.barrier();
        }
        fn verify(&self, _: &Shot, _: usize) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn a_region_that_does_not_end_times_out() {
        for runtime in openmp::runtimes() {
            let limit = Duration::from_millis(50);
            let mut team = Team::of_runtime(runtime, &[None, None], &Clock::calibrate()).unwrap();
            let body: Arc<dyn Body> = Arc::new(Missing(runtime));
            let error = team.run(&body, &[Shot { side: Side::Test, iterations: 1, pair: 0 }], limit).unwrap_err();
            assert!(matches!(error, TeamError::TimedOut(waited) if waited >= limit), "{error}");
            assert_eq!(team.run(&body, &[], limit), Err(TeamError::Poisoned));
        }
    }
}
