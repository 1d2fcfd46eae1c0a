//! How fast region files are read. The files lie in memory, so that the disk does not count.

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use divan::counter::{BytesCount, ItemsCount};
use lowtide::region::Kernel;
use lowtide_io::KernelReader;

fn main() {
    divan::main();
}

const FILES: [&str; 2] = ["hashcat.jsonl.gz", "rocprim.jsonl.gz"];

fn load(name: &str) -> Vec<u8> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn unpack(data: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(data).read_to_end(&mut plain).expect("valid gzip");
    plain
}

/// Number of instructions in all regions.
fn read(data: Vec<u8>) -> usize {
    let reader = KernelReader::from_reader(Box::new(Cursor::new(data)), "benchmark").expect("readable");
    reader.map(|kernel| Kernel::instr_count(&kernel.expect("valid"))).sum()
}

fn bench(bencher: divan::Bencher, data: &[u8]) {
    let instructions = read(data.to_vec());
    bencher
        .counter(ItemsCount::new(instructions))
        .counter(BytesCount::new(data.len()))
        .with_inputs(|| data.to_vec())
        .bench_values(read);
}

#[divan::bench(args = FILES)]
fn gzip(bencher: divan::Bencher, name: &str) {
    bench(bencher, &load(name));
}

#[divan::bench(args = FILES)]
fn plain(bencher: divan::Bencher, name: &str) {
    bench(bencher, &unpack(&load(name)));
}
