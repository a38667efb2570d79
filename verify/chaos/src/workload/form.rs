//! W6: somebody opens a form in a browser, thinks, and sends it: once, twice at the same time, again after Stop or Back.

use super::{Task, Workload};
use crate::browser::{Browser, field};
use crate::history::{Answered, Args, Function, Gesture, Guarded};
use crate::pages::{Made, Told};
use crate::subject::{Answer, Appended, Refusal, Subject};

/// What an answer to a form that was saved before must not be: it was compared with its own save.
const OF_A_CONFLICT: [&str; 5] = ["version-conflict", "lost-race", "already-locked", "lock-expired", "lock-released"];

/// What all answers to one form may take together: the person waits 12 s for each of up to three.
const LIMIT_MS: u64 = 40_000;

/// A form that was opened.
#[derive(Debug)]
struct Opened {
    csrf: String,
    form_id: String,
    version: String,
    number: i64,
    len: u64,
    digest: u64,
}

impl Answered for Opened {
    fn args(&self) -> Args {
        Args { version: Some(self.number), len: Some(self.len), digest: Some(self.digest), ..Args::default() }
    }
}

impl Answered for Told {
    fn args(&self) -> Args {
        let Told { generation, since_ms, remaining_ms } = *self;
        Args {
            generation: Some(generation),
            since_ms: Some(since_ms),
            remaining_ms: Some(remaining_ms),
            ..Args::default()
        }
    }
}

impl<S: Subject> Task<S> {
    pub(super) async fn with_form(&mut self) -> Answer<()> {
        let browser = self.browser.clone().ok_or_else(|| Refusal::sure("connection-lost"))?;
        let ledger = self.pick(Workload::Form);
        let opened = self.open(&browser, &ledger).await?;
        self.keys.seen(&ledger, opened.number);
        let lock = match self.random.chance(50) {
            true => Some(self.lock_form(&browser, &ledger, &opened).await?),
            false => None,
        };
        if self.random.chance(30) {
            // Some forms stay open for longer than their lease lives.
            let think = if self.random.chance(10) { self.random.millis(0, 4000) } else { self.random.millis(0, 100) };
            tokio::time::sleep(think).await;
        }
        self.send(&browser, &ledger, &opened, lock).await.map(drop)
    }

    async fn open(&mut self, browser: &Browser, ledger: &str) -> Answer<Opened> {
        let (op, path) = (self.recorder.next_id(), format!("/ledgers/{ledger}"));
        let load = async { parsed(&browser.get(&path).await?) };
        let opened = self.recorder.call(Function::Read, &op, &[ledger], Args::default(), load).await;
        if opened.as_ref().is_err_and(Refusal::is_not_found) {
            let op = self.recorder.next_id();
            let (path, csrf) = (format!("/ledgers/{ledger}/new"), browser.csrf());
            let fields = [("csrf", csrf.as_str()), ("op", &op)];
            let make = async { made(&browser.post(&path, &fields, None).await?) };
            self.recorder.call(Function::Insert, &op, &[ledger], Args::default(), make).await?;
        }
        opened
    }

    /// Locks the ledger for the form: the operation that did.
    async fn lock_form(&mut self, browser: &Browser, ledger: &str, opened: &Opened) -> Answer<String> {
        let (op, path) = (self.recorder.next_id(), format!("/ledgers/{ledger}/lock"));
        let fields = [("csrf", opened.csrf.as_str()), ("form_id", &opened.form_id)];
        let lock = async {
            let text = browser.post(&path, &fields, None).await?;
            serde_json::from_str::<Told>(&text).map_err(|_| Refusal::sure("bad-form"))
        };
        let args = Args { lock: Some(op.clone()), ..Args::default() };
        self.recorder.call(Function::Lock, &op, &[ledger], args, lock).await?;
        Ok(op)
    }

