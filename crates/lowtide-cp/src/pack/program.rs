//! An integer program as HiGHS takes it: rows of sums within ranges.

/// A column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Column(i32);

impl Column {
    pub(crate) fn value(self, solution: &[f64]) -> f64 {
        solution[self.0 as usize]
    }

    pub(crate) fn is_set(self, solution: &[f64]) -> bool {
        self.value(solution) > 0.5
    }
}

/// A program: minimise the cost of the columns within the ranges of columns and rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) cost: Vec<f64>,
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) whole: Vec<bool>,
    pub(crate) row_lower: Vec<f64>,
    pub(crate) row_upper: Vec<f64>,
    /// The start of each row in `index` and `value`.
    pub(crate) start: Vec<i32>,
    pub(crate) index: Vec<i32>,
    pub(crate) value: Vec<f64>,
}

impl Program {
    pub(crate) fn column(&mut self, lower: f64, upper: f64, cost: f64, is_whole: bool) -> Column {
        self.cost.push(cost);
        self.lower.push(lower);
        self.upper.push(upper);
        self.whole.push(is_whole);
        Column(self.lower.len() as i32 - 1)
    }

    pub(crate) fn bit(&mut self) -> Column {
        self.column(0.0, 1.0, 0.0, true)
    }

    /// Add the row `lower <= sum <= upper`. A column may occur several times.
    pub(crate) fn row(&mut self, lower: f64, sum: &[(f64, Column)], upper: f64) {
        let mut terms: Vec<(i32, f64)> = sum.iter().map(|(factor, column)| (column.0, *factor)).collect();
        terms.sort_unstable_by_key(|(column, _)| *column);
        self.start.push(self.index.len() as i32);
        for (column, factor) in terms {
            let begin = self.start[self.start.len() - 1] as usize;
            match self.index[begin..].last() {
                Some(last) if *last == column => {
                    if let Some(value) = self.value.last_mut() {
                        *value += factor;
                    }
                }
                _ => {
                    self.index.push(column);
                    self.value.push(factor);
                }
            }
        }
        self.row_lower.push(lower);
        self.row_upper.push(upper);
    }

    pub(crate) fn at_most(&mut self, sum: &[(f64, Column)], upper: f64) {
        self.row(f64::NEG_INFINITY, sum, upper);
    }

    pub(crate) fn equal(&mut self, sum: &[(f64, Column)], value: f64) {
        self.row(value, sum, value);
    }
}
