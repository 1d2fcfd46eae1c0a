//! Readers and writers for Lowtide.
//!
//! - [`KernelReader`] reads region files: the project's own format (`docs/region-format.md`) or a dump from
//!   LLVM, plain or gzip. It recognises the format by the content, is strict, and holds one kernel in memory.
//! - [`format_line`] and [`LineWriter`] write the project's own format.
//! - [`KernelFileWriter`] and [`ResultFileWriter`] write Parquet files, with the feature `parquet`.
//!   [`KernelReader`] then reads them, too.
//! - [`ScheduleReader`] and [`format_schedule`] read and write schedules, which can carry [`PeakBound`]s.
//! - [`read_shader`] reads shaders: WGSL, GLSL and SPIR-V (`docs/shaders.md`), with the feature `shaders`.
//! - [`pretty_json`] writes results as indented JSON.
//! - [`dot()`] draws a dependence graph.
//! - [`describe_internal_error`] writes the region of an internal error to a file.
//!
//! Every error names the file, the line and the element.

#![forbid(unsafe_code)]

mod bug_report;
mod certificate_file;
#[cfg(feature = "parquet")]
mod columnar;
#[cfg(not(feature = "parquet"))]
#[path = "no_columnar.rs"]
mod columnar;
mod cursor;
mod dot;
mod error;
mod json;
mod lines;
mod llvm_dump;
mod output;
mod peak_bound;
mod pretty;
mod reader;
mod region_file;
mod results;
mod schedule_file;
mod shader;

pub use bug_report::describe_internal_error;
pub use certificate_file::{
    format_certificate, format_certificate_header, format_claim, format_length_proof, format_proof,
};
pub use columnar::{KernelFileWriter, ResultFileWriter};
pub use dot::dot;
pub use error::ReadError;
pub use lines::MAX_LINE;
pub use output::LineWriter;
pub use peak_bound::{BoundReason, PeakBound};
pub use pretty::pretty_json;
pub use reader::KernelReader;
pub use region_file::{def_flags, format_line};
pub use results::{ClassRow, RESULT_SCHEMA, ResultRow};
pub use schedule_file::{ScheduleEntry, ScheduleReader, format_schedule};
pub use shader::{ShaderLanguage, parse_shader, read_shader, shader_place};
