//! A line of the table of claims.

use serde::{Deserialize, Serialize};

use super::super::Variant;
use super::super::claim::{Claim, ClaimVerdict};

/// A line of `asynchrony_claims.csv`: a claim for one block size, or for all sizes of the paper together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimRow {
    /// The claim.
    pub claim: Claim,
    /// The kernel; `None` where no update is looked at.
    pub variant: Option<Variant>,
    /// Threads of a block; `None`: all sizes for which the paper makes the claim.
    pub block_threads: Option<u32>,
    /// Whether the paper makes the claim for this kernel and block size.
    pub in_paper: bool,
    /// What becomes of it.
    pub verdict: ClaimVerdict,
    /// The share on which the verdict rests: of executions, or of pairs of blocks.
    pub share: Option<f64>,
    /// Lower end of its 95 % interval.
    pub share_low: Option<f64>,
    /// Upper end.
    pub share_high: Option<f64>,
    /// What was found.
    pub found: String,
}

impl ClaimRow {
    /// A claim that the paper does not make, about all kernels and block sizes, which rests on no share.
    pub(super) const fn without_share(claim: Claim, verdict: ClaimVerdict, found: String) -> Self {
        Self {
            claim,
            variant: None,
            block_threads: None,
            in_paper: false,
            verdict,
            share: None,
            share_low: None,
            share_high: None,
            found,
        }
    }
}

/// Whether the paper shows this kernel with this block size: that of figure 3 for 8 to 256 threads, and that of figure 4 for 128
/// and 256.
pub(super) const fn is_in_paper(variant: Variant, block_threads: u32) -> bool {
    match variant {
        Variant::Global => block_threads >= 8 && block_threads <= 256,
        Variant::Shared => block_threads == 128 || block_threads == 256,
        Variant::GlobalLeftFirst | Variant::SharedUniform => false,
    }
}
