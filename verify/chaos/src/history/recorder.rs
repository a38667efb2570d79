//! Writes a history while it happens.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::future::poll_fn;
use std::io::Write;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use crate::Result;
use crate::clock::now_ns;
use crate::history::{Args, Event, Function, Stage};
use crate::subject::{Answer, Refusal};

/// What an answer says, for the history.
pub(crate) trait Answered {
    /// Its part of the line.
    fn args(&self) -> Args;
}

impl Answered for () {
    fn args(&self) -> Args {
        Args::default()
    }
}

/// The history of one task. All tasks of a process write to one file, each line in one write.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    file: Arc<File>,
    count: Arc<AtomicU64>,
    process: u64,
    task: u64,
    /// How often an outcome of this task was unknown: it goes on as another client.
    life: u64,
    /// How many times the last call of each kind was polled before it was ready.
    polls: HashMap<Function, u64>,
}

impl Recorder {
    /// For a process with this number. No two processes of a run have the same.
    pub(crate) fn new(folder: &Path, process: u64) -> Result<Self> {
        let path = folder.join(format!("client-{process:04}.jsonl"));
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Recorder { file: Arc::new(file), count: Arc::default(), process, task: 0, life: 0, polls: HashMap::new() })
    }

    /// For one task of the process.
    pub(crate) fn of_task(&self, task: u64) -> Self {
        Recorder { task, ..self.clone() }
    }

    /// An id that no other operation has.
    pub(crate) fn next_id(&self) -> String {
        format!("{}.{}", self.process, self.count.fetch_add(1, Ordering::Relaxed))
    }

    /// How many times a call of this kind is polled before it is ready, as far as is known.
    pub(crate) fn polls(&self, f: Function) -> u64 {
        self.polls.get(&f).copied().unwrap_or(0)
    }

    /// Writes the call, does it, and writes the answer. A call that is to be dropped may be ready before.
    ///
    /// # Panics
    /// If the history cannot be written: the run would be worth nothing.
    pub(crate) async fn call<T: Answered>(
        &mut self,
        f: Function,
        op: &str,
        agg: &[&str],
        args: Args,
        work: impl Future<Output = Answer<T>>,
    ) -> Answer<T> {
        let drop_after = args.drop_after;
        self.write(Stage::Invoke, f, op, agg, args);
        let answer = self.polled(f, drop_after, work).await;
        let (stage, args) = match &answer {
            Ok(value) => (Stage::Ok, value.args()),
            Err(Refusal { unknown, code, text }) => {
                let stage = if *unknown { Stage::Info } else { Stage::Fail };
                (stage, Args { code: Some(code.clone()), text: text.clone(), ..Args::default() })
            }
        };
        self.write(stage, f, op, agg, args);
        if stage == Stage::Info {
            self.life += 1;
        }
        answer
    }

    /// Polls a call until it is ready, or drops it.
    async fn polled<T>(
        &mut self,
        f: Function,
        drop_after: Option<u64>,
        work: impl Future<Output = Answer<T>>,
    ) -> Answer<T> {
        let (mut work, mut polls) = (pin!(work), 0);
        let ready = poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if drop_after == Some(polls) => Poll::Ready(None),
            Poll::Pending => {
                polls += 1;
                Poll::Pending
            }
        });
        let answer = ready.await.ok_or_else(Refusal::dropped)?;
        self.polls.insert(f, polls);
        answer
    }

    fn write(&self, stage: Stage, f: Function, op: &str, agg: &[&str], args: Args) {
        let client = format!("{}.{}.{}", self.process, self.task, self.life);
        let agg = agg.iter().map(|key| (*key).to_owned()).collect();
        let event = Event { stage, f, op: op.to_owned(), client, agg, mono_ns: now_ns(), args };
        let mut line = serde_json::to_vec(&event).expect("an event is plain data");
        line.push(b'\n');
        (&*self.file).write_all(&line).expect("the history can be written");
    }
}
