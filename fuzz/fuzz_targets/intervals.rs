//! Snapshot bytes → intervals → verifier. Seeds are files that -oriel-snapshot=DIR writes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    oriel_engine::live::fuzz::check_bytes(bytes);
});
