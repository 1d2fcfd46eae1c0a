use super::Region;

/// The regions of one function, with the limits on its occupancy from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The function's name.
    pub name: String,
    /// The origin of the code: code base, file or job. Name and origin together identify a kernel.
    pub origin: String,
    /// The target that the code was compiled for, if known.
    pub target: Option<String>,
    /// Whether waves start in this function. False for a function that others call.
    pub is_entry: bool,
    /// The most waves that local memory and launch bounds allow. `None` if no limit is known.
    pub max_occupancy: Option<u32>,
    /// Its regions, in the order of the function.
    pub regions: Vec<Region>,
}

impl Kernel {
    /// Make an entry point without origin, target or limit.
    pub fn new(name: impl Into<String>, regions: Vec<Region>) -> Self {
        let name = name.into();
        Kernel { name, origin: String::new(), target: None, is_entry: true, max_occupancy: None, regions }
    }

    /// Return the number of instructions in all regions.
    pub fn instr_count(&self) -> usize {
        self.regions.iter().map(Region::len).sum()
    }
}
