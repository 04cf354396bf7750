//! The OpenMP programs of SyncPerformance (Burtchell and Burtscher, IISWC 2024) and the cases that measure the same.

use syncscope_core::{Case, Dtype, Layout, MemoryOrder, Placement};

/// Where a program's threads have their variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variables {
    None,
    Shared,
    Private,
}

/// One kind of program; the end of its name tells the placement.
struct OpenMpProgram {
    name: &'static str,
    primitive: &'static str,
    variables: Variables,
    order: Option<MemoryOrder>,
    group: Option<&'static str>,
}

const fn program(
    name: &'static str,
    primitive: &'static str,
    variables: Variables,
    order: Option<MemoryOrder>,
    group: Option<&'static str>,
) -> OpenMpProgram {
    OpenMpProgram { name, primitive, variables, order, group }
}

const RELAXED: Option<MemoryOrder> = Some(MemoryOrder::Relaxed);
const GNU: Option<&str> = Some("libgomp");

/// The paper's programs were compiled with GCC, which brings libgomp.
static PROGRAMS: [OpenMpProgram; 7] = [
    program("omp_atomicadd_scalar", "cpu.atomic.add", Variables::Shared, RELAXED, None),
    program("omp_atomicadd_array_v2", "cpu.atomic.add", Variables::Private, RELAXED, None),
    program("omp_atomicwrite_scalar", "cpu.atomic.write", Variables::Shared, RELAXED, None),
    program("omp_atomiccaptureincrement", "cpu.atomic.add_capture", Variables::Shared, RELAXED, None),
    program("omp_criticaladd_scalar", "cpu.lock.openmp_critical", Variables::Shared, None, GNU),
    program("omp_flush_array", "cpu.fence.flush", Variables::Private, Some(MemoryOrder::SeqCst), None),
    program("omp_barrier", "cpu.barrier.openmp", Variables::None, None, GNU),
];

/// Programs whose figure is that of no case, and why.
const OTHERS: [(&str, &str); 2] = [
    ("omp_atomicread", "it compares atomic with plain reads, whose difference is zero where both are one instruction"),
    ("omp_flush", "its arrays lie on the stack; omp_flush_array with stride 1 measures the same"),
];

/// The name without the placement at its end, and the placement: the operating system's where it names none.
fn split(name: &str) -> (&str, Placement) {
    let named = [("_close", Placement::Close), ("_spread", Placement::Spread)];
    let found = named.into_iter().find_map(|(end, placement)| Some((name.strip_suffix(end)?, placement)));
    found.unwrap_or((name, Placement::None))
}

/// The case that measures what the program measured; `None` if there is no such program.
pub(super) fn case(name: &str, dtype: Dtype, stride: Option<u32>, threads: u32) -> Option<Case> {
    let (name, placement) = split(name);
    let program = PROGRAMS.iter().find(|program| program.name == name)?;
    let layout = match program.variables {
        Variables::None => None,
        Variables::Shared => Some(Layout::Shared),
        Variables::Private => Some(Layout::Private { stride: stride.unwrap_or(1) }),
    };
    Some(Case {
        dtype: layout.map(|_| dtype),
        layout,
        threads: Some(threads),
        placement: Some(placement),
        order: program.order,
        group: program.group.map(str::to_owned),
        ..Case::new(program.primitive)
    })
}

/// Why the program's figures are left out.
pub(super) fn reason(name: &str) -> &'static str {
    let (name, _) = split(name);
    OTHERS.iter().find(|(known, _)| *known == name).map_or("no case measures the same", |(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_placement_and_case() {
        let case = |name| case(name, Dtype::F64, Some(8), 4);
        let add = case("omp_atomicadd_array_v2_spread").unwrap();
        assert_eq!(add.to_string(), Case { placement: Some(Placement::Spread), ..add.clone() }.to_string());
        assert_eq!(add.layout, Some(Layout::Private { stride: 8 }));
        let barrier = case("omp_barrier").unwrap();
        assert_eq!((barrier.dtype, barrier.placement, barrier.group.as_deref()), (None, Some(Placement::None), GNU));
        assert_eq!(case("omp_flush_array_close").map(|case| case.primitive).as_deref(), Some("cpu.fence.flush"));
        assert_eq!(case("omp_flush_close"), None);
        assert!(reason("omp_flush_close").contains("stack") && reason("omp_task").contains("no case"));
    }

    #[test]
    fn every_primitive_is_in_the_catalogue() {
        for program in &PROGRAMS {
            let known = syncscope_cpu::catalogue().iter().any(|primitive| primitive.id == program.primitive);
            assert!(known, "{}", program.primitive);
        }
    }
}
