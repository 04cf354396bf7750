//! The types of PTX as types of C.

/// `uint32_t` for `u32` and `b32`; `None` for what is no integer.
pub(crate) fn c_type(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "u8" | "b8" => "uint8_t",
        "s8" => "int8_t",
        "u16" | "b16" => "uint16_t",
        "s16" => "int16_t",
        "u32" | "b32" => "uint32_t",
        "s32" => "int32_t",
        "u64" | "b64" => "uint64_t",
        "s64" => "int64_t",
        "pred" => "_Bool",
        _ => return None,
    })
}
