//! The embedded store: one file for each entry, in 256 folders by the first byte of the key.
//!
//! ```text
//! DIR/v1/3f/a0...   the entry of the key 3fa0...
//! DIR/v1/3f/.12-7   an entry that process 12 is writing
//! DIR/v1/secret     the secret that seals records, readable for its owner only
//! DIR/v1/counts     hits and misses of earlier processes
//! ```
//!
//! **Many processes.** A process writes an entry to a new file and renames it. A rename replaces the old
//! entry at once, so a reader sees the old entry or the new one. Nothing is locked, so a process that is
//! killed leaves at most one new file behind. The new file is in the same folder: Linux lets only one process
//! at a time rename across folders.
//!
//! **Size.** Each of the 256 folders may have its share of the limit. A process that writes looks at a folder
//! from time to time, and removes the entries that were not used for the longest time. A read renews the time
//! of an entry, at most once in ten minutes.
//!
//! Nothing is flushed to the disk. After a power failure, an entry may be damaged, which its checksums show.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use lowtide::session::record::{self, Origin};
use lowtide::session::{Counters, Counts, Key, Secret, Store};

/// The size limit of a store, without an option.
pub(crate) const DEFAULT_SIZE: u64 = 2 << 30;

/// The number of folders for entries.
const SHARDS: usize = 256;

/// The largest entry that is read. Larger files are not entries.
const MOST_BYTES: u64 = 4 << 20;

/// The age at which a read renews the time of an entry.
const TOUCH_AFTER: Duration = Duration::from_secs(600);

/// A new file of this age belongs to a process that was killed.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);

/// The least share of a folder: a few large entries.
const LEAST_SHARE: u64 = 16 << 10;

/// One write of so many looks at the size of its folder.
const WRITES_PER_LOOK: u64 = 64;

/// The embedded store.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    size: u64,
    secret: Option<Secret>,
    is_read_only: bool,
    counters: Counters,
    /// The bytes that this process has written to each folder since its last look.
    written: Vec<AtomicU64>,
    writes: AtomicU64,
    seed: u64,
    /// Whether a write has failed, so that the user is told.
    has_failed: AtomicBool,
}

/// What is in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Entries: one for each graph and target.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records that a program with the secret of the store has sealed.
    pub own: u64,
    /// Records with another seal or none.
    pub foreign: u64,
    /// Entries with bytes that are no records, or with damaged records.
    pub damaged: u64,
}

