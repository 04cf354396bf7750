//! Claims about CPUs.

use super::{Example, example};

pub(super) const EXAMPLES: &[Example] = &[
    example(
        "burtchell.openmp.barrier_threads",
        "cpu.barrier.openmp close t2 =100; t16 =150",
        "cpu.barrier.openmp close t2 =100; t16 =300",
        "cpu.barrier.openmp close t2 =100; t16 =200~20",
    ),
    example(
        "burtchell.openmp.barrier_stable",
        "cpu.barrier.openmp close t8 =100; t32 =150",
        "cpu.barrier.openmp close t8 =100; t16 =300",
        "cpu.barrier.openmp close t8 =100; t16 =150",
    ),
    example(
        "burtchell.openmp.critical",
        "cpu.lock.openmp_critical close i32 one t2 =100; t4 =300; cpu.atomic.add close i32 one t2 =50; t4 =99",
        "cpu.lock.openmp_critical close i32 one t2 =100; t4 =30; cpu.atomic.add close i32 one t2 =50; t4 =99",
        "cpu.lock.openmp_critical close i32 one t2 =100; t4 =99~9; cpu.atomic.add close i32 one t2 =50; t4 =99",
    ),
    example(
        "burtchell.openmp.critical_drop",
        "cpu.lock.openmp_critical close i32 one t2 =100; t4 =300; cpu.atomic.add close i32 one t2 =50; t4 =99",
        "cpu.lock.openmp_critical close i32 one t2 =100; t4 =200; cpu.atomic.add close i32 one t2 =50; t4 =150",
        "cpu.lock.openmp_critical close i32 one t2 =100; t4 =200~9; cpu.atomic.add close i32 one t2 =50; t4 =100",
    ),
    example(
        "burtchell.openmp.flush_harmless",
        "cpu.fence.flush close i32 p16 t2 =10; t4 =10; cpu.atomic.add close i32 one t2 =100; t4 =100",
        "cpu.fence.flush close i32 p16 t2 =10; t4 =90; cpu.atomic.add close i32 one t2 =100; t4 =100",
        "cpu.fence.flush close i32 p16 t2 =10; t4 =50; cpu.atomic.add close i32 one t2 =100; t4 =100",
    ),
    example(
        "burtchell.openmp.flush_sharing",
        "cpu.fence.flush close i32 p1 t2 =30; t4 =90; p16 t2 =10; t4 =10",
        "cpu.fence.flush close i32 p1 t2 =30; t4 =90; p16 t2 =10; t4 =80",
        "cpu.fence.flush close i32 p1 t2 =30; t4 =60; p16 t2 =10; t4 =10",
    ),
    example(
        "burtchell.openmp.hyperthreads",
        "cpu.barrier.openmp spread t8 =100; t16 =120",
        "cpu.barrier.openmp spread t8 =100; t16 =120; cpu.atomic.add spread i32 one t8 =100; t16 =300",
        "cpu.barrier.openmp spread t8 =100; t16 =200~9",
    ),
    example(
        "burtchell.openmp.placement",
        "cpu.barrier.openmp close t2 =100; t4 =200; spread t2 =101; t4 =210",
        "cpu.barrier.openmp close t2 =100; t4 =200; spread t2 =101; t4 =410",
        "cpu.fence.flush i32 p16 close t2 =100; t4 =200; spread t2 =101; t4 =250",
    ),
    example(
        "burtchell.openmp.same_location",
        "cpu.atomic.add close i32 one t2 =100; t4 =300; p16 t2 =10; t4 =10",
        "cpu.atomic.add close i32 one t2 =100; t4 =15; p16 t2 =10; t4 =10",
        "cpu.atomic.add close i32 one t2 =100; t4 =20; p16 t2 =10; t4 =10",
    ),
    example(
        "burtchell.openmp.false_sharing",
        "cpu.atomic.add close i32 p1 t2 =100; t4 =300; p16 t2 =10; t4 =10",
        "cpu.atomic.add close i32 p1 t2 =100; t4 =300; p16 t2 =10; t4 =10; f64 p1 t2 =9; t4 =9; p16 t2 =8; t4 =8",
        "cpu.atomic.add close i32 p1 t2 =100; t4 =20; p16 t2 =10; t4 =10",
    ),
    example(
        "burtchell.openmp.narrow_slower",
        "cpu.atomic.add close p1 u64 t4 =50; i32 t4 =90",
        "cpu.atomic.add close p1 u64 t4 =90; i32 t4 =50",
        "cpu.atomic.add close p1 u64 t4 =50; i32 t4 =50",
    ),
    example(
        "burtchell.openmp.stride_four",
        "cpu.atomic.add close i32 t4 p1 =90; p4 =50",
        "cpu.atomic.add close i32 t4 p1 =50; p4 =90",
        "cpu.atomic.add close i32 t4 p1 =50; p4 =50",
    ),
    example(
        "burtchell.openmp.integer_alone",
        "cpu.atomic.add close p16 i32 t4 =8; f32 t4 =18",
        "cpu.atomic.add close p16 i32 t4 =18; f32 t4 =8",
        "cpu.atomic.add close p16 i32 t4 =8; f32 t4 =8",
    ),
    example(
        "burtchell.openmp.line_end",
        "cpu.atomic.add close u64 p4 t2 =50; t4 =50; p8 t2 =9; t4 =9; f64 t2 =9; t4 =9; p4 t2 =50; t4 =50;
         i32 p8 t2 =50; t4 =50; p16 t2 =9; t4 =9; f32 t2 =9; t4 =9; p8 t2 =50; t4 =50",
        "cpu.atomic.add close u64 p4 t2 =50; t4 =50; p8 t2 =9; t4 =9; f64 t2 =9; t4 =9; p4 t2 =50; t4 =50;
         i32 p8 t2 =50; t4 =50; p16 t2 =9; t4 =9; f32 t2 =9; t4 =48; p8 t2 =50; t4 =50",
        "cpu.atomic.add close u64 p4 t2 =50; t4 =50; p8 t2 =9; t4 =9; f64 t2 =9; t4 =9; p4 t2 =50; t4 =50;
         i32 p8 t2 =50; t4 =50; p16 t2 =9; t4 =9; f32 t2 =9; t4 =25; p8 t2 =50; t4 =50",
    ),
    example(
        "burtchell.openmp.own_lines",
        "cpu.atomic.add close i32 p16 t2 =10; t16 =12",
        "cpu.atomic.add close i32 p16 t2 =10; t16 =12; f32 t2 =10; t16 =30",
        "cpu.atomic.add close i32 p16 t2 =10; t16 =20",
    ),
    example(
        "burtchell.openmp.integer_faster",
        "cpu.atomic.add close one i32 t2 =50; t4 =90; f32 t2 =70; t4 =200",
        "cpu.atomic.add close one i32 t2 =50; t4 =90; f32 t2 =70; t4 =60",
        "cpu.atomic.add close one u64 t2 =50; t4 =90; f64 t2 =70; t4 =90",
    ),
    example(
        "burtchell.openmp.word_size",
        "cpu.atomic.add close one i32 t2 =50; t4 =90; u64 t2 =51; t4 =95",
        "cpu.atomic.add close one i32 t2 =50; t4 =90; u64 t2 =51; t4 =195",
        "cpu.atomic.add close one f32 t2 =50; t4 =100; f64 t2 =51; t4 =125",
    ),
    example(
        "burtchell.openmp.capture",
        "cpu.atomic.add close one i32 t2 =50; t4 =90; cpu.atomic.add_capture close one i32 t2 =51; t4 =95",
        "cpu.atomic.add close one i32 t2 =50; t4 =90; cpu.atomic.add_capture close one i32 t2 =51; t4 =195",
        "cpu.atomic.add close one i32 t2 =50; t4 =100; cpu.atomic.add_capture close one i32 t2 =51; t4 =125",
    ),
    example(
        "burtchell.openmp.write_type",
        "cpu.atomic.write close one i32 t2 =50; t4 =90; f64 t2 =51; t4 =95",
        "cpu.atomic.write close one i32 t2 =50; t4 =90; f64 t2 =51; t4 =195",
        "cpu.atomic.write close one i32 t2 =50; t4 =100; u64 t2 =51; t4 =125",
    ),
    example(
        "burtchell.openmp.write_like_update",
        "cpu.atomic.write close one i32 t2 =50; t4 =150",
        "cpu.atomic.write close one i32 t2 =50; t4 =60",
        "cpu.atomic.write close one i32 t2 =50; t4 =100",
    ),
    example(
        "burtchell.openmp.read_free",
        "cpu.atomic.read close one i32 t2 =0.5; t4 =1.1",
        "cpu.atomic.read close one i32 t2 =0.5; t4 =1.9",
        "cpu.atomic.read close one i32 t2 =0.5; t4 =1.2~0.3",
    ),
    example(
        "burtchell.openmp.read_threads",
        "cpu.atomic.read close one i32 t2 =0.5; t4 =0.7",
        "cpu.atomic.read close one i32 t2 =0.5; t4 =1.9",
        "cpu.atomic.read close one i32 t2 =0.5; t4 =1.0",
    ),
];
