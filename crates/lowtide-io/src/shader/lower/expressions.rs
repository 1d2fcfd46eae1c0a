//! Expressions: the value of each, and the operations that compute it.

use naga::{Expression, Function, Handle, Literal, Module, ScalarKind, Type, TypeInner};

use super::{
    Fallible, Frame, Lower, MOST_LANES, Pairwise, Pointee, Pointer, Root, Step, Val, flatten, part, size,
};
use crate::shader::code::{Effect, Lane};

impl<'a> Lower<'a> {
    /// Return the value of an expression that was computed, or that needs no operation.
    pub(super) fn value(&mut self, frame: &mut Frame<'a>, expression: Handle<Expression>) -> Fallible<Val> {
        if let Some((block, val)) = frame.values.get(&expression) {
            let (block, val) = (*block, val.clone());
            self.copied += size(&val);
            return Ok(self.as_of(block, val));
        }
        let val = self.evaluate(frame, expression)?;
        let is_lasting = matches!(
            frame.function.expressions[expression],
            Expression::Literal(_)
                | Expression::Constant(_)
                | Expression::ZeroValue(_)
                | Expression::FunctionArgument(_)
        );
        if is_lasting {
            frame.values.insert(expression, (self.current, val.clone()));
        }
        Ok(val)
    }

    pub(super) fn lanes(
        &mut self,
        frame: &mut Frame<'a>,
        expression: Handle<Expression>,
    ) -> Fallible<Vec<Lane>> {
        match self.value(frame, expression)? {
            Val::Lanes(lanes) => Ok(lanes),
            _ => self.fault("a scalar or a vector is expected"),
        }
    }

    pub(super) fn operand(
        &mut self,
        frame: &mut Frame<'a>,
        expression: Handle<Expression>,
    ) -> Fallible<Vec<Lane>> {
        let lanes = self.lanes(frame, expression)?;
        Ok(self.gathered(lanes))
    }

    pub(super) fn literal(&mut self, literal: &Literal) -> Lane {
        let text = match literal {
            Literal::F64(value) | Literal::AbstractFloat(value) => value.to_string(),
            Literal::F32(value) => value.to_string(),
            Literal::F16(value) => value.to_string(),
            Literal::U16(value) => value.to_string(),
            Literal::I16(value) => value.to_string(),
            Literal::U32(value) => value.to_string(),
            Literal::I32(value) => value.to_string(),
            Literal::U64(value) => value.to_string(),
            Literal::I64(value) | Literal::AbstractInt(value) => value.to_string(),
            Literal::Bool(value) => value.to_string(),
        };
        self.constant(text)
    }

    /// Return a constant expression of the module.
    pub(super) fn global_expression(&mut self, expression: Handle<Expression>) -> Fallible<Val> {
        self.step()?;
        self.deeper(|this| this.global_value(expression))
    }

    fn global_value(&mut self, expression: Handle<Expression>) -> Fallible<Val> {
        let module = self.module;
        match &module.global_expressions[expression] {
            Expression::Literal(literal) => Ok(Val::Lanes(vec![self.literal(literal)])),
            Expression::Constant(constant) => self.global_expression(module.constants[*constant].init),
            Expression::ZeroValue(ty) => self.zero(*ty),
            Expression::Compose { ty, components } => {
                let parts: Fallible<Vec<Val>> =
                    components.iter().map(|component| self.global_expression(*component)).collect();
                Ok(self.compose(*ty, parts?))
            }
            Expression::Splat { size, value } => match self.global_expression(*value)? {
                Val::Lanes(lanes) => Ok(Val::Lanes(vec![lanes[0]; *size as usize])),
                other => Ok(other),
            },
            // Constants that are chosen when a pipeline is made, and expressions of them.
            _ => match &self.info[expression] {
                naga::proc::TypeResolution::Handle(ty) => {
                    let one = self.folded();
                    self.tree(*ty, &mut Vec::new(), &mut { MOST_LANES }, &mut |_, lanes, _| vec![one; lanes])
                }
                naga::proc::TypeResolution::Value(TypeInner::Vector { size, .. }) => {
                    Ok(Val::Lanes((0..*size as usize).map(|_| self.folded()).collect()))
                }
                _ => Ok(Val::Lanes(vec![self.folded()])),
            },
        }
    }

