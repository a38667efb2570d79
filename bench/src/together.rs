//! Many concurrent callers.

use tokio::task::JoinSet;

use crate::Outcome;

/// Runs the work of many callers to completion.
pub(crate) async fn together<T: Send + 'static, F>(callers: impl IntoIterator<Item = F>) -> Outcome<Vec<T>>
where
    F: Future<Output = T> + Send + 'static,
{
    let mut set = JoinSet::new();
    for caller in callers {
        set.spawn(caller);
    }
    let mut done = Vec::with_capacity(set.len());
    while let Some(one) = set.join_next().await {
        done.push(one?);
    }
    Ok(done)
}
