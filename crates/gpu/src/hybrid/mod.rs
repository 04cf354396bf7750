//! CPU and GPU threads on one piece of the host's memory.
//!
//! The memory is mapped for the device, and the CPU caches it as any other memory. (Write-combined memory is faster to fill
//! for a device, but it is not cached: a CPU that polls it would read from memory each time.) Memory of the device cannot
//! be used by the CPU in this way.
//!
//! | file | contents |
//! |---|---|
//! | [`setup`] | what such a case needs to run |
//! | [`round_trip`] | a flag that a CPU thread and a GPU thread pass to each other |
//! | [`addition`], [`cpu_addition`] | additions to one variable by both sides, or by the CPU alone |
//! | [`variable`] | that variable, as the CPU sees it |
//! | [`cpu_threads`] | the CPU threads that take part |
//! | [`nearby_cpus`] | which CPUs are near a device |
//!
//! Start with [`round_trip`].

mod addition;
mod cpu_addition;
mod cpu_threads;
pub(crate) mod nearby_cpus;
mod round_trip;
mod setup;
mod variable;

pub(crate) use self::addition::Addition;
pub(crate) use self::cpu_addition::CpuAddition;
pub(crate) use self::round_trip::{CpuThread, RoundTrip};
pub(crate) use self::setup::Setup;
