// SPDX-License-Identifier: Apache-2.0
#include "live/page.h"

#include <fmt/format.h>

#include "live/page_script.h"
#include "page/document.h"
#include "page/markup.h"
#include "page/run_page.h"

namespace orrery::live {
namespace {

using page::escaped;

constexpr const char* kStyle = R"css(
:root { --h0: #eef0f3; --h1: #f6c667; --h2: #d55e00; --h3: #6d1f00; }
@media (prefers-color-scheme: dark) { :root {
  --h0: #2a2e33; --h1: #7c3b12; --h2: #f08a4b; --h3: #ffe7a8; } }
header { display: flex; flex-wrap: wrap; gap: .6rem 1.5rem; align-items: flex-start; }
header > div { flex: 1 1 16rem; }
button { font: inherit; padding: .35rem .9rem; border-radius: .3rem; border: 1px solid var(--rule);
  background: var(--box); color: var(--ink); cursor: pointer; }
button:disabled { color: var(--faint); cursor: default; }
button.stop { border-color: var(--c1); color: var(--c1); }
button[aria-pressed=true] { border-color: var(--c0); color: var(--c0); }
dialog { border: 1px solid var(--rule); border-radius: .4rem; background: var(--paper);
  color: var(--ink); max-width: 26rem; padding: 1.2rem; }
dialog::backdrop { background: rgba(0, 0, 0, .45); }
dialog menu { display: flex; gap: .7rem; justify-content: flex-end; padding: 0; margin: 1rem 0 0; }
#state { margin: .8rem 0 .3rem; } #state span { display: block; padding: .5rem .8rem;
  border-radius: .3rem; white-space: pre-line; overflow-wrap: anywhere; }
#gone { display: none; } .lost #gone { display: block; }
.lost #tiles, .lost #charts, .lost #mapbox { opacity: .55; }
progress { width: 100%; height: .7rem; accent-color: var(--c0); }
#tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.2rem, 1fr)); gap: .6rem;
  margin: .9rem 0; }
.tile { background: var(--box); border-radius: .4rem; padding: .55rem .8rem; min-width: 0; }
.tile b { display: block; font-size: 1.2rem; font-weight: 600; line-height: 1.35;
  font-variant-numeric: tabular-nums; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.tile span { display: block; color: var(--faint); font-size: .82rem; min-height: 1.2em;
  font-variant-numeric: tabular-nums; }
#mapbox { margin: .4rem 0; } #map { width: 100%; display: block; image-rendering: pixelated;
  border: 1px solid var(--rule); border-radius: .2rem; }
.mapline { display: flex; flex-wrap: wrap; gap: .4rem 1rem; align-items: center; margin: .5rem 0;
  font-size: .85rem; color: var(--faint); }
.ramp { display: inline-block; width: 9rem; height: .8rem; border-radius: .15rem;
  background: linear-gradient(to right, var(--h0), var(--h1), var(--h2), var(--h3)); }
#picture svg { width: 100%; max-height: 75vh; } #picture text { font-size: 12px; text-anchor: middle;
  fill: var(--ink); paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
#picture .node { fill: var(--box); stroke: var(--c0); stroke-width: 1.5px; }
#picture line { stroke-width: 2px; } #picture .down { stroke: var(--c1); stroke-dasharray: 4 4; }
#picture .l0 { stroke: var(--rule); } #picture .l1 { stroke: var(--h1); stroke-width: 3px; }
#picture .l2 { stroke: var(--h2); stroke-width: 4px; }
#picture .l3 { stroke: var(--h3); stroke-width: 5px; }
#picture td { font-family: monospace; overflow-wrap: anywhere; }
#hover { min-height: 1.5em; font-variant-numeric: tabular-nums; }
@media (max-width: 40rem) { #metrics td:last-child { min-width: 15rem; } }
.swatch { display: inline-block; width: .9em; height: .9em; border-radius: .15em;
  margin: 0 .35em 0 .7em; vertical-align: -.1em; }
)css";

std::string head_markup(const Facts& facts) {
  const page::Json& report = facts.run.report;
  const std::string name = page::text_at(report, {"model", "name"});
  const std::string seed = page::exact_text(page::at(report, {"options", "seed"}));
  return fmt::format(
      "<header><div><h1>{}</h1>\n<p class=\"sub\">{} LPs on {}, seed {}, to {}</p></div>\n"
      "<button class=\"stop\" id=\"stop\" type=\"button\">Stop the run</button></header>\n",
      escaped(name), page::value_text(page::at(report, {"model", "lps"})), escaped(facts.engine),
      escaped(seed), escaped(facts.horizon));
}

constexpr const char* kBody = R"html(<div id="state" role="status">waiting for the run</div>
<p class="warn" id="gone">The run does not answer any more: its process has ended. What is shown
is what was known last.</p>
<progress id="bar" max="1" value="0" aria-label="share of the simulated time"></progress>
<div id="tiles"></div>
<section><h2>Over the wall clock</h2><div id="charts"></div></section>
<section id="picture"></section>
<section><h2>Metrics</h2><div id="metrics"></div></section>
<section><h2>Where LPs are active</h2>
<div id="mapbox" hidden>
<p class="small" id="mapnote"></p>
<div class="mapline"><button type="button" id="bysent" aria-pressed="true">events sent</button>
<button type="button" id="byowner" aria-pressed="false">workers</button>
<span id="legend"></span></div>
<canvas id="map" role="img" aria-label="LPs in the order of their numbers"></canvas>
<div class="mapline" id="hover"></div>
</div><p class="small" id="nomap"></p></section>
)html";

constexpr const char* kDialog = R"html(<dialog id="ask" aria-labelledby="question">
<p id="question"><b>Stop this run?</b></p>
<p>It ends in order at its next commit point, as with Ctrl-C: what it has committed is reported, and
the run counts as interrupted.</p>
<menu><button type="button" id="goon" autofocus>Go on</button>
<button class="stop" type="button" id="sure">Stop it</button></menu>
</dialog>
)html";

}  // namespace

std::string page_of(const Facts& facts, const std::string& nonce) {
  const std::string name = page::text_at(facts.run.report, {"model", "name"});
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}: live</title>\n"
      "<style nonce=\"{}\">{}{}</style>\n</head>\n<body>\n",
      escaped(name), nonce, page::page_style(), kStyle);
  text += head_markup(facts) + kBody;
  text += "<section><h2>Parameters</h2>\n" + page::parameters_markup(facts.run) + "</section>\n";
  const std::string command = page::command_text(facts.run.report);
  if (!command.empty()) text += fmt::format("<p><code>{}</code></p>\n", escaped(command));
  text += kDialog;
  if (!facts.lp_names.empty())
    text += fmt::format("<div id=\"names\" hidden>{}</div>\n",
                        escaped(page::Json(facts.lp_names).dump()));
  return text +
         fmt::format("<script nonce=\"{}\">{}</script>\n</body>\n</html>\n", nonce, kPageScript);
}

}  // namespace orrery::live
