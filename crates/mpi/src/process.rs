//! The life of one process that a launcher started, and the watchdog that ends the process when a call that waits for
//! other processes does not return: MPI does not report that a process has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use syncscope_core::Cancel;
use syncscope_host::clock::process_cpu_time;
use syncscope_host::scheduling::{self, CpuSet};

use crate::library::{Place, ShimLibrary};
use crate::member::Member;
use crate::message::Message;
use crate::world::{Process, World};
use crate::wrapper::{self, Family};
use syncscope_cpu::timing::clock::Clock;

/// The limit for the start: large machines take a minute to start all processes.
const START: Duration = Duration::from_secs(120);

/// The limit for a batch, which takes a tenth of a second, and more where processes share CPUs.
const BATCH: Duration = Duration::from_secs(60);

/// The limit for the next message: rank 0 may inspect the machine between two messages.
const MESSAGE: Duration = Duration::from_secs(300);

/// How long a process that waits for a message keeps its CPU, so that it takes part at once.
const AWAKE: Duration = Duration::from_millis(2);

/// The time between two looks for a message after [`AWAKE`].
const NAP: Duration = Duration::from_micros(100);

/// The number of phases in the proof of a barrier.
const PHASES: usize = 64;

/// This process as one of several.
#[derive(Debug)]
pub struct MpiProcess {
    pub(crate) shim: ShimLibrary,
    pub(crate) clock: Clock,
    /// The CPUs that the launcher and the library left to this process; `None` where the system does not say.
    cpus: Option<CpuSet>,
    pub(crate) world: World,
    pub(crate) rank: u32,
    watchdog: Watchdog,
    /// This process's membership by slot number; `None` where it is not a member.
    pub(crate) slots: Vec<Option<Member>>,
    /// The command that compiled the shim.
    pub(crate) compiled_by: String,
    /// This process's CPU time when all processes had joined.
    spent: Duration,
}

