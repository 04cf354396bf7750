//! Maps each OpenMP program of SyncPerformance (Burtchell and Burtscher, IISWC 2024) to the case that measures the
//! same.

use syncscope_core::{Case, Dtype, Form, Group, Layout, MemoryOrder, Placement};

/// One kind of program: its name without the placement suffix, the primitive, and the parameters of the case.
type OpenMpProgram = (&'static str, &'static str, Option<Layout>, Option<MemoryOrder>, Option<Group>);

const SHARED: Option<Layout> = Some(Layout::Shared);
/// The stride is replaced by the one in the results.
const PRIVATE: Option<Layout> = Some(Layout::Private { stride: 1 });
const RELAXED: Option<MemoryOrder> = Some(MemoryOrder::Relaxed);
const LIBGOMP: Option<Group> = Some(Group::named("libgomp"));

/// The programs of the paper were compiled with GCC, whose OpenMP runtime is libgomp.
static PROGRAMS: [OpenMpProgram; 7] = [
    ("omp_atomicadd_scalar", "cpu.atomic.add", SHARED, RELAXED, None),
    ("omp_atomicadd_array_v2", "cpu.atomic.add", PRIVATE, RELAXED, None),
    ("omp_atomicwrite_scalar", "cpu.atomic.write", SHARED, RELAXED, None),
    ("omp_atomiccaptureincrement", "cpu.atomic.add_capture", SHARED, RELAXED, None),
    ("omp_criticaladd_scalar", "cpu.lock.openmp_critical", SHARED, None, LIBGOMP),
    ("omp_flush_array", "cpu.fence.flush", PRIVATE, Some(MemoryOrder::SeqCst), None),
    ("omp_barrier", "cpu.barrier.openmp", None, None, LIBGOMP),
];

/// Programs without an equivalent case, with the reasons.
const WITHOUT_CASE: [(&str, &str); 2] = [
    (
        "omp_atomicread",
        "atomic reads are compared with plain ones; the two do not differ where both are one instruction",
    ),
    ("omp_flush", "the arrays are on the stack; omp_flush_array with stride 1 measures the same"),
];

/// Splits a name from its placement suffix. Without a suffix, the operating system places the threads.
fn split(name: &str) -> (&str, Placement) {
    let named = [("_close", Placement::Close), ("_spread", Placement::Spread)];
    let found = named.into_iter().find_map(|(end, placement)| Some((name.strip_suffix(end)?, placement)));
    found.unwrap_or((name, Placement::None))
}

/// Whether two programs differ only in the placement of their threads.
pub(super) fn differ_in_placement(a: &str, b: &str) -> bool {
    a != b && split(a).0 == split(b).0
}

/// The case equivalent to a program, if there is one. The programs name their placement in `proc_bind` clauses, which
/// bind nothing unless `OMP_PLACES` or `OMP_PROC_BIND` is set (libgomp).
pub(super) fn case(name: &str, dtype: Dtype, stride: Option<u32>, threads: u32, bound: bool) -> Option<Case> {
    let (name, named) = split(name);
    // A single thread has no others to be near; the presets measure it as `close`.
    let placement = match threads {
        1 => Placement::Close,
        _ if bound => named,
        _ => Placement::None,
    };
    let (_, primitive, layout, order, group) = PROGRAMS.iter().find(|(known, ..)| *known == name)?;
    let layout = if *layout == PRIVATE { Some(Layout::Private { stride: stride.unwrap_or(1) }) } else { *layout };
    Some(Case {
        dtype: layout.map(|_| dtype),
        layout,
        threads: Some(threads),
        placement: Some(placement),
        order: *order,
        group: group.clone(),
        ..Case::new(primitive)
    })
}

