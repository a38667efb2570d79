//! Every public call that waits: `dropped.rs` drops each of them, and `tests/repository/dropped_calls.rs` compares the list with the source.

macro_rules! calls {
    ($($about:literal $group:ident: $($call:ident = $path:literal),+;)+) => {
        /// A public call, in one of its forms.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Call { $($($call,)+)+ }

        $(#[doc = $about]
        #[allow(dead_code, reason = "only the databases' programs drop them")]
        pub const $group: &[Call] = &[$(Call::$call),+];)+

        /// The calls and their paths.
        #[allow(dead_code, reason = "the databases' programs do not compare them")]
        pub const CALLS: &[(Call, &str)] = &[$($((Call::$call, $path),)+)+];
    };
}

calls! {
    "Calls that acquire: a lease that the caller has not received must not stay."
    ACQUIRING:
        TryLock = "LockManager::try_lock", TryLockAs = "LockManager::try_lock_as",
        Lock = "Acquisition", LockWithId = "Acquisition",
        Hold = "Hold", HoldWithId = "Hold", HoldWithin = "Hold", HoldWithinWithId = "Hold",
        TakeOver = "LockManager::take_over";
    "Calls that end a held lease: once begun, they free the key."
    ENDING:
        ReleaseLock = "LockManager::release_lock",
        ReleaseAll = "LockManager::release_all", ReleaseGuard = "LeaseGuard::release",
        ExpireWithin = "LockManager::expire_within";
    "Calls with a held lease: afterwards its holder can release it."
    HOLDING:
        CheckLock = "LockManager::check_lock", KeepAlive = "LockManager::keep_alive",
        KeepAliveWith = "LockManager::keep_alive_with", Extend = "LockManager::extend_lock_expiration",
        Resume = "LockManager::resume", Break = "LockManager::break_lock", Lost = "LeaseGuard::lost", RunUnderGuard = "LeaseGuard::run",
        Holders = "LockManager::holders", List = "Listing::run", History = "History::run",
        HeldByType = "LockManager::held_by_type", Sweep = "Sweep::run";
    "Calls in a transaction that saves under the lease: nothing of it holds the key."
    SAVING:
        Begin = "Database::begin", BeginWithin = "Database::begin_within", Retry = "Database::retry",
        Commit = "Transaction::commit", Rollback = "Transaction::rollback", Holding = "Transaction::holding",
        Releasing = "Transaction::releasing", FromForm = "Transaction::from_form",
        UnlessLocked = "Transaction::unless_locked", UnlessLockedExcept = "Transaction::unless_locked_except",
        LockAll = "Transaction::lock_all", Guard = "LockManager::guard",
        ReleaseWithin = "LockManager::release_within", Find = "Repository::find",
        FindMany = "Repository::find_many", FindManySkipLocked = "Repository::find_many_skip_locked", AssertUnchanged = "Repository::assert_unchanged",
        Insert = "Repository::insert", Save = "Repository::save",
        SaveAll = "Repository::save_all", Delete = "Repository::delete";
    "Updates under the lease."
    UPDATING:
        Update = "Update::run", UpdateReleasing = "Update::run", UpdateOfForm = "Update::run",
        UpdateUnlessLocked = "Update::run", UpdateRepeatable = "RepeatableUpdate::run",
        UpdateDelete = "Update::delete", DryRun = "Update::dry_run";
    "Calls that read aggregates and tables."
    READING:
        Get = "Repository::get", GetMany = "Repository::get_many", GetAt = "Repository::get_at",
        Changes = "Repository::changes", Check = "Database::check", CheckMapping = "Database::check_mapping",
        ForgetOperations = "Database::forget_operations";
}

/// Calls that are not dropped, each with its reason.
#[allow(dead_code, reason = "the databases' programs do not compare them")]
pub const NOT_DROPPED: &[(&str, &str)] = &[
    ("Database::connect", OPENS),
    ("Database::connect_with", OPENS),
    ("Database::connect_driver", OPENS),
    ("Database::diagnose", OPENS),
    ("Database::diagnose_with", OPENS),
    ("Database::migration_script", OPENS),
    ("Database::migrate", "sqlx runs the migrations of the application"),
    ("Database::close", "nothing can be asked afterwards"),
    ("LockManager::observe", "it is `held_by_type`, with a meter"),
];

#[allow(dead_code, reason = "as above")]
const OPENS: &str = "the database that it opens is not known to anybody yet";