impl Folder {
    /// Open a store, and make it if there is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = path.join("v1");
        fs::create_dir_all(&root)?;
        let tag = path.join("CACHEDIR.TAG");
        if !tag.exists() {
            // Backup programs leave such folders out.
            fs::write(tag, "Signature: 8a477f597d28d172789f06886806bc55\n").ok();
        }
        let secret = read_secret(&root).or_else(|| make_secret(&root));
        Ok(Folder::at(root, secret, false))
    }

    /// Open a store to read from it. The store must exist.
    pub fn open_read_only(path: &Path) -> io::Result<Self> {
        let root = path.join("v1");
        fs::read_dir(&root)?;
        let secret = read_secret(&root);
        Ok(Folder::at(root, secret, true))
    }

    fn at(root: PathBuf, secret: Option<Secret>, is_read_only: bool) -> Self {
        let written = (0..SHARDS).map(|_| AtomicU64::new(0)).collect();
        let seed = RandomState::new().hash_one(0);
        let (counters, writes, has_failed) = Default::default();
        Folder { root, size: DEFAULT_SIZE, secret, is_read_only, counters, written, writes, seed, has_failed }
    }

    /// Limit the bytes of all entries.
    pub fn limited_to(mut self, size: u64) -> Self {
        self.size = size;
        self
    }

    /// Seal records with this secret.
    pub fn with_secret(mut self, secret: Secret) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Return whether a write has failed, for example because the disk is full.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name: String = key[1..].iter().map(|byte| format!("{byte:02x}")).collect();
        self.shard(usize::from(key[0])).join(name)
    }

    fn shard(&self, number: usize) -> PathBuf {
        self.root.join(format!("{number:02x}"))
    }

    /// Write a file at once, by a rename.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(&self.root);
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        let new = folder.join(format!(".{}-{:x}-{number}", std::process::id(), self.seed));
        let file = File::create(&new).or_else(|_| {
            fs::create_dir_all(folder)?;
            File::create(&new)
        });
        let written = file?.write_all(bytes).and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            fs::remove_file(&new).ok();
        }
        written
    }

    /// The bytes that one folder may have.
    fn share(&self) -> u64 {
        (self.size / SHARDS as u64).max(LEAST_SHARE)
    }

    /// Remove the oldest entries of a folder if all of them are larger than its share. Some room is left, so
    /// that the next write does not remove again.
    fn shrink(&self, shard: usize) {
        self.written[shard].store(0, Ordering::Relaxed);
        let share = self.share();
        let files: Vec<_> = self.files(shard).collect();
        if files.iter().map(|(_, bytes, _)| bytes).sum::<u64>() > share {
            remove_oldest(files, share - share / 8);
        }
    }

    /// The entries of a folder: time of use, bytes, path.
    fn files(&self, shard: usize) -> impl Iterator<Item = (SystemTime, u64, PathBuf)> + use<> {
        list(&self.shard(shard), false)
    }

    /// Pass every entry to `take`, in the order of the keys, with the number of the folder.
    pub fn for_each(&self, mut take: impl FnMut(usize, Key, Vec<u8>)) {
        for shard in 0..SHARDS {
            let mut paths: Vec<PathBuf> = self.files(shard).map(|(_, _, path)| path).collect();
            paths.sort();
            for path in paths {
                let key = path.file_name().and_then(|name| key_of(shard, name));
                if let Some((key, bytes)) = key.and_then(|key| Some((key, fs::read(&path).ok()?))) {
                    take(shard, key, bytes);
                }
            }
        }
    }

    /// Return the number and the bytes of all entries, without a look inside.
    pub fn size(&self) -> (u64, u64) {
        let files = (0..SHARDS).flat_map(|shard| self.files(shard));
        files.fold((0, 0), |(entries, bytes), (_, size, _)| (entries + 1, bytes + size))
    }

    /// Look at every entry. `progress` gets the number of folders that are done, of 256.
    pub fn summary(&self, mut progress: impl FnMut(usize)) -> Summary {
        let mut summary = Summary::default();
        self.for_each(|shard, key, bytes| {
            progress(shard);
            summary.entries += 1;
            summary.bytes += bytes.len() as u64;
            let (records, mut is_damaged) = record::read(&bytes);
            for record in records {
                match record.origin(&key, self.secret.as_ref()) {
                    Origin::Own => summary.own += 1,
                    Origin::Foreign => summary.foreign += 1,
                    Origin::Damaged => is_damaged = true,
                }
            }
            summary.damaged += u64::from(is_damaged);
        });
        summary
    }

    /// Remove the entries that were not used for the longest time, until all are within a size, and the files
    /// of processes that were killed. Return the bytes that were removed.
    pub fn prune(&self, size: u64, mut progress: impl FnMut(usize)) -> u64 {
        let mut files = Vec::new();
        for shard in 0..SHARDS {
            progress(shard);
            files.extend(self.files(shard));
        }
        let mut removed = remove_oldest(files, size);
        for (time, bytes, path) in (0..SHARDS).flat_map(|shard| list(&self.shard(shard), true)) {
            let is_abandoned = time.elapsed().is_ok_and(|age| age > ABANDONED_AFTER);
            if is_abandoned && fs::remove_file(path).is_ok() {
                removed += bytes;
            }
        }
        let counts = self.lifetime();
        self.write(&self.root.join("counts"), &counts_to_bytes(counts)).ok();
        removed
    }

    /// Return the size limit.
    pub fn limit(&self) -> u64 {
        self.size
    }

    /// Return the counters of all processes that have ended.
    pub fn lifetime(&self) -> Counts {
        let bytes = fs::read(self.root.join("counts")).unwrap_or_default();
        let mut sum = Counts::default();
        for counts in bytes.chunks_exact(32) {
            let number = |at: usize| {
                let bytes = counts[8 * at..].first_chunk::<8>();
                bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
            };
            sum.hits += number(0);
            sum.misses += number(1);
            sum.ignored += number(2);
            sum.foreign += number(3);
        }
        sum
    }
}

