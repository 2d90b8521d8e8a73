//! The hub's protocol: what a repository has, and the bytes of its files.
//!
//! What a repository has is asked through `hf-hub`. Its downloads (1.0) are not used: they begin again after a cut, take the page
//! of a failed request for the file, compare no checksum, and give up on a lock after ten seconds. Files come by
//! `GET /ID/resolve/COMMIT/FILE`, large ones by way of a redirect to another host.

use std::{collections::BTreeMap, path::Path, pin::pin, time::Duration};

use futures::TryStreamExt;
use hf_hub::{
    HFClient, HFError, HFRepository,
    repository::{RepoTreeEntry, RepoTypeModel},
    split_id,
};
use reqwest::{
    Client, Method, RequestBuilder, Response, StatusCode, Url,
    header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, RANGE, RETRY_AFTER},
    redirect::Policy,
};
use sensetree_core::{Error, Result};
use tokio::{fs, io::AsyncWriteExt, time::sleep};

use super::{
    Hub,
    repository::{Repository, is_commit},
};
use crate::Precision;

/// What tells a file's contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    /// In bytes.
    pub(super) size: Option<u64>,
    /// The ETag: a checksum, on the hub itself.
    pub(super) tag: String,
}

/// The files of one commit.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) commit: String,
    files: BTreeMap<String, Option<Stamp>>,
}

impl Listing {
    pub(super) fn has(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }
}

/// What is asked for first, as it is told.
const LIST: &str = "the list of its files";

/// One repository on one endpoint.
pub(super) struct Remote {
    api: HFClient,
    client: Client,
    timeout: Duration,
    endpoint: Url,
    token: Option<HeaderValue>,
    repository: Repository,
}

/// Why one try failed.
enum Failure {
    /// It may work later. `wait` is what the server asked for.
    Passing { reason: String, wait: Option<Duration>, progressed: bool },
    /// It will not.
    Lasting(Error),
}

/// How often something that may pass is tried again, and how soon.
struct Patience {
    left: u32,
    pause: Duration,
}

const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Patience {
    const NEW: Self = Self { left: TRIES - 1, pause: FIRST_PAUSE };

    /// Waits for the next try, or says why there is none.
    async fn after(&mut self, failure: Failure, remote: &Remote, what: &str) -> Result<()> {
        let (reason, wait, progressed) = match failure {
            Failure::Lasting(error) => return Err(error),
            Failure::Passing { reason, wait, progressed } => (reason, wait, progressed),
        };
        if progressed {
            *self = Self::NEW;
        }
        if self.left == 0 {
            return Err(remote.unavailable(what, &format!("{reason}; {TRIES} tries")));
        }
        tracing::debug!(what, left = self.left, "tried again: {reason}");
        sleep(wait.unwrap_or(self.pause).min(LONGEST_PAUSE)).await;
        self.left -= 1;
        self.pause *= 2;
        Ok(())
    }
}

impl Remote {
    pub(super) fn new(hub: &Hub, repository: Repository) -> Result<Self> {
        let endpoint = Url::parse(&hub.endpoint).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
        let endpoint = endpoint.ok_or_else(|| {
            let shown = without_secrets(&hub.endpoint);
            Error::invalid(format!("the hub's address {shown:?} (HF_ENDPOINT) is not one; write https://host"))
        })?;
        let token = hub.token.as_ref().map(|token| {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| Error::invalid("the hub's token (HF_TOKEN) has characters that no token has"))?;
            value.set_sensitive(true);
            Ok(value)
        });
        let client = client(hub.timeout, Policy::default())?;
        // Tried again here, where the pauses that a server asks for are kept.
        let api = HFClient::builder().endpoint(endpoint.as_str()).client(client.clone()).retry_max_attempts(0);
        let api = hub.token.iter().fold(api, |api, token| api.token(token));
        let api = api.build().map_err(|e| Error::other("set up the connection to the hub", e))?;
        Ok(Self { api, client, timeout: hub.timeout, endpoint, token: token.transpose()?, repository })
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// What the revision has.
    pub(super) async fn listing(&self) -> Result<Listing> {
        let mut patience = Patience::NEW;
        loop {
            match self.listing_once().await {
                Ok(listing) => return Ok(listing),
                Err(failure) => patience.after(failure, self, LIST).await?,
            }
        }
    }

