//! From naga's module to [`Code`]: one entry point with all functions that it calls put into it.
//!
//! naga has trees of expressions, which are computed where a statement says so, and structured control flow. Here,
//! a vector is a list of lanes, so that swizzles and accesses cost nothing; matrices, structures and arrays are
//! groups of vectors. Variables that are only accessed at fixed places are groups of lanes as well; others are
//! memory. What differs between fragments only by an index is loaded, all else that does not differ is a
//! register of class `uniform`.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{
    AddressSpace, ArraySize, Binding, Expression, Function, Handle, Literal, Module, ScalarKind, ShaderStage,
    Span, Statement, SwitchValue, Type, TypeInner,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::code::{Block, Class, Code, Effect, Lane, Op, Place, Reg};

/// Most lanes of one structure or array that is not memory.
const MOST_LANES: usize = 1 << 16;
/// Most operations and expressions of a shader: calls can multiply them.
const MOST_STEPS: usize = 1 << 20;

/// What cannot be read, and where.
pub(super) struct Fault {
    pub(super) place: Option<Place>,
    pub(super) message: String,
}

/// What an expression stands for.
#[derive(Clone, Debug)]
pub(super) enum Val {
    /// A scalar or a vector.
    Lanes(Vec<Lane>),
    /// Columns of a matrix, members of a structure, elements of an array.
    Group(Vec<Val>),
    /// A place in a variable or buffer.
    Pointer(Pointer),
    /// A texture, a sampler, or nothing.
    Opaque(Option<u32>),
}

/// Where a pointer points to.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    root: Root,
    path: Vec<Step>,
    ty: Pointee,
}

#[derive(Clone, Debug)]
enum Step {
    At(u32),
    By(Vec<Lane>),
}

