//! Transfer requests to the holder of a lock, and the hand-over.

use super::LockManager;
use crate::error::{AnswerError, LeaseError, RequestError};
use crate::lease::limits::Limit;
use crate::lease::transfer::{TransferReply, TransferRequest};
use crate::lease::{Holder, LockId, LockKey, NoLock, Owner, askable};
use crate::storage::{Asked, Asking};
use crate::telemetry::outcome::seen;

impl LockManager {
    /// Requests the lock from the holder of the generation that was seen, with a note. The holder finds it among the
    /// [`requests`](Self::requests). It lasts for [`TransferRequest::TTL`] and for as long as it is repeated, but not longer than
    /// the lease; a repetition keeps its position and returns the reply. Another note is a new request: each person has
    /// at most one per key.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tenure::{Database, LockKey, LockManager, Owner, lease::TransferReply, error::LockError};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let db = Database::connect(&format!("sqlite://{}/shop.db", directory.path().display())).await?;
    /// # let locks = LockManager::new(&db);
    /// # let (kim, lee, order) = (Owner::new("kim", "Kim"), Owner::new("lee", "Lee"), LockKey::new("Order", "1234"));
    /// let lease = locks.try_lock(&order, &kim).await?;
    /// locks.request(&order, lease.holder().generation, &lee, "the courier is waiting").await?;
    ///
    /// let asking = locks.requests(lease.id()).await?;                   // Kim's page checks with every heartbeat
    /// assert_eq!((&asking[0].by, &*asking[0].note), (&lee, "the courier is waiting"));
    /// locks.answer_request(lease.id(), "lee", TransferReply::Later(Duration::from_secs(300))).await?;
    ///
    /// let asked = locks.request(&order, lease.holder().generation, &lee, "the courier is waiting").await?;
    /// assert!(matches!(asked.answer, Some(TransferReply::Later(left)) if left <= Duration::from_secs(300)));
    ///
    /// locks.hand_over(lease.id(), "lee").await?;                        // Kim is done
    /// assert!(matches!(locks.try_lock(&order, &kim).await, Err(LockError::Reserved { owner, .. }) if owner == lee));
    /// assert!(locks.try_lock(&order, &lee).await.is_ok());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`RequestError::HolderChanged`]: that generation is not held any more, so try to acquire the lock;
    /// [`RequestError::NoteTooLong`]; [`RequestError::NoteNotPlain`]; [`RequestError::InvalidOwner`]; [`RequestError::Advisory`]; [`RequestError::Shared`];
    /// [`RequestError::LimitReached`]: the lock has too many requesters;
    /// [`RequestError::Database`].
    pub async fn request(
        &self,
        key: &LockKey,
        generation: i64,
        by: &Owner,
        note: &str,
    ) -> Result<TransferRequest, RequestError> {
        seen(self.metrics(), "request", Some(key.kind()), self.ask_for(key, generation, by, note)).await
    }

    async fn ask_for(
        &self,
        key: &LockKey,
        generation: i64,
        by: &Owner,
        note: &str,
    ) -> Result<TransferRequest, RequestError> {
        let note = TransferRequest::text(note)?;
        if !self.policy(key.kind()).is_exclusive() {
            return Err(RequestError::Advisory { key: key.clone() });
        }
        by.check()?;
        if key.problem().is_some() {
            return Err(RequestError::HolderChanged { held_now: Vec::new() });
        }
        let (handle, most) = (LockId::random().reveal(), self.limits.askers_per_lock);
        match self.backend.request(&Asking { key, generation, by, note, handle, most }).await? {
            Asked::Open(request) => Ok(request),
            Asked::Full => Err(RequestError::LimitReached { limit: Limit::AskersPerLock, most: most.into() }),
            Asked::Changed => {
                let held_now = self.holders_seen_by(key, Some(&by.id)).await?;
                match held_now.iter().any(|holder| holder.shared && holder.generation == generation) {
                    true => Err(RequestError::Shared { key: key.clone() }),
                    false => Err(RequestError::HolderChanged { held_now }),
                }
            }
        }
    }

    /// The requests for the lock that this lock id holds, the longest-waiting first, including answered ones. If
    /// the policy hides names, a requester's id is a random pseudonym, valid only for a reply.
    ///
    /// # Errors
    /// [`LeaseError::NoLock`]: it holds no lease (any more), so there are no requests.
    pub async fn requests(&self, id: &LockId) -> Result<Vec<TransferRequest>, LeaseError> {
        let requests = async {
            let requests = self.backend.requests(&self.proof(id)).await?;
            Ok(requests.map_err(|no_lock| no_lock.seen_by(self.owner.as_deref()))?)
        };
        seen(self.metrics(), "requests", None, requests).await
    }

    /// Replies to a requester of the lock that this lock id holds. They receive the reply when they repeat their request.
    /// The latest reply counts.
    ///
    /// # Errors
    /// [`AnswerError::NotAsked`] if there is no such request (any more); [`AnswerError::NoLock`];
    /// [`AnswerError::MessageTooLong`]; [`AnswerError::MessageNotPlain`]; [`AnswerError::Database`].
    pub async fn answer_request(
        &self,
        id: &LockId,
        asker_id: &str,
        answer: TransferReply,
    ) -> Result<TransferRequest, AnswerError> {
        let answer = match answer {
            TransferReply::Declined { message } => {
                let message = TransferRequest::text(&message)?.to_owned();
                TransferReply::Declined { message }
            }
            later => later,
        };
        let give = async {
            let asker = askable(asker_id);
            self.answered(self.backend.answer_request(&self.proof(id), &asker, &answer).await?, asker_id)
        };
        seen(self.metrics(), "answer_request", None, give).await
    }

    /// Ends the lease and reserves the lock for one of its requesters: for [`TransferRequest::RESERVATION`] only this owner can acquire it,
    /// in any tab, and everybody else gets [`LockError::Reserved`](crate::error::LockError::Reserved). After that it is free. The call
    /// waits for a save in flight under the lease.
    ///
    /// Returns the state that everybody sees: the recipient counts as the holder of a reservation.
    ///
    /// # Errors
    /// [`AnswerError::NotAsked`] if there is no such request (any more): the lease continues; [`AnswerError::NoLock`];
    /// [`AnswerError::Database`].
    pub async fn hand_over(&self, id: &LockId, to_owner_id: &str) -> Result<Holder, AnswerError> {
        // No client has the lock id of a reservation, so none can keep it alive, release it, or save under it.
        let reservation = LockId::random().hash();
        let hand_over = async {
            let to = askable(to_owner_id);
            self.answered(self.backend.hand_over(&self.proof(id), &to, reservation).await?, to_owner_id)
        };
        let handed = seen(self.metrics(), "hand_over", None, hand_over).await?;
        tracing::info!(lock = ?handed.key, generation = handed.generation, to = ?handed.owner.id, "lock handed over");
        Ok(self.seen_by(handed, self.owner.as_deref()))
    }

    fn answered<T>(&self, answer: Result<Option<T>, NoLock>, asker_id: &str) -> Result<T, AnswerError> {
        let viewer = self.owner.as_deref();
        let answer = answer.map_err(|no_lock| AnswerError::NoLock(Box::new(no_lock.seen_by(viewer))))?;
        answer.ok_or_else(|| AnswerError::NotAsked { asker: asker_id.to_owned() })
    }
}
