//! One binary for the integration tests of this crate.

mod it {
    #[cfg(feature = "hub")]
    mod hub;
    #[cfg(feature = "hub")]
    mod hub_faults;
    mod models;
    #[cfg(feature = "hub")]
    mod server;
    mod support;
}
