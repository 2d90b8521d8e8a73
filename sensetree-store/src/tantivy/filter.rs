//! From filters to queries of Tantivy, made as values: no name is ever parsed.

use std::ops::Bound;

use sensetree_core::{DocumentKey, Filter, Scope};
use tantivy::{
    Term,
    query::{AllQuery, BooleanQuery, Query, RangeQuery, TermQuery, TermSetQuery},
    schema::IndexRecordOption,
};

use super::rows::Fields;

/// Translates [`Filter::matches`]; none when nothing can pass.
pub(super) fn query(filter: &Filter, fields: &Fields) -> Option<Box<dyn Query>> {
    let mut conditions: Vec<Box<dyn Query>> = Vec::new();
    let scopes: Option<Vec<Box<dyn Query>>> = filter.scopes().iter().map(|scope| inside(scope, fields)).collect();
    // Without a scope, or with one that holds everything, the scopes say nothing.
    if let Some(scopes) = scopes.filter(|scopes| !scopes.is_empty()) {
        conditions.push(Box::new(BooleanQuery::union(scopes)));
    }
    if let Some(keys) = filter.listed() {
        conditions.push(any(keys.iter().map(|key| key_term(key, fields)))?);
    }
    if let Some(extensions) = filter.allowed_extensions() {
        conditions.push(any(extensions.iter().map(|extension| Term::from_field_text(fields.extension, extension)))?);
    }
    if let Some((first, last)) = filter.modified_range() {
        if first > last {
            return None;
        }
        let time = |time| Bound::Included(Term::from_field_i64(fields.modified, time));
        conditions.push(Box::new(RangeQuery::new(time(first), time(last))));
    }
    Some(match conditions.len() {
        0 => Box::new(AllQuery),
        1 => conditions.remove(0),
        _ => Box::new(BooleanQuery::intersection(conditions)),
    })
}

/// What stands for a document in every one of its rows.
pub(super) fn key_term(key: &DocumentKey, fields: &Fields) -> Term {
    Term::from_field_text(fields.key, key.as_str())
}

fn any(terms: impl IntoIterator<Item = Term>) -> Option<Box<dyn Query>> {
    let terms: Vec<Term> = terms.into_iter().collect();
    (!terms.is_empty()).then(|| Box::new(TermSetQuery::new(terms)) as Box<dyn Query>)
}

/// The folder itself, and the range of keys under it; nothing for a folder that holds every key.
///
/// `0` follows `/`, so the keys that start with `a/` are those from `a/` up to `a0`.
fn inside(scope: &Scope, fields: &Fields) -> Option<Box<dyn Query>> {
    let prefix = scope.key().folder_prefix();
    let end = format!("{}0", prefix.strip_suffix('/')?);
    let folder = TermQuery::new(key_term(scope.key(), fields), IndexRecordOption::Basic);
    let key = |key: &str| Term::from_field_text(fields.key, key);
    let under = RangeQuery::new(Bound::Included(key(&prefix)), Bound::Excluded(key(&end)));
    Some(Box::new(BooleanQuery::union(vec![Box::new(folder), Box::new(under)])))
}
