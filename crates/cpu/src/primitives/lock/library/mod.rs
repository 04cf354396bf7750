//! Mutexes of libraries and runtimes. Start with `std_mutex.rs`.

pub(super) mod openmp_critical;
pub(super) mod parking_lot_fair;
pub(super) mod parking_lot_mutex;
pub(super) mod pthread_mutex;
pub(super) mod pthread_spin;
pub(super) mod std_mutex;
