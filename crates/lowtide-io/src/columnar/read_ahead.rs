//! Several row groups at the same time, each on a thread of its own. Kernels come out in the order of the
//! file.
//!
//! A thread reads the columns of its row group and builds its kernels. It ends early when nobody wants them
//! any more.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use lowtide::region::{Kernel, RegionBuilder};
use parquet::file::metadata::ParquetMetaData;
use rustc_hash::FxHashMap;

use super::columns::{Columns, Levels};
use super::guarded;
use super::kernels::Batch;
use super::limits::Taken;
use super::schema::Leaf;

/// Row groups of more bytes have no others read beside them.
const LARGE: i64 = 64 << 20;

/// The kernels that a thread makes before the first of them is taken.
const WAITING: usize = 1024;

/// What is wrong with a file.
pub(super) enum Fault {
    OfFile(String),
    /// Something in the next row.
    OfRow(String),
}

/// The row groups of a file.
pub(super) struct RowGroups {
    /// Threads take turns.
    pub(super) file: Mutex<File>,
    pub(super) length: u64,
    pub(super) metadata: ParquetMetaData,
    pub(super) leaves: FxHashMap<String, Leaf>,
    /// Grows with the bytes read.
    pub(super) read: Arc<AtomicU64>,
}

impl RowGroups {
    /// Read the columns of a row group.
    fn columns(&self, number: usize) -> Result<Batch, Fault> {
        let row_group = self.metadata.row_group(number);
        let columns = Columns {
            file: &self.file,
            length: self.length,
            leaves: &self.leaves,
            row_group,
            rows: self.rows(number),
            taken: Taken::default(),
            spare: Levels::default(),
        };
        let batch = guarded(|| Batch::read(columns)).map_err(Fault::OfFile)?;
        let sizes = row_group.columns().iter();
        let sizes = sizes.filter_map(|column| u64::try_from(column.compressed_size()).ok());
        self.read.fetch_add(sizes.fold(0, u64::saturating_add), Ordering::Relaxed);
        Ok(batch)
    }

    fn rows(&self, number: usize) -> usize {
        usize::try_from(self.metadata.row_group(number).num_rows()).unwrap_or(usize::MAX)
    }

    /// Return whether other row groups may be read at the same time.
    fn is_small(&self, number: usize) -> bool {
        self.metadata.row_group(number).total_byte_size() <= LARGE
    }
}

/// The kernels of a row group, on their way out.
enum Group {
    Here(Box<Batch>),
    /// On another thread, which still owes so many kernels.
    There(Receiver<Result<Kernel, Fault>>, usize),
}

/// The kernels of all row groups.
pub(super) struct Rows {
    groups: Arc<RowGroups>,
    threads: usize,
    /// The next row group that no thread has begun.
    next: usize,
    begun: VecDeque<Group>,
    builder: RegionBuilder,
}

impl Rows {
    pub(super) fn new(groups: RowGroups, threads: usize) -> Rows {
        let groups = Arc::new(groups);
        Rows { groups, threads, next: 0, begun: VecDeque::new(), builder: RegionBuilder::default() }
    }

    /// Begin the next row groups, up to one for each thread.
    fn begin(&mut self) -> Result<(), Fault> {
        while self.next < self.groups.metadata.num_row_groups() && self.begun.len() < self.threads.max(1) {
            let beside_others = self.threads > 1 && self.groups.is_small(self.next);
            let group = match beside_others.then(|| self.start_thread(self.next)).flatten() {
                Some(group) => group,
                None if self.begun.is_empty() => Group::Here(Box::new(self.groups.columns(self.next)?)),
                None => break,
            };
            self.begun.push_back(group);
            self.next += 1;
        }
        Ok(())
    }

    /// Read a row group on a thread of its own, if one can be started.
    fn start_thread(&self, number: usize) -> Option<Group> {
        let groups = Arc::clone(&self.groups);
        let (sender, receiver) = sync_channel(WAITING);
        let read = move || {
            let mut batch = match groups.columns(number) {
                Ok(batch) => batch,
                Err(fault) => return drop(sender.send(Err(fault))),
            };
            let mut builder = RegionBuilder::default();
            while let Some(kernel) = batch.next(&mut builder) {
                let is_last = kernel.is_err();
                if sender.send(kernel.map_err(Fault::OfRow)).is_err() || is_last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("lowtide-parquet".to_string()).spawn(read);
        thread.ok().map(|_| Group::There(receiver, self.groups.rows(number)))
    }
}

impl Iterator for Rows {
    type Item = Result<Kernel, Fault>;

    /// Return the next kernel. After a fault, nothing that follows counts.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Err(fault) = self.begin() {
                return Some(Err(fault));
            }
            let kernel = match self.begun.front_mut()? {
                Group::Here(batch) => {
                    batch.next(&mut self.builder).map(|kernel| kernel.map_err(Fault::OfRow))
                }
                Group::There(_, 0) => None,
                Group::There(kernels, owed) => {
                    *owed -= 1;
                    let lost = || Fault::OfFile("cannot be read: a thread has failed".to_string());
                    Some(kernels.recv().unwrap_or_else(|_| Err(lost())))
                }
            };
            if kernel.is_some() {
                return kernel;
            }
            self.begun.pop_front();
        }
    }
}
