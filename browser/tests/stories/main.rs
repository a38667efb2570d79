//! What people experience who edit orders in a real browser. `cargo xtask test --only browser` installs what it needs.

mod drafts;
mod first_edit;
mod keyboard;
mod layout;
mod losing;
mod merging;
mod staying;
