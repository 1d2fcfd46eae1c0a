//! The bytes of an entry: records, each with a checksum and a seal.
//!
//! An entry belongs to one graph on one target. It has a record for each question about the graph:
//!
//! ```text
//! entry    "lowtide" 0x01, then records to the end
//! record   length of the body (4 bytes, little-endian), question (16), checksum (8), seal (16), body
//! body     numbers of variable length (LEB128)
//! ```
//!
//! The *checksum* finds damage. It is a BLAKE3 hash of key, question and body that everybody can compute. The
//! *seal* is the same hash keyed with the secret of the store. Only a program that knows the secret can make
//! it. Every record has its own seal, so that records of several writers can be in one entry.

use super::store::{Key, Secret};

/// The first bytes of an entry. The last one is the version of the format.
const MAGIC: &[u8; 8] = b"lowtide\x01";

/// The most bytes and records of an entry. The oldest records leave first.
const MOST_BYTES: usize = 1 << 20;
const MOST_RECORDS: usize = 64;

/// The bytes of a record before its body.
const HEAD: usize = 4 + 16 + 8 + 16;

/// A hash of everything that a question asks.
pub type Question = [u8; 16];

/// A record of an entry, as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The question.
    pub question: Question,
    checksum: [u8; 8],
    seal: [u8; 16],
    /// The answer.
    pub body: Vec<u8>,
}

/// Who wrote a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A program that knows the secret.
    Own,
    /// Some other program.
    Foreign,
    /// Nobody: the bytes are damaged.
    Damaged,
}

impl Record {
    /// Make a record for the entry of a key. Without a secret, it has no valid seal.
    pub fn new(key: &Key, question: Question, body: Vec<u8>, secret: Option<&Secret>) -> Self {
        let checksum = checksum(key, &question, &body);
        let seal = secret.map_or([0; 16], |secret| seal(secret, key, &question, &body));
        Record { question, checksum, seal, body }
    }

    /// Return who wrote the record.
    pub fn origin(&self, key: &Key, secret: Option<&Secret>) -> Origin {
        let is_own = |secret: &Secret| seal(secret, key, &self.question, &self.body) == self.seal;
        if secret.is_some_and(is_own) {
            return Origin::Own;
        }
        match checksum(key, &self.question, &self.body) == self.checksum {
            true => Origin::Foreign,
            false => Origin::Damaged,
        }
    }

    fn len(&self) -> usize {
        HEAD + self.body.len()
    }
}

fn checksum(key: &Key, question: &Question, body: &[u8]) -> [u8; 8] {
    first(blake3::Hasher::new(), key, question, body)
}

fn seal(secret: &Secret, key: &Key, question: &Question, body: &[u8]) -> [u8; 16] {
    first(blake3::Hasher::new_keyed(secret), key, question, body)
}

fn first<const N: usize>(mut hasher: blake3::Hasher, key: &Key, question: &Question, body: &[u8]) -> [u8; N] {
    // Key and question have fixed lengths, so the parts cannot be shifted against each other.
    hasher.update(key).update(question).update(body);
    let mut bytes = [0; N];
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

/// Return the records of an entry. Bytes that are not records end it; the flag says whether there are any.
pub fn read(entry: &[u8]) -> (Vec<Record>, bool) {
    let mut records = Vec::new();
    let Some(mut rest) = entry.strip_prefix(MAGIC) else { return (records, true) };
    while !rest.is_empty() && records.len() < MOST_RECORDS {
        let Some((record, after)) = read_one(rest) else { return (records, true) };
        records.push(record);
        rest = after;
    }
    (records, !rest.is_empty())
}

fn read_one(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (question, rest) = rest.split_first_chunk::<16>()?;
    let (checksum, rest) = rest.split_first_chunk::<8>()?;
    let (seal, rest) = rest.split_first_chunk::<16>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (body, rest) = rest.split_at_checked(length)?;
    Some((Record { question: *question, checksum: *checksum, seal: *seal, body: body.to_vec() }, rest))
}

/// Return the bytes of an entry. The first records are left out if there are too many.
pub fn write(records: &[Record]) -> Vec<u8> {
    let mut first = records.len();
    let mut size = MAGIC.len();
    while first > 0 && records.len() - first < MOST_RECORDS && size + records[first - 1].len() <= MOST_BYTES {
        first -= 1;
        size += records[first].len();
    }
    let mut entry = Vec::with_capacity(size);
    entry.extend_from_slice(MAGIC);
    for Record { question, checksum, seal, body } in &records[first..] {
        entry.extend_from_slice(&(body.len() as u32).to_le_bytes());
        entry.extend_from_slice(question);
        entry.extend_from_slice(checksum);
        entry.extend_from_slice(seal);
        entry.extend_from_slice(body);
    }
    entry
}

/// Return an entry with the records of both. Of two records for one question, the one of a trusted writer
/// stays, then the one with the larger budget, then the one of `new`. Damaged records are left out.
pub fn merged(key: &Key, old: &[u8], new: &[u8], secret: Option<&Secret>) -> Vec<u8> {
    let (old, new) = (read(old).0, read(new).0);
    let rank = |record: &Record| match record.origin(key, secret) {
        Origin::Own => Some((1, budget(&record.body))),
        Origin::Foreign => Some((0, budget(&record.body))),
        Origin::Damaged => None,
    };
    let mut all: Vec<(Record, _)> = Vec::new();
    for record in old.into_iter().chain(new) {
        let Some(rank) = rank(&record) else { continue };
        match all.iter_mut().find(|(other, _)| other.question == record.question) {
            Some((other, known)) if *known <= rank => (*other, *known) = (record, rank),
            Some(_) => {}
            None => all.push((record, rank)),
        }
    }
    write(&all.into_iter().map(|(record, _)| record).collect::<Vec<_>>())
}

/// The time for each instruction of the budget of a record, in nanoseconds: the first number of its body. No
/// limit is the largest budget.
fn budget(body: &[u8]) -> u64 {
    Reader(body).number().unwrap_or(0)
}

/// Writes the numbers of a body.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn number(&mut self, number: impl Into<u64>) {
        let mut number = number.into();
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A number that is often near 0, on either side.
    pub(super) fn signed(&mut self, number: i64) {
        self.number((number << 1 ^ number >> 63) as u64);
    }
}

