//! The shape of values by their types; variables, buffers and inputs; loads and stores.

use std::hash::Hash;

use naga::valid::FunctionInfo;
use naga::{
    AddressSpace, ArraySize, Binding, Expression, Function, Handle, Module, ShaderStage, Statement, Type,
    TypeInner,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::expressions::constant_index;
use super::{
    Fallible, Frame, Lower, MOST_LANES, MakeLeaf, Pointee, Pointer, Root, Step, Val, Variable, builtin_name,
    leaf_lanes, part,
};
use crate::shader::code::{Class, Effect, Lane};

impl<'a> Lower<'a> {
    pub(super) fn inner(&self, ty: Handle<Type>) -> &'a TypeInner {
        &self.module.types[ty].inner
    }

    /// Make a tree in the shape of a type; `leaf` makes its vectors, given their number of lanes and their
    /// path.
    pub(super) fn tree(
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
        let all = match self.inner(ty) {
            TypeInner::Matrix { columns, rows, .. } => *columns as usize * *rows as usize,
            _ => lanes.unwrap_or(0),
        };
        if *left < all {
            return self.fault(format!("a value of over {MOST_LANES} numbers is not supported"));
        }
        *left -= all;
        self.copied += all.max(1);
        if let Some(lanes) = lanes {
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

    pub(super) fn zero(&mut self, ty: Handle<Type>) -> Fallible<Val> {
        let zero = self.constant("0".to_string());
        self.tree(ty, &mut Vec::new(), &mut { MOST_LANES }, &mut |_, lanes, _| vec![zero; lanes])
    }

    /// Make a variable with home registers.
    pub(super) fn variable(&mut self, name: &str, ty: Handle<Type>) -> Fallible<u32> {
        let number = self.variables.len() as u32;
        let mut leaf = |this: &mut Self, lanes: usize, path: &[u32]| {
            let reg = this.register(Class::Reg, lanes, format!("{name}#{number}{}", dotted(path)));
            this.homes.insert(reg);
            Self::whole(reg, lanes)
        };
        let home = self.tree(ty, &mut Vec::new(), &mut { MOST_LANES }, &mut leaf)?;
        self.variables.push(Variable { home });
        Ok(number)
    }

    pub(super) fn held(&self, variable: u32) -> Val {
        let home = || self.variables[variable as usize].home.clone();
        self.held.get(&variable).cloned().unwrap_or_else(home)
    }

    pub(super) fn hold(&mut self, variable: u32, val: Val) {
        self.held.insert(variable, val);
    }

    pub(super) fn new_memory(&mut self, load: &'static str, store: &'static str, is_written: bool) -> Root {
        self.memories += 1;
        Root::Memory { number: self.memories, is_written, load, store }
    }

    pub(super) fn define_globals(&mut self) -> Fallible<()> {
        let module = self.module;
        let functions = module.functions.iter().map(|(_, function)| function);
        let points = module.entry_points.iter().map(|point| &point.function);
        let of_global = |expression: &Expression| match expression {
            Expression::GlobalVariable(global) => Some(*global),
            _ => None,
        };
        let indexed: FxHashSet<_> =
            functions.chain(points).flat_map(|function| indexed(module, function, &of_global)).collect();
        for (handle, global) in module.global_variables.iter() {
            let root = match global.space {
                AddressSpace::Uniform | AddressSpace::Immediate => Root::Uniform(handle.index() as u32),
                AddressSpace::Private => {
                    if indexed.contains(&handle) {
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

    pub(super) fn input(&mut self, name: &str, ty: Handle<Type>, binding: Option<&Binding>) -> Fallible<Val> {
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

    pub(super) fn frame(
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
            start: self.current,
            locals: Vec::new(),
            result,
            returns: Vec::new(),
        };
        let of_local = |expression: &Expression| match expression {
            Expression::LocalVariable(local) => Some(*local),
            _ => None,
        };
        let indexed = indexed(self.module, function, &of_local);
        for (handle, local) in function.local_variables.iter() {
            let root = match indexed.contains(&handle) {
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

    pub(super) fn address(&self, pointer: &Pointer) -> Vec<Vec<Lane>> {
        let indices = pointer.path.iter().filter_map(|step| match step {
            Step::By(lanes) => Some(lanes.clone()),
            Step::At(_) => None,
        });
        indices.collect()
    }

    /// Make a tree in the shape of a pointer's target, with vectors by `leaf`.
    pub(super) fn pointee(&mut self, ty: Pointee, leaf: &mut MakeLeaf<'a, '_>) -> Fallible<Val> {
        match ty {
            Pointee::Type(ty) => self.tree(ty, &mut Vec::new(), &mut { MOST_LANES }, leaf),
            Pointee::Lanes(lanes) => Ok(Val::Lanes(leaf(self, lanes, &[]))),
        }
    }

    pub(super) fn load(&mut self, pointer: &Val) -> Fallible<Val> {
        let pointer = match pointer {
            Val::Pointer(pointer) => pointer,
            // Textures and samplers are passed on unchanged.
            other => return Ok(other.clone()),
        };
        let address = self.address(pointer);
        match pointer.root {
            Root::Variable(variable) => {
                let Some(path) = fixed(pointer) else {
                    return self.fault("a varying index is not supported");
                };
                let all = self.held.get(&variable).unwrap_or(&self.variables[variable as usize].home);
                match path.split_last() {
                    None => Ok(all.clone()),
                    Some((last, path)) => {
                        let parent = path.iter().try_fold(all, |val, index| match val {
                            Val::Group(parts) => parts.get(*index),
                            _ => None,
                        });
                        Ok(parent.and_then(|val| part(val, *last)).unwrap_or(Val::Opaque(None)))
                    }
                }
            }
            Root::Uniform(global) if address.is_empty() => {
                let mut start = Vec::new();
                start.extend(
                    pointer.path.iter().map(|step| if let Step::At(index) = step { *index } else { 0 }),
                );
                // A component belongs to the register of its vector.
                let component = match pointer.ty {
                    Pointee::Lanes(1) => start.pop(),
                    _ => None,
                };
                let name = self.global_name(global);
                self.pointee(pointer.ty, &mut |this, lanes, path| {
                    let mut full = start.clone();
                    full.extend(path);
                    let reg = match this.uniforms.get(&(global, full.clone())) {
                        Some(reg) => *reg,
                        None => {
                            let name = format!("{name}{}", dotted(&full));
                            // For an access to a component, the width of the vector is unknown: assume the
                            // maximum of four.
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

    pub(super) fn store(&mut self, pointer: &Val, value: Val) -> Fallible<()> {
        let Val::Pointer(pointer) = pointer else { return self.fault("a store needs a pointer") };
        match pointer.root {
            Root::Variable(variable) => {
                let Some(path) = fixed(pointer) else {
                    return self.fault("a varying index is not supported");
                };
                let known = self.held.remove(&variable);
                let mut val = known.unwrap_or_else(|| self.held(variable));
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

    pub(super) fn emit_gathered(
        &mut self,
        opcode: &'static str,
        lanes: usize,
        operands: Vec<Vec<Lane>>,
        effect: Effect,
    ) -> Vec<Lane> {
        let operands = operands.into_iter().map(|operand| self.gathered(operand)).collect();
        self.emit(opcode, lanes, operands, effect)
    }

    pub(super) fn global_name(&self, global: u32) -> String {
        let mut globals = self.module.global_variables.iter();
        let found = globals.find(|(handle, _)| handle.index() as u32 == global);
        found.and_then(|(_, global)| global.name.clone()).unwrap_or_else(|| format!("uniform{global}"))
    }

    /// Return the indices that choose among textures, samplers or buffers.
    pub(super) fn choice(
        &mut self,
        frame: &mut Frame<'a>,
        expression: Handle<Expression>,
    ) -> Fallible<Vec<Vec<Lane>>> {
        Ok(match self.value(frame, expression)? {
            Val::Pointer(pointer) => self.address(&pointer),
            _ => Vec::new(),
        })
    }

    pub(super) fn image_memory(&mut self, frame: &mut Frame<'a>, image: Handle<Expression>) -> Fallible<u32> {
        match self.value(frame, image)? {
            Val::Pointer(Pointer { root: Root::Memory { number, .. }, .. }) => Ok(number),
            Val::Opaque(Some(number)) => Ok(number),
            _ => self.fault("an image is expected"),
        }
    }
}

/// Return the path of a pointer, if all its indices are constants.
fn fixed(pointer: &Pointer) -> Option<Vec<usize>> {
    let at = |step: &Step| if let Step::At(index) = step { Some(*index as usize) } else { None };
    pointer.path.iter().map(at).collect()
}

fn dotted(path: &[u32]) -> String {
    path.iter().map(|step| format!(".{step}")).collect()
}

/// Replace a part of a value. Return false if there is no such part.
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

/// Return the variables that are accessed by a varying index, or passed to a function.
fn indexed<V: Copy + Eq + Hash>(
    module: &Module,
    function: &Function,
    variable: &dyn Fn(&Expression) -> Option<V>,
) -> FxHashSet<V> {
    let mut found = FxHashSet::default();
    let mut derived: FxHashMap<Handle<Expression>, V> = FxHashMap::default();
    for (handle, expression) in function.expressions.iter() {
        let of = match expression {
            Expression::Access { base, index } => {
                let of = derived.get(base).copied();
                if constant_index(function, module, *index).is_none() {
                    found.extend(of);
                }
                of
            }
            Expression::AccessIndex { base, .. } => derived.get(base).copied(),
            other => variable(other),
        };
        derived.extend(of.map(|of| (handle, of)));
    }
    // A function may do anything with a pointer.
    if !derived.is_empty() {
        add_handed_on(&function.body, &derived, &mut found);
    }
    found
}

fn add_handed_on<V: Copy + Eq + Hash>(
    block: &naga::Block,
    pointers: &FxHashMap<Handle<Expression>, V>,
    found: &mut FxHashSet<V>,
) {
    for statement in block {
        match statement {
            Statement::Call { arguments, .. } => {
                found.extend(arguments.iter().filter_map(|argument| pointers.get(argument)));
            }
            Statement::Block(block) => add_handed_on(block, pointers, found),
            Statement::If { accept, reject, .. } => {
                add_handed_on(accept, pointers, found);
                add_handed_on(reject, pointers, found);
            }
            Statement::Switch { cases, .. } => {
                cases.iter().for_each(|case| add_handed_on(&case.body, pointers, found));
            }
            Statement::Loop { body, continuing, .. } => {
                add_handed_on(body, pointers, found);
                add_handed_on(continuing, pointers, found);
            }
            _ => {}
        }
    }
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
