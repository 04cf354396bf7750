//! Two versions of a snippet's machine code: as compiled, and edited so that its clock reads wait for what they time.

use syncscope_gpu::compile::Program;
use syncscope_sass::{Clock, Correction, CubinFile, Instruction, KernelEdit, correct_clock_reads, with_registers};

use super::{CodeLine, Edit, Snippet, Version};

/// A snippet in one version.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The snippet.
    pub snippet: Snippet,
    /// Naive or corrected.
    pub version: Version,
    /// The file to load; its kernel has the snippet's name.
    pub cubin: Vec<u8>,
    /// The edits of the machine code.
    pub edits: Vec<Edit>,
    /// The instructions around the clock reads.
    pub code: Vec<CodeLine>,
}

/// The program with all snippets.
pub fn program() -> Program {
    Program { file: "timeline.cu", text: include_str!("timeline.cu"), definitions: Vec::new() }
}

/// The program with the user's region, from the text of a file.
pub fn own_program(file: &str, text: &str) -> Program {
    let text = format!("{}#line 1 \"{file}\"\n{text}\n", program().text);
    Program { file: "own region", text: text.leak(), definitions: vec!["OWN=1".to_owned()] }
}

/// Instructions shown before the first clock read.
const SHOWN_BEFORE: usize = 5;

/// Both versions of a snippet.
///
/// # Errors
/// If the snippet does not exist for this architecture, or an edit was refused, with the reason.
pub fn prepare(cubin: &[u8], snippet: Snippet) -> Result<[Prepared; 2], String> {
    let file = CubinFile::parse(cubin).map_err(|error| error.to_string())?;
    if file.cubin().kernel(snippet.as_str()).is_none() {
        let (snippet, arch) = (snippet.as_str(), file.cubin().arch());
        return Err(format!("{snippet} is not compiled for {arch}: an mbarrier needs compute capability 8.0"));
    }
    let compiled = file.edit(snippet.as_str()).map_err(|error| error.to_string())?;
    if snippet == Snippet::Own && reads(&compiled.instructions()).len() < 2 {
        let what = "`region` needs BEGIN_REGION and END_REGION around what is timed";
        return Err(format!("{what}; at least one of them is not in the kernel's code"));
    }
    let mut edited = compiled.clone();
    let corrections = correct_clock_reads(&mut edited).map_err(|error| format!("not corrected: {error}"))?;
    let corrected = file.with(&edited).map_err(|error| error.to_string())?;
    let of = |version, cubin: &[u8], edits: Vec<Edit>, edit: &KernelEdit| Prepared {
        snippet,
        version,
        cubin: cubin.to_vec(),
        edits,
        code: listing(snippet, version, &compiled, edit),
    };
    let edits = corrections.into_iter().map(|Correction { offset, change }| Edit { snippet, offset, change }).collect();
    Ok([of(Version::Naive, cubin, Vec::new(), &compiled), of(Version::Corrected, corrected.bytes(), edits, &edited)])
}

/// The positions of the clock reads of a snippet.
fn reads(instructions: &[Instruction]) -> Vec<usize> {
    // Where the steps of the global timer are recorded, the clock is read too.
    let timer = instructions.iter().position(|found| found.clock == Some(Clock::GlobalTimer));
    let is_read = |index: &usize| instructions[*index].clock == Some(Clock::Cycles64);
    (0..timer.unwrap_or(instructions.len())).filter(is_read).collect()
}

/// The instructions from shortly before the first clock read to the last one.
fn listing(snippet: Snippet, version: Version, compiled: &KernelEdit, edit: &KernelEdit) -> Vec<CodeLine> {
    let instructions = edit.instructions();
    let before = compiled.instructions();
    let reads = reads(&before);
    let (Some(first), Some(last)) = (reads.first(), reads.last()) else { return Vec::new() };
    let line = |index: usize| CodeLine {
        snippet,
        version,
        instruction: with_registers(&instructions[index], edit.arch()),
        edited: instructions[index].raw != before[index].raw,
    };
    (first.saturating_sub(SHOWN_BEFORE)..=*last).map(line).collect()
}
