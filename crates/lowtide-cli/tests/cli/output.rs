//! Files and pipes that results go to.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::common::{Folder, corpus, finish, program, run, text, tiny};

#[test]
fn a_missing_folder_is_told() {
    let folder = Folder::new();
    let output = folder.path("missing/out.jsonl");
    for command in ["schedule", "convert"] {
        let message = run(&format!("{command} {{}} -o {{}}"), &[&corpus(), &output]).error();
        let told = "missing/out.jsonl: cannot be written: the folder does not exist\n";
        assert!(message.ends_with(told), "{message}");
    }
    let message = run("convert {} -o {}", &[&corpus(), folder.0.path()]).error();
    assert!(message.contains("cannot be written: is a directory"), "{message}");
    assert!(folder.names().is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    for line in ["targets", "schedule {}", "info {} --json", "convert {}", "completions zsh"] {
        let full = fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        let corpus = corpus();
        let args = line.split(' ').map(|word| if word == "{}" { corpus.as_os_str() } else { word.as_ref() });
        let message = finish(program().args(args).stdout(full)).error();
        assert!(message.contains("cannot be written: No space left on device"), "{line}: {message}");
    }
}

/// A pipe stands for all special files: a test that could lose /dev/null would be a bad neighbour.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_or_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let folder = Folder::new();
    let input = folder.regions("k.jsonl", &[tiny("k", "r")]);
    let path = folder.path("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    // Open on both ends, so that neither side waits for the other.
    let mut pipe = fs::File::options().read(true).write(true).open(&path).expect("a pipe");
    let expected = run("convert {}", &[&input]).ok();
    run("convert {} -o {}", &[&input, &path]).ok();
    assert!(fs::metadata(&path).expect("the pipe").file_type().is_fifo());
    let mut received = vec![0; expected.len()];
    pipe.read_exact(&mut received).expect("the text is in the pipe");
    assert_eq!(received, expected.as_bytes());
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new();
    let file = folder.write("file.jsonl", "old");
    let link = folder.path("link.jsonl");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let input = folder.regions("k.jsonl", &[tiny("k", "r")]);
    run("convert {} -o {}", &[&input, &link]).ok();
    assert!(link.is_symlink());
    assert!(text(&file).contains("\"kernel\":\"k\""));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for line in ["schedule {} --nodes 1 --json", "convert {}", "compare {}", "targets", "completions bash"] {
        let corpus = corpus();
        let args = line.split(' ').map(|word| if word == "{}" { corpus.as_os_str() } else { word.as_ref() });
        let mut child = (program().args(args))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*message), (Some(0), ""), "{line}");
    }
}
