//! Without a driver there is an error that says so, and the catalogue is there all the same.

use syncscope_gpu::{GpuError, GpuLaboratory, primitives};

#[test]
fn without_a_driver_the_laboratory_says_what_is_missing() {
    assert!(!primitives().is_empty());
    for devices in [None, Some(&[0][..]), Some(&[99])] {
        match GpuLaboratory::open(devices) {
            Err(GpuError::NoDriver) => {
                assert!(GpuError::NoDriver.to_string().contains("no NVIDIA driver"));
            }
            // On machines with a driver, whatever it says must be one of the errors with a remedy, or a laboratory.
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(laboratory) => assert!(!laboratory.machine().is_empty()),
        }
    }
}
