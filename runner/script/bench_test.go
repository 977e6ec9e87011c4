package script

import (
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"golang.org/x/sys/unix"
)

const compatSource = `
function make_request(response_header, response_payload, headers, payload)
  local location = response_header["location"]
  if location then
    headers[":path"] = location
  end
  payload = string.gsub(payload, "callback%-uri", "http://10.0.0.1/notify")
  return headers, payload
end

function validate_response(response_header, response_payload)
  if response_header[":status"] ~= "201" then
    return false
  end
  return string.find(response_payload, "subscriptionId", 1, true) ~= nil
end
`

const nativeSource = `
function on_request(req, prev)
  local location = prev and prev:header("location")
  if location then
    req.path = location
  end
  req.body = string.gsub(req.body, "callback%-uri", "http://10.0.0.1/notify")
end

function on_response(res)
  if res.status ~= 201 then
    return false, "status"
  end
  return string.find(res.body, "subscriptionId", 1, true) ~= nil
end
`

const jsonSource = `
function on_request(req, prev)
  local doc = json.decode(req.body)
  doc.subscription = {id = prev and prev:header("location"), retries = 3}
  req.body = json.encode(doc)
end

function on_response(res)
  return res.status == 201 and json.decode(res.body).subscriptionId == "4711"
end
`

// tableSource uses what makes requests of several parts: lists, loops, computed keys, concatenations and numbers.
const tableSource = `
local names = {"imsi", "msisdn", "dnn", "slice"}
local n = 0
function on_request(req)
  n = n + 1
  local parts, seen = {}, {}
  for i, name in ipairs(names) do
    table.insert(parts, name .. "=" .. n + i)
    seen[name] = i
  end
  parts[#parts + 1] = string.format("t=%d", tonumber("10") * n)
  req.path = req.path .. "?" .. table.concat(parts, "&")
  req:set_header("x-serial", tostring(n))
end

function on_response(res)
  for k, v in pairs({a = 1, b = 2}) do
    if tostring(v) == k then return false end
  end
end
`

func fields(pairs ...string) []Field {
	var out []Field
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Field{Name: []byte(pairs[i]), Value: []byte(pairs[i+1])})
	}
	return out
}

func benchRequest() *Message {
	return &Message{
		Method: []byte("POST"), Scheme: []byte("http"), Authority: []byte("udm.example:8080"), Path: []byte("/nudm-ee/v1/imsi-1/subscriptions"),
		Fields: fields("content-type", "application/json", "accept", "application/json", "user-agent", "h2surge", "x-trace", "abc"),
		Body:   []byte(`{"callback":"callback-uri","filler":"` + strings.Repeat("x", 250) + `"}`),
	}
}

func benchResponse() *Message {
	return &Message{
		Status: 201,
		Fields: fields("location", "/nudm-ee/v1/imsi-1/subscriptions/4711", "content-type", "application/json",
			"server", "nghttpd", "date", "Sat, 21 Nov 2026 19:00:00 GMT", "x-request-id", "1"),
		Body: []byte(`{"filler":"` + strings.Repeat("y", 250) + `","subscriptionId":"4711"}`),
	}
}

func benchHost(tb testing.TB, source string) *Host {
	tb.Helper()
	sc, err := Compile("bench.lua", source)
	if err != nil {
		tb.Fatal(err)
	}
	h, err := NewHost([]*Script{sc}, Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(h.Close)
	return h
}

// benchStep runs both functions as a chain's step does. The location and both bodies differ from step to step, so that
// no cache helps that would not help in a test.
func benchStep(b *testing.B, source string) {
	h := benchHost(b, source)
	prevReq, res := benchRequest(), benchResponse()
	location := res.Fields[0].Value
	template := benchRequest()
	body := template.Body
	b.ReportAllocs()
	from := cpuTime(b)
	for i := 0; b.Loop(); i++ {
		digit := byte('0' + i%10)
		location[len(location)-1], body[len(body)-5], res.Body[20] = digit, digit, digit
		req := *template
		if err := h.Request(0, prevReq, res, &req, nil); err != nil {
			b.Fatal(err)
		}
		if ok, err := h.Response(0, &req, res, nil); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-from)/float64(b.N), "cpu-ns/op")
}

// cpuTime is what the process has used, the collector's share too; the machine may be busy with other things.
func cpuTime(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkCompatible(b *testing.B) { benchStep(b, compatSource) }
func BenchmarkNative(b *testing.B)     { benchStep(b, nativeSource) }
func BenchmarkJSON(b *testing.B)       { benchStep(b, jsonSource) }
func BenchmarkTables(b *testing.B)     { benchStep(b, tableSource) }

// BenchmarkBudget compares ways to bound instructions, for a loop of 1000 turns of five instructions.
func BenchmarkBudget(b *testing.B) {
	const head, body = `local n, sum = 1000, 0 for i = 1, n do `, `if i % 3 == 0 then sum = sum + i end end return sum`
	for _, tc := range []struct {
		name, source string
		context      bool
	}{
		{name: "none", source: head + body},
		{name: "context", source: head + body, context: true},
		{name: "call in the loop", source: head + `tick() ` + body},
	} {
		b.Run(tc.name, func(b *testing.B) {
			L := lua.NewState()
			defer L.Close()
			if tc.context {
				L.SetContext(endless())
			}
			L.SetGlobal("tick", L.NewFunction(func(*lua.LState) int { return 0 }))
			fn, err := L.LoadString(tc.source)
			if err != nil {
				b.Fatal(err)
			}
			from := cpuTime(b)
			for b.Loop() {
				L.Push(fn)
				L.Call(0, 0)
			}
			b.ReportMetric(float64(cpuTime(b)-from)/float64(b.N)/1000, "cpu-ns/turn")
		})
	}
}

func endless() *budget {
	l := Limits{}.withDefaults()
	l.Instructions, l.Time = 1<<62, 1<<62
	bud := newBudget(l)
	bud.begin()
	return bud
}
