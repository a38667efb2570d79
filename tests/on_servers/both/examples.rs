//! The programs of `examples/` that take the address of a server.

use testkit::{Kind, server_url};

#[allow(dead_code, reason = "its `main` runs on SQLite, in `tests/repository/examples.rs`")]
#[path = "../../../examples/claim_jobs.rs"]
mod claim_jobs;

#[allow(dead_code, reason = "its `main` runs on SQLite, in `tests/repository/examples.rs`")]
#[path = "../../../examples/service.rs"]
mod service;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_signs_in_with_a_password_that_rotates() {
    service::run(Some(&server_url(Kind::Postgres))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_claim_each_job_once_on_postgres() {
    claim_jobs::run(&server_url(Kind::Postgres)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_claim_each_job_once_on_mariadb() {
    claim_jobs::run(&server_url(Kind::MariaDb)).await.unwrap();
}
