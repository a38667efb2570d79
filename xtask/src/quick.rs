//! `cargo xtask test`: what CI runs. At most twenty minutes on two cores, build included; everything else is `cargo xtask verify`.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use testkit::Kind;

use crate::steps::{self, Ran, Step};

/// No step takes half of it, cold build included. One that hangs must fail with its name and its output, before CI is ended from outside.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// How many steps run beside each other.
const BESIDE: usize = 2;

const BOTH: &[Kind] = &[Kind::Postgres, Kind::MariaDb];

/// These go first, one after the other, because each uses all cores; and then the build.
const FIRST: [Step; 4] = [
    Step::new("fmt", "fmt --all --check"),
    // As tests, so that one call covers all programs: `--all-targets` leaves out those that `cargo test` leaves out.
    Step::new(
        "clippy",
        "clippy --workspace --all-features --profile test --lib --bins --examples --test * -- -D warnings",
    ),
    // The library with one database, without warnings: together, the features hide missing parts of each. The other two are parts of
    // `cargo xtask verify`.
    Step::new("only-sqlite", "clippy --package tenure --no-default-features --features sqlite -- -D warnings"),
    // The documentation builds without a warning, and the list of public items matches it.
    Step::new("doc", "xtask api --check"),
];

/// All programs of the steps below, in one build.
static BUILD: LazyLock<Step> = LazyLock::new(|| {
    let programs: BTreeSet<_> = THEN.iter().flat_map(|step| step.programs).copied().collect();
    let programs = programs.into_iter().collect::<Vec<_>>().leak();
    Step { programs, ..Step::new("build", "test --workspace --all-features --no-run --lib --bins") }
});

/// These run beside each other, the longest first.
static THEN: [Step; 12] = [
    Step {
        tests: &["postgres::"],
        options: &["--skip", "both::"],
        servers: &[Kind::Postgres],
        ..Step::of_programs("postgres", &["on_servers"])
    },
    Step {
        tests: &["mysql::"],
        options: &["--skip", "both::"],
        servers: &[Kind::MariaDb],
        ..Step::of_programs("mysql", &["on_servers"])
    },
    // The Korean pages need a Korean font.
    Step {
        tests: &STORIES,
        options: &["--exact"],
        packages: &["chromium", "chromium-driver", "fonts-noto-cjk"],
        axe: true,
        ..Step::of_programs("browser", &["browser"])
    },
    // The tests beside the code. One of them compares the lease engine with each database. Of the simulated runs a hundred, and the model
    // without its wrong builds: `cargo xtask verify simulation model`.
    Step {
        options: &[
            "--include-ignored",
            "--skip",
            "many_simulated_runs_violate_nothing",
            "--skip",
            "every_wrong_build_is_found",
        ],
        servers: BOTH,
        ..Step::new("units", "test --workspace --all-features --no-fail-fast --lib --bins")
    },
    // The stories of the shop on each server, but for those of pages whose rules no database has; on SQLite all run below, with the attacks,
    // and on the servers in `cargo xtask verify whole-shop-postgres whole-shop-mysql`.
    Step {
        environment: &[("SHOP_STORIES_ON", "postgres")],
        options: PAGES_ALONE,
        servers: &[Kind::Postgres],
        ..Step::of_programs("shop-postgres", &["stories"])
    },
    Step {
        environment: &[("SHOP_STORIES_ON", "mysql")],
        options: PAGES_ALONE,
        servers: &[Kind::MariaDb],
        ..Step::of_programs("shop-mysql", &["stories"])
    },
    // On SQLite: the suite, the shop, and what needs no database.
    Step::of_programs("sqlite", &["on_sqlite", "types", "metrics"]),
    Step::of_programs("web-and-shop", &["kit", "server", "log", "stories", "attacks"]),
    // Tests that use both servers.
    Step { tests: &["both::"], servers: BOTH, ..Step::of_programs("both-servers", &["on_servers"]) },
    // What starts servers itself, the program `tenure`, the repository.
    Step {
        options: &["--include-ignored"],
        servers: BOTH,
        ..Step::of_programs("others", &["servers", "seen", "program", "repository"])
    },
    // Not the derives' errors: their crate is another build of everything. `cargo xtask verify derive` has them.
    Step { options: &["--skip", "mistakes_are_explained_where_they_are"], ..Step::of_programs("derive", &["derive"]) },
    // The examples in the documentation of items.
    Step::new("doc-tests", "test --workspace --all-features --doc"),
];

/// Without the stories of words, headers, sign-in and `/demo`.
const PAGES_ALONE: &[&str] = &[
    "--skip",
    "around::",
    "--skip",
    "bad_input::",
    "--skip",
    "demo::",
    "--skip",
    "guessing::",
    "--skip",
    "presence::",
    "--skip",
    "sign_in::",
    "--skip",
    "unsaved::",
    "--skip",
    "words::",
];

