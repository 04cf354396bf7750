//! How families define their kernels: the text of a file, and macros for the parameters of a case.

use syncscope_core::{Case, Dtype, Group, MemoryOrder};

/// Embeds a file of `kernels/`. The second word is the kind of arguments that its kernels take.
macro_rules! kernel {
    ($file:literal, $arguments:ident) => {
        $crate::catalogue::entry::Kernel {
            file: $file,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $file)),
            arguments: $crate::launch::arguments::ArgumentKind::$arguments,
        }
    };
}
pub(super) use kernel;

/// The macro for the type of the values of a case.
pub(super) fn value_of(case: &Case) -> String {
    format!("VALUE={}", case.dtype.map_or("int", c_type))
}

/// The size of a group such as a tile; 1 if it has none, or one that no warp or cluster has.
pub(super) fn group_size(case: &Case) -> u32 {
    case.group.as_ref().and_then(Group::size).filter(|size| (1..=32).contains(size)).unwrap_or(1)
}

/// The definitions, and `RELAXED=1` for a barrier that orders no memory accesses.
pub(super) fn in_order_of(case: &Case, mut definitions: Vec<String>) -> Vec<String> {
    if case.order == Some(MemoryOrder::Relaxed) {
        definitions.push("RELAXED=1".to_owned());
    }
    definitions
}

/// The same cases with barriers that order no memory accesses.
pub(super) fn relaxed(cases: &[Case]) -> Vec<Case> {
    cases.iter().map(|case| Case { order: Some(MemoryOrder::Relaxed), ..case.clone() }).collect()
}

const fn c_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::I32 => "int",
        Dtype::U32 => "unsigned int",
        Dtype::U64 => "unsigned long long",
        Dtype::F32 => "float",
        Dtype::F64 => "double",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_a_size() {
        let of = |group: Group| group_size(&Case { group: Some(group), ..Case::new("gpu.warp.tile") });
        assert_eq!([Group::Tile(4), Group::Coalesced(31), Group::Converged].map(of), [4, 31, 1]);
        assert_eq!([Group::Tile(0), Group::Tile(99)].map(of), [1, 1]);
    }
}
