package script

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// liveHeap collects garbage and returns the bytes that are live.
func liveHeap() int64 {
	runtime.GC()
	h := newHeap(0)
	live, _ := h.read()
	return live
}

// TestMemoryOverCalls: what scripts keep from call to call counts too. The script that exceeds the limit starts again.
func TestMemoryOverCalls(t *testing.T) {
	for _, tc := range []struct{ name, source string }{
		{"strings", `local kept = {} function on_request() for i = 1, 100 do kept[#kept + 1] = ("x"):rep(1000) .. #kept end end`},
		{"tables in few instructions", `function on_request() kept = {kept} kept.k = 1 end`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHost(t, Limits{Heap: liveHeap() + 16<<20}, tc.source, nativeSource)
			for range 2 {
				calls, err := 0, error(nil)
				for ; err == nil && calls < 1_000_000; calls++ {
					err = h.Request(0, nil, nil, get(), nil)
				}
				if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "0.lua") || !strings.Contains(err.Error(), "starts again") {
					t.Errorf("after %d calls: %v", calls, err)
				}
			}
			if grown := liveHeap() - h.budget.heap.limit; grown > 0 {
				t.Errorf("%d bytes more than the limit", grown)
			}
			if ok, err := h.Response(1, nil, benchResponse(), nil); !ok || err != nil {
				t.Errorf("the other script: %v %v", ok, err)
			}
		})
	}
}

