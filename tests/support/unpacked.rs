//! What is packed in the page of a report, for whoever looks through it.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The page with all of its packs behind it, in plain markup.
pub fn unpacked(page: &str) -> String {
    let mut out = page.to_owned();
    for part in page.split("<template id=\"").skip(1) {
        let (_, rest) = part.split_once('>').expect("a whole tag");
        let (letters, _) = rest.split_once('<').expect("the end of a template");
        let bytes = STANDARD.decode(letters).expect("base64");
        let mut plain = flate2::read::GzDecoder::new(&bytes[..]);
        plain.read_to_string(&mut out).expect("gzip");
    }
    out
}
