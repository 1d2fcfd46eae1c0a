//! Operators and functions as the operations that shader hardware has.
//!
//! Opcodes are lower case and name the operation for any number of lanes: `add`, `mul`, `mad`, `dp3`, `rsq`,
//! `tex`. A minus sign is a modifier of the operand and no operation; so is a transposition. Functions that
//! hardware lacks are expanded: `normalize` is `dp3`, `rsq`, `mul`.

use naga::{BinaryOperator, MathFunction, ScalarKind, UnaryOperator};

use super::code::Lane;
use super::lower::{Fault, Lower, Val, Variant, leaf_lanes};

type Fallible<T> = Result<T, Fault>;

/// Return a number that separates operations with the same opcode on different kinds of numbers.
fn variant(opcode: &str, kind: ScalarKind) -> Variant {
    match opcode {
        "idiv" | "imod" | "imin" | "imax" | "shr" | "slt" | "sge" | "seq" | "sne" | "abs" | "sign"
        | "bfe" | "fls" => kind as Variant,
        _ => 0,
    }
}

impl Lower<'_> {
    pub(super) fn unary(&mut self, op: UnaryOperator, kind: ScalarKind, val: &Val) -> Fallible<Val> {
        let opcode = match op {
            UnaryOperator::Negate if kind == ScalarKind::Float => return Ok(self.negated(val)),
            UnaryOperator::Negate => "ineg",
            UnaryOperator::LogicalNot | UnaryOperator::BitwiseNot => "not",
        };
        Ok(self.map(val, &mut |this, lanes| this.op(opcode, lanes.len(), &[lanes])))
    }

    fn negated(&mut self, val: &Val) -> Val {
        match val {
            Val::Lanes(lanes) => Val::Lanes(self.minus(lanes)),
            Val::Group(parts) => Val::Group(parts.iter().map(|part| self.negated(part)).collect()),
            other => other.clone(),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOperator, kind: ScalarKind, a: &Val, b: &Val) -> Fallible<Val> {
        use BinaryOperator as B;
        let is_float = kind == ScalarKind::Float;
        match (op, a, b) {
            (B::Multiply, Val::Group(columns), Val::Lanes(vector))
                if vector.len() == columns.len() && vector.len() > 1 =>
            {
                let vector = self.as_operand(b.clone())?;
                return self.matrix_by_vector(columns, &vector).map(Val::Lanes);
            }
            (B::Multiply, Val::Lanes(vector), Val::Group(columns)) if vector.len() > 1 => {
                let vector = self.as_operand(a.clone())?;
                let mut lanes = Vec::new();
                for column in columns {
                    let column = self.as_operand(column.clone())?;
                    lanes.extend(self.dot(&vector, &column));
                }
                return Ok(Val::Lanes(lanes));
            }
            (B::Multiply, Val::Group(columns), Val::Group(others)) => {
                let mut result = Vec::new();
                for other in others {
                    let other = self.as_operand(other.clone())?;
                    result.push(Val::Lanes(self.matrix_by_vector(columns, &other)?));
                }
                return Ok(Val::Group(result));
            }
            _ => {}
        }
        // Greater is less with swapped operands.
        let (a, b) = match op {
            B::Subtract => (a.clone(), self.negated(b)),
            B::Greater | B::LessEqual => (b.clone(), a.clone()),
            _ => (a.clone(), b.clone()),
        };
        let (a, b) = (&a, &b);
        let opcode = match op {
            B::Add | B::Subtract if is_float => "add",
            B::Add | B::Subtract => "iadd",
            B::Multiply if is_float => "mul",
            B::Multiply => "imul",
            B::Divide if is_float => {
                return self.zip(a, b, &mut |this, a, b| this.quotient(a, b));
            }
            B::Divide => "idiv",
            B::Modulo if is_float => {
                return self.zip(a, b, &mut |this, a, b| {
                    let quotient = this.quotient(a, b);
                    let whole = this.op("trunc", a.len(), &[&quotient]);
                    let product = this.op("mul", a.len(), &[&whole, b]);
                    let product = this.minus(&product);
                    this.op("add", a.len(), &[&product, a])
                });
            }
            B::Modulo => "imod",
            B::Equal => "seq",
            B::NotEqual => "sne",
            B::Less | B::Greater => "slt",
            B::LessEqual | B::GreaterEqual => "sge",
            B::And | B::LogicalAnd => "and",
            B::InclusiveOr | B::LogicalOr => "or",
            B::ExclusiveOr => "xor",
            B::ShiftLeft => "shl",
            B::ShiftRight => "shr",
        };
        let variant = variant(opcode, kind);
        self.zip(a, b, &mut |this, a, b| this.op_of(opcode, variant, a.len(), &[a, b]))
    }

    /// Divide. A division by a constant becomes a multiplication.
    fn quotient(&mut self, a: &[Lane], b: &[Lane]) -> Vec<Lane> {
        if b.iter().all(|lane| matches!(lane, Lane::Const(_))) {
            let inverse = self.inverse(b);
            return self.op("mul", a.len(), &[a, &inverse]);
        }
        let inverse = match b.iter().all(|lane| *lane == b[0]) {
            true => vec![self.op("rcp", 1, &[&b[..1]])[0]; a.len()],
            false => self.op("rcp", b.len(), &[b]),
        };
        // One divided by a value is its reciprocal.
        match a.iter().all(|lane| *lane == self.number(1.0)) {
            true => inverse,
            false => self.op("mul", a.len(), &[a, &inverse]),
        }
    }

    fn dot(&mut self, a: &[Lane], b: &[Lane]) -> Vec<Lane> {
        let opcode = match a.len() {
            1 => "mul",
            2 => "dp2",
            3 => "dp3",
            _ => "dp4",
        };
        self.op(opcode, 1, &[a, b])
    }

    fn matrix_by_vector(&mut self, columns: &[Val], vector: &[Lane]) -> Fallible<Vec<Lane>> {
        let mut sum: Option<Vec<Lane>> = None;
        for (column, lane) in columns.iter().zip(vector) {
            let column = self.as_operand(column.clone())?;
            let factor = vec![*lane; column.len()];
            let product = self.op("mul", column.len(), &[&column, &factor]);
            sum = Some(match sum {
                None => product,
                Some(sum) => self.op("add", column.len(), &[&product, &sum]),
            });
        }
        Ok(sum.unwrap_or_default())
    }

    /// Return one over the length of a vector.
    fn inverse_length(&mut self, vector: &[Lane]) -> Vec<Lane> {
        let square = self.dot(vector, vector);
        self.op("rsq", 1, &[&square])
    }

    fn length(&mut self, vector: &[Lane]) -> Vec<Lane> {
        if vector.len() == 1 {
            return self.op("abs", 1, &[vector]);
        }
        let inverse = self.inverse_length(vector);
        self.op("rcp", 1, &[&inverse])
    }

    /// Lower a function of naga's list; `lanes` is the width of the result.
    pub(super) fn math(
        &mut self,
        fun: MathFunction,
        kind: ScalarKind,
        arguments: Vec<Val>,
        lanes: usize,
    ) -> Fallible<Val> {
        use MathFunction as M;
        if let (M::Transpose | M::Determinant | M::Inverse | M::Outer, _) = (fun, kind) {
            return self.matrix_math(fun, &arguments);
        }
        let mut operands = Vec::new();
        for argument in arguments {
            operands.push(self.as_operand(argument)?);
        }
        let a = operands[0].clone();
        let widen =
            |lane: &[Lane], count: usize| if lane.len() == 1 { vec![lane[0]; count] } else { lane.to_vec() };
        let argument =
            |number: usize| operands.get(number).map_or(Vec::new(), |operand| widen(operand, a.len()));
        let (b, c) = (argument(1), argument(2));
        let n = lanes;
        let is_float = kind == ScalarKind::Float;
        let simple = match fun {
            M::Abs => "abs",
            M::Min if is_float => "min",
            M::Min => "imin",
            M::Max if is_float => "max",
            M::Max => "imax",
            M::Saturate => "sat",
            M::Cos => "cos",
            M::Sin => "sin",
            M::Cosh => "cosh",
            M::Sinh => "sinh",
            M::Tanh => "tanh",
            M::Acos => "acos",
            M::Asin => "asin",
            M::Atan => "atan",
            M::Atan2 => "atan2",
            M::Asinh => "asinh",
            M::Acosh => "acosh",
            M::Atanh => "atanh",
            M::Ceil => "ceil",
            M::Floor => "floor",
            M::Round => "round",
            M::Fract => "frc",
            M::Trunc => "trunc",
            M::Ldexp => "ldexp",
            M::Exp2 => "ex2",
            M::Log2 => "lg2",
            M::Sign => "sign",
            M::Fma => "mad",
            M::Mix => "lrp",
            M::InverseSqrt => "rsq",
            M::QuantizeToF16 => "f2h",
            M::CountTrailingZeros => "ctz",
            M::CountLeadingZeros => "clz",
            M::CountOneBits => "popcnt",
            M::ReverseBits => "bitrev",
            M::ExtractBits => "bfe",
            M::InsertBits => "bfi",
            M::FirstTrailingBit => "ffs",
            M::FirstLeadingBit => "fls",
            M::Dot4I8Packed | M::Dot4U8Packed => "dot4",
            M::Pack4x8snorm
            | M::Pack4x8unorm
            | M::Pack2x16snorm
            | M::Pack2x16unorm
            | M::Pack2x16float
            | M::Pack4xI8
            | M::Pack4xU8
            | M::Pack4xI8Clamp
            | M::Pack4xU8Clamp => "pack",
            M::Unpack4x8snorm
            | M::Unpack4x8unorm
            | M::Unpack2x16snorm
            | M::Unpack2x16unorm
            | M::Unpack2x16float
            | M::Unpack4xI8
            | M::Unpack4xU8 => "unpack",
            _ => "",
        };
        if !simple.is_empty() {
            let wide: Vec<Vec<Lane>> = operands.iter().map(|operand| widen(operand, a.len())).collect();
            let wide: Vec<&[Lane]> = wide.iter().map(Vec::as_slice).collect();
            let variant = match simple {
                "pack" | "unpack" | "dot4" => fun as Variant,
                _ => variant(simple, kind),
            };
            return Ok(Val::Lanes(self.op_of(simple, variant, n, &wide)));
        }
        let one = self.number(1.0);
        let two = self.number(2.0);
        Ok(Val::Lanes(match fun {
            M::Clamp => {
                let [low, high] = if is_float { ["max", "min"] } else { ["imax", "imin"] };
                let raised = self.op_of(low, variant(low, kind), n, &[&a, &b]);
                self.op_of(high, variant(high, kind), n, &[&raised, &c])
            }
            M::Tan => {
                let (sin, cos) = (self.op("sin", n, &[&a]), self.op("cos", n, &[&a]));
                self.quotient(&sin, &cos)
            }
            M::Radians | M::Degrees => {
                let factor =
                    self.number(if fun == M::Radians { 0.017453292519943295 } else { 57.29577951308232 });
                self.op("mul", n, &[&a, &vec![factor; n]])
            }
            M::Exp => {
                let factor = self.number(std::f64::consts::LOG2_E);
                let scaled = self.op("mul", n, &[&a, &vec![factor; n]]);
                self.op("ex2", n, &[&scaled])
            }
            M::Log => {
                let factor = self.number(std::f64::consts::LN_2);
                let log = self.op("lg2", n, &[&a]);
                self.op("mul", n, &[&log, &vec![factor; n]])
            }
            M::Pow => {
                let log = self.op("lg2", n, &[&a]);
                let scaled = self.op("mul", n, &[&log, &b]);
                self.op("ex2", n, &[&scaled])
            }
            M::Sqrt => {
                let inverse = self.op("rsq", n, &[&a]);
                self.op("rcp", n, &[&inverse])
            }
            M::Dot if is_float => self.dot(&a, &b),
            M::Dot => {
                let products = self.op("imul", a.len(), &[&a, &b]);
                let mut sum = vec![products[0]];
                for lane in &products[1..] {
                    sum = self.op("iadd", 1, &[&sum, &[*lane]]);
                }
                sum
            }
            M::Cross => {
                let turn =
                    |lanes: &[Lane], by: usize| vec![lanes[by], lanes[(by + 1) % 3], lanes[(by + 2) % 3]];
                let product = self.op("mul", 3, &[&turn(&a, 2), &turn(&b, 1)]);
                let other = self.op("mul", 3, &[&turn(&a, 1), &turn(&b, 2)]);
                let product = self.minus(&product);
                self.op("add", 3, &[&other, &product])
            }
            M::Distance => {
                let b = self.minus(&b);
                let way = self.op("add", a.len(), &[&a, &b]);
                self.length(&way)
            }
            M::Length => self.length(&a),
            M::Normalize => {
                let inverse = self.inverse_length(&a);
                self.op("mul", n, &[&a, &vec![inverse[0]; n]])
            }
            M::FaceForward => {
                let dot = self.dot(&b, &c);
                self.op("cmp", n, &[&vec![dot[0]; n], &a])
            }
            M::Reflect => {
                let dot = self.dot(&a, &b);
                let twice = self.op("mul", 1, &[&dot, &[two]]);
                let along = self.op("mul", n, &[&b, &vec![twice[0]; n]]);
                let along = self.minus(&along);
                self.op("add", n, &[&along, &a])
            }
            M::Refract => {
                let ratio = vec![c[0]];
                let dot = self.dot(&a, &b);
                let sine = self.op("mul", 1, &[&dot, &dot]);
                let sine = self.minus(&sine);
                let rest = self.op("add", 1, &[&sine, &[one]]);
                let square = self.op("mul", 1, &[&ratio, &ratio]);
                let scaled = self.op("mul", 1, &[&square, &rest]);
                let scaled = self.minus(&scaled);
                let inside = self.op("add", 1, &[&scaled, &[one]]);
                let inverse = self.op("rsq", 1, &[&inside]);
                let cosine = self.op("rcp", 1, &[&inverse]);
                let part = self.op("mul", 1, &[&ratio, &dot]);
                let factor = self.op("add", 1, &[&part, &cosine]);
                let along = self.op("mul", n, &[&b, &vec![factor[0]; n]]);
                let bent = self.op("mul", n, &[&a, &vec![ratio[0]; n]]);
                let along = self.minus(&along);
                let sum = self.op("add", n, &[&bent, &along]);
                self.op("cmp", n, &[&vec![inside[0]; n], &sum])
            }
            M::Step => self.op("sge", n, &[&b, &a]),
            M::SmoothStep => {
                let (low, high, x) = (a, b, c);
                let low = self.minus(&low);
                let offset = self.op("add", n, &[&x, &low]);
                let width = self.op("add", n, &[&high, &low]);
                let ratio = self.quotient(&offset, &width);
                let t = self.op("sat", n, &[&ratio]);
                let minus = self.number(-2.0);
                let three = self.number(3.0);
                let twice = self.op("mul", n, &[&t, &vec![minus; n]]);
                let bend = self.op("add", n, &[&twice, &vec![three; n]]);
                let square = self.op("mul", n, &[&t, &t]);
                self.op("mul", n, &[&square, &bend])
            }
            M::Modf => {
                let whole = self.op("trunc", a.len(), &[&a]);
                let minus = self.minus(&whole);
                let rest = self.op("add", a.len(), &[&a, &minus]);
                return Ok(Val::Group(vec![Val::Lanes(rest), Val::Lanes(whole)]));
            }
            M::Frexp => {
                let exponent = self.op("frexp", a.len(), &[&a]);
                let minus = self.minus(&exponent);
                let rest = self.op("ldexp", a.len(), &[&a, &minus]);
                return Ok(Val::Group(vec![Val::Lanes(rest), Val::Lanes(exponent)]));
            }
            other => return self.fault(format!("the function {other:?} is not supported")),
        }))
    }

    fn matrix_math(&mut self, fun: MathFunction, arguments: &[Val]) -> Fallible<Val> {
        if let (MathFunction::Transpose, Some(Val::Group(parts))) = (fun, arguments.first()) {
            let mut columns = Vec::new();
            parts.iter().for_each(|part| leaf_lanes(part, &mut columns));
            let rows = columns.first().map_or(0, Vec::len);
            let row = |at: usize| Val::Lanes(columns.iter().map(|column| column[at]).collect());
            return Ok(Val::Group((0..rows).map(row).collect()));
        }
        let mut columns = Vec::new();
        for argument in arguments {
            match argument {
                Val::Group(parts) => {
                    for part in parts {
                        columns.push(self.as_operand(part.clone())?);
                    }
                }
                other => columns.push(self.as_operand(other.clone())?),
            }
        }
        match fun {
            MathFunction::Outer => {
                let (left, right) = (columns[0].clone(), columns[1].clone());
                let column = |this: &mut Self, lane: Lane| {
                    this.op("mul", left.len(), &[&left, &vec![lane; left.len()]])
                };
                Ok(Val::Group(right.into_iter().map(|lane| Val::Lanes(column(self, lane))).collect()))
            }
            MathFunction::Determinant => self.determinant(&columns).map(Val::Lanes),
            _ => self.fault("the inverse of a matrix is not supported"),
        }
    }

    /// Expand the determinant by the first column.
    fn determinant(&mut self, columns: &[Vec<Lane>]) -> Fallible<Vec<Lane>> {
        if columns.len() == 1 {
            return Ok(columns[0].clone());
        }
        let mut sum: Option<Vec<Lane>> = None;
        for skipped in 0..columns.len() {
            let minor: Vec<Vec<Lane>> = (columns[1..].iter())
                .map(|column| {
                    let rows = column.iter().enumerate().filter(|(row, _)| *row != skipped);
                    rows.map(|(_, lane)| *lane).collect()
                })
                .collect();
            let minor = self.determinant(&minor)?;
            let mut product = self.op("mul", 1, &[&columns[0][skipped..=skipped], &minor]);
            if skipped % 2 == 1 {
                product = self.minus(&product);
            }
            sum = Some(match sum {
                None => product,
                Some(sum) => self.op("add", 1, &[&product, &sum]),
            });
        }
        Ok(sum.unwrap_or_default())
    }
}