    /// Whether another repository has a graph, as far as one request tells.
    pub(super) async fn has_graph(&self, id: &str) -> bool {
        let info = self.hub_repository(id).info().send().await;
        let files = info.ok().and_then(|info| info.siblings).unwrap_or_default();
        Precision::all().any(|(graph, _)| files.iter().any(|file| file.rfilename == graph))
    }

    async fn listing_once(&self) -> Result<Listing, Failure> {
        let repository = self.hub_repository(self.repository.id());
        let revision = self.repository.revision();
        let info = repository.info().revision(revision).send().await.map_err(|e| self.refused_list(e))?;
        let commit = info.sha.filter(|sha| is_commit(sha));
        let commit = commit.ok_or_else(|| self.not_the_hubs("it names no commit"))?;
        let mut files = BTreeMap::new();
        let entries = repository.list_tree().revision(commit.as_str()).recursive(true).send();
        let mut entries = pin!(entries.map_err(|e| self.refused_list(e))?);
        loop {
            match entries.try_next().await {
                Ok(Some(RepoTreeEntry::File { path, oid, size, lfs, .. })) => {
                    // A large file is stored under its own checksum; `oid` is that of the note that stands for it in Git.
                    let tag = lfs.map_or(Some(oid), |large| large.sha256);
                    files.insert(path, tag.filter(|tag| is_tag(tag)).map(|tag| Stamp { size: Some(size), tag }));
                }
                Ok(Some(RepoTreeEntry::Directory { .. })) => {}
                Ok(None) => break,
                // Some mirrors have no tree, but list the names with the commit.
                Err(HFError::Http { context }) if context.status == StatusCode::NOT_FOUND => {
                    files = info.siblings.unwrap_or_default().into_iter().map(|file| (file.rfilename, None)).collect();
                    break;
                }
                Err(e) => return Err(self.refused_list(e)),
            }
        }
        Ok(Listing { commit, files })
    }

    fn hub_repository(&self, id: &str) -> HFRepository<RepoTypeModel> {
        let (owner, name) = split_id(id);
        self.api.model(owner, name)
    }

    fn refused_list(&self, error: HFError) -> Failure {
        let context = match error {
            HFError::Request { source, .. } => return passing(source),
            HFError::RateLimited { retry_after, context } => return self.refused(LIST, context.status, None, retry_after),
            HFError::Http { context } | HFError::AuthRequired { context } | HFError::Forbidden { context } => Some(context),
            HFError::RepoNotFound { context, .. } | HFError::RevisionNotFound { context, .. } => context,
            other => return self.not_the_hubs(&other.to_string()),
        };
        let (status, said) = context.map_or((StatusCode::NOT_FOUND, None), |context| (context.status, context.server_message));
        self.refused(LIST, status, said.as_deref(), None)
    }

    fn not_the_hubs(&self, why: &str) -> Failure {
        Failure::Lasting(self.unavailable(LIST, &format!("the answer is not the hub's: {why}")))
    }

    /// What tells the contents of a file of the listing. Mirrors that do not list it say it when the file is asked for.
    pub(super) async fn stamp(&self, listing: &Listing, file: &str) -> Result<Stamp> {
        if let Some(Some(stamp)) = listing.files.get(file) {
            return Ok(stamp.clone());
        }
        let mut patience = Patience::NEW;
        loop {
            match self.stamp_once(&listing.commit, file).await {
                Ok(stamp) => return Ok(stamp),
                Err(failure) => patience.after(failure, self, file).await?,
            }
        }
    }

