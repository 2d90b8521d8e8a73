//! Threads that own what cannot be shared, and a queue in front of them.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use crate::Urgency;

/// Work for whichever thread is free first.
type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Each thread owns one state of type `S`; more urgent jobs overtake others, and the most urgent may have a thread that does nothing else.
#[derive(Debug)]
pub(crate) struct Workers<S> {
    shared: Arc<Shared<S>>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared<S> {
    queue: Mutex<Queue<S>>,
    work_or_end: Condvar,
}

/// What a thread takes from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Everything,
    Queries,
}

struct Queue<S> {
    queries: VecDeque<Job<S>>,
    candidates: VecDeque<Job<S>>,
    passages: VecDeque<Job<S>>,
    ended: bool,
}

impl<S> Queue<S> {
    fn of(&mut self, urgency: Urgency) -> &mut VecDeque<Job<S>> {
        match urgency {
            Urgency::Query => &mut self.queries,
            Urgency::Candidate => &mut self.candidates,
            Urgency::Passage => &mut self.passages,
        }
    }
}

impl<S> std::fmt::Debug for Shared<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let queue = self.lock();
        let (queries, candidates, passages) = (queue.queries.len(), queue.candidates.len(), queue.passages.len());
        let mut text = f.debug_struct("Queue");
        text.field("queries", &queries).field("candidates", &candidates).field("passages", &passages).finish()
    }
}

impl<S> Shared<S> {
    fn lock(&self) -> MutexGuard<'_, Queue<S>> {
        // Jobs run outside the lock, so a panic cannot leave the queue half changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, takes: Takes) -> Option<Job<S>> {
        let mut queue = self.lock();
        loop {
            if queue.ended {
                return None;
            }
            let urgencies: &[Urgency] = match takes {
                Takes::Everything => &[Urgency::Query, Urgency::Candidate, Urgency::Passage],
                Takes::Queries => &[Urgency::Query],
            };
            if let Some(job) = urgencies.iter().find_map(|&urgency| queue.of(urgency).pop_front()) {
                return Some(job);
            }
            queue = self.work_or_end.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<S: Send + 'static> Workers<S> {
    /// One thread for each state.
    pub(crate) fn start(name: &str, states: Vec<(S, Takes)>) -> std::io::Result<Self> {
        let queue = Queue { queries: VecDeque::new(), candidates: VecDeque::new(), passages: VecDeque::new(), ended: false };
        let shared = Arc::new(Shared { queue: Mutex::new(queue), work_or_end: Condvar::new() });
        // Built before the threads, so that a failure to start one ends those that run.
        let mut workers = Self { shared, threads: Vec::new() };
        for (i, (mut state, takes)) in states.into_iter().enumerate() {
            let shared = workers.shared.clone();
            let thread = std::thread::Builder::new().name(format!("{name}-{i}")).spawn(move || {
                while let Some(job) = shared.next(takes) {
                    job(&mut state);
                }
            })?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Queues `work`; its result, or the panic it ended with, comes through the receiver. Work whose receiver is gone by
    /// the time a thread is free is not done.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        urgency: Urgency,
        work: impl FnOnce(&mut S) -> T + Send + 'static,
    ) -> futures::channel::oneshot::Receiver<Result<T, String>> {
        let (sender, receiver) = futures::channel::oneshot::channel();
        let job: Job<S> = Box::new(move |state| {
            if !sender.is_canceled() {
                let result = catch_unwind(AssertUnwindSafe(|| work(state))).map_err(|panic| panic_message(&*panic));
                // The caller may have gone away meanwhile; nobody is left to tell.
                let _ = sender.send(result);
            }
        });
        let mut queue = self.shared.lock();
        queue.of(urgency).push_back(job);
        drop(queue);
        // All, since the one that would be woken may not take this kind of work.
        self.shared.work_or_end.notify_all();
        receiver
    }
}

impl<S> Drop for Workers<S> {
    /// Forgets what is queued and waits for what is running: one text.
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.ended = true;
        let waiting = [Urgency::Query, Urgency::Candidate, Urgency::Passage].map(|urgency| std::mem::take(queue.of(urgency)));
        drop(queue);
        // Outside the lock: dropping a job wakes whoever waits for it.
        drop(waiting);
        self.shared.work_or_end.notify_all();
        for thread in self.threads.drain(..) {
            // A worker thread never panics: jobs are caught.
            let _ = thread.join();
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use std::sync::mpsc;

    #[test]
    fn urgent_work_overtakes_what_waits_and_dropped_work_is_not_done() {
        let workers = Workers::start("test", vec![(Vec::<u32>::new(), Takes::Everything)]).expect("a thread starts");
        let (go, gate) = mpsc::channel::<()>();
        let first = workers.submit(Urgency::Passage, move |_| gate.recv().expect("the test opens the gate"));
        let patient = workers.submit(Urgency::Passage, |seen| seen.push(1));
        drop(workers.submit(Urgency::Passage, |seen| seen.push(99)));
        let candidate = workers.submit(Urgency::Candidate, |seen| seen.push(3));
        let urgent = workers.submit(Urgency::Query, |seen| seen.push(2));
        let seen = workers.submit(Urgency::Passage, |seen| seen.clone());
        go.send(()).expect("the worker waits");
        block_on(async {
            first.await.expect("the worker answers").expect("no panic");
            urgent.await.expect("the worker answers").expect("no panic");
            candidate.await.expect("the worker answers").expect("no panic");
            patient.await.expect("the worker answers").expect("no panic");
            assert_eq!(seen.await.expect("the worker answers"), Ok(vec![2, 3, 1]));
        });
    }

    #[test]
    fn a_query_need_not_wait_for_the_end_of_other_work() {
        let workers = Workers::start("test", vec![((), Takes::Everything), ((), Takes::Queries)]).expect("threads start");
        let (go, gate) = mpsc::channel::<()>();
        let (started, has_started) = mpsc::channel();
        let first = workers.submit(Urgency::Passage, move |()| {
            started.send(()).expect("the test waits for it");
            gate.recv().expect("the test opens the gate")
        });
        has_started.recv().expect("a thread is free");
        let mut waiting = workers.submit(Urgency::Candidate, |()| ());
        block_on(workers.submit(Urgency::Query, |()| ())).expect("the worker answers").expect("no panic");
        assert_eq!(waiting.try_recv().expect("the worker lives"), None, "the thread is for queries");
        go.send(()).expect("the worker waits");
        block_on(async {
            first.await.expect("the worker answers").expect("no panic");
            waiting.await.expect("the worker answers").expect("no panic");
        });
    }

    #[test]
    fn a_panic_is_an_answer_and_the_thread_lives_on() {
        let workers = Workers::start("test", vec![((), Takes::Everything)]).expect("a thread starts");
        let panicked =
            block_on(workers.submit(Urgency::Passage, |()| -> u32 { panic!("no such luck") })).expect("the worker answers");
        assert_eq!(panicked, Err("no such luck".into()));
        assert_eq!(block_on(workers.submit(Urgency::Passage, |()| 7)).expect("the worker answers"), Ok(7));
    }
}
