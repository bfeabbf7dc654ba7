// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cubinet {

// Opens the null device for each standard stream that is closed. Otherwise a file that is opened
// later would get the stream's number, and messages would be written into it.
void occupy_closed_streams();

}  // namespace cubinet
