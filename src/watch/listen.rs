//! Listening to notifications of other processes, for as long as there are subscribers here.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::announce::{Notification, SETTLED, parse};
use super::hub::{Hub, INTERVAL_WHILE_LISTENING};
use super::topics::Topics;
use crate::storage::watching::Listener;

/// How long the first poll waits for the listener.
const LISTEN_WITHIN: Duration = Duration::from_secs(2);

impl Hub {
    /// Listens to other processes, if the database supports it, until the returned value is dropped.
    pub(super) async fn listen(&self) -> Option<Listening> {
        self.0.announcer.as_ref()?;
        let listener = match tokio::time::timeout(LISTEN_WITHIN, self.0.backend.listen()).await {
            Ok(Ok(listener)) => Some(listener),
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot listen to other processes; looking more often instead");
                None
            }
            Err(_) => None,
        };
        self.0.listening.store(listener.is_some(), Ordering::Release);
        Some(Listening(tokio::spawn(self.clone().keep_listening(listener))))
    }

    async fn keep_listening(self, mut listener: Option<Box<dyn Listener>>) {
        loop {
            let heard = match &mut listener {
                Some(listener) => listener.heard().await,
                None => {
                    tokio::time::sleep(INTERVAL_WHILE_LISTENING).await;
                    self.0.backend.listen().await.map(|again| {
                        listener = Some(again);
                        None
                    })
                }
            };
            self.0.listening.store(heard.is_ok(), Ordering::Release);
            let notification = match heard {
                Ok(Some(text)) => parse(&text, self.0.process),
                Ok(None) => Notification::Everything,
                Err(error) => {
                    tracing::debug!(%error, "the connection that listens to other processes was lost");
                    listener = None;
                    Notification::Everything
                }
            };
            match notification {
                Notification::Nothing => {}
                Notification::Keys(marks) => {
                    self.look_at(|topics| marks.into_iter().fold(false, |any, mark| topics.touch_marked(mark) | any))
                }
                Notification::Everything => {
                    self.look_at(Topics::touch_all);
                    // Senders that found no listener pause for a moment.
                    let hub = self.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(SETTLED).await;
                        hub.look_at(Topics::touch_all);
                    });
                }
            }
        }
    }
}

/// Dropping it ends the listening.
pub(super) struct Listening(tokio::task::JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}
