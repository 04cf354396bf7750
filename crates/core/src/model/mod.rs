//! The terms of a measurement as plain types, which every other module uses.
//!
//! Start with [`case`]: a case is one point of a sweep over a primitive's parameters.

pub mod axes;
pub mod case;
pub mod detail;
pub mod domain;
pub mod estimate;
pub mod evidence;
pub mod facts;
pub mod groups;
pub mod language;
pub mod limits;
pub mod own;
pub mod parameter;
pub mod primitive;
pub mod sample;
pub mod sweep;
pub mod verdict;
