//! Functions of libraries that are loaded at run time.

/// Declares a structure of functions of a library that is loaded at run time, with the signatures of the library's header.
/// Functions marked `optional` are missing in some versions; a second name is the name in other versions.
#[macro_export]
macro_rules! functions {
    (@type required $kind:ty) => { $kind };
    (@type optional $kind:ty) => { Option<$kind> };
    (@find required $library:ident $name:literal) => {
        // SAFETY: the types are those of the header.
        *unsafe { $library.get($name.as_bytes()) }?
    };
    (@find optional $library:ident $($name:literal)+) => {
        // SAFETY: the types are those of the header.
        None$(.or_else(|| unsafe { $library.get($name.as_bytes()) }.ok().map(|function| *function)))+
    };
    ($(#[$about:meta])* $structure:ident { $($(#[$comment:meta])* $need:ident $field:ident: $kind:ty = $($name:literal)|+,)+ }) => {
        $(#[$about])*
        #[derive(Debug)]
        struct $structure {
            $($(#[$comment])* $field: $crate::functions!(@type $need $kind),)+
        }

        impl $structure {
            fn of(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self { $($field: $crate::functions!(@find $need library $($name)+),)+ })
            }
        }
    };
}
