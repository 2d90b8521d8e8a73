//! Finding and loading the ONNX Runtime library, once for the process.
//!
//! Looked for in this order: the file that `ORT_DYLIB_PATH` names; `onnxruntime/` in the [cache folder](cache_folder); wherever
//! the system looks for libraries. Version 1.17 or newer; tested with 1.32.

use std::{
    env,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use ort::environment::Environment;
use sensetree_core::{Error, Result};

static LOADED: Mutex<Option<Environment>> = Mutex::new(None);

/// Where set-up scripts put libraries and models: `SENSETREE_CACHE`, else `sensetree` in the user's cache folder
/// (`XDG_CACHE_HOME`, `~/.cache`, or `LOCALAPPDATA` on Windows). None when the environment names no home.
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("SENSETREE_CACHE").or_else(|| {
        let caches = set("XDG_CACHE_HOME").or_else(|| set("LOCALAPPDATA")).or_else(|| Some(set("HOME")?.join(".cache")));
        Some(caches?.join("sensetree"))
    })
}

/// Loads the library if that has not happened yet.
///
/// # Errors
/// [`Error::Runtime`] when it is missing, too old, or refuses to start; the message says what to install or set.
pub fn load() -> Result<()> {
    environment().map(|_| ())
}

pub(crate) fn environment() -> Result<Environment> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = &*loaded {
        return Ok(environment.clone());
    }
    let library = library()?;
    // Models and texts stay on this machine, and so does the news that they were run.
    let environment = ort::init_from(&library)
        .map_err(|e| unusable(format!("{e}; {ADVICE}")))?
        .with_name("sensetree")
        .with_telemetry(false)
        .build()
        .map_err(|e| unusable(format!("{} does not start: {e}", library.display())))?;
    tracing::debug!(library = %library.display(), "ONNX Runtime loaded");
    *loaded = Some(environment.clone());
    Ok(environment)
}

const ADVICE: &str = "install ONNX Runtime 1.17 or newer (`make setup` in the repository does it), \
                      or set ORT_DYLIB_PATH to the file of its shared library";

fn unusable(reason: String) -> Error {
    Error::Runtime { reason }
}

fn library() -> Result<PathBuf> {
    if let Some(named) = env::var_os("ORT_DYLIB_PATH").filter(|value| !value.is_empty()) {
        let named = PathBuf::from(named);
        // A bare name is looked up by the system, so only a path can be known to be wrong.
        if named.components().count() > 1 && !named.is_file() {
            return Err(unusable(format!("ORT_DYLIB_PATH names {}, which is not a file; {ADVICE}", named.display())));
        }
        return Ok(named);
    }
    let name = format!("{}onnxruntime{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let cached = cache_folder().map(|folder| folder.join("onnxruntime").join(&name));
    Ok(cached.filter(|file| file.is_file()).unwrap_or_else(|| name.into()))
}
