//! On every machine there is a catalogue, and either a laboratory or an error that states what is missing.

#![allow(clippy::panic, reason = "an unexpected result fails the test")]

use syncscope_gpu::{GpuError, GpuLaboratory, primitives};

/// The error from opening these devices.
fn error(devices: Option<&[u32]>) -> GpuError {
    match GpuLaboratory::open(devices, &[], syncscope_core::OwnCode::default()) {
        Err(error) => error,
        Ok(laboratory) => panic!("{devices:?} opened {:?}", laboratory.machine()),
    }
}

#[test]
fn the_catalogue_needs_no_driver() {
    assert!(!primitives().is_empty());
}

/// No machine has a device 99, so what is missing is known on every machine.
#[test]
fn a_missing_driver_or_device_is_named() {
    match error(Some(&[99])) {
        missing @ (GpuError::NoDriver | GpuError::OldDriver(_) | GpuError::NoDevice { .. }) => {
            let message = missing.to_string();
            let remedies = ["no NVIDIA driver", "CUDA 12.0 or later is needed", "it sees no device"];
            assert!(remedies.iter().any(|remedy| message.contains(remedy)), "{message}");
            assert_eq!([error(None), error(Some(&[0]))], [missing.clone(), missing]);
        }
        GpuError::NoSuchDevice { asked, there } => {
            assert_eq!(asked, 99);
            match GpuLaboratory::open(None, &[], syncscope_core::OwnCode::default()) {
                Ok(laboratory) => {
                    let opened: Vec<u32> = laboratory.machine().iter().map(|machine| machine.index).collect();
                    assert_eq!(opened, there);
                }
                // Without a compiler there is no laboratory either.
                Err(error) => assert!(matches!(error, GpuError::Nvrtc(_)), "{error}"),
            }
        }
        other => panic!("{other}"),
    }
}
