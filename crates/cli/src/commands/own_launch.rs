//! The arguments of `syncscope measure` for whole kernels and sequences of launches.

use syncscope_core::language::ending;
use syncscope_core::{OwnLaunch, OwnOperation};
use syncscope_gpu::own::Inspector;
use syncscope_gpu::own::launched::{self, LIBRARY, PTX};
use syncscope_orderings::functions;

use crate::args::MeasureArguments;
use crate::axes::AxisArguments;
use crate::failure::Failure;

/// The host function that queues launches.
const LAUNCH: &str = "launch";

/// The launch of the `number`-th GPU file of the command line; `None` if its operations run in a loop. `text` includes the file's
/// headers.
pub(super) fn launch_of(
    arguments: &MeasureArguments,
    (file, wanted, text): (&str, Option<&str>, &str),
    number: usize,
) -> Result<Option<OwnLaunch>, Failure> {
    fn at<T>(values: &[T], number: usize) -> Option<&T> {
        values.get(number).or(values.last())
    }
    let (end, MeasureArguments { kernel, grid, block, waits, .. }) = (ending(file), arguments);
    if end != Some(LIBRARY) && (end == Some(PTX) || !kernel.is_empty()) {
        let shape = |shapes: &[[u32; 3]]| at(shapes, number).copied().unwrap_or_default();
        let name = wanted.map(str::to_owned).or_else(|| at(kernel, number).cloned());
        return Ok(Some(OwnLaunch {
            kernel: Some(name.unwrap_or_default()),
            grid: shape(grid),
            block: shape(block),
            arguments: arguments.arg.clone(),
            ..OwnLaunch::default()
        }));
    }
    let is_host = end == Some(LIBRARY) || queues_launches(file, wanted, text)?;
    Ok(is_host.then(|| OwnLaunch { waits: waits.clone(), ..OwnLaunch::default() }))
}

/// Whether a file is measured by its host function, judged by the file's definitions.
fn queues_launches(file: &str, wanted: Option<&str>, text: &str) -> Result<bool, Failure> {
    let is_on_device = |head: &[&str]| ["__device__", "__global__"].iter().any(|word| head.contains(word));
    let is_on_host = |head: &[&str]| !is_on_device(head) || head.contains(&"__host__");
    if !functions(text, |name| name == LAUNCH).iter().any(|(_, head)| is_on_host(head)) {
        return Ok(false);
    }
    let on_device = functions(text, |_| true).into_iter().filter(|(_, head)| is_on_device(head));
    let names: Vec<String> = on_device.map(|(name, _)| name.to_owned()).collect();
    match (wanted, OwnOperation::of_functions(&names).0.first()) {
        (Some(wanted), _) => Ok(wanted == LAUNCH),
        (None, None) => Ok(true),
        (None, Some((operation, _))) => Err(Failure::Usage(format!(
            "{file} defines `{LAUNCH}` for the host and the operation `{operation}`: name one, {file}:{LAUNCH} or {file}:{operation}"
        ))),
    }
}

/// Refuses options that a launch does not have, or that only a launch has.
pub(super) fn refuse_what_does_not_fit(
    arguments: &MeasureArguments,
    launches: &[Option<&OwnLaunch>],
) -> Result<(), Failure> {
    let MeasureArguments { axes, setup, baseline, check, cluster, kernel, grid, block, arg, waits, .. } = arguments;
    let of_host = |launch: &&OwnLaunch| launch.kernel.is_none();
    let all = launches.iter().flatten();
    let (kernels, hosts) =
        (all.clone().filter(|launch| !of_host(launch)).count(), all.copied().filter(of_host).count());
    let of_kernel = !(kernel.is_empty() && grid.is_empty() && block.is_empty() && arg.is_empty());
    let of_loop = *axes != AxisArguments::default()
        || !cluster.is_empty()
        || setup.is_some()
        || baseline.is_some()
        || check.is_some();
    let compiled = arguments.orderings || arguments.instructions || arguments.sass.is_some();
    let is_any = kernels + hosts > 0;
    Failure::refuse([
        (
            kernels == 0 && of_kernel,
            "--kernel, --grid, --block and --arg are for a whole kernel: --gpu FILE.cu or FILE.ptx",
        ),
        (hosts == 0 && !waits.is_empty(), "--wait is for a file with `launch(stream)`"),
        (
            is_any && launches.iter().any(Option::is_none),
            "launches are compared with launches, not with operations in a loop",
        ),
        (kernels > 0 && hosts > 0, "a kernel is compared with a kernel, and `launch(stream)` with another one"),
        (
            is_any && of_loop,
            "a launch has no --threads, --blocks, --dtype, --stride, --cluster, --setup, --baseline or --check",
        ),
        (is_any && compiled, "--orderings, --instructions and --sass are for operations in a loop"),
    ])
}

/// The operations of a launch: the whole and its regions.
pub(super) fn operations(
    own: &OwnOperation,
    launch: &OwnLaunch,
    inspector: impl FnOnce() -> Result<Inspector, Failure>,
) -> Result<Vec<OwnOperation>, Failure> {
    if launch.kernel.is_none() {
        return Ok(vec![own.clone()]);
    }
    let ptx = if own.file.as_deref().and_then(ending) == Some(PTX) {
        own.text.clone()
    } else {
        inspector()?.ptx_of_kernels(own).map_err(|error| Failure::CouldNot(error.to_string()))?
    };
    launched::operations(own, &ptx).map_err(Failure::Usage)
}
