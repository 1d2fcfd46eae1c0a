//! The instances of `tests/instances`: small regions with known optima. The tests of several crates include
//! this file; `tests/instances/README.md` says how to add an instance.

// Not every test reads every field.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use lowtide::region::{Kernel, Region};
use lowtide::target::Target;
use lowtide_io::KernelReader;

/// A region with its target and what is known about it.
pub(crate) struct Instance {
    /// The folder and the name of the file, for messages.
    pub(crate) name: String,
    /// The kernel, which has one region.
    pub(crate) kernel: Kernel,
    pub(crate) target: Target,
    expected: toml::Table,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/instances")
}

/// The fields that every instance has.
const COMMON: [&str; 3] = ["from", "known", "target"];

/// All instances of a kind, by name. `fields` are those that its expectations may have.
pub(crate) fn instances(kind: &str, fields: &[&str]) -> Vec<Instance> {
    let folder = folder().join(kind);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    let (mut instances, mut regions) = (Vec::new(), 0);
    for file in files {
        let end = file.extension().and_then(|end| end.to_str());
        match end {
            Some("toml") => instances.push(Instance::read(kind, &file, fields)),
            Some("jsonl") => regions += 1,
            _ => panic!("{}: an instance is a NAME.jsonl and a NAME.toml", file.display()),
        }
    }
    assert_eq!(instances.len(), regions, "{kind}: every NAME.jsonl has a NAME.toml");
    assert!(instances.len() >= 8, "{kind} has only {} instances", instances.len());
    instances
}

impl Instance {
    fn read(kind: &str, file: &Path, fields: &[&str]) -> Instance {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{kind}/{stem}");
        let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected: toml::Table = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        for key in expected.keys() {
            let is_known = COMMON.contains(&key.as_str()) || fields.contains(&key.as_str());
            assert!(is_known, "{name}: unknown field {key}; known are {COMMON:?} and {fields:?}");
        }
        let word = |key: &str| {
            let value = expected.get(key).and_then(toml::Value::as_str).unwrap_or_default();
            assert!(!value.is_empty(), "{name}: {key} is missing");
            value.to_string()
        };
        // Where it comes from and why its optimum is known must be said.
        let _ = (word("from"), word("known"));
        let target = match word("target") {
            path if path.ends_with(".toml") => {
                let path = folder().join("targets").join(path);
                let text = std::fs::read_to_string(&path)
                    .unwrap_or_else(|error| panic!("{name}: {}: {error}", path.display()));
                Target::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
            }
            known => Target::builtin(&known).unwrap_or_else(|| panic!("{name}: no target {known}")),
        };
        let regions = file.with_extension("jsonl");
        let kernels: Result<Vec<Kernel>, _> =
            KernelReader::open(&regions).unwrap_or_else(|error| panic!("{error}")).collect();
        let mut kernels = kernels.unwrap_or_else(|error| panic!("{error}"));
        assert!(kernels.len() == 1 && kernels[0].regions.len() == 1, "{name}: one region, please");
        Instance { name, kernel: kernels.remove(0), target, expected }
    }

    pub(crate) fn region(&self) -> &Region {
        &self.kernel.regions[0]
    }

    fn whole(&self, key: &str, value: &toml::Value) -> u32 {
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        number.unwrap_or_else(|| panic!("{}: {key} must be a whole number", self.name))
    }

    /// A number that may be left out.
    pub(crate) fn optional(&self, key: &str) -> Option<u32> {
        self.expected.get(key).map(|value| self.whole(key, value))
    }

    /// A number that must be there.
    pub(crate) fn number(&self, key: &str) -> u32 {
        self.optional(key).unwrap_or_else(|| panic!("{}: {key} is missing", self.name))
    }

    /// Numbers for classes, such as `peak = { vgpr = 3 }`: one for each class of the region, none where it is
    /// left out.
    pub(crate) fn by_class(&self, key: &str) -> Vec<Option<u32>> {
        let table = match self.expected.get(key) {
            None => return vec![None; self.region().classes().len()],
            Some(value) => value.as_table().unwrap_or_else(|| panic!("{}: {key} must be a table", self.name)),
        };
        for class in table.keys() {
            let is_known = self.region().classes().iter().any(|known| **known == *class);
            assert!(is_known, "{}: {key}: the region has no class {class}", self.name);
        }
        let of = |class: &str| table.get(class).map(|value| self.whole(key, value));
        self.region().classes().iter().map(|class| of(class)).collect()
    }
}

/// The fields of each kind.
pub(crate) const MINREG: &[&str] = &["peak"];
pub(crate) const OCCUPANCY: &[&str] = &["waves", "spilled", "length"];
pub(crate) const LENGTH: &[&str] = &["limits", "length"];
pub(crate) const PACKING: &[&str] = &["registers", "length", "without_splits"];
pub(crate) const PASSES: &[&str] = &["cost"];
