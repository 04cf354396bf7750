//! The parameters of a case: one table for its identity, for the columns and for the documentation.

use std::collections::HashMap;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::limits::{MOST_BLOCKS, MOST_DEVICES, MOST_ELEMENTS, MOST_STRIDE, MOST_THREADS, count};
use crate::{Case, CaseId, Layout};

/// One parameter of a case and its column.
#[derive(Debug)]
pub struct Parameter {
    /// The name of its column.
    pub name: &'static str,
    /// Its unit; empty where it has none.
    pub unit: &'static str,
    /// A description for people.
    pub meaning: &'static str,
    /// Whether its column holds numbers.
    pub is_number: bool,
    /// Whether it enters the identity of a case even where it does not apply: true for the columns of the first version.
    /// A later parameter enters where it applies, so that the identities of older cases stay.
    pub(crate) always_in_id: bool,
    pub(crate) write: fn(&Case) -> String,
    /// Reads a non-empty cell, with the other cells at hand; `None` if the cell is not valid in its column.
    pub(crate) read: fn(&mut Case, &str, &dyn Cells) -> Option<()>,
}

/// The cells of one line, by the names of their columns.
pub(crate) trait Cells {
    /// A cell that is not empty.
    fn cell(&self, column: &str) -> Option<&str>;
}

impl Cells for HashMap<String, String> {
    fn cell(&self, column: &str) -> Option<&str> {
        self.get(column).map(String::as_str)
    }
}

/// A parameter of the first version.
const FIRST: Parameter = Parameter {
    name: "",
    unit: "",
    meaning: "",
    is_number: false,
    always_in_id: true,
    write: |_| String::new(),
    read: |_, _, _| None,
};

/// A parameter of a later version.
const LATER: Parameter = Parameter { always_in_id: false, ..FIRST };

/// A parameter in the field of the case that has its name.
macro_rules! of_field {
    ($field:ident, $version:ident) => {
        Parameter {
            name: stringify!($field),
            write: |case| text(case.$field.as_ref()),
            read: |case, cell, _| set(&mut case.$field, cell),
            ..$version
        }
    };
}

/// A parameter that is a count of at most `$most`.
macro_rules! count_of_field {
    ($field:ident, $version:ident, $most:expr) => {
        Parameter {
            is_number: true,
            read: |case, cell, _| {
                case.$field = Some(count(cell, $most)?);
                Some(())
            },
            ..of_field!($field, $version)
        }
    };
}

/// All parameters, in the order in which they enter the identity of a case. New ones go at the end.
pub static PARAMETERS: [&Parameter; 17] = [
    &Parameter {
        name: "primitive",
        meaning: "full id ([PRIMITIVES.md](PRIMITIVES.md))",
        write: |case| case.primitive.clone(),
        read: |case, cell, _| {
            cell.clone_into(&mut case.primitive);
            Some(())
        },
        ..FIRST
    },
    &Parameter { meaning: "`i32`, `u32`, `u64`, `f32`, `f64`", ..of_field!(dtype, FIRST) },
    &Parameter {
        name: "layout",
        meaning: "`shared`: one variable; `private`: one element per thread",
        write: |case| text(case.layout.map(Layout::as_str)),
        read: |case, cell, cells| {
            case.layout = Some(match cell {
                "shared" => Layout::Shared,
                "private" => Layout::Private { stride: count(cells.cell("stride")?, MOST_STRIDE)? },
                _ => return None,
            });
            Some(())
        },
        ..FIRST
    },
    &Parameter {
        name: "stride",
        unit: "elements",
        meaning: "distance of private elements",
        is_number: true,
        write: |case| text(case.layout.and_then(Layout::stride)),
        // Read with the layout.
        read: |_, _, _| Some(()),
        ..FIRST
    },
    &Parameter {
        meaning: "threads of the team; on the GPU, of each thread block; between processes, their number",
        ..count_of_field!(threads, FIRST, MOST_THREADS)
    },
    &Parameter { meaning: "thread blocks of the grid, per device", ..count_of_field!(blocks, FIRST, MOST_BLOCKS) },
    &Parameter { meaning: "GPUs", ..count_of_field!(devices, FIRST, MOST_DEVICES) },
    &Parameter {
        meaning: "`cores`, `close`, `spread`, `none` or a list of CPU numbers",
        ..of_field!(placement, FIRST)
    },
    &Parameter { meaning: "`block`, `cluster`, `device`, `system`", ..of_field!(scope, FIRST) },
    &Parameter { meaning: "`global` or `shared` GPU memory", ..of_field!(space, FIRST) },
    &Parameter {
        meaning: "`relaxed`, `acquire`, `release`, `acq_rel`, `seq_cst`; GPU barriers: empty where they order memory accesses",
        ..of_field!(order, FIRST)
    },
    &Parameter {
        meaning: "`throughput`: independent operations; `latency`: each needs the one before",
        ..of_field!(mode, FIRST)
    },
    &Parameter {
        meaning: "variant, such as `tile 4`, `cluster 8`, `divergent`, `spin 10 us`, `capacity 64`, `nodes 2` (machines), the name of a library, or class of a machine-level study",
        ..of_field!(group, FIRST)
    },
    &Parameter {
        meaning: "form of the primitive in the source ([forms](METHOD.md#forms)); empty: as people usually write it",
        ..of_field!(form, LATER)
    },
    &Parameter { meaning: "elements of the reduced vector", ..count_of_field!(elements, LATER, MOST_ELEMENTS) },
    &Parameter {
        meaning: "work under a lock (`--inside`) such as `100ns` or `4KiB`, part of `ns`",
        ..of_field!(inside, LATER)
    },
    &Parameter { meaning: "work between critical sections (`--outside`), part of `ns`", ..of_field!(outside, LATER) },
];