impl Store for Folder {
    fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let mut file = File::open(self.path(key)).ok()?;
        let data = file.metadata().ok()?;
        if data.len() > MOST_BYTES {
            self.counters.ignore();
            return None;
        }
        let mut bytes = Vec::with_capacity(data.len() as usize);
        file.read_to_end(&mut bytes).ok()?;
        let age = data.modified().ok().and_then(|time| time.elapsed().ok());
        if !self.is_read_only && age.is_some_and(|age| age > TOUCH_AFTER) {
            file.set_modified(SystemTime::now()).ok();
        }
        Some(bytes)
    }

    fn put(&self, key: &Key, entry: &[u8]) {
        if self.is_read_only {
            return;
        }
        if self.write(&self.path(key), entry).is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
            return;
        }
        let shard = usize::from(key[0]);
        let bytes = entry.len() as u64;
        let written = self.written[shard].fetch_add(bytes, Ordering::Relaxed) + bytes;
        // Short processes look by chance, long ones by what they have written.
        let chance = self.seed.wrapping_add(self.writes.load(Ordering::Relaxed)) % WRITES_PER_LOOK;
        if chance == 0 || written > self.share() / 8 {
            self.shrink(shard);
        }
    }

    fn secret(&self) -> Option<Secret> {
        self.secret
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let counts = self.counters.counts();
        if self.is_read_only || counts == Counts::default() {
            return;
        }
        // One small write at the end of a file is not mixed with another one.
        let file = OpenOptions::new().create(true).append(true).open(self.root.join("counts"));
        file.and_then(|mut file| file.write_all(&counts_to_bytes(counts))).ok();
    }
}

/// Remove the files that were not used for the longest time, until the rest is within a size. Return the
/// bytes that were removed.
fn remove_oldest(mut files: Vec<(SystemTime, u64, PathBuf)>, size: u64) -> u64 {
    files.sort();
    let total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    let mut removed = 0;
    for (_, bytes, path) in files {
        if total - removed <= size {
            break;
        }
        // Another process may have removed it.
        fs::remove_file(path).ok();
        removed += bytes;
    }
    removed
}

/// The files of a folder: entries, or new files that are not entries yet.
fn list(folder: &Path, is_new: bool) -> impl Iterator<Item = (SystemTime, u64, PathBuf)> + use<> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.filter(move |file| file.file_name().as_encoded_bytes().starts_with(b".") == is_new);
    files.filter_map(|file| {
        let data = file.metadata().ok()?;
        Some((data.modified().ok()?, data.len(), file.path()))
    })
}

fn counts_to_bytes(counts: Counts) -> Vec<u8> {
    [counts.hits, counts.misses, counts.ignored, counts.foreign]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect()
}

/// The key of an entry, from the number of its folder and its name.
fn key_of(shard: usize, name: &OsStr) -> Option<Key> {
    let name = name.to_str().filter(|name| name.len() == 62 && name.is_ascii())?;
    let mut key = [shard as u8; 32];
    for (byte, at) in key[1..].iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&name[at..at + 2], 16).ok()?;
    }
    Some(key)
}

fn read_secret(root: &Path) -> Option<Secret> {
    fs::read(root.join("secret")).ok()?.try_into().ok()
}

