//! The client against real servers on loopback.

mod it {
    mod chat;
    mod client;
    mod secrets;
    mod support;
}
