//! How fast kernels are read. Files of lines lie in memory, so that the disk does not count. Parquet files
//! are in the page cache. `LOWTIDE_CORPUS=FOLDER` reads files of the same names in another folder.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use divan::counter::{BytesCount, ItemsCount};
use flate2::Compression;
use flate2::write::GzEncoder;
use lowtide::region::Kernel;
use lowtide_io::{KernelFileWriter, KernelReader, format_line};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

const FILES: [&str; 2] = ["hashcat.jsonl.gz", "rocprim.jsonl.gz"];

fn load(name: &str) -> Vec<u8> {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let path = std::env::var_os("LOWTIDE_CORPUS").map_or_else(own, PathBuf::from).join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn unpack(data: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(data).read_to_end(&mut plain).expect("valid gzip");
    plain
}

/// Number of instructions in all regions.
fn read(data: Vec<u8>) -> usize {
    count(KernelReader::from_reader(Box::new(Cursor::new(data)), "benchmark").expect("readable"))
}

fn count(reader: KernelReader) -> usize {
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

/// The same kernels as lines of the own format.
#[divan::bench(args = FILES)]
fn own_gzip(bencher: divan::Bencher, name: &str) {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    for kernel in KernelReader::from_reader(Box::new(Cursor::new(load(name))), name).expect("readable") {
        let kernel = kernel.expect("valid");
        for region in &kernel.regions {
            writeln!(packed, "{}", format_line(&kernel, region)).expect("memory takes all");
        }
    }
    bench(bencher, &packed.finish().expect("memory takes all"));
}

#[divan::bench(args = FILES, consts = [1, 2, 4])]
fn parquet<const THREADS: usize>(bencher: divan::Bencher, name: &str) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("corpus.parquet");
    let mut writer = KernelFileWriter::create(&path).expect("a file can be created");
    for kernel in KernelReader::from_reader(Box::new(Cursor::new(load(name))), name).expect("readable") {
        writer.kernel(&kernel.expect("valid")).expect("the disk has space");
    }
    writer.finish().expect("the disk has space");
    let read = || count(KernelReader::open_counted(&path, Arc::default(), THREADS).expect("readable"));
    let bytes = std::fs::metadata(&path).expect("the file is there").len();
    bencher.counter(ItemsCount::new(read())).counter(BytesCount::new(bytes)).bench(read);
}
