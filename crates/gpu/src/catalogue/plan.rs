//! What presets measure of a primitive, as a table: each row is the product of some values on some grids.

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Dtype, Form, Group, Layout, MemoryOrder, Mode, Preset, Scope, Space};

use crate::catalogue::limits::{DeviceLimits, without_repetitions};

pub(super) const QUICK: &[Preset] = &[Preset::Quick];
pub(super) const STANDARD: &[Preset] = &[Preset::Standard];
pub(super) const PAPER: &[Preset] = &[Preset::Paper];
pub(super) const BEYOND_QUICK: &[Preset] = &[Preset::Standard, Preset::Paper];
pub(super) const EACH: &[Preset] = &[Preset::Quick, Preset::Standard, Preset::Paper];

/// Numbers of blocks and threads, within the limits of the device.
#[derive(Debug, Clone, Copy)]
pub(super) enum Grids {
    /// For primitives that are studied in detail.
    Full,
    /// For primitives that are similar to another one, or have many other parameters.
    Coarse,
    /// The same, in paper plans as in standard ones: what the papers do not test.
    CoarseOfStandard,
    /// One block and all multiprocessors, of one warp and of a full block.
    Few,
    /// The grids of Burtchell and Burtscher.
    OfPapers,
    /// Every doubling of the warps of a block.
    Doublings,
    /// Every number of active warps of a multiprocessor.
    ActiveWarps,
    /// The preset's numbers of blocks, of so many threads.
    Threads(&'static [u32]),
    /// So many blocks, of one warp and of 1,024 threads.
    Blocks(&'static [u32]),
}

impl Grids {
    fn of(self, id: &str, preset: Preset, limits: DeviceLimits) -> Sweep {
        match self {
            Self::Full => limits.full(id, preset),
            Self::Coarse => limits.coarse(id, preset),
            Self::CoarseOfStandard if preset == Preset::Quick => limits.coarse(id, preset),
            Self::CoarseOfStandard => limits.coarse(id, Preset::Standard),
            Self::Few => limits.full(id, Preset::Quick),
            Self::OfPapers => limits.full(id, Preset::Standard),
            Self::Doublings => limits.doublings(id, preset),
            Self::ActiveWarps => limits.active_warps(id),
            Self::Threads(threads) => Sweep::of(id).blocks(&limits.blocks(preset)).threads(threads),
            Self::Blocks(blocks) => Sweep::of(id).blocks(blocks).threads(&[32, 1024]),
        }
    }
}

/// A row of a plan. An axis without values is none of the primitive's.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanRow {
    presets: &'static [Preset],
    grids: Grids,
    /// The last parts of the ids of the primitives that have the row; all that share the table if it is empty.
    only: &'static [&'static str],
    dtypes: &'static [Dtype],
    layouts: &'static [Layout],
    scopes: &'static [Scope],
    spaces: &'static [Space],
    orders: &'static [MemoryOrder],
    modes: &'static [Mode],
    /// Words, each with its numbers if it has some.
    groups: &'static [(&'static str, &'static [u32])],
    forms: &'static [Form],
    except: fn(&Case, DeviceLimits) -> bool,
}

macro_rules! setters {
    ($($field:ident: $type:ty),+) => {
        $(pub(super) const fn $field(self, $field: &'static [$type]) -> Self {
            Self { $field, ..self }
        })+
    };
}

/// A row of these presets on these grids.
pub(super) const fn on(presets: &'static [Preset], grids: Grids) -> PlanRow {
    PlanRow {
        presets,
        grids,
        only: &[],
        dtypes: &[],
        layouts: &[],
        scopes: &[],
        spaces: &[],
        orders: &[],
        modes: &[],
        groups: &[],
        forms: &[],
        except: |_, _| false,
    }
}

impl PlanRow {
    setters! {
        only: &'static str, dtypes: Dtype, layouts: Layout, scopes: Scope, spaces: Space, orders: MemoryOrder, modes: Mode,
        groups: (&'static str, &'static [u32]), forms: Form
    }

    pub(super) const fn except(self, except: fn(&Case, DeviceLimits) -> bool) -> Self {
        Self { except, ..self }
    }

    fn cases(&self, id: &str, types: &[Dtype], preset: Preset, limits: DeviceLimits) -> Vec<Case> {
        let name = id.rsplit('.').next().unwrap_or(id);
        if !self.presets.contains(&preset) || !(self.only.is_empty() || self.only.contains(&name)) {
            return Vec::new();
        }
        let dtypes: Vec<Dtype> =
            self.dtypes.iter().copied().filter(|dtype| types.is_empty() || types.contains(dtype)).collect();
        let of_word = |(word, numbers): &(&'static str, &[u32])| match numbers {
            [] => vec![Group::named(word)],
            numbers => numbers.iter().map(|number| Group::numbered(word, *number)).collect(),
        };
        let groups: Vec<Group> = self.groups.iter().flat_map(of_word).collect();
        let forms: Vec<Option<Form>> = self.forms.iter().copied().map(Some).collect();
        let mut sweep = self.grids.of(id, preset, limits);
        macro_rules! vary {
            ($($axis:ident: $values:expr),+) => {
                $(if !self.$axis.is_empty() { sweep = sweep.$axis($values); })+
            };
        }
        vary! {
            dtypes: &dtypes, layouts: self.layouts, scopes: self.scopes, spaces: self.spaces, orders: self.orders,
            modes: self.modes, groups: &groups, forms: &forms
        }
        sweep.except(|case| (self.except)(case, limits)).cases()
    }
}

/// The cases of the rows, each once, of those types that the primitive has: all if it names none.
pub(super) fn cases(rows: &[PlanRow], id: &str, types: &[Dtype], preset: Preset, limits: DeviceLimits) -> Vec<Case> {
    without_repetitions(rows.iter().flat_map(|row| row.cases(id, types, preset, limits)).collect())
}
