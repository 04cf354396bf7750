//! The decoder: kernels, timed regions, what a closing clock read does not wait for, sizes of parameters.

#![no_main]

use libfuzzer_sys::fuzz_target;
use syncscope_sass::{Cubin, parameter_bytes, timed_region, unawaited_results};

fuzz_target!(|bytes: &[u8]| {
    let _ = parameter_bytes(bytes);
    let Ok(cubin) = Cubin::parse(bytes) else { return };
    for kernel in cubin.kernels().filter_map(|name| cubin.kernel(name)).take(20) {
        let _ = kernel.unknown();
        if let Ok(region) = timed_region(kernel) {
            let _ = (region.listing(), region.count("ATOM*"), region.body().len(), region.out_of_line().len());
            let _ = unawaited_results(kernel, &region);
        }
    }
});
