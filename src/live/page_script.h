// SPDX-License-Identifier: Apache-2.0
//
// The script of the live page. It requests the state; the server answers after a second, or at once
// if the run's phase changes. Texts are markup that the server has escaped, or are inserted as
// text.
#pragma once

namespace orrery::live {

inline constexpr const char* kPageScript = R"js('use strict';
const by = id => document.getElementById(id);
const shown = {};
const names = by('names') ? JSON.parse(by('names').textContent) : [];
let map = null, look = 0, owners = false, failures = 0, asked = false;

// ---- What comes ready

function show(state) {
  for (const [id, markup] of Object.entries(state.show)) {
    if (shown[id] === markup) continue;
    shown[id] = markup;
    by(id).innerHTML = markup;
  }
  by('bar').value = state.share;
  const percent = Math.floor(100 * state.share) + ' %';
  document.title = (state.phase === 'running' ? percent : state.end || state.phase) + ', ' +
      state.model;
  const over = state.phase === 'ended';
  by('stop').disabled = over || asked || state.phase === 'stopping';
  if (over) by('stop').hidden = true;
  if (state.look) {
    look = state.look.number;
    if (state.look.map) {
      map = state.look.map;
      map.reached = state.look.reached;
      draw();
    }
  }
  by('mapbox').hidden = map === null;
  by('nomap').textContent =
      map !== null ? '' : over ? 'The run ended before it was looked at.' :
      'LPs are looked at when the run halts for it, once a second or less often.';
}

// ---- The map

function colour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));
}

function ramp(stops, share) {
  const place = Math.min(share, 1) * (stops.length - 1), below = Math.min(Math.floor(place), 2);
  return stops[below].map((c, i) => c + (place - below) * (stops[below + 1][i] - c));
}

// About two and a half times as many as rows, and so that the last row is as full as may be.
function columns() {
  const cells = map.sent.length, wanted = Math.ceil(Math.sqrt(2.6 * cells));
  let best = Math.min(cells, wanted), gap = Infinity;
  for (let width = Math.ceil(0.75 * wanted); width <= 1.35 * wanted && width <= cells; ++width) {
    const left = (width - cells % width) % width;
    if (left < gap) [best, gap] = [width, left];
  }
  return best;
}

// Events a second that one LP of the cell has sent.
function rate(cell) {
  const lps = Math.min(map.lps_a_cell, map.lps - cell * map.lps_a_cell);
  return map.sent[cell] / lps / Math.max(map.seconds, 1e-9);
}

function number(value) {
  return value >= 1000 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

function draw() {
  const width = columns(), height = Math.ceil(map.sent.length / width);
  const canvas = by('map'), pen = canvas.getContext('2d');
  canvas.width = width;
  canvas.height = height;
  const image = pen.createImageData(width, height);
  const heat = ['--h0', '--h1', '--h2', '--h3'].map(colour);
  const kinds = ['--c0', '--c1', '--c2', '--c3', '--c4', '--c5'].map(colour);
  const faint = colour('--rule');
  const most = map.sent.reduce((all, _, cell) => Math.max(all, rate(cell)), 0);
  for (let cell = 0; cell < map.sent.length; ++cell) {
    const owner = map.owner[cell];
    const c = owners ? (owner < map.owners ? kinds[owner % kinds.length] : faint)
                     : ramp(heat, most > 0 ? Math.sqrt(rate(cell) / most) : 0);
    image.data.set([...c, 255], 4 * cell);
  }
  pen.putImageData(image, 0, 0);
  by('mapnote').textContent = `${map.lps.toLocaleString('en')} LPs in the order of their numbers` +
      (map.lps_a_cell > 1 ? `, ${map.lps_a_cell} to a cell` : '') +
      `; events that they sent in the ${map.seconds.toPrecision(3)} s before the last look, at ` +
      map.reached + '.';
  legend(most);
}

function legend(most) {
  const place = by('legend');
  place.replaceChildren();
  const add = (text, kind, paint) => {
    const element = document.createElement(kind);
    element.textContent = text;
    if (paint) paint(element);
    place.append(element);
  };
  by('bysent').hidden = by('byowner').hidden = map.owners < 2;
  by('byowner').textContent = map.owned_by + 's';
  by('bysent').setAttribute('aria-pressed', !owners);
  by('byowner').setAttribute('aria-pressed', owners);
  if (!owners) {
    add('0 ', 'span');
    add('', 'i', ramp => ramp.className = 'ramp');
    add(' ' + number(most) + ' events/s of an LP (by the square root)', 'span');
    return;
  }
  for (let owner = 0; owner < Math.min(map.owners, 12); ++owner) {
    add('', 'i', swatch => {
      swatch.className = 'swatch';
      swatch.style.background = `var(--c${owner % 6})`;
    });
    add(map.owned_by + ' ' + owner, 'span');
  }
}

function hover(event) {
  if (map === null) return;
  const box = by('map').getBoundingClientRect();
  const width = columns(), height = Math.ceil(map.sent.length / width);
  const x = Math.floor((event.clientX - box.left) / box.width * width);
  const y = Math.floor((event.clientY - box.top) / box.height * height);
  const cell = y * width + x;
  if (x < 0 || x >= width || cell < 0 || cell >= map.sent.length) return;
  const first = cell * map.lps_a_cell;
  const last = Math.min(map.lps, first + map.lps_a_cell) - 1;
  const all = map.sent.reduce((sum, one) => sum + one, 0);
  const owner = map.owner[cell] < map.owners ? `${map.owned_by} ${map.owner[cell]}`
                                             : `several ${map.owned_by}s`;
  by('hover').textContent = (first === last ? `LP ${first}${names[first] ? ` (${names[first]})` : ''}` : `LPs ${first} to ${last}`) +
      `: ${map.sent[cell].toLocaleString('en')} events sent, ${number(rate(cell))}/s of an LP, ` +
      `${(100 * map.sent[cell] / Math.max(all, 1)).toPrecision(2)} % of all` +
      (map.owners > 1 ? `, ${owner}` : '');
}

by('map').addEventListener('pointermove', hover);
by('map').addEventListener('pointerleave', () => by('hover').textContent = '');
for (const [id, value] of [['bysent', false], ['byowner', true]])
  by(id).addEventListener('click', () => { owners = value; if (map) draw(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (map) draw(); });

// ---- Stopping

by('stop').addEventListener('click', () => by('ask').showModal());
by('goon').addEventListener('click', () => by('ask').close());
by('sure').addEventListener('click', async () => {
  by('ask').close();
  asked = true;
  by('stop').disabled = true;
  try { await fetch('stop', {method: 'POST'}); } catch { /* the state will tell */ }
});

// ---- Asking

const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));
async function follow() {
  for (let first = true;; first = false) {
    try {
      const answer = await fetch(`state.json?wait=${first ? 0 : 1}&look=${look}` +
          (document.hidden ? '&hidden=1' : ''));
      if (!answer.ok) throw new Error(answer.status);
      const state = await answer.json();
      failures = 0;
      document.body.classList.remove('lost');
      show(state);
      if (state.phase === 'ended') return;
    } catch {
      if (++failures === 3) document.body.classList.add('lost');
      by('stop').disabled = failures >= 3;
      if (failures === 30) return;
      await pause(1000);
    }
  }
}
follow();
)js";

}  // namespace orrery::live