    async fn send(
        &mut self,
        browser: &Browser,
        ledger: &str,
        opened: &Opened,
        lock: Option<String>,
    ) -> Answer<Appended> {
        let gesture = match self.random.below(100) {
            0..40 => Gesture::Click,
            40..60 => Gesture::DoubleClick,
            60..70 => Gesture::Stop,
            70..85 => Gesture::StopAndAgain,
            _ => Gesture::Back,
        };
        let op = self.recorder.next_id();
        let (path, pause) = (format!("/ledgers/{ledger}"), self.pause().as_millis().to_string());
        let (stop, back) = (self.random.millis(0, 25), self.random.millis(0, 300));
        let fields = [
            ("csrf", opened.csrf.as_str()),
            ("form_id", &opened.form_id),
            ("version", &opened.version),
            ("op", &op),
            ("pause_ms", &pause),
        ];
        let once = async |patience| made(&browser.post(&path, &fields, patience).await?);
        let sent = async {
            match gesture {
                Gesture::Click => once(None).await,
                Gesture::DoubleClick => {
                    let (first, second) = tokio::join!(once(None), once(None));
                    one_of(first, second)
                }
                Gesture::Stop => once(Some(stop)).await,
                Gesture::StopAndAgain => {
                    let first = once(Some(stop)).await;
                    one_of(first, once(None).await)
                }
                Gesture::Back => match once(None).await {
                    Ok(saved) => {
                        tokio::time::sleep(back).await;
                        again(saved, once(None).await)
                    }
                    refused => refused,
                },
            }
        };
        let args = Args {
            lock,
            gesture: Some(gesture),
            guard: Some(Guarded::Form),
            limit_ms: Some(LIMIT_MS),
            ..Args::default()
        };
        let saved = self.recorder.call(Function::Form, &op, &[ledger], args, sent).await;
        if let Ok(Appended { version: Some(version), .. }) = saved {
            self.keys.seen(ledger, version);
        }
        saved
    }
}

fn parsed(page: &str) -> Answer<Opened> {
    let opened = || {
        Some(Opened {
            csrf: field(page, "csrf")?.to_owned(),
            form_id: field(page, "form_id")?.to_owned(),
            version: field(page, "version")?.to_owned(),
            number: field(page, "number")?.parse().ok()?,
            len: field(page, "len")?.parse().ok()?,
            digest: field(page, "digest")?.parse().ok()?,
        })
    };
    opened().ok_or_else(|| Refusal::sure("bad-form"))
}

fn made(text: &str) -> Answer<Appended> {
    serde_json::from_str::<Made>(text).map(Appended::from).map_err(|_| Refusal::sure("bad-form"))
}

/// What is known of a form that was sent twice. It must not be saved as two versions.
fn one_of(first: Answer<Appended>, second: Answer<Appended>) -> Answer<Appended> {
    match (first, second) {
        (Ok(one), Ok(other)) if one.version != other.version => Err(Refusal {
            text: Some(format!("{:?} and {:?}", one.version, other.version)),
            ..Refusal::unknown("two-versions")
        }),
        (Ok(saved), _) | (_, Ok(saved)) => Ok(saved),
        (Err(refusal), Err(_)) if refusal.unknown => Err(refusal),
        (_, refused) => refused,
    }
}

/// What is known of a form that was saved, and then sent again. It must get the same answer, unless nobody could answer.
fn again(saved: Appended, answer: Answer<Appended>) -> Answer<Appended> {
    match answer {
        Err(refusal) if OF_A_CONFLICT.contains(&refusal.code.as_str()) => {
            Err(Refusal { text: Some(refusal.code), ..Refusal::unknown("saved-form-refused") })
        }
        answer => one_of(Ok(saved), answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(version: i64) -> Answer<Appended> {
        Ok(Appended { version: Some(version), ..Appended::default() })
    }

    fn code(answer: Answer<Appended>) -> String {
        answer.map_or_else(|refusal| refusal.code, |saved| format!("{:?}", saved.version))
    }

    #[test]
    fn form_sent_twice_is_saved_if_either_answer_says_so() {
        let refused = || Err(Refusal::sure("connection-lost"));
        let unknown = || Err(Refusal::unknown("outcome-unknown"));
        assert_eq!(code(one_of(saved(2), refused())), "Some(2)");
        assert_eq!(code(one_of(unknown(), saved(2))), "Some(2)");
        assert_eq!(code(one_of(unknown(), refused())), "outcome-unknown");
        assert_eq!(code(one_of(refused(), unknown())), "outcome-unknown");
        assert_eq!(code(one_of(refused(), Err(Refusal::sure("lost-race")))), "lost-race");
        assert_eq!(code(one_of(saved(2), saved(3))), "two-versions");
    }

    #[test]
    fn saved_form_that_is_refused_later_is_found() {
        let refused = |code| Err(Refusal::sure(code));
        let first = || Appended { version: Some(2), ..Appended::default() };
        assert_eq!(code(again(first(), saved(2))), "Some(2)");
        assert_eq!(code(again(first(), refused("connection-lost"))), "Some(2)");
        assert_eq!(code(again(first(), refused("version-conflict"))), "saved-form-refused");
        assert_eq!(code(again(first(), saved(3))), "two-versions");
    }
}
