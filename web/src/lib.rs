//! The web kit of tenure, for axum: what a form that holds a lease, or carries a version, needs from the server.
//!
//! - [`leases`]: the endpoints a form beats on, and the script that beats;
//! - [`first_edit`]: the lock with the first change, for forms that most people open only to look;
//! - [`problem`]: refusals as RFC 9457 problem details, with the actions that are left;
//! - [`versions`]: `ETag` and `If-Match`, for whoever saves by request instead of by form;
//! - [`csrf`]: no unsafe request without the page's own token. Put `tower_http::csrf::CsrfLayer` before it, which refuses
//!   what browsers say comes from another site.
//!
//! A GET never takes a lock. Lock ids travel in request bodies only, never in URLs.

pub mod csrf;
pub mod first_edit;
pub mod leases;
pub mod problem;
pub mod versions;
