//! Each program of `examples/` runs to completion. Their assertions check their claims.
//! (`examples/sea_orm.rs` runs in `tests/on_servers/both/with_sea_orm/`; `examples/claim_jobs.rs` and `examples/service.rs` also on servers, in
//! `tests/on_servers/both/examples.rs`.)

/// One test per program.
macro_rules! programs {
    ($($(#[$when:meta])? $name:ident: $path:literal;)*) => {
        $($(#[$when])?
        #[path = $path]
        mod $name;)*

        $($(#[$when])?
        #[test]
        fn $name() {
            $name::main().unwrap();
        })*

        /// The files that are run here.
        const RUN: &[&str] = &[$($path),*];
    };
}

programs! {
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    claim_jobs: "../../examples/claim_jobs.rs";
    existing_tables: "../../examples/existing_tables.rs";
    importer: "../../examples/importer.rs";
    offline_lock: "../../examples/offline_lock.rs";
    only_locks: "../../examples/only_locks.rs";
    optimistic: "../../examples/optimistic.rs";
    pessimistic: "../../examples/pessimistic.rs";
    #[cfg(all(feature = "opentelemetry", feature = "postgres"))]
    service: "../../examples/service.rs";
    several: "../../examples/several.rs";
    sharding: "../../examples/sharding.rs";
    waiting: "../../examples/waiting.rs";
}

#[test]
fn every_example_is_run_by_a_test() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let elsewhere = ["sea_orm.rs"];
        let is_run = RUN.contains(&&*format!("../../examples/{name}")) || elsewhere.contains(&&*name);
        assert!(is_run, "no test runs examples/{name}");
    }
}
