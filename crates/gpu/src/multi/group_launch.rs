//! One launch on every device of a group.

use std::time::Duration;

use crate::launch::arguments::Arguments;
use crate::launch::block_order::BlockOrder;

/// A wait inside a kernel that lasts longer has failed. The limit is longer than the devices need to begin, even if one
/// has to load its kernel first.
pub(crate) const LIMIT: Duration = Duration::from_secs(1);

/// One of the kernels of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Baseline,
    Test,
    Check,
}

/// One launch on every device. The group fills in the addresses in the arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupLaunch {
    pub(crate) role: Role,
    pub(crate) arguments: Arguments,
    /// Where the state of its barrier begins, in bytes from the first offset.
    pub(crate) offset: usize,
    /// In which order blocks are assigned to the multiprocessors of each device.
    pub(crate) order: BlockOrder,
}
