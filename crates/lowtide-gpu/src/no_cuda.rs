//! The device of a build without the feature `cuda`: a type without values.

use lowtide::colony::flat::Batch;

use super::{DeviceError, Spent, Technique};

/// A CUDA device. This build cannot open one.
#[derive(Debug)]
pub enum Device {}

impl Device {
    /// Fail with [`DeviceError::NotBuilt`].
    pub fn open() -> Result<Device, DeviceError> {
        Err(DeviceError::NotBuilt)
    }

    /// Fail with [`DeviceError::NotBuilt`].
    pub fn open_without(_techniques: &[Technique]) -> Result<Device, DeviceError> {
        Err(DeviceError::NotBuilt)
    }

    pub(super) fn uses(&self, _technique: Technique) -> bool {
        match *self {}
    }

    /// Return the name that the driver reports.
    pub fn name(&self) -> &str {
        match *self {}
    }

    pub(super) fn free_bytes(&self) -> Result<u64, DeviceError> {
        match *self {}
    }

    pub(super) fn run(&self, _batch: &Batch, _spent: &mut Spent) -> Result<Vec<u32>, DeviceError> {
        match *self {}
    }
}
