//! Which engines there are, and where each comes from.

use testkit::Kind;

/// A server of one version.
pub(crate) struct Engine {
    /// What `--only` calls it.
    pub(crate) name: &'static str,
    /// Which kind of server it is.
    pub(crate) kind: Kind,
    /// The suite of Debian that has it.
    pub(crate) suite: &'static str,
    /// The packages with its programs; the libraries that they need come along.
    pub(crate) packages: &'static [&'static str],
    /// The programs that tests start, and what each is given besides: where it finds its own files, because it is not where it
    /// was built for. `{}` stands for the folder that everything was unpacked into.
    pub(crate) programs: &'static [Program],
    /// The program that says which version it is.
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
    ($version:literal, $suite:literal) => {
        Engine {
            name: concat!("postgresql-", $version),
            kind: Kind::Postgres,
            suite: $suite,
            packages: &[concat!("postgresql-", $version), concat!("postgresql-client-", $version)],
            programs: &[
                program(concat!("usr/lib/postgresql/", $version, "/bin/postgres"), &[]),
                program(concat!("usr/lib/postgresql/", $version, "/bin/initdb"), &[]),
                program(concat!("usr/lib/postgresql/", $version, "/bin/psql"), &[]),
            ],
            server: "postgres",
        }
    };
}

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
    postgres!("18", "sid"),
    postgres!("17", "trixie"),
    postgres!("19", "experimental"),
    Engine {
        name: "mariadb-11.8",
        kind: Kind::MariaDb,
        suite: "trixie",
        packages: &["mariadb-server", "mariadb-server-core", "mariadb-client-core"],
        programs: &[
            program("usr/sbin/mariadbd", MARIADB_FILES),
            program("usr/bin/mariadb", &["--plugin-dir={}/usr/lib/mysql/plugin"]),
            program("usr/bin/my_print_defaults", &[]),
            program("usr/bin/mariadb-install-db", &["--basedir={}/usr"]),
        ],
        server: "mariadbd",
    },
];
