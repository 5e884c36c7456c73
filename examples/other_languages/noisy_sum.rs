use std::{env, fs};

fn main() {
    let words: Vec<String> = env::args().collect();
    let rows = fs::read_to_string(&words[2]).unwrap();
    let sum: f64 = rows.split(&[',', '\n'][..]).filter_map(|cell| cell.parse::<f64>().ok()).sum();
    let mut z = words[1].parse::<u64>().unwrap().wrapping_mul(0x9E3779B97F4A7C15); // SplitMix64
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
    let u = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    println!("{:.3}", sum - u.signum() * 3.0 * (1.0 - 2.0 * u.abs()).ln());
}
