//! Decoding instructions of x86-64.

use std::ffi::c_void;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter, Instruction, IntelFormatter, Mnemonic, SymbolResolver,
    SymbolResult,
};

use super::function::{Decoded, Flow, code_at};

/// The instructions that follow each other from `address`.
pub(super) fn instructions(code: &[u8], address: u64) -> impl Iterator<Item = Decoded> {
    let mut formatter = IntelFormatter::with_options(Some(Box::new(Names)), None);
    formatter.options_mut().set_space_after_operand_separator(false);
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    std::iter::from_fn(move || {
        let instruction = decoder.can_decode().then(|| decoder.decode())?;
        let flow = flow_of(&instruction);
        let mut text = String::new();
        if matches!(flow, Flow::Branch(_) | Flow::Jump(_)) {
            formatter.format_mnemonic(&instruction, &mut text);
        } else {
            formatter.format(&instruction, &mut text);
        }
        Some(Decoded { address: instruction.ip(), end: instruction.next_ip(), text, flow })
    })
}

/// Names for the functions that instructions call and the places of the program that they read: addresses differ from run to run.
struct Names;

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        _operand: u32,
        _instruction_operand: Option<u32>,
        address: u64,
        _address_size: u32,
    ) -> Option<SymbolResult<'_>> {
        if !instruction.is_ip_rel_memory_operand() && !instruction.is_call_near() {
            return None;
        }
        let place = address as usize as *const c_void;
        let own = syncscope_host::name_of(place)?;
        // The pointer through which a function of a library is called, by the instruction or by a stub that it calls.
        let pointer = match instruction.flow_control() {
            FlowControl::IndirectCall => Some(address),
            FlowControl::Call => pointer_of_stub(address),
            _ => None,
        };
        let pointer = pointer.map(|pointer| pointer as usize as *const *const c_void);
        let called = pointer.filter(|pointer| pointer.is_aligned()).map(|pointer| {
            // SAFETY: the place is in a loaded file. The instruction, which is the program's own, reads a pointer there.
            unsafe { pointer.read() }
        });
        Some(SymbolResult::with_string(address, called.and_then(syncscope_host::name_of).unwrap_or(own)))
    }
}

/// The address from which the stub of a library function (an entry of the procedure linkage table) reads its jump target.
fn pointer_of_stub(address: u64) -> Option<u64> {
    let code = code_at(usize::try_from(address).ok()?)?;
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let first = decoder.decode();
    let jump = if first.mnemonic() == Mnemonic::Endbr64 { decoder.decode() } else { first };
    (jump.is_jmp_near_indirect() && jump.is_ip_rel_memory_operand()).then(|| jump.ip_rel_memory_address())
}

fn flow_of(instruction: &Instruction) -> Flow {
    match instruction.flow_control() {
        FlowControl::ConditionalBranch => Flow::Branch(instruction.near_branch_target()),
        FlowControl::UnconditionalBranch => Flow::Jump(instruction.near_branch_target()),
        FlowControl::Call | FlowControl::IndirectCall => Flow::Call(None),
        FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception | FlowControl::Interrupt => {
            Flow::End
        }
        _ => Flow::Next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::function::{Graph, Loop, outermost_loop};
    use crate::evidence::timed_loop;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn function(code: &[u8], entry: u64) -> Vec<Decoded> {
        crate::evidence::function::function(instructions(code, entry), code)
    }

    #[inline(never)]
    fn adds<const COUNT: usize>(counter: &AtomicU64, iterations: u64) {
        for _ in 0..std::hint::black_box(iterations) {
            for _ in 0..COUNT {
                // SAFETY: the counter is a valid, aligned u64 that only this thread uses.
                unsafe { std::arch::asm!("lock add qword ptr [{}], 1", in(reg) counter.as_ptr()) };
            }
            counter.store(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_function_ends_where_no_path_continues() {
        // cmp edi,1; jne +1; ret; inc eax; jmp -4 (to inc eax); int3
        let code = [0x83, 0xff, 0x01, 0x75, 0x01, 0xc3, 0xff, 0xc0, 0xeb, 0xfc, 0xcc];
        let function = function(&code, 0x1000);
        assert_eq!(function.len(), 5);
        assert_eq!(outermost_loop(&Graph::of(&function)), Some(Loop { indices: vec![3, 4], head: 3 }));
    }

    #[test]
    fn the_next_function_is_not_decoded() {
        // je +1; ret; call [rax]; int3; int3; then: dec eax; jne -4
        let code = [0x74, 0x01, 0xc3, 0xff, 0x10, 0xcc, 0xcc, 0xff, 0xc8, 0x75, 0xfc];
        let function = function(&code, 0x1000);
        assert_eq!(function.len(), 4);
        assert_eq!(outermost_loop(&Graph::of(&function)), None);
    }

    #[test]
    fn a_rare_path_behind_the_end_belongs_to_the_loop() {
        // 0: dec edi; 2: js 9; 4: inc eax; 6: jne 0; 8: ret; 9: inc ecx; b: jmp 4
        let code = [0xff, 0xcf, 0x78, 0x05, 0xff, 0xc0, 0x75, 0xf8, 0xc3, 0xff, 0xc1, 0xeb, 0xf7];
        let function = function(&code, 0x1000);
        let found = outermost_loop(&Graph::of(&function));
        assert_eq!(found, Some(Loop { indices: vec![0, 1, 2, 3, 5, 6], head: 0 }));
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn called_functions_have_their_names() {
        #[inline(never)]
        extern "C" fn asks(times: u64) {
            for _ in 0..std::hint::black_box(times) {
                // SAFETY: the function has no requirement, and the stack is aligned as in any function that calls one.
                unsafe {
                    std::arch::asm!("call qword ptr [rip + {}@GOTPCREL]", sym libc::getppid, clobber_abi("C"));
                }
            }
        }
        #[inline(never)]
        extern "C" fn asks_through_stub(times: u64) {
            for _ in 0..std::hint::black_box(times) {
                // SAFETY: as above.
                unsafe { std::arch::asm!("call {}@PLT", sym libc::getppid, clobber_abi("C")) };
            }
        }
        let listing = |function: extern "C" fn(u64)| timed_loop(function as *const () as usize).unwrap().listing();
        assert!(listing(asks).contains("call qword ptr [getppid]"), "{}", listing(asks));
        assert!(listing(asks_through_stub).contains("call getppid"), "{}", listing(asks_through_stub));
    }

    #[test]
    fn instructions_of_the_running_binary_are_counted() {
        // Small enough that the compiler unrolls the inner loop at the optimization level of tests.
        let counter = AtomicU64::new(0);
        adds::<1>(&counter, 3);
        let found = timed_loop(adds::<1> as *const () as usize).unwrap();
        assert_eq!(found.count(&["lock add"]), 1, "{}", found.listing());
        assert_eq!(found.count(&["lock ad"]), 0, "whole words");
    }
}
