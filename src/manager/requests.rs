//! Asking the holder of a lock for it, and handing it over.

use super::LockManager;
use crate::backend::Asking;
use crate::error::{AnswerError, LeaseError, RequestError};
use crate::lease::{Holder, LockId, LockKey, Owner};
use crate::request::{Answer, Request};

impl LockManager {
    /// Asks the holder of the generation that was seen for the lock, with a note. The holder finds it among the
    /// [`requests`](Self::requests). It lasts for [`Request::TTL`] and for as long as it is repeated, but not longer than
    /// the lease; repeating it keeps its place and tells what was answered. Another note is another request: everybody has
    /// at most one per key.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tenure::{Answer, Database, LockError, LockKey, LockManager, Owner};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let locks = LockManager::new(&db);
    /// # let (kim, lee, order) = (Owner::new("kim", "Kim"), Owner::new("lee", "Lee"), LockKey::new("Order", "1234"));
    /// let lease = locks.try_lock(&order, &kim).await?;
    /// locks.request(&order, lease.generation, &lee, "the courier is waiting").await?;
    ///
    /// let asking = locks.requests(lease.id()).await?;                   // Kim's page looks with every heartbeat
    /// assert_eq!((&asking[0].by, &*asking[0].note), (&lee, "the courier is waiting"));
    /// locks.answer_request(lease.id(), "lee", Answer::Later(Duration::from_secs(300))).await?;
    ///
    /// let asked = locks.request(&order, lease.generation, &lee, "the courier is waiting").await?;
    /// assert!(matches!(asked.answer, Some(Answer::Later(left)) if left <= Duration::from_secs(300)));
    ///
    /// locks.hand_over(lease.id(), "lee").await?;                        // Kim is done
    /// assert!(matches!(locks.try_lock(&order, &kim).await, Err(LockError::Reserved { owner, .. }) if owner == lee));
    /// assert!(locks.try_lock(&order, &lee).await.is_ok());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`RequestError::HolderChanged`]: that generation is not held any more, so try to lock;
    /// [`RequestError::NoteTooLong`]; [`RequestError::Advisory`]; [`RequestError::Database`].
    pub async fn request(
        &self,
        key: &LockKey,
        generation: i64,
        by: &Owner,
        note: &str,
    ) -> Result<Request, RequestError> {
        let note = Request::text(note).ok_or(RequestError::NoteTooLong)?;
        if !self.policy(key.kind()).is_exclusive() {
            return Err(RequestError::Advisory { key: key.clone() });
        }
        match self.backend.request(&Asking { key, generation, by, note }).await? {
            Some(request) => Ok(request),
            None => Err(RequestError::HolderChanged { held_now: self.holders(key).await? }),
        }
    }

    /// Who asks for the lock that this lock id holds, the longest-waiting first; also those who were answered already.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`]: it holds nothing (any more), so nobody asks for it.
    pub async fn requests(&self, id: &LockId) -> Result<Vec<Request>, LeaseError> {
        Ok(self.backend.requests(&self.proof(id)).await??)
    }

    /// Answers whoever asks for the lock that this lock id holds. They are told when they repeat their request. The latest
    /// answer counts.
    ///
    /// # Errors
    /// [`AnswerError::NotAsked`] when they do not ask (any more); [`AnswerError::NoLock`];
    /// [`AnswerError::MessageTooLong`]; [`AnswerError::Database`].
    pub async fn answer_request(&self, id: &LockId, asker_id: &str, answer: Answer) -> Result<Request, AnswerError> {
        let answer = match answer {
            Answer::Declined { message } => {
                let message = Request::text(&message).ok_or(AnswerError::MessageTooLong)?.to_owned();
                Answer::Declined { message }
            }
            later => later,
        };
        answered(self.backend.answer_request(&self.proof(id), asker_id, &answer).await?, asker_id)
    }

    /// Ends the lease and keeps the lock for one of those who ask for it: for [`Request::RESERVATION`] only they get it, in
    /// whichever tab asks first, and everybody else is told so ([`LockError::Reserved`](crate::LockError::Reserved)). After
    /// that it is free for all. A save that is under way under the lease is waited for.
    ///
    /// Answers what everybody sees now: as long as it is kept, whom it is kept for counts as its holder.
    ///
    /// # Errors
    /// [`AnswerError::NotAsked`] when they do not ask (any more): the lease goes on; [`AnswerError::NoLock`];
    /// [`AnswerError::Database`].
    pub async fn hand_over(&self, id: &LockId, to_owner_id: &str) -> Result<Holder, AnswerError> {
        // Nobody knows the lock id of a reservation, so nobody keeps it alive, releases it, or saves under it.
        let reservation = LockId::random().hash();
        let handed = answered(self.backend.hand_over(&self.proof(id), to_owner_id, reservation).await?, to_owner_id)?;
        tracing::info!(lock = %handed.key, generation = handed.generation, to = handed.owner.id, "lock handed over");
        Ok(handed)
    }
}

fn answered<T>(answer: Result<Option<T>, crate::lease::NoLock>, asker_id: &str) -> Result<T, AnswerError> {
    let answer = answer.map_err(|no_lock| AnswerError::NoLock(Box::new(no_lock)))?;
    answer.ok_or_else(|| AnswerError::NotAsked { asker: asker_id.to_owned() })
}
