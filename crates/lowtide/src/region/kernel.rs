use super::Region;

/// The regions of one function, with what limits its occupancy from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The function's name.
    pub name: String,
    /// Where it comes from: code base, file or job. Name and origin together identify a kernel.
    pub origin: String,
    /// The target the code was made for, if known.
    pub target: Option<String>,
    /// Whether waves start here; else it is a function that others call.
    pub is_entry: bool,
    /// Most waves that local memory and launch bounds allow; none if nothing is known to limit them.
    pub max_occupancy: Option<u32>,
    /// Its regions, in the order of the function.
    pub regions: Vec<Region>,
}

impl Kernel {
    /// A kernel that waves start in, with nothing else known about it.
    pub fn new(name: impl Into<String>, regions: Vec<Region>) -> Self {
        let name = name.into();
        Kernel { name, origin: String::new(), target: None, is_entry: true, max_occupancy: None, regions }
    }

    /// Number of instructions in all regions.
    pub fn instr_count(&self) -> usize {
        self.regions.iter().map(Region::len).sum()
    }
}