/// What a pointer points at: a type, or a component of a vector.
#[derive(Clone, Copy, Debug)]
enum Pointee {
    Type(Handle<Type>),
    Lanes(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Root {
    Variable(u32),
    Uniform(u32),
    Memory { number: u32, is_written: bool, load: &'static str, store: &'static str },
}

/// A variable that is no memory: its home registers, as a tree.
struct Variable {
    home: Val,
}

/// A function at work.
struct Frame<'a> {
    function: &'a Function,
    info: &'a FunctionInfo,
    values: FxHashMap<Handle<Expression>, Val>,
    arguments: Vec<Val>,
    locals: Vec<Root>,
    /// Where the result goes; none in the entry point.
    result: Option<u32>,
    /// Blocks that end with a return before the end.
    returns: Vec<usize>,
}

/// Where `break` and `continue` come from.
#[derive(Default)]
struct Jumps {
    breaks: Vec<usize>,
    continues: Vec<usize>,
    is_switch: bool,
}

/// Lowers one entry point.
pub(super) struct Lower<'a> {
    module: &'a Module,
    info: &'a ModuleInfo,
    source: &'a str,
    pub(super) code: Code,
    /// The block being filled; none after a jump.
    current: Option<usize>,
    loop_depth: u32,
    variables: Vec<Variable>,
    /// What variables hold, as far as this block knows.
    held: FxHashMap<u32, Val>,
    /// Results of this block that can be used again.
    known: FxHashMap<(&'static str, Vec<Vec<Lane>>), u32>,
    globals: FxHashMap<usize, Root>,
    uniforms: FxHashMap<(u32, Vec<u32>), u32>,
    constants: FxHashMap<String, u32>,
    jumps: Vec<Jumps>,
    memories: u32,
    place: Option<Place>,
    steps: usize,
    stage: ShaderStage,
}

type Fallible<T> = Result<T, Fault>;
/// Makes a vector of so many lanes, given the way to it.
type MakeLeaf<'a, 'b> = dyn FnMut(&mut Lower<'a>, usize, &[u32]) -> Vec<Lane> + 'b;
/// Makes a vector of two.
type Pairwise<'a, 'b> = dyn FnMut(&mut Lower<'a>, &[Lane], &[Lane]) -> Vec<Lane> + 'b;

/// The name of a builtin input, in lower case.
fn builtin_name(builtin: &naga::BuiltIn) -> String {
    let debug = format!("{builtin:?}");
    debug.split([' ', '{']).next().unwrap_or("builtin").to_lowercase()
}

impl<'a> Lower<'a> {
    /// Lowers entry point number `entry`.
    pub(super) fn entry(
        module: &'a Module,
        info: &'a ModuleInfo,
        entry: usize,
        source: &'a str,
    ) -> Fallible<Code> {
        let point = &module.entry_points[entry];
        let mut lower = Lower {
            module,
            info,
            source,
            code: Code::default(),
            current: None,
            loop_depth: 0,
            variables: Vec::new(),
            held: FxHashMap::default(),
            known: FxHashMap::default(),
            globals: FxHashMap::default(),
            uniforms: FxHashMap::default(),
            constants: FxHashMap::default(),
            jumps: Vec::new(),
            memories: 0,
            place: None,
            steps: 0,
            stage: point.stage,
        };
        let first = lower.new_block("");
        lower.enter(first);
        lower.define_globals()?;
        let mut arguments = Vec::new();
        for argument in &point.function.arguments {
            let name = argument.name.clone().unwrap_or_else(|| "input".to_string());
            arguments.push(lower.input(&name, argument.ty, argument.binding.as_ref())?);
        }
        let function_info = info.get_entry_point(entry);
        let mut frame = lower.frame(&point.function, function_info, arguments, None)?;
        lower.block(&point.function.body, &mut frame, true)?;
        lower.leave("");
        Ok(lower.code)
    }

    pub(super) fn fault<T>(&self, message: impl Into<String>) -> Fallible<T> {
        Err(Fault { place: self.place, message: message.into() })
    }

    fn place_of(&self, span: Span) -> Option<Place> {
        if !span.is_defined() || self.source.is_empty() || span.to_range()?.start > self.source.len() {
            return None;
        }
        let location = span.location(self.source);
        Some((location.line_number, location.line_position))
    }

    fn step(&mut self) -> Fallible<()> {
        self.steps += 1;
        match self.steps > MOST_STEPS {
            true => {
                self.fault(format!("the shader is too large: over {MOST_STEPS} expressions with all calls"))
            }
            false => Ok(()),
        }
    }

    // Blocks.

    fn new_block(&mut self, boundary: &'static str) -> usize {
        let block = Block { loop_depth: self.loop_depth, boundary, place: self.place, ..Block::default() };
        self.code.blocks.push(block);
        self.code.blocks.len() - 1
    }

    fn enter(&mut self, block: usize) {
        self.current = Some(block);
        self.held.clear();
        self.known.clear();
    }

    /// Ends the current block: variables go home.
    fn leave(&mut self, boundary: &'static str) -> Option<usize> {
        let block = self.current.take()?;
        let mut held: Vec<(u32, Val)> = self.held.drain().collect();
        held.sort_by_key(|(number, _)| *number);
        let mut writes = Vec::new();
        for (number, val) in held {
            let (mut homes, mut lanes) = (Vec::new(), Vec::new());
            flatten(&self.variables[number as usize].home, &mut homes);
            flatten(&val, &mut lanes);
            for (home, lane) in homes.into_iter().zip(lanes) {
                if let (Lane::Reg(reg, at), true) = (home, home != lane) {
                    writes.push(((reg, at), lane));
                }
            }
        }
        let block_code = &mut self.code.blocks[block];
        block_code.writes = writes;
        block_code.boundary = boundary;
        Some(block)
    }

    fn link(&mut self, from: Option<usize>, to: usize) {
        if let Some(from) = from {
            self.code.blocks[from].next.push(to);
        }
    }

    fn keep(&mut self, val: &Val) {
        let mut lanes = Vec::new();
        flatten(val, &mut lanes);
        if let Some(block) = self.current {
            self.code.blocks[block].keeps.extend(lanes);
        }
    }

    // Registers and operations.

    fn register(&mut self, class: Class, lanes: usize, name: String) -> u32 {
        self.code.regs.push(Reg { class, lanes: lanes as u8, name });
        self.code.regs.len() as u32 - 1
    }

    fn whole(reg: u32, lanes: usize) -> Vec<Lane> {
        (0..lanes).map(|lane| Lane::Reg(reg, lane as u8)).collect()
    }

    fn constant(&mut self, text: String) -> Lane {
        let next = self.code.constants.len() as u32;
        let number = *self.constants.entry(text).or_insert_with_key(|text| {
            self.code.constants.push(text.clone());
            next
        });
        Lane::Const(number)
    }

    /// A constant that follows from others. Its value does not matter here.
    fn folded(&mut self) -> Lane {
        let text = format!("folded{}", self.code.constants.len());
        self.constant(text)
    }

    /// An operation without effects. One of constants is none, and one that was done before is not done again.
    pub(super) fn op(&mut self, opcode: &'static str, lanes: usize, operands: &[&[Lane]]) -> Vec<Lane> {
        if operands.iter().all(|operand| operand.iter().all(|lane| matches!(lane, Lane::Const(_)))) {
            return (0..lanes).map(|_| self.folded()).collect();
        }
        let key = (opcode, operands.iter().map(|operand| operand.to_vec()).collect::<Vec<_>>());
        if let Some(reg) = self.known.get(&key) {
            return Self::whole(*reg, lanes);
        }
        let operands = key.1.clone();
        let result = self.emit(opcode, lanes, operands, Effect::None);
        if let Lane::Reg(reg, _) = result[0] {
            self.known.insert(key, reg);
        }
        result
    }

    /// An operation that reads or writes memory; `lanes` is 0 for none to return.
    fn emit(
        &mut self,
        opcode: &'static str,
        lanes: usize,
        operands: Vec<Vec<Lane>>,
        effect: Effect,
    ) -> Vec<Lane> {
        let place = self.place;
        let result = (lanes > 0).then(|| {
            let at = place.map_or(String::new(), |(line, column)| format!("@{line}:{column}"));
            let name = format!("r{}{at}", self.code.regs.len());
            self.register(Class::Reg, lanes, name)
        });
        if let Some(block) = self.current {
            self.code.blocks[block].ops.push(Op { opcode, result, operands, effect, place });
        }
        result.map_or(Vec::new(), |reg| Self::whole(reg, lanes))
    }

    /// Lanes as one operand: what comes from several registers is put together first.
    fn gathered(&mut self, lanes: Vec<Lane>) -> Vec<Lane> {
        let regs: FxHashSet<u32> = (lanes.iter())
            .filter_map(|lane| if let Lane::Reg(reg, _) = lane { Some(*reg) } else { None })
            .collect();
        match regs.len() > 1 {
            true => self.op("mov", lanes.len(), &[&lanes]),
            false => lanes,
        }
    }

    // Types and variables.

    fn inner(&self, ty: Handle<Type>) -> &'a TypeInner {
        &self.module.types[ty].inner
    }

    /// A tree of the shape of a type; `leaf` makes its vectors, given their number of lanes and the way there.
    fn tree(
        &mut self,
        ty: Handle<Type>,
        path: &mut Vec<u32>,
        left: &mut usize,
        leaf: &mut MakeLeaf<'a, '_>,
    ) -> Fallible<Val> {
        let lanes = match self.inner(ty) {
            TypeInner::Scalar(_) | TypeInner::Atomic(_) => Some(1),
            TypeInner::Vector { size, .. } => Some(*size as usize),
            _ => None,
        };
        if let Some(lanes) = lanes {
            if *left < lanes {
                return self.fault(format!("a value of over {MOST_LANES} numbers is not supported"));
            }
            *left -= lanes;
            return Ok(Val::Lanes(leaf(self, lanes, path)));
        }
        let mut parts = Vec::new();
        match self.inner(ty) {
            TypeInner::Matrix { columns, rows, .. } => {
                for column in 0..*columns as u32 {
                    path.push(column);
                    parts.push(Val::Lanes(leaf(self, *rows as usize, path)));
                    path.pop();
                }
                *left = left.saturating_sub(*columns as usize * *rows as usize);
            }
            TypeInner::Array { base, size: ArraySize::Constant(count), .. } => {
                for element in 0..count.get() {
                    path.push(element);
                    parts.push(self.tree(*base, path, left, leaf)?);
                    path.pop();
                }
            }
            TypeInner::Struct { members, .. } => {
                for (number, member) in members.iter().enumerate() {
                    path.push(number as u32);
                    parts.push(self.tree(member.ty, path, left, leaf)?);
                    path.pop();
                }
            }
            TypeInner::Image { .. } | TypeInner::Sampler { .. } => return Ok(Val::Opaque(None)),
            other => return self.fault(format!("a value of type {other:?} is not supported")),
        }
        Ok(Val::Group(parts))
    }

    fn zero(&mut self, ty: Handle<Type>) -> Fallible<Val> {
        let zero = self.constant("0".to_string());
        self.tree(ty, &mut Vec::new(), &mut { MOST_LANES }, &mut |_, lanes, _| vec![zero; lanes])
    }

    /// A variable with homes of its own.
    fn variable(&mut self, name: &str, ty: Handle<Type>) -> Fallible<u32> {
        let number = self.variables.len() as u32;
        let mut leaf = |this: &mut Self, lanes: usize, path: &[u32]| {
            let reg = this.register(Class::Reg, lanes, format!("{name}#{number}{}", dotted(path)));
            Self::whole(reg, lanes)
        };
        let home = self.tree(ty, &mut Vec::new(), &mut { MOST_LANES }, &mut leaf)?;
        self.variables.push(Variable { home });
        Ok(number)
    }

    fn held(&self, variable: u32) -> Val {
        let home = || self.variables[variable as usize].home.clone();
        self.held.get(&variable).cloned().unwrap_or_else(home)
    }

    fn hold(&mut self, variable: u32, val: Val) {
        self.held.insert(variable, val);
    }

    fn new_memory(&mut self, load: &'static str, store: &'static str, is_written: bool) -> Root {
        self.memories += 1;
        Root::Memory { number: self.memories, is_written, load, store }
    }

    fn define_globals(&mut self) -> Fallible<()> {
        let module = self.module;
        let functions = module.functions.iter().map(|(_, function)| function);
        let points = module.entry_points.iter().map(|point| &point.function);
        let functions: Vec<&Function> = functions.chain(points).collect();
        for (handle, global) in module.global_variables.iter() {
            let root = match global.space {
                AddressSpace::Uniform | AddressSpace::Immediate => Root::Uniform(handle.index() as u32),
                AddressSpace::Private => {
                    let is_at = |expression: &Expression| matches!(expression, Expression::GlobalVariable(other) if *other == handle);
                    if functions.iter().any(|function| is_indexed(function, &is_at)) {
                        self.new_memory("ldl", "stl", true)
                    } else {
                        let name = global.name.clone().unwrap_or_else(|| "global".to_string());
                        let variable = self.variable(&name, global.ty)?;
                        let start = match global.init {
                            Some(init) => self.global_expression(init)?,
                            None => self.zero(global.ty)?,
                        };
                        self.hold(variable, start);
                        Root::Variable(variable)
                    }
                }
                AddressSpace::Storage { access } => {
                    self.new_memory("ld", "st", access.contains(naga::StorageAccess::STORE))
                }
                AddressSpace::WorkGroup => self.new_memory("lds", "sts", true),
                AddressSpace::Handle => self.new_memory("txf", "txs", is_storage_image(module, global.ty)),
                other => return self.fault(format!("address space {other:?} is not supported")),
            };
            self.globals.insert(handle.index(), root);
        }
        Ok(())
    }

    fn input(&mut self, name: &str, ty: Handle<Type>, binding: Option<&Binding>) -> Fallible<Val> {
        if let (None, TypeInner::Struct { members, .. }) = (binding, self.inner(ty)) {
            let mut parts = Vec::new();
            for member in members {
                let name = member.name.clone().unwrap_or_else(|| "input".to_string());
                parts.push(self.input(&name, member.ty, member.binding.as_ref())?);
            }
            return Ok(Val::Group(parts));
        }
        let (class, name) = match binding {
            Some(Binding::BuiltIn(builtin)) => (Class::Builtin, builtin_name(builtin)),
            _ if self.stage == ShaderStage::Fragment => (Class::Interpolant, name.to_string()),
            _ if self.stage == ShaderStage::Vertex => (Class::Attribute, name.to_string()),
            _ => (Class::Builtin, name.to_string()),
        };
        let mut leaf = |this: &mut Self, lanes: usize, path: &[u32]| {
            let reg = this.register(class, lanes, format!("{name}{}", dotted(path)));
            Self::whole(reg, lanes)
        };
        self.tree(ty, &mut Vec::new(), &mut { MOST_LANES }, &mut leaf)
    }

    fn frame(
        &mut self,
        function: &'a Function,
        info: &'a FunctionInfo,
        arguments: Vec<Val>,
        result: Option<u32>,
    ) -> Fallible<Frame<'a>> {
        let mut frame = Frame {
            function,
            info,
            values: FxHashMap::default(),
            arguments,
            locals: Vec::new(),
            result,
            returns: Vec::new(),
        };
        for (handle, local) in function.local_variables.iter() {
            let is_at = |expression: &Expression| matches!(expression, Expression::LocalVariable(other) if *other == handle);
            let root = match is_indexed(function, &is_at) {
                true => self.new_memory("ldl", "stl", true),
                false => {
                    let variable = self.variable(local.name.as_deref().unwrap_or("local"), local.ty)?;
                    let start = match local.init {
                        Some(init) => self.value(&mut frame, init)?,
                        None => self.zero(local.ty)?,
                    };
                    self.hold(variable, start);
                    Root::Variable(variable)
                }
            };
            frame.locals.push(root);
        }
        Ok(frame)
    }

    // Statements.

    /// Lowers a block; `is_tail`: nothing of the function follows it.
    fn block(&mut self, block: &'a naga::Block, frame: &mut Frame<'a>, is_tail: bool) -> Fallible<()> {
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

    fn statement(&mut self, statement: &'a Statement, frame: &mut Frame<'a>, is_tail: bool) -> Fallible<()> {
        match statement {
            Statement::Emit(range) => {
                for expression in range.clone() {
                    self.place =
                        self.place_of(frame.function.expressions.get_span(expression)).or(self.place);
                    let val = self.evaluate(frame, expression)?;
                    frame.values.insert(expression, val);
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
                let is_entry = frame.result.is_none() && frame.returns.is_empty() && is_tail;
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
                let memory = self.image_memory(frame, *image)?;
                self.emit_gathered("txs", 0, operands, Effect::Write(memory));
            }
            Statement::Atomic { pointer, value, result, .. } => {
                let value = self.lanes(frame, *value)?;
                let Val::Pointer(pointer) = self.value(frame, *pointer)? else {
                    return self.fault("an atomic operation needs a pointer");
                };
                let Root::Memory { number, .. } = pointer.root else {
                    return self.fault("an atomic operation needs memory");
                };
                let mut operands = self.address(&pointer);
                operands.push(value);
                // The result of a compare-and-exchange is a structure of the old value and a flag.
                let lanes = if result.is_some() { 1 } else { 0 };
                let old = self.emit_gathered("atom", lanes, operands, Effect::Write(number));
                if let Some(result) = result {
                    let val = match frame.function.expressions[*result] {
                        Expression::AtomicResult { comparison: true, .. } => {
                            let flag = self.op("seq", 1, &[&old]);
                            Val::Group(vec![Val::Lanes(old), Val::Lanes(flag)])
                        }
                        _ => Val::Lanes(old),
                    };
                    frame.values.insert(*result, val);
                }
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let end = self.leave("barrier");
                self.join(&[end]);
                let pointer = self.value(frame, *pointer)?;
                let val = self.load(&pointer)?;
                frame.values.insert(*result, val);
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
                    frame.values.insert(*result, val);
                }
            }
            _ => return self.fault("ray queries, subgroup operations and matrix units are not supported"),
        }
        Ok(())
    }

    /// Starts the block where these blocks meet; none if none of them gets there.
    fn join(&mut self, ends: &[Option<usize>]) {
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

    fn call(&mut self, function: Handle<Function>, arguments: Vec<Val>) -> Fallible<Option<Val>> {
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

    // Pointers.

    fn address(&self, pointer: &Pointer) -> Vec<Vec<Lane>> {
        let indices = pointer.path.iter().filter_map(|step| match step {
            Step::By(lanes) => Some(lanes.clone()),
            Step::At(_) => None,
        });
        indices.collect()
    }

    /// The shape of what a pointer points at, with vectors by `leaf`.
    fn pointee(&mut self, ty: Pointee, leaf: &mut MakeLeaf<'a, '_>) -> Fallible<Val> {
        match ty {
            Pointee::Type(ty) => self.tree(ty, &mut Vec::new(), &mut { MOST_LANES }, leaf),
            Pointee::Lanes(lanes) => Ok(Val::Lanes(leaf(self, lanes, &[]))),
        }
    }

    fn load(&mut self, pointer: &Val) -> Fallible<Val> {
        let pointer = match pointer {
            Val::Pointer(pointer) => pointer,
            // Textures and samplers are handed on as they are.
            other => return Ok(other.clone()),
        };
        let address = self.address(pointer);
        match pointer.root {
            Root::Variable(variable) => {
                let mut val = self.held(variable);
                for step in &pointer.path {
                    let Step::At(index) = step else { return self.fault("an index that varies") };
                    val = part(&val, *index as usize).unwrap_or(Val::Opaque(None));
                }
                Ok(val)
            }
            Root::Uniform(global) if address.is_empty() => {
                let mut start = Vec::new();
                start.extend(
                    pointer.path.iter().map(|step| if let Step::At(index) = step { *index } else { 0 }),
                );
                // A component belongs to the register of its vector.
                let component = match pointer.ty {
                    Pointee::Lanes(_) => start.pop(),
                    Pointee::Type(_) => None,
                };
                let name = self.global_name(global);
                self.pointee(pointer.ty, &mut |this, lanes, path| {
                    let mut full = start.clone();
                    full.extend(path);
                    let reg = match this.uniforms.get(&(global, full.clone())) {
                        Some(reg) => *reg,
                        None => {
                            let name = format!("{name}{}", dotted(&full));
                            // Of a vector of which a component is read, nothing is known but that it has up to four.
                            let all = if component.is_some() { 4 } else { lanes };
                            let reg = this.register(Class::Uniform, all, name);
                            this.uniforms.insert((global, full), reg);
                            reg
                        }
                    };
                    let own = &mut this.code.regs[reg as usize].lanes;
                    *own = (*own).max(lanes as u8).max(component.map_or(0, |component| component as u8 + 1));
                    match component {
                        Some(component) => vec![Lane::Reg(reg, component as u8)],
                        None => Self::whole(reg, lanes),
                    }
                })
            }
            Root::Uniform(_) => {
                let operands = address;
                self.pointee(pointer.ty, &mut |this, lanes, _| {
                    this.emit_gathered("ldc", lanes, operands.clone(), Effect::Fetch)
                })
            }
            Root::Memory { number, is_written, load, .. } => {
                let effect = if is_written { Effect::Read(number) } else { Effect::Fetch };
                self.pointee(pointer.ty, &mut |this, lanes, _| {
                    this.emit_gathered(load, lanes, address.clone(), effect)
                })
            }
        }
    }

    fn store(&mut self, pointer: &Val, value: Val) -> Fallible<()> {
        let Val::Pointer(pointer) = pointer else { return self.fault("a store needs a pointer") };
        match pointer.root {
            Root::Variable(variable) => {
                let mut path = Vec::new();
                for step in &pointer.path {
                    let Step::At(index) = step else { return self.fault("an index that varies") };
                    path.push(*index as usize);
                }
                let mut val = self.held(variable);
                if !replace(&mut val, &path, value) {
                    return self.fault("an access to a part that does not exist");
                }
                self.hold(variable, val);
                Ok(())
            }
            Root::Uniform(_) => self.fault("a uniform cannot be written"),
            Root::Memory { number, store, .. } => {
                let address = self.address(pointer);
                let mut leaves = Vec::new();
                leaf_lanes(&value, &mut leaves);
                for lanes in leaves {
                    let mut operands = address.clone();
                    operands.push(lanes);
                    self.emit_gathered(store, 0, operands, Effect::Write(number));
                }
                Ok(())
            }
        }
    }

    fn emit_gathered(
        &mut self,
        opcode: &'static str,
        lanes: usize,
        operands: Vec<Vec<Lane>>,
        effect: Effect,
    ) -> Vec<Lane> {
        let operands = operands.into_iter().map(|operand| self.gathered(operand)).collect();
        self.emit(opcode, lanes, operands, effect)
    }

    fn global_name(&self, global: u32) -> String {
        let mut globals = self.module.global_variables.iter();
        let found = globals.find(|(handle, _)| handle.index() as u32 == global);
        found.and_then(|(_, global)| global.name.clone()).unwrap_or_else(|| format!("uniform{global}"))
    }

    fn image_memory(&mut self, frame: &mut Frame<'a>, image: Handle<Expression>) -> Fallible<u32> {
        match self.value(frame, image)? {
            Val::Pointer(Pointer { root: Root::Memory { number, .. }, .. }) => Ok(number),
            Val::Opaque(Some(number)) => Ok(number),
            _ => self.fault("an image is expected"),
        }
    }

    // Expressions.

    /// The value of an expression that was computed, or that needs no computing.
    fn value(&mut self, frame: &mut Frame<'a>, expression: Handle<Expression>) -> Fallible<Val> {
        if let Some(val) = frame.values.get(&expression) {
            return Ok(val.clone());
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
            frame.values.insert(expression, val.clone());
        }
        Ok(val)
    }

    fn lanes(&mut self, frame: &mut Frame<'a>, expression: Handle<Expression>) -> Fallible<Vec<Lane>> {
        match self.value(frame, expression)? {
            Val::Lanes(lanes) => Ok(lanes),
            _ => self.fault("a scalar or a vector is expected"),
        }
    }

    fn operand(&mut self, frame: &mut Frame<'a>, expression: Handle<Expression>) -> Fallible<Vec<Lane>> {
        let lanes = self.lanes(frame, expression)?;
        Ok(self.gathered(lanes))
    }

    fn literal(&mut self, literal: &Literal) -> Lane {
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

    /// A constant expression of the module.
    fn global_expression(&mut self, expression: Handle<Expression>) -> Fallible<Val> {
        self.step()?;
        let module = self.module;
        match &module.global_expressions[expression] {
            Expression::Literal(literal) => Ok(Val::Lanes(vec![self.literal(literal)])),
            Expression::Constant(constant) => self.global_expression(module.constants[*constant].init),
            Expression::ZeroValue(ty) => self.zero(*ty),
            Expression::Compose { ty, components } => {
                let parts: Result<Vec<Val>, Fault> =
                    components.iter().map(|component| self.global_expression(*component)).collect();
                Ok(self.compose(*ty, parts?))
            }
            Expression::Splat { size, value } => match self.global_expression(*value)? {
                Val::Lanes(lanes) => Ok(Val::Lanes(vec![lanes[0]; *size as usize])),
                other => Ok(other),
            },
            // Constants that are chosen when a pipeline is made, and what is computed of them.
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

    fn compose(&mut self, ty: Handle<Type>, parts: Vec<Val>) -> Val {
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

    fn kind(&self, frame: &Frame<'a>, expression: Handle<Expression>) -> ScalarKind {
        match frame.info[expression].ty.inner_with(&self.module.types) {
            TypeInner::Scalar(scalar)
            | TypeInner::Vector { scalar, .. }
            | TypeInner::Matrix { scalar, .. }
            | TypeInner::Atomic(scalar) => scalar.kind,
            _ => ScalarKind::Float,
        }
    }

    fn evaluate(&mut self, frame: &mut Frame<'a>, expression: Handle<Expression>) -> Fallible<Val> {
        self.step()?;
        let function = frame.function;
        let module = self.module;
        Ok(match &function.expressions[expression] {
            Expression::Literal(literal) => Val::Lanes(vec![self.literal(literal)]),
            Expression::Constant(constant) => self.global_expression(module.constants[*constant].init)?,
            Expression::Override(_) => Val::Lanes(vec![self.folded()]),
            Expression::ZeroValue(ty) => self.zero(*ty)?,
            Expression::Compose { ty, components } => {
                let mut parts = Vec::new();
                for component in components {
                    parts.push(self.value(frame, *component)?);
                }
                self.compose(*ty, parts)
            }
            Expression::AccessIndex { base, index } => {
                let base = self.value(frame, *base)?;
                self.access(base, Step::At(*index))?
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
            Expression::FunctionArgument(number) => frame.arguments[*number as usize].clone(),
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
            Expression::ImageSample { gather, coordinate, array_index, offset, level, depth_ref, .. } => {
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
                let opcode = if gather.is_some() { "gather" } else { opcode };
                let lanes = self.lane_count(frame, expression);
                Val::Lanes(self.emit(opcode, lanes, operands, Effect::Fetch))
            }
            Expression::ImageLoad { image, coordinate, array_index, sample, level } => {
                let mut operands = vec![self.operand(frame, *coordinate)?];
                for more in [*array_index, *sample, *level].into_iter().flatten() {
                    operands.push(self.operand(frame, more)?);
                }
                let effect = match self.value(frame, *image)? {
                    Val::Pointer(Pointer { root: Root::Memory { number, is_written: true, .. }, .. }) => {
                        Effect::Read(number)
                    }
                    _ => Effect::Fetch,
                };
                let lanes = self.lane_count(frame, expression);
                Val::Lanes(self.emit("txf", lanes, operands, effect))
            }
            Expression::ImageQuery { query, .. } => {
                let mut operands = Vec::new();
                if let naga::ImageQuery::Size { level: Some(level) } = query {
                    operands.push(self.operand(frame, *level)?);
                }
                let lanes = self.lane_count(frame, expression);
                Val::Lanes(self.emit("txq", lanes, operands, Effect::Fetch))
            }
            Expression::Unary { op, expr } => {
                let val = self.value(frame, *expr)?;
                let kind = self.kind(frame, *expr);
                self.unary(*op, kind, val)?
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
                    // Numbers of the same bits, or the numbers that stand for true and false.
                    _ => return Ok(val),
                };
                self.map(&val, &mut |this, lanes| this.op(opcode, lanes.len(), &[lanes]))
            }
            Expression::ArrayLength(_) => Val::Lanes(self.emit("txq", 1, Vec::new(), Effect::Fetch)),
            Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. } => {
                return self.fault("a result is used before its statement");
            }
            _ => return self.fault("ray queries, subgroup operations and matrix units are not supported"),
        })
    }

    fn lane_count(&self, frame: &Frame<'a>, expression: Handle<Expression>) -> usize {
        match frame.info[expression].ty.inner_with(&self.module.types) {
            TypeInner::Vector { size, .. } => *size as usize,
            _ => 1,
        }
    }

    fn access(&mut self, base: Val, step: Step) -> Fallible<Val> {
        match (base, step) {
            (Val::Pointer(mut pointer), step) => {
                let index = if let Step::At(index) = step { index as usize } else { 0 };
                pointer.ty = match pointer.ty {
                    Pointee::Lanes(_) => return self.fault("a scalar has no parts"),
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
            // A part that is known only when the shader runs: all of it must be at hand.
            (Val::Lanes(lanes), Step::By(index)) => {
                let lanes = self.gathered(lanes);
                Ok(Val::Lanes(self.op("idx", 1, &[&lanes, &index])))
            }
            (Val::Group(parts), Step::By(index)) => {
                let mut parts = parts.into_iter();
                let Some(mut chosen) = parts.next() else { return self.fault("an index into nothing") };
                for other in parts {
                    chosen = self
                        .zip(&chosen, &other, &mut |this, a, b| this.op("cmp", a.len(), &[&index, a, b]))?;
                }
                Ok(chosen)
            }
            (Val::Opaque(number), Step::By(_)) => Ok(Val::Opaque(number)),
        }
    }

    /// The same for each vector of a value.
    pub(super) fn map(&mut self, val: &Val, work: &mut dyn FnMut(&mut Self, &[Lane]) -> Vec<Lane>) -> Val {
        match val {
            Val::Lanes(lanes) => {
                let lanes = self.gathered(lanes.clone());
                Val::Lanes(work(self, &lanes))
            }
            Val::Group(parts) => Val::Group(parts.iter().map(|part| self.map(part, work)).collect()),
            other => other.clone(),
        }
    }

    /// The same for each pair of vectors; a scalar goes with every lane.
    pub(super) fn zip(&mut self, a: &Val, b: &Val, work: &mut Pairwise<'a, '_>) -> Fallible<Val> {
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
            _ => self.fault("operands that do not fit together"),
        }
    }

    pub(super) fn number(&mut self, value: f64) -> Lane {
        self.constant(value.to_string())
    }

    pub(super) fn as_operand(&mut self, val: Val) -> Fallible<Vec<Lane>> {
        match val {
            Val::Lanes(lanes) => Ok(self.gathered(lanes)),
            _ => self.fault("a scalar or a vector is expected"),
        }
    }
}

fn dotted(path: &[u32]) -> String {
    path.iter().map(|step| format!(".{step}")).collect()
}

fn part(val: &Val, index: usize) -> Option<Val> {
    match val {
        Val::Lanes(lanes) => lanes.get(index).map(|lane| Val::Lanes(vec![*lane])),
        Val::Group(parts) => parts.get(index).cloned(),
        other => Some(other.clone()),
    }
}

/// Puts a value in the place of a part; false if there is no such part.
fn replace(val: &mut Val, path: &[usize], value: Val) -> bool {
    match (val, path, value) {
        (val, [], value) => {
            *val = value;
            true
        }
        (Val::Group(parts), [index, path @ ..], value) => {
            parts.get_mut(*index).is_some_and(|part| replace(part, path, value))
        }
        (Val::Lanes(lanes), [index], Val::Lanes(new)) if *index < lanes.len() && new.len() == 1 => {
            lanes[*index] = new[0];
            true
        }
        _ => false,
    }
}

/// All lanes of a value, in order.
pub(super) fn flatten(val: &Val, lanes: &mut Vec<Lane>) {
    match val {
        Val::Lanes(own) => lanes.extend(own),
        Val::Group(parts) => parts.iter().for_each(|part| flatten(part, lanes)),
        Val::Pointer(_) | Val::Opaque(_) => {}
    }
}

/// All vectors of a value, in order.
fn leaf_lanes(val: &Val, leaves: &mut Vec<Vec<Lane>>) {
    match val {
        Val::Lanes(own) => leaves.push(own.clone()),
        Val::Group(parts) => parts.iter().for_each(|part| leaf_lanes(part, leaves)),
        Val::Pointer(_) | Val::Opaque(_) => {}
    }
}

fn constant_index(function: &Function, module: &Module, index: Handle<Expression>) -> Option<u32> {
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

/// Whether a variable is accessed at a place that varies, or handed to a function.
fn is_indexed(function: &Function, is_at: &dyn Fn(&Expression) -> bool) -> bool {
    let mut derived: FxHashSet<Handle<Expression>> = FxHashSet::default();
    for (handle, expression) in function.expressions.iter() {
        match expression {
            Expression::Access { base, index } if derived.contains(base) => {
                if !matches!(function.expressions[*index], Expression::Literal(_) | Expression::Constant(_)) {
                    return true;
                }
                derived.insert(handle);
            }
            Expression::AccessIndex { base, .. } if derived.contains(base) => {
                derived.insert(handle);
            }
            other if is_at(other) => {
                derived.insert(handle);
            }
            _ => {}
        }
    }
    // A function that gets a pointer may do anything with it.
    !derived.is_empty() && is_handed_on(&function.body, &derived)
}

fn is_handed_on(block: &naga::Block, pointers: &FxHashSet<Handle<Expression>>) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Call { arguments, .. } => arguments.iter().any(|argument| pointers.contains(argument)),
        Statement::Block(block) => is_handed_on(block, pointers),
        Statement::If { accept, reject, .. } => {
            is_handed_on(accept, pointers) || is_handed_on(reject, pointers)
        }
        Statement::Switch { cases, .. } => cases.iter().any(|case| is_handed_on(&case.body, pointers)),
        Statement::Loop { body, continuing, .. } => {
            is_handed_on(body, pointers) || is_handed_on(continuing, pointers)
        }
        _ => false,
    })
}

fn is_storage_image(module: &Module, ty: Handle<Type>) -> bool {
    match &module.types[ty].inner {
        TypeInner::Image { class: naga::ImageClass::Storage { access, .. }, .. } => {
            access.contains(naga::StorageAccess::STORE)
        }
        TypeInner::BindingArray { base, .. } => is_storage_image(module, *base),
        _ => false,
    }
}