// TestMemoryOfHosts: the scripts of all Hosts share the limit. Each Host is within it alone.
func TestMemoryOfHosts(t *testing.T) {
	const source = `local kept = {} function on_request() for i = 1, 100 do kept[#kept + 1] = ("x"):rep(10000) .. #kept end end`
	limits := Limits{Heap: liveHeap() + 32<<20}
	var workers sync.WaitGroup
	var ended atomic.Int64
	for range 4 {
		h := newHost(t, limits, source)
		workers.Go(func() {
			for range 100 { // 100 MiB
				switch err := h.Request(0, nil, nil, get(), nil); {
				case errors.Is(err, ErrLimit):
					ended.Add(1)
				case err != nil:
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	if ended.Load() < 4 {
		t.Errorf("%d calls ended", ended.Load())
	}
	if grown := liveHeap() - limits.Heap; grown > 4*(checkEvery+maxString) {
		t.Errorf("%d bytes more than the limit", grown)
	}
}

// TestRestart: a script that lost its state has its first globals again, and the other scripts keep theirs.
func TestRestart(t *testing.T) {
	h := newHost(t, Limits{Heap: liveHeap() + 16<<20}, `
		n = 0
		function on_request() n = n + 1 if n == 3 then local t = {} while true do t = {t, ("x"):rep(1e5) .. n} end end end
		function on_response() return false, tostring(n) end`,
		`n = 0 function on_response() n = n + 1 return false, tostring(n) end`)
	for i, want := range []string{"1 1", "2 2", "0 3", "1 4", "2 5", "0 6"} {
		if err := h.Request(0, nil, nil, get(), nil); errors.Is(err, ErrLimit) != (i%3 == 2) {
			t.Errorf("call %d: %v", i+1, err)
		}
		var got []string
		for n := range 2 {
			if _, err := h.Response(n, nil, created(), nil); err != nil {
				t.Fatal(err)
			}
			got = append(got, h.Reason())
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("call %d: counts %s, want %s", i+1, got, want)
		}
	}
}

// TestGarbage: a script that keeps nothing can make as much as it wants.
func TestGarbage(t *testing.T) {
	h := newHost(t, Limits{Heap: liveHeap() + 8<<20, Time: time.Minute}, `
		function on_request() for i = 1, 2000 do local s = ("x"):rep(1e5) .. i local t = {s, {}} t.x = s end end`)
	if err := h.Request(0, nil, nil, get(), nil); err != nil {
		t.Fatal(err)
	}
}

// TestLateCollections: checks start collections if the runtime does not, so the limit holds and garbage does not end calls.
func TestLateCollections(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, tc := range []struct{ name, source, want string }{
		{"kept", `function on_request() local t = {} for i = 1, 3000 do t[i] = ("x"):rep(1e5) .. i end end`, "bytes of memory"},
		{"garbage", `function on_request() for i = 1, 3000 do local s = ("x"):rep(1e5) .. i end end`, "<nil>"},
	} {
		h := newHost(t, Limits{Heap: liveHeap() + 64<<20, Time: time.Minute}, tc.source)
		if err := h.Request(0, nil, nil, get(), nil); !strings.Contains(fmt.Sprint(err), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
}

// TestTailCalls: the trace that the interpreter writes for an error is bounded, although tail calls need no stack.
func TestTailCalls(t *testing.T) {
	h := newHost(t, Limits{Time: time.Minute}, `function on_request() local function f() return f() end f() end`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := h.Request(0, nil, nil, get(), nil)
	runtime.ReadMemStats(&after)
	if made := int64(after.TotalAlloc - before.TotalAlloc); !errors.Is(err, ErrLimit) || made > 64<<20 {
		t.Errorf("%d MiB: %v", made>>20, err)
	}
}

// TestBytesOfInstruction: no instruction allocates more on average than a check expects.
func TestBytesOfInstruction(t *testing.T) {
	for _, tc := range []struct{ name, body string }{
		{"a table", `local x = {} t = x`},
		{"a first element", `local x = {} x[1] = t t = x`},
		{"a first field", strings.Repeat(`local x = {} x.a = t t = x `, 20)},
		{"a list", `t = {t, t, t, t}`},
		{"a list of results", `t = {unpack(args)}`},
		{"a list of arguments", `t = {...}`},
		{"an array that grows", `list[i] = list`},
		{"keys", `list[-i] = list`},
		{"fields", `list["k" .. i] = list`},
		{"a far index", `local x = {} x[i * 10] = i t = x`},
		{"a closure", `local x = function() return t, i end t = x`},
		{"a closure with many variables", `local ` + many + ` local x = function() return t, ` + many + ` end t = x`},
		{"JSON", `t = json.decode('[[1],{"a":1},{"a":1,"b":2,"c":3},"\\n",1.5,[],{}]') t = json.encode(t)`},
		{"results of the string library", `t = ("x"):rep(100):upper():reverse():gsub("x", "yy") t = ("%q%d"):format(t, i) t = table.concat({t, t, i})`},
		{"an iterator", `t = string.gmatch("x", "x")`},
	} {
		h := newHost(t, Limits{Time: time.Minute}, `local list, args = {}, {} for i = 1, 1000 do args[i] = i end
			local function f(...) local t for i = 1, 1000 do `+tc.body+` end end
			function on_request() f(unpack(args)) end`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h.budget.heap.needed = -1 << 60
		if err := h.Request(0, nil, nil, get(), nil); err != nil {
			t.Fatal(tc.name, err)
		}
		runtime.ReadMemStats(&after)
		made, counted := int64(after.TotalAlloc-before.TotalAlloc), h.budget.heap.needed+1<<60
		if made > counted {
			t.Errorf("%s: %d bytes allocated, %d counted", tc.name, made, counted)
		}
		t.Logf("%s: %d bytes allocated, %d counted", tc.name, made, counted)
	}
}

func TestDefaultHeap(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for limit, want := range map[int64]int64{math.MaxInt64: 1 << 30, 400 << 20: 300 << 20} {
		debug.SetMemoryLimit(limit)
		if got := (Limits{}.withDefaults()).Heap; got != want {
			t.Errorf("memory limit %d: %d, want %d", limit, got, want)
		}
	}
}

// TestMemoryOfTopLevel: the limit holds while scripts are loaded.
func TestMemoryOfTopLevel(t *testing.T) {
	const source = `local t = {} for i = 1, 1000 do t[i] = ("x"):rep(8000) .. i end function on_request() return #t end`
	sc, err := Compile("big.lua", source)
	if err != nil {
		t.Fatal(err)
	}
	for scripts, limit := range map[int]int64{1: 2 << 20, 8: 16 << 20} {
		_, err := NewHost(slices.Repeat([]*Script{sc}, scripts), Limits{Heap: liveHeap() + limit})
		if !errors.Is(err, ErrLimit) || !strings.HasPrefix(err.Error(), "big.lua:1: ") || !strings.Contains(err.Error(), "memory") {
			t.Errorf("%d scripts: %v", scripts, err)
		}
	}
}
