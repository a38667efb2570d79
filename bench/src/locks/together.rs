//! Many concurrent callers.

use tokio::task::JoinSet;

use crate::Outcome;

/// Runs many callers to completion, each with its number.
pub(super) async fn together<T: Send + 'static, F>(callers: usize, work: impl Fn(usize) -> F) -> Outcome<Vec<T>>
where
    F: Future<Output = T> + Send + 'static,
{
    let mut set = JoinSet::new();
    for caller in 0..callers {
        set.spawn(work(caller));
    }
    let mut done = Vec::with_capacity(callers);
    while let Some(one) = set.join_next().await {
        done.push(one?);
    }
    Ok(done)
}
