//! The engines, and their sources.

use testkit::Kind;

/// A server of one version.
pub(crate) struct Engine {
    /// Its name for `--only`.
    pub(crate) name: &'static str,
    /// The kind of server.
    pub(crate) kind: Kind,
    /// The suite of Debian that has it.
    pub(crate) suite: &'static str,
    /// The packages with its programs; their libraries are fetched too.
    pub(crate) packages: &'static [&'static str],
    /// Other packages that apt-get must be told of, `name/suite`, where two suites are mixed.
    pub(crate) besides: &'static [&'static str],
    /// The programs that tests start, with additional arguments: the path of their files, because they are not where they
    /// were built for. `{}` means the folder into which everything was unpacked.
    pub(crate) programs: &'static [Program],
    /// The program that prints the version.
    pub(crate) server: &'static str,
}

pub(crate) struct Program {
    pub(crate) path: &'static str,
    pub(crate) arguments: &'static [&'static str],
}

const fn program(path: &'static str, arguments: &'static [&'static str]) -> Program {
    Program { path, arguments }
}

/// PostgreSQL finds its files relative to its program.
macro_rules! postgres {
    ($version:literal, $suite:literal, $besides:expr) => {
        Engine {
            name: concat!("postgresql-", $version),
            kind: Kind::Postgres,
            suite: $suite,
            packages: &[concat!("postgresql-", $version), concat!("postgresql-client-", $version)],
            besides: $besides,
            programs: &[
                program(concat!("usr/lib/postgresql/", $version, "/bin/postgres"), &[]),
                program(concat!("usr/lib/postgresql/", $version, "/bin/initdb"), &[]),
                program(concat!("usr/lib/postgresql/", $version, "/bin/psql"), &[]),
            ],
            server: "postgres",
        }
    };
}

/// What PostgreSQL's packages in `experimental` need from there; everything else comes from `sid`.
const FROM_EXPERIMENTAL: &[&str] = &[
    "libpq5/experimental",
    "libc6/experimental",
    "libc-bin/experimental",
    "libc-gconv-modules-extra/experimental",
    "locales/experimental",
];

const MARIADB_FILES: &[&str] = &[
    "--lc-messages-dir={}/usr/share/mysql",
    "--plugin-dir={}/usr/lib/mysql/plugin",
    "--character-sets-dir={}/usr/share/mysql/charsets",
];

/// All of them.
pub(crate) const ENGINES: [Engine; 5] = [
    Engine {
        name: "mysql-9.7",
        kind: Kind::MariaDb,
        suite: "sid",
        packages: &["mysql-server-core", "mysql-client-core"],
        besides: &[],
        programs: &[
            program(
                "usr/sbin/mysqld",
                &[
                    "--lc-messages-dir={}/usr/share/mysql",
                    "--plugin-dir={}/usr/lib/mysql/plugin",
                    "--character-sets-dir={}/usr/share/mysql/charsets",
                ],
            ),
            program("usr/bin/mysql", &["--plugin-dir={}/usr/lib/mysql/plugin"]),
        ],
        server: "mysqld",
    },
    postgres!("18", "sid", &[]),
    postgres!("17", "trixie", &[]),
    postgres!("19", "experimental", FROM_EXPERIMENTAL),
    Engine {
        name: "mariadb-11.8",
        kind: Kind::MariaDb,
        suite: "trixie",
        packages: &["mariadb-server", "mariadb-server-core", "mariadb-client-core"],
        besides: &[],
        programs: &[
            program("usr/sbin/mariadbd", MARIADB_FILES),
            program("usr/bin/mariadb", &["--plugin-dir={}/usr/lib/mysql/plugin"]),
            program("usr/bin/my_print_defaults", &[]),
            // Its own program that looks hosts up does not find its libraries here; rights are for any host, so it need not.
            program("usr/bin/mariadb-install-db", &["--basedir={}/usr", "--force"]),
        ],
        server: "mariadbd",
    },
];
