// Package script runs the Lua scripts of templates: they change requests before they are sent and judge responses.
//
// A script is compiled once (Compile) and shared by all workers. Each worker has a Host, in which each script has a Lua
// state of its own: scripts never share globals, library tables or metatables. A Host belongs to one goroutine at a
// time and calls only the Values that it gets.
//
// # Compatible form
//
// Scripts of h2loadrunner run unchanged:
//
//	make_request(response_header, response_payload, request_headers_to_send, request_payload_to_send) -> table, string
//	validate_response(response_header, response_payload) -> boolean
//
// Header tables are strings by name. The previous response has ":status", and ":method", ":path", ":scheme" and
// ":authority" of its request; fields of one name are joined with "; ". For the first request of a chain instance the
// table is empty and the payload "". The returned headers replace all headers, including the pseudo-headers. Numbers
// become strings as in Lua, names become lower case, content-length is left out. A table that a script gets reads and
// changes the message itself, so an invalid header is an error where the script sets it. A function that goes through
// such a table (pairs, next, rawget, rawset, json.encode) makes an ordinary table of it. A script cannot change its
// metatable. It is valid during the call; after that it raises an error. A script copies what it needs later.
//
// # Native form
//
//	on_request(req, prev)   req.method, path, scheme, authority, body: read and write; prev is nil for the first request
//	on_response(res, req)   nothing, nil or true: good; false: failed; false or nil with a string: failed (Host.Reason)
//
// Both have :header(name) (nil when absent, fields of one name joined with "; "); responses have status and body; req
// of on_request has :set_header(name, value), :add_header(name, value) and :remove_header(name). vars.name reads a
// variable or capture (nil if it does not exist), vars.name = x sets a capture. Both forms have vars. All calls get the
// same objects; outside of a call they raise an error.
//
// # What scripts have
//
// Lua 5.1 with goto: assert error getmetatable ipairs next pairs pcall rawequal rawget rawset select setmetatable
// tonumber tostring type unpack xpcall, string (no dump), table, math (random is seeded by Limits.Seed and the number
// of the script, so runs repeat), os with time, clock and date only, json and the same as rapidjson: decode (nil and a
// message if the text is not JSON), encode (keys sorted), null, array(t) and object(t), which set how an empty table is
// encoded. require knows "json" and "rapidjson" only. print and collectgarbage do nothing. There is no io, debug,
// package, coroutine, load, loadstring, dofile, loadfile, module, getfenv, setfenv, newproxy.
//
// # Limits of a call
//
// Instructions are counted, and library functions count the bytes that they read and write. A call that has used its
// budget ends: each further instruction raises the error again, so pcall cannot catch it. The clock is read every 256
// instructions, for operations that take long on large values (Limits.Time). The Lua stack has 200 calls and 64 Ki
// slots. A source has at most 256 KiB, nested at most 2000 deep.
//
// # Limit of memory
//
// All scripts of a process share one limit, Limits.Heap. It applies to what the runtime reports as live: the scripts of
// all Hosts, and everything else in the process. A Host compares them each time its scripts may have allocated 8 MiB,
// by these counts:
//
//   - a function of this package that makes a string or a table counts its bytes before it allocates them. The guard
//     calls such functions for concatenations, assignments to computed indices and lists of all results of a call. A
//     string has at most 4 MiB.
//   - an instruction counts 4 KiB, more than it allocates on average if it calls none of these functions
//     (TestBytesOfInstruction).
//   - an error that pcall or xpcall catches counts as 4 MiB, because its message can be as long as a string.
//
// If more is live than the limit, garbage is collected. If that was not enough, the call ends with an error, and the
// state of this script is dropped: its next call runs the top level again. So scripts cannot keep more than the limit.
// Between two collections the heap grows by garbage, as the runtime allows (GOGC, GOMEMLIMIT). When it exceeds the
// limit by a quarter, a check starts a collection.
//
// Bound: if W Hosts run at a time, scripts take the heap to at most 1.25 x limit + W x (8 MiB + 32 MiB) + what they
// allocate during one collection. 32 MiB are the costliest operation: an assignment to index 2^20 - 1 of a new table.
// The trace that the interpreter writes for an error after many tail calls is within that: a tail call counts 16 more
// instructions, so the default limit of instructions allows half a million of them, and a trace of 20 MiB.
//
// # A fault of the interpreter
//
// An error that pcall catches separates the local variables of running functions from the closures that share them
// (gopher-lua issue 448). Local variables at the top level of a script, which all its functions share, are not
// affected.
//
// A runtime error, a limit and a panic of the interpreter are errors of one call. The Host can be used after them.
package script
