// SPDX-License-Identifier: Apache-2.0
#include "page/document.h"

#include "output/output_folder.h"
#include "page/markup.h"

namespace orrery::page {
namespace {

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark;
  --paper: #ffffff; --ink: #1c1e21; --faint: #62676e; --rule: #dcdfe3; --box: #f5f6f8;
  --warn: #fff1d6; --bad: #fde3e0; --good: #e2f3ea;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7; --c4: #e69f00; --c5: #56b4e9;
  --c6: #444444; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #16181b; --ink: #e4e6e9; --faint: #9aa1a9; --rule: #383c42; --box: #202327;
  --warn: #43351a; --bad: #4d2320; --good: #1c3a2c;
  --c0: #56a8e0; --c1: #f08a4b; --c2: #35c79b; --c3: #e39ec6; --c4: #f2bd4a; --c5: #8fd0f5;
  --c6: #bbbbbb; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 64rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.7rem; margin: 0; line-height: 1.2; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; padding-bottom: .2rem;
  border-bottom: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1.3rem 0 .4rem; }
p { margin: .4rem 0; max-width: 48rem; }
.sub, .small { color: var(--faint); }
.small { font-size: .85rem; }
nav { margin: 1rem 0 0; font-size: .9rem; display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
a { color: var(--c0); }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; font-size: .87em;
  overflow-wrap: anywhere; }
.note, .warn, .bad, .good { padding: .5rem .8rem; border-radius: .3rem; background: var(--box);
  margin: .7rem 0; max-width: none; overflow-wrap: anywhere; white-space: pre-line; }
.warn { background: var(--warn); } .bad { background: var(--bad); } .good { background: var(--good); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: .6rem 0; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .87rem; margin: .3rem 0 .8rem; }
th { text-align: left; font-weight: 600; color: var(--faint); vertical-align: bottom; }
th, td { padding: .18rem .8rem .18rem 0; border-bottom: 1px solid var(--rule); }
td { vertical-align: top; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.n { white-space: normal; }
ul.findings { padding-left: 1.1rem; margin: .4rem 0; } ul.findings li { margin: .45rem 0;
  max-width: 50rem; }
ul.findings .small { display: block; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--c0); font-size: .92rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(27rem, 100%), 1fr));
  gap: .8rem 1.4rem; }
figure { margin: .4rem 0; break-inside: avoid; }
figcaption { font-size: .87rem; font-weight: 600; margin-bottom: .2rem; overflow-wrap: anywhere; }
figure.picture { background: #ffffff; color: #333333; border: 1px solid var(--rule); padding: .4rem; }
figure.picture img { max-width: 100%; height: auto; display: block; margin: auto; }
figure.picture figcaption { font-weight: 400; margin: .3rem 0 0; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 11px system-ui, "Helvetica Neue", Arial, sans-serif; fill: var(--faint); }
svg text.name { fill: var(--ink); font-size: 10.5px; paint-order: stroke; stroke: var(--paper);
  stroke-width: 3px; }
.grid { stroke: var(--rule); stroke-width: 1; } .axis { stroke: var(--faint); stroke-width: 1; }
.marker { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 3 3; }
.bar { fill: var(--c0); } .band { fill: var(--c0); fill-opacity: .16; }
polyline { fill: none; stroke-width: 1.7; stroke-linejoin: round; } .dashed { stroke-dasharray: 5 3; }
.legend { font-size: .82rem; color: var(--faint); display: flex; flex-wrap: wrap; gap: .1rem 1rem;
  padding-left: 3.3rem; }
.legend i { display: inline-block; width: 1.1em; height: .22em; margin-right: .4em;
  vertical-align: middle; }
.legend i[class^=b] { height: .8em; opacity: .35; }
)css";

/// The CSS classes of each colour: lines, dots, stretches, and keys of legends.
std::string colour_style() {
  std::string text;
  for (int i = 0; i < 7; ++i)
    text += fmt::format(
        ".c{0} {{ stroke: var(--c{0}); }} .d{0} {{ fill: var(--c{0}); }} "
        ".s{0} {{ fill: var(--c{0}); fill-opacity: .14; stroke: none; }} "
        ".k{0}, .b{0} {{ background: var(--c{0}); }}\n",
        i);
  return text;
}

constexpr const char* kPrintStyle = R"css(
@media print { body { max-width: none; padding: 0; font-size: 10.5pt; } nav { display: none; }
  h2 { break-after: avoid; } tr { break-inside: avoid; } .wide { overflow: visible; }
  table { font-size: 7.5pt; } th, td { padding-right: .5rem; }
  .charts { grid-template-columns: 1fr 1fr; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; } }
@page { margin: 16mm; }
)css";

constexpr const char* kScript =
    "addEventListener('beforeprint', () => "
    "document.querySelectorAll('details').forEach(d => d.open = true));";

constexpr const char* kPolicy =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

}  // namespace

std::string page_style() {
  return kStyle + colour_style() + kPrintStyle;
}

std::string document_of(std::string_view title, const std::string& head,
                        const std::vector<Section>& sections) {
  std::string text(kPageMark);
  text += fmt::format(
      "\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n<script>{}</script>\n</head>\n<body>\n",
      kPolicy, escaped(title), page_style(), kScript);
  text += head;
  std::string list, body;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].markup.empty()) continue;
    const std::string name = escaped(sections[i].title);
    list += fmt::format("<a href=\"#s{}\">{}</a> ", i, name);
    body += fmt::format("<section id=\"s{}\">\n<h2>{}</h2>\n{}</section>\n", i, name,
                        sections[i].markup);
  }
  text += "<nav>" + list + "</nav>\n" + body;
  return text + fmt::format("<p class=\"small\">Made by orrery {} report.</p>\n</body>\n</html>\n",
                            ORRERY_VERSION);
}

}  // namespace orrery::page
