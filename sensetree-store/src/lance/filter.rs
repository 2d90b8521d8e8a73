//! From a filter to SQL: the one place where names become part of a query.

use sensetree_core::{DocumentKey, Filter};

use super::rows::{INDEX, KEY};

/// The condition that lets through what the filter does; None when everything passes.
pub(super) fn condition(filter: &Filter) -> Option<String> {
    let mut conditions = Vec::new();
    if !filter.scopes().is_empty() {
        let scopes: Vec<String> = filter.scopes().iter().map(|scope| inside(scope.key())).collect();
        conditions.push(format!("({})", scopes.join(" OR ")));
    }
    if let Some(listed) = filter.listed() {
        conditions.push(among(listed));
    }
    (!conditions.is_empty()).then(|| conditions.join(" AND "))
}

/// The folder itself and what is under it, as a range that an index on the key answers: `0` follows `/`.
fn inside(folder: &DocumentKey) -> String {
    let prefix = folder.folder_prefix();
    let end = match prefix.strip_suffix('/') {
        Some(stem) => format!(" AND {KEY} < {}", literal(&format!("{stem}0"))),
        // The empty key is the folder of all relative keys: everything.
        None => String::new(),
    };
    format!("({KEY} = {} OR ({KEY} >= {}{end}))", literal(folder.as_str()), literal(&prefix))
}

/// One of these documents.
pub(super) fn among(keys: &[DocumentKey]) -> String {
    if keys.is_empty() {
        return "false".into();
    }
    let keys: Vec<String> = keys.iter().map(|key| literal(key.as_str())).collect();
    format!("{KEY} IN ({})", keys.join(", "))
}

/// The rows that carry the fields of whole documents.
pub(super) fn first_rows(filter: &Filter) -> String {
    match condition(filter) {
        Some(condition) => format!("{INDEX} = 0 AND {condition}"),
        None => format!("{INDEX} = 0"),
    }
}

/// A text as an SQL literal.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sensetree_core::{PathRules, Scope};

    #[test]
    fn a_scope_is_a_range_and_quotes_are_doubled() {
        let filter = Filter::everything().under(Scope::new("/Bea's plans", PathRules::Posix));
        let expected = "((key = '/Bea''s plans' OR (key >= '/Bea''s plans/' AND key < '/Bea''s plans0')))";
        assert_eq!(condition(&filter).as_deref(), Some(expected));
        assert_eq!(condition(&Filter::everything()), None);
        assert_eq!(condition(&Filter::everything().documents([])).as_deref(), Some("false"));
    }
}
