"""What do people write who mean harm, or whose keyboard does? Each must be refused or stand there as plain text."""

from __future__ import annotations

HOSTILE = (
    "{{ lookup('pipe', 'touch PWNED') }}",
    "{% for x in ().__class__.__bases__ %}{{ x }}{% endfor %}",
    "{# comment #}",
    "!unsafe 'x'",
    "!!python/object/apply:os.system ['touch PWNED']",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' OR 1=1; DROP TABLE requests_app_ticket; --",
    "$(touch PWNED) `touch PWNED` ; touch PWNED",
    "ansible_connection=local",
    "line one\nansible_host=evil",
    "nul\x00byte",
    "bell\x07 escape\x1b[31mred",
    "right\u202eto\u202cleft",
    "\u200bzero\ufeffwidth",
    "x" * 1_000_000,
    "../../../../etc/passwd",
    '=HYPERLINK("http://evil")',
    "Ａｄｍｉｎ",
    "e\u0301\u0301\u0301" * 40,
)