/// The browser's stories of the quick run; `cargo xtask verify browser` tells all. Those of lost updates, of typed text, of a conflict, of the
/// last piece in stock, of the lock, of what a page shows while others work, of `/demo`; and one walk through all pages with axe-core.
const STORIES: [&str; 19] = [
    "typing::every_key_counts_on_coming_back_to_the_tab",
    "typing::text_typed_while_saving_is_the_next_change",
    "tabs::closing_a_duplicated_tab_ends_nothing_of_the_first",
    "travelling::draft_never_overwrites_a_save_made_in_between",
    "travelling::back_never_overwrites_a_save_made_in_between",
    "travelling::back_to_fields_that_the_browser_restores_never_saves_over_it",
    "drafts::typed_text_survives_a_refused_invalid_save",
    "drafts::typed_text_survives_a_save_by_somebody_else",
    "merging::both_changes_are_saved_by_keyboard_alone_at_200_percent_zoom",
    "looks::a_conflict_counts_the_choices_that_are_left_and_saves_none_unmade",
    "stock::operator_without_stock_is_told_receives_it_and_ships",
    "first_edit::first_key_takes_the_lock_and_opening_does_not",
    "losing::sign_out_is_reported_and_loses_neither_text_nor_lease",
    "watching::order_page_shows_who_looks_who_edits_and_who_saved",
    "watching::who_waits_sees_that_it_is_free_and_edits",
    "saving::lost_response_is_retried_and_saves_once",
    "saving::the_form_works_as_a_plain_post_without_scripts",
    "accessible::no_page_in_english_shuts_anybody_out",
    "demo::parcel_goes_to_the_wrong_house_without_tenure_and_to_the_right_one_with_it",
];

/// All steps, in their order.
pub(crate) fn steps() -> impl Iterator<Item = &'static Step> {
    FIRST.iter().chain([&*BUILD]).chain(&THEN)
}

/// The step with this name, for the command line.
pub(crate) fn by_name(name: &str) -> Result<&'static Step, String> {
    steps::by_name(steps(), name)
}

/// Runs these steps, or all, also after a failed one, and prints the duration of each: one run of CI reports every failure.
pub(crate) fn run(only: &[&Step]) -> ExitCode {
    let is_chosen = |step: &&Step| only.is_empty() || only.iter().any(|other| other.name == step.name);
    // First, because missing packages should be reported before minutes of tests.
    if let Err(reason) = steps::install(steps().filter(is_chosen)) {
        println!("FAILED packages: {reason}");
        return ExitCode::FAILURE;
    }
    let begun = Instant::now();
    let mut ran: Vec<_> = FIRST.iter().chain([&*BUILD]).filter(is_chosen).map(|step| step.run(LIMIT)).collect();
    match ran.iter().any(|ran| ran.name == BUILD.name && ran.result.is_err()) {
        true => println!("nothing is run, because the build failed"),
        false => ran.extend(run_beside(&THEN.iter().filter(is_chosen).collect::<Vec<_>>())),
    }
    steps::report(&ran, begun.elapsed())
}

/// Runs steps beside each other; one alone has its output on the terminal.
fn run_beside(steps: &[&'static Step]) -> Vec<Ran> {
    match steps {
        [step] => vec![step.run(LIMIT)],
        steps => beside(steps, |step| {
            let ran = step.run_beside(LIMIT);
            println!("{}", ran.line());
            ran
        }),
    }
}

/// Does some of these at the same time, and returns the results in the order of their ends.
fn beside<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (left, done) = (Mutex::new(items.iter()), Mutex::new(Vec::new()));
    // The iterator must not stay locked during the work.
    let next = || locked(&left).next();
    thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(|| {
                while let Some(item) = next() {
                    let result = work(item);
                    locked(&done).push(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Condvar;

    use super::*;
    use testkit::tasks::root;

    #[test]
    fn two_go_at_the_same_time_and_all_get_their_turn() {
        let begun = (Mutex::new(0), Condvar::new());
        let both_have_begun = |_: &u8| {
            *locked(&begun.0) += 1;
            begun.1.notify_all();
            let long = Duration::from_secs(20);
            !begun.1.wait_timeout_while(locked(&begun.0), long, |begun| *begun < 2).expect("a lock").1.timed_out()
        };
        assert_eq!(beside(&[1, 2, 3], both_have_begun), [true; 3]);
    }
    #[test]
    fn stories_of_the_quick_run_exist() {
        for story in STORIES {
            let (file, name) = story.split_once("::").expect("a file and a name");
            let file = root().join(format!("browser/tests/stories/{file}.rs"));
            let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            assert!(text.contains(&format!("async fn {name}()")), "{} has no {name}", file.display());
        }
    }
}
