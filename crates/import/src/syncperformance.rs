//! Reads the result files of SyncPerformance (Burtchell and Burtscher, *Characterizing CUDA and OpenMP Synchronization
//! Primitives*, IISWC 2024): `runtimes.csv`, one file for each program and stride.
//!
//! ```text
//! cuda_atomicadd_array_v2
//! n iter,1000
//! arr step,16
//! ""
//! n_blocks,1
//! type mode,aggregate,1,2,4
//! int,max,3.3e-06,3.3e-06,3.4e-06
//! int,min,...
//! ```
//!
//! Times are in milliseconds for the CUDA programs, cycles divided by the nominal clock in kHz, and in seconds for the
//! OpenMP programs. `max` is the time of the slowest thread.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use syncscope_core::data_file;
use syncscope_core::run::NO_INTERVAL;
use syncscope_core::{Actor, Case, Dtype, Facts, Nanoseconds, Row, Verdict};

/// The largest number of threads or blocks in a program.
const LARGEST: u32 = 1 << 16;

/// The largest plausible result file.
const MOST_BYTES: u64 = 16 << 20;

/// Why a result file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ResultFileError {
    /// The file cannot be opened or read.
    #[error("{path}: {1}", path = .0.display())]
    Io(PathBuf, std::io::Error),
    /// A line does not have the format of a result file.
    #[error("{}, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// One result file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultFile {
    /// The program that wrote the file, such as `cuda_syncthreads`.
    pub program: String,
    /// The iterations of its loops.
    pub iterations: Option<u64>,
    /// The distance between the elements of adjacent threads, in elements.
    pub stride: Option<u32>,
    /// The figures in the order of the file.
    pub figures: Vec<ResultFigure>,
}

/// The times of one size and type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResultFigure {
    /// The type of the variables.
    pub dtype: Dtype,
    /// The blocks of the grid; `None` on the CPU.
    pub blocks: Option<u32>,
    /// The threads of the team or of each block.
    pub threads: u32,
    /// The time of one operation on the slowest thread.
    pub slowest: Nanoseconds,
    /// The time of one operation on the fastest thread.
    pub fastest: Option<Nanoseconds>,
    /// The time of one operation on the median thread.
    pub median: Option<Nanoseconds>,
}

impl ResultFile {
    /// Reads a result file.
    ///
    /// # Errors
    /// If the file cannot be read or a line cannot be parsed. The error names file and line.
    pub fn read(path: &Path) -> Result<Self, ResultFileError> {
        let io = |error| ResultFileError::Io(path.to_owned(), error);
        let in_line = |(line, reason)| ResultFileError::Line { path: path.to_owned(), line, reason };
        let bytes = data_file::read_at_most(path, MOST_BYTES).map_err(io)?;
        Self::parse(&String::from_utf8_lossy(&bytes)).map_err(in_line)
    }

    /// Parses the text of a result file.
    ///
    /// # Errors
    /// The number of the first line that cannot be parsed, from 1, and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let text = text.strip_prefix(data_file::BYTE_ORDER_MARK).unwrap_or(text);
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let program = lines.next().map(|(_, line)| line.to_owned()).unwrap_or_default();
        if program.is_empty() || program.contains([',', '"']) {
            return Err((1, format!("expected the name of a program, found `{}`", shown(&program))));
        }
        let unit = if program.starts_with("cuda_") { 1e6 } else { 1e9 };
        let file = Self { program, ..Self::default() };
        let mut reader = Reader { unit, file, blocks: None, threads: vec![], last_max: None };
        for (number, line) in lines {
            reader.line(line).map_err(|reason| (number, reason))?;
        }
        Ok(reader.file)
    }
}

impl ResultFigure {
    /// The row of this figure, for the case that measures the same. Its cost is always the slowest thread's. It has no
    /// intervals, because SyncPerformance publishes none. Times that are not positive are not resolved.
    pub fn row(&self, case: Case, facts: Option<&Facts>, iterations: Option<u64>) -> Row {
        let ns = self.slowest.value();
        let positive = |time: Option<Nanoseconds>| time.filter(|time| time.value().is_finite() && time.value() > 0.0);
        let verdict = match ns {
            _ if !ns.is_finite() => Verdict::Failed("SyncPerformance reports no finite time".to_owned()),
            _ if ns < 0.0 => Verdict::Noisy("SyncPerformance reports a negative time".to_owned()),
            0.0 => Verdict::BelowResolution("SyncPerformance reports a time of zero".to_owned()),
            _ => Verdict::Imported(NO_INTERVAL.to_owned()),
        };
        Row {
            ns: Some(self.slowest).filter(|_| ns.is_finite()),
            fastest_ns: positive(self.fastest),
            median_ns: positive(self.median),
            slowest_ns: positive(Some(self.slowest)),
            actor: Some(Actor::Slowest),
            iterations,
            ..Row::unmeasured(case, verdict).described(facts)
        }
    }
}

