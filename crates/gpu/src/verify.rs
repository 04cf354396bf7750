//! Evidence without timing and without a GPU: every program, compiled for any architecture and decoded.

use std::collections::HashSet;

use syncscope_core::{Case, Evidence, Preset};

use crate::catalogue::limits::Grid;
use crate::catalogue::{cases, program_of, unavailable};
use crate::cuda::cache::Cache;
use crate::cuda::compile::{Compiler, Program};
use crate::cuda::discovery::Surroundings;
use crate::cuda::error::NvrtcError;
use crate::cuda::nvrtc::Nvrtc;
use crate::evidence::evidence_of;
use crate::launch::headers::headers;

/// The architectures that are verified unless others are named: each generation from Turing on.
pub const ARCHITECTURES: [&str; 7] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];

/// What was found in one program on one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// One of the cases that the program serves.
    pub case: Case,
    /// `sm_90`.
    pub arch: String,
    /// The finding.
    pub evidence: Evidence,
}

/// One case for each program of the catalogue that `wanted` chooses.
fn programs(wanted: impl Fn(&Case) -> bool) -> Vec<(Case, Program)> {
    // Which programs there are does not depend on the size of the device.
    let grid = Grid { multiprocessors: 2, max_threads: 1024 };
    let planned =
        cases(Preset::Standard, &grid).into_iter().chain(cases(Preset::Paper, &grid)).filter(|case| wanted(case));
    let mut seen = HashSet::new();
    let of_program = planned.filter_map(|case| Some((program_of(&case)?, case)));
    of_program.filter(|(program, _)| seen.insert(program.clone())).map(|(program, case)| (case, program)).collect()
}

/// Compiles and decodes the programs of the cases that are `wanted` for each of `archs`. `progress` hears how many of how
/// many programs are compiled.
///
/// # Errors
/// When there is no NVRTC, or it does not know an architecture. A program that cannot be compiled is evidence that is not
/// available.
pub fn verify(
    archs: &[String],
    wanted: impl Fn(&Case) -> bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Verified>, NvrtcError> {
    let programs = programs(wanted);
    let texts: Vec<Program> = programs.iter().map(|(_, program)| program.clone()).collect();
    let all = archs.len() * programs.len();
    let mut verified = Vec::with_capacity(all);
    for (index, arch) in archs.iter().enumerate() {
        let nvrtc = Nvrtc::find(&Surroundings::of_process(), None)?;
        let capability = capability(arch).filter(|capability| nvrtc.target(*capability).as_ref() == Some(arch));
        let Some(capability) = capability else {
            return Err(NvrtcError::UnknownArchitecture { nvrtc: nvrtc.version(), arch: arch.clone() });
        };
        let mut compiler = Compiler::new(nvrtc, Cache::of_user(), arch.clone(), headers());
        compiler.prepare(&texts, &mut |done, _| progress(index * programs.len() + done, all));
        verified.extend(programs.iter().map(|(case, program)| {
            let evidence = match (unavailable(&case.primitive, capability), compiler.cubin(program)) {
                (Some(reason), _) => Evidence::NotAvailable(reason),
                (None, Ok(cubin)) => evidence_of(case, &cubin),
                (None, Err(error)) => Evidence::NotAvailable(error.to_string()),
            };
            Verified { case: case.clone(), arch: arch.clone(), evidence }
        }));
    }
    Ok(verified)
}

/// `sm_120` is compute capability 12.0.
fn capability(arch: &str) -> Option<(u32, u32)> {
    let number: u32 = arch.strip_prefix("sm_")?.parse().ok()?;
    Some((number / 10, number % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_compute_capabilities() {
        assert_eq!(ARCHITECTURES.map(capability), [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)].map(Some));
        assert_eq!(capability("compute_90"), None);
        assert_eq!(capability("sm_x"), None);
    }

    #[test]
    fn every_program_is_verified_once() {
        let all = programs(|_| true);
        let distinct: HashSet<_> = all.iter().map(|(_, program)| program.clone()).collect();
        assert_eq!(distinct.len(), all.len());
        assert!(programs(|case| case.primitive == "gpu.block.syncthreads").len() == 1 && all.len() > 1);
    }
}
