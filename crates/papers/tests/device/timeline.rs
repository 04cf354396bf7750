//! The snippets of `syncscope paper timeline` on a device, as compiled and edited.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use syncscope_papers::timeline::{OwnRegion, Snippet, Span, Version, gpu};

use super::open;

/// Every value that a snippet computes is checked after each launch, so an edit that broke it would be an error here.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn timeline_snippets_compute_the_same_after_the_edits() {
    let measured = gpu::measure(&mut open(), None, &mut |_| true).unwrap().unwrap();
    assert!(measured.warnings.is_empty(), "{:?}", measured.warnings);
    for &snippet in Snippet::ALL.iter().filter(|snippet| **snippet != Snippet::Own) {
        for &version in Version::ALL {
            let figure = measured.timeline.figure(snippet, version).unwrap();
            println!("{figure:?}");
            assert!(figure.shortest_cycles > 0.0 && figure.longest_cycles < 100_000.0, "{figure:?}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn timeline_corrected_reads_give_less_than_half_for_shared_memory_and_more_for_the_atomic() {
    let timeline = gpu::measure(&mut open(), None, &mut |_| true).unwrap().unwrap().timeline;
    let shared = timeline.corrected_to_naive(Snippet::SharedMemory).unwrap();
    assert!(shared < 0.5, "{shared}");
    let atomic = timeline.corrected_to_naive(Snippet::GlobalAtomic).unwrap();
    assert!(atomic > 1.0, "a naive read does not wait for the result: {atomic}");
}

#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn timeline_of_a_region_that_the_user_wrote_has_all_its_warps() {
    let text = include_str!("../../../../examples/measure/region.cu").to_owned();
    let own = OwnRegion { file: "region.cu".to_owned(), text, shape: gpu::Shape { blocks: 2, threads: 256 } };
    let timeline = gpu::measure(&mut open(), Some(&own), &mut |_| true).unwrap().unwrap().timeline;
    let figure = |version| timeline.figure(Snippet::Own, version).unwrap();
    assert!(Version::ALL.iter().all(|version| figure(*version).warps == 16 && figure(*version).shortest_cycles > 0.0));
}

/// The variable that makes the test of this name launch a region that does not end.
const HANGS: &str = "SYNCSCOPE_TEST_CHILD";

/// Freeing another context of a process waits for its kernels, too, so what the laboratory holds is leaked then.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn timeline_of_a_region_that_hangs_is_given_up() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "timeline::a_process_hangs_in_a_region"]).env(HANGS, "1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(40) {
            child.kill().unwrap();
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains("left with: not done after 10s"), "{said}");
}

#[test]
#[ignore = "the process of another test"]
fn a_process_hangs_in_a_region() {
    if std::env::var_os(HANGS).is_none() {
        return;
    }
    let line = "while (*(volatile u32 *)memory == 0) {}";
    let text = format!(
        "__device__ u32 region(u32 *memory, u32 round, Marks &marks) {{ BEGIN_REGION; {line} END_REGION; return 0; }}"
    );
    let own = OwnRegion { file: "hangs.cu".to_owned(), text, shape: gpu::Shape { blocks: 1, threads: 32 } };
    let mut laboratory = open();
    let error = gpu::measure(&mut laboratory, Some(&own), &mut |_| true).unwrap_err();
    drop(laboratory);
    println!("left with: {error}");
    std::io::stdout().flush().unwrap();
    // A normal exit would free what was leaked.
    std::process::abort();
}

/// Nothing is released before the last block has arrived: a clock that is not common would show otherwise.
#[test]
#[ignore = "needs a CUDA device: make test-gpu"]
fn timeline_of_a_grid_barrier_has_no_release_before_the_last_arrival() {
    let timeline = gpu::measure(&mut open(), None, &mut |_| true).unwrap().unwrap().timeline;
    let figure = timeline.figure(Snippet::GridBarrier, Version::Corrected).unwrap();
    assert!(figure.resolution_cycles < 200.0, "{figure:?}");
    let spans = timeline.spans.iter().filter(|span| span.snippet == Snippet::GridBarrier);
    let last = spans.clone().map(Span::begin_cycles).fold(0.0, f64::max);
    for span in spans {
        assert!(span.stop_cycles > last - figure.resolution_cycles, "{span:?}, last arrival {last}");
    }
}
