//! Bit fields of an instruction.

/// Access to bit fields; bit 0 is the lowest of the first byte.
pub(crate) trait Bits {
    /// The `width` bits (0 to 64) from bit `low` upwards.
    fn field(self, low: u32, width: u32) -> u64;

    /// The same bits as a two's complement number.
    fn signed_field(self, low: u32, width: u32) -> i64;
}

impl Bits for u128 {
    fn field(self, low: u32, width: u32) -> u64 {
        (self >> low) as u64 & u64::MAX.checked_shr(64 - width).unwrap_or(0)
    }

    fn signed_field(self, low: u32, width: u32) -> i64 {
        let unused = 64 - width;
        (self.field(low, width) << unused).cast_signed() >> unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_cross_the_middle_and_be_negative() {
        let raw = 0x0000_0000_0003_ffff_ffff_fffc_0000_0000_u128;
        assert_eq!(raw.field(34, 48), 0xffff_ffff_ffff);
        assert_eq!(raw.signed_field(34, 48), -1);
        assert_eq!(raw.field(0, 34), 0);
        assert_eq!(u128::MAX.field(0, 64), u64::MAX);
    }
}