/// The state of the parser between two lines.
struct Reader {
    /// Nanoseconds per unit of the file.
    unit: f64,
    /// What has been read so far.
    file: ResultFile,
    blocks: Option<u32>,
    threads: Vec<u32>,
    /// The type of the last `max` line, and the index of its first figure.
    last_max: Option<(Dtype, usize)>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line == "\"\"" {
            return Ok(());
        }
        let (key, rest) =
            line.split_once(',').ok_or_else(|| format!("expected `name,value`, found `{}`", shown(line)))?;
        match key {
            "n iter" => self.file.iterations = Some(number::<NonZeroU64>(rest)?.get()),
            "arr step" => self.file.stride = Some(positive(rest)?),
            "n_blocks" => {
                self.blocks = Some(positive(rest)?);
                self.threads.clear();
            }
            "type mode" => {
                let counts =
                    rest.strip_prefix("aggregate,").ok_or("expected `type mode,aggregate,` and thread counts")?;
                self.threads = counts.split(',').map(positive).collect::<Result<_, _>>()?;
                self.last_max = None;
            }
            _ => self.figures(dtype(key)?, rest)?,
        }
        Ok(())
    }

    fn figures(&mut self, dtype: Dtype, rest: &str) -> Result<(), String> {
        let (aggregate, values) = rest.split_once(',').ok_or("expected an aggregate and figures")?;
        let time = |value| number(value).map(|time: f64| Nanoseconds(time * self.unit));
        if self.blocks.is_none() && self.file.program.starts_with("cuda_") {
            return Err("figures of a CUDA program come before `n_blocks`".to_owned());
        }
        let times = values.split(',').map(time).collect::<Result<Vec<_>, _>>()?;
        if times.len() != self.threads.len() {
            return Err(format!("{} figures for {} thread counts", times.len(), self.threads.len()));
        }
        match aggregate {
            "max" => {
                self.last_max = Some((dtype, self.file.figures.len()));
                let (blocks, fastest, median) = (self.blocks, None, None);
                let figure = |(&threads, slowest)| ResultFigure { dtype, blocks, threads, slowest, fastest, median };
                self.file.figures.extend(self.threads.iter().zip(times).map(figure));
            }
            "min" | "med" => {
                let Some((_, from)) = self.last_max.filter(|(last, _)| *last == dtype) else {
                    return Err(format!("`{aggregate}` comes before `max`"));
                };
                for (figure, time) in self.file.figures[from..].iter_mut().zip(times) {
                    *(if aggregate == "min" { &mut figure.fastest } else { &mut figure.median }) = Some(time);
                }
            }
            "avg" => {}
            other => return Err(format!("unknown aggregate `{}`", shown(other))),
        }
        Ok(())
    }
}

fn dtype(word: &str) -> Result<Dtype, String> {
    match word {
        "int" => Ok(Dtype::I32),
        "ull" => Ok(Dtype::U64),
        "float" => Ok(Dtype::F32),
        "double" => Ok(Dtype::F64),
        other => Err(format!("unknown type `{}`", shown(other))),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("`{}` is not a number", shown(text)))
}

fn positive(text: &str) -> Result<u32, String> {
    match number(text)? {
        0 => Err("the size is 0".to_owned()),
        count if count > LARGEST => Err(format!("the size is {count}, and the largest that is read is {LARGEST}")),
        count => Ok(count),
    }
}

