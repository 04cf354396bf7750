//! Tables of what presets measure of a primitive; each row is the product of some values on some grids.

use syncscope_core::sweep::Sweep;
use syncscope_core::{Case, Dtype, Form, Group, Layout, MemoryOrder, Mode, Preset, Scope, Space};

use crate::catalogue::limits::{DeviceLimits, shape_of, without_repetitions};

pub(super) const QUICK: &[Preset] = &[Preset::Quick];
pub(super) const STANDARD: &[Preset] = &[Preset::Standard];
pub(super) const PAPER: &[Preset] = &[Preset::Paper];
pub(super) const BEYOND_QUICK: &[Preset] = &[Preset::Standard, Preset::Paper];
pub(super) const EACH: &[Preset] = &[Preset::Quick, Preset::Standard, Preset::Paper];

/// The group: clusters of this many thread blocks.
pub(super) const CLUSTER_OF: &str = "cluster #";

/// A number of blocks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Blocks {
    /// This many.
    Of(u32),
    /// This many on each multiprocessor.
    Each(u32),
}

/// Maximum number of resident threads per multiprocessor on any device (CUDA C++ Programming Guide, Technical Specifications
/// per Compute Capability). On a device with fewer, a case is skipped and the reason states the numbers.
pub(super) const RESIDENT_THREADS: u32 = 2048;

/// Numbers of blocks and threads, within the limits of the device.
#[derive(Debug, Clone, Copy)]
pub(super) enum Grids {
    /// For primitives that are studied in detail.
    Full,
    /// For primitives that are similar to another one, or have many other parameters.
    Coarse,
    /// Like `Coarse`, but with the standard grids in paper plans too, for what the papers do not test.
    CoarseOfStandard,
    /// One block and one block per multiprocessor, of one warp and of a full block.
    Few,
    /// The grids of Burtchell and Burtscher.
    OfPapers,
    /// Each doubling of the number of warps per block.
    Doublings,
    /// Each number of active warps on a multiprocessor.
    ActiveWarps,
    /// The preset's numbers of blocks, with these numbers of threads.
    Threads(&'static [u32]),
    /// These numbers of blocks, of one warp and of 1,024 threads.
    Blocks(&'static [u32]),
    /// These numbers of blocks, each with its number of threads.
    Shapes(&'static [(Blocks, u32)]),
    /// These numbers of blocks on each multiprocessor, with these numbers of threads, as far as all blocks run at the same
    /// time: the heat map of Zhang, Wahib, Matsuoka, figure 8.
    Resident(&'static [u32], &'static [u32]),
    /// These numbers of one-warp blocks, where fewer than the multiprocessors: how parts of a device synchronize.
    Fewer(&'static [u32]),
    /// One cluster of each size, with blocks of these numbers of threads.
    Clusters(&'static [u32], &'static [u32]),
    /// As many clusters of each size as fill the multiprocessors.
    FillingClusters(&'static [u32], &'static [u32]),
    /// The grids that the function makes of these numbers.
    By(fn(&str, &[u32], DeviceLimits) -> Sweep, &'static [u32]),
    /// None: the GPU takes no part.
    Host,
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
            Self::Shapes(shapes) => {
                let of = |&(blocks, threads): &(Blocks, u32)| {
                    let blocks = match blocks {
                        Blocks::Of(blocks) => blocks,
                        Blocks::Each(blocks) => blocks * limits.multiprocessors,
                    };
                    Sweep::of(id).blocks(&[blocks]).threads(&limits.at_most(&[threads]))
                };
                all(shapes.iter().map(of))
            }
            Self::Resident(blocks, threads) => {
                let all: Vec<u32> = blocks.iter().map(|blocks| blocks * limits.multiprocessors).collect();
                let sweep = Sweep::of(id).blocks(&all).threads(&limits.at_most(threads));
                sweep.except(|case| resident_threads(case, limits) > RESIDENT_THREADS)
            }
            Self::Fewer(blocks) => {
                Sweep::of(id).blocks(blocks).threads(&[32]).except(|case| case.blocks >= Some(limits.multiprocessors))
            }
            Self::Clusters(sizes, threads) => clusters(id, limits, sizes, threads, |size| size),
            Self::FillingClusters(sizes, threads) => {
                clusters(id, limits, sizes, threads, |size| (limits.multiprocessors / size).max(1) * size)
            }
            Self::By(make, numbers) => make(id, numbers, limits),
            Self::Host => Sweep::of(id),
        }
    }
}

fn all(sweeps: impl Iterator<Item = Sweep>) -> Sweep {
    sweeps.reduce(Sweep::and).unwrap_or_else(|| Sweep::of("").threads(&[]))
}

/// Clusters of these sizes; `blocks` says how many blocks for a size.
fn clusters(id: &str, limits: DeviceLimits, sizes: &[u32], threads: &[u32], blocks: impl Fn(u32) -> u32) -> Sweep {
    let of = |size: &u32| {
        let sweep = Sweep::of(id).blocks(&[blocks(*size)]).threads(&limits.at_most(threads));
        sweep.groups(&[Group::numbered(CLUSTER_OF, *size)])
    };
    all(sizes.iter().map(of))
}

/// The number of threads of a case on each multiprocessor.
pub(super) fn resident_threads(case: &Case, limits: DeviceLimits) -> u32 {
    let (blocks, threads) = shape_of(case);
    blocks / limits.multiprocessors.max(1) * threads
}

/// A row of a plan. The primitive does not vary an axis that has no values.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanRow {
    presets: &'static [Preset],
    grids: Grids,
    /// The last parts of the ids that have the row; if empty, all primitives that share the table.
    only: &'static [&'static str],
    dtypes: &'static [Dtype],
    layouts: &'static [Layout],
    devices: &'static [u32],
    scopes: &'static [Scope],
    spaces: &'static [Space],
    orders: &'static [MemoryOrder],
    modes: &'static [Mode],
    /// Group words, each with its numbers if it has any.
    groups: &'static [(&'static str, &'static [u32])],
    forms: &'static [Form],
    elements: &'static [u64],
    /// The primitives whose barriers are also measured in the relaxed form, which orders no memory accesses.
    relaxed_too: &'static [&'static str],
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
        devices: &[],
        scopes: &[],
        spaces: &[],
        orders: &[],
        modes: &[],
        groups: &[],
        forms: &[],
        elements: &[],
        relaxed_too: &[],
        except: |_, _| false,
    }
}

impl PlanRow {
    setters! {
        only: &'static str, dtypes: Dtype, layouts: Layout, scopes: Scope, spaces: Space, orders: MemoryOrder, modes: Mode,
        groups: (&'static str, &'static [u32]), forms: Form, devices: u32, elements: u64, relaxed_too: &'static str
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
            modes: self.modes, groups: &groups, forms: &forms, devices: self.devices, elements: self.elements
        }
        let mut cases = sweep.except(|case| (self.except)(case, limits)).cases();
        if self.relaxed_too.contains(&name) {
            let relaxed = |case: &Case| Case { order: Some(MemoryOrder::Relaxed), ..case.clone() };
            cases.extend(cases.iter().map(relaxed).collect::<Vec<_>>());
        }
        cases
    }
}

/// The cases of the rows, each once, limited to `types` unless that is empty.
pub(super) fn cases(rows: &[PlanRow], id: &str, types: &[Dtype], preset: Preset, limits: DeviceLimits) -> Vec<Case> {
    without_repetitions(rows.iter().flat_map(|row| row.cases(id, types, preset, limits)).collect())
}
