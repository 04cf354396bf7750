//! One variable in host memory that both sides add to, as the CPU uses it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use syncscope_core::{Check, Dtype};

use crate::cuda::driver::HostBuffer;

/// The variable, in the width of its type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Variable<'a> {
    Narrow(&'a AtomicU32),
    Wide(&'a AtomicU64),
}

impl<'a> Variable<'a> {
    /// The first variable of the memory. Signed and unsigned integers are added in the same way.
    pub(super) fn of(memory: &'a HostBuffer<u64>, dtype: Dtype) -> Self {
        match dtype.size_bytes() {
            8 => Self::Wide(memory.atomic_u64(0)),
            _ => Self::Narrow(memory.atomic_u32(0)),
        }
    }

    /// Adds one so many times. Relaxed: a counter orders nothing.
    pub(super) fn add_ones(self, count: u64) {
        match self {
            Self::Narrow(variable) => {
                for _ in 0..count {
                    variable.fetch_add(1, Ordering::Relaxed);
                }
            }
            Self::Wide(variable) => {
                for _ in 0..count {
                    variable.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Whether it holds so many ones, with wrap-around. `cause` is a possible reason if it does not.
    pub(super) fn check(self, additions: u64, cause: &str) -> Check {
        let (found, expected) = match self {
            Self::Narrow(variable) => (u64::from(variable.load(Ordering::Acquire)), additions & u64::from(u32::MAX)),
            Self::Wide(variable) => (variable.load(Ordering::Acquire), additions),
        };
        if found == expected {
            return Check::Ok;
        }
        let wrong = format!("{additions} additions of one should leave {expected}, and left {found}");
        Check::Failed(format!("{wrong}: {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_sum_is_reported_with_its_cause() {
        let (narrow, wide) = (AtomicU32::new(0), AtomicU64::new(0));
        for variable in [Variable::Narrow(&narrow), Variable::Wide(&wide)] {
            variable.add_ones(1000);
            assert_eq!(variable.check(1000, ""), Check::Ok);
            let Check::Failed(reason) = variable.check(1001, "the link has none") else { panic!("it is wrong") };
            assert_eq!(reason, "1001 additions of one should leave 1001, and left 1000: the link has none");
        }
        assert_eq!(Variable::Narrow(&narrow).check((1 << 32) + 1000, ""), Check::Ok, "it wraps around");
        assert_ne!(Variable::Wide(&wide).check((1 << 32) + 1000, ""), Check::Ok);
    }
}
