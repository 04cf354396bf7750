//! What the families define their kernels with: the text of a file, and macros from the parameters of a case.

use syncscope_core::{Case, Dtype};

/// Embeds a file of `kernels/`, whose kernels take arguments of this kind.
macro_rules! kernel {
    ($file:literal, $arguments:ident) => {
        $crate::catalogue::entry::Kernel {
            file: $file,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/", $file)),
            arguments: $crate::launch::arguments::ArgumentKind::$arguments,
        }
    };
}
pub(super) use kernel;

/// The macro that says the type of a case's values.
pub(super) fn value_of(case: &Case) -> String {
    format!("VALUE={}", case.dtype.map_or("int", c_type))
}

/// The number in a group such as `tile 4`; 1 where there is none.
pub(super) fn number_in_group(case: &Case) -> u32 {
    let number = |group: &str| group.rsplit(' ').next()?.parse().ok();
    case.group.as_deref().and_then(number).filter(|number| (1..=32).contains(number)).unwrap_or(1)
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
    fn groups_have_a_number() {
        let of = |group: &str| number_in_group(&Case { group: Some(group.into()), ..Case::new("gpu.warp.tile") });
        assert_eq!([of("tile 4"), of("coalesced 31"), of("converged"), of("tile 0"), of("tile 99")], [4, 31, 1, 1, 1]);
    }
}
