//! The claims that the experiment can test, and what can become of one.

use crate::words::words;

words! {
    /// A claim that the experiment can test.
    pub enum Claim ("claim") {
        /// No inconsistency between components of one warp.
        NoneInsideWarp = "none_inside_warp",
        /// Inconsistencies at the borders of blocks.
        AtBlockBorders = "at_block_borders",
        /// Inconsistencies at the borders of warps within a block.
        AtWarpBorders = "at_warp_borders",
        /// Never at the last component of a warp or block, only at the first.
        FirstComponentOnly = "first_component_only",
        /// Also at the last component of a warp.
        LastComponentToo = "last_component_too",
        /// Ours: the side is that of the neighbour whose load comes last.
        SideFollowsLoads = "side_follows_loads",
        /// Blocks begin in increasing order, mostly.
        IncreasingOrder = "increasing_order",
        /// Of the project's own note: the order of blocks is one of eight, each in two variants.
        EightOrders = "eight_orders",
    }
}

words! {
    /// What becomes of a claim here.
    pub enum ClaimVerdict ("verdict of a claim") {
        /// What it says was observed.
        Holds = "holds",
        /// The opposite was observed.
        DoesNotHold = "does_not_hold",
        /// The experiment cannot decide it on this device.
        CannotBeDecided = "cannot_be_told",
    }
}
