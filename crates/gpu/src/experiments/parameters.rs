//! The parameters of a case that its kernels get.

use syncscope_core::Dtype;

use crate::catalogue::Saturates;
use crate::launch::arguments::WARP_THREADS;
use crate::launch::offsets::ALIGNMENT;
use crate::launch::request::Shape;

/// The parameters of a case that its kernels get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) shape: Shape,
    pub(crate) dtype: Option<Dtype>,
    /// Elements between the variables of neighbouring threads; 0: one variable for all.
    pub(crate) stride: u32,
    /// Arrays of such variables.
    pub(crate) arrays: usize,
    /// Blocks of a cluster; 0: no clusters.
    pub(crate) cluster: u32,
}

impl Parameters {
    /// Bytes of the variables. Each thread may use its own element in addition to the shared variable.
    pub(crate) fn memory_bytes(self) -> usize {
        self.arrays.saturating_sub(1) * self.array_distance() + self.array_bytes()
    }

    /// Bytes from the beginning of one array to that of the next, as `array_distance` in `fence.cu`: as if the driver
    /// allocated one after the other.
    fn array_distance(self) -> usize {
        self.array_bytes().next_multiple_of(ALIGNMENT)
    }

    fn array_bytes(self) -> usize {
        let elements = self.shape.grid_threads() * self.stride.max(1) as usize;
        elements * self.dtype.map_or(8, Dtype::size_bytes)
    }

    /// The fewest iterations that bring the loop into its steady state: the queues of the saturated resource are full for
    /// all but a small part of a sample.
    pub(crate) fn min_iterations(self, saturates: Saturates) -> u64 {
        /// Iterations of one warp that fill the queues of its multiprocessor: 512 operations.
        const OF_A_WARP: u32 = 16;
        /// Iterations in which warps that wait for one another are in their steady state: 128 operations.
        const OF_ALL_WARPS: u32 = 4;
        let (needed, warps) = match saturates {
            // Blocks of one multiprocessor share its queues; at least one block runs there.
            Saturates::Multiprocessors => (OF_A_WARP, self.shape.threads.div_ceil(WARP_THREADS)),
            // One warp waits for no other.
            Saturates::Device if self.shape.warps() > 1 => (OF_ALL_WARPS, self.shape.warps()),
            Saturates::Device | Saturates::Nothing => (1, 1),
        };
        u64::from(needed.div_ceil(warps.max(1)))
    }

    pub(crate) fn is_floating(self) -> bool {
        matches!(self.dtype, Some(Dtype::F32 | Dtype::F64))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use syncscope_core::{Case, Layout, Scope};

    use super::*;
    use crate::catalogue::program_of;
    use crate::cuda::discovery::Surroundings;
    use crate::cuda::nvrtc::{Nvrtc, Source};
    use crate::launch::headers::headers;

    #[test]
    fn the_more_warps_the_fewer_iterations_fill_the_queues() {
        let of = |blocks, threads, busy| {
            let shape = Shape { blocks, threads };
            Parameters { shape, dtype: None, stride: 0, arrays: 1, cluster: 0 }.min_iterations(busy)
        };
        assert_eq!(
            [1, 32, 64, 96, 512, 1024].map(|threads| of(1, threads, Saturates::Multiprocessors)),
            [16, 16, 8, 6, 1, 1]
        );
        assert_eq!(of(264, 32, Saturates::Multiprocessors), 16, "each multiprocessor has queues of its own");
        assert_eq!(
            [of(2, 32, Saturates::Device), of(3, 32, Saturates::Device), of(132, 32, Saturates::Device)],
            [2, 2, 1]
        );
        assert_eq!(
            [of(1, 32, Saturates::Device), of(1, 32, Saturates::Nothing)],
            [1, 1],
            "one warp waits for no other"
        );
    }

    #[test]
    fn memory_holds_every_threads_element() {
        let shape = Shape { blocks: 264, threads: 1024 };
        let bytes = |dtype, stride| Parameters { shape, dtype, stride, arrays: 2, cluster: 0 }.memory_bytes();
        assert_eq!(bytes(Some(Dtype::F64), 32), 2 * 264 * 1024 * 32 * 8);
        assert_eq!(bytes(Some(Dtype::I32), 0), 2 * 264 * 1024 * 4);
        assert_eq!(bytes(None, 0), 2 * 264 * 1024 * 8);
        let one = Shape { blocks: 1, threads: 1 };
        let of_one = |arrays| Parameters { shape: one, dtype: Some(Dtype::I32), stride: 1, arrays, cluster: 0 };
        assert_eq!([1, 2].map(|arrays| of_one(arrays).memory_bytes()), [4, 512 + 4], "the second shares no line");
    }

    /// The kernel finds the second array where the host reserves it.
    #[test]
    fn host_and_kernel_agree_on_the_distance_of_two_arrays() {
        let grids = [(1, 1, 1), (1, 32, 32), (2, 1024, 1), (3, 96, 7), (264, 1024, 128)];
        for dtype in [Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64] {
            let case = Case {
                dtype: Some(dtype),
                layout: Some(Layout::Private { stride: 1 }),
                scope: Some(Scope::Device),
                ..Case::new("gpu.fence.device")
            };
            let program = program_of(&case).unwrap();
            let mut text = program.text.to_owned();
            for (blocks, threads, stride) in grids {
                let shape = Shape { blocks, threads };
                let bytes = Parameters { shape, dtype: Some(dtype), stride, arrays: 2, cluster: 0 }.array_distance();
                let elements = shape.grid_threads() * stride as usize;
                let kernels = format!("array_distance({elements}) * sizeof(Value)");
                writeln!(text, "static_assert({kernels} == {bytes}, \"{dtype:?}, {elements} elements\");").unwrap();
            }
            let source = Source { file: program.file, text: &text, headers: headers() };
            let nvrtc = Nvrtc::find(&Surroundings::of_process(), None).unwrap();
            let definitions = program.definitions.iter().map(|definition| format!("-D{definition}"));
            let options: Vec<String> = definitions.chain(["--std=c++17".to_owned()]).collect();
            nvrtc.compile(source, "sm_90", &options).unwrap();
        }
    }
}
