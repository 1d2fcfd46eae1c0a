//! Parquet files hold the same kernels as lines, and damaged ones are refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{harness, skip};
use lowtide::generate::{Random, Shape, region};
use lowtide::region::Kernel;
use lowtide_io::{ClassRow, KernelFileWriter, KernelReader, ReadError, ResultFileWriter, ResultRow};

fn read(file: &Path) -> Result<Vec<Kernel>, ReadError> {
    KernelReader::open(file)?.collect()
}

fn write(file: &Path, kernels: &[Kernel]) {
    let mut writer = KernelFileWriter::create(file).unwrap();
    kernels.iter().for_each(|kernel| writer.kernel(kernel).unwrap());
    writer.finish().unwrap();
}

/// Convert the region files of a folder, and return the number of kernels.
fn convert_folder(folder: &Path) -> usize {
    let scratch = tempfile::tempdir().unwrap();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".jsonl.gz"));
    let mut count = 0;
    for file in files {
        let parquet = scratch.path().join("kernels.parquet");
        let mut writer = KernelFileWriter::create(&parquet).unwrap();
        for kernel in KernelReader::open(&file).unwrap() {
            writer.kernel(&kernel.unwrap()).unwrap();
        }
        writer.finish().unwrap();
        // Kernel by kernel, since whole files would take much memory.
        let mut back = KernelReader::open(&parquet).unwrap();
        for kernel in KernelReader::open(&file).unwrap() {
            let kernel = kernel.unwrap();
            let same = back.next().unwrap().unwrap() == kernel;
            assert!(same, "kernel {} of {} differs", kernel.name, file.display());
            count += 1;
        }
        assert!(back.next().is_none());
    }
    count
}

#[test]
fn the_corpus_keeps_every_field() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    for folder in [root.clone(), root.join("colony"), root.join("pack")] {
        assert!(convert_folder(&folder) > 0, "{} has no kernels", folder.display());
    }
}

#[test]
fn the_shared_corpus_keeps_every_field() {
    if let Some(folder) = skip::shared_corpus() {
        assert!(convert_folder(&folder) > 1000);
    }
}

/// Kernels with every kind of optional field.
fn made_kernels() -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for (seed, shape) in (0..12).zip(Shape::ALL.iter().cycle()) {
        let regions =
            (0..1 + seed % 3).map(|number| region(*shape, 5 + 10 * number as usize, 8 * seed + number));
        let mut regions: Vec<_> = regions.collect();
        regions.dedup_by(|one, other| one.name() == other.name());
        kernels.push(Kernel {
            name: format!("kernel \"{seed}\" ü"),
            origin: if seed % 2 == 0 { String::new() } else { "a\nb".to_string() },
            target: (seed % 3 > 0).then(|| "gfx906".to_string()),
            is_entry: seed % 2 == 0,
            max_occupancy: (seed % 4 == 0).then_some(u32::MAX),
            regions,
        });
    }
    kernels
}

#[test]
fn made_kernels_keep_every_field() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let kernels = made_kernels();
    write(file.path(), &kernels);
    assert!(read(file.path()).unwrap() == kernels);
    // A pipe has no end to start from.
    let bytes = std::fs::read(file.path()).unwrap();
    let piped = KernelReader::from_reader(Box::new(std::io::Cursor::new(bytes)), "pipe").unwrap();
    assert!(piped.map(Result::unwrap).eq(kernels));
}

#[test]
fn bad_files_are_named() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("x.parquet");
    write(&file, &made_kernels());
    let whole = std::fs::read(&file).unwrap();
    let message = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let error = read(&file).unwrap_err();
        assert_eq!(error.file, file.display().to_string());
        error.message
    };
    assert!(message(&whole[..whole.len() - 1]).contains("truncated"));
    assert!(message(&whole[..40]).contains("truncated"));
    assert!(message(b"PAR1").contains("truncated"));
    assert!(message(b"PAR1\xff\xff\xff\xffPAR1").contains("truncated"));

    let mut twice = made_kernels();
    twice.extend(made_kernels());
    write(&file, &twice);
    let error = read(&file).unwrap_err();
    assert_eq!((error.line, error.message.ends_with("is already in row 1")), (Some(13), true), "{error}");

    write(&file, &[]);
    assert_eq!(read(&file).unwrap_err().message, "contains no regions");

    let mut writer = ResultFileWriter::create(&file).unwrap();
    writer.region(&result_row()).unwrap();
    writer.finish().unwrap();
    let error = read(&file).unwrap_err();
    assert!(error.message.contains("not one of kernels: column \"entry\" is missing"), "{error}");
}

