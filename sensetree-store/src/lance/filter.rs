//! From filters to SQL: the one place where a name meets a query language.

use sensetree_core::{DocumentKey, Filter, Scope};

use super::rows::{CHUNK, EXTENSION, KEY, MODIFIED};

/// What a filter lets through, in SQL.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// No row.
    None,
    /// Every row.
    All,
    /// The rows for which this holds.
    Where(String),
}

impl Rows {
    /// Translates [`Filter::matches`].
    pub(super) fn of(filter: &Filter) -> Self {
        let scopes: Option<Vec<String>> = filter.scopes().iter().map(inside).collect();
        let listed = filter.listed().map(Self::among);
        if listed == Some(Self::None) {
            return Self::None;
        }
        let mut conditions = Vec::new();
        // Without a scope, or with one that holds everything, the scopes say nothing.
        conditions.extend(scopes.filter(|scopes| !scopes.is_empty()).map(|scopes| scopes.join(" OR ")));
        conditions.extend(listed.and_then(Self::condition));
        if let Some(allowed) = filter.allowed_extensions() {
            if allowed.is_empty() {
                return Self::None;
            }
            let allowed: Vec<String> = allowed.iter().map(|extension| literal(extension)).collect();
            conditions.push(format!("{EXTENSION} IN ({})", allowed.join(", ")));
        }
        if let Some((first, last)) = filter.modified_range() {
            // A time of 0 is an unknown one. The ends of the type are left out: SQL reads the smallest number as a minus and
            // a number that is too large.
            let mut bounds = format!("{MODIFIED} != 0");
            bounds.extend((first > i64::MIN).then(|| format!(" AND {MODIFIED} >= {first}")));
            bounds.extend((last < i64::MAX).then(|| format!(" AND {MODIFIED} <= {last}")));
            conditions.push(bounds);
        }
        match conditions.len() {
            0 => Self::All,
            _ => Self::Where(conditions.iter().map(|c| format!("({c})")).collect::<Vec<_>>().join(" AND ")),
        }
    }

    /// All rows of these documents.
    pub(super) fn among<'a>(keys: impl IntoIterator<Item = &'a DocumentKey>) -> Self {
        let keys: Vec<String> = keys.into_iter().map(|key| literal(key.as_str())).collect();
        if keys.is_empty() { Self::None } else { Self::Where(format!("{KEY} IN ({})", keys.join(", "))) }
    }

    /// Of these rows, the first one of each document.
    pub(super) fn first_of_each(self) -> Self {
        match self {
            Self::None => Self::None,
            Self::All => Self::Where(format!("{CHUNK} = 0")),
            Self::Where(condition) => Self::Where(format!("{CHUNK} = 0 AND {condition}")),
        }
    }

    /// The condition, if one is needed and can hold.
    pub(super) fn condition(self) -> Option<String> {
        match self {
            Self::Where(condition) => Some(condition),
            Self::None | Self::All => None,
        }
    }
}

/// The folder itself, and the range of keys under it; nothing for a folder that holds every key.
///
/// `0` follows `/`, so the keys that start with `a/` are those from `a/` up to `a0`: a range that an index on the key answers.
fn inside(scope: &Scope) -> Option<String> {
    let prefix = scope.key().folder_prefix();
    let end = format!("{}0", prefix.strip_suffix('/')?);
    let [folder, prefix, end] = [scope.key().as_str(), &prefix, &end].map(literal);
    Some(format!("{KEY} = {folder} OR ({KEY} >= {prefix} AND {KEY} < {end})"))
}

/// A text as SQL: in single quotes, with those inside doubled. SQL gives no other character a meaning there.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use sensetree_core::PathRules;

    use super::*;

    fn key(path: &str) -> DocumentKey {
        DocumentKey::new(path, PathRules::Posix)
    }

    fn under(path: &str) -> Filter {
        Filter::everything().under(Scope::new(path, PathRules::Posix))
    }

    #[test]
    fn conditions_of_different_kinds_must_all_hold() {
        assert_eq!(Rows::of(&Filter::everything()), Rows::All);
        assert_eq!(Rows::of(&Filter::everything().documents([])), Rows::None);
        assert_eq!(Rows::of(&under("/a").documents([])), Rows::None);
        assert_eq!(Rows::of(&under("")), Rows::All, "the folder without a name holds every key");
        assert_eq!(Rows::of(&under("/a").under(Scope::new("", PathRules::Posix))), Rows::All, "any of the folders");
        let both = under("/Bea's").under(Scope::new("/b", PathRules::Posix)).documents([key("/b/1"), key("/b/2")]);
        let expected = "(key = '/Bea''s' OR (key >= '/Bea''s/' AND key < '/Bea''s0') OR key = '/b' OR (key >= '/b/' AND key < '/b0')) \
                        AND (key IN ('/b/1', '/b/2'))";
        assert_eq!(Rows::of(&both), Rows::Where(expected.into()));
    }
}
