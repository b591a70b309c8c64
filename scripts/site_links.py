#!/usr/bin/env python3
"""Ends with 1, and names them, if links within the built site lead nowhere.

    scripts/site_links.py FOLDER

Links to other hosts are not asked. The report has links to places within itself alone.
"""

import html.parser
import os
import sys
import urllib.parse


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src") and value]


def targets(page):
    links = Links()
    with open(page, encoding="utf-8") as text:
        links.feed(text.read())
    for link in links.found:
        parts = urllib.parse.urlsplit(link)
        if not parts.scheme and not parts.netloc and parts.path:
            yield link, os.path.join(os.path.dirname(page), urllib.parse.unquote(parts.path))


def main(root):
    pages = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]
    # `print.html` is all pages in one, from where their links do not lead.
    pages = [page for page in pages if page.endswith(".html") and not page.endswith(("print.html", "report.html"))]
    links = [(page, *target) for page in pages for target in targets(page)]
    dead = [(page, link) for page, link, target in links if not os.path.exists(target)]
    for page, link in dead:
        print(f"site: {os.path.relpath(page, root)} links to {link}, which is not there", file=sys.stderr)
    print(f"site: {len(links)} links in {len(pages)} pages, {len(dead)} dead")
    return bool(dead) or not links


sys.exit(main(sys.argv[1]))