    async fn stamp_once(&self, commit: &str, file: &str) -> Result<Stamp, Failure> {
        // The hub's own answer has the headers; the host that it redirects to does not know them.
        let origin = (self.endpoint.host_str().map(str::to_owned), self.endpoint.port_or_known_default());
        let policy = Policy::custom(move |attempt| {
            let next = (attempt.url().host_str().map(str::to_owned), attempt.url().port_or_known_default());
            if next == origin && attempt.previous().len() < 10 { attempt.follow() } else { attempt.stop() }
        });
        let client = client(self.timeout, policy).map_err(Failure::Lasting)?;
        let response = self.send(self.request(&client, Method::HEAD, self.file_url(commit, file)), file).await?;
        let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let tag = text("x-linked-etag").or_else(|| text(ETAG.as_str())).map(|tag| tag.trim_start_matches("W/").trim_matches('"'));
        let tag = tag.filter(|tag| is_tag(tag)).ok_or_else(|| {
            Failure::Lasting(
                self.unavailable(file, "the answer has no ETag; this is not the hub, or a mirror that changes its headers"),
            )
        })?;
        let own_size = || text(CONTENT_LENGTH.as_str()).filter(|_| response.status().is_success());
        let size = text("x-linked-size").or_else(own_size).and_then(|size| size.parse().ok());
        Ok(Stamp { size, tag: tag.to_owned() })
    }

    /// Appends to `partial` what it lacks. The contents are not looked at.
    pub(super) async fn download(
        &self,
        commit: &str,
        file: &str,
        stamp: &Stamp,
        partial: &Path,
        told: &(impl Fn(u64) + Sync),
    ) -> Result<()> {
        let mut patience = Patience::NEW;
        loop {
            match self.download_rest(commit, file, stamp, partial, told).await {
                Ok(()) => return Ok(()),
                Err(failure) => patience.after(failure, self, file).await?,
            }
        }
    }