    pub(super) fn compose(&mut self, ty: Handle<Type>, parts: Vec<Val>) -> Val {
        match self.inner(ty) {
            TypeInner::Vector { .. } => {
                let mut lanes = Vec::new();
                parts.iter().for_each(|part| flatten(part, &mut lanes));
                Val::Lanes(lanes)
            }
            // Columns, or all numbers one by one.
            TypeInner::Matrix { columns, rows, .. } if parts.len() != *columns as usize => {
                let mut lanes = Vec::new();
                parts.iter().for_each(|part| flatten(part, &mut lanes));
                Val::Group(lanes.chunks(*rows as usize).map(|column| Val::Lanes(column.to_vec())).collect())
            }
            _ => Val::Group(parts),
        }
    }

    pub(super) fn kind(&self, frame: &Frame<'a>, expression: Handle<Expression>) -> ScalarKind {
        match frame.info[expression].ty.inner_with(&self.module.types) {
            TypeInner::Scalar(scalar)
            | TypeInner::Vector { scalar, .. }
            | TypeInner::Matrix { scalar, .. }
            | TypeInner::Atomic(scalar) => scalar.kind,
            _ => ScalarKind::Float,
        }
    }

    pub(super) fn evaluate(
        &mut self,
        frame: &mut Frame<'a>,
        expression: Handle<Expression>,
    ) -> Fallible<Val> {
        self.step()?;
        let function = frame.function;
        let module = self.module;
        Ok(match &function.expressions[expression] {
            Expression::Literal(literal) => Val::Lanes(vec![self.literal(literal)]),
            Expression::Constant(constant) => self.global_expression(module.constants[*constant].init)?,
            Expression::Override(number) => {
                Val::Lanes(vec![self.constant(format!("override{}", number.index()))])
            }
            Expression::ZeroValue(ty) => self.zero(*ty)?,
            Expression::Compose { ty, components } => {
                let mut parts = Vec::new();
                for component in components {
                    parts.push(self.value(frame, *component)?);
                }
                self.compose(*ty, parts)
            }
            Expression::AccessIndex { base, index } => {
                match frame.values.get(base) {
                    // Do not copy all of a large array for one element.
                    Some((block, val @ Val::Group(_))) => {
                        let (block, part) = (*block, part(val, *index as usize));
                        match part {
                            Some(part) => self.as_of(block, part),
                            None => return self.fault("an access to a part that does not exist"),
                        }
                    }
                    _ => {
                        let base = self.value(frame, *base)?;
                        self.access(base, Step::At(*index))?
                    }
                }
            }
            Expression::Access { base, index } => {
                let base = self.value(frame, *base)?;
                let step = match constant_index(function, module, *index) {
                    Some(index) => Step::At(index),
                    None => Step::By(self.operand(frame, *index)?),
                };
                self.access(base, step)?
            }
            Expression::Splat { size, value } => {
                let lanes = self.lanes(frame, *value)?;
                Val::Lanes(vec![lanes[0]; *size as usize])
            }
            Expression::Swizzle { size, vector, pattern } => {
                let lanes = self.lanes(frame, *vector)?;
                let pick = |at: &naga::SwizzleComponent| lanes.get(*at as usize).copied().unwrap_or(lanes[0]);
                Val::Lanes(pattern[..*size as usize].iter().map(pick).collect())
            }
            Expression::FunctionArgument(number) => {
                self.as_of(frame.start, frame.arguments[*number as usize].clone())
            }
            Expression::GlobalVariable(global) => {
                let root = self.globals.get(&global.index()).copied();
                let Some(root) = root else { return self.fault("an unknown global variable") };
                let ty = module.global_variables[*global].ty;
                Val::Pointer(Pointer { root, path: Vec::new(), ty: Pointee::Type(ty) })
            }
            Expression::LocalVariable(local) => {
                let root = frame.locals[local.index()];
                let ty = function.local_variables[*local].ty;
                Val::Pointer(Pointer { root, path: Vec::new(), ty: Pointee::Type(ty) })
            }
            Expression::Load { pointer } => {
                let pointer = self.value(frame, *pointer)?;
                self.load(&pointer)?
            }
            Expression::ImageSample {
                image,
                sampler,
                gather,
                coordinate,
                array_index,
                offset,
                level,
                depth_ref,
                ..
            } => {
                let mut operands = vec![self.operand(frame, *coordinate)?];
                for more in [*array_index, *depth_ref, *offset].into_iter().flatten() {
                    operands.push(self.operand(frame, more)?);
                }
                let opcode = match level {
                    naga::SampleLevel::Exact(level) => {
                        operands.push(self.operand(frame, *level)?);
                        "txl"
                    }
                    naga::SampleLevel::Bias(bias) => {
                        operands.push(self.operand(frame, *bias)?);
                        "txb"
                    }
                    naga::SampleLevel::Gradient { x, y } => {
                        operands.push(self.operand(frame, *x)?);
                        operands.push(self.operand(frame, *y)?);
                        "txd"
                    }
                    _ if depth_ref.is_some() => "txc",
                    _ => "tex",
                };
                operands.extend(self.choice(frame, *image)?);
                operands.extend(self.choice(frame, *sampler)?);
                let opcode = if gather.is_some() { "gather" } else { opcode };
                let lanes = self.lane_count(frame, expression);
                Val::Lanes(self.emit(opcode, lanes, operands, Effect::Fetch))
            }
            Expression::ImageLoad { image, coordinate, array_index, sample, level } => {
                let mut operands = vec![self.operand(frame, *coordinate)?];
                for more in [*array_index, *sample, *level].into_iter().flatten() {
                    operands.push(self.operand(frame, more)?);
                }
                operands.extend(self.choice(frame, *image)?);
                let effect = match self.value(frame, *image)? {
                    Val::Pointer(Pointer { root: Root::Memory { number, is_written: true, .. }, .. }) => {
                        Effect::Read(number)
                    }
                    _ => Effect::Fetch,
                };
                let lanes = self.lane_count(frame, expression);
                Val::Lanes(self.emit("txf", lanes, operands, effect))
            }
            Expression::ImageQuery { image, query } => {
                let mut operands = Vec::new();
                if let naga::ImageQuery::Size { level: Some(level) } = query {
                    operands.push(self.operand(frame, *level)?);
                }
                operands.extend(self.choice(frame, *image)?);
                let lanes = self.lane_count(frame, expression);
                Val::Lanes(self.emit("txq", lanes, operands, Effect::Fetch))
            }
            Expression::Unary { op, expr } => {
                let val = self.value(frame, *expr)?;
                let kind = self.kind(frame, *expr);
                self.unary(*op, kind, &val)?
            }
            Expression::Binary { op, left, right } => {
                let [a, b] = [self.value(frame, *left)?, self.value(frame, *right)?];
                let kind = self.kind(frame, *left);
                self.binary(*op, kind, &a, &b)?
            }
            Expression::Select { condition, accept, reject } => {
                let condition = self.operand(frame, *condition)?;
                let [accept, reject] = [self.value(frame, *accept)?, self.value(frame, *reject)?];
                self.zip(&accept, &reject, &mut |this, a, b| {
                    let condition: Vec<Lane> =
                        (0..a.len()).map(|lane| condition[lane.min(condition.len() - 1)]).collect();
                    this.op("cmp", a.len(), &[&condition, a, b])
                })?
            }
            Expression::Derivative { axis, expr, .. } => {
                let lanes = self.operand(frame, *expr)?;
                let count = lanes.len();
                Val::Lanes(match axis {
                    naga::DerivativeAxis::X => self.op("ddx", count, &[&lanes]),
                    naga::DerivativeAxis::Y => self.op("ddy", count, &[&lanes]),
                    naga::DerivativeAxis::Width => {
                        let x = self.op("ddx", count, &[&lanes]);
                        let y = self.op("ddy", count, &[&lanes]);
                        let [x, y] = [x, y].map(|slope| self.op("abs", count, &[&slope]));
                        self.op("add", count, &[&x, &y])
                    }
                })
            }
            Expression::Relational { fun, argument } => {
                let lanes = self.operand(frame, *argument)?;
                Val::Lanes(match fun {
                    naga::RelationalFunction::All => self.op("all", 1, &[&lanes]),
                    naga::RelationalFunction::Any => self.op("any", 1, &[&lanes]),
                    naga::RelationalFunction::IsNan => self.op("isnan", lanes.len(), &[&lanes]),
                    naga::RelationalFunction::IsInf => self.op("isinf", lanes.len(), &[&lanes]),
                })
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let kind = self.kind(frame, *arg);
                let mut arguments = vec![self.value(frame, *arg)?];
                for more in [*arg1, *arg2, *arg3].into_iter().flatten() {
                    arguments.push(self.value(frame, more)?);
                }
                let lanes = self.lane_count(frame, expression);
                self.math(*fun, kind, arguments, lanes)?
            }
            Expression::As { expr, kind, convert } => {
                let from = self.kind(frame, *expr);
                let val = self.value(frame, *expr)?;
                let opcode = match (from, *kind) {
                    _ if convert.is_none() || from == *kind => return Ok(val),
                    (ScalarKind::Float, ScalarKind::Sint) => "f2i",
                    (ScalarKind::Float, ScalarKind::Uint) => "f2u",
                    (ScalarKind::Sint, ScalarKind::Float) => "i2f",
                    (_, ScalarKind::Float) => "u2f",
                    (_, ScalarKind::Bool) => "sne",
                    // Numbers of the same bits, or the numbers for true and false.
                    _ => return Ok(val),
                };
                self.map(&val, &mut |this, lanes| this.op(opcode, lanes.len(), &[lanes]))
            }
            Expression::ArrayLength(array) => {
                let operands = self.choice(frame, *array)?;
                Val::Lanes(self.emit("txq", 1, operands, Effect::Fetch))
            }
            Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. } => {
                return self.fault("a result is used before its statement");
            }
            _ => return self.fault("ray queries, subgroup operations and matrix units are not supported"),
        })
    }

    pub(super) fn lane_count(&self, frame: &Frame<'a>, expression: Handle<Expression>) -> usize {
        match frame.info[expression].ty.inner_with(&self.module.types) {
            TypeInner::Vector { size, .. } => *size as usize,
            _ => 1,
        }
    }

    pub(super) fn access(&mut self, base: Val, step: Step) -> Fallible<Val> {
        match (base, step) {
            (Val::Pointer(mut pointer), step) => {
                let index = if let Step::At(index) = step { index as usize } else { 0 };
                pointer.ty = match pointer.ty {
                    Pointee::Lanes(1) => return self.fault("a scalar has no parts"),
                    Pointee::Lanes(_) => Pointee::Lanes(1),
                    Pointee::Type(ty) => match self.inner(ty) {
                        TypeInner::Vector { .. } => Pointee::Lanes(1),
                        TypeInner::Matrix { rows, .. } => Pointee::Lanes(*rows as usize),
                        TypeInner::Array { base, .. } | TypeInner::BindingArray { base, .. } => {
                            Pointee::Type(*base)
                        }
                        TypeInner::Struct { members, .. } if index < members.len() => {
                            Pointee::Type(members[index].ty)
                        }
                        other => return self.fault(format!("a part of {other:?} is not supported")),
                    },
                };
                pointer.path.push(step);
                Ok(Val::Pointer(pointer))
            }
            (val, Step::At(index)) => match part(&val, index as usize) {
                Some(part) => Ok(part),
                None => self.fault("an access to a part that does not exist"),
            },
            // The index is known only at run time: all parts must be available.
            (Val::Lanes(lanes), Step::By(index)) => {
                let lanes = self.gathered(lanes);
                Ok(Val::Lanes(self.op("idx", 1, &[&lanes, &index])))
            }
            (Val::Group(parts), Step::By(index)) => {
                let mut parts = parts.into_iter();
                let Some(mut chosen) = parts.next() else {
                    return self.fault("an index into an empty value");
                };
                for other in parts {
                    chosen = self
                        .zip(&chosen, &other, &mut |this, a, b| this.op("cmp", a.len(), &[&index, a, b]))?;
                }
                Ok(chosen)
            }
            (Val::Opaque(number), Step::By(_)) => Ok(Val::Opaque(number)),
        }
    }

    /// Apply `work` to each vector of a value.
    pub(in crate::shader) fn map(
        &mut self,
        val: &Val,
        work: &mut dyn FnMut(&mut Self, &[Lane]) -> Vec<Lane>,
    ) -> Val {
        match val {
            Val::Lanes(lanes) => {
                let lanes = self.gathered(lanes.clone());
                Val::Lanes(work(self, &lanes))
            }
            Val::Group(parts) => Val::Group(parts.iter().map(|part| self.map(part, work)).collect()),
            other => other.clone(),
        }
    }

    /// Apply `work` to each pair of vectors. A scalar is paired with every lane.
    pub(in crate::shader) fn zip(&mut self, a: &Val, b: &Val, work: &mut Pairwise<'a, '_>) -> Fallible<Val> {
        match (a, b) {
            (Val::Lanes(a), Val::Lanes(b)) => {
                let (mut a, mut b) = (self.gathered(a.clone()), self.gathered(b.clone()));
                if a.len() == 1 {
                    a = vec![a[0]; b.len()];
                }
                if b.len() == 1 {
                    b = vec![b[0]; a.len()];
                }
                Ok(Val::Lanes(work(self, &a, &b)))
            }
            (Val::Group(parts), Val::Group(others)) if parts.len() == others.len() => {
                let mut result = Vec::new();
                for (a, b) in parts.iter().zip(others) {
                    result.push(self.zip(a, b, work)?);
                }
                Ok(Val::Group(result))
            }
            (Val::Group(parts), scalar @ Val::Lanes(_)) => {
                let mut result = Vec::new();
                for part in parts {
                    result.push(self.zip(part, scalar, work)?);
                }
                Ok(Val::Group(result))
            }
            (scalar @ Val::Lanes(_), Val::Group(parts)) => {
                let mut result = Vec::new();
                for part in parts {
                    result.push(self.zip(scalar, part, work)?);
                }
                Ok(Val::Group(result))
            }
            _ => self.fault("operands of different shapes are not supported"),
        }
    }

    pub(in crate::shader) fn number(&mut self, value: f64) -> Lane {
        self.constant(value.to_string())
    }

    pub(in crate::shader) fn as_operand(&mut self, val: Val) -> Fallible<Vec<Lane>> {
        match val {
            Val::Lanes(lanes) => Ok(self.gathered(lanes)),
            _ => self.fault("a scalar or a vector is expected"),
        }
    }
}

pub(super) fn constant_index(function: &Function, module: &Module, index: Handle<Expression>) -> Option<u32> {
    let literal = match &function.expressions[index] {
        Expression::Literal(literal) => literal,
        Expression::Constant(constant) => {
            match &module.global_expressions[module.constants[*constant].init] {
                Expression::Literal(literal) => literal,
                _ => return None,
            }
        }
        _ => return None,
    };
    match literal {
        Literal::U32(value) => Some(*value),
        Literal::I32(value) => u32::try_from(*value).ok(),
        _ => None,
    }
}
