//! Loops that keep CPUs from halting: one thread at idle priority on each CPU.
//!
//! A CPU of a virtual machine that halts gives its core back to the host. Later it may get another one, and costs change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{hint, io};

use syncscope_host::scheduling;

/// More CPUs than this are not kept awake.
const MAX_THREADS: usize = 64;

/// How long the threads may take to start, and to end. At idle priority they wait for a CPU that others use.
const PATIENCE: Duration = Duration::from_secs(2);

/// Repetitions of PAUSE between two looks at the state: some microseconds.
const PAUSES: u32 = 64;

const OFF: u8 = 0;
const ON: u8 = 1;
const ENDED: u8 = 2;

/// Threads at idle priority, one bound to each CPU, that repeat PAUSE while they are switched on and sleep otherwise. They
/// give way to every thread of normal priority. They end when this is dropped.
#[derive(Debug)]
pub struct KeepAwake {
    state: Arc<AtomicU8>,
    threads: Vec<JoinHandle<()>>,
    /// Every thread sends once, when it is ready. When all have ended, no sender is left.
    started: Receiver<io::Result<()>>,
}

impl KeepAwake {
    /// Starts the threads, switched off.
    ///
    /// # Errors
    /// When a thread cannot be started, bound or given idle priority. No thread is left then: at normal priority it would
    /// disturb what is measured.
    pub fn start(cpus: &[u32]) -> io::Result<Self> {
        if cpus.len() > MAX_THREADS {
            return Err(io::Error::other(format!("more than {MAX_THREADS} CPUs")));
        }
        let (sender, started) = mpsc::channel();
        let mut loops = Self { state: Arc::new(AtomicU8::new(OFF)), threads: Vec::new(), started };
        let spawned = cpus.iter().try_for_each(|cpu| loops.spawn(*cpu, sender.clone()));
        // Only the threads hold senders from here on.
        drop(sender);
        spawned?;
        for _ in cpus {
            let ready = loops.started.recv_timeout(PATIENCE);
            ready.map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "threads of idle priority did not start"))??;
        }
        Ok(loops)
    }

    fn spawn(&mut self, cpu: u32, started: Sender<io::Result<()>>) -> io::Result<()> {
        let state = Arc::clone(&self.state);
        let builder = thread::Builder::new().name(format!("awake-{cpu}"));
        self.threads.push(builder.spawn(move || serve(cpu, &state, &started))?);
        Ok(())
    }

    /// Switches the loops on or off.
    pub fn switch(&self, on: bool) {
        self.set(if on { ON } else { OFF });
    }

    fn set(&self, state: u8) {
        self.state.store(state, Ordering::Release);
        self.threads.iter().for_each(|handle| handle.thread().unpark());
    }
}

impl Drop for KeepAwake {
    /// Ends the threads. Those that find no CPU in time end later and are not waited for.
    fn drop(&mut self) {
        self.set(ENDED);
        loop {
            match self.started.recv_timeout(PATIENCE) {
                // Of a thread that was ready after `start` gave up.
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        for handle in self.threads.drain(..) {
            // They cannot panic.
            let _ = handle.join();
        }
    }
}

/// The life of one thread.
fn serve(cpu: u32, state: &AtomicU8, started: &Sender<io::Result<()>>) {
    let ready = scheduling::bind_to_one(cpu).and_then(|()| scheduling::lower_to_idle_priority());
    let is_ready = ready.is_ok();
    if started.send(ready).is_err() || !is_ready {
        return;
    }
    loop {
        match state.load(Ordering::Acquire) {
            OFF => thread::park(),
            ON => (0..PAUSES).for_each(|_| hint::spin_loop()),
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::tests::usable_cpus;
    use std::time::Instant;
    use syncscope_host::clock;

    /// How many threads of this process are called like those of `KeepAwake`, and the CPU time that they have used.
    fn threads_and_ticks() -> (usize, u64) {
        let mut found = (0, 0);
        for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
            // A thread of another test may end meanwhile.
            let Ok(stat) = std::fs::read_to_string(task.path().join("stat")) else { continue };
            let Some((name, fields)) = stat.rsplit_once(") ") else { continue };
            if name.contains("(awake-") {
                let fields: Vec<&str> = fields.split(' ').collect();
                // Fields 14 and 15 of proc_pid_stat(5); `fields` begins with the third.
                found.0 += 1;
                found.1 += fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
            }
        }
        found
    }

    /// On a busy machine threads of this priority find no CPU to end on for a while.
    fn wait_until_all_ended() {
        let begun = Instant::now();
        while threads_and_ticks().0 > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} threads are left", threads_and_ticks().0);
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn loops_use_time_while_they_are_on_and_are_gone_after_drop() {
        let cpus = usable_cpus();
        let Ok(loops) = KeepAwake::start(&cpus) else { return };
        assert_eq!(threads_and_ticks(), (cpus.len(), 0), "switched off at first");
        loops.switch(true);
        let begun = Instant::now();
        while threads_and_ticks().1 < 2 && begun.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(threads_and_ticks().1 >= 2, "{} ticks a second", clock::ticks_per_second());
        loops.switch(false);
        let begun = Instant::now();
        drop(loops);
        assert!(begun.elapsed() < 2 * PATIENCE);
        wait_until_all_ended();
        // In the same test, because threads of another one would be counted.
        assert!(KeepAwake::start(&[cpus[0], 16_000]).is_err(), "a CPU that does not exist");
        assert!(KeepAwake::start(&[cpus[0]; MAX_THREADS + 1]).is_err());
        let running = KeepAwake::start(&cpus[..1]).unwrap();
        running.switch(true);
        drop(running);
        wait_until_all_ended();
    }
}