    async fn download_rest(
        &self,
        commit: &str,
        file: &str,
        stamp: &Stamp,
        partial: &Path,
        told: &(impl Fn(u64) + Sync),
    ) -> Result<(), Failure> {
        let lasting = |e| Failure::Lasting(Error::io("write", partial)(e));
        let mut output = fs::OpenOptions::new().append(true).create(true).open(partial).await.map_err(lasting)?;
        let mut have = output.metadata().await.map_err(lasting)?.len();
        if stamp.size.is_some_and(|size| have > size) {
            output.set_len(0).await.map_err(lasting)?;
            have = 0;
        }
        if have > 0 && stamp.size == Some(have) {
            return Ok(());
        }
        let mut request = self.request(&self.client, Method::GET, self.file_url(commit, file));
        // What is compressed on the way has other bytes than what the checksum was made of.
        request = request.header(ACCEPT_ENCODING, "identity");
        if have > 0 {
            request = request.header(RANGE, format!("bytes={have}-"));
        }
        let mut response = self.send(request, file).await?;
        let goes_on = response.status() == StatusCode::PARTIAL_CONTENT && starts_at(response.headers()) == Some(have);
        if have > 0 && !goes_on {
            output.set_len(0).await.map_err(lasting)?;
            have = 0;
        }
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            return Err(Failure::Passing { reason: "it cannot be gone on with".into(), wait: None, progressed: false });
        }
        let before = have;
        let cut = loop {
            match response.chunk().await {
                Ok(Some(piece)) => {
                    if let Err(e) = output.write_all(&piece).await {
                        return Err(self.cannot_write(partial, e).await);
                    }
                    have += piece.len() as u64;
                    told(have);
                }
                Ok(None) if stamp.size.is_some_and(|size| have < size) => break Some("the connection was closed early".into()),
                Ok(None) => break None,
                Err(e) => break Some(reason(e)),
            }
        };
        if let Err(e) = output.flush().await {
            return Err(self.cannot_write(partial, e).await);
        }
        match cut {
            None => Ok(()),
            Some(reason) => Err(Failure::Passing { reason, wait: None, progressed: have > before }),
        }
    }

    /// A full disk is not left full by what is of no use yet.
    async fn cannot_write(&self, partial: &Path, e: std::io::Error) -> Failure {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        if matches!(e.kind(), StorageFull | QuotaExceeded | FileTooLarge) {
            // The error that is told is the first one.
            let _ = fs::remove_file(partial).await;
        }
        Failure::Lasting(Error::io("write", partial)(e))
    }

    fn url<'a>(&self, segments: impl Iterator<Item = &'a str>) -> Url {
        let mut url = self.endpoint.clone();
        // Always there in what begins with http.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    fn file_url(&self, commit: &str, file: &str) -> Url {
        self.url(self.repository.id().split('/').chain(["resolve", commit]).chain(file.split('/')))
    }

    fn request(&self, client: &Client, method: Method, url: Url) -> RequestBuilder {
        let request = client.request(method, url);
        match &self.token {
            // reqwest takes it away when a redirect leads to another host or port.
            Some(token) => request.header(AUTHORIZATION, token.clone()),
            None => request,
        }
    }

    /// An answer that can be worked with: success, a redirect that was not followed, or 416.
    async fn send(&self, request: RequestBuilder, what: &str) -> Result<Response, Failure> {
        let response = request.send().await.map_err(passing)?;
        let status = response.status();
        if status.is_success() || status.is_redirection() || status == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok(response);
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let wait = header(RETRY_AFTER.as_str()).and_then(|seconds| seconds.trim().parse().ok());
        Err(self.refused(what, status, header("x-error-message"), wait.map(Duration::from_secs)))
    }

    fn refused(&self, what: &str, status: StatusCode, said: Option<&str>, wait: Option<Duration>) -> Failure {
        let said = said.map(|text| format!(" ({text:.200})")).unwrap_or_default();
        let lasting = |advice: &str| Failure::Lasting(self.unavailable(what, &format!("{status}{said}; {advice}")));
        match status.as_u16() {
            401 | 403 => lasting(
                "check the name; a private model needs a token (HF_TOKEN), a gated one also that its conditions were accepted",
            ),
            404 => lasting("check the name and the revision"),
            408 | 429 | 500.. => Failure::Passing { reason: format!("{status}{said}"), wait, progressed: false },
            _ => lasting("check the address of the hub (HF_ENDPOINT)"),
        }
    }

    fn unavailable(&self, what: &str, reason: &str) -> Error {
        let endpoint = without_secrets(self.endpoint.as_str());
        self.repository.unavailable(format!("{what} cannot be fetched from {endpoint}: {reason}, or give a folder"))
    }
}

fn client(timeout: Duration, redirects: Policy) -> Result<Client> {
    let agent = concat!("sensetree/", env!("CARGO_PKG_VERSION"));
    let builder = Client::builder().user_agent(agent).connect_timeout(timeout).read_timeout(timeout).redirect(redirects);
    builder.build().map_err(|e| Error::other("set up the connection to the hub", e))
}

fn passing(e: reqwest::Error) -> Failure {
    Failure::Passing { reason: reason(e), wait: None, progressed: false }
}

/// What went wrong, without the address: those that the hub redirects to are signed.
fn reason(e: reqwest::Error) -> String {
    Error::other("reach it", e.without_url()).chain()
}

/// Where the bytes of a partial answer begin.
fn starts_at(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

/// A tag becomes the name of a file.
fn is_tag(tag: &str) -> bool {
    !tag.is_empty() && tag.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// An address as it may be shown: without a name and a password.
pub(super) fn without_secrets(address: &str) -> String {
    match Url::parse(address) {
        Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
            // Both can be set in every address that has them.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.into()
        }
        _ => address.to_owned(),
    }
}
