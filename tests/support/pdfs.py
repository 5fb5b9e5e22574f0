"""PDFs that are written by hand."""

import zlib


def pdf(*contents: bytes, trailer: bytes = b"") -> bytes:
    """A document with a page for each content stream, which is compressed already."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(contents)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(contents), kids),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, content in enumerate(contents):
        page = b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R /Resources << /Font << /F 3 0 R >> >> >>"
        objects.append(page % (5 + 2 * number))
        head = b"<< /Length %d /Filter /FlateDecode >>" % len(content)
        objects.append(head + b"\nstream\n" + content + b"\nendstream")
    return document_of(objects, trailer)


def document_of(objects: list[bytes], trailer: bytes = b"") -> bytes:
    """The file with these objects, of which the first is the catalogue."""
    out = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    end = b"trailer << /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, len(out))
    return out + start + end


def written_pdf(words: str) -> bytes:
    """A document of one page that says this."""
    return pdf(zlib.compress(b"BT /F 12 Tf 72 720 Td (%b) Tj ET" % words.encode("ascii")))
