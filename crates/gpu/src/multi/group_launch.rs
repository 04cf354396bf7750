//! One launch on every device of a group.

use std::time::Duration;

use crate::cuda::driver::{Function, Part, launch_together};
use crate::cuda::error::CudaError;
use crate::launch::arguments::GridBarrierArguments;
use crate::launch::block_order::{BlockOrder, Idle};
use crate::launch::device_context::DeviceContext;
use crate::launch::request::Shape;
use crate::launch::runner::{Launches, LaunchesTogether};

/// A wait inside a kernel that lasts longer has failed. The limit is longer than the devices need to begin, even if one
/// has to load its kernel first.
pub(crate) const LIMIT: Duration = Duration::from_secs(1);

/// How grids are launched on several devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchCall {
    /// One call for each device.
    PerDevice,
    /// The same, in clusters of so many blocks. The call does not guarantee that all blocks run at the same time; the
    /// driver's occupancy says that they fit, and the device has nothing else to do.
    InClusters(u32),
    /// One call for all.
    Together,
}

impl LaunchCall {
    /// Blocks of a cluster; 0: no clusters.
    pub(crate) const fn cluster(self) -> u32 {
        match self {
            Self::InClusters(blocks) => blocks,
            Self::PerDevice | Self::Together => 0,
        }
    }
}

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
    pub(crate) arguments: GridBarrierArguments,
    /// Where the state of its barrier begins, in bytes from the first offset.
    pub(crate) offset: usize,
    /// In which order blocks are assigned to the multiprocessors of each device.
    pub(crate) order: BlockOrder,
}

/// The part of a group launch on one device, with all addresses in its arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberLaunch {
    pub(super) function: Function,
    pub(super) shape: Shape,
    pub(super) arguments: GridBarrierArguments,
    pub(super) order: BlockOrder,
    /// The kernel that sets the order.
    pub(super) idle: Idle,
}

impl MemberLaunch {
    /// The same, as part of one call for several devices.
    const fn part<'a>(&self, device: &'a DeviceContext) -> Part<'a, GridBarrierArguments> {
        Part { stream: device.stream(), function: self.function, arguments: self.arguments }
    }
}

impl Launches<MemberLaunch> for DeviceContext {
    fn order_blocks(&self, launch: &MemberLaunch) -> Result<(), CudaError> {
        launch.order.queue(self.stream(), launch.idle)
    }

    fn launch(&self, launch: &MemberLaunch) -> Result<(), CudaError> {
        let Shape { blocks, threads } = launch.shape;
        if launch.function.is_in_clusters() {
            return self.stream().launch(launch.function, blocks, threads, &launch.arguments);
        }
        self.stream().launch_cooperatively(launch.function, blocks, threads, &launch.arguments)
    }
}

impl LaunchesTogether<MemberLaunch> for DeviceContext {
    fn launch_together(devices: &[Self], launches: &[MemberLaunch]) -> Result<(), CudaError> {
        let Some(MemberLaunch { shape: Shape { blocks, threads }, .. }) = launches.first() else { return Ok(()) };
        let parts: Vec<Part<'_, GridBarrierArguments>> =
            devices.iter().zip(launches).map(|(device, launch)| launch.part(device)).collect();
        launch_together(&parts, *blocks, *threads)
    }
}
