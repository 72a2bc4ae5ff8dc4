// SPDX-License-Identifier: Apache-2.0
//
// A picture of a topology (SVG). Nodes repel each other and links pull them together, after T. M. J.
// Fruchterman and E. M. Reingold: Graph drawing by force-directed placement, Software: Practice and
// Experience 21(11), 1991. Stations that have places stand there.
#pragma once

#include <string>
#include <vector>

#include "radio.h"
#include "topology.h"

namespace orrery::lab {

/// The same topology gives the same text.
std::string draw(const Topology& topology);
/// Where the nodes are in that picture, by node, in pixels.
std::vector<Place> places_in_picture(const Topology& topology);

}  // namespace orrery::lab
