//! One binary for all integration tests: every further one would link the database again.

mod it {
    mod chat;
    mod command_line;
    mod faults;
    mod models;
    mod rebuild;
    mod settings;
    mod store;
    mod support;
    mod tree;
}