impl MpiProcess {
    /// Joins the other processes of a run with `size` processes. Call it on the main thread. When others do not answer,
    /// or do not answer after `cancel`, `lost` is called with a reason on another thread, and the process ends with
    /// exit code 1.
    ///
    /// # Errors
    /// If something is missing, or the MPI library reports an error.
    pub fn start(
        family: Family,
        size: u32,
        cancel: Cancel,
        lost: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, String> {
        let shim = wrapper::shim(family, &cancel)?;
        let compiled_by = shim.command.clone();
        let shim = ShimLibrary::load(&shim)?;
        let watchdog = Watchdog::start(cancel, lost)?;
        // Read before the library may bind the thread.
        let cpus = scheduling::allowed_cpus();
        let clock = Clock::calibrate();
        let place = watchdog.during(START, || shim.start())?;
        let Place { rank, node, .. } = joined(place, size, &shim.version())?;
        let own = Process { node, clock_hz: clock.ruler().frequency.value(), cpus }.to_words();
        let words = watchdog.during(BATCH, || shim.collect(&own, size as usize))?;
        let world = World { processes: words.as_chunks().0.iter().map(Process::from_words).collect() };
        let cpus = CpuSet::of_this_thread();
        Ok(Self { shim, clock, cpus, world, rank, watchdog, slots: Vec::new(), compiled_by, spent: process_cpu_time() })
    }

    /// Takes part in what rank 0 measures, until rank 0 is done.
    ///
    /// # Errors
    /// If the MPI library reports an error, or rank 0 has another version.
    pub fn follow(mut self) -> Result<(), String> {
        loop {
            let message = self.receive()?;
            self.act(&message)?;
            if message == Message::End {
                return self.finish();
            }
        }
    }

    /// On rank 0: has all processes do what the message says, takes part itself, and returns what the slot's members
    /// report, one after the other; at the end, the CPU time of each process in nanoseconds.
    pub(crate) fn order(&mut self, message: &Message) -> Result<Vec<i64>, String> {
        let words = message.to_words()?;
        self.watchdog.during(BATCH, || self.shim.send(&words))?;
        self.act(message)
    }

    fn receive(&mut self) -> Result<Message, String> {
        self.shim.begin_receive()?;
        let shim = &self.shim;
        let words = self.watchdog.during(MESSAGE, || {
            let started = Instant::now();
            loop {
                if let Some(words) = shim.received()? {
                    return shim.send(&words).map(|()| words);
                }
                if started.elapsed() < AWAKE { thread::yield_now() } else { thread::sleep(NAP) }
            }
        })?;
        Message::from_words(&words).ok_or_else(|| {
            "rank 0 sent a message that this version does not know: start one version on all nodes".to_owned()
        })
    }

    /// Does what a message says.
    fn act(&mut self, message: &Message) -> Result<Vec<i64>, String> {
        let tick = self.tick();
        let Self { watchdog, shim, clock, cpus, world, slots, rank, .. } = self;
        match message {
            Message::End => {
                let spent = process_cpu_time().saturating_sub(self.spent).as_nanos() as i64;
                watchdog.during(BATCH, || shim.collect(&[spent], world.processes.len()))
            }
            Message::Prepare { slot, team } => {
                let members = world.members(*team).unwrap_or_default();
                let size = u32::try_from(members.len()).unwrap_or(0);
                let place = (0..size).zip(&members).find(|(_, member)| *member == rank).map(|(place, _)| place);
                slots.push(place.map(|place| Member { slot: *slot, place, size, tick }));
                watchdog.during(BATCH, || shim.prepare(*slot, place)).map(|()| Vec::new())
            }
            Message::Run { slot, call, loops } => {
                let Some(member) = member(slots, *slot) else { return Ok(Vec::new()) };
                watchdog.during(BATCH, || {
                    let own = member.run(shim, clock, cpus.as_ref(), *call, loops)?;
                    shim.gather(*slot, &own, member.size)
                })
            }
            Message::Prove { slot } => {
                let Some(member) = member(slots, *slot) else { return Ok(Vec::new()) };
                watchdog.during(BATCH, || shim.gather(*slot, &shim.phases(*slot, PHASES)?, member.size))
            }
        }
    }

    /// Ticks of rank 0's clock per tick of this process's clock. Processes on one node share a clock.
    fn tick(&self) -> f64 {
        let of = |rank: u32| self.world.processes.get(rank as usize);
        match (of(0), of(self.rank)) {
            (Some(first), Some(own)) if first.node != own.node => first.clock_hz / own.clock_hz,
            _ => 1.0,
        }
    }

    /// Leaves MPI. All processes do so together.
    pub(crate) fn finish(&self) -> Result<(), String> {
        self.watchdog.during(BATCH, || self.shim.finish())
    }
}

/// This process's membership of a slot.
pub(crate) fn member(slots: &[Option<Member>], slot: i32) -> Option<Member> {
    usize::try_from(slot).ok().and_then(|slot| *slots.get(slot)?)
}

/// Fails unless the library knows as many processes as the launcher started.
fn joined(place: Place, size: u32, version: &str) -> Result<Place, String> {
    if place.size == size {
        return Ok(place);
    }
    let name = short_version(version);
    Err(format!(
        "{name} counts {} processes, the launcher started {size}: they are not of the same MPI; put its mpicc first in PATH, \
         or name it in SYNCSCOPE_MPICC",
        place.size
    ))
}

/// `Open MPI v4.1.4` or `MPICH 4.0.2`, from the several lines that the library returns.
pub(crate) fn short_version(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let name = first.split(',').next().unwrap_or_default().replace("Version:", " ");
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The time between two looks. The watchdog counts looks, not time, so that a process that was stopped waits on.
const LOOK: Duration = Duration::from_millis(100);

/// Launchers ask processes to end when another has ended, and kill them a second later.
const AFTER_CANCEL: Duration = Duration::from_millis(400);

/// The value while nothing waits.
const IDLE: u64 = u64::MAX;

/// Watches this process's waits.
#[derive(Debug)]
struct Watchdog {
    /// The looks that are left for the current wait.
    left: Arc<AtomicU64>,
}

impl Watchdog {
    /// Starts to watch. A wait that is too long, or that goes on after `cancel`, is a loss: `lost` gets the reason, and
    /// the process ends.
    fn start(cancel: Cancel, lost: impl Fn(&str) + Send + 'static) -> Result<Self, String> {
        let left = Arc::new(AtomicU64::new(IDLE));
        let watched = Arc::clone(&left);
        let watch = move || {
            let mut after_cancel = looks(AFTER_CANCEL);
            loop {
                thread::sleep(LOOK);
                if let Some(reason) = look(&watched, cancel.is_cancelled(), &mut after_cancel) {
                    lost(reason);
                    // The MPI library's exit handlers would wait for the lost process as well.
                    syncscope_host::exit_at_once(1);
                }
            }
        };
        let name = thread::Builder::new().name("watchdog".to_owned());
        name.spawn(watch).map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(Self { left })
    }

    /// Runs `wait`, which may take as long as `limit`.
    fn during<T>(&self, limit: Duration, wait: impl FnOnce() -> T) -> T {
        self.left.store(looks(limit), Ordering::Relaxed);
        let result = wait();
        self.left.store(IDLE, Ordering::Relaxed);
        result
    }
}

const fn looks(time: Duration) -> u64 {
    (time.as_millis() / LOOK.as_millis()) as u64
}

/// Looks at the current wait once, and returns why it is given up, if it is.
fn look(left: &AtomicU64, is_cancelled: bool, after_cancel: &mut u64) -> Option<&'static str> {
    let now = left.load(Ordering::Relaxed);
    if now == IDLE {
        *after_cancel = looks(AFTER_CANCEL);
        return None;
    }
    if now == 0 {
        return Some("the other processes do not answer; one of them may have ended");
    }
    // If the wait has just ended, `left` has another value, which stays.
    let _ = left.compare_exchange(now, now - 1, Ordering::Relaxed, Ordering::Relaxed);
    if !is_cancelled {
        return None;
    }
    if *after_cancel == 0 {
        return Some("asked to stop while it waited for the other processes; one of them may have ended");
    }
    *after_cancel -= 1;
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_shortened() {
        let open_mpi = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
        assert_eq!(short_version(open_mpi), "Open MPI v4.1.4");
        assert_eq!(short_version("MPICH Version:      4.0.2\nMPICH Release date: x"), "MPICH 4.0.2");
        assert_eq!(short_version("MPI library of unknown version"), "MPI library of unknown version");
    }

    #[test]
    fn another_mpi_than_the_launchers_is_an_error() {
        let place = Place { rank: 0, size: 1, node: 0 };
        let error = joined(place, 4, "MPICH Version: 4.0.2").unwrap_err();
        assert!(error.starts_with("MPICH 4.0.2 counts 1 processes, the launcher started 4"), "{error}");
        assert!(joined(Place { size: 4, ..place }, 4, "").is_ok());
    }

    #[test]
    fn a_wait_is_given_up_after_its_limit() {
        let (left, mut after_cancel) = (AtomicU64::new(2), 4);
        assert_eq!([(); 2].map(|()| look(&left, false, &mut after_cancel)), [None, None]);
        assert!(look(&left, false, &mut after_cancel).unwrap().contains("do not answer"));
    }

    #[test]
    fn a_request_to_stop_shortens_a_wait_and_concerns_no_other_time() {
        let (idle, waiting, mut after_cancel) = (AtomicU64::new(IDLE), AtomicU64::new(1000), 2);
        assert!((0..50).all(|_| look(&idle, true, &mut after_cancel).is_none()));
        let given_up = (0..50).position(|_| look(&waiting, true, &mut after_cancel).is_some());
        assert_eq!(given_up, Some(looks(AFTER_CANCEL) as usize));
    }

    #[test]
    fn waits_end_the_watch() {
        let watchdog = Watchdog::start(Cancel::new(), |_| {}).unwrap();
        assert!(watchdog.during(Duration::from_secs(60), || watchdog.left.load(Ordering::Relaxed) <= 600));
        assert_eq!(watchdog.left.load(Ordering::Relaxed), IDLE);
    }
}
