//! E-mails: who wrote to whom and when, what about, the text, and the names of what is attached.

use mail_parser::{Address, Message, MessageParser, MimeHeaders, PartType};

use super::{Source, Text, Unreadable, html, out::one_line, plain};
use crate::{chunk::Structure, headings::Outline};

/// Names that are told of the attachments.
const MOST_ATTACHMENTS: usize = 200;

/// Mails that were saved without an extension start with the way they took.
pub(super) fn sniff(bytes: &[u8]) -> bool {
    ["Return-Path: ", "Received: ", "Delivered-To: ", "Message-ID: ", "MIME-Version: "]
        .iter()
        .any(|header| bytes.get(..header.len()).is_some_and(|start| start.eq_ignore_ascii_case(header.as_bytes())))
}

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    // What has no headers of a mail is text all the same.
    let Some(message) = MessageParser::default().parse(source.bytes) else { return plain::read(source) };
    let subject = message.subject().map(one_line);
    let mut out = source.out();
    let headers = headers(&message, subject.as_deref());
    if headers.is_empty() {
        return plain::read(source);
    }
    out.block(&headers.join("\n"));
    let is_markdown = write_bodies(source, &message, &mut out)?;
    let names: Vec<String> =
        message.attachments().filter_map(|part| part.attachment_name()).take(MOST_ATTACHMENTS).map(one_line).collect();
    if !names.is_empty() {
        out.block(&format!("Attachments: {}", names.join(", ")));
    }
    if is_markdown {
        return Ok(out.finish("mail", subject));
    }
    // What people type is no Markdown: signatures would become headings.
    let outline = Outline { title: subject, headings: Vec::new() };
    Ok(Text { text: out.into_text(), structure: Structure::Plain, outline, note: "mail".into() })
}

fn headers(message: &Message, subject: Option<&str>) -> Vec<String> {
    let named =
        |name: &str, value: Option<String>| value.filter(|value| !value.is_empty()).map(|value| format!("{name}: {value}"));
    [
        named("Subject", subject.map(str::to_owned)),
        named("From", message.from().map(addresses)),
        named("To", message.to().map(addresses)),
        named("Cc", message.cc().map(addresses)),
        named("Date", message.date().map(|date| date.to_rfc3339())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn addresses(addresses: &Address) -> String {
    let shown = addresses.iter().map(|address| match (&address.name, &address.address) {
        (Some(name), Some(address)) => format!("{} <{address}>", one_line(name)),
        (Some(only), None) | (None, Some(only)) => one_line(only),
        (None, None) => String::new(),
    });
    shown.filter(|address| !address.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Plain text where the sender gave one, else HTML. Returns whether there is Markdown in it.
fn write_bodies(source: &Source, message: &Message, out: &mut super::out::Out) -> Result<bool, Unreadable> {
    let mut is_markdown = false;
    for part in message.text_bodies() {
        match &part.body {
            PartType::Text(text) => out.block(&text.replace("\r\n", "\n")),
            PartType::Html(page) => {
                let (page, _) = html::markdown(&Source { bytes: page.as_bytes(), ..*source })?;
                is_markdown = true;
                out.block(&page);
            }
            _ => {}
        }
    }
    Ok(is_markdown)
}
