package control

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const share = `{"shard":0,"shards":2,"slots":{"of":2,"residues":[0]},"connections":[1],"firstConnection":[0]}`

func update(revision int) string {
	return fmt.Sprintf(`{"revision":%d,"share":%s}`, revision, share)
}

func do(s *Server, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

func TestBadMessages(t *testing.T) {
	for _, tc := range []struct {
		name, method, path, body string
		want                     int
		message                  string
	}{
		{name: "unknown path", method: "GET", path: "/", want: 404, message: "no such path (the runner is build "},
		{name: "path below a path", method: "PUT", path: rv.PathStop + "/x", want: 404},
		{name: "wrong method", method: "POST", path: rv.PathUpdate, want: 405, message: "only PUT"},
		{name: "snapshot is no message", method: "PUT", path: rv.PathSnapshot, want: 405, message: "only GET"},
		{name: "a path of the previous build", method: "GET", path: "/v1alpha1/changes", want: 404, message: "protocol version 8"},
		{name: "lease that is not a number", method: "GET", path: rv.PathSnapshot + "?leaseUntil=soon", want: 400, message: `leaseUntil is "soon"`},
		{name: "negative term", method: "GET", path: rv.PathSnapshot + "?leaseUntil=1&term=-1", want: 400, message: `term is "-1"`},
		{name: "bad query", method: "GET", path: rv.PathSnapshot + "?leaseUntil=%zz", want: 400, message: "query"},
		{name: "empty", method: "PUT", path: rv.PathUpdate, want: 400, message: "not a JSON object"},
		{name: "null", method: "PUT", path: rv.PathStop, body: "null", want: 400, message: "not a JSON object"},
		{name: "cut", method: "PUT", path: rv.PathStart, body: `{"at":1`, want: 400, message: "cannot be decoded"},
		{name: "unknown field", method: "PUT", path: rv.PathStart, body: `{"at":1,"in":2}`, want: 400, message: `unknown field "in" (the runner is build `},
		{name: "wrong type", method: "PUT", path: rv.PathStart, body: `{"at":"now"}`, want: 400, message: "cannot be decoded"},
		{name: "fraction", method: "PUT", path: rv.PathStart, body: `{"at":1.5}`, want: 400, message: "cannot be decoded"},
		{name: "two objects", method: "PUT", path: rv.PathStart, body: `{"at":1}{"at":2}`, want: 400, message: "more data after"},
		{name: "too large", method: "PUT", path: rv.PathStop, body: `{"reason":"` + strings.Repeat("x", maxBody) + `"}`, want: 413, message: "larger"},
		{name: "long reason", method: "PUT", path: rv.PathStop, body: `{"reason":"` + strings.Repeat("x", maxReason+1) + `"}`, want: 400, message: "reason"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engine := &fakeEngine{}
			w := do(New(Options{Engine: engine}), tc.method, tc.path, tc.body)
			var got rv.Error
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("body %q: %v", w.Body, err)
			}
			if w.Code != tc.want || !strings.Contains(got.Message, tc.message) {
				t.Errorf("%d %q, want %d with %q", w.Code, got.Message, tc.want, tc.message)
			}
			if engine.changes != 0 {
				t.Error("the engine has taken it")
			}
		})
	}
}

// Each row is a conversation: the message, the status it gets, and how many messages have
// changed anything by then.
func TestIdempotency(t *testing.T) {
	type turn struct {
		path, body    string
		want, changes int
	}
	for name, turns := range map[string][]turn{
		"the same update twice is one": {
			{rv.PathUpdate, update(1), 204, 1}, {rv.PathUpdate, update(1), 204, 1}, {rv.PathUpdate, update(2), 204, 2},
		},
		"an older update is a conflict": {
			{rv.PathUpdate, update(3), 204, 1}, {rv.PathUpdate, update(2), 409, 1}, {rv.PathUpdate, update(3), 204, 1},
		},
		"the same start twice is one, another is a conflict": {
			{rv.PathUpdate, update(1), 204, 1}, {rv.PathStart, `{"at":10}`, 204, 2}, {rv.PathStart, `{"at":10}`, 204, 2},
			{rv.PathStart, `{"at":11}`, 409, 2},
		},
		"a teardown follows a start, as often as it is told": {
			{rv.PathTeardown, `{}`, 409, 0}, {rv.PathUpdate, update(1), 204, 1}, {rv.PathStart, `{"at":10}`, 204, 2},
			{rv.PathTeardown, `{}`, 204, 2}, {rv.PathTeardown, `{}`, 204, 2},
		},
		"a start before a share is a conflict": {
			{rv.PathStart, `{"at":10}`, 409, 0},
		},
		"stop twice is one": {
			{rv.PathStop, `{"reason":"a","drain":true}`, 204, 1}, {rv.PathStop, `{"reason":"a","drain":true}`, 204, 1},
		},
		"an ack before the end is a conflict": {
			{rv.PathAck, `{"sequence":0}`, 409, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine := &fakeEngine{}
			s := New(Options{Engine: engine, Conflict: errContradiction})
			for i, turn := range turns {
				w := do(s, http.MethodPut, turn.path, turn.body)
				if w.Code != turn.want || engine.changes != turn.changes {
					t.Fatalf("turn %d: status %d, %d changes, want %d, %d: %s", i, w.Code, engine.changes, turn.want, turn.changes, w.Body)
				}
			}
		})
	}
}

