// Package script runs the Lua scripts of templates: they change requests before they are sent and judge responses.
//
// A script is compiled once (Compile) and shared by all workers. Each worker has a Host, in which each script has a Lua
// state of its own: globals, library tables and metatables are never shared between scripts. A Host belongs to one
// goroutine at a time and calls nothing but the Values that it is given.
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
// table is empty and the payload "". The returned headers replace all, pseudo-headers too; numbers become strings as in
// Lua, names become lower case, content-length is left out. The tables that a script is given are read from the
// message when the script asks (pairs, next, rawget, rawset and json.encode know them; they have no metatable to
// change) and may be used during the call only: a kept one raises an error. What is needed later has to be copied.
//
// # Native form
//
//	on_request(req, prev)   req.method, path, scheme, authority, body: read and write; prev is nil for the first request
//	on_response(res, req)   nothing, nil or true: good; false: failed; false or nil with a string: failed, see Host.Reason
//
// Both have :header(name) (nil when absent, fields of one name joined with "; "); responses have status and body; req of
// on_request has :set_header(name, value), :add_header(name, value) and :remove_header(name). vars.name reads a
// variable or capture (nil when there is none), vars.name = x sets a capture; vars is there in both forms. The proxies
// are the same in all calls; outside of a call they raise an error.
//
// # What scripts have
//
// Lua 5.1 with goto: assert error getmetatable ipairs next pairs pcall rawequal rawget rawset select setmetatable
// tonumber tostring type unpack xpcall, string (no dump), table, math (random is seeded by Limits.Seed and the place of
// the script, so runs repeat), os with time, clock and date only, json and the same as rapidjson: decode (nil and a
// message when the text is bad), encode (keys sorted), null, array(t) and object(t), which mark what an empty table is.
// require knows "json" and "rapidjson" only. print and collectgarbage do nothing. There is no io, debug, package,
// coroutine, load, loadstring, dofile, loadfile, module, getfenv, setfenv, newproxy.
//
// # What bounds a script
//
// Instructions are counted, and library functions charge for the bytes they go through. A call that has used up its
// budget ends: each further instruction raises the error again, so pcall cannot keep it. A clock is looked at every few
// hundred instructions, for the operations that take long on large values (Limits.Time).
//
// Memory is measured, not guessed: each time the process has allocated as much as a quarter of Limits.Memory (or as much
// as the scripts held at the last look) while scripts ran, everything that can be reached from the Host's Lua states is
// added up. Between two looks a Host may thus hold up to twice the limit, and garbage that Go has not yet collected
// comes on top. No single step leaps past it: concatenations, assignments to far indices and the library's results are
// checked before they allocate, and a string is at most Limits.Memory/16 long. The Lua stack has 200 calls and 64 Ki
// slots; an error after millions of tail calls makes the interpreter write a trace of them, some 200 MiB of garbage at the
// default number of instructions. A source is at most 256 KiB, nested at most 500 deep.
//
// One fault of the interpreter is known (gopher-lua issue 448): an error that pcall catches separates the local
// variables of functions that are running from the closures that share them. Locals at the top level of a script, which
// all its functions share, are not concerned.
//
// A runtime error, a limit and a panic of the interpreter are errors of the one call: the Host goes on.
package script
