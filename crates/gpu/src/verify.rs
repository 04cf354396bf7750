//! Evidence without timing and without a GPU: compiles every program for any architecture and decodes it.

use std::collections::HashMap;

use syncscope_core::{Case, Evidence, OwnCode, Preset};

use crate::catalogue::limits::DeviceLimits;
use crate::catalogue::{Entries, cases, entry_of, own, program_of, unavailable};
use crate::cuda::compile::{Compiler, Program};
use crate::cuda::error::NvrtcError;
use crate::evidence::evidence_of;
use crate::launch::compilers::compiler_of_users;

/// The architectures that are verified by default.
pub const VERIFIED: [&str; 10] =
    ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"];

/// One architecture of each generation from Turing on; tests compile everything for these.
pub const ARCHITECTURES: [&str; 7] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];

/// The evidence found in one program on one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// One of the cases of the program.
    pub case: Case,
    /// The architecture, such as `sm_90`.
    pub arch: String,
    /// What was found, or why the program did not compile.
    pub evidence: Result<Evidence, String>,
    /// Why the catalogue expects nothing to be left of the operation on this architecture; `None` if it expects something.
    pub elided_by_nature: Option<&'static str>,
}

/// Definitions that do not change which instructions a loop has: the number of copies, and the threads that registers must
/// suffice for.
const OF_LAUNCH: [&str; 2] = ["SYNCSCOPE_UNROLL=", "SYNCSCOPE_MOST_THREADS="];

/// With fewer copies, what an iteration does once counts for more.
const FEWEST_COPIES: u32 = 8;

/// One case for each program of the catalogue whose cases are `wanted`; of cases with the same instructions, the one that
/// compiles soonest.
pub fn programs(wanted: impl Fn(&Case) -> bool) -> Vec<(Case, Program)> {
    // The programs do not depend on the size of the device.
    let limits = DeviceLimits { multiprocessors: 2, max_threads: 1024 };
    let planned = cases(Preset::Standard, &limits).into_iter().chain(cases(Preset::Paper, &limits));
    let (mut places, mut found) = (HashMap::new(), Vec::<(u32, Case, Program)>::new());
    for case in planned.filter(|case| wanted(case)) {
        let Some((program, entry)) = program_of(&case).zip(entry_of(&case)) else { continue };
        let mut code = program.clone();
        code.definitions.retain(|one| !OF_LAUNCH.iter().any(|name| one.starts_with(name)));
        let copies = Some((entry.unroll)(&case)).filter(|copies| *copies >= FEWEST_COPIES).unwrap_or(u32::MAX);
        let place = *places.entry(code).or_insert(found.len());
        match found.get_mut(place) {
            Some(known) if known.0 > copies => *known = (copies, case, program),
            Some(_) => {}
            None => found.push((copies, case, program)),
        }
    }
    found.into_iter().map(|(_, case, program)| (case, program)).collect()
}

/// A program with only the loops of this one, without the code around them (`kernels/harness.cuh`), which takes more than half
/// of the time to compile.
pub fn with_loops_alone(program: &Program) -> Program {
    let mut alone = program.clone();
    alone.definitions.push("SYNCSCOPE_LOOPS_ALONE=1".to_owned());
    alone
}

/// Compiles and decodes programs for an architecture.
#[derive(Debug)]
pub struct Verifier {
    arch: String,
    compiler: Compiler,
    capability: (u32, u32),
}

impl Verifier {
    /// A verifier for an architecture such as `sm_90`.
    ///
    /// # Errors
    /// If there is no NVRTC, or it does not know the architecture.
    pub fn new(arch: &str) -> Result<Self, NvrtcError> {
        let compiler = compiler_of_users(Some(arch), None)?;
        // NVRTC knows no others.
        Ok(Self { arch: arch.to_owned(), compiler, capability: capability(arch).unwrap_or_default() })
    }

    /// The evidence in each program. `progress` gets the number of compiled programs and the total.
    pub fn verify(&mut self, programs: &[(Case, Program)], progress: &mut dyn FnMut(usize, usize)) -> Vec<Verified> {
        let alone: Vec<Program> = programs.iter().map(|(_, program)| with_loops_alone(program)).collect();
        self.compiler.prepare(&alone, progress);
        let verified = programs.iter().zip(&alone).map(|((case, _), program)| {
            let evidence = match (unavailable(&case.primitive, self.capability), self.compiler.cubin(program)) {
                (Some(reason), _) => Ok(Evidence::NotAvailable(reason)),
                (None, Ok(cubin)) => Ok(evidence_of(case, &cubin)),
                (None, Err(error)) => Err(error.to_string()),
            };
            let elided_by_nature = elided_by_nature(case, self.capability);
            Verified { case: case.clone(), arch: self.arch.clone(), evidence, elided_by_nature }
        });
        verified.collect()
    }
}

/// The listing of an operation, or why there is none.
pub type Listed = Result<String, String>;

/// The timed region of each of the user's operations, compiled for `arch` or for the first of these devices, and decoded: its
/// id, and the listing or why there is none. With `loops_alone`, registers may differ from those in the measured code.
///
/// # Errors
/// If there is no NVRTC.
pub fn listings_of_own(
    code: &OwnCode,
    arch: Option<&str>,
    devices: Option<&[u32]>,
    loops_alone: bool,
) -> Result<Vec<(String, Listed)>, String> {
    let mut compiler = compiler_of_users(arch, devices).map_err(|error| error.to_string())?;
    let limits = DeviceLimits { multiprocessors: 2, max_threads: 1024 };
    let (entries, mut cases) = (Entries::with_own(code, limits), own::cases(code, limits));
    cases.dedup_by(|next, first| next.primitive == first.primitive);
    let program_of = |case: &Case| {
        let program = entries.program_of(case)?;
        Some(if loops_alone { with_loops_alone(&program) } else { program })
    };
    let programs: Vec<Program> = cases.iter().filter_map(program_of).collect();
    compiler.prepare(&programs, &mut |_, _| {});
    let mut listing = |case: &Case| -> Listed {
        let program = program_of(case).ok_or("there is no kernel")?;
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

/// Why only a NOP is left of a case's operation on a device of this compute capability; `None` if something is.
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
    use std::collections::HashSet;

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
        let code = |(_, program): &(Case, Program)| {
            let given = program.definitions.iter().filter(|one| !OF_LAUNCH.iter().any(|name| one.starts_with(name)));
            (program.file, given.cloned().collect::<Vec<_>>())
        };
        assert_eq!(all.iter().map(code).collect::<HashSet<_>>().len(), all.len());
        let planned = cases(Preset::Paper, &DeviceLimits { multiprocessors: 2, max_threads: 1024 });
        let of_plan: HashSet<_> =
            planned.into_iter().filter_map(|case| Some(code(&(case.clone(), program_of(&case)?)))).collect();
        assert!(of_plan.is_subset(&all.iter().map(code).collect()), "none is left out");
        assert!(programs(|case| case.primitive == "gpu.block.syncthreads").len() == 1 && all.len() > 1);
    }
}