/// The start of an arbitrary text, for a message.
fn shown(text: &str) -> String {
    text.chars().take(40).map(|character| if character.is_control() { '?' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncscope_core::{ActorRule, Role};

    const CUDA: &str = "cuda_atomicadd_array_v2\nn iter,1000\narr step,16\n\"\"\nn_blocks,2\ntype mode,aggregate,1,32\n\
        int,max,2e-06,4e-06\nint,min,1e-06,3e-06\nint,med,2e-06,3e-06\nint,avg,2e-06,3e-06\null,max,5e-06,-1e-06\n\"\"\n";

    #[test]
    fn figures_of_a_cuda_program() {
        let file = ResultFile::parse(CUDA).unwrap();
        assert_eq!(
            (file.program.as_str(), file.iterations, file.stride),
            ("cuda_atomicadd_array_v2", Some(1000), Some(16))
        );
        assert_eq!(file.figures.len(), 4);
        let second = file.figures[1];
        assert_eq!((second.dtype, second.blocks, second.threads), (Dtype::I32, Some(2), 32));
        assert!((second.slowest.value() - 4.0).abs() < 1e-9, "milliseconds");
        assert!((second.fastest.unwrap().value() - 3.0).abs() < 1e-9);
        assert_eq!(file.figures[2].fastest, None);
    }

    #[test]
    fn times_of_openmp_programs_are_seconds() {
        let file =
            ResultFile::parse("omp_barrier\nn iter,1000\n\"\"\ntype mode,aggregate,2\nint,max,4.67e-07\n").unwrap();
        assert!((file.figures[0].slowest.value() - 467.0).abs() < 1e-6);
        assert_eq!(file.figures[0].blocks, None);
    }

    #[test]
    fn times_that_are_not_positive_are_explained() {
        const FACTS: Facts = Facts { actor: ActorRule::Median, ..Facts::of(Role::Fence) };
        let of = |ns| {
            let figure = ResultFigure {
                dtype: Dtype::I32,
                blocks: None,
                threads: 2,
                slowest: Nanoseconds(ns),
                fastest: Some(Nanoseconds(-1.0)),
                median: None,
            };
            figure.row(Case::new("cpu.fence.seq_cst"), Some(&FACTS), Some(1000))
        };
        assert_eq!(of(3.0).verdict, Verdict::Imported(NO_INTERVAL.to_owned()));
        assert_eq!((of(3.0).ns_interval, of(3.0).cycles, of(3.0).fastest_ns), (None, None, None));
        assert_eq!(of(3.0).actor, Some(Actor::Slowest), "theirs is always the slowest");
        assert_eq!(of(3.0).slowest_ns, Some(Nanoseconds(3.0)));
        assert_eq!(of(-3.0).verdict, Verdict::Noisy("SyncPerformance reports a negative time".into()));
        assert_eq!(of(0.0).verdict.name(), "BelowResolution");
        assert_eq!((of(f64::NAN).verdict.name(), of(f64::NAN).ns), ("Failed", None));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, part) in [
            ("", 1, "name of a program"),
            ("a,b\n", 1, "name of a program"),
            ("omp_barrier\nnonsense\n", 2, "name,value"),
            ("omp_barrier\nn iter,many\n", 2, "not a number"),
            ("omp_barrier\ntype mode,aggregate,0\n", 2, "size is 0"),
            ("omp_barrier\ntype mode,1,2\n", 2, "aggregate"),
            ("omp_barrier\ntype mode,aggregate,1,2\nint,max,1e-9\n", 3, "1 figures for 2"),
            ("omp_barrier\ntype mode,aggregate,1\nint,min,1e-9\n", 3, "before `max`"),
            ("omp_barrier\ntype mode,aggregate,1\nint,sum,1e-9\n", 3, "unknown aggregate"),
            ("omp_barrier\ntype mode,aggregate,1\nbool,max,1e-9\n", 3, "unknown type"),
            ("omp_barrier\nint,max,1e-9\n", 2, "1 figures for 0"),
            ("omp_barrier\nn_blocks,99999999999\n", 2, "not a number"),
            ("omp_barrier\nn iter,0\n", 2, "not a number"),
            ("cuda_syncthreads\ntype mode,aggregate,32\nint,max,1e-6\n", 3, "before `n_blocks`"),
        ] {
            let (found, reason) = ResultFile::parse(text).unwrap_err();
            assert!(found == line && reason.contains(part), "{text:?}: line {found}: {reason}");
        }
    }

    #[test]
    fn arbitrary_bytes_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runtimes.csv");
        std::fs::write(&path, [0xff, 0x00, b'\n', 0xfe, b',', 0x07]).unwrap();
        let error = ResultFile::read(&path).unwrap_err().to_string();
        assert!(error.contains("runtimes.csv, line 2"), "{error}");
        assert!(ResultFile::read(&folder.path().join("none")).is_err());
    }
}
