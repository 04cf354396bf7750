//! Ends the process when a call that waits for other processes does not return: one of them may have ended, and MPI says
//! nothing of that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use syncscope_core::Cancel;

/// The time between two looks. Looks are counted, not the time: a process that was stopped waits on.
const LOOK: Duration = Duration::from_millis(100);

/// Launchers ask processes to end when another has ended, and kill them a second later.
const AFTER_CANCEL: Duration = Duration::from_millis(400);

/// Nobody waits.
const IDLE: u64 = u64::MAX;

/// Watches the waits of this process.
#[derive(Debug)]
pub(super) struct Watchdog {
    /// Looks that are left of the current wait.
    left: Arc<AtomicU64>,
}

impl Watchdog {
    /// Watches from now on. A wait that is too long, or that goes on after `cancel`, is a loss: `lost` says so, and the
    /// process ends.
    pub(super) fn start(cancel: Cancel, lost: impl Fn(&str) + Send + 'static) -> Result<Self, String> {
        let left = Arc::new(AtomicU64::new(IDLE));
        let watched = Arc::clone(&left);
        let watch = move || {
            let mut after_cancel = looks(AFTER_CANCEL);
            loop {
                thread::sleep(LOOK);
                if let Some(reason) = look(&watched, cancel.is_cancelled(), &mut after_cancel) {
                    lost(reason);
                    // What the exit handlers of the MPI library do would wait for the lost process as well.
                    syncscope_host::exit_at_once(1);
                }
            }
        };
        let name = thread::Builder::new().name("watchdog".to_owned());
        name.spawn(watch).map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(Self { left })
    }

    /// Waits by `wait`, which may take as long as `limit`.
    pub(super) fn during<T>(&self, limit: Duration, wait: impl FnOnce() -> T) -> T {
        self.left.store(looks(limit), Ordering::Relaxed);
        let result = wait();
        self.left.store(IDLE, Ordering::Relaxed);
        result
    }
}

const fn looks(time: Duration) -> u64 {
    (time.as_millis() / LOOK.as_millis()) as u64
}

/// One look at the current wait: why it is given up, if so.
fn look(left: &AtomicU64, is_cancelled: bool, after_cancel: &mut u64) -> Option<&'static str> {
    let now = left.load(Ordering::Relaxed);
    if now == IDLE {
        *after_cancel = looks(AFTER_CANCEL);
        return None;
    }
    if now == 0 {
        return Some("the other processes do not answer; one of them may have ended");
    }
    // If the wait has just ended, the value is another one and stays.
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
