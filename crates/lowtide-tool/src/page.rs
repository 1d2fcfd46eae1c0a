//! Pages that need only a browser: script, style and data in one HTML file that works from disk.
//!
//! `scripts/build-web` builds the scripts from `web/src` to `web/dist`. `web/dist` is kept in the repository,
//! so that building the program needs neither Node nor a network. A page starts with JSON, and may have any
//! number of *parts*. A part is compressed JSON (gzip in base64) that the page decompresses when a reader
//! opens it. Large reports therefore open at once.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use crate::Failure;

/// ECharts, and the code that all pages share.
const LIBRARY: &str = include_str!("../web/dist/lib.js");
const STYLE: &str = include_str!("../web/dist/style.css");
/// The licences, which must accompany every copy of the library.
const LICENCES: &str = include_str!("../web/dist/LICENSES.txt");
/// The script of `lowtide view`.
pub const REPORT: &str = include_str!("../web/dist/report.js");
/// The script of `lowtide bench --html`.
pub const BOOK: &str = include_str!("../web/dist/book.js");

/// Forbid the page to load anything, whatever names a region file contains.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// Compressed data that a page decompresses on demand.
pub struct Part(String);

impl Part {
    /// Compress data.
    pub fn pack(data: &impl Serialize) -> Result<Self, Failure> {
        Part::of_json(&json(data)?)
    }

    /// Compress a text that is JSON already.
    pub fn of_json(text: &str) -> Result<Self, Failure> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::new(9));
        let packed = packer.write_all(text.as_bytes()).and_then(|()| packer.finish());
        let packed =
            packed.map_err(|error| Failure::Message(format!("the page cannot be compressed: {error}")))?;
        Ok(Part(base64(&packed)))
    }

    /// Return the bytes that the part adds to a page.
    pub fn size(&self) -> usize {
        self.0.len()
    }
}

/// Return a page. `script` fills it; it reads `data` first, and `parts` on demand.
pub fn page(title: &str, script: &str, data: &impl Serialize, parts: &[Part]) -> Result<String, Failure> {
    let data = json(data)?;
    let title = escape(title);
    let packed: usize = parts.iter().map(Part::size).sum();
    let mut html = String::with_capacity(LIBRARY.len() + STYLE.len() + script.len() + data.len() + packed);
    html += &format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<div class=\"page\" id=\"page\"></div>\n<noscript>This page needs JavaScript to draw its charts.</noscript>\n"
    );
    html += &format!("<script type=\"application/json\" id=\"data\">{data}</script>\n");
    for (position, part) in parts.iter().enumerate() {
        html += &format!("<script type=\"text/plain\" id=\"part-{position}\">{}</script>\n", part.0);
    }
    html += &format!("<script type=\"text/plain\" id=\"licences\">{LICENCES}</script>\n");
    html += &format!("<script>{LIBRARY}</script>\n<script>{script}</script>\n</body>\n</html>");
    Ok(html)
}

/// Return JSON that is safe within a script element, without `</script>` and `<!--`.
fn json(data: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(data)
        .map_err(|error| Failure::Message(format!("the page cannot be written: {error}")))?;
    Ok(text.replace('<', "\\u003c"))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Base64 with padding (RFC 4648, Section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            match digit <= group.len() {
                true => text.push(DIGITS[(bits >> (18 - 6 * digit)) as usize % 64].into()),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_follows_the_examples_of_its_standard() {
        let cases = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(cases.map(|text| base64(text.as_bytes())), expected);
    }

    #[test]
    fn names_from_files_cannot_become_code() {
        let name = "</script><script>alert(1)</script><!--";
        let html = page(name, REPORT, &[name], &[]).unwrap();
        assert!(!html.contains("<script>alert") && !html.contains("<!--"));
        assert!(html.contains("&lt;/script&gt;") && html.contains("\\u003c/script>"));
    }

    #[test]
    fn scripts_can_stand_in_a_page() {
        for script in [LIBRARY, REPORT, BOOK, LICENCES] {
            let script = script.to_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!STYLE.to_lowercase().contains("</style"));
    }
}
