use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use tokio::{sync::Notify, time::sleep};

use super::*;

const IDLE: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(1);

/// Counts loads, and the parts that live.
#[derive(Default)]
struct Counts {
    loads: AtomicUsize,
    alive: AtomicUsize,
}

struct Part(Arc<Counts>);

impl Part {
    fn load(counts: &Arc<Counts>) -> Arc<Self> {
        counts.loads.fetch_add(1, SeqCst);
        counts.alive.fetch_add(1, SeqCst);
        Arc::new(Self(counts.clone()))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, SeqCst);
    }
}

fn counted(counts: &Arc<Counts>) -> Lazy<Part> {
    let counts = counts.clone();
    Lazy::new("part", move || {
        let counts = counts.clone();
        async move {
            sleep(Duration::from_secs(1)).await;
            Ok(Part::load(&counts))
        }
    })
}

fn seen(counts: &Counts) -> (usize, usize) {
    (counts.loads.load(SeqCst), counts.alive.load(SeqCst))
}

/// Lets the tasks and the thread that drop parts catch up with the paused clock; with a part that stays, it never ends.
async fn until_alive(counts: &Counts, alive: usize) {
    while counts.alive.load(SeqCst) != alive {
        tokio::task::spawn_blocking(std::thread::yield_now).await.expect("yielding does not panic");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_loaded_before_the_first_use_and_once_for_all_who_come_meanwhile() {
    let counts = Arc::default();
    let lazy = counted(&counts);
    sleep(IDLE).await;
    assert_eq!(seen(&counts), (0, 0));
    let users = futures::future::join_all((0..10).map(|_| lazy.get())).await;
    assert!(users.iter().all(|user| user.is_ok()));
    drop(lazy.get().await.expect("loaded"));
    assert_eq!(seen(&counts), (1, 1));
    assert!(lazy.is_loaded());
    drop((users, lazy));
    until_alive(&counts, 0).await;
}

#[tokio::test(start_paused = true)]
async fn it_is_released_after_its_idle_time_and_loaded_again() {
    let counts = Arc::default();
    let lazy = counted(&counts).release_after(IDLE);
    for round in 1..=3 {
        drop(lazy.get().await.expect("it loads"));
        sleep(IDLE - MOMENT * 2).await;
        assert_eq!(seen(&counts), (round, 1), "not yet idle for long enough");
        drop(lazy.get().await.expect("it is there"));
        sleep(IDLE - MOMENT * 2).await;
        assert_eq!(seen(&counts), (round, 1), "the last use counts");
        sleep(MOMENT * 4).await;
        until_alive(&counts, 0).await;
        assert!(!lazy.is_loaded());
    }
}

#[tokio::test(start_paused = true)]
async fn without_an_idle_time_it_stays() {
    let counts = Arc::default();
    let lazy = counted(&counts);
    drop(lazy.get().await.expect("it loads"));
    sleep(IDLE * 1000).await;
    assert_eq!(seen(&counts), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn it_is_not_released_while_in_use() {
    let counts = Arc::default();
    let lazy = counted(&counts).release_after(IDLE);
    let (first, second) = (lazy.get().await.expect("it loads"), lazy.get().await.expect("it is there"));
    sleep(IDLE * 10).await;
    drop(first);
    sleep(IDLE * 10).await;
    assert_eq!(seen(&counts), (1, 1), "one user is left");
    drop(second);
    sleep(IDLE - MOMENT * 2).await;
    assert_eq!(seen(&counts), (1, 1), "the idle time begins with the end of the last use");
    sleep(MOMENT * 4).await;
    until_alive(&counts, 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_load_longer_than_the_idle_time_is_not_released_before_it_is_used() {
    let counts = Arc::default();
    let lazy = counted(&counts).release_after(Duration::from_millis(10));
    assert_eq!(lazy.get().await.expect("it loads").0.alive.load(SeqCst), 1);
    assert_eq!(counts.loads.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn preloading_starts_at_once_and_counts_as_a_use() {
    let counts = Arc::default();
    let lazy = counted(&counts).release_after(IDLE);
    lazy.preload().expect("within a runtime");
    lazy.preload().expect("within a runtime");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(seen(&counts), (1, 1));
    drop(lazy.get().await.expect("it is there"));
    assert_eq!(seen(&counts), (1, 1));
    sleep(IDLE * 2).await;
    until_alive(&counts, 0).await;
    lazy.preload().expect("within a runtime");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(seen(&counts), (2, 1));
    sleep(IDLE * 2).await;
    until_alive(&counts, 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_load_goes_on_when_its_caller_is_gone() {
    let counts = Arc::default();
    let lazy = counted(&counts);
    for _ in 0..3 {
        let hasty = tokio::time::timeout(Duration::from_millis(400), lazy.get()).await;
        assert!(hasty.is_err() || lazy.is_loaded());
    }
    assert_eq!(seen(&counts), (1, 1), "three callers of 0.4 s each had one load of 1 s");
}

#[tokio::test(start_paused = true)]
async fn a_failed_load_is_told_to_all_who_waited_and_tried_again_at_the_next_use() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counter = tries.clone();
    let lazy = Lazy::new("part", move || {
        let number = counter.fetch_add(1, SeqCst);
        async move {
            sleep(Duration::from_secs(1)).await;
            match number {
                0 => Err(Error::ModelUnavailable { model: "m".into(), hint: "fetch it".into() }),
                1 => Err(Error::other("read it", std::io::Error::other("device gone"))),
                2 => panic!("no such luck"),
                _ => Ok(Arc::new(7)),
            }
        }
    });
    for error in futures::future::join_all((0..5).map(|_| lazy.get())).await {
        assert!(matches!(error, Err(Error::ModelUnavailable { .. })), "{error:?}");
    }
    assert_eq!(tries.load(SeqCst), 1);
    let chain = lazy.get().await.expect_err("the second load fails too").chain();
    assert_eq!(chain, "cannot load part: cannot read it: device gone");
    assert!(matches!(lazy.get().await, Err(Error::Contract { part, .. }) if part == "part"));
    assert_eq!(*lazy.get().await.expect("the fourth load works"), 7);
    assert_eq!(tries.load(SeqCst), 4);
}

#[test]
fn it_outlives_the_runtime_that_loaded_it_and_needs_one() {
    let counts = Arc::default();
    let lazy = counted(&counts).release_after(IDLE);
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime starts");
    runtime().block_on(async { drop(lazy.get().await.expect("it loads")) });
    assert!(matches!(lazy.preload(), Err(Error::InvalidInput(why)) if why.contains("tokio runtime")));
    runtime().block_on(async {
        drop(lazy.get().await.expect("it is there"));
        assert_eq!(seen(&counts), (1, 1));
        sleep(IDLE * 2).await;
        until_alive(&counts, 0).await;
    });
    // A load that its runtime took with it.
    runtime().block_on(async { lazy.preload().expect("within a runtime") });
    runtime().block_on(async { drop(lazy.get().await.expect("whoever waits drives it")) });
}

#[tokio::test(flavor = "multi_thread")]
async fn many_users_and_releases_at_once_never_meet_a_released_part() {
    let counts = Arc::<Counts>::default();
    let inner = counts.clone();
    let load = move || futures::future::ready(Ok(Part::load(&inner)));
    let lazy = Arc::new(Lazy::new("part", load).release_after(Duration::from_micros(50)));
    let start = Arc::new(Notify::new());
    let users = (0..8).map(|user| {
        let (lazy, start) = (lazy.clone(), start.clone());
        tokio::spawn(async move {
            start.notified().await;
            for round in 0..200 {
                let part = lazy.get().await.expect("it loads");
                assert!(part.0.alive.load(SeqCst) >= 1);
                drop(part);
                if (round + user) % 3 == 0 {
                    sleep(MOMENT).await;
                }
            }
        })
    });
    let users: Vec<_> = users.collect();
    tokio::task::yield_now().await;
    start.notify_waiters();
    for user in users {
        start.notify_one();
        user.await.expect("no user panics");
    }
    drop(lazy);
    until_alive(&counts, 0).await;
}
