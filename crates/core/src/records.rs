//! Records in `run.json`.

/// Declares records: a field that none of them knows is an error, and one whose name ends in `?` is left out where it says nothing
/// (`None`, an empty list). No literal follows the `?`: a repetition has to name something that is repeated.
macro_rules! records {
    ($($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* pub $field:ident $(? $($never:literal)?)? : $type:ty,)+
    })+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {$(
            $(#[$doc])*
            $(#[serde(default, skip_serializing_if = "crate::records::says_nothing")] $($never)?)?
            pub $field: $type,
        )+}
    )+};
}
pub(crate) use records;

/// Whether a field has its default value, and is left out.
pub(crate) fn says_nothing<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}
