//! The CUDA programs of SyncPerformance (Burtchell and Burtscher, IISWC 2024) and the cases that measure the same operations.

use std::collections::HashSet;

use syncscope_core::{Case, Dtype, Form, Group, Layout, MemoryOrder, Mode, Preset, Scope, Space};

use super::limits::{DeviceLimits, STRIDES};

/// A program of SyncPerformance.
#[derive(Debug, Clone, Copy)]
pub struct PeerProgram {
    /// Its name, also the name of the folder with its results.
    pub name: &'static str,
    /// The primitive that measures the same operation.
    pub primitive: &'static str,
    /// Its types, in the order in which it numbers them; `None` if the type does not matter.
    pub types: &'static [Option<Dtype>],
    /// Where its threads have their variables; the program's argument is the stride of an array.
    pub layout: Option<Layout>,
    /// Adds to a case what the operation does not vary.
    of_operation: fn(Case) -> Case,
}

impl PeerProgram {
    /// The case that measures what the program measured.
    pub fn case(&self, dtype: Option<Dtype>, stride: u32, blocks: u32, threads: u32) -> Case {
        let layout = if self.layout == ARRAY { Some(Layout::Private { stride }) } else { self.layout };
        let (threads, blocks) = (Some(threads), Some(blocks));
        (self.of_operation)(Case { dtype, layout, threads, blocks, ..Case::new(self.primitive) })
    }

    /// The strides the program was run with; 1 if it has no array.
    pub fn strides(&self) -> &'static [u32] {
        if self.layout == ARRAY { &STRIDES } else { &[1] }
    }

    /// The program's cases on a device with this many multiprocessors: each type, stride, number of blocks and number of
    /// threads.
    pub fn cases(&self, multiprocessors: u32) -> impl Iterator<Item = Case> {
        // The largest block that the programs are run with has 1,024 threads.
        let limits = DeviceLimits { multiprocessors, max_threads: 1024 };
        let (blocks, threads) = (limits.blocks(Preset::Paper), limits.all_threads());
        let grids =
            blocks.into_iter().flat_map(move |blocks| threads.clone().into_iter().map(move |one| (blocks, one)));
        let variables = self.types.iter().flat_map(|dtype| self.strides().iter().map(move |stride| (*dtype, *stride)));
        variables.flat_map(move |(dtype, stride)| {
            grids.clone().map(move |(blocks, threads)| self.case(dtype, stride, blocks, threads))
        })
    }
}

const SCALAR: Option<Layout> = Some(Layout::Shared);
const ARRAY: Option<Layout> = Some(Layout::Private { stride: 1 });

const UNTYPED: &[Option<Dtype>] = &[None];
const INTEGERS: &[Option<Dtype>] = &[Some(Dtype::I32), Some(Dtype::U64)];
const UP_TO_FLOAT: &[Option<Dtype>] = &[Some(Dtype::I32), Some(Dtype::U64), Some(Dtype::F32)];
const ALL_TYPES: &[Option<Dtype>] = &[Some(Dtype::I32), Some(Dtype::U64), Some(Dtype::F32), Some(Dtype::F64)];

/// Relaxed atomic operations of device scope on global memory, whose results are not used.
const ATOMIC: fn(Case) -> Case = |case| {
    let (scope, space) = (Some(Scope::Device), Some(Space::Global));
    Case { scope, space, order: Some(MemoryOrder::Relaxed), mode: Some(Mode::Throughput), ..case }
};

/// Fences of these scopes.
const BLOCK_FENCE: fn(Case) -> Case = |case| Case { scope: Some(Scope::Block), form: Some(Form::Fenced), ..case };
const DEVICE_FENCE: fn(Case) -> Case = |case| Case { scope: Some(Scope::Device), ..case };
const SYSTEM_FENCE: fn(Case) -> Case = |case| Case { scope: Some(Scope::System), ..case };

/// Each operation depends on the result of the previous one.
const DEPENDENT: fn(Case) -> Case = |case| Case { mode: Some(Mode::Latency), ..case };

/// Dependent operations, where the primitive's default form is a different line: the program has the distance of a shuffle in a
/// register, and uses the result of a comparison as its next mask.
const DEPENDENT_OPAQUE: fn(Case) -> Case = |case| Case { mode: Some(Mode::Latency), form: Some(Form::Opaque), ..case };

/// A barrier of a converged warp.
const CONVERGED_WARP: fn(Case) -> Case = |case| Case { group: Some(Group::named("converged")), ..case };

