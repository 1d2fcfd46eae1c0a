use std::time::Instant;
fn main() {
    let t = Instant::now();
    let (mut k, mut r, mut n) = (0, 0, 0);
    for f in std::env::args().skip(1) {
        for kernel in lowtide_io::KernelReader::open(f.as_ref()).unwrap() {
            let kernel = kernel.unwrap();
            k += 1;
            r += kernel.regions.len();
            n += kernel.instr_count();
        }
    }
    let s = t.elapsed().as_secs_f64();
    println!("{k} kernels {r} regions {n} instrs {s:.3}s {:.0}/s", n as f64 / s);
}
