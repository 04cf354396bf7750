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

impl Claim {
    /// The claim as a sentence.
    #[must_use]
    pub const fn statement(self) -> &'static str {
        match self {
            Self::NoneInsideWarp => "No inconsistency between components of one warp.",
            Self::AtBlockBorders => "Inconsistencies occur at the borders of blocks.",
            Self::AtWarpBorders => "In blocks of several warps, they occur at the borders of warps too.",
            Self::FirstComponentOnly => "All are at the first component of a block or warp, none at the last.",
            Self::LastComponentToo => "They occur at the last component of a warp too.",
            Self::SideFollowsLoads => {
                "The side is that of the neighbour that is read last, whichever block began first."
            }
            Self::IncreasingOrder => "Blocks are scheduled in increasing order, where they can be.",
            Self::EightOrders => {
                "Blocks are assigned to multiprocessors in one of eight orders with two variants each."
            }
        }
    }

    /// Where it stands.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::NoneInsideWarp | Self::AtBlockBorders | Self::AtWarpBorders => "section IV-B, figures 5 and 6",
            Self::FirstComponentOnly => "section IV-B, figure 5",
            Self::LastComponentToo => "section IV-B, figure 6",
            Self::IncreasingOrder => "section IV-B, first observation of the list",
            Self::SideFollowsLoads => "control, not in the paper",
            Self::EightOrders => "docs/notes/2026-11-block-order.md",
        }
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