/// Make the secret of a new store. If two processes do so at once, the first one wins.
fn make_secret(root: &Path) -> Option<Secret> {
    let mut secret = [0; 32];
    match File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut secret)) {
        Ok(()) => {}
        Err(_) => {
            // The keys of the standard library's hashes come from the system.
            let parts: Vec<u8> = (0..8).flat_map(|i| RandomState::new().hash_one(i).to_le_bytes()).collect();
            secret = *blake3::hash(&parts).as_bytes();
        }
    }
    let new = root.join(format!(".secret-{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&new).and_then(|mut file| file.write_all(&secret)).ok();
    // Unlike a rename, a link does not replace a file.
    fs::hard_link(&new, root.join("secret")).ok();
    fs::remove_file(&new).ok();
    read_secret(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> Key {
        *blake3::hash(&number.to_le_bytes()).as_bytes()
    }

    #[test]
    fn entries_come_back_from_another_process_and_replace_each_other() {
        let place = tempfile::tempdir().unwrap();
        let store = Folder::open(place.path()).unwrap();
        assert_eq!(store.get(&key(1)), None);
        store.put(&key(1), b"one");
        store.put(&key(2), b"two");
        store.put(&key(1), b"uno");
        let other = Folder::open(place.path()).unwrap();
        assert_eq!((other.get(&key(1)), other.get(&key(2))), (Some(b"uno".to_vec()), Some(b"two".to_vec())));
        assert!(store.secret().is_some() && store.secret() == other.secret());
        assert_eq!(other.size(), (2, 6));
        let mut found = Vec::new();
        other.for_each(|shard, key, bytes| found.push((shard, key, bytes)));
        let mut expected = vec![(key(1), b"uno".to_vec()), (key(2), b"two".to_vec())];
        expected.sort();
        assert_eq!(
            found,
            expected.into_iter().map(|(key, bytes)| (key[0].into(), key, bytes)).collect::<Vec<_>>()
        );
        let elsewhere = tempfile::tempdir().unwrap();
        assert_ne!(Folder::open(elsewhere.path()).unwrap().secret(), store.secret());
        assert!(Folder::open_read_only(&elsewhere.path().join("none")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_the_secret() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        drop(Folder::open(place.path()).unwrap());
        let mode = fs::metadata(place.path().join("v1/secret")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_least_recently_used_leave_first_and_the_size_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let size = 256 * 40_000;
        let store = Folder::open(place.path()).unwrap().limited_to(size);
        // All in one folder, which has 40,000 bytes, with times long ago.
        let key = |number: u8| -> Key { std::array::from_fn(|at| if at == 0 { 5 } else { number }) };
        let old = SystemTime::now() - Duration::from_secs(100_000);
        for number in 0..30 {
            store.put(&key(number), &[number; 1000]);
            let file = File::options().write(true).open(store.path(&key(number))).unwrap();
            file.set_modified(old + Duration::from_secs(number.into())).unwrap();
        }
        assert_eq!(store.size(), (30, 30_000));
        // A read makes the oldest the youngest.
        assert_eq!(store.get(&key(0)), Some(vec![0; 1000]));
        (30..60).for_each(|number| store.put(&key(number), &[number; 1000]));
        let (entries, bytes) = store.size();
        assert!((30..=45).contains(&entries) && bytes <= 45_000, "{entries} entries, {bytes} bytes");
        let is_there = |number: u8| store.get(&key(number)).is_some();
        assert!(is_there(0) && is_there(59) && !is_there(1) && !is_there(10));
        assert!(store.prune(5_000, |_| {}) > 0);
        assert_eq!(store.size(), (5, 5_000));
        assert!(is_there(59) && !is_there(30));
    }

    #[test]
    fn prune_removes_what_killed_processes_have_left() {
        let place = tempfile::tempdir().unwrap();
        let store = Folder::open(place.path()).unwrap();
        store.put(&key(1), b"one");
        let shard = store.shard(key(1)[0].into());
        for name in [".7-young", ".8-old"] {
            fs::write(shard.join(name), "part").unwrap();
        }
        let old = File::options().write(true).open(shard.join(".8-old")).unwrap();
        old.set_modified(SystemTime::now() - 2 * ABANDONED_AFTER).unwrap();
        assert_eq!(store.size(), (1, 3));
        assert_eq!(store.prune(1 << 30, |_| {}), 4);
        assert!(shard.join(".7-young").exists() && !shard.join(".8-old").exists());
    }

    #[test]
    fn counts_add_up() {
        let place = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            let store = Folder::open(place.path()).unwrap();
            store.counters().ignore();
        }
        let store = Folder::open(place.path()).unwrap();
        assert_eq!(store.lifetime().ignored, 3);
        store.prune(1 << 30, |_| {});
        assert_eq!(store.lifetime().ignored, 3);
    }
}
