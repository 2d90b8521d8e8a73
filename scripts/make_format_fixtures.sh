#!/usr/bin/env bash
# Makes the files that the tests of formats read, all of them with real programs. The results are committed, and differ in every
# run by dates and random keys, so this runs only when a fixture is added or changed.
#
# It needs these packages of Debian, and msoffcrypto-tool of PyPI for the document with a password:
#
#     apt-get install libreoffice-writer libreoffice-calc libreoffice-impress pandoc chromium qpdf zip unzip python3
#     pip install msoffcrypto-tool
set -euo pipefail
out="$(cd "$(dirname "$0")/.." && pwd)/sensetree-index/tests/fixtures"
for program in soffice pandoc chromium qpdf zip unzip python3 msoffcrypto-tool; do
    command -v "$program" >/dev/null || { echo "$program is missing; the head of $0 says what to install" >&2; exit 1; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
cd "$work"

# Quiet: it warns of a missing Java, which nothing here needs.
office() { soffice --headless "-env:UserInstallation=file://$work/profile" --convert-to "$1" --outdir "$2" "$3" >/dev/null 2>&1; }

cat >tender.md <<'TEXT'
---
title: Ausschreibung Straßenbeleuchtung
author: Beate Öztürk
---

# Gegenstand

Die Stadtwerke Grünau schreiben die Erneuerung der Straßenbeleuchtung aus. Angebote gehen bis zum 14. November 2025
an die Vergabestelle.[^frist]

[^frist]: Verspätete Angebote werden nicht geöffnet.

## Lose

- Los 1: Masten aus Aluminium
- Los 2: Leuchten mit Dämmerungsschalter

| Los | Menge | Ort          |
|-----|-------|--------------|
| 1   | 120   | Mühlenviertel |
| 2   | 480   | Hafenstraße  |

# Zuschlag

Der Preis zählt sechzig Prozent, die Lebensdauer vierzig. Façade, naïve & "café" stay as they are.
TEXT
pandoc tender.md -o tender.docx
pandoc tender.md -o tender.epub
cat >tender.html <<'TEXT'
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Invoice 2025-117</title>
<style>@page { size: A4 } body { font: 12pt serif }</style></head><body>
<h1>Invoice 2025-117</h1>
<p>Carpenter Łukasz Żółć bills the repair of the garden gate in Zürich.</p>
<p>Please transfer 1.240,50 € to IBAN DE89 3704 0044 0532 0130 00 by 30 September.</p>
<h2>Terms</h2>
<p>Goods stay our property until they are paid in full.</p>
<div style="page-break-before: always"><h2>Second page</h2><p>The gate has a warranty of five years.</p></div>
</body></html>
TEXT
chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer "--print-to-pdf=$out/invoice.pdf" "file://$work/tender.html" 2>/dev/null
qpdf --encrypt "" owner 256 -- "$out/invoice.pdf" "$out/invoice-empty-password.pdf"
qpdf --encrypt secret owner 256 -- "$out/invoice.pdf" "$out/invoice-password.pdf"

office odt "$out" tender.docx
office rtf "$out" tender.docx
office pdf "$work" tender.docx && cp tender.pdf "$out/tender.pdf"
cp tender.docx tender.epub "$out/"

# Headers, footers, comments and tracked changes come from OpenDocument markup that LibreOffice converts.
cat >letter.fodt <<'TEXT'
<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.text">
<office:meta><dc:title>Kündigung des Mietvertrags</dc:title><meta:initial-creator>Jörg Weiß</meta:initial-creator></office:meta>
<office:automatic-styles><style:page-layout style:name="pm1"><style:page-layout-properties/><style:header-style/><style:footer-style/></style:page-layout></office:automatic-styles>
<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="pm1"><style:header><text:p>Hausverwaltung Süd – vertraulich</text:p></style:header><style:footer><text:p>Aktenzeichen 4711-B</text:p></style:footer></style:master-page></office:master-styles>
<office:body><office:text>
<text:h text:outline-level="1">Kündigung</text:h>
<text:p>Hiermit kündige ich die Wohnung in der Lindenallee zum 31. März.<office:annotation><dc:creator>Anna</dc:creator><text:p>Frist noch prüfen</text:p></office:annotation></text:p>
<text:p>Die Schlüssel<text:tab/>liegen<text:line-break/>beim Hausmeister.<text:note text:note-class="endnote"><text:note-citation>i</text:note-citation><text:note-body><text:p>Hausmeister ist Herr Grün.</text:p></text:note-body></text:note></text:p>
<text:h text:outline-level="2">Kaution</text:h>
<text:p>Die Kaution beträgt drei Monatsmieten.</text:p>
</office:text></office:body></office:document>
TEXT
office docx "$out" letter.fodt
msoffcrypto-tool -e -p secret "$out/letter.docx" "$out/letter-password.docx"
office odt "$out" letter.fodt

cat >budget.fods <<'TEXT'
<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/" office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.spreadsheet">
<office:meta><dc:title>Haushalt 2025</dc:title></office:meta>
<office:automatic-styles><number:date-style style:name="N1"><number:year number:style="long"/><number:text>-</number:text><number:month number:style="long"/><number:text>-</number:text><number:day number:style="long"/></number:date-style><style:style style:name="ce1" style:family="table-cell" style:data-style-name="N1"/></office:automatic-styles>
<office:body><office:spreadsheet>
<table:table table:name="Ausgaben">
<table:table-row><table:table-cell office:value-type="string"><text:p>Posten</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Betrag</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Fällig</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>Dachrinne &amp; Fallrohr</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="1240.5"><text:p>1240,5</text:p></table:table-cell><table:table-cell table:style-name="ce1" office:value-type="date" office:date-value="2025-11-14"><text:p>2025-11-14</text:p></table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="40000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>
<table:table-row><table:table-cell/><table:table-cell office:value-type="string"><text:p>Summe unten</text:p></table:table-cell></table:table-row>
</table:table>
<table:table table:name="Einnahmen">
<table:table-row><table:table-cell office:value-type="string"><text:p>Mieter</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Miete</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>Familie Özdemir</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="900"><text:p>900</text:p></table:table-cell></table:table-row>
</table:table>
</office:spreadsheet></office:body></office:document>
TEXT
for format in xlsx xls ods; do office "$format" "$out" budget.fods; done

cat >talk.md <<'TEXT'
% Wärmepumpen im Altbau
% Beate Öztürk

# Ausgangslage

Das Haus verliert Wärme über das Dach.

::: notes
Hier die Thermografie zeigen.
:::

# Kosten

| Maßnahme | Euro |
|----------|------|
| Dämmung  | 8000 |
| Pumpe    | 14000 |
TEXT
pandoc talk.md -o talk.pptx
office odp "$out" talk.pptx
# pandoc packs loosely.
(mkdir talk && cd talk && unzip -q ../talk.pptx && rm -f "$out/talk.pptx" && zip -q -9 -r "$out/talk.pptx" .)

pandoc tender.md -o "$out/tender.ipynb"
python3 - "$out" <<'PYTHON'
import json, pathlib, sys
from email.message import EmailMessage
out = pathlib.Path(sys.argv[1])

mail = EmailMessage()
mail["Subject"] = "Wasserschaden im Keller – Termin"
mail["From"] = "Jürgen Groß <juergen@example.org>"
mail["To"] = "Hausverwaltung <buero@example.org>, Zoë <zoe@example.org>"
mail["Cc"] = "archiv@example.org"
mail["Date"] = "Tue, 04 Nov 2025 09:15:00 +0100"
mail.set_content("Guten Tag,\n\nder Keller steht zehn Zentimeter unter Wasser.\n\n-- \nJürgen Groß\n")
mail.add_alternative("<p>Guten Tag,</p><p>der Keller steht <b>zehn Zentimeter</b> unter Wasser.</p>", subtype="html")
mail.add_attachment(b"%PDF-1.4 not a real one", maintype="application", subtype="pdf", filename="Schadensmeldung März.pdf")
(out / "damage.eml").write_bytes(bytes(mail))

page = EmailMessage()
page["Subject"] = "Your parcel"
page["From"] = "shop@example.org"
page["Date"] = "Wed, 05 Nov 2025 10:00:00 +0000"
page.set_content("<html><head><style>p{color:red}</style></head><body><h1>On its way</h1><p>The kettle arrives on <b>Friday</b>.</p></body></html>", subtype="html", cte="quoted-printable")
(out / "parcel.eml").write_bytes(bytes(page))

# What a kernel would have printed.
path = out / "tender.ipynb"
book = json.loads(path.read_text())
book["metadata"] = {"language_info": {"name": "python"}}
book["cells"].append({"cell_type": "code", "metadata": {}, "execution_count": 1, "source": ["masten = 120\n", "print(masten * 2)"],
    "outputs": [{"output_type": "stream", "name": "stdout", "text": ["240\n"]},
                {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo=", "text/plain": ["<Figure size 640x480>"]}}]})
path.write_text(json.dumps(book, ensure_ascii=False, indent=1))
PYTHON

ls -l "$out"
