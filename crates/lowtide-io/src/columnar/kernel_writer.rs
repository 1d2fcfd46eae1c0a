//! Kernels into the columns of a Parquet file.

use std::io::Error;
use std::path::Path;

use lowtide::RegisterId;
use lowtide::region::{Kernel, Operand, Peak, Region};

use super::schema::KERNELS;
use super::table::{Cell, Table};
use crate::region_file::def_flag_letters;

/// Writes kernels to a Parquet file, one row for each.
/// [`KernelFileWriter::finish`] writes the output atomically; before it, nothing is visible.
pub struct KernelFileWriter {
    table: Table,
}

/// The columns of a list that starts at a level, one after the other.
struct Row<'a> {
    table: &'a mut Table,
    /// The next column.
    column: usize,
}

impl Row<'_> {
    /// Add a value to the next column.
    fn cell(&mut self, levels: [i16; 2], cell: Cell) {
        self.table.push(self.column, levels, cell);
        self.column += 1;
    }

    /// Add an optional value. `defined` is the level of a value that is not null.
    fn optional(&mut self, [repetition, defined]: [i16; 2], cell: Option<Cell>) {
        match cell {
            Some(cell) => self.cell([repetition, defined], cell),
            None => self.cell([repetition, defined - 1], Cell::Null),
        }
    }

    /// Add a list to the next `columns` columns. `levels` are those of an empty list, and `depth` is the
    /// repetition level of its elements. `add` gets the levels of each element.
    fn list<T>(
        &mut self,
        columns: usize,
        levels: [i16; 2],
        depth: i16,
        items: impl IntoIterator<Item = T>,
        mut add: impl FnMut(&mut Row, [i16; 2], T),
    ) {
        let start = self.column;
        let mut repetition = levels[0];
        let mut is_empty = true;
        for item in items {
            self.column = start;
            add(self, [repetition, levels[1] + 1], item);
            debug_assert_eq!(self.column, start + columns);
            repetition = depth;
            is_empty = false;
        }
        if is_empty {
            self.null(start, columns, levels);
        }
        self.column = start + columns;
    }

    /// Add nothing to some columns but these levels.
    fn null(&mut self, start: usize, columns: usize, levels: [i16; 2]) {
        for column in start..start + columns {
            self.table.push(column, levels, Cell::Null);
        }
        self.column = start + columns;
    }

    fn operands(&mut self, levels: [i16; 2], depth: i16, operands: &[Operand]) {
        self.list(2, levels, depth, operands, |row, levels, operand| {
            row.cell(levels, Cell::Int(operand.register.0));
            row.cell(levels, Cell::Long(operand.lanes));
        });
    }

    /// Add the peaks of each class. `levels` are those of an empty list that is not null.
    fn peaks(&mut self, levels: [i16; 2], depth: i16, peaks: Option<&[Peak]>) {
        let Some(peaks) = peaks else {
            return self.null(self.column, 2, [levels[0], levels[1] - 1]);
        };
        self.list(2, levels, depth, peaks, |row, levels, peak| {
            row.cell(levels, Cell::Int(peak.between));
            row.cell(levels, Cell::Int(peak.at));
        });
    }
}

impl KernelFileWriter {
    /// Start a file. Its folder must exist.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Ok(KernelFileWriter { table: Table::create(path, KERNELS, super::VERSION)? })
    }

    /// Add a kernel.
    pub fn kernel(&mut self, kernel: &Kernel) -> Result<(), Error> {
        let mut row = Row { table: &mut self.table, column: 0 };
        row.cell([0, 0], Cell::Text(&kernel.name));
        row.cell([0, 0], Cell::Text(&kernel.origin));
        row.optional([0, 1], kernel.target.as_deref().map(Cell::Text));
        row.cell([0, 0], Cell::Boolean(kernel.is_entry));
        row.optional([0, 1], kernel.max_occupancy.map(Cell::Int));
        let columns = row.table.columns() - row.column;
        row.list(columns, [0, 0], 1, &kernel.regions, add_region);
        self.table.end_row(kernel.instr_count())
    }

    /// Complete the file and move it into place.
    pub fn finish(self) -> Result<(), Error> {
        self.table.finish()
    }
}

fn add_region(row: &mut Row, levels: [i16; 2], region: &Region) {
    let [repetition, _] = levels;
    row.cell(levels, Cell::Text(region.name()));
    row.cell(levels, Cell::Int(region.loop_depth()));
    row.optional([repetition, 2], region.frequency().map(Cell::Int));
    row.cell(levels, Cell::Text(region.boundary()));
    row.list(1, levels, 2, region.classes(), |row, levels, class| row.cell(levels, Cell::Text(class)));
    row.list(1, levels, 2, region.class_ids(), |row, levels, class| {
        row.cell(levels, Cell::Int(region.through(class)));
    });
    row.list(4, levels, 2, region.registers().iter().enumerate(), |row, levels, (number, register)| {
        row.cell(levels, Cell::Text(region.register_name(RegisterId::at(number))));
        row.cell(levels, Cell::Text(&region.classes()[register.class.index()]));
        row.cell(levels, Cell::Int(register.lanes));
        row.cell(levels, Cell::Int(register.lane_weight));
    });
    row.operands(levels, 2, region.live_in());
    row.operands(levels, 2, region.live_out());
    row.list(12, levels, 2, region.instrs(), |row, levels, instr| {
        row.cell(levels, Cell::Text(region.opcode(instr)));
        row.cell(levels, Cell::Int(region.latency(instr)));
        row.cell(levels, Cell::Int(region.micro_ops(instr)));
        row.cell(levels, Cell::Text(region.flags(instr)));
        let space = Some(region.address_space(instr)).filter(|space| *space != -1);
        row.optional([levels[0], 3], space.map(Cell::Signed));
        row.list(2, levels, 3, region.units(instr), |row, levels, need| {
            row.cell(levels, Cell::Text(&need.unit));
            row.cell(levels, Cell::Int(need.cycles));
        });
        row.list(3, levels, 3, region.defs(instr), |row, levels, def| {
            row.cell(levels, Cell::Int(def.operand.register.0));
            row.cell(levels, Cell::Long(def.operand.lanes));
            row.cell(levels, Cell::Text(&def_flag_letters(def.flags)));
        });
        row.operands(levels, 3, region.operands(instr));
    });
    row.list(4, levels, 2, region.deps(), |row, levels, dep| {
        row.cell(levels, Cell::Int(dep.from.0));
        row.cell(levels, Cell::Int(dep.to.0));
        row.cell(levels, Cell::Text(dep.kind.name()));
        row.cell(levels, Cell::Int(dep.latency));
    });
    row.list(4, levels, 2, region.hints(), |row, levels, hint| {
        row.cell(levels, Cell::Int(hint.from.0));
        row.optional([levels[0], 3], hint.to.map(|to| Cell::Int(to.0)));
        row.cell(levels, Cell::Text(hint.kind.name()));
        row.cell(levels, Cell::Int(hint.latency));
    });
    row.peaks([repetition, 2], 2, region.source_peaks());
    match region.production() {
        Some(production) => {
            row.cell([repetition, 2], Cell::Text(&production.by));
            let order = &production.order;
            row.list(1, [repetition, 2], 2, order, |row, levels, instr| row.cell(levels, Cell::Int(instr.0)));
            row.peaks([repetition, 3], 2, production.peaks.as_deref());
        }
        None => row.null(row.column, 4, levels),
    }
}
