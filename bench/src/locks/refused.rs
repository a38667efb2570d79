//! Many callers request one lock that is held: the latency of the refusals, and that they write nothing.

use std::time::Instant;

use tenure::error::LockError;

use super::KIND;
use super::tenure::Tenure;
use super::witness::Witness;
use crate::Outcome;
use crate::backend::{Backend, Databases};
use crate::effort::Effort;
use crate::report::{Figure, Report};
use crate::rounds::millis;
use crate::statistics::Spread;
use crate::together::together;

/// The number of concurrent callers.
const CALLERS: usize = 256;

/// Measures one database.
pub(crate) async fn measure(
    id: &str,
    backend: Backend,
    effort: &Effort,
    databases: &Databases,
    report: &mut Report,
) -> Outcome<()> {
    let url = databases.fresh(backend);
    let tenure = Tenure::open(&url).await?;
    let mut witness = Witness::open(backend, &url).await?;
    tenure.take("wanted", "kim").await?;
    tenure.database.close().await;
    let before = witness.rows_written().await?;

    let tenure = Tenure::open(&url).await?;
    let (mut rates, mut latencies) = (Vec::new(), Vec::new());
    for round in 0..=effort.rounds {
        let start = Instant::now();
        let refused: Vec<f64> = ask(&tenure, start, effort).await?;
        if round > 0 {
            rates.push(refused.len() as f64 / start.elapsed().as_secs_f64());
            latencies.extend(refused);
        }
    }
    tenure.database.close().await;
    let written = witness.rows_written().await? - before;

    let rate = Figure::of_rounds(format!("{id}.refusals_per_second"), Spread::of(&rates), "1/s");
    report.add(rate.tenure(&latencies))?;
    report.add(Figure::new(format!("{id}.rows_written"), written as f64, "rows"))
}

/// All callers request until the time is over; returns the latency of each refusal, in milliseconds.
async fn ask(tenure: &Tenure, start: Instant, effort: &Effort) -> Outcome<Vec<f64>> {
    let end = start + effort.slice;
    let refused = together((0..CALLERS).map(|caller| {
        let locks = tenure.locks.clone();
        async move {
            let (key, owner) =
                (tenure::LockKey::new(KIND, "wanted"), tenure::Owner::new(format!("{caller}"), "Lee Junho"));
            let mut latencies = Vec::new();
            while Instant::now() < end {
                let asked = Instant::now();
                match locks.try_lock(&key, &owner).await {
                    Err(LockError::AlreadyLocked(_)) => latencies.push(millis(asked.elapsed())),
                    Err(error) => return Err(error.into()),
                    Ok(_) => return Err("the lock was granted twice".into()),
                }
            }
            Outcome::Ok(latencies)
        }
    }));
    let refused: Vec<Vec<f64>> = refused.await?.into_iter().collect::<Outcome<_>>()?;
    Ok(refused.concat())
}
