//! Statements: control flow ends blocks, and calls are inlined.

use naga::{AtomicFunction, Expression, Function, Handle, Statement, SwitchValue};

use super::{Fallible, Frame, Jumps, Lower, MOST_DEPTH, Root, Val, Variable, leaf_lanes, size};
use crate::shader::code::Effect;

impl<'a> Lower<'a> {
    /// Lower a block. `is_tail` says that it ends the function.
    pub(super) fn block(
        &mut self,
        block: &'a naga::Block,
        frame: &mut Frame<'a>,
        is_tail: bool,
    ) -> Fallible<()> {
        self.deeper(|this| this.statements(block, frame, is_tail))
    }

    /// Run `work` one level deeper: all recursion on the shader passes here.
    pub(super) fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Fallible<T>) -> Fallible<T> {
        if self.depth == MOST_DEPTH {
            return self.fault(format!("blocks and calls are nested more than {MOST_DEPTH} levels deep"));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    fn statements(&mut self, block: &'a naga::Block, frame: &mut Frame<'a>, is_tail: bool) -> Fallible<()> {
        let count = block.len();
        for (position, (statement, span)) in block.span_iter().enumerate() {
            if self.current.is_none() {
                return Ok(());
            }
            self.place = self.place_of(*span).or(self.place);
            self.step()?;
            self.statement(statement, frame, is_tail && position + 1 == count)?;
        }
        Ok(())
    }

    pub(super) fn statement(
        &mut self,
        statement: &'a Statement,
        frame: &mut Frame<'a>,
        is_tail: bool,
    ) -> Fallible<()> {
        match statement {
            Statement::Emit(range) => {
                for expression in range.clone() {
                    self.place =
                        self.place_of(frame.function.expressions.get_span(expression)).or(self.place);
                    let val = self.evaluate(frame, expression)?;
                    self.copied += size(&val);
                    frame.values.insert(expression, (self.current, val));
                }
            }
            Statement::Block(block) => self.block(block, frame, is_tail)?,
            Statement::If { condition, accept, reject } => {
                let condition = self.value(frame, *condition)?;
                self.keep(&condition);
                let before = self.leave("if");
                let mut ends = Vec::new();
                for branch in [accept, reject] {
                    if branch.is_empty() {
                        ends.push(before);
                        continue;
                    }
                    let start = self.new_block("");
                    self.link(before, start);
                    self.enter(start);
                    self.block(branch, frame, false)?;
                    ends.push(self.leave(""));
                }
                self.join(&ends);
            }
            Statement::Switch { selector, cases } => {
                let selector = self.value(frame, *selector)?;
                self.keep(&selector);
                let before = self.leave("switch");
                self.jumps.push(Jumps { is_switch: true, ..Jumps::default() });
                let mut ends = Vec::new();
                let mut above = None;
                for case in cases {
                    let start = self.new_block("");
                    self.link(before, start);
                    self.link(above.take(), start);
                    self.enter(start);
                    self.block(&case.body, frame, false)?;
                    let end = self.leave("");
                    match case.fall_through {
                        true => above = end,
                        false => ends.push(end),
                    }
                }
                if !cases.iter().any(|case| case.value == SwitchValue::Default) {
                    ends.push(before);
                }
                ends.push(above);
                let jumps = self.jumps.pop().unwrap_or_default();
                ends.extend(jumps.breaks.into_iter().map(Some));
                self.join(&ends);
            }
            Statement::Loop { body, continuing, break_if } => {
                let before = self.leave("loop");
                self.loop_depth += 1;
                let header = self.new_block("");
                self.link(before, header);
                self.enter(header);
                self.jumps.push(Jumps::default());
                self.block(body, frame, false)?;
                let end = self.leave("");
                let continues = self.jumps.last_mut().map(|jumps| std::mem::take(&mut jumps.continues));
                let mut ends = vec![end];
                ends.extend(continues.unwrap_or_default().into_iter().map(Some));
                self.join(&ends);
                self.block(continuing, frame, false)?;
                let mut exits = Vec::new();
                if let (Some(condition), true) = (break_if, self.current.is_some()) {
                    let condition = self.value(frame, *condition)?;
                    self.keep(&condition);
                    let end = self.leave("loop");
                    self.link(end, header);
                    exits.push(end);
                } else {
                    let end = self.leave("loop");
                    self.link(end, header);
                }
                self.loop_depth -= 1;
                let jumps = self.jumps.pop().unwrap_or_default();
                exits.extend(jumps.breaks.into_iter().map(Some));
                self.join(&exits);
            }
            Statement::Break => {
                if let (Some(end), Some(jumps)) = (self.leave("break"), self.jumps.last_mut()) {
                    jumps.breaks.push(end);
                }
            }
            Statement::Continue => {
                let end = self.leave("continue");
                if let (Some(end), Some(jumps)) =
                    (end, self.jumps.iter_mut().rev().find(|jumps| !jumps.is_switch))
                {
                    jumps.continues.push(end);
                }
            }
            Statement::Return { value } => {
                let val = value.map(|value| self.value(frame, value)).transpose()?;
                match (frame.result, val) {
                    (None, Some(val)) => {
                        // Every output is one register.
                        let mut leaves = Vec::new();
                        leaf_lanes(&val, &mut leaves);
                        for lanes in leaves {
                            let lanes = self.gathered(lanes);
                            self.keep(&Val::Lanes(lanes));
                        }
                    }
                    (Some(result), Some(val)) => self.hold(result, val),
                    _ => {}
                }
                let is_entry = frame.result.is_none();
                if !is_tail || is_entry {
                    let end = self.leave("return");
                    frame.returns.extend(end);
                }
            }
            Statement::Kill => {
                self.leave("kill");
            }
            Statement::ControlBarrier(_) | Statement::MemoryBarrier(_) => {
                let end = self.leave("barrier");
                self.join(&[end]);
            }
            Statement::Store { pointer, value } => {
                let value = self.value(frame, *value)?;
                let pointer = self.value(frame, *pointer)?;
                self.store(&pointer, value)?;
            }
            Statement::ImageStore { image, coordinate, array_index, value } => {
                let mut operands = vec![self.lanes(frame, *coordinate)?];
                if let Some(index) = array_index {
                    operands.push(self.lanes(frame, *index)?);
                }
                operands.push(self.lanes(frame, *value)?);
                operands.extend(self.choice(frame, *image)?);
                let memory = self.image_memory(frame, *image)?;
                self.emit_gathered("txs", 0, operands, Effect::Write(memory));
            }
            Statement::Atomic { pointer, fun, value, result } => {
                let value = self.lanes(frame, *value)?;
                let compared = match fun {
                    AtomicFunction::Exchange { compare: Some(compared) } => {
                        Some(self.lanes(frame, *compared)?)
                    }
                    _ => None,
                };
                let Val::Pointer(pointer) = self.value(frame, *pointer)? else {
                    return self.fault("an atomic operation needs a pointer");
                };
                let Root::Memory { number, .. } = pointer.root else {
                    return self.fault("an atomic operation needs memory");
                };
                let mut operands = self.address(&pointer);
                operands.extend(compared.clone());
                operands.push(value);
                // The result of a compare-and-exchange is a structure of the old value and a flag.
                let lanes = if result.is_some() { 1 } else { 0 };
                let old = self.emit_gathered("atom", lanes, operands, Effect::Write(number));
                if let Some(result) = result {
                    let val = match frame.function.expressions[*result] {
                        Expression::AtomicResult { comparison: true, .. } => {
                            let flag = self.op("seq", 1, &[&old, &compared.unwrap_or_default()]);
                            Val::Group(vec![Val::Lanes(old), Val::Lanes(flag)])
                        }
                        _ => Val::Lanes(old),
                    };
                    frame.values.insert(*result, (self.current, val));
                }
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let end = self.leave("barrier");
                self.join(&[end]);
                let pointer = self.value(frame, *pointer)?;
                let val = self.load(&pointer)?;
                frame.values.insert(*result, (self.current, val));
                let end = self.leave("barrier");
                self.join(&[end]);
            }
            Statement::Call { function, arguments, result } => {
                let mut values = Vec::new();
                for argument in arguments {
                    values.push(self.value(frame, *argument)?);
                }
                let val = self.call(*function, values)?;
                if let (Some(result), Some(val)) = (result, val) {
                    frame.values.insert(*result, (self.current, val));
                }
            }
            _ => return self.fault("ray queries, subgroup operations and matrix units are not supported"),
        }
        Ok(())
    }

    /// Start the block in which these blocks meet. Without a predecessor, there is no current block.
    pub(super) fn join(&mut self, ends: &[Option<usize>]) {
        self.current = None;
        if ends.iter().all(Option::is_none) {
            return;
        }
        let next = self.new_block("");
        for end in ends {
            self.link(*end, next);
        }
        self.enter(next);
    }

    pub(super) fn call(&mut self, function: Handle<Function>, arguments: Vec<Val>) -> Fallible<Option<Val>> {
        let module = self.module;
        let callee = &module.functions[function];
        let place = self.place;
        let result = match &callee.result {
            Some(result) => self.variable(callee.name.as_deref().unwrap_or("result"), result.ty)?,
            // A variable that nothing ever reads.
            None => {
                self.variables.push(Variable { home: Val::Group(Vec::new()) });
                self.variables.len() as u32 - 1
            }
        };
        let mut frame = self.frame(callee, &self.info[function], arguments, Some(result))?;
        let jumps = std::mem::take(&mut self.jumps);
        self.block(&callee.body, &mut frame, true)?;
        self.jumps = jumps;
        if !frame.returns.is_empty() {
            let end = self.leave("");
            let mut ends = vec![end];
            ends.extend(frame.returns.iter().copied().map(Some));
            self.join(&ends);
        }
        self.place = place;
        Ok(callee.result.is_some().then(|| self.held(result)))
    }
}
