//! One binary for all integration tests: every further one would link the database again.

mod it {
    mod command_line;
    mod models;
    mod store;
    mod support;
}
