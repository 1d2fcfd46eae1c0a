//! The columns of kernels. `docs/region-format.md` describes them.

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::schema::types::Type;
use rustc_hash::FxHashMap;

/// The schema of kernels, as it is written.
pub(super) const KERNELS: &str = "
message lowtide_kernels {
  REQUIRED BYTE_ARRAY kernel (UTF8);
  REQUIRED BYTE_ARRAY origin (UTF8);
  OPTIONAL BYTE_ARRAY target (UTF8);
  REQUIRED BOOLEAN entry;
  OPTIONAL INT32 max_occupancy (UINT_32);
  REQUIRED group regions (LIST) { REPEATED group list { REQUIRED group element {
    REQUIRED BYTE_ARRAY region (UTF8);
    REQUIRED INT32 loop_depth (UINT_32);
    OPTIONAL INT32 frequency (UINT_32);
    REQUIRED BYTE_ARRAY boundary (UTF8);
    REQUIRED group classes (LIST) { REPEATED group list { REQUIRED BYTE_ARRAY element (UTF8); } }
    REQUIRED group through (LIST) { REPEATED group list { REQUIRED INT32 element (UINT_32); } }
    REQUIRED group registers (LIST) { REPEATED group list { REQUIRED group element {
      REQUIRED BYTE_ARRAY name (UTF8);
      REQUIRED BYTE_ARRAY class (UTF8);
      REQUIRED INT32 lanes (UINT_32);
      REQUIRED INT32 weight (UINT_32);
    } } }
    REQUIRED group live_in (LIST) { REPEATED group list { REQUIRED group element {
      REQUIRED INT32 register (UINT_32);
      REQUIRED INT64 lanes (UINT_64);
    } } }
    REQUIRED group live_out (LIST) { REPEATED group list { REQUIRED group element {
      REQUIRED INT32 register (UINT_32);
      REQUIRED INT64 lanes (UINT_64);
    } } }
    REQUIRED group instructions (LIST) { REPEATED group list { REQUIRED group element {
      REQUIRED BYTE_ARRAY op (UTF8);
      REQUIRED INT32 latency (UINT_32);
      REQUIRED INT32 micro_ops (UINT_32);
      REQUIRED BYTE_ARRAY flags (UTF8);
      OPTIONAL INT32 address_space (INT_32);
      REQUIRED group units (LIST) { REPEATED group list { REQUIRED group element {
        REQUIRED BYTE_ARRAY unit (UTF8);
        REQUIRED INT32 cycles (UINT_32);
      } } }
      REQUIRED group defs (LIST) { REPEATED group list { REQUIRED group element {
        REQUIRED INT32 register (UINT_32);
        REQUIRED INT64 lanes (UINT_64);
        REQUIRED BYTE_ARRAY flags (UTF8);
      } } }
      REQUIRED group uses (LIST) { REPEATED group list { REQUIRED group element {
        REQUIRED INT32 register (UINT_32);
        REQUIRED INT64 lanes (UINT_64);
      } } }
    } } }
    REQUIRED group deps (LIST) { REPEATED group list { REQUIRED group element {
      REQUIRED INT32 from (UINT_32);
      REQUIRED INT32 to (UINT_32);
      REQUIRED BYTE_ARRAY kind (UTF8);
      REQUIRED INT32 latency (UINT_32);
    } } }
    REQUIRED group hints (LIST) { REPEATED group list { REQUIRED group element {
      REQUIRED INT32 from (UINT_32);
      OPTIONAL INT32 to (UINT_32);
      REQUIRED BYTE_ARRAY kind (UTF8);
      REQUIRED INT32 latency (UINT_32);
    } } }
    OPTIONAL group source_peaks (LIST) { REPEATED group list { REQUIRED group element {
      REQUIRED INT32 between (UINT_32);
      REQUIRED INT32 at (UINT_32);
    } } }
    OPTIONAL group production {
      REQUIRED BYTE_ARRAY by (UTF8);
      REQUIRED group order (LIST) { REPEATED group list { REQUIRED INT32 element (UINT_32); } }
      OPTIONAL group peaks (LIST) { REPEATED group list { REQUIRED group element {
        REQUIRED INT32 between (UINT_32);
        REQUIRED INT32 at (UINT_32);
      } } }
    }
  } } }
}";

/// A list around a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct List {
    /// The definition level of a list that is not null.
    pub(super) present: i16,
    /// The definition level of an element.
    pub(super) element: i16,
}

/// A column of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Leaf {
    /// The position among the columns of the file.
    pub(super) index: usize,
    pub(super) physical: Physical,
    pub(super) is_unsigned: bool,
    /// The definition level of a value that is not null.
    pub(super) defined: i16,
    /// The lists around the column, the outer one first.
    pub(super) lists: Vec<List>,
}

/// Return the columns of a schema by their paths, such as `regions.instructions.op`. The groups that stand
/// for a list and its elements have no part in a path, since their names differ from program to program.
pub(super) fn leaves(schema: &Type) -> Result<FxHashMap<String, Leaf>, String> {
    let mut found = Found { leaves: FxHashMap::default(), count: 0 };
    for field in schema.get_fields() {
        found.node(field, field.name().to_string(), 0, &[])?;
    }
    Ok(found.leaves)
}

struct Found {
    leaves: FxHashMap<String, Leaf>,
    count: usize,
}

impl Found {
    fn node(&mut self, node: &Type, path: String, defined: i16, lists: &[List]) -> Result<(), String> {
        let info = node.get_basic_info();
        if info.has_repetition() && info.repetition() == parquet::basic::Repetition::REPEATED {
            return Err(format!("column {path:?} repeats without a list"));
        }
        let defined = defined + i16::from(node.is_optional());
        if node.is_primitive() {
            let is_unsigned = match info.logical_type_ref() {
                Some(LogicalType::Integer(integer)) => !integer.is_signed,
                _ => matches!(
                    info.converted_type(),
                    ConvertedType::UINT_8
                        | ConvertedType::UINT_16
                        | ConvertedType::UINT_32
                        | ConvertedType::UINT_64
                ),
            };
            let physical = node.get_physical_type();
            let leaf = Leaf { index: self.count, physical, is_unsigned, defined, lists: lists.to_vec() };
            self.count += 1;
            return match self.leaves.insert(path.clone(), leaf) {
                Some(_) => Err(format!("column {path:?} appears twice")),
                None => Ok(()),
            };
        }
        let is_list = matches!(info.logical_type_ref(), Some(LogicalType::List))
            || info.converted_type() == ConvertedType::LIST;
        if !is_list {
            for field in node.get_fields() {
                self.node(field, format!("{path}.{}", field.name()), defined, lists)?;
            }
            return Ok(());
        }
        let element = match node.get_fields() {
            [repeated] if !repeated.is_primitive() => match repeated.get_fields() {
                [element] => element,
                _ => return Err(format!("column {path:?} is a list of an old form")),
            },
            _ => return Err(format!("column {path:?} is a list of an old form")),
        };
        let mut lists = lists.to_vec();
        lists.push(List { present: defined, element: defined + 1 });
        self.node(element, path, defined + 1, &lists)
    }
}
