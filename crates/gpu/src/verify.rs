//! Evidence without timing and without a GPU: every program, compiled for any architecture and decoded.

use std::collections::HashSet;

use syncscope_core::{Case, Evidence, OwnCode, Preset};

use crate::catalogue::limits::DeviceLimits;
use crate::catalogue::{Entries, cases, entry_of, own, program_of, unavailable};
use crate::cuda::compile::{Compiler, Program};
use crate::cuda::error::NvrtcError;
use crate::evidence::evidence_of;
use crate::launch::compilers::compiler_of_users;

/// The architectures that are verified by default: each generation from Turing on.
pub const ARCHITECTURES: [&str; 7] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];

/// The evidence in one program on one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// One of the cases of the program.
    pub case: Case,
    /// The architecture, such as `sm_90`.
    pub arch: String,
    /// What was found, or why the program could not be compiled.
    pub evidence: Result<Evidence, String>,
    /// Why the catalogue expects that nothing is left of the operation on this architecture; `None` where it does not.
    pub elided_by_nature: Option<&'static str>,
}

/// One case for each program of the catalogue whose cases are `wanted`.
fn programs(wanted: impl Fn(&Case) -> bool) -> Vec<(Case, Program)> {
    // The programs do not depend on the size of the device.
    let limits = DeviceLimits { multiprocessors: 2, max_threads: 1024 };
    let planned =
        cases(Preset::Standard, &limits).into_iter().chain(cases(Preset::Paper, &limits)).filter(|case| wanted(case));
    let mut seen = HashSet::new();
    let of_program = planned.filter_map(|case| Some((program_of(&case)?, case)));
    of_program.filter(|(program, _)| seen.insert(program.clone())).map(|(program, case)| (case, program)).collect()
}

/// Compiles and decodes the programs of the cases that are `wanted` for an architecture. `progress` gets the number of
/// compiled programs and the number of all.
///
/// # Errors
/// If there is no NVRTC, or it does not know the architecture.
pub fn verify(
    arch: &str,
    wanted: impl Fn(&Case) -> bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Verified>, NvrtcError> {
    let programs = programs(wanted);
    if programs.is_empty() {
        return Ok(Vec::new());
    }
    let texts: Vec<Program> = programs.iter().map(|(_, program)| program.clone()).collect();
    let (mut compiler, capability) = compiler_for(arch)?;
    compiler.prepare(&texts, progress);
    let verified = programs.iter().map(|(case, program)| {
        let evidence = match (unavailable(&case.primitive, capability), compiler.cubin(program)) {
            (Some(reason), _) => Ok(Evidence::NotAvailable(reason)),
            (None, Ok(cubin)) => Ok(evidence_of(case, &cubin)),
            (None, Err(error)) => Err(error.to_string()),
        };
        let elided_by_nature = elided_by_nature(case, capability);
        Verified { case: case.clone(), arch: arch.to_owned(), evidence, elided_by_nature }
    });
    Ok(verified.collect())
}

/// NVRTC for an architecture, and its compute capability.
fn compiler_for(arch: &str) -> Result<(Compiler, (u32, u32)), NvrtcError> {
    let compiler = compiler_of_users(Some(arch), None)?;
    // NVRTC knows no others.
    Ok((compiler, capability(arch).unwrap_or_default()))
}

/// The listing of an operation, or why there is none.
pub type Listed = Result<String, String>;

/// The timed region of every operation that the user wrote, compiled for an architecture and decoded: its id, and the listing or why
/// there is none.
///
/// # Errors
/// That there is no NVRTC.
pub fn listings_of_own(code: &OwnCode, arch: &str) -> Result<Vec<(String, Listed)>, String> {
    let (mut compiler, _) = compiler_for(arch).map_err(|error| error.to_string())?;
    let limits = DeviceLimits { multiprocessors: 2, max_threads: 1024 };
    let (entries, mut cases) = (Entries::with_own(code, limits), own::cases(code, limits));
    cases.dedup_by(|next, first| next.primitive == first.primitive);
    let mut listing = |case: &Case| -> Listed {
        let program = entries.program_of(case).ok_or("there is no kernel")?;
        let cubin = compiler.cubin(&program).map_err(|error| error.to_string())?;
        match entries.evidence_of(case, &cubin) {
            Evidence::NotAvailable(reason) => Err(reason),
            evidence => match evidence.listing().filter(|listing| !listing.is_empty()) {
                Some(listing) => Ok(format!("{}\n{listing}", evidence.summary().unwrap_or_default())),
                None => Err(evidence.summary().unwrap_or_default().to_owned()),
            },
        }
    };
    Ok(cases.iter().map(|case| (case.primitive.clone(), listing(case))).collect())
}

/// Why nothing but a NOP is left of the operation of a case on a device of this compute capability; `None` where
/// something is.
pub fn elided_by_nature(case: &Case, capability: (u32, u32)) -> Option<&'static str> {
    ((entry_of(case)?.expected)(case).elided_by_nature)(capability)
}

/// `sm_120` is compute capability 12.0.
fn capability(arch: &str) -> Option<(u32, u32)> {
    let number: u32 = arch.strip_prefix("sm_")?.trim_end_matches(['a', 'f']).parse().ok()?;
    Some((number / 10, number % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_compute_capabilities() {
        assert_eq!(ARCHITECTURES.map(capability), [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)].map(Some));
        assert_eq!(["sm_90a", "sm_120f"].map(capability), [Some((9, 0)), Some((12, 0))]);
        assert_eq!(capability("compute_90"), None);
        assert_eq!(capability("sm_x"), None);
    }

    #[test]
    fn only_barriers_of_converged_warps_are_elided() {
        let elided = |capability| -> HashSet<String> {
            let all = programs(|_| true).into_iter().map(|(case, _)| case);
            let word =
                |case: Case| format!("{} {}", case.primitive, case.group.map(|g| g.to_string()).unwrap_or_default());
            all.filter(|case| elided_by_nature(case, capability).is_some()).map(word).collect()
        };
        let on_ampere = ["gpu.warp.syncwarp converged", "gpu.warp.syncwarp partial", "gpu.warp.tile tile 32"];
        assert_eq!(elided((8, 6)), on_ampere.map(str::to_owned).into());
        let on_hopper = elided((9, 0));
        assert!(on_hopper.is_superset(&elided((8, 6))) && on_hopper.contains("gpu.warp.coalesced coalesced 16"));
        assert!(on_hopper.iter().all(|case| case.starts_with("gpu.warp.")), "{on_hopper:?}");
        assert!(!on_hopper.contains("gpu.warp.syncwarp divergent"));
    }

    #[test]
    fn every_program_is_verified_once() {
        let all = programs(|_| true);
        let distinct: HashSet<_> = all.iter().map(|(_, program)| program.clone()).collect();
        assert_eq!(distinct.len(), all.len());
        assert!(programs(|case| case.primitive == "gpu.block.syncthreads").len() == 1 && all.len() > 1);
    }
}
