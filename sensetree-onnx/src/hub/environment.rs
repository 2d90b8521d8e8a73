//! What the hub's variables say, as `huggingface_hub` reads them.

use std::{fs, path::PathBuf, time::Duration};

use super::{Access, Hub};

pub(super) fn hub(variable: impl Fn(&str) -> Option<String>, home: Option<PathBuf>) -> Hub {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let is_true =
        |name: &str| set(name).is_some_and(|value| ["1", "on", "yes", "true"].contains(&value.trim().to_lowercase().as_str()));
    let caches = set("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(home?.join(".cache")));
    let hf_home = set("HF_HOME").map(PathBuf::from).or_else(|| Some(caches?.join("huggingface")));
    let cache = set("HF_HUB_CACHE").or_else(|| set("HUGGINGFACE_HUB_CACHE")).map(PathBuf::from);
    let stored = || {
        let file = set("HF_TOKEN_PATH").map(PathBuf::from).or_else(|| Some(hf_home.as_ref()?.join("token")))?;
        // Most people have none.
        fs::read_to_string(file).ok()
    };
    let token = if is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN") { None } else { set("HF_TOKEN").or_else(stored) };
    Hub {
        endpoint: set("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".into()),
        token: token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty()),
        cache: cache.or_else(|| Some(hf_home.as_ref()?.join("hub"))),
        access: if is_true("HF_HUB_OFFLINE") { Access::Offline } else { Access::CacheFirst },
        timeout: Duration::from_secs(20),
        progress: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(variables: &[(&str, &str)]) -> Hub {
        let variables: Vec<(String, String)> =
            variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let variable = move |name: &str| variables.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
        hub(variable, Some("/home/me".into()))
    }

    fn cache(variables: &[(&str, &str)]) -> PathBuf {
        described(variables).cache.expect("there is a home")
    }

    #[test]
    fn the_cache_is_where_other_programs_look_for_it() {
        assert_eq!(cache(&[]), PathBuf::from("/home/me/.cache/huggingface/hub"));
        assert_eq!(cache(&[("XDG_CACHE_HOME", "/x")]), PathBuf::from("/x/huggingface/hub"));
        assert_eq!(cache(&[("XDG_CACHE_HOME", "/x"), ("HF_HOME", "/h")]), PathBuf::from("/h/hub"));
        assert_eq!(cache(&[("HF_HOME", "/h"), ("HF_HUB_CACHE", "/c")]), PathBuf::from("/c"));
        assert_eq!(cache(&[("HF_HOME", "")]), PathBuf::from("/home/me/.cache/huggingface/hub"), "empty is not set");
        assert_eq!(hub(|_| None, None).cache, None);
    }

    #[test]
    fn offline_and_a_mirror_are_taken_from_the_environment() {
        assert_eq!(described(&[("HF_HUB_OFFLINE", "1")]).access, Access::Offline);
        assert_eq!(described(&[("HF_HUB_OFFLINE", "true")]).access, Access::Offline);
        assert_eq!(described(&[("HF_HUB_OFFLINE", "0")]).access, Access::CacheFirst);
        assert_eq!(described(&[("HF_ENDPOINT", "https://mirror")]).endpoint, "https://mirror");
        assert_eq!(described(&[]).endpoint, "https://huggingface.co");
    }

    #[test]
    fn the_token_is_the_variable_or_what_the_tools_stored_and_is_not_shown() {
        let home = tempfile::tempdir().expect("a temporary folder");
        fs::write(home.path().join("token"), "stored\n").expect("the token is written");
        let hf_home = ("HF_HOME", home.path().to_str().expect("a path in UTF-8"));
        assert_eq!(described(&[hf_home]).token.as_deref(), Some("stored"));
        assert_eq!(described(&[hf_home, ("HF_TOKEN", "hf_secret")]).token.as_deref(), Some("hf_secret"));
        assert_eq!(described(&[hf_home, ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]).token, None);
        let shown = format!("{:?}", described(&[("HF_TOKEN", "hf_secret"), ("HF_ENDPOINT", "https://me:pass@mirror/hf")]));
        assert!(!shown.contains("hf_secret") && !shown.contains("pass"), "{shown}");
    }
}
