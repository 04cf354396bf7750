//! Removes what stands in `samples.csv` and `details.csv` of cases that are measured anew.

use std::collections::{HashMap, HashSet};

use super::details::DetailTable;
use super::id_of;
use super::samples::begins_another;
use crate::model::case::CaseId;
use crate::run::directory::RunDirectory;
use crate::run::files::{RunDirectoryError, complete_lines, read_if_there, replace};

impl RunDirectory {
    /// Forgets the observations and details of all cases but these: the others will be measured anew. What holds for all
    /// cases of a domain is written down for each, because it need not hold for those that come. Of a case that was measured
    /// twice, because a resumed run was killed, the later observations and details stay.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn forget_all_but(&self, kept: &HashSet<CaseId>) -> Result<(), RunDirectoryError> {
        if let Some((_, bytes)) = self.sample_bytes()? {
            let ids: HashSet<&[u8]> = kept.iter().map(|id| id.0.as_bytes()).collect();
            let lines: Vec<&[u8]> = complete_lines(&bytes).split_inclusive(|byte| *byte == b'\n').collect();
            let last = last_measurements(lines.get(1..).unwrap_or_default(), &ids);
            let header = lines.first().copied().into_iter();
            self.write_samples(&header.chain(last).collect::<Vec<_>>().concat())?;
        }
        if self.details().is_file() {
            let rows = self.read_rows()?;
            let mut own = self.detail_table()?.unwrap_or_default().expand(&rows);
            own.retain(|id, _| kept.contains(id));
            self.write_details(&DetailTable::of_cases(own), &rows)?;
        }
        Ok(())
    }

    /// Forgets what stands of these cases in the first bytes of the samples and of the details: it was measured anew.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub(crate) fn forget_first(
        &self,
        replaced: &HashSet<CaseId>,
        (samples, details): (u64, u64),
    ) -> Result<(), RunDirectoryError> {
        if replaced.is_empty() {
            return Ok(());
        }
        let ids: HashSet<&[u8]> = replaced.iter().map(|id| id.0.as_bytes()).collect();
        let later = |bytes: &[u8], first: u64| {
            let (first, rest) = bytes.split_at(bytes.len().min(usize::try_from(first).unwrap_or(usize::MAX)));
            let kept = first.split_inclusive(|byte| *byte == b'\n').filter(|line| !ids.contains(id_of(line)));
            [kept.collect::<Vec<_>>().concat(), rest.to_vec()].concat()
        };
        for (path, first) in [(self.samples(), samples), (self.details(), details)] {
            if let Some(bytes) = read_if_there(&path)? {
                replace(&path, &later(&bytes, first))?;
            }
        }
        Ok(())
    }
}

/// The lines of these cases, of the last measurement of each.
fn last_measurements<'a>(lines: &[&'a [u8]], ids: &HashSet<&[u8]>) -> Vec<&'a [u8]> {
    let pair = |line: &[u8]| std::str::from_utf8(line.split(|byte| *byte == b',').nth(1)?).ok()?.parse::<u64>().ok();
    let mut latest: HashMap<&[u8], (Option<u64>, usize)> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        let (number, first) = latest.entry(id_of(line)).or_insert((None, at));
        let pair = pair(line);
        if begins_another(*number, pair) {
            *first = at;
        }
        *number = pair;
    }
    let is_last = |at: usize, line: &[u8]| latest.get(id_of(line)).is_some_and(|(_, first)| at >= *first);
    let kept = lines.iter().enumerate().filter(|(at, line)| ids.contains(id_of(line)) && is_last(*at, line));
    kept.map(|(_, line)| *line).collect()
}
