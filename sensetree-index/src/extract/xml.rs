//! XML, seen element by element. Nothing is fetched, and no entity is known but those of XML itself.

use std::borrow::Cow;

use quick_xml::{
    Reader,
    escape::{resolve_xml_entity, unescape},
    events::{BytesStart, Event},
};

use super::{Unreadable, decode::decode};

/// What comes next. Names are without their prefix.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Start(&'a Element<'a>),
    /// Also follows an element without content.
    End(&'a str),
    Text(&'a str),
}

#[derive(Debug)]
pub(super) struct Element<'a> {
    pub(super) name: &'a str,
    tag: &'a BytesStart<'a>,
}

impl<'a> Element<'a> {
    /// An attribute by its name without prefix.
    pub(super) fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        let found =
            self.tag.attributes().with_checks(false).flatten().find(|attribute| attribute.key.local_name().as_ref() == name)?;
        Some(unescape(&found.value).map_or_else(|_| found.value.clone().into_owned().into(), |value| value.into_owned().into()))
    }

    /// An attribute by its name with prefix, where others have the same name.
    pub(super) fn get_prefixed(&self, name: &str) -> Option<String> {
        let found = self.tag.attributes().with_checks(false).flatten().find(|attribute| attribute.key.as_ref() == name)?;
        Some(found.value.into_owned())
    }
}

/// Shows the nodes until `see` returns false.
///
/// # Errors
/// What is wrong with the XML; `see` has had all that comes before.
pub(super) fn walk(xml: &[u8], mut see: impl FnMut(Node<'_>) -> bool) -> Result<(), Unreadable> {
    let text = match std::str::from_utf8(xml) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(decode(xml, None)?.text),
    };
    let mut reader = Reader::from_str(text.trim_start_matches('\u{FEFF}'));
    let config = reader.config_mut();
    (config.check_end_names, config.allow_unmatched_ends, config.allow_dangling_amp) = (false, true, true);
    loop {
        let event = reader.read_event().map_err(|error| Unreadable(format!("its XML is damaged: {error}")))?;
        let goes_on = match &event {
            Event::Start(tag) => see(Node::Start(&Element { name: tag.local_name().as_ref(), tag })),
            Event::Empty(tag) => {
                let name = tag.local_name();
                see(Node::Start(&Element { name: name.as_ref(), tag })) && see(Node::End(name.as_ref()))
            }
            Event::End(tag) => see(Node::End(tag.local_name().as_ref())),
            Event::Text(text) => see(Node::Text(text)),
            Event::CData(text) => see(Node::Text(text)),
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(character)) => see(Node::Text(character.encode_utf8(&mut [0; 4]))),
                _ => resolve_xml_entity(reference).is_none_or(|text| see(Node::Text(text))),
            },
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => true,
        };
        if !goes_on {
            return Ok(());
        }
    }
}

/// The text of the first element of each of these names, which must not be nested in each other.
pub(super) fn texts<const N: usize>(xml: &[u8], names: [&str; N]) -> [Option<String>; N] {
    let mut texts = [const { None }; N];
    let mut open: Option<usize> = None;
    // What was found before a damaged place is as good as the rest.
    let _ = walk(xml, |node| {
        match node {
            Node::Start(element) => {
                open = names.iter().position(|&name| name == element.name).filter(|&at| texts[at].is_none());
                if let Some(at) = open {
                    texts[at] = Some(String::new());
                }
            }
            Node::End(_) => open = None,
            Node::Text(text) => {
                if let Some(said) = open.and_then(|at| texts[at].as_mut()) {
                    said.push_str(text);
                }
            }
        }
        true
    });
    texts.map(|text| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(xml: &str) -> String {
        let mut seen = String::new();
        walk(xml.as_bytes(), |node| {
            match node {
                Node::Start(element) => seen.push_str(&format!("<{}>", element.name)),
                Node::End(name) => seen.push_str(&format!("</{name}>")),
                Node::Text(text) => seen.push_str(text),
            }
            true
        })
        .expect("it is XML");
        seen
    }

    #[test]
    fn entities_of_the_file_itself_are_not_expanded() {
        let laughs = "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\"><!ENTITY f SYSTEM \"file:///etc/hosts\">]>\
                      <p:x>1&b;2&f;3 &lt;&#228;&#x1F6B2;<![CDATA[<y>]]></p:x>";
        assert_eq!(seen(laughs), "<x>123 <ä🚲<y></x>");
    }

    #[test]
    fn attributes_are_found_without_their_prefix() {
        let mut value = None;
        let see = |node: Node<'_>| {
            if let Node::Start(element) = node {
                value = element.get("val").map(Cow::into_owned);
            }
            true
        };
        walk(b"<w:a w:other='1' w:val='x &amp; y'/>", see).expect("it is XML");
        assert_eq!(value.as_deref(), Some("x & y"));
    }

    #[test]
    fn the_texts_of_named_elements_are_found_once() {
        let xml = b"<m><dc:title>A &amp; B</dc:title><dc:creator/><dc:title>C</dc:title></m>";
        assert_eq!(texts(xml, ["title", "creator"]), [Some("A & B".into()), None]);
    }
}
