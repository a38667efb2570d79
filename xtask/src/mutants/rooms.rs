//! The code that is mutated, and the tests that have to notice.

/// Files whose mutants are tested in the same way.
pub(super) struct Room {
    /// Its name in the table.
    pub(super) name: &'static str,
    /// Files and folders.
    paths: &'static [&'static str],
    /// Its package.
    pub(super) package: &'static str,
    /// The options of cargo: the smallest selection of features that compiles the code, and the test program.
    pub(super) options: &'static [&'static str],
    /// The tests that have to notice: those of the code itself.
    pub(super) tests: &'static str,
}

/// The library's unit tests with one database.
const SMALL: &[&str] = &["--lib", "--no-default-features", "--features=sqlite"];

/// The library's unit tests with all databases.
const WHOLE: &[&str] = &["--lib", "--all-features"];

pub(super) const ROOMS: [Room; 7] = [
    // The model of the engine is not among its tests: it takes minutes.
    Room::new("lease engine", &["src/lease/engine"], SMALL, "lease::engine::tests"),
    Room::new(
        "error classifiers",
        &["src/db/sqlite/errors.rs", "src/db/postgres/errors.rs", "src/db/mysql/errors.rs"],
        WHOLE,
        "errors::tests",
    ),
    Room::new("versions", &["src/version"], SMALL, "version::"),
    Room::new("row locks", &["src/row_lock"], SMALL, "row_lock::"),
    Room::new("errors", &["src/error"], WHOLE, "error"),
    Room::new(
        "differences, values",
        &["src/aggregate/diff.rs", "src/aggregate/version.rs", "src/aggregate/value.rs", "src/aggregate/value"],
        WHOLE,
        "aggregate::",
    ),
    Room {
        package: "tenure-web",
        ..Room::new("verdict", &["web/src/verdict.rs"], &["--test=kit", "--all-features"], "verdict::")
    },
];

impl Room {
    const fn new(
        name: &'static str,
        paths: &'static [&'static str],
        options: &'static [&'static str],
        tests: &'static str,
    ) -> Self {
        Room { name, paths, package: "tenure", options, tests }
    }

    /// The globs of its files that are below one of these paths, or all.
    pub(super) fn globs(&self, only: &[String]) -> Vec<String> {
        let is_in = |path: &str, folder: &str| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let glob = |path: &str| if path.ends_with(".rs") { path.to_owned() } else { format!("{path}/**") };
        if only.is_empty() {
            return self.paths.iter().map(|path| glob(path)).collect();
        }
        let mut globs = Vec::new();
        for only in only.iter().map(|only| only.trim_end_matches('/')) {
            let inside = self.paths.iter().any(|path| is_in(only, path));
            globs.extend(inside.then(|| glob(only)));
            globs.extend(self.paths.iter().filter(|path| !inside && is_in(path, only)).map(|path| glob(path)));
        }
        globs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_room_is_in_a_part_of_the_verification() {
        let parts = crate::verify::PARTS.iter().map(|part| part.line()).filter(|line| line.contains("xtask mutants"));
        let only: Vec<_> =
            parts.flat_map(|line| line.split(" --only ").skip(1).map(str::to_owned).collect::<Vec<_>>()).collect();
        for path in ROOMS.iter().flat_map(|room| room.paths) {
            assert!(only.iter().any(|only| path.starts_with(only.as_str())), "{path}: {only:?}");
        }
    }

    #[test]
    fn paths_choose_whole_rooms_and_parts_of_them() {
        let room = Room::new("addresses", &["src/server/address.rs", "src/version"], SMALL, "");
        for (only, globs) in [
            (&[][..], &["src/server/address.rs", "src/version/**"][..]),
            (&["src/server"], &["src/server/address.rs"]),
            (&["src/server/address.rs"], &["src/server/address.rs"]),
            (&["src/version/", "src/serve"], &["src/version/**"]),
            (&["src/version/token.rs"], &["src/version/token.rs"]),
            (&["src"], &["src/server/address.rs", "src/version/**"]),
        ] {
            let only: Vec<String> = only.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(room.globs(&only), globs, "{only:?}");
        }
    }
}