/// All programs.
pub static PEER_PROGRAMS: &[PeerProgram] = {
    const fn program(
        name: &'static str,
        primitive: &'static str,
        types: &'static [Option<Dtype>],
        layout: Option<Layout>,
        of_operation: fn(Case) -> Case,
    ) -> PeerProgram {
        PeerProgram { name, primitive, types, layout, of_operation }
    }
    &[
        program("cuda_atomicadd_scalar_v2", "gpu.atomic.add", ALL_TYPES, SCALAR, ATOMIC),
        program("cuda_atomicadd_array_v2", "gpu.atomic.add", ALL_TYPES, ARRAY, ATOMIC),
        program("cuda_atomiccas_array_fail", "gpu.atomic.cas_fail", INTEGERS, ARRAY, ATOMIC),
        program("cuda_atomiccas_array_pass", "gpu.atomic.cas_pass", INTEGERS, ARRAY, ATOMIC),
        program("cuda_atomiccas_array_pass_v2", "gpu.atomic.cas_pass", INTEGERS, ARRAY, ATOMIC),
        program("cuda_atomiccas_scalar_fail", "gpu.atomic.cas_fail", INTEGERS, SCALAR, ATOMIC),
        program("cuda_atomiccas_scalar_pass", "gpu.atomic.cas_pass", INTEGERS, SCALAR, ATOMIC),
        program("cuda_atomiccas_scalar_pass_v2", "gpu.atomic.cas_pass", INTEGERS, SCALAR, ATOMIC),
        program("cuda_atomicexch_v2", "gpu.atomic.exchange", UP_TO_FLOAT, SCALAR, ATOMIC),
        program("cuda_threadfence_array", "gpu.fence.device", ALL_TYPES, ARRAY, DEVICE_FENCE),
        program("cuda_threadfence_block_array", "gpu.fence.block", ALL_TYPES, ARRAY, BLOCK_FENCE),
        program("cuda_threadfence_system_array", "gpu.fence.system", ALL_TYPES, ARRAY, SYSTEM_FENCE),
        program("cuda_shfl_sync", "gpu.shuffle.idx", ALL_TYPES, None, DEPENDENT),
        program("cuda_shfl_up_sync", "gpu.shuffle.up", ALL_TYPES, None, DEPENDENT),
        program("cuda_shfl_down_sync", "gpu.shuffle.down", ALL_TYPES, None, DEPENDENT),
        program("cuda_shfl_xor_sync", "gpu.shuffle.xor", ALL_TYPES, None, DEPENDENT_OPAQUE),
        program("cuda_syncwarp", "gpu.warp.syncwarp", UNTYPED, None, CONVERGED_WARP),
        program("cuda_syncthreads", "gpu.block.syncthreads", UNTYPED, None, |case| case),
        program("cuda_match_any_sync", "gpu.match.any", ALL_TYPES, None, DEPENDENT_OPAQUE),
        program("cuda_match_all_sync", "gpu.match.all", ALL_TYPES, None, DEPENDENT_OPAQUE),
        program("cuda_vote_all_sync", "gpu.vote.all", UNTYPED, None, DEPENDENT),
        program("cuda_vote_any_sync", "gpu.vote.any", UNTYPED, None, DEPENDENT),
        program("cuda_vote_ballot_sync", "gpu.vote.ballot", UNTYPED, None, DEPENDENT),
    ]
};

/// The cases of all programs on a device with this many multiprocessors, plus the default form of each case that has another
/// form. Programs that measure the same operation share a case.
pub fn peer_cases(multiprocessors: u32) -> HashSet<Case> {
    let own = PEER_PROGRAMS.iter().flat_map(|program| program.cases(multiprocessors));
    let with_default = |case: Case| {
        let default = (case.form != Some(Form::Fenced)).then(|| Case { form: None, ..case.clone() });
        default.into_iter().chain([case])
    };
    own.flat_map(with_default).collect()
}

/// The program with this name.
pub fn peer_program(name: &str) -> Option<&'static PeerProgram> {
    PEER_PROGRAMS.iter().find(|program| program.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::cases;

    #[test]
    fn the_whole_grid_of_every_program_is_in_the_paper_plan() {
        for multiprocessors in [1, 16, 128, 132] {
            let limits = DeviceLimits { multiprocessors, max_threads: 1024 };
            let planned: HashSet<Case> = cases(Preset::Paper, &limits).into_iter().collect();
            let missing: Vec<String> =
                peer_cases(multiprocessors).difference(&planned).map(ToString::to_string).collect();
            assert!(missing.is_empty(), "{} missing: {:?}", missing.len(), missing.first());
        }
    }

    #[test]
    fn the_grid_has_as_many_cases_as_the_programs_had_runs() {
        // On an H200: 5 numbers of blocks, 11 of threads.
        let runs: usize = PEER_PROGRAMS.iter().map(|program| program.cases(132).count()).sum();
        assert_eq!(runs, 9570);
        // Passing compare-and-swap was written twice, with an array (2 types, 6 strides) and without (2 types).
        let (default, opaque): (Vec<Case>, Vec<Case>) =
            peer_cases(132).into_iter().partition(|case| case.form.is_none());
        assert_eq!(default.len(), 9570 - (14 + 24) * 55);
        // Three programs, 4 types.
        // Three programs, 4 types; and the fences of blocks, 4 types, 6 strides.
        assert_eq!(opaque.len(), 3 * 4 * 55 + 24 * 55);
    }

    #[test]
    fn three_programs_write_another_line_than_the_default_form() {
        let opaque: HashSet<String> = peer_cases(132)
            .into_iter()
            .filter(|case| case.form == Some(Form::Opaque) && case.mode == Some(Mode::Latency))
            .map(|case| case.primitive)
            .collect();
        assert_eq!(opaque, ["gpu.shuffle.xor", "gpu.match.any", "gpu.match.all"].map(str::to_owned).into());
        let case = |name| peer_program(name).map(|program| program.case(Some(Dtype::I32), 1, 2, 64).form);
        assert_eq!(case("cuda_match_all_sync"), Some(Some(Form::Opaque)));
        assert_eq!(case("cuda_shfl_up_sync"), Some(None));
    }

    #[test]
    fn programs_are_known_by_their_names() {
        let names: HashSet<_> = PEER_PROGRAMS.iter().map(|program| program.name).collect();
        assert_eq!(names.len(), 23);
        assert_eq!(peer_program("cuda_syncthreads").map(|program| program.primitive), Some("gpu.block.syncthreads"));
        assert!(peer_program("omp_barrier").is_none());
    }
}
