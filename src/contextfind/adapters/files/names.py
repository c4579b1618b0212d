"""Names of files as people write them."""

import unicodedata


def readable_name(raw: bytes) -> str:
    """Return a name of unknown encoding as NFC text: UTF-8, else GB18030, else code page 437.

    The last one knows every byte, so that something is always returned.
    """
    for encoding in ("utf-8", "gb18030"):
        try:
            return unicodedata.normalize("NFC", raw.decode(encoding))
        except UnicodeDecodeError:
            continue
    return unicodedata.normalize("NFC", raw.decode("cp437"))
