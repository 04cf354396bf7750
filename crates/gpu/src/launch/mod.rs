//! Launches kernels and reads their results.
//!
//! A kernel gets one structure by value and leaves words in device memory: how long each warp took in cycles, and the length of
//! the launch by two clocks. This folder launches kernels in batches, waits for them with a limit, and turns the words into
//! samples.
//!
//! | file | contents |
//! |---|---|
//! | [`arguments`] | the structures that host and kernels share, as in `kernels/arguments.cuh` |
//! | [`headers`] | the headers that kernels include |
//! | [`compilers`] | which devices are requested, and the compilers for them |
//! | [`samples`] | the results of launches, and the samples made of them |
//! | [`mod@bench`] | launches; one device with everything they need; runs batches of launches, with blocks in a chosen order |
//! | [`device_context`] | the context, the stream and the buffers of one device |
//! | [`runner`] | launches on one or several devices, waits with a limit, aborts; why a batch gave no results; tested without a GPU |
//! | [`offsets`] | which memory offsets the samples of a case use |
//! | [`ruler`] | the multiprocessor's clock: frequency and cost of a reading |
//! | [`host_clock`] | the host's clock, for what no device clock sees |
//!
//! Start with [`mod@bench`].

pub(crate) mod arguments;
pub(crate) mod bench;
pub(crate) mod compilers;
pub(crate) mod device_context;
pub(crate) mod headers;
pub(crate) mod host_clock;
pub(crate) mod offsets;
pub(crate) mod ruler;
pub(crate) mod runner;
pub(crate) mod samples;