/// Kernels in the order of the file, and the error that ends it.
fn read_on(threads: usize, file: &Path) -> (Vec<Kernel>, Option<String>) {
    let mut kernels = Vec::new();
    let reader = KernelReader::open_counted(file, Arc::default(), threads);
    let read = reader.and_then(|reader| {
        for kernel in reader {
            kernels.push(kernel?);
        }
        Ok(())
    });
    (kernels, read.err().map(|error| error.to_string()))
}

#[test]
fn any_number_of_threads_reads_the_same() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("x.parquet");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/rocprim.jsonl.gz");
    let kernels = read(&corpus).unwrap();
    // Several row groups.
    let mut writer = KernelFileWriter::create(&file).unwrap();
    let mut instructions = 0;
    for copy in 0.. {
        for kernel in &kernels {
            let kernel = Kernel { name: format!("{} {copy}", kernel.name), ..kernel.clone() };
            instructions += kernel.instr_count();
            writer.kernel(&kernel).unwrap();
        }
        if instructions > 200_000 {
            break;
        }
    }
    writer.finish().unwrap();
    let alone = read_on(1, &file);
    assert_eq!(alone.1, None);
    for threads in [2, 3, 16] {
        assert!(read_on(threads, &file) == alone, "{threads} threads");
    }
    // A reader that is left early waits for nothing.
    let mut reader = KernelReader::open_counted(&file, Arc::default(), 4).unwrap();
    assert!(reader.next().is_some_and(|kernel| kernel.is_ok_and(|kernel| kernel == alone.0[0])));
    drop(reader);

    let whole = std::fs::read(&file).unwrap();
    let mut random = Random::new(11);
    let mut refused = 0;
    for _ in 0..10 {
        let mut bytes = whole.clone();
        let place = random.below(whole.len());
        bytes[place] ^= 1 << random.below(8);
        std::fs::write(&file, &bytes).unwrap();
        let (one, three) = (read_on(1, &file), read_on(3, &file));
        refused += usize::from(one.1.is_some());
        assert!(one == three, "byte {place}: {:?} and {:?}", one.1, three.1);
    }
    assert!(refused > 0, "no damaged file was refused");
}

fn result_row() -> ResultRow<'static> {
    ResultRow {
        kernel: "k",
        readable_name: "k",
        origin: "",
        target: "gfx906",
        latencies: "target",
        baseline: "source",
        region: "r",
        waves: [1, 2, 3],
        peak: [9, 8, 7],
        length: [6, 5, 4],
        proven_waves: false,
        proven_length: false,
        proven: false,
        filtered: false,
        spilled: 0,
        pairs: 0,
        broken_pairs: 0,
        nodes: 1,
        search_seconds: 0.5,
        kernel_seconds: 0.5,
        classes: vec![ClassRow { class: "vgpr", peak: 8, peak_at: 8, peak_bound: 7, reason: Some("cut") }],
        order: &[0, 1],
        cycles: &[0, 4],
    }
}

/// Damage a file in many ways. Every result must be consistent kernels or an error: a panic of the Parquet
/// library must not reach the caller.
#[test]
fn damaged_files_never_panic() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("x.parquet");
    write(&file, &made_kernels()[..6]);
    let whole = std::fs::read(&file).unwrap();
    let mut random = Random::new(7);
    let mut refused = 0;
    const TRIALS: usize = 3000;
    for trial in 0..TRIALS {
        let mut bytes = whole.clone();
        // The footer is a small part of the file, and has most of the structure.
        let start = if trial % 2 == 0 { 0 } else { whole.len() * 2 / 3 };
        for _ in 0..1 + trial % 3 {
            let place = start + random.below(whole.len() - start);
            bytes[place] = match trial % 4 {
                0 => bytes[place] ^ (1 << random.below(8)),
                1 => 0xff,
                2 => bytes[place].wrapping_add(1),
                _ => random.below(256) as u8,
            };
        }
        if trial % 16 == 15 {
            bytes.truncate(start + (whole.len() - start) / 2);
            bytes.extend_from_slice(&whole[whole.len() - 8..]);
        }
        refused += usize::from(!harness::parquet(&bytes));
    }
    assert!(refused > TRIALS / 2, "only {refused} of {TRIALS} damaged files were refused");
}
