//! One process among those that a launcher started, from start to end.

use std::thread;
use std::time::{Duration, Instant};

use syncscope_core::Cancel;
use syncscope_host::scheduling;

use super::laboratory::MpiLaboratory;
use super::library::{Place, ShimLibrary};
use super::member::Member;
use super::message::Message;
use super::watchdog::Watchdog;
use super::world::{PROCESS_WORDS, Process, World};
use super::wrapper::{self, Family};
use crate::timing::clock::Clock;

/// Large machines take a minute to start all processes.
const START: Duration = Duration::from_secs(120);

/// A batch takes a tenth of a second, and more where processes share CPUs.
const BATCH: Duration = Duration::from_secs(60);

/// Between two messages rank 0 may inspect the machine.
const MESSAGE: Duration = Duration::from_secs(300);

/// So long a process that waits for a message keeps its CPU, so that it takes part at once.
const AWAKE: Duration = Duration::from_millis(2);

/// Time between two looks for a message after that.
const NAP: Duration = Duration::from_micros(100);

/// Phases of the proof of a barrier.
const PHASES: usize = 64;

/// The part of a process in a common run.
pub enum Started {
    /// Rank 0, which measures.
    First(Box<MpiLaboratory>),
    /// A process that takes part.
    Other(Box<MpiProcess>),
}

/// This process as one of several.
#[derive(Debug)]
pub struct MpiProcess {
    shim: ShimLibrary,
    pub(super) clock: Clock,
    pub(super) world: World,
    rank: u32,
    watchdog: Watchdog,
    /// By the number of the slot; `None` where this process is no member.
    slots: Vec<Option<Member>>,
    /// The command that compiled the shim.
    pub(super) compiled_by: String,
}

impl MpiProcess {
    /// Joins the other processes of a run, of which there are `size`. Call it on the main thread. When others do not answer,
    /// or do not answer after `cancel`, `lost` is called with a reason on another thread, and the process ends with exit
    /// code 1.
    ///
    /// # Errors
    /// What is missing, or what the MPI library says.
    pub fn start(
        family: Family,
        size: u32,
        cancel: Cancel,
        lost: impl Fn(&str) + Send + 'static,
    ) -> Result<Started, String> {
        let shim = wrapper::shim(family, &cancel)?;
        let compiled_by = shim.command.clone();
        let shim = ShimLibrary::load(&shim)?;
        let watchdog = Watchdog::start(cancel, lost)?;
        // Read before the library may bind the thread.
        let cpus = scheduling::allowed_cpus();
        let clock = Clock::calibrate();
        let place = watchdog.during(START, || shim.start())?;
        let Place { rank, node, .. } = joined(place, size, &shim.version())?;
        let own = Process::new(node, clock.ruler().frequency.value(), cpus).to_words();
        let words = watchdog.during(BATCH, || shim.collect(&own, size as usize))?;
        let world = World { processes: words.chunks_exact(PROCESS_WORDS).map(Process::from_words).collect() };
        let process = Self { shim, clock, world, rank, watchdog, slots: Vec::new(), compiled_by };
        Ok(if rank == 0 {
            Started::First(Box::new(MpiLaboratory::new(process)))
        } else {
            Started::Other(Box::new(process))
        })
    }

    /// Takes part in what rank 0 measures, until that is done.
    ///
    /// # Errors
    /// When the MPI library reports one, or rank 0 is of another version.
    pub fn follow(mut self) -> Result<(), String> {
        loop {
            match self.receive()? {
                Message::End => return self.finish(),
                message => drop(self.act(&message)?),
            }
        }
    }

    /// Name and version of the MPI library, as it says itself.
    pub(super) fn version(&self) -> String {
        self.shim.version()
    }

    /// This process as a member of a slot.
    pub(super) fn member(&self, slot: i32) -> Option<Member> {
        usize::try_from(slot).ok().and_then(|slot| *self.slots.get(slot)?)
    }

    /// Rank 0: has all processes do this, takes part itself, and returns what the members of the slot report, one after
    /// the other.
    pub(super) fn order(&mut self, message: &Message) -> Result<Vec<i64>, String> {
        self.watchdog.during(BATCH, || self.shim.send(&message.to_words()))?;
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
        match message {
            Message::End => Ok(Vec::new()),
            Message::Prepare { slot, team } => {
                let members = self.world.members(*team).unwrap_or_default();
                let size = u32::try_from(members.len()).unwrap_or(0);
                let place = (0..size).zip(&members).find(|(_, rank)| **rank == self.rank).map(|(place, _)| place);
                let member = place.map(|place| Member { slot: *slot, place, size, tick: self.tick() });
                self.slots.push(member);
                let Self { watchdog, shim, .. } = self;
                watchdog.during(BATCH, || shim.prepare(*slot, place)).map(|()| Vec::new())
            }
            Message::Run { slot, call, loops } => {
                let Some(member) = self.member(*slot) else { return Ok(Vec::new()) };
                let Self { watchdog, shim, clock, .. } = self;
                watchdog.during(BATCH, || {
                    let own = member.run(shim, clock, *call, loops)?;
                    shim.gather(*slot, &own, member.size)
                })
            }
            Message::Prove { slot } => {
                let Some(member) = self.member(*slot) else { return Ok(Vec::new()) };
                let Self { watchdog, shim, .. } = self;
                watchdog.during(BATCH, || shim.gather(*slot, &shim.phases(*slot, PHASES)?, member.size))
            }
        }
    }

    /// Ticks of rank 0's clock in a tick of this process. Processes of one node have the same clock.
    fn tick(&self) -> f64 {
        let of = |rank: u32| self.world.processes.get(rank as usize);
        match (of(0), of(self.rank)) {
            (Some(first), Some(own)) if first.node != own.node => first.clock_hz / own.clock_hz,
            _ => 1.0,
        }
    }

    /// Leaves the other processes, all of which do so.
    pub(super) fn finish(&self) -> Result<(), String> {
        self.watchdog.during(BATCH, || self.shim.finish())
    }
}

/// Fails if the library does not know the launcher's other processes.
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

/// `Open MPI v4.1.4` or `MPICH 4.0.2`, from what the library says in several lines.
pub(super) fn short_version(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let name = first.split(',').next().unwrap_or_default().replace("Version:", " ");
    name.split_whitespace().collect::<Vec<_>>().join(" ")
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
}
