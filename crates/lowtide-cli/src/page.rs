//! Pages that need nothing but a browser: script, style and data in one HTML file that works from disk.
//!
//! The scripts are built from `web/` by `scripts/build-web` and kept in `web/dist`, so that building the program
//! needs neither Node nor a network. A page has JSON to start with, and any number of *parts*: JSON that is packed
//! (gzip in base64) and that the page unpacks only when someone looks at it, so that large reports open at once.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use crate::failure::Failure;

/// ECharts and what all pages share.
const LIBRARY: &str = include_str!("../web/dist/lib.js");
const STYLE: &str = include_str!("../web/dist/style.css");
/// They go with every copy of the library.
const LICENCES: &str = include_str!("../web/dist/LICENSES.txt");
/// The script of `lowtide view`.
pub(crate) const REPORT: &str = include_str!("../web/dist/report.js");
/// The script of `lowtide bench --html`.
pub(crate) const BOOK: &str = include_str!("../web/dist/book.js");

/// Nothing is loaded from anywhere, whatever a file that is shown has for names.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// Data that a page unpacks when it needs them.
pub(crate) struct Part(String);

impl Part {
    pub(crate) fn pack(data: &impl Serialize) -> Result<Self, Failure> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::new(9));
        let packed = packer.write_all(json(data)?.as_bytes()).and_then(|()| packer.finish());
        let packed =
            packed.map_err(|error| Failure::Message(format!("the page cannot be packed: {error}")))?;
        Ok(Part(base64(&packed)))
    }

    /// What it adds to the size of a page, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.0.len()
    }
}

/// A page: its title, the script that fills it, what the script reads first, and what it reads later.
pub(crate) fn page(
    title: &str,
    script: &str,
    data: &impl Serialize,
    parts: &[Part],
) -> Result<String, Failure> {
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

/// JSON that can stand within a script element: `</script>` and `<!--` would end or change it.
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
