//! Sweeps: the product of axes, minus excluded cases.

use crate::{Case, Dtype, Form, Group, Layout, MemoryOrder, Mode, Placement, Scope, Space};

/// A primitive and the axes to vary. Later axes vary fastest.
///
/// ```
/// use syncscope_core::{Dtype, Layout, sweep::Sweep};
///
/// let cases = Sweep::of("cpu.atomic.add")
///     .dtypes(&[Dtype::I32, Dtype::F64])
///     .layouts(&[Layout::Shared, Layout::Private { stride: 8 }])
///     .threads(&[1, 2, 4])
///     .except(|case| case.threads == Some(1) && case.layout == Some(Layout::Private { stride: 8 }))
///     .cases();
/// assert_eq!(cases.len(), 2 * 2 * 3 - 2);
/// ```
#[derive(Debug, Clone)]
pub struct Sweep {
    cases: Vec<Case>,
}

macro_rules! axes {
    ($($(#[$meta:meta])* $method:ident: $field:ident, $value:ty;)+) => {
        impl Sweep {
            $($(#[$meta])*
            pub fn $method(self, values: &[$value]) -> Self {
                self.vary(values, |case, value| case.$field = Some(value.clone()))
            })+
        }
    };
}

axes! {
    /// Varies the type.
    dtypes: dtype, Dtype;
    /// Varies the layout, and with it the stride.
    layouts: layout, Layout;
    /// Varies the threads of the team or of the block.
    threads: threads, u32;
    /// Varies the blocks of the grid.
    blocks: blocks, u32;
    /// Varies the number of devices.
    devices: devices, u32;
    /// Varies the placement.
    placements: placement, Placement;
    /// Varies the scope.
    scopes: scope, Scope;
    /// Varies the memory.
    spaces: space, Space;
    /// Varies the memory ordering.
    orders: order, MemoryOrder;
    /// Varies between throughput and latency.
    modes: mode, Mode;
    /// Varies the group.
    groups: group, Group;
    /// Varies the elements of a vector.
    elements: elements, u64;
}

impl Sweep {
    /// The sweep with no axis: one case.
    pub fn of(primitive: &str) -> Self {
        Self { cases: vec![Case::new(primitive)] }
    }

    fn vary<T>(self, values: &[T], set: impl Fn(&mut Case, &T)) -> Self {
        let product = self.cases.iter().flat_map(|case| {
            values.iter().map(|value| {
                let mut case = case.clone();
                set(&mut case, value);
                case
            })
        });
        Self { cases: product.collect() }
    }

    /// Varies the form; `None` is the default.
    pub fn forms(self, values: &[Option<Form>]) -> Self {
        self.vary(values, |case, value| case.form = *value)
    }

    /// Leaves out the cases for which `excluded` is true.
    pub fn except(mut self, excluded: impl Fn(&Case) -> bool) -> Self {
        self.cases.retain(|case| !excluded(case));
        self
    }

    /// Changes each case, for parameters that follow from others.
    pub fn each(mut self, change: impl Fn(&mut Case)) -> Self {
        self.cases.iter_mut().for_each(change);
        self
    }

    /// Appends the cases of another sweep.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.cases.extend(other.cases);
        self
    }

    /// The cases.
    pub fn cases(self) -> Vec<Case> {
        self.cases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_axes_vary_fastest() {
        let cases = Sweep::of("gpu.shuffle.idx").blocks(&[1, 2]).threads(&[32, 64]).cases();
        let points: Vec<_> = cases.iter().map(|case| (case.blocks.unwrap(), case.threads.unwrap())).collect();
        assert_eq!(points, [(1, 32), (1, 64), (2, 32), (2, 64)]);
    }

    #[test]
    fn an_empty_axis_gives_no_case() {
        assert!(Sweep::of("gpu.shuffle.idx").threads(&[]).cases().is_empty());
    }
}
