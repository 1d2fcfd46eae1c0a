//! From naga's module to [`Code`]: one entry point with all functions that it calls put into it.
//!
//! naga has trees of expressions, which are computed where a statement says so, and structured control flow. Here,
//! a vector is a list of lanes, so that swizzles and accesses cost nothing; matrices, structures and arrays are
//! groups of vectors. Variables that are only accessed at fixed places are groups of lanes as well; others are
//! memory. What differs between fragments only by an index is loaded, all else that does not differ is a
//! register of class `uniform`.

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Expression, Function, Handle, Module, ShaderStage, Span, Type};
use rustc_hash::{FxHashMap, FxHashSet};

mod expressions;
mod memory;
mod statements;

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
}

fn part(val: &Val, index: usize) -> Option<Val> {
    match val {
        Val::Lanes(lanes) => lanes.get(index).map(|lane| Val::Lanes(vec![*lane])),
        Val::Group(parts) => parts.get(index).cloned(),
        other => Some(other.clone()),
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
