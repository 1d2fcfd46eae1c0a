//! From naga's module to [`Code`]: one entry point with all its functions inlined.
//!
//! naga has trees of expressions, which a statement evaluates, and structured control flow. Here a vector is
//! a list of lanes, so swizzles and accesses cost nothing. Matrices, structures and arrays are groups of
//! vectors. Variables with only constant indices are groups of lanes; other variables are memory. Uniform
//! data with a varying index is loaded. All other uniform data is a register of class `uniform`.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Expression, Function, Handle, Module, ShaderStage, Span, Type, TypeInner};
use rustc_hash::{FxHashMap, FxHashSet};

mod expressions;
mod memory;
mod statements;

use super::code::{Block, Class, Code, Copied, Effect, Lane, Op, Place, Reg};
use super::places::Places;

/// Most lanes of one structure or array that is not memory.
const MOST_LANES: usize = 1 << 16;
/// Most operations and expressions of a shader: calls can multiply them.
const MOST_STEPS: usize = 1 << 20;
/// Most numbers that all expressions and blocks copy, all together.
const MOST_COPIED: usize = 1 << 24;
/// Most pairs of block and register: liveness is stored for each of them.
const MOST_PAIRS: usize = 1 << 28;
/// How deep blocks, calls and types may be nested.
const MOST_DEPTH: usize = 1000;

/// An unsupported construct, with its place.
pub(super) struct Fault {
    pub(super) place: Option<Place>,
    pub(super) message: String,
}

/// The value of an expression.
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

/// The target of a pointer.
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

/// The type of a pointer's target: a type, or a component of a vector.
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

/// A variable outside memory: its home registers, as a tree.
struct Variable {
    home: Val,
}

/// A number that separates functions with the same opcode.
pub(super) type Variant = u8;
/// The key of a result that can be used again.
type Key = (&'static str, Variant, usize, Vec<Vec<Lane>>);

/// The state of a function during lowering.
struct Frame<'a> {
    function: &'a Function,
    info: &'a FunctionInfo,
    /// The computed values with their blocks. Home registers in a value mean their contents at the start of
    /// that block.
    values: FxHashMap<Handle<Expression>, (Option<usize>, Val)>,
    arguments: Vec<Val>,
    /// The block of the call.
    start: Option<usize>,
    locals: Vec<Root>,
    /// The variable of the result. `None` in the entry point.
    result: Option<u32>,
    /// Blocks with a return before the end of the function.
    returns: Vec<usize>,
}

/// The blocks that end with `break` and `continue`.
#[derive(Default)]
struct Jumps {
    breaks: Vec<usize>,
    continues: Vec<usize>,
    is_switch: bool,
}

/// The lowering of one entry point.
pub(super) struct Lower<'a> {
    module: &'a Module,
    info: &'a ModuleInfo,
    places: &'a Places<'a>,
    pub(super) code: Code,
    /// The current block. `None` after a jump.
    current: Option<usize>,
    loop_depth: u32,
    depth: usize,
    variables: Vec<Variable>,
    /// The home registers of all variables.
    homes: FxHashSet<u32>,
    /// The registers that keep home registers from the start of a block, with the lanes kept.
    kept: FxHashMap<(usize, u32), (u32, u8)>,
    /// The contents of variables that this block knows.
    held: FxHashMap<u32, Val>,
    /// Results of this block that can be used again.
    known: FxHashMap<Key, u32>,
    globals: FxHashMap<usize, Root>,
    uniforms: FxHashMap<(u32, Vec<u32>), u32>,
    constants: FxHashMap<String, u32>,
    jumps: Vec<Jumps>,
    memories: u32,
    place: Option<Place>,
    steps: usize,
    copied: usize,
    stage: ShaderStage,
}

