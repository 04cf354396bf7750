//! Runs launches on one device or on several, waits for them with a limit, and decides what can run afterwards.
//!
//! One device is a group of one: the same code waits for both. The runner reaches a device through the trait
//! [`DeviceQueue`] and its extensions, and reads the time through the trait [`clock::Clock`]. Tests replace both, so they need no GPU and no sleep.
//!
//! ```text
//!            launch, fetch            done within the limit
//! Usable ---------------------> wait -----------------------> Usable, results can be read
//!   ^      |                     |  |
//!   |      | a call fails        |  | a query reports the error of a kernel
//!   |      +-----> Poisoned <-------+
//!   |                            | the limit passes: the abort flag is raised on all devices
//!   |                            v
//!   +---- done within the grace period: timed out, and the context works
//!                                |
//!                                +--> not done: timed out, and the device is Occupied
//! ```
//!
//! A poisoned context is destroyed and replaced. The contexts of an occupied device are never destroyed, as this would
//! wait for a kernel that does not end: they are leaked until the process ends.
//!
//! | file | contents |
//! |---|---|
//! | [`device_runner`] | the runner: launch, fetch, wait, abort, grace period, health, drop |
//! | [`device_queue`] | what the runner asks of a device |
//! | [`clock`] | how the runner reads the time and pauses between two queries |
//! | `fake` | a device and a clock that follow a script, for tests |
//!
//! Start with [`device_runner`].

mod clock;
mod device_queue;
mod device_runner;
#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;

pub(crate) use device_queue::{DeviceQueue, Launches, LaunchesTogether};
pub(crate) use device_runner::Runner;
