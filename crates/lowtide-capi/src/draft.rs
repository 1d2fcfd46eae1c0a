//! Regions and kernels under construction. Functions that return no status keep their first failure here, and
//! the next function with a status reports it.

use lowtide::region::{DefFlags, InstrSpec, Kernel, Lanes, Production, Region, RegionBuilder};
use lowtide::{ClassId, InstrId, RegisterId};

use crate::failure::{Failure, guarded};

/// An object that functions without a status build.
#[derive(Debug)]
pub(crate) struct Draft<T> {
    value: T,
    failure: Option<Failure>,
}

impl<T> Draft<T> {
    pub(crate) fn new(value: T) -> Self {
        Draft { value, failure: None }
    }

    /// Change the object. The first failure is kept: the draft is unusable from then on, and the result is
    /// `None`.
    pub(crate) fn edit<R>(&mut self, change: impl FnOnce(&mut T) -> Result<R, Failure>) -> Option<R> {
        match guarded(|| change(&mut self.value)) {
            Ok(result) => Some(result),
            Err(failure) => {
                self.failure.get_or_insert(failure);
                None
            }
        }
    }

    /// Return the object, or the first failure.
    pub(crate) fn get(&self) -> Result<&T, Failure> {
        self.failure.clone().map_or(Ok(&self.value), Err)
    }

    /// Return the object for a change, or the first failure.
    pub(crate) fn get_mut(&mut self) -> Result<&mut T, Failure> {
        self.failure.clone().map_or(Ok(&mut self.value), Err)
    }

    /// Take the object out, or the first failure.
    pub(crate) fn finish(self) -> Result<T, Failure> {
        self.failure.map_or(Ok(self.value), Err)
    }
}

/// A region builder with the checks that typed callers do not need.
#[derive(Debug)]
pub(crate) struct RegionDraft {
    name: String,
    pub(crate) builder: RegionBuilder,
    /// The number of classes: class ids are below it.
    classes: u32,
}

impl RegionDraft {
    pub(crate) fn new(name: &str) -> Self {
        RegionDraft { name: name.to_string(), builder: RegionBuilder::new(name), classes: 0 }
    }

    pub(crate) fn class(&mut self, name: &str) -> u32 {
        let id = u32::from(self.builder.class(name).0);
        self.classes = self.classes.max(id + 1);
        id
    }

    /// Return the class with this number, or fail: the builder does not check the number.
    fn known_class(&self, class: u32, who: &str) -> Result<ClassId, Failure> {
        let known = u8::try_from(class).ok().filter(|_| class < self.classes);
        known.map(ClassId).ok_or_else(|| {
            Failure::region(format!(
                "region {:?}: {who} names class number {class}, but there are only {}",
                self.name, self.classes
            ))
        })
    }

    pub(crate) fn register(
        &mut self,
        name: &str,
        class: u32,
        lanes: u32,
        weight: u32,
    ) -> Result<u32, Failure> {
        let class = self.known_class(class, &format!("register {name:?}"))?;
        Ok(self.builder.register(name, class, lanes, weight).0)
    }

    pub(crate) fn through(&mut self, class: u32, weight: u32) -> Result<(), Failure> {
        let class = self.known_class(class, "what passes through")?;
        self.builder.through(class, weight);
        Ok(())
    }

    pub(crate) fn instr(&mut self, spec: InstrSpec) -> u32 {
        self.builder.instr(spec).0
    }

    pub(crate) fn def(&mut self, instr: u32, register: u32, lanes: Lanes, flags: DefFlags) {
        self.builder.defs_with(InstrId(instr), RegisterId(register), lanes, flags);
    }

    pub(crate) fn production(&mut self, by: &str, order: &[u32]) {
        let order = order.iter().map(|&instr| InstrId(instr)).collect();
        self.builder.production(Production { by: by.into(), order, peaks: None });
    }

    pub(crate) fn build(self) -> Result<Region, Failure> {
        let region = self.builder.build();
        region.map_err(|error| Failure::region(format!("region {:?}: {error}", self.name)))
    }
}

/// Make a kernel without regions that has only a name.
pub(crate) fn kernel(name: &str) -> Kernel {
    Kernel {
        name: name.to_string(),
        origin: String::new(),
        target: None,
        is_entry: true,
        max_occupancy: None,
        regions: Vec::new(),
    }
}