/// Whether a program measures this case, with its threads bound as its name says or by the operating system.
pub fn is_openmp_case(own: &Case) -> bool {
    // The write program measures the `Published` form of the write.
    if own.form != (own.primitive == "cpu.atomic.write").then_some(Form::Published) {
        return false;
    }
    let own = &Case { form: None, ..own.clone() };
    let (dtype, threads) = (own.dtype.unwrap_or(Dtype::I32), own.threads.unwrap_or(1));
    let stride = own.layout.and_then(Layout::stride);
    let of = |name: &str| case(name, dtype, stride, threads, true).as_ref() == Some(own);
    let is_one = |(name, ..): &OpenMpProgram| ["", "_close", "_spread"].iter().any(|end| of(&format!("{name}{end}")));
    let exists = stride.is_none_or(|stride| STRIDES.contains(&stride)) && own.dtype != Some(Dtype::U32);
    exists && PROGRAMS.iter().any(is_one)
}

/// Whether a program measures this primitive.
pub fn is_openmp_primitive(id: &str) -> bool {
    PROGRAMS.iter().any(|(_, primitive, ..)| *primitive == id)
}

/// The strides of the programs' elements.
const STRIDES: [u32; 6] = [1, 2, 4, 8, 16, 64];

/// Why a program has no equivalent case.
pub(super) fn reason(name: &str) -> &'static str {
    let (name, _) = split(name);
    WITHOUT_CASE.iter().find(|(known, _)| *known == name).map_or("no case is equivalent", |(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::Mode;

    #[test]
    fn a_name_gives_placement_and_case() {
        let case = |name| case(name, Dtype::F64, Some(8), 4, true);
        let add = case("omp_atomicadd_array_v2_spread").unwrap();
        assert_eq!(add.to_string(), Case { placement: Some(Placement::Spread), ..add.clone() }.to_string());
        assert_eq!(add.layout, Some(Layout::Private { stride: 8 }));
        let barrier = case("omp_barrier").unwrap();
        assert_eq!((barrier.dtype, barrier.placement, barrier.group.clone()), (None, Some(Placement::None), LIBGOMP));
        assert_eq!(case("omp_flush_array_close").map(|case| case.primitive).as_deref(), Some("cpu.fence.flush"));
        assert_eq!(super::case("omp_barrier", Dtype::I32, None, 1, true).unwrap().placement, Some(Placement::Close));
        assert!(differ_in_placement("omp_barrier", "omp_barrier_spread"));
        assert!(!differ_in_placement("omp_barrier", "omp_barrier") && !differ_in_placement("omp_barrier", "omp_flush"));
        assert_eq!(case("omp_flush_close"), None);
        assert!(reason("omp_flush_close").contains("stack") && reason("omp_task").contains("no case"));
    }

    #[test]
    fn the_cases_of_the_programs_are_selected() {
        let add = case("omp_atomicadd_array_v2_close", Dtype::F32, Some(8), 4, true).unwrap();
        let layout = |stride| Some(Layout::Private { stride });
        let others = [
            Case { layout: layout(32), ..add.clone() },
            Case { placement: Some(Placement::Cores), ..add.clone() },
            Case { dtype: Some(Dtype::U32), ..add.clone() },
            Case { order: Some(MemoryOrder::SeqCst), ..add.clone() },
            Case { mode: Some(Mode::Latency), ..add.clone() },
            Case { primitive: "cpu.atomic.max".to_owned(), ..add.clone() },
        ];
        assert!(is_openmp_case(&add) && !others.iter().any(is_openmp_case));
        assert!(is_openmp_case(&Case { layout: layout(64), placement: Some(Placement::None), ..add }));
        let barrier = case("omp_barrier_spread", Dtype::I32, None, 8, true).unwrap();
        assert!(is_openmp_case(&barrier) && !is_openmp_case(&Case { group: None, ..barrier }), "libgomp's");
        let write = case("omp_atomicwrite_scalar", Dtype::I32, None, 8, true).unwrap();
        assert!(is_openmp_case(&Case { form: Some(Form::Published), ..write.clone() }) && !is_openmp_case(&write));
        assert!(is_openmp_primitive("cpu.fence.flush") && !is_openmp_primitive("cpu.atomic.max"));
    }

    #[test]
    fn every_primitive_is_in_the_catalogue() {
        for (_, id, ..) in &PROGRAMS {
            assert!(syncscope_cpu::catalogue().iter().any(|primitive| primitive.id == *id), "{id}");
        }
    }
}