func TestGzip(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "identity": false, "*": false,
	} {
		r := httptest.NewRequest(http.MethodGet, rv.PathSnapshot, nil)
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		New(Options{Engine: &fakeEngine{}}).ServeHTTP(w, r)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("Accept-Encoding %q: gzip %v, want %v", accept, got, want)
			continue
		}
		var snapshot rv.Snapshot
		d := json.NewDecoder(w.Body)
		if want {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			d = json.NewDecoder(z)
		}
		if err := d.Decode(&snapshot); err != nil || snapshot.Sequence != 1 {
			t.Errorf("Accept-Encoding %q: %v, %v", accept, snapshot, err)
		}
	}
}

// TestBinarySnapshot: a client that accepts the binary form gets it, without gzip, and others get JSON.
func TestBinarySnapshot(t *testing.T) {
	for accept, want := range map[string]string{
		rv.MediaTypeSnapshot: rv.MediaTypeSnapshot, "application/vnd.h2surge.snapshot": "application/json" /* of an earlier operator */, "": "application/json", "*/*": "application/json", "application/json": "application/json",
	} {
		r := httptest.NewRequest(http.MethodGet, rv.PathSnapshot, nil)
		r.Header.Set("Accept", accept)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		New(Options{Engine: &fakeEngine{}}).ServeHTTP(w, r)
		binary := want == rv.MediaTypeSnapshot
		if got := w.Header(); got.Get("Content-Type") != want || got.Get("Vary") != "Accept, Accept-Encoding" || (got.Get("Content-Encoding") == "gzip") == binary {
			t.Errorf("Accept %q: header %v, want %s", accept, got, want)
		}
		var snapshot rv.Snapshot
		if err := snapshot.ReadBinary(w.Body, int64(w.Body.Len())); binary && (err != nil || snapshot.Sequence != 1) {
			t.Errorf("Accept %q: %v, %v", accept, snapshot, err)
		}
	}
}

// Whatever arrives, the answer is one of the documented ones, and a message that was taken is
// taken again in the form that encoding/json gives it.
func FuzzMessages(f *testing.F) {
	paths := []string{rv.PathUpdate, rv.PathStart, rv.PathStop, rv.PathAck}
	for i, body := range []string{update(1), `{"at":5}`, `{"reason":"r","drain":true}`, `{"sequence":1}`} {
		f.Add(uint8(i), []byte(body))
	}
	f.Add(uint8(0), []byte(`{"revision":1,"share":null}`))
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		path := paths[int(which)%len(paths)]
		engine := &fakeEngine{}
		w := do(New(Options{Engine: engine, Conflict: errContradiction}), http.MethodPut, path, string(body))
		switch w.Code {
		case http.StatusNoContent:
			if engine.changes == 0 {
				t.Fatalf("accepted, but nothing came of it: %q", body)
			}
		case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge:
			if engine.changes != 0 {
				t.Fatalf("refused, but it changed the engine: %q", body)
			}
			return
		default:
			t.Fatalf("status %d for %q", w.Code, body)
		}
		if path == rv.PathUpdate {
			again, err := json.Marshal(engine.update)
			if err != nil {
				t.Fatal(err)
			}
			if w := do(New(Options{Engine: &fakeEngine{}}), http.MethodPut, path, string(again)); w.Code != http.StatusNoContent {
				t.Fatalf("%q was taken, %q is refused: %s", body, again, w.Body)
			}
		}
	})
}

// TestRenew: the query of a poll renews the lease before the snapshot is taken.
func TestRenew(t *testing.T) {
	for query, want := range map[string]rv.Lease{
		"":                     {},
		"?leaseUntil=5&term=2": {Until: 5, Term: 2},
		"?leaseUntil=5":        {Until: 5},
		"?term=7":              {Term: 7},
		"?other=1":             {},
	} {
		w := do(New(Options{Engine: &fakeEngine{}}), http.MethodGet, rv.PathSnapshot+query, "")
		var got rv.Snapshot
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%q: %d %v", query, w.Code, err)
		}
		if have := (rv.Lease{Until: got.LeaseUntil, Term: got.Term}); have != want {
			t.Errorf("%q: the snapshot has %+v, want %+v", query, have, want)
		}
	}
}

// TestTotals: a poll for totals gets them. The endpoint leaves it to the engine what they are.
func TestTotals(t *testing.T) {
	for query, want := range map[string]int{"": 1, "?detail=totals": 0, "?detail=everything": 1} {
		w := do(New(Options{Engine: &fakeEngine{}}), http.MethodGet, rv.PathSnapshot+query, "")
		var got rv.Snapshot
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || len(got.Steps) != want {
			t.Errorf("%q: %d, %d steps, %v", query, w.Code, len(got.Steps), err)
		}
	}
}

// TestObserve: the query of a poll says whether the runner reads the observations.
func TestObserve(t *testing.T) {
	for query, want := range map[string][]bool{"": nil, "?observe=true": {true}, "?observe=false": {false}} {
		engine := &fakeEngine{}
		do(New(Options{Engine: engine}), http.MethodGet, rv.PathSnapshot+query, "")
		if !slices.Equal(engine.observe, want) {
			t.Errorf("%q: got %v, want %v", query, engine.observe, want)
		}
	}
}
