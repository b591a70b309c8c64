fn main() {
    for a in std::env::args().skip(1) {
        let t = lockproof::trace::read(a.as_ref()).unwrap();
        let n = std::path::Path::new(&a)
            .file_stem()
            .unwrap()
            .to_string_lossy()
            .to_string();
        std::fs::write(
            format!("/tmp/rp/{n}.svg"),
            lockproof::report::diagram::svg(&t),
        )
        .unwrap();
    }
}
