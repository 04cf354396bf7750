//! The tables of a run that grow while it goes on, and what is done with their lines.
//!
//! | file | contents |
//! |---|---|
//! | [`journal`] | adds lines to `measurements.csv`, `samples.csv` and `details.csv` |
//! | [`samples`] | `samples.csv`: its columns, a line of it, and the pairs that are read |
//! | `details` | `details.csv` as a whole |
//! | `form` | writes a table of another version or program in the form of this version |
//! | `forgetting` | removes the lines of cases that are measured anew |
//! | [`plain`] | tables of experiments that measure no cases |

pub(crate) mod details;
mod forgetting;
pub(crate) mod form;
pub mod journal;
pub mod plain;
pub mod samples;

use csv::StringRecord;

/// These records as lines of a file. A cell is one line: a reason quoted from a compiler or a library may hold several.
fn lines<'a>(records: impl IntoIterator<Item = &'a StringRecord>) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for record in records {
        let record: StringRecord = record.iter().map(|cell| cell.replace(['\n', '\r'], " ")).collect();
        writer.write_record(&record)?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// The first cell of a line; ids are hexadecimal and never quoted.
fn id_of(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b',').next().unwrap_or_default()
}
