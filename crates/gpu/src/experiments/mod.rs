//! Experiments on devices without CPU threads: what one case runs for one sample, and how it is checked.
//!
//! Each type here implements [`syncscope_core::Experiment`]. Experiments with CPU threads are in `hybrid/`.
//!
//! | file | what is timed |
//! |---|---|
//! | [`kernel`] | a loop in one grid on one device |
//! | [`grid_barrier`] | a barrier of a whole grid, or of the grids of several devices |
//! | [`host_barrier`] | launches on several devices with a barrier of host threads between them |
//! | [`launch_chain`] | a chain of kernel launches, by the host's clock; [`host_wait`] has the ways in which the host waits |
//! | [`launched`] | a user's kernels, their regions and sequences of launches |
//! | [`reduction`] | a chain of reductions of a vector on one or several devices, by the host's clock |
//!
//! [`ThirdLoop`] is the loop that shows whether costs add up.
//!
//! Start with [`kernel`], which measures most primitives.

use crate::cuda::compile::Program;
use crate::cuda::error::NvrtcError;
use crate::launch::runner::Outage;
use std::fmt;
use std::sync::Arc;
use syncscope_core::ExperimentError;

pub(crate) mod grid_barrier;
pub(crate) mod host_barrier;
pub(crate) mod host_wait;
pub(crate) mod kernel;
pub(crate) mod launch_chain;
pub(crate) mod launched;
pub(crate) mod reduction;

// The loop with two more copies of the primitive shows whether the second copy costs as much as the first. Few cases of a run
// need it, so it is compiled and loaded on first use.

/// Compiles a program to machine code.
type Compile<'a> = Box<dyn FnMut(&Program) -> Result<Arc<[u8]>, NvrtcError> + 'a>;

/// The third loop of a case; `L` is its loaded form.
pub(crate) struct ThirdLoop<'a, L> {
    program: Program,
    compile: Compile<'a>,
    loaded: Option<L>,
}

impl<'a, L> ThirdLoop<'a, L> {
    /// The third loop in `program`, which `compile` turns into machine code.
    pub(crate) fn new(program: Program, compile: impl FnMut(&Program) -> Result<Arc<[u8]>, NvrtcError> + 'a) -> Self {
        Self { program, compile: Box::new(compile), loaded: None }
    }

    /// The loop, compiled and loaded the first time by `load`.
    pub(crate) fn loaded(
        &mut self,
        load: impl FnOnce(&Program, &[u8]) -> Result<L, Outage>,
    ) -> Result<&L, ExperimentError> {
        let Self { program, compile, loaded } = self;
        match loaded {
            Some(loaded) => Ok(loaded),
            none => {
                let cubin = compile(program).map_err(|error| ExperimentError::Failed(error.to_string()))?;
                Ok(none.insert(load(program, &cubin)?))
            }
        }
    }

    /// The loop, if it has been loaded.
    pub(crate) const fn get(&self) -> Option<&L> {
        self.loaded.as_ref()
    }
}

impl<L: fmt::Debug> fmt::Debug for ThirdLoop<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, loaded, .. } = self;
        f.debug_struct("ThirdLoop").field("program", program).field("loaded", loaded).finish_non_exhaustive()
    }
}

/// Why an experiment without a third loop cannot run one. The engine does not ask for it.
pub(crate) fn no_third_loop() -> ExperimentError {
    ExperimentError::Failed("there is no third loop".to_owned())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn program() -> Program {
        Program { file: "some.cu", text: "", definitions: Vec::new() }.with_third_loop()
    }

    #[test]
    fn it_is_compiled_and_loaded_once_and_only_when_it_is_needed() {
        let (compiled, loads) = (Cell::new(0), Cell::new(0));
        let mut third = ThirdLoop::new(program(), |program| {
            assert_eq!(program.definitions, ["SYNCSCOPE_THIRD_LOOP=1"]);
            compiled.set(compiled.get() + 1);
            Ok(Arc::from(&b"machine code"[..]))
        });
        assert_eq!(compiled.get(), 0);
        for _ in 0..3 {
            let loaded = third.loaded(|_, cubin| {
                loads.set(loads.get() + 1);
                Ok(cubin.len())
            });
            assert_eq!(loaded, Ok(&12));
        }
        assert_eq!((compiled.get(), loads.get()), (1, 1));
    }

    #[test]
    fn what_cannot_be_compiled_or_loaded_is_an_error() {
        let mut third = ThirdLoop::<u32>::new(program(), |_| Err(NvrtcError::NotFound));
        assert!(matches!(third.loaded(|_, _| Ok(1)), Err(ExperimentError::Failed(_))));
        let mut third = ThirdLoop::<u32>::new(program(), |_| Ok(Arc::from(&b""[..])));
        assert!(matches!(third.loaded(|_, _| Err(Outage::TooLarge(1))), Err(ExperimentError::Unsupported(_))));
        assert_eq!(third.loaded(|_, _| Ok(7)), Ok(&7));
    }
}
