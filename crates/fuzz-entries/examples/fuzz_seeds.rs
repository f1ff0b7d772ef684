//! Writes the seeds of every target below a folder, as files; and feeds a target changed seeds for a while:
//!
//! `fuzz_seeds write FOLDER` · `fuzz_seeds run TARGET SECONDS SEED`
#![expect(clippy::print_stdout, reason = "a program that a person starts")]

use std::time::{Duration, Instant};
use std::{env, fs, path::Path};

use aime_fuzz_entries::{Mutator, TARGETS, seeds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", folder] => {
            for target in TARGETS {
                let folder = Path::new(folder).join(target.name);
                fs::create_dir_all(&folder)?;
                for (at, seed) in seeds(target).iter().enumerate() {
                    fs::write(folder.join(format!("seed-{at:03}")), seed)?;
                }
            }
            Ok(())
        }
        ["run", name, seconds, seed] => {
            let target = TARGETS.into_iter().find(|target| target.name == *name).ok_or("no such target")?;
            let (seeds, until) = (seeds(target), Instant::now() + Duration::from_secs(seconds.parse()?));
            let mut mutator = Mutator::new(seed.parse()?);
            let mut inputs = 0_u64;
            while Instant::now() < until {
                let input = mutator.next_of(&seeds);
                // Of an input that breaks something, the place is known by the same seed and count.
                if std::panic::catch_unwind(|| (target.run)(&input)).is_err() {
                    println!("{name}: input {inputs} of seed {seed}: {:?}", String::from_utf8_lossy(&input));
                    return Err("something does not hold".into());
                }
                inputs += 1;
            }
            println!("{name}: {inputs} inputs, and all holds");
            Ok(())
        }
        _ => Err("usage: fuzz_seeds write FOLDER | run TARGET SECONDS SEED".into()),
    }
}
