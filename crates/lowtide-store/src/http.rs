//! A web server or object store: an entry is at `PREFIX/3f/a0...`, GET reads it and PUT writes it.
//!
//! The client speaks HTTP/1.1 without encryption. In front of a store with TLS or signatures, run a proxy on
//! the same machine.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

use lowtide::session::Key;

use crate::remote::{Connection, Connections, MOST_BYTES, Server, hex, read_bytes, read_line, wrong};

/// The most lines in the head of an answer.
const MOST_LINES: usize = 100;

/// A web server.
#[derive(Debug)]
pub(crate) struct Http {
    connections: Connections,
    prefix: String,
}

/// The answer of a server.
#[derive(PartialEq, Eq, Debug)]
struct Response {
    status: u16,
    body: Vec<u8>,
    /// Whether the connection can be used again.
    can_stay: bool,
}

impl Http {
    pub(crate) fn new(address: String, prefix: String, timeout: Duration) -> Self {
        Http { connections: Connections::new(address, timeout), prefix }
    }

    fn ask(&self, method: &str, key: &Key, body: Option<&[u8]>) -> io::Result<Response> {
        let name = hex(key);
        let (shard, rest) = name.split_at(2);
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        let mut bytes = format!(
            "{method} {slash}{}/{shard}/{rest} HTTP/1.1\r\nHost: {}\r\n",
            self.prefix, self.connections.address
        )
        .into_bytes();
        if let Some(body) = body {
            let head = "Content-Type: application/octet-stream\r\nContent-Length: ";
            bytes.extend_from_slice(format!("{head}{}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body.unwrap_or_default());
        self.connections.ask(|connection: &mut Connection| {
            connection.write_all(&bytes)?;
            let response = read_response(&mut BufReader::new(connection))?;
            let can_stay = response.can_stay;
            Ok((response, can_stay))
        })
    }
}

fn read_response(input: &mut impl BufRead) -> io::Result<Response> {
    let line = read_line(input)?;
    let mut words = line.split(' ');
    let is_http = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
    let status = words.next().and_then(|status| status.parse().ok()).filter(|_| is_http);
    let status = status.ok_or_else(|| wrong("no status"))?;
    let mut can_stay = line.starts_with("HTTP/1.1");
    let (mut length, mut is_chunked) = (None, false);
    for _ in 0..MOST_LINES {
        let line = read_line(input)?;
        if line.is_empty() {
            let has_body = !matches!(status, 100..=199 | 204 | 304);
            let body = match (has_body, is_chunked, length) {
                (false, ..) => Vec::new(),
                (true, true, _) => read_chunks(input)?,
                (true, false, Some(length)) => read_bytes(input, length)?,
                (true, false, None) => {
                    can_stay = false;
                    read_to_end(input)?
                }
            };
            return Ok(Response { status, body, can_stay });
        }
        let (name, value) = line.split_once(':').ok_or_else(|| wrong("a head without a colon"))?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                length = Some(value.parse().map_err(|_| wrong("a length that is no number"))?);
            }
            "transfer-encoding" => is_chunked = value.eq_ignore_ascii_case("chunked"),
            "connection" => can_stay &= !value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    Err(wrong("a head that is too long"))
}

fn read_to_end(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    input.take(MOST_BYTES as u64 + 1).read_to_end(&mut body)?;
    if body.len() > MOST_BYTES { Err(wrong("an answer that is too large")) } else { Ok(body) }
}

fn read_chunks(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(input)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| wrong("a size that is no number"))?;
        if size == 0 {
            while !read_line(input)?.is_empty() {}
            return Ok(body);
        }
        if size > MOST_BYTES - body.len() {
            return Err(wrong("an answer that is too large"));
        }
        body.extend(read_bytes(input, size)?);
        if !read_line(input)?.is_empty() {
            return Err(wrong("a chunk that is too long"));
        }
    }
}

impl Server for Http {
    fn get(&self, key: &Key) -> io::Result<Option<Vec<u8>>> {
        let response = self.ask("GET", key, None)?;
        match response.status {
            200 => Ok(Some(response.body)),
            404 | 410 => Ok(None),
            _ => Err(wrong("an unexpected status")),
        }
    }

    fn put(&self, key: &Key, entry: &[u8]) -> io::Result<()> {
        match self.ask("PUT", key, Some(entry))?.status {
            200..=299 => Ok(()),
            401 | 403 | 405 | 501 | 507 => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Err(wrong("an unexpected status")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Response> {
        read_response(&mut text.as_bytes())
    }

    #[test]
    fn answers_end_where_they_say() {
        let expect = |text: &str, status, body: &str, can_stay| {
            assert_eq!(read(text).unwrap(), Response { status, body: body.into(), can_stay }, "{text:?}");
        };
        expect("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", 200, "abc", true);
        expect("HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nabc", 200, "abc", false);
        expect("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nno", 404, "no", false);
        expect("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true);
        let chunks =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
        expect(chunks, 200, "abcde", true);
    }

    #[test]
    fn nonsense_is_an_error() {
        for bad in [
            "",
            "HTTP/1.1",
            "SSH-2.0\r\n\r\n",
            "HTTP/1.1 abc\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc\r\n",
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        let long: String = (0..1000).map(|i| format!("X-{i}: y\r\n")).collect();
        assert!(read(&format!("HTTP/1.1 200 OK\r\n{long}\r\n")).is_err());
    }
}
