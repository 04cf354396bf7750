//! The ways in which the host waits for the work queued in a stream.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::catalogue::HostWait;
use crate::cuda::driver::{Context, Event, HostBuffer, Stream, host_calls};
use crate::cuda::error::Called;
use crate::launch::runner::{HostClock, poll};

/// Kernels end by themselves; after this time the device is not running them.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// The objects that the ways to wait need.
#[derive(Debug)]
pub(crate) struct Waiter {
    event: Event,
    /// The word that the stream writes and the host reads, and the last value that was written.
    signal: HostBuffer,
    written: Cell<u32>,
}

impl Waiter {
    pub(crate) fn new(context: &Context, wait: HostWait) -> Called<Self> {
        let event = match wait {
            HostWait::BlockingEvent => Event::blocking(context)?,
            _ => Event::new(context)?,
        };
        Ok(Self { event, signal: HostBuffer::new(context, 1)?, written: Cell::new(0) })
    }

    /// Waits for the work in the stream in this way. A kernel that exceeds the limit is found after the chain.
    pub(crate) fn wait(&self, wait: HostWait, stream: &Stream) -> Called {
        let next = self.written.get().wrapping_add(1);
        let until = |is_done: &dyn Fn() -> Called<bool>| poll(&HostClock, LIMIT, LIMIT, is_done).map(drop);
        match wait {
            HostWait::Stream(_) => stream.synchronize(),
            HostWait::AskingStream => until(&|| stream.is_done()),
            HostWait::BlockingEvent => {
                stream.record(&self.event)?;
                self.event.synchronize()
            }
            HostWait::AskingEvent => {
                stream.record(&self.event)?;
                until(&|| self.event.is_reached())
            }
            HostWait::Word => {
                stream.write_to_host(&self.signal, next)?;
                self.written.set(next);
                until(&|| Ok(self.signal.atomic_u32(0).load(Ordering::Acquire) == next))
            }
            HostWait::Function => {
                let before = host_calls();
                stream.count_on_host()?;
                until(&|| Ok(host_calls() != before))
            }
        }
    }
}