/// Reads the numbers of a body. Nothing but `None` comes of bytes that are wrong.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            number |= bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = [7; 32];
    const SECRET: Secret = [1; 32];

    fn body(budget: u64) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.number(budget);
        writer.signed(-5);
        writer.0
    }

    #[test]
    fn numbers_come_back() {
        let all = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let mut writer = Writer::default();
        all.iter().for_each(|&number| writer.number(number));
        let signs = [0, -1, 1, 64, -64, i64::MAX, i64::MIN];
        signs.iter().for_each(|&number| writer.signed(number));
        let mut reader = Reader(&writer.0);
        assert!(all.iter().all(|&number| reader.number() == Some(number)));
        assert!(signs.iter().all(|&number| reader.signed() == Some(number)));
        assert!(reader.is_at_end());
        assert_eq!(reader.number(), None);
        assert_eq!(Reader(&[0xff; 11]).number(), None, "too long");
        assert_eq!(
            Reader(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).number(),
            None,
            "too large"
        );
    }

    #[test]
    fn a_seal_belongs_to_a_secret_a_key_and_a_question() {
        let record = Record::new(&KEY, [2; 16], body(9), Some(&SECRET));
        assert_eq!(record.origin(&KEY, Some(&SECRET)), Origin::Own);
        assert_eq!(record.origin(&KEY, Some(&[2; 32])), Origin::Foreign);
        assert_eq!(record.origin(&KEY, None), Origin::Foreign);
        assert_eq!(record.origin(&[8; 32], Some(&SECRET)), Origin::Damaged);
        let moved = Record { question: [3; 16], ..record.clone() };
        assert_eq!(moved.origin(&KEY, Some(&SECRET)), Origin::Damaged);
        let unsealed = Record::new(&KEY, [2; 16], body(9), None);
        assert_eq!(unsealed.origin(&KEY, Some(&SECRET)), Origin::Foreign);
    }

    /// Every prefix and every changed byte is read without a panic, and no changed record is taken for an own
    /// one.
    #[test]
    fn damage_is_found() {
        let records: Vec<Record> =
            (0..3).map(|i| Record::new(&KEY, [i; 16], body(u64::from(i)), Some(&SECRET))).collect();
        let entry = write(&records);
        assert_eq!(read(&entry), (records.clone(), false));
        for end in 0..entry.len() {
            let (found, has_rest) = read(&entry[..end]);
            assert!(found.len() < 3 && records.starts_with(&found), "{end}");
            assert_eq!(has_rest, entry[..end] != write(&found), "{end}");
        }
        for position in 0..entry.len() {
            for bit in 0..8 {
                let mut changed = entry.clone();
                changed[position] ^= 1 << bit;
                let (found, _) = read(&changed);
                let mut own = found.iter().filter(|record| record.origin(&KEY, Some(&SECRET)) == Origin::Own);
                // The seal does not need the checksum.
                let is_known = |record: &Record| {
                    records.iter().any(|one| (one.question, &one.body) == (record.question, &record.body))
                };
                assert!(own.all(is_known), "{position} {bit}");
            }
        }
    }

    #[test]
    fn the_better_record_stays() {
        let entry = |budget, secret| write(&[Record::new(&KEY, [0; 16], body(budget), secret)]);
        let (own, more, foreign) = (entry(5, Some(&SECRET)), entry(6, Some(&SECRET)), entry(9, None));
        for (old, new, expected) in
            [(&own, &more, &more), (&more, &own, &more), (&own, &foreign, &own), (&foreign, &own, &own)]
        {
            assert_eq!(merged(&KEY, old, new, Some(&SECRET)), *expected);
        }
        let other = write(&[Record::new(&KEY, [1; 16], body(1), None)]);
        assert_eq!(read(&merged(&KEY, &own, &other, Some(&SECRET))).0.len(), 2);
        assert_eq!(merged(&KEY, b"nonsense", &own, Some(&SECRET)), own);
    }

    #[test]
    fn old_records_leave_a_full_entry() {
        let record = |i: u8, size| Record::new(&KEY, [i; 16], vec![i; size], None);
        let many: Vec<Record> = (0..100).map(|i| record(i, 1)).collect();
        assert_eq!(read(&write(&many)).0, many[36..]);
        let large: Vec<Record> = (0..5).map(|i| record(i, 400_000)).collect();
        assert_eq!(read(&write(&large)).0, large[3..]);
        assert_eq!(read(&write(&[record(0, 2_000_000)])).0, []);
    }
}