type Fallible<T> = Result<T, Fault>;
/// Make a vector of a number of lanes, given its path.
type MakeLeaf<'a, 'b> = dyn FnMut(&mut Lower<'a>, usize, &[u32]) -> Vec<Lane> + 'b;
/// Combine two vectors.
type Pairwise<'a, 'b> = dyn FnMut(&mut Lower<'a>, &[Lane], &[Lane]) -> Vec<Lane> + 'b;

/// Return the name of a builtin input, in lower case.
fn builtin_name(builtin: &naga::BuiltIn) -> String {
    let debug = format!("{builtin:?}");
    debug.split([' ', '{']).next().unwrap_or("builtin").to_lowercase()
}

impl<'a> Lower<'a> {
    /// Lower entry point number `entry`.
    pub(super) fn entry(
        module: &'a Module,
        info: &'a ModuleInfo,
        entry: usize,
        places: &'a Places<'a>,
    ) -> Fallible<Code> {
        let point = &module.entry_points[entry];
        let mut lower = Lower {
            module,
            info,
            places,
            code: Code::default(),
            current: None,
            loop_depth: 0,
            depth: 0,
            variables: Vec::new(),
            homes: FxHashSet::default(),
            kept: FxHashMap::default(),
            held: FxHashMap::default(),
            known: FxHashMap::default(),
            globals: FxHashMap::default(),
            uniforms: FxHashMap::default(),
            constants: FxHashMap::default(),
            jumps: Vec::new(),
            memories: 0,
            place: None,
            steps: 0,
            copied: 0,
            stage: point.stage,
        };
        lower.check_types()?;
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
        lower.step()?;
        let (blocks, regs) = (lower.code.blocks.len(), lower.code.regs.len());
        if blocks.saturating_mul(regs) > MOST_PAIRS {
            return lower.fault(format!(
                "the shader is too large: {blocks} blocks and {regs} registers with all calls"
            ));
        }
        Ok(lower.code)
    }

    /// Limit the nesting of types: values are trees of their shape.
    fn check_types(&self) -> Fallible<()> {
        let mut depths: Vec<usize> = Vec::new();
        for (_, ty) in self.module.types.iter() {
            let depth = |ty: &Handle<Type>| depths.get(ty.index()).map_or(0, |depth| depth + 1);
            let depth = match &ty.inner {
                TypeInner::Array { base, .. } | TypeInner::BindingArray { base, .. } => depth(base),
                TypeInner::Struct { members, .. } => {
                    members.iter().map(|member| depth(&member.ty)).max().unwrap_or(0)
                }
                _ => 0,
            };
            if depth > MOST_DEPTH {
                return self.fault(format!("types are nested more than {MOST_DEPTH} levels deep"));
            }
            depths.push(depth);
        }
        Ok(())
    }

    pub(super) fn fault<T>(&self, message: impl Into<String>) -> Fallible<T> {
        Err(Fault { place: self.place, message: message.into() })
    }

    fn place_of(&self, span: Span) -> Option<Place> {
        self.places.of_text(span.to_range()?.start)
    }

    fn step(&mut self) -> Fallible<()> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return self
                .fault(format!("the shader is too large: over {MOST_STEPS} expressions with all calls"));
        }
        if self.copied > MOST_COPIED {
            return self.fault(format!("the shader is too large: over {MOST_COPIED} numbers are copied"));
        }
        Ok(())
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

    /// End the current block and store its variables in their home registers.
    fn leave(&mut self, boundary: &'static str) -> Option<usize> {
        let block = self.current.take()?;
        let mut held: Vec<(u32, Val)> = self.held.drain().collect();
        held.sort_by_key(|(number, _)| *number);
        let mut writes = Vec::new();
        for (number, val) in held {
            let (mut homes, mut lanes) = (Vec::new(), Vec::new());
            flatten(&self.variables[number as usize].home, &mut homes);
            flatten(&val, &mut lanes);
            self.copied += homes.len();
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

    /// Return a value of an earlier block for the current one. Home registers in it are kept if that block
    /// has ended.
    fn as_of(&mut self, block: Option<usize>, mut val: Val) -> Val {
        match block {
            Some(block) if self.current != Some(block) => self.keep_homes(block, &mut val),
            _ => {}
        }
        val
    }

    fn keep_homes(&mut self, block: usize, val: &mut Val) {
        match val {
            Val::Lanes(lanes) => lanes.iter_mut().for_each(|lane| *lane = self.keep_home(block, *lane)),
            Val::Group(parts) => parts.iter_mut().for_each(|part| self.keep_homes(block, part)),
            Val::Pointer(pointer) => {
                for step in &mut pointer.path {
                    if let Step::By(lanes) = step {
                        lanes.iter_mut().for_each(|lane| *lane = self.keep_home(block, *lane));
                    }
                }
            }
            Val::Opaque(_) => {}
        }
    }

    fn keep_home(&mut self, block: usize, lane: Lane) -> Lane {
        let Some((home, at)) = lane.register().filter(|(reg, _)| self.homes.contains(reg)) else {
            return lane;
        };
        let (copy, lanes) = match self.kept.get(&(block, home)) {
            Some(kept) => *kept,
            None => {
                let Reg { class, lanes, name } = self.code.regs[home as usize].clone();
                let copy = self.register(class, lanes.into(), format!("{name}={block}"));
                self.code.copies.push(Copied { copy, home });
                (copy, 0)
            }
        };
        if lanes >> at & 1 == 0 {
            self.code.blocks[block].writes.push(((copy, at), Lane::Reg(home, at)));
        }
        self.kept.insert((block, home), (copy, lanes | 1 << at));
        lane.of(copy)
    }

    fn constant(&mut self, text: String) -> Lane {
        let next = self.code.constants.len() as u32;
        let number = *self.constants.entry(text).or_insert_with_key(|text| {
            self.code.constants.push(text.clone());
            next
        });
        Lane::Const(number)
    }

    /// Make a constant that is computed from constants. Its value is irrelevant here.
    fn folded(&mut self) -> Lane {
        let text = format!("folded{}", self.code.constants.len());
        self.constant(text)
    }

    /// Negate the lanes.
    pub(super) fn minus(&mut self, lanes: &[Lane]) -> Vec<Lane> {
        let mut minus = |lane: &Lane| match *lane {
            Lane::Reg(reg, at) => Lane::Minus(reg, at),
            Lane::Minus(reg, at) => Lane::Reg(reg, at),
            Lane::Const(number) => {
                let text = &self.code.constants[number as usize];
                let text = text.strip_prefix('-').map_or_else(|| format!("-{text}"), str::to_string);
                self.constant(text)
            }
        };
        lanes.iter().map(&mut minus).collect()
    }

    /// Return one over constants.
    pub(super) fn inverse(&mut self, lanes: &[Lane]) -> Vec<Lane> {
        let mut inverse = |lane: &Lane| match *lane {
            Lane::Const(number) => {
                let text = &self.code.constants[number as usize];
                let text =
                    text.parse().map_or_else(|_| format!("1/{text}"), |value: f64| (1.0 / value).to_string());
                self.constant(text)
            }
            lane => lane,
        };
        lanes.iter().map(&mut inverse).collect()
    }

    /// Emit an operation without effects. Operations on constants are folded, and repeated operations are
    /// reused.
    pub(super) fn op(&mut self, opcode: &'static str, lanes: usize, operands: &[&[Lane]]) -> Vec<Lane> {
        self.op_of(opcode, 0, lanes, operands)
    }

    /// Emit one of several operations with the same opcode.
    pub(super) fn op_of(
        &mut self,
        opcode: &'static str,
        variant: Variant,
        lanes: usize,
        operands: &[&[Lane]],
    ) -> Vec<Lane> {
        if operands.iter().all(|operand| operand.iter().all(|lane| matches!(lane, Lane::Const(_)))) {
            return (0..lanes).map(|_| self.folded()).collect();
        }
        let key =
            (opcode, variant, lanes, operands.iter().map(|operand| operand.to_vec()).collect::<Vec<_>>());
        if let Some(reg) = self.known.get(&key) {
            return Self::whole(*reg, lanes);
        }
        let operands = key.3.clone();
        let result = self.emit(opcode, lanes, operands, Effect::None);
        if let Lane::Reg(reg, _) = result[0] {
            self.known.insert(key, reg);
        }
        result
    }

    /// Emit an operation that reads or writes memory. `lanes` is 0 without a result.
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

    /// Return the lanes as one operand. Lanes of several registers are first moved into one.
    fn gathered(&mut self, lanes: Vec<Lane>) -> Vec<Lane> {
        let regs: FxHashSet<u32> = lanes.iter().filter_map(|lane| Some(lane.register()?.0)).collect();
        match regs.len() > 1 {
            true => self.op("mov", lanes.len(), &[&lanes]),
            false => lanes,
        }
    }
}

fn part(val: &Val, index: usize) -> Option<Val> {
    match val {
        Val::Lanes(lanes) => lanes.get(index).map(|lane| Val::Lanes(vec![*lane])),
        Val::Group(parts) => parts.get(index).cloned(),
        other => Some(other.clone()),
    }
}

/// Append all lanes of a value, in order.
pub(super) fn flatten(val: &Val, lanes: &mut Vec<Lane>) {
    match val {
        Val::Lanes(own) => lanes.extend(own),
        Val::Group(parts) => parts.iter().for_each(|part| flatten(part, lanes)),
        Val::Pointer(_) | Val::Opaque(_) => {}
    }
}

/// Count the vectors and other parts of a value.
fn size(val: &Val) -> usize {
    match val {
        Val::Group(parts) => parts.iter().map(size).sum::<usize>() + 1,
        _ => 1,
    }
}

/// Append all vectors of a value, in order.
pub(super) fn leaf_lanes(val: &Val, leaves: &mut Vec<Vec<Lane>>) {
    match val {
        Val::Lanes(own) => leaves.push(own.clone()),
        Val::Group(parts) => parts.iter().for_each(|part| leaf_lanes(part, leaves)),
        Val::Pointer(_) | Val::Opaque(_) => {}
    }
}
