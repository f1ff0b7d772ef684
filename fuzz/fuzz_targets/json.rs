//! `json` of `aime-fuzz-entries` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| aime_fuzz_entries::json(input));
