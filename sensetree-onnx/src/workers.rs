//! Threads that own what cannot be shared, and a queue in front of them.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

/// Work for whichever thread is free first.
type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Each thread owns one state of type `S`; urgent jobs overtake the others, and may have a thread that does nothing else.
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
    UrgentOnly,
}

struct Queue<S> {
    urgent: VecDeque<Job<S>>,
    patient: VecDeque<Job<S>>,
    ended: bool,
}

impl<S> std::fmt::Debug for Shared<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let queue = self.lock();
        f.debug_struct("Queue").field("urgent", &queue.urgent.len()).field("patient", &queue.patient.len()).finish()
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
            if let Some(job) = queue.urgent.pop_front() {
                return Some(job);
            }
            if takes == Takes::Everything
                && let Some(job) = queue.patient.pop_front()
            {
                return Some(job);
            }
            queue = self.work_or_end.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<S: Send + 'static> Workers<S> {
    /// One thread for each state.
    pub(crate) fn start(name: &str, states: Vec<(S, Takes)>) -> std::io::Result<Self> {
        let queue = Queue { urgent: VecDeque::new(), patient: VecDeque::new(), ended: false };
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
        urgent: bool,
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
        if urgent {
            queue.urgent.push_back(job)
        } else {
            queue.patient.push_back(job)
        }
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
        let (urgent, patient) = (std::mem::take(&mut queue.urgent), std::mem::take(&mut queue.patient));
        drop(queue);
        // Outside the lock: dropping a job wakes whoever waits for it.
        drop((urgent, patient));
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
        let first = workers.submit(false, move |_| gate.recv().expect("the test opens the gate"));
        let patient = workers.submit(false, |seen| seen.push(1));
        drop(workers.submit(false, |seen| seen.push(99)));
        let urgent = workers.submit(true, |seen| seen.push(2));
        let seen = workers.submit(false, |seen| seen.clone());
        go.send(()).expect("the worker waits");
        block_on(async {
            first.await.expect("the worker answers").expect("no panic");
            urgent.await.expect("the worker answers").expect("no panic");
            patient.await.expect("the worker answers").expect("no panic");
            assert_eq!(seen.await.expect("the worker answers"), Ok(vec![2, 1]));
        });
    }

    #[test]
    fn urgent_work_need_not_wait_for_the_end_of_other_work() {
        let workers = Workers::start("test", vec![((), Takes::Everything), ((), Takes::UrgentOnly)]).expect("threads start");
        let (go, gate) = mpsc::channel::<()>();
        let first = workers.submit(false, move |()| gate.recv().expect("the test opens the gate"));
        let mut waiting = workers.submit(false, |()| ());
        block_on(workers.submit(true, |()| ())).expect("the worker answers").expect("no panic");
        assert_eq!(waiting.try_recv().expect("the worker lives"), None, "only urgent work overtakes");
        go.send(()).expect("the worker waits");
        block_on(async {
            first.await.expect("the worker answers").expect("no panic");
            waiting.await.expect("the worker answers").expect("no panic");
        });
    }

    #[test]
    fn a_panic_is_an_answer_and_the_thread_lives_on() {
        let workers = Workers::start("test", vec![((), Takes::Everything)]).expect("a thread starts");
        let panicked = block_on(workers.submit(false, |()| -> u32 { panic!("no such luck") })).expect("the worker answers");
        assert_eq!(panicked, Err("no such luck".into()));
        assert_eq!(block_on(workers.submit(false, |()| 7)).expect("the worker answers"), Ok(7));
    }
}