impl Case {
    /// The identity of this case; see [`CaseId`].
    pub fn id(&self) -> CaseId {
        self.id_over(&PARAMETERS)
    }

    fn id_over(&self, parameters: &[&Parameter]) -> CaseId {
        let mut line = String::new();
        for parameter in parameters {
            let value = (parameter.write)(self);
            if parameter.always_in_id || !value.is_empty() {
                let separator = if line.is_empty() { "" } else { ";" };
                line.extend([separator, parameter.name, "=", &value]);
            }
        }
        CaseId::of(&line)
    }
}

/// A case is stored as the cells of its columns that are not empty.
impl Serialize for Case {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = PARAMETERS.iter().map(|parameter| (parameter.name, (parameter.write)(self)));
        serializer.collect_map(cells.filter(|(_, cell)| !cell.is_empty()))
    }
}

impl<'de> Deserialize<'de> for Case {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cells = HashMap::<String, String>::deserialize(deserializer)?;
        let mut case = Self::default();
        for parameter in PARAMETERS {
            let read = cells.get(parameter.name).map_or(Some(()), |cell| (parameter.read)(&mut case, cell, &cells));
            read.ok_or_else(|| D::Error::custom(format!("`{}` is not understood", parameter.name)))?;
        }
        Ok(case)
    }
}

/// The text of a cell; empty without a value.
pub(crate) fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Sets a parameter from its cell; `None` if the cell is not understood.
pub(crate) fn set<T: FromStr>(parameter: &mut Option<T>, cell: &str) -> Option<()> {
    *parameter = Some(cell.parse().ok()?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::case::Group;
    use crate::model::case::Work;
    use crate::model::case::tests::example;
    use crate::model::case::{Dtype, Form, MemoryOrder, Mode, Placement, Scope, Space};

    #[test]
    fn the_id_of_a_case_never_changes() {
        // Golden values: files of other versions and machines hold them.
        assert_eq!(Case::new("cpu.barrier.std").id().0, "34e478a8a24cd053");
        assert_eq!(example().id().0, "cfbd369d912cd09c");
    }

    #[test]
    fn a_later_parameter_leaves_the_ids_of_cases_without_it() {
        let later = |write| Parameter { name: "form", always_in_id: false, write, ..*PARAMETERS[0] };
        let (absent, present) = (later(|_| String::new()), later(|_| "bare".to_owned()));
        let with = |last| PARAMETERS.iter().copied().chain([last]).collect::<Vec<_>>();
        assert_eq!(example().id_over(&with(&absent)), example().id());
        assert_ne!(example().id_over(&with(&present)), example().id());
    }

    #[test]
    fn every_parameter_changes_the_id() {
        let base = example();
        let variants = [
            Case { dtype: Some(Dtype::U64), ..base.clone() },
            Case { layout: Some(Layout::Shared), ..base.clone() },
            Case { layout: Some(Layout::Private { stride: 4 }), ..base.clone() },
            Case { threads: Some(5), ..base.clone() },
            Case { blocks: Some(4), ..base.clone() },
            Case { devices: Some(1), ..base.clone() },
            Case { placement: Some(Placement::List(vec![0, 2])), ..base.clone() },
            Case { scope: Some(Scope::System), ..base.clone() },
            Case { space: Some(Space::Shared), ..base.clone() },
            Case { order: Some(MemoryOrder::SeqCst), ..base.clone() },
            Case { mode: Some(Mode::Latency), ..base.clone() },
            Case { group: Some(Group::of_word("tile 4")), ..base.clone() },
            Case { form: Some(Form::Varying), ..base.clone() },
            Case { elements: Some(1 << 20), ..base.clone() },
            Case { inside: Some(Work::Time(100)), ..base.clone() },
            Case { outside: Some(Work::Memory(64)), ..base.clone() },
        ];
        let mut ids: Vec<_> = variants.iter().chain([&base]).map(Case::id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), variants.len() + 1);
        for case in &variants {
            let text = serde_json::to_string(case).unwrap();
            assert_eq!(&serde_json::from_str::<Case>(&text).unwrap(), case, "{text}");
        }
    }
}
