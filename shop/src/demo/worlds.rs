//! All worlds of a process: few, small and short-lived.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure::Error;

use super::story::Way;
use super::world::World;
use crate::texts::Lang;

/// The maximum number of worlds. One more ends the world that was left alone for the longest time.
const MOST: usize = 20;

/// A world that was left alone for so long is over.
const LEFT_ALONE: Duration = Duration::from_secs(30 * 60);

type Shared = Arc<tokio::sync::Mutex<World>>;

/// The worlds, by the names of their browsers.
#[derive(Debug, Default)]
pub(crate) struct Worlds {
    living: Mutex<HashMap<String, (Duration, Shared)>>,
    /// One begins at a time.
    begins: tokio::sync::Mutex<()>,
}

impl Worlds {
    /// Begins a story in a new world, instead of the browser's former one.
    ///
    /// # Errors
    /// There is no room for its file.
    pub(crate) async fn begin(
        &self,
        browser: &str,
        story: usize,
        way: Way,
        lang: Lang,
        now: Duration,
    ) -> Result<(), Error> {
        let _alone = self.begins.lock().await;
        self.living().remove(browser);
        let world = World::begin(story, way, lang).await?;
        let mut living = self.living();
        living.retain(|_, (used, _)| *used + LEFT_ALONE > now);
        while living.len() >= MOST {
            let Some(oldest) = living.iter().min_by_key(|(_, (used, _))| *used).map(|(name, _)| name.clone()) else {
                break;
            };
            living.remove(&oldest);
        }
        living.insert(browser.to_owned(), (now, Arc::new(tokio::sync::Mutex::new(world))));
        Ok(())
    }

    /// The world of this browser, if it goes on.
    pub(crate) fn of(&self, browser: &str, now: Duration) -> Option<Shared> {
        let mut living = self.living();
        living.retain(|_, (used, _)| *used + LEFT_ALONE > now);
        let (used, world) = living.get_mut(browser)?;
        *used = now;
        Some(world.clone())
    }

    /// Makes the step with this number in the browser's world. One that was made already is not made again: a second click changes
    /// nothing. Returns whether there is a world.
    ///
    /// # Errors
    /// Its database failed.
    pub(crate) async fn step(&self, browser: &str, at: usize, typed: &str, now: Duration) -> Result<bool, Error> {
        let Some(world) = self.of(browser, now) else { return Ok(false) };
        let mut world = world.lock().await;
        if world.next().is_some_and(|(next, _)| next == at) {
            world.step(typed).await?;
        }
        Ok(true)
    }

    fn living(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Duration, Shared)>> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
