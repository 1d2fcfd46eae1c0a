//! A Redis server, by the three commands that a store needs: SELECT, GET and SET. The server limits its size
//! itself (`maxmemory` with `allkeys-lru`).

use std::io::{self, BufReader, Write};
use std::time::Duration;

use lowtide::session::Key;

use crate::remote::{Connection, Connections, Server, hex, read_bytes, read_line, wrong};

/// A Redis server.
#[derive(Debug)]
pub(crate) struct Redis {
    connections: Connections,
    /// The number of the database. Empty for the first one.
    database: String,
}

impl Redis {
    pub(crate) fn new(address: String, database: String, timeout: Duration) -> Self {
        Redis { connections: Connections::new(address, timeout), database }
    }

    fn ask(&self, command: &[&[u8]]) -> io::Result<Reply> {
        self.connections.ask(|connection| {
            if connection.is_new && !self.database.is_empty() {
                send(connection, &[b"SELECT", self.database.as_bytes()])?;
            }
            let reply = send(connection, command)?;
            Ok((reply, true))
        })
    }
}

/// What a server replies.
#[derive(PartialEq, Eq, Debug)]
enum Reply {
    Done,
    Bytes(Option<Vec<u8>>),
}

/// Send a command and read the reply: an array of strings, and one of `+OK`, `-ERR ...`, `$3 abc`, `$-1`.
fn send(connection: &mut Connection, command: &[&[u8]]) -> io::Result<Reply> {
    let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
    for part in command {
        bytes.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
    }
    connection.write_all(&bytes)?;
    read_reply(&mut BufReader::new(connection))
}

fn read_reply(input: &mut impl io::BufRead) -> io::Result<Reply> {
    let line = read_line(input)?;
    let rest = line.get(1..).unwrap_or_default();
    match line.as_bytes().first() {
        Some(b'+') => Ok(Reply::Done),
        // A server that is full, or that takes no entries from here, can still be read from.
        Some(b'-') if ["OOM", "READONLY", "NOPERM"].iter().any(|kind| rest.starts_with(kind)) => {
            Err(io::ErrorKind::PermissionDenied.into())
        }
        Some(b'$') if rest == "-1" => Ok(Reply::Bytes(None)),
        Some(b'$') => {
            let count: usize = rest.parse().map_err(|_| wrong("a length that is no number"))?;
            let bytes = read_bytes(input, count)?;
            match read_line(input)?.is_empty() {
                true => Ok(Reply::Bytes(Some(bytes))),
                false => Err(wrong("a string that is too long")),
            }
        }
        _ => Err(wrong("an error or an unknown reply")),
    }
}

impl Server for Redis {
    fn get(&self, key: &Key) -> io::Result<Option<Vec<u8>>> {
        match self.ask(&[b"GET", name(key).as_bytes()])? {
            Reply::Bytes(bytes) => Ok(bytes),
            Reply::Done => Err(wrong("no string")),
        }
    }

    fn put(&self, key: &Key, entry: &[u8]) -> io::Result<()> {
        self.ask(&[b"SET", name(key).as_bytes(), entry]).map(|_| ())
    }
}

fn name(key: &Key) -> String {
    format!("lowtide:1:{}", hex(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_and_nonsense_is_an_error() {
        let reply = |bytes: &[u8]| read_reply(&mut &bytes[..]).map_err(|error| error.kind());
        assert_eq!(reply(b"+OK\r\n"), Ok(Reply::Done));
        assert_eq!(reply(b"$3\r\na\nb\r\n"), Ok(Reply::Bytes(Some(b"a\nb".to_vec()))));
        assert_eq!(reply(b"$-1\r\n"), Ok(Reply::Bytes(None)));
        assert_eq!(reply(b"-OOM command not allowed\r\n"), Err(io::ErrorKind::PermissionDenied));
        for bad in [
            &b""[..],
            b"+OK",
            b"-ERR no\r\n",
            b"$x\r\n",
            b"$99999999999\r\nabc\r\n",
            b"$5\r\nabc\r\n",
            b"$3\r\nabcd\r\n",
            b"\xff\xff\r\n",
            b"*1\r\n",
            b"\r\n",
        ] {
            assert!(reply(bad).is_err(), "{bad:?}");
        }
    }
}
