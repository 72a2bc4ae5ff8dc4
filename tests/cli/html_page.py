#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a page says and asks for, for tests: its texts, the rows of its tables with the sections they
are in, the labels of its pictures, and every reference. Tags that do not match fail."""

import html.parser

VOID = {"meta", "link", "img", "br", "hr", "input"}
# Attributes by which a page could ask for something.
REFERENCES = {"src", "href", "srcset", "action", "data", "poster", "xlink:href", "background"}


class Page(html.parser.HTMLParser):
    """A page's texts, tables and references; fails on tags that do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.source, self.open, self.tags = text, [], []
        self.references, self.rows, self.text, self.ids = [], [], "", set()
        self.headings, self.labels, self.sections = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        self.references += [value for name, value in attributes.items() if name in REFERENCES]
        if "id" in attributes:
            self.ids.add(attributes["id"])
        if tag == "svg":
            self.labels.append(attributes["aria-label"])
        if tag == "tr":
            self.rows.append([])
            self.sections.append(self.headings[-1])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "data":
            self.rows[-1][-1] = float(attributes["value"])
        if tag == "h2":
            self.headings.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> within {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in ("style", "script"):
            return
        self.text += data
        if "h2" in self.open:
            self.headings[-1] += data
        if self.open and ("td" in self.open or "th" in self.open):
            if isinstance(self.rows[-1][-1], str):
                self.rows[-1][-1] += data

    def row(self, first, section=None):
        """The first one in the section, if one is named."""
        found = [row for row, place in zip(self.rows, self.sections)
                 if row and row[0] == first and section in (None, place)]
        assert found, f"no row begins with {first}"
        return found[0]
