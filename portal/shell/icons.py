"""Which drawings does the portal use? Line icons of 24 by 24, drawn for it, as SVG path data."""

from __future__ import annotations

ICONS: dict[str, str] = {
    "catalogue": "M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM16.5 13v6M13.5 16h6",
    "requests": "M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h5",
    "clusters": "M4 4h6v6H4zM14 4h6v6h-6zM9 14h6v6H9zM7 10v2h10v-2M12 12v2",
    "quotas": "M4 18a8 8 0 1 1 16 0M12 18l4-6M4 18h2M18 18h2",
    "debt": "M5 21V4M5 5h11l-2 3.500 2 3.500H5M9 21h9M13.500 16v5",
    "desk": "M3 13h5l2 3h4l2-3h5M3 13l3-8h12l3 8v6H3z",
    "nodes": "M4 4h16v6H4zM4 14h16v6H4zM7 7h.01M7 17h.01M11 7h6M11 17h6",
    "jobs": "M4 5h16v14H4zM7 9l3 3-3 3M12 15h5",
    "orders": "M3 7l9-4 9 4v10l-9 4-9-4zM3 7l9 4 9-4M12 11v10",
    "inbox": "M4 13l2.500-8h11L20 13v6H4zM4 13h5l1.500 2.500h3L15 13h5",
    "team": "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-4 3-6 6.5-6s6.5 2 6.5 6M16 4.5a3.5 3.5 0 0 1 0 6M18 14.5c2.2.8 3.5 2.6 3.5 5.5",
    "person": "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4.5 3.5-7 8-7s8 2.500 8 7",
    "key": "M8 16a4 4 0 1 1 3.500-6H21v4h-3v3h-3v-3h-3.500A4 4 0 0 1 8 16zM7.500 12h.01",
    "sign-out": "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
    "menu": "M4 7h16M4 12h16M4 17h16",
    "close": "M6 6l12 12M18 6L6 18",
    "plus": "M12 5v14M5 12h14",
    "search": "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5",
    "copy": "M9 9h11v11H9zM5 15H4V4h11v1",
    "info": "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01",
    "warn": "M12 4l9 16H3zM12 10v5M12 17.500h.01",
    "danger": "M8 3h8l5 5v8l-5 5H8l-5-5V8zM9 9l6 6M15 9l-6 6",
    "ok": "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM8 12l3 3 5-6",
    "looks": "M12 3a9 9 0 1 0 0 18c2 0 2-2 1-3s0-3 2-3h2a4 4 0 0 0 4-4c0-5-4-8-9-8zM8 12h.01M9 8h.01M14 7h.01",
    "settings": "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
    "clock": "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3 2",
    "empty": "M4 8l8-4 8 4v8l-8 4-8-4zM9 12h6",
    "external": "M14 4h6v6M20 4l-9 9M10 5H5v14h14v-5",
}

# The marks of chips, 12 by 12, filled: each tone has a shape that tells it without its colour.
MARKS: dict[str, str] = {
    "ok": "M1.600 6.400 3 5l2 2 4-4.200 1.400 1.400L5 9.800z",
    "warn": "M6 1l5 9.500H1zM5.300 4.500v3h1.400v-3zM5.300 8.300v1.200h1.400V8.300z",
    "danger": "M2.400 1 6 4.600 9.600 1 11 2.400 7.400 6 11 9.600 9.600 11 6 7.400 2.400 11 1 9.600 4.600 6 1 2.400z",
    "info": "M6 1a5 5 0 1 1 0 10A5 5 0 0 1 6 1zm0 1.800a3.200 3.200 0 1 0 0 6.400 3.200 3.200 0 0 0 0-6.400z",
    "active": "M6 1a5 5 0 1 1 0 10A5 5 0 0 1 6 1zm0 1.600v6.800a3.400 3.400 0 0 0 0-6.800z",
    "quiet": "M1.500 5h9v2h-9z",
    "unknown": "M5 8.500h2v2H5zM3 4.200C3 2.500 4.300 1.500 6 1.500s3 1 3 2.600C9 6 7 6.200 7 7.600H5C5 5.600 6.900 5.400 6.900 4.200c0-.5-.4-.8-.9-.8s-1 .3-1 .8z",
}
